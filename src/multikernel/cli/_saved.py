"""Commands on a saved model: predict, score, inspect and report."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_outlier_detector
from sklearn.exceptions import NotFittedError
from sklearn.metrics import get_scorer

from multikernel import report as page
from multikernel._outcomes import Answers
from multikernel.cli import _report, _tables
from multikernel.cli._answers import answers_of
from multikernel.cli._columns import NAME, ColumnChoice
from multikernel.cli._frames import naming_damage
from multikernel.cli._large import in_partitions, one_target, opened, score_of
from multikernel.cli._messages import say
from multikernel.cli._methods import check_scoring, with_event
from multikernel.cli._outputs import file_name, find_output, table_writer
from multikernel.cli._requests import (
    Inspect,
    Predict,
    Report,
    Saved,
    SavedOnData,
    Score,
)
from multikernel.cli._targets import default_target, read_offset
from multikernel.datasets.files import FORMATS as STREAMED, check_columns
from multikernel.estimators import ProgressBar
from multikernel.estimators.publish.columns import unused_columns
from multikernel.estimators.publish.summary import MOST_ROWS, predicts_times
from multikernel.inspection.pipelines import final_estimator
from multikernel.persistence import MAX_BYTES, load
from multikernel.persistence.places import write_to


@contextmanager
def opened_model(asked: Saved) -> Iterator[Any]:
    """Yield a saved model; errors of a file without a usable model are ValueErrors."""
    trusted, max_bytes = asked.trusted or [], asked.max_bytes or MAX_BYTES
    model = load(asked.model, trusted, max_bytes=max_bytes)
    try:
        final_estimator(model)
    except (AttributeError, LookupError, TypeError, NotFittedError) as error:
        raise ValueError(f"{asked.model} contains no fitted model: {error}") from error
    try:
        yield model
    except TypeError as error:
        raise ValueError(str(error)) from error
    except (ArithmeticError, AttributeError, LookupError) as error:
        raise ValueError(
            f"The model in {asked.model} is damaged or incomplete "
            f"({type(error).__name__}: {error}): fit and save it again."
        ) from error


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
        table = _known_table(estimator, asked, [asked.data], asked.target or [])
        ask = Answers(estimator, table.X, table.offset)
        frame = answers_of(ask, asked, table.ids)
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
    texts, targets = _known_texts(estimator), [target] if target else []
    choice = _known_choice(final_estimator(estimator), estimator, targets, asked)
    if choice.dates:
        raise ValueError(
            "A model with --date requires the whole file: add --no-stream."
        )
    path = asked.data
    as_texts = [*choice.texts, *chain(*(text.split(",") for text in choice.ids))]
    frame, _, ignored = opened(path, choice, as_texts)
    columns = choice.named(frame.columns)
    ids, offset = list(columns.ids), columns.single
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
            X = _tables.features_of(path, X, words, known=columns.is_known)
            yield answers_of(Answers(estimator, X, offsets), asked, beside), y
            bar.show("", (number + 1) / frame.npartitions)


def _known_table(
    estimator: Any,
    asked: SavedOnData,
    data: Sequence[Path],
    target: list[str],
) -> _tables.Table:
    """Read the columns that a model was fitted on, with the types of the fit."""
    model = final_estimator(estimator)
    if asked.event is not None and not predicts_times(model):
        raise ValueError(
            f"--event requires a survival model, got {type(model).__name__}: remove "
            "--event."
        )
    (first, *others), targets = data, with_event(target, asked.event)
    choice = _known_choice(model, estimator, targets, asked)
    table = _tables.read_table(first, choice, others)
    table = _tables.as_times(table, asked.event)
    if predicts_times(model) and table.y is not None and np.ndim(table.y) == 1:
        raise ValueError(
            f"--target {', '.join(target)} is not enough for a survival model: add "
            "--event, the column with the event indicator."
        )
    return table


def _known_texts(estimator: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the sequence columns and the category columns of a fitted model."""
    model = final_estimator(estimator)

    def names(attribute: str) -> tuple[str, ...]:
        places = getattr(model, attribute, ())
        return tuple(str(model.feature_names_in_[column]) for column in places)

    return names("sequence_features_"), names("category_features_")


