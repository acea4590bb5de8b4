"""``multikernel inspect``: tell what is in a saved model."""

from typing import Annotated

import typer

from multikernel.cli import _options as options
from multikernel.cli import _report
from multikernel.cli._console import user_errors
from multikernel.cli.predict import opened


@user_errors
def inspect(
    model: options.ModelFile,
    rows: Annotated[
        int, typer.Option(help="Kernels listed at most.", min=1)
    ] = _report.MOST_ROWS,
    max_bytes: options.MaxBytes = options.MAX_BYTES,
    json: options.Json = False,
) -> None:
    """Show the kernels, weights, parameters and certificate of a saved model."""
    with opened(model, max_bytes) as estimator:
        report = _report.model_report(estimator)
        if json:
            _report.print_json(report)
            return
        facts = _report.chosen(report) | _report.diagnostics(report)
        _report.print_facts(facts, report["estimator"])
        _report.print_facts(report["parameters"], "parameters")
        _report.print_views(report)
        _report.print_kernels(report, rows)
