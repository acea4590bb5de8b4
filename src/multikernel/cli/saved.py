"""Commands on a saved model: ``multikernel predict | score | inspect | report``."""

from pathlib import Path
from typing import Annotated

import typer

from multikernel.cli import _options as options
from multikernel.cli._messages import user_errors
from multikernel.cli._start import loading


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
    event: options.Event = None,
    later: Annotated[
        list[float] | None,
        typer.Option(
            help="A time: add the probability of an event later than it, of models of "
            "times; may be repeated."
        ),
    ] = None,
    proba: Annotated[bool, typer.Option(help="Add a probability per class.")] = False,
    drop: options.Drop = None,
    stream: options.Stream = None,
    max_bytes: options.MaxBytes = None,
    json: options.Json = False,
) -> None:
    """Predict with a saved model, one row per row of the file."""
    with loading():
        from multikernel.cli import _saved

    request = _saved.Prediction(
        model,
        data,
        output,
        target or [],
        event,
        later or [],
        proba,
        drop or [],
        stream,
        max_bytes,
        json,
    )
    _saved.run_predict(request)


@user_errors
def score(
    model: options.ModelFile,
    data: options.DataFiles,
    target: options.Target = None,
    event: options.Event = None,
    drop: options.Drop = None,
    max_bytes: options.MaxBytes = None,
    json: options.Json = False,
) -> None:
    """Score a saved model on known targets: accuracy, R2, or concordance of times."""
    with loading():
        from multikernel.cli import _saved

    _saved.run_score(model, data, target, event, drop, max_bytes, json=json)


@user_errors
def inspect(
    model: options.ModelFile,
    rows: Annotated[
        int | None,
        typer.Option(help="Kernels listed at most.", min=1, show_default=False),
    ] = None,
    max_bytes: options.MaxBytes = None,
    json: options.Json = False,
) -> None:
    """Show the kernels, weights, parameters and certificate of a saved model."""
    with loading():
        from multikernel.cli import _saved

    _saved.run_inspect(model, rows, max_bytes, json=json)


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
    event: options.Event = None,
    drop: options.Drop = None,
    max_bytes: options.MaxBytes = None,
) -> None:
    """Write what a saved model is and says as one HTML page that needs no network."""
    with loading():
        from multikernel.cli import _saved

    _saved.run_report(model, data, output, target or [], event, drop, max_bytes)
