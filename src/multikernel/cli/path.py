"""``multikernel path``: which kernels come in as the regularization gets weaker."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table as RichTable

from multikernel.cli import _options as options
from multikernel.cli._columns import SequenceChoice, parse_columns
from multikernel.cli._console import LiveFit, console, say, user_errors
from multikernel.cli._methods import find_method, needed_targets
from multikernel.cli._report import off_screen, print_json, save_plot
from multikernel.cli._tables import default_target, read_table
from multikernel.cli._training import Training, prepared
from multikernel.display import RegularizationPathDisplay
from multikernel.estimators import NamedPath, regularization_path


@user_errors
def path(
    data: options.DataFiles,
    target: options.Target = None,
    method: options.MethodName = "spicy",
    task: options.TaskName = None,
    loss: options.LossName = None,
    kernels: options.KernelChoice = "default",
    n_alphas: Annotated[
        int, typer.Option("--n-alphas", help="Number of strengths.")
    ] = 20,
    alpha_min_ratio: Annotated[
        float, typer.Option(help="Weakest strength over the strongest.")
    ] = 1e-2,
    plot: Annotated[
        Path | None, typer.Option(help="Picture to write (PNG, PDF or SVG).")
    ] = None,
    tol: options.Tolerance = None,
    storage: options.Storage = None,
    max_rank: options.MaxRank = None,
    settings: options.Settings = None,
    scale: options.Scale = True,
    impute: options.Impute = None,
    drop: options.Drop = None,
    view: options.ViewColumns = None,
    category: options.CategoryColumns = None,
    sequence: options.SequenceColumns = None,
    sequence_kernels: options.SequenceKernels = "default",
    alphabet: options.AlphabetName = None,
    skip_letters: options.SkipLetters = False,
    ignore_case: options.IgnoreCase = False,
    json: options.Json = False,
) -> None:
    """Follow the regularization path from where the first kernel comes in."""
    if plot is not None:
        off_screen()  # rather now than after the work
    strings = SequenceChoice(sequence_kernels, alphabet, skip_letters, ignore_case)
    chosen = find_method(method)
    if not chosen.tasks:
        raise ValueError(f"{chosen.title} has no path.")
    first, *others = data
    targets = needed_targets(target or default_target(data), chosen)
    training = Training(
        chosen,
        task,
        loss,
        kernels,
        tol,
        settings or [],
        strings,
        storage,
        max_rank,
    )
    choice = parse_columns(view, category, None)
    table = read_table(
        first, targets, drop or [], sequence or [], choice, others=others
    )
    estimator = training.estimator(table, {})
    X = prepared(table, scale, impute)
    start = time.perf_counter()
    live = LiveFit(training.method.title, tol=estimator.tol, n_samples=len(table.y))
    with training.blaming_settings(), live as watch:
        found = regularization_path(
            estimator,
            X,
            table.y,
            n_alphas=n_alphas,
            alpha_min_ratio=alpha_min_ratio,
            callback=watch,
        )
    seconds = time.perf_counter() - start
    if table.kernel_names is not None:
        found = replace(found, kernel_names=list(table.kernel_names))
    if plot is not None:
        save_plot(RegularizationPathDisplay.from_path(found), plot)
    report = {
        "seconds": seconds,
        "n_kernels": len(found.kernel_names),
        "path": _path_lines(found),
        "plot": None if plot is None else str(plot),
    }
    if json:
        print_json(report)
    else:
        _show(report)


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


def _show(report: dict[str, Any]) -> None:
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
