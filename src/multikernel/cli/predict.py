"""``multikernel predict``: apply a saved model to a file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from multikernel.cli import _options as options
from multikernel.cli._console import say, user_errors
from multikernel.cli._report import print_json
from multikernel.cli._sequences import known_columns
from multikernel.cli._tables import read_table, write_table
from multikernel.display.fitted import final_estimator, output_names
from multikernel.persistence import load


@contextmanager
def opened(path: Path, max_bytes: int) -> Iterator[Any]:
    """Lend a saved model; what fails because the file holds no such is a user's error.

    Parameters
    ----------
    path : Path
        The model file.
    max_bytes : int
        Most memory that loading it may take.

    Raises
    ------
    ValueError
        If it is no model file, or holds something else than a fitted model.
    """
    model = load(path, max_bytes=max_bytes)
    try:
        yield model
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        raise ValueError(f"{path} holds no fitted model ({error}).") from error


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
    max_bytes: options.MaxBytes = options.MAX_BYTES,
    json: options.Json = False,
) -> None:
    """Predict with a saved model, one row per row of the file."""
    with opened(model, max_bytes) as estimator:
        table = read_table(data, target or [], drop or [], known_columns(estimator))
        frame = _predictions(estimator, table.X)
        if proba:
            for label, column in _probabilities(estimator, table.X).items():
                frame[f"probability_{label}"] = column
        score = None if not target else float(estimator.score(table.X, table.y))
    if json:
        print_json({"score": score, **{str(key): list(frame[key]) for key in frame}})
        return
    write_table(frame, output)
    if output is not None:
        say(f"{len(frame)} predictions written to {output}", stderr=True)
    if score is not None:
        say(f"score: {score:.6g}", stderr=True)


def _predictions(estimator: Any, X: Any) -> pd.DataFrame:
    """Return a column of predictions, or one for each of several outputs."""
    found = estimator.predict(X)
    if found.ndim == 1:
        return pd.DataFrame({"prediction": found})
    names = output_names(final_estimator(estimator))
    return pd.DataFrame(found, columns=[f"prediction_{name}" for name in names])


def _probabilities(estimator: Any, X: Any) -> dict[Any, Any]:
    if not hasattr(estimator, "predict_proba"):
        raise ValueError("This model has no probabilities: leave out --proba.")
    columns = estimator.predict_proba(X).T
    several = np.ndim(estimator.predict(X[:1])) == 2
    labels = output_names(final_estimator(estimator)) if several else estimator.classes_
    return dict(zip(labels, columns, strict=True))
