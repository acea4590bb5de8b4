"""The command `multikernel predict`."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_outlier_detector

from multikernel._report.outcomes import Answers
from multikernel.cli import _tables
from multikernel.cli._frames import NAME
from multikernel.cli._large import (
    in_partitions,
    known_partitions,
    one_target,
    score_of,
)
from multikernel.cli._messages import check_choice, say
from multikernel.cli._outputs import find_output, print_json, table_writer
from multikernel.cli._requests import Predict
from multikernel.cli._saved import known_choice, known_table, opened_model
from multikernel.datasets.files import FORMATS as STREAMED
from multikernel.estimators.publish.summary import predicts_times
from multikernel.inspection import contributions
from multikernel.inspection.pipelines import data_at_model, final_estimator, last_step
from multikernel.persistence.places import Place


def run_predict(request: Predict) -> None:
    """Predict, write the predictions, and print the score if targets are given."""
    in_parts = in_partitions(request.data, request.stream) and not request.json
    formats = STREAMED if in_parts else _tables.FORMATS
    inputs = [request.model, request.data]
    place = find_output(request.output, inputs, formats, as_json=request.json)
    with opened_model(request) as estimator:
        if request.target and is_outlier_detector(estimator):
            raise ValueError("A one-class model has no score: remove --target.")
        if in_parts:
            n_rows, score = _predicted_in_partitions(estimator, request, place)
        else:
            frame, score = _predicted_whole(estimator, request)
            n_rows = len(frame)
            if request.output is not None or not request.json:
                with table_writer(place, formats) as write:
                    write(frame)
    if request.json:
        columns = {str(key): list(frame[key]) for key in frame}
        print_json({"score": score, **columns})
        return
    if request.output is not None and str(request.output) != "-":
        say(f"{n_rows} predictions written to {request.output}", stderr=True)
    if score is not None:
        say(f"score: {score:.6g}", stderr=True)


def _predicted_whole(
    estimator: Any, request: Predict
) -> tuple[pd.DataFrame, float | None]:
    """Return the predictions for a file in memory, and the score or None."""
    table = known_table(estimator, request, [request.data], request.target or [])
    ask = Answers(estimator, table.X, table.offset)
    frame = _answers_of(ask, request, table.ids)
    if getattr(table.X, "index", pd.Index([])).name == NAME:
        frame.insert(0, NAME, table.X.index)
    return frame, float(ask("score", table.y)) if request.target else None


def _predicted_in_partitions(
    estimator: Any, request: Predict, place: Place
) -> tuple[int, float | None]:
    """Predict a file in partitions; return the row count, and the score or None."""
    names, model = request.target or [], final_estimator(estimator)
    if names:
        one_target(names, "Predicting in partitions")
        if predicts_times(model):
            raise ValueError(
                "Scoring a survival model requires the whole file: add --no-stream, "
                "or remove --target."
            )
    choice = known_choice(model, estimator, names, request)
    y, predicted, n_rows = [], [], 0
    with table_writer(place, STREAMED) as write:
        for table in known_partitions(request.data, choice):
            ask = Answers(estimator, table.X, table.offset)
            frame = _answers_of(ask, request, table.ids)
            write(frame)
            n_rows += len(frame)
            if names:
                y.append(table.y)
                predicted.append(frame["prediction"].to_numpy())
        if not n_rows:
            raise ValueError(f"{request.data} has no rows: pass a file with rows.")
    if not names:
        return n_rows, None
    return n_rows, score_of(estimator, np.concatenate(y), np.concatenate(predicted))


def _answers_of(
    ask: Answers, request: Predict, ids: pd.DataFrame | None
) -> pd.DataFrame:
    """Return a table of ids, predictions, and the columns that options add."""
    estimator, X = ask.model, ask.X
    (before, model), times = last_step(estimator), request.later or []
    predicted = ask("predict")
    frame = pd.DataFrame(predicted, columns=_heads(model, predicted, "prediction"))
    if is_outlier_detector(estimator):
        frame["decision"] = estimator.decision_function(X)
    if predicts_times(model):
        reached = data_at_model(before, X)
        frame["median_time"] = model.predict_median(reached)
        later = model.predict_survival_function(reached, times)
        for time, column in zip(times, later.T, strict=True):
            frame[f"later_than_{time:g}"] = column
    elif times:
        raise ValueError("--later requires a survival model: remove --later.")
    if request.proba:
        if not hasattr(estimator, "predict_proba"):
            raise ValueError("This model has no probabilities: remove --proba.")
        labels = estimator.classes_ if predicted.ndim == 1 else model.output_names_
        chances = ask("predict_proba").T
        for label, column in zip(labels, chances, strict=True):
            frame[f"probability_{label}"] = column
    parts = [frame, *_intervals(ask, model, request), _terms(ask, model, request)]
    if ids is not None:
        parts.insert(0, ids.reset_index(drop=True))
    return pd.concat(parts, axis=1)


def _heads(model: Any, predicted: Any, head: str) -> list[str]:
    """Return one column name per output of `predicted`, beginning with `head`."""
    several = np.ndim(predicted) > 1
    return [f"{head}_{name}" for name in model.output_names_] if several else [head]


def _intervals(ask: Answers, model: Any, request: Predict) -> list[pd.DataFrame]:
    """Return the lower and the upper bounds of --interval, if requested."""
    if request.interval is None:
        return []
    if getattr(model._state, "folds", None) is None:
        raise ValueError(
            "--interval requires a model fitted with --cv and --intervals: fit it "
            "again with these options, or remove --interval."
        )
    data = data_at_model(last_step(ask.model)[0], ask.X)
    ends = model.predict_interval(data, request.interval, offset=ask.offset)
    return [
        pd.DataFrame(values, columns=_heads(model, values, head))
        for head, values in zip(("low", "high"), ends, strict=True)
    ]


def _terms(ask: Answers, model: Any, request: Predict) -> pd.DataFrame:
    """Return contributions and intercepts; no columns without --contributions."""
    if request.contributions is None:
        return pd.DataFrame()
    check_choice("--contributions", request.contributions, ("kernel", "view", "column"))
    split = contributions(ask.model, ask.X, request.contributions)
    constants = np.ravel(model.intercept_)
    terms = split.terms.reshape(len(split.terms), constants.size, -1)
    columns = {}
    for output, name in enumerate(model.output_names_):
        head = f"contribution_{name}_" if constants.size > 1 else "contribution_"
        for term, values in zip(split.names, terms[:, output].T, strict=True):
            columns[f"{head}{term}"] = values
        columns[f"{head}intercept"] = np.full(len(terms), constants[output])
    return pd.DataFrame(columns)
