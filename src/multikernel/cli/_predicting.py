"""The command `multikernel predict`."""

from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_outlier_detector

from multikernel._report.outcomes import Answers
from multikernel.cli import _report, _tables
from multikernel.cli._features import features_of
from multikernel.cli._frames import NAME, naming_damage
from multikernel.cli._large import in_partitions, one_target, opened, score_of
from multikernel.cli._messages import check_choice, say
from multikernel.cli._outputs import find_output, table_writer
from multikernel.cli._requests import Predict
from multikernel.cli._saved import known_choice, known_table, known_texts, opened_model
from multikernel.cli._targets import read_offset
from multikernel.datasets.files import FORMATS as STREAMED, check_columns
from multikernel.estimators import ProgressBar
from multikernel.estimators.publish.summary import predicts_times
from multikernel.inspection import contributions
from multikernel.inspection.pipelines import data_at_model, final_estimator, last_step


def run_predict(asked: Predict) -> None:
    """Predict, write the predictions, and print the score if targets are given."""
    if in_partitions(asked.data, asked.stream) and not asked.json:
        n_rows, score = _predicted_in_partitions(asked)
    else:
        n_rows, score = _predicted_whole(asked)
    if asked.json:
        return
    if asked.output is not None and str(asked.output) != "-":
        say(f"{n_rows} predictions written to {asked.output}", stderr=True)
    if score is not None:
        say(f"score: {score:.6g}", stderr=True)


def _predicted_whole(asked: Predict) -> tuple[int, float | None]:
    """Predict a file in memory; return the number of rows, and the score or None."""
    target = find_output(
        asked.output, [asked.model, asked.data], _tables.FORMATS, json=asked.json
    )
    with opened_model(asked) as estimator:
        if asked.target and is_outlier_detector(estimator):
            raise ValueError("A one-class model has no score: remove --target.")
        table = known_table(estimator, asked, [asked.data], asked.target or [])
        ask = Answers(estimator, table.X, table.offset)
        frame = _answers_of(ask, asked, table.ids)
        if getattr(table.X, "index", pd.Index([])).name == NAME:
            frame.insert(0, NAME, table.X.index)
        score = float(ask("score", table.y)) if asked.target else None
    if asked.output is not None or not asked.json:
        with table_writer(target, _tables.FORMATS) as write:
            write(frame)
    if asked.json:
        columns = {str(key): list(frame[key]) for key in frame}
        _report.print_json({"score": score, **columns})
    return len(frame), score


def _predicted_in_partitions(asked: Predict) -> tuple[int, float | None]:
    """Predict a file in partitions; return the row count, and the score or None."""
    names = asked.target or []
    target = one_target(names, "Predicting in partitions") if names else None
    destination = find_output(asked.output, [asked.model, asked.data], STREAMED)
    y, predicted, n_rows = [], [], 0
    with opened_model(asked) as estimator:
        if target and predicts_times(final_estimator(estimator)):
            raise ValueError(
                "Scoring a survival model requires the whole file: add --no-stream, "
                "or remove --target."
            )
        with table_writer(destination, STREAMED) as write:
            for answers, targets in _answers_in_partitions(estimator, asked, target):
                write(answers)
                n_rows += len(answers)
                if target:
                    y.append(targets)
                    predicted.append(answers["prediction"].to_numpy())
            if not n_rows:
                raise ValueError(f"{asked.data} has no rows.")
        if not target:
            return n_rows, None
        return n_rows, score_of(estimator, np.concatenate(y), np.concatenate(predicted))


