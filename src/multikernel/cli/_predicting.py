"""The command `multikernel predict`."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_outlier_detector

from multikernel._report.outcomes import Answers
from multikernel.cli import _tables
from multikernel.cli._frames import NAME, first_repeated
from multikernel.cli._large import (
    known_partitions,
    reads_partitions,
    refuse_several,
    score_of,
)
from multikernel.cli._messages import check_choice, say
from multikernel.cli._methods import with_event
from multikernel.cli._outputs import find_output, print_json, table_writer
from multikernel.cli._requests import Predict
from multikernel.cli._saved import (
    check_targets,
    known_choice,
    known_table,
    opened_model,
)
from multikernel.datasets.files import FORMATS as STREAMED
from multikernel.estimators.publish.summary import predicts_times
from multikernel.estimators.read.targets import scored_targets
from multikernel.inspection import contributions
from multikernel.inspection.pipelines import data_at_model, final_estimator, last_step
from multikernel.persistence.places import Place


def run_predict(request: Predict) -> None:
    """Predict, write the predictions, and print the score if targets are given."""
    in_partitions = reads_partitions(request.data, request.stream) and not request.json
    formats = STREAMED if in_partitions else _tables.FORMATS
    inputs = [request.model, request.data]
    place = find_output(request.output, inputs, formats, as_json=request.json)
    with opened_model(request) as estimator:
        if request.target and is_outlier_detector(estimator):
            raise ValueError("A one-class model has no score: remove --target.")
        if in_partitions and not final_estimator(estimator)._state.precomputed:
            n_rows, score = _predict_partitions(estimator, request, place)
        else:
            targets = request.target or []
            table = known_table(estimator, request, [request.data], targets)
            answers = Answers(estimator, table.X, table.offset)
            frame = _predictions(answers, request, table.ids)
            n_rows = len(frame)
            score = float(answers("score", table.y)) if targets else None
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


def _predict_partitions(
    estimator: Any, request: Predict, place: Place
) -> tuple[int, float | None]:
    """Predict a file in partitions; return the row count, and the score or None."""
    model = final_estimator(estimator)
    names = with_event(request.target or [], request.event)
    choice = known_choice(model, estimator, names, request)
    if names and predicts_times(model):
        raise ValueError(
            "Scoring a survival model requires the whole file: add --no-stream, "
            "or remove --target."
        )
    refuse_several(names, "Predicting in partitions")
    y, predicted, offsets, n_rows = [], [], [], 0
    with table_writer(place, STREAMED) as write:
        for table in known_partitions(request.data, choice):
            answers = Answers(estimator, table.X, table.offset)
            frame = _predictions(answers, request, table.ids)
            write(frame)
            n_rows += len(frame)
            if names:
                check_targets(model, table.y)
                y.append(table.y)
                predicted.append(frame["prediction"].to_numpy())
                offsets.append(table.offset)
        if not n_rows:
            raise ValueError(f"{request.data} has no rows: pass a file with rows.")
    if not names:
        return n_rows, None
    targets = scored_targets(model, None, np.concatenate(y), None)[0]
    offset = None if request.offset is None else np.concatenate(offsets)
    return n_rows, score_of(estimator, targets, np.concatenate(predicted), offset)


def _predictions(
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
        model_data = data_at_model(before, X)
        frame["median_time"] = model.predict_median(model_data)
        survival = model.predict_survival_function(model_data, times)
        for time, column in zip(times, survival.T, strict=True):
            frame[f"later_than_{repr(time).removesuffix('.0')}"] = column
    elif times:
        raise ValueError("--later requires a survival model: remove --later.")
    if request.proba:
        if not hasattr(estimator, "predict_proba"):
            raise ValueError("This model has no probabilities: remove --proba.")
        labels = estimator.classes_ if predicted.ndim == 1 else model.output_names_
        probabilities = ask("predict_proba").T
        for label, column in zip(labels, probabilities, strict=True):
            frame[f"probability_{label}"] = column
    frames = [frame, *_intervals(ask, model, request), _terms(ask, model, request)]
    if ids is not None:
        frames.insert(0, ids.reset_index(drop=True))
    if getattr(X, "index", pd.Index([])).name == NAME:
        frames.insert(0, X.index.to_frame(index=False))
    table = pd.concat(frames, axis=1)
    # The key "score" of --json is beside the columns.
    _refuse_repeated([*table, *(["score"] if request.json else [])], ids)
    return table


def _refuse_repeated(names: list[Any], ids: pd.DataFrame | None) -> None:
    """Raise if two columns of the output have the same name."""
    name = first_repeated(names)
    if name is not None:
        advice = "rename a view, column or target, and fit again"
        if ids is not None and name in ids:
            advice = "rename the column of --id in the file, or remove --id"
        raise ValueError(f"The output has two columns named {name!r}: {advice}.")


def _heads(model: Any, predicted: Any, prefix: str) -> list[str]:
    """Return one column name per output of `predicted`, beginning with `prefix`."""
    several = np.ndim(predicted) > 1
    return [f"{prefix}_{name}" for name in model.output_names_] if several else [prefix]


def _intervals(answers: Answers, model: Any, request: Predict) -> list[pd.DataFrame]:
    """Return the lower and the upper bounds of --interval, if requested."""
    if request.interval is None:
        return []
    if not hasattr(type(model), "predict_interval"):
        raise ValueError("--interval requires a regression model: remove --interval.")
    if getattr(model._state, "folds", None) is None:
        raise ValueError(
            "--interval requires a model fitted with --cv and --intervals: fit it "
            "again with these options, or remove --interval."
        )
    data = data_at_model(last_step(answers.model)[0], answers.X)
    bounds = model.predict_interval(data, request.interval, offset=answers.offset)
    return [
        pd.DataFrame(values, columns=_heads(model, values, head))
        for head, values in zip(("low", "high"), bounds, strict=True)
    ]


def _terms(answers: Answers, model: Any, request: Predict) -> pd.DataFrame:
    """Return contributions and intercepts; no columns without --contributions."""
    if request.contributions is None:
        return pd.DataFrame()
    check_choice("--contributions", request.contributions, ("kernel", "view", "column"))
    result = contributions(answers.model, answers.X, request.contributions)
    constants = np.ravel(model.intercept_)
    terms = result.terms.reshape(len(result.terms), constants.size, -1)
    values = np.empty((len(terms), constants.size, terms.shape[2] + 1))
    values[..., :-1], values[..., -1] = terms, constants
    heads = ["contribution"]
    if constants.size > 1:
        heads = [f"contribution_{name}" for name in model.output_names_]
    names = [
        f"{head}_{term}" for head in heads for term in (*result.names, "intercept")
    ]
    # Names may repeat, such as that of a view called intercept: `_predictions` raises.
    return pd.DataFrame(values.reshape(len(terms), -1), columns=names)
