"""``multikernel report``: a saved model and data as one HTML page."""

from pathlib import Path
from typing import Annotated

import typer

from multikernel import report as page
from multikernel.cli import _options as options
from multikernel.cli._console import say, user_errors
from multikernel.cli._sequences import known_columns, known_features
from multikernel.cli._tables import read_table
from multikernel.cli.predict import opened


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
    with opened(model, max_bytes) as estimator:
        sequences, choice = known_columns(estimator)
        only = known_features(estimator)
        table = read_table(data, target or [], drop or [], sequences, choice, only)
        page(estimator, table.X, table.y, output)
    say(f"Written to {output}.")
