"""What `multikernel path` does."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table as RichTable

from multikernel.cli import _report
from multikernel.cli._console import LiveFit
from multikernel.cli._messages import console, say
from multikernel.cli._methods import find_method
from multikernel.cli._options import Request
from multikernel.cli._outputs import beside, file_name, find_output
from multikernel.cli._tables import Table
from multikernel.cli._training import (
    TrainingRequest,
    prepared,
    read_request,
    targets_asked,
)
from multikernel.display import RegularizationPathDisplay
from multikernel.estimators import NamedPath, regularization_path


def run_path(
    request: Request,
    method: str,
    n_alphas: int,
    alpha_min_ratio: float,
    plot: Path | None,
    *,
    json: bool,
) -> None:
    """Follow a path, draw it if asked for, and report which kernels enter."""
    entry = find_method(method)
    if not entry.tasks:
        raise ValueError(f"{entry.title} has no path.")
    without = {"survival": "times to an event", "ordinal": "ordered classes"}
    if request.task in without:
        raise ValueError(
            f"For {without[request.task]} there is no path: fit with --cv."
        )
    targets = targets_asked(request, entry)
    # The file's name is checked before the work. One without an ending is a PNG.
    formats = [] if plot is None else [*_report.picture_formats(), ""]
    picture = find_output(plot, request.data, formats, json=json)
    training = TrainingRequest(request, entry)
    table = read_request(request, targets)
    start = time.perf_counter()
    path = _followed(request, training, table, n_alphas, alpha_min_ratio)
    seconds = time.perf_counter() - start
    if table.kernel_names is not None:
        path = replace(path, kernel_names=list(table.kernel_names))
    if plot is not None:
        _report.save_plot(RegularizationPathDisplay.from_path(path), picture)
    report = {
        "seconds": seconds,
        "n_kernels": len(path.kernel_names),
        "path": _path_lines(path),
        "plot": file_name(plot, picture),
    }
    if json:
        _report.print_json(report)
        return
    with beside(picture, plot):
        _show_path(report)


def _followed(
    request: Request,
    training: TrainingRequest,
    table: Table,
    n_alphas: int,
    alpha_min_ratio: float,
) -> NamedPath:
    """Return the path over a table."""
    estimator = training.estimator(table, {})
    X = prepared(table, scale=request.scale, impute=request.impute)
    live = LiveFit(training.method.title, tol=estimator.tol, n_samples=len(table.y))
    with training.blaming_settings(), live as watch:
        return regularization_path(
            estimator,
            X,
            table.y,
            n_alphas=n_alphas,
            alpha_min_ratio=alpha_min_ratio,
            callback=watch,
        )


def _path_lines(found: NamedPath) -> list[dict[str, Any]]:
    """Return one line per alpha, with the kernels that came in there."""
    in_use = found.norms() > 0
    seen = np.logical_or.accumulate(in_use, axis=0)
    lines = []
    for step, alpha in enumerate(found.path.alphas):
        new = seen[step] & ~seen[step - 1] if step else seen[0]
        lines.append(
            {
                "alpha": alpha,
                "objective": found.path.objectives[:, step].sum(),
                "duality_gap": found.path.duality_gaps[:, step].max(),
                "n_active": in_use[step].sum(),
                "entered": [found.kernel_names[m] for m in np.flatnonzero(new)],
            }
        )
    return lines


def _show_path(report: dict[str, Any]) -> None:
    table = RichTable(
        title=f"Path over {report['n_kernels']} kernels, {report['seconds']:.1f} s",
        title_justify="left",
    )
    for column in ("alpha", "objective", "gap", "active"):
        table.add_column(column, justify="right")
    table.add_column("comes in", overflow="fold")
    for line in report["path"]:
        entered = line["entered"]
        more = f" and {len(entered) - 2} more" if len(entered) > 2 else ""
        table.add_row(
            f"{line['alpha']:.4g}",
            f"{line['objective']:.5g}",
            f"{line['duality_gap']:.1e}",
            str(line["n_active"]),
            ", ".join(entered[:2]) + more,
        )
    console().print(table)
    if report["plot"] is not None:
        say(f"Plot saved as {report['plot']}")
