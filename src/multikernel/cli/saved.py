"""Commands on a saved model: ``multikernel predict | score | inspect | report``."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from sklearn.base import is_classifier, is_outlier_detector

from multikernel import report as page
from multikernel.cli import _options as options
from multikernel.cli import _report, _tables
from multikernel.cli._columns import NAME, ColumnChoice
from multikernel.cli._console import say, user_errors
from multikernel.cli._large import by_batches, one_target, predict_stream, score_of
from multikernel.estimators.publish.summary import MOST_ROWS
from multikernel.inspection.pipelines import final_estimator
from multikernel.persistence import load


@contextmanager
def opened_model(path: Path, max_bytes: int) -> Iterator[Any]:
    """Lend a saved model; a file that holds something else is the user's error."""
    model = load(path, max_bytes=max_bytes)
    try:
        yield model
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        raise ValueError(
            f"{path} holds no fitted model: its {type(model).__name__} lacks what the "
            "command needs."
        ) from error


@user_errors
def predict(
    model: options.ModelFile,
    data: options.DataFile,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="CSV, Parquet or npz file; standard output if not given.",
        ),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target",
            "-t",
            help="Column of known targets, to score against; may be repeated.",
        ),
    ] = None,
    proba: Annotated[bool, typer.Option(help="Add a probability per class.")] = False,
    drop: options.Drop = None,
    stream: options.Stream = None,
    max_bytes: options.MaxBytes = options.MAX_BYTES,
    json: options.Json = False,
) -> None:
    """Predict with a saved model, one row per row of the file."""
    streamed = by_batches(data, stream) and not json
    named = target or []
    single = one_target(named, "Predicting by batches") if streamed and named else None
    with opened_model(model, max_bytes) as estimator:
        if streamed:
            n_rows, score = _predict_stream(
                estimator, data, single, drop or [], output, proba
            )
        else:
            if named and is_outlier_detector(estimator):
                raise ValueError("A one-class model has no score: leave out --target.")
            table = _known_table(estimator, [data], named, drop)
            frame = _answers(estimator, table.X, proba)
            if getattr(table.X, "index", pd.Index([])).name == NAME:
                frame.insert(0, NAME, table.X.index)
            score = float(estimator.score(table.X, table.y)) if named else None
            n_rows = len(frame)
    if json:
        columns = {str(key): list(frame[key]) for key in frame}
        _report.print_json({"score": score, **columns})
        return
    if not streamed:
        _tables.write_table(frame, output)
    if output is not None:
        say(f"{n_rows} predictions written to {output}", stderr=True)
    if score is not None:
        say(f"score: {score:.6g}", stderr=True)


def _predict_stream(
    estimator: Any,
    data: Path,
    target: str | None,
    drop: list[str],
    output: Path | None,
    proba: bool,
) -> tuple[int, float | None]:
    """Predict batch by batch; return the number of rows, and the score."""
    sequences, categories = _known_texts(estimator)
    only = _known_features(estimator)

    def answer(frame: pd.DataFrame, first: bool) -> pd.DataFrame:
        part = _tables.known_part(data, frame, only, tell=first)
        X = _tables.features_of(data, part, (*sequences, *categories))
        return _answers(estimator, X, proba)

    n_rows, y, found = predict_stream(answer, data, target, drop, output)
    return n_rows, None if target is None else score_of(estimator, y, found)


def _known_table(
    estimator: Any, data: Sequence[Path], target: list[str], drop: list[str] | None
) -> _tables.Table:
    """Read the columns that a model was fitted on, as what it took them for."""
    sequences, categories = _known_texts(estimator)
    choice, only = ColumnChoice(categories=categories), _known_features(estimator)
    (first, *others), drop = data, drop or []
    return _tables.read_table(first, target, drop, sequences, choice, only, others)