def _answers_in_partitions(
    estimator: Any, asked: Predict, target: str | None
) -> Iterator[tuple[pd.DataFrame, Any]]:
    """Yield the predictions and the targets of each partition of a file."""
    texts, targets = known_texts(estimator), [target] if target else []
    choice = known_choice(final_estimator(estimator), estimator, targets, asked)
    if choice.dates:
        raise ValueError(
            "A model with --date requires the whole file: add --no-stream."
        )
    path = asked.data
    as_texts = [*choice.texts, *chain(*(text.split(",") for text in choice.ids))]
    frame, _, ignored = opened(path, choice, as_texts)
    columns = choice.named(frame.columns)
    ids, offset = list(columns.ids), list(filter(None, [columns.offset]))
    check_columns(path, frame.columns, [*targets, *ids, *offset, *columns.drop])
    dropped = {*ignored, *columns.drop} - {*targets, *ids, *offset}
    frame = frame.drop(columns=[name for name in frame.columns if name in dropped])
    with closing(ProgressBar(f"Predicting {path.name}")) as bar:
        for number, partition in enumerate(frame.partitions):
            with naming_damage(path, "CSV or Parquet file"):
                rows = partition.compute()
            if not len(rows):
                continue
            y = rows.pop(target).to_numpy() if target else None
            beside = rows[ids] if ids else None
            offsets = read_offset(path, rows, offset[0]) if offset else None
            unknown = [name for name in ids if name not in (choice.only or ())]
            rows = rows.drop(columns=[*offset, *unknown])
            X = _tables.known_part(path, rows, choice, tell=number == 0)
            words = [*texts[0], *texts[1]]
            X = features_of(path, X, words, known=columns.is_known)
            yield _answers_of(Answers(estimator, X, offsets), asked, beside), y
            bar.show("", (number + 1) / frame.npartitions)


def _answers_of(ask: Answers, asked: Predict, ids: pd.DataFrame | None) -> pd.DataFrame:
    """Return a table of ids, predictions, and the columns that options add."""
    estimator, X = ask.model, ask.X
    (before, model), times = last_step(estimator), asked.later or []
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
    if asked.proba:
        if not hasattr(estimator, "predict_proba"):
            raise ValueError("This model has no probabilities: remove --proba.")
        labels = estimator.classes_ if predicted.ndim == 1 else model.output_names_
        chances = ask("predict_proba").T
        for label, column in zip(labels, chances, strict=True):
            frame[f"probability_{label}"] = column
    parts = [frame, _intervals(ask, model, asked), _terms(ask, model, asked)]
    if ids is not None:
        parts.insert(0, ids.reset_index(drop=True))
    return pd.concat(parts, axis=1)


def _heads(model: Any, predicted: Any, head: str) -> list[str]:
    """Return the column names of predictions, one per output."""
    several = np.ndim(predicted) > 1
    return [f"{head}_{name}" for name in model.output_names_] if several else [head]


def _intervals(ask: Answers, model: Any, asked: Predict) -> pd.DataFrame:
    """Return the bounds of prediction intervals; no columns without --interval."""
    if asked.interval is None:
        return pd.DataFrame()
    if getattr(model._state, "folds", None) is None:
        raise ValueError(
            "--interval requires a model fitted with --cv and --intervals."
        )
    before, _ = last_step(ask.model)
    data = data_at_model(before, ask.X)
    ends = model.predict_interval(data, asked.interval, offset=ask.offset)
    parts = [
        pd.DataFrame(values, columns=_heads(model, values, head))
        for head, values in zip(("low", "high"), ends, strict=True)
    ]
    return pd.concat(parts, axis=1)


def _terms(ask: Answers, model: Any, asked: Predict) -> pd.DataFrame:
    """Return contributions and intercepts; no columns without --contributions."""
    if asked.contributions is None:
        return pd.DataFrame()
    check_choice("--contributions", asked.contributions, ("kernel", "view", "column"))
    split = contributions(ask.model, ask.X, asked.contributions)
    constants, names = np.ravel(model.intercept_), [*split.names, "intercept"]
    terms = split.terms.reshape(len(split.terms), constants.size, -1)
    columns = {}
    for position, output in enumerate(model.output_names_):
        head = f"{output}_" if constants.size > 1 else ""
        values = np.column_stack(
            [terms[:, position], np.full(len(terms), constants[position])]
        )
        for name, column in zip(names, values.T, strict=True):
            columns[f"contribution_{head}{name}"] = column
    return pd.DataFrame(columns)