def _known_choice(
    model: Any, estimator: Any, targets: Sequence[str], asked: SavedOnData
) -> ColumnChoice:
    """Return the column options that a fitted model and a command determine."""
    sequences, categories = _known_texts(estimator)
    only = _known_features(estimator)
    features = {*targets} & {*(only or ())}
    if features:
        raise ValueError(
            f"--target {min(features)} is a feature of the model: name the column that "
            "the model predicts."
        )
    numbers = {*(only or ())} - {*_known_dates(estimator)}
    values = zip(categories, getattr(model, "categories_", ()), strict=False)
    texts = [name for name, labels in values if labels.dtype.kind == "U"]
    classes = np.asarray(getattr(model, "classes_", ()))
    return ColumnChoice(
        tuple(targets),
        tuple(asked.drop or ()),
        categories=categories,
        sequences=sequences,
        labels=hasattr(model, "classes_"),
        texts=(*texts, *(targets if classes.dtype.kind in "OU" else ())),
        ids=tuple(asked.id or ()),
        offset=asked.offset,
        dates=_known_dates(estimator),
        unused=tuple(name for name in unused_columns(model) if name in numbers),
        only=only,
    )


def _known_dates(estimator: Any) -> tuple[str, ...]:
    """Return the date columns of a fitted model."""
    step = getattr(estimator, "named_steps", {}).get("dates")
    return () if step is None else tuple(step.transformers_[0][2])


def _known_features(estimator: Any) -> tuple[str, ...] | None:
    """Return the column names of a fitted model, or None if it has none."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(str(name) for name in names)


def run_score(asked: Score) -> None:
    """Score a model on the rows of files."""
    find_output(None, [asked.model, *asked.data])
    targets = asked.target or default_target(asked.data)
    if not targets:
        raise ValueError("Missing option --target: the column of true targets.")
    with opened_model(asked) as estimator:
        if is_outlier_detector(estimator):
            raise ValueError("A one-class model has no score.")
        table = _known_table(estimator, asked, asked.data, targets)
        score, measure = _scored(estimator, table, asked)
        several = len(targets) > 1 and measure != "concordance"
        several &= asked.scoring is None and asked.offset is None
        each = _scores_of_targets(estimator, table) if several else {}
    size = len(table)
    if asked.json:
        report = {"samples": size, "measure": measure, "score": score}
        _report.print_json(report | ({"scores": each} if each else {}))
        return
    say(f"{measure} on {size} samples: {score:.6g}")
    for name, value in each.items():
        say(f"{name}: {value:.6g}")


def _scored(estimator: Any, table: _tables.Table, asked: Score) -> tuple[float, str]:
    """Return the score of a model and the name of the score."""
    name = asked.scoring
    if name is None:
        measure = _report.score_name(final_estimator(estimator))
        return float(
            Answers(estimator, table.X, table.offset)("score", table.y)
        ), measure
    if asked.offset is not None:
        raise ValueError("--scoring does not support --offset: remove one of them.")
    check_scoring(name)
    try:
        return float(get_scorer(name)(estimator, table.X, table.y)), name
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(
            f"--scoring {name} does not apply to this model: {error}"
        ) from error


def _scores_of_targets(estimator: Any, table: _tables.Table) -> dict[str, float]:
    """Return the score of each target or label, by name."""
    columns = zip(np.asarray(table.y).T, estimator.predict(table.X).T, strict=True)
    names = final_estimator(estimator).output_names_
    scores = [score_of(estimator, target, answer) for target, answer in columns]
    return dict(zip(names, scores, strict=True))


def run_inspect(asked: Inspect) -> None:
    """Print the facts, parameters and kernels of a saved model."""
    find_output(None, [asked.model])
    with opened_model(asked) as estimator:
        report = _report.model_report(estimator)
        if asked.json:
            _report.print_json(report)
            return
        facts = _report.chosen_parameters(report) | _report.diagnostics(report)
        _report.print_facts(facts, report["estimator"])
        _report.print_facts(report["parameters"], "parameters")
        _report.print_kernels(report, asked.rows or MOST_ROWS)


def run_report(asked: Report) -> None:
    """Write the HTML report of a saved model."""
    destination = find_output(asked.output, [asked.model, asked.data])
    with opened_model(asked) as estimator:
        table = _known_table(estimator, asked, [asked.data], asked.target or [])
        text = page(estimator, table.X, table.y, offset=table.offset)
    write_to(destination, text.encode())
    if file_name(asked.output, destination) is not None:
        say(f"Written to {asked.output}.")
