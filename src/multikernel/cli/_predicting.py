"""The command `multikernel predict`."""

from collections.abc import Hashable, Iterable
from itertools import chain

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, is_outlier_detector

from multikernel._report.outcomes import Answers
from multikernel._typing import Array
from multikernel.cli import _tables
from multikernel.cli._frames import NAME, first_repeated
from multikernel.cli._large import (
    known_partitions,
    reads_partitions,
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
    predicts_one_column,
)
from multikernel.datasets.files import FORMATS as STREAMED
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.publish.summary import predicts_times
from multikernel.estimators.read.targets import scored_targets
from multikernel.inspection import contributions
from multikernel.inspection.pipelines import final_estimator, last_step
from multikernel.inspection.terms import names_of_terms
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
    estimator: BaseEstimator, request: Predict, place: Place
) -> tuple[int, float | None]:
    """Predict a file in partitions; return the row count, and the score or None."""
    model = final_estimator(estimator)
    names = with_event(request.target or [], request.event)
    choice = known_choice(model, estimator, names, request)
    if names and (predicts_times(model) or len(names) > 1):
        raise ValueError(
            "Scoring several targets or a survival model requires the whole file: add "
            "--no-stream, or remove --target."
        )
    y, predicted, offsets, n_rows = [], [], [], 0
    with table_writer(place, STREAMED) as write:
        for table in known_partitions(request.data, choice):
            if names:
                check_targets(model, table.y)
            answers = Answers(estimator, table.X, table.offset)
            frame = _predictions(answers, request, table.ids)
            write(frame)
            n_rows += len(frame)
            if names:
                y.append(table.y)
                predicted.append(frame["prediction"].to_numpy())
                if table.offset is not None:
                    offsets.append(table.offset)
        if not n_rows:
            raise ValueError(f"{request.data} has no rows: pass a file with rows.")
    if not names:
        return n_rows, None
    targets = scored_targets(model, None, np.concatenate(y), None)[0]
    offset = np.concatenate(offsets) if offsets else None
    return n_rows, score_of(estimator, targets, np.concatenate(predicted), offset)


def _predictions(
    ask: Answers, request: Predict, ids: pd.DataFrame | None
) -> pd.DataFrame:
    """Return a table of ids, predictions, and the columns that options add."""
    estimator, X = ask.model, ask.X
    _, model = last_step(estimator)
    # Wrong options and names raise before predictions are computed.
    names = _column_names(estimator, request)
    frames = [] if ids is None else [ids.reset_index(drop=True)]
    # The records of FASTA files have names, which come first.
    index = getattr(X, "index", pd.Index([]))
    if index.name == NAME:
        frames.insert(0, index.to_frame(index=False))
    # The key "score" of --json is beside the columns.
    keys = [*chain.from_iterable(frames), *names, *(["score"] if request.json else [])]
    _refuse_repeated(keys, ids)
    # In the order of `_column_names`.
    values = [ask("predict")]
    if is_outlier_detector(estimator):
        values.append(ask("decision_function"))
    if predicts_times(model):
        values.append(ask("predict_median"))
        values.append(ask("predict_survival_function", request.later or []))
    if request.proba:
        values.append(ask("predict_proba"))
    if request.interval is not None:
        values += ask("predict_interval", request.interval)
    if request.contributions is not None:
        values.append(_terms(ask, model, request.contributions))
    predictions = pd.concat([pd.DataFrame(array) for array in values], axis=1)
    return pd.concat([*frames, predictions.set_axis(names, axis=1)], axis=1)


def _column_names(estimator: BaseEstimator, request: Predict) -> list[str]:
    """Return the names of the predicted columns; raise for unsupported options."""
    _, model = last_step(estimator)
    names, outputs = _heads(model, "prediction"), list(model.output_names_)
    if is_outlier_detector(estimator):
        names.append("decision")
    times = [repr(time).removesuffix(".0") for time in request.later or []]
    if predicts_times(model):
        names += ["median_time", *(f"later_than_{time}" for time in times)]
    elif times:
        raise ValueError("--later requires a survival model: remove --later.")
    if request.proba:
        if not hasattr(estimator, "predict_proba"):
            raise ValueError("This model has no probabilities: remove --proba.")
        labels = estimator.classes_ if predicts_one_column(model) else outputs
        names += [f"probability_{label}" for label in labels]
    if request.interval is not None:
        _check_interval(model)
        names += _heads(model, "low") + _heads(model, "high")
    if request.contributions is not None:
        by = request.contributions
        check_choice("--contributions", by, ("kernel", "view", "column"))
        terms, heads = [*names_of_terms(model, by), "intercept"], ["contribution"]
        if np.size(model.intercept_) > 1:
            heads = [f"contribution_{name}" for name in outputs]
        names += [f"{head}_{term}" for head in heads for term in terms]
    return names


def _refuse_repeated(names: Iterable[Hashable], ids: pd.DataFrame | None) -> None:
    """Raise if two columns of the output have the same name."""
    name = first_repeated(names)
    if name is not None:
        advice = "rename a view, column or target, and fit again"
        if ids is not None and name in ids:
            advice = "rename the column of --id in the file, or remove --id"
        raise ValueError(f"The output has two columns named {name!r}: {advice}.")


def _heads(model: BaseMKL, prefix: str) -> list[str]:
    """Return the name of each column of predictions, beginning with `prefix`."""
    if predicts_one_column(model):
        return [prefix]
    return [f"{prefix}_{name}" for name in model.output_names_]


def _check_interval(model: BaseMKL) -> None:
    """Raise unless a model has prediction intervals."""
    if not hasattr(type(model), "predict_interval"):
        raise ValueError("--interval requires a regression model: remove --interval.")
    if getattr(model._state, "folds", None) is None:
        raise ValueError(
            "--interval requires a model fitted with --cv and --intervals: fit it "
            "again with these options, or remove --interval."
        )


def _terms(answers: Answers, model: BaseMKL, by: str) -> Array:
    """Return the contributions and the intercept of each output, side by side."""
    # The result has shape (n_samples, n_outputs * (n_terms + 1)).
    terms = contributions(answers.model, answers.X, by).terms
    constants = np.ravel(model.intercept_)
    terms = terms.reshape(len(terms), constants.size, -1)
    values = np.empty((len(terms), constants.size, terms.shape[2] + 1))
    values[..., :-1], values[..., -1] = terms, constants
    return values.reshape(len(terms), -1)