def _known_texts(estimator: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns of sequences and of categories that a model was fitted on."""
    model = final_estimator(estimator)

    def names(attribute: str) -> tuple[str, ...]:
        places = getattr(model, attribute, ())
        return tuple(str(model.feature_names_in_[place]) for place in places)

    return names("sequence_features_"), names("category_features_")


def _known_features(estimator: Any) -> list[str] | None:
    """Return the columns that a model takes, None where it knows no names."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _answers(estimator: Any, X: Any, proba: bool) -> pd.DataFrame:
    """Return predictions, with a probability for each class where asked for."""
    frame = _predictions(estimator, X)
    if proba:
        for label, column in _probabilities(estimator, X).items():
            frame[f"probability_{label}"] = column
    return frame


def _predictions(estimator: Any, X: Any) -> pd.DataFrame:
    """Return a column of predictions, or one for each of several outputs."""
    found = estimator.predict(X)
    if found.ndim == 1:
        frame = pd.DataFrame({"prediction": found})
        if is_outlier_detector(estimator):
            frame["decision"] = estimator.decision_function(X)  # to rank them by
        return frame
    names = final_estimator(estimator).output_names_
    return pd.DataFrame(found, columns=[f"prediction_{name}" for name in names])


def _probabilities(estimator: Any, X: Any) -> dict[Any, Any]:
    if not hasattr(estimator, "predict_proba"):
        raise ValueError("This model has no probabilities: leave out --proba.")
    columns = estimator.predict_proba(X).T
    several = np.ndim(estimator.predict(X[:1])) == 2
    labels = final_estimator(estimator).output_names_ if several else estimator.classes_
    return dict(zip(labels, columns, strict=True))


@user_errors
def score(
    model: options.ModelFile,
    data: options.DataFiles,
    target: options.Target = None,
    drop: options.Drop = None,
    max_bytes: options.MaxBytes = options.MAX_BYTES,
    json: options.Json = False,
) -> None:
    """Score a saved model on known targets: accuracy, or R2."""
    targets = target or _tables.default_target(data)
    if not targets:
        raise ValueError("Missing option --target: the column of known targets.")
    with opened_model(model, max_bytes) as estimator:
        if is_outlier_detector(estimator):
            raise ValueError("A one-class model has no score.")
        table = _known_table(estimator, data, targets, drop)
        found = float(estimator.score(table.X, table.y))
        each = _scores_of_targets(estimator, table) if len(targets) > 1 else {}
    measure, size = "accuracy" if is_classifier(estimator) else "R2", len(table.X)
    if json:
        several = {"scores": each} if each else {}
        report = {"samples": size, "measure": measure, "score": found}
        _report.print_json(report | several)
        return
    say(f"{measure} on {size} samples: {found:.6g}")
    for name, value in each.items():
        say(f"{name}: {value:.6g}")


def _scores_of_targets(estimator: Any, table: _tables.Table) -> dict[str, float]:
    """Return the score of each of several targets or labels, by name."""
    columns = zip(np.asarray(table.y).T, estimator.predict(table.X).T, strict=True)
    names = final_estimator(estimator).output_names_
    scores = [score_of(estimator, known, found) for known, found in columns]
    return dict(zip(names, scores, strict=True))


@user_errors
def inspect(
    model: options.ModelFile,
    rows: Annotated[
        int, typer.Option(help="Kernels listed at most.", min=1)
    ] = MOST_ROWS,
    max_bytes: options.MaxBytes = options.MAX_BYTES,
    json: options.Json = False,
) -> None:
    """Show the kernels, weights, parameters and certificate of a saved model."""
    with opened_model(model, max_bytes) as estimator:
        report = _report.model_report(estimator)
        if json:
            _report.print_json(report)
            return
        facts = _report.chosen_parameters(report) | _report.diagnostics(report)
        _report.print_facts(facts, report["estimator"])
        _report.print_facts(report["parameters"], "parameters")
        _report.print_views(report)
        _report.print_kernels(report, rows)


@user_errors
def report(
    model: options.ModelFile,
    data: options.DataFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="HTML file to write.")
    ] = Path("report.html"),
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target",
            "-t",
            help="Column of known targets, for scores; may be repeated.",
        ),
    ] = None,
    drop: options.Drop = None,
    max_bytes: options.MaxBytes = options.MAX_BYTES,
) -> None:
    """Write what a saved model is and says as one HTML page that needs no network."""
    with opened_model(model, max_bytes) as estimator:
        table = _known_table(estimator, [data], target or [], drop)
        page(estimator, table.X, table.y, output)
    say(f"Written to {output}.")
