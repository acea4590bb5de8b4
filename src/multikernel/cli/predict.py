"""``multikernel predict``: apply a saved model to a file."""

from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from rich.console import Console

from multikernel.cli._errors import user_errors
from multikernel.cli._options import DataFile, Drop, Json
from multikernel.cli._report import print_json
from multikernel.cli._tables import read_table, write_table
from multikernel.persistence import load

ModelFile = Annotated[
    Path, typer.Argument(help="Model file written by fit.", show_default=False)
]


@user_errors
def predict(
    model: ModelFile,
    data: DataFile,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="CSV, Parquet or npz file; standard output if not given.",
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target", "-t", help="Column of known targets, to score against."
        ),
    ] = None,
    proba: Annotated[bool, typer.Option(help="Add a probability per class.")] = False,
    drop: Drop = None,
    json: Json = False,
) -> None:
    """Predict with a saved model, one row per row of the file."""
    estimator = load(model)
    table = read_table(data, target, drop or [])
    frame = pd.DataFrame({"prediction": estimator.predict(table.X)})
    if proba:
        for label, column in _probabilities(estimator, table.X).items():
            frame[f"probability_{label}"] = column
    score = None if target is None else estimator.score(table.X, table.y)
    if json:
        print_json({"score": score, **{str(key): list(frame[key]) for key in frame}})
        return
    write_table(frame, output)
    console = Console(stderr=True, soft_wrap=True)
    if output is not None:
        console.print(f"{len(frame)} predictions written to {output}")
    if score is not None:
        console.print(f"score: {score:.6g}")


def _probabilities(estimator: Any, X: Any) -> dict[Any, Any]:
    if not hasattr(estimator, "predict_proba"):
        raise ValueError("This model has no probabilities: leave out --proba.")
    columns = estimator.predict_proba(X).T
    return dict(zip(estimator.classes_, columns, strict=True))
