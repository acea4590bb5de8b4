"""``multikernel inspect``: tell what is in a saved model."""

from typing import Annotated

import typer

from multikernel.cli import _options as options
from multikernel.cli._console import user_errors
from multikernel.cli._report import (
    MOST_ROWS,
    diagnostics,
    model_report,
    print_facts,
    print_json,
    print_kernels,
)
from multikernel.cli.predict import opened


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
    with opened(model, max_bytes) as estimator:
        report = model_report(estimator)
        if json:
            print_json(report)
            return
        print_facts(diagnostics(report), report["estimator"])
        print_facts(report["parameters"], "parameters")
        print_kernels(report, rows)
