"""``multikernel inspect``: tell what is in a saved model."""

from typing import Annotated

import typer

from multikernel.cli._errors import user_errors
from multikernel.cli._options import Json
from multikernel.cli._report import (
    MOST_ROWS,
    diagnostics,
    model_report,
    print_facts,
    print_json,
    print_kernels,
)
from multikernel.cli.predict import ModelFile
from multikernel.persistence import load


@user_errors
def inspect(
    model: ModelFile,
    rows: Annotated[
        int, typer.Option(help="Kernels listed at most.", min=1)
    ] = MOST_ROWS,
    json: Json = False,
) -> None:
    """Show the kernels, weights, parameters and certificate of a saved model."""
    report = model_report(load(model))
    if json:
        print_json(report)
        return
    print_facts(diagnostics(report), report["estimator"])
    print_facts(report["parameters"], "parameters")
    print_kernels(report, rows)
