"""The command `multikernel path`."""

import time
from contextlib import closing

import numpy as np

from multikernel.cli import _outputs, _training
from multikernel.cli._features import Table
from multikernel.cli._messages import say
from multikernel.cli._methods import SPECIAL, Entry, find_method, parse_settings
from multikernel.cli._outputs import Report
from multikernel.cli._requests import FollowPath
from multikernel.display import RegularizationPathDisplay
from multikernel.estimators import NamedPath, ProgressBar, regularization_path


def run_path(request: FollowPath) -> None:
    """Compute a regularization path, plot it if --plot is given, and print it."""
    method = find_method(request.method)
    if method.stem != "SpicyMKL":
        raise ValueError(f"path does not support --method {request.method}: use spicy.")
    if request.task in SPECIAL:
        raise ValueError(
            f"--task {request.task} has no regularization path: use the command fit "
            "with --cv."
        )
    targets = _training.requested_targets(request, method)
    if request.plot is not None:
        _outputs.agg_pyplot()  # raises before the fit if matplotlib is missing
    # A name without suffix is a PNG.
    formats = (*_outputs.PICTURES, "")
    picture = _outputs.find_output(
        request.plot, request.data, formats, as_json=request.json, option="--plot"
    )
    table = _training.read_whole(request, targets)
    start = time.perf_counter()
    path = _compute_path(request, method, table)
    seconds = time.perf_counter() - start
    if request.plot is not None:
        _outputs.save_plot(RegularizationPathDisplay.from_path(path), picture)
    report = {
        "seconds": seconds,
        "n_kernels": len(path.kernel_names),
        "path": _path_lines(path),
        "plot": _outputs.file_name(request.plot, picture),
    }
    with _outputs.redirected(picture, request.plot):
        (_outputs.print_json if request.json else _show_path)(report)


def _compute_path(request: FollowPath, method: Entry, table: Table) -> NamedPath:
    """Return a method's regularization path on a table; show a progress bar."""
    estimator = _training.requested_estimator(request, method, table, {})
    if "alpha" in parse_settings(request.settings or []):
        raise ValueError(
            "--set alpha has no effect on a path, which chooses its own values of "
            "alpha: remove --set alpha. The number of these values is --n-alphas."
        )
    X = _training.transformed(table, scale=request.standardized, impute=request.impute)
    progress = closing(ProgressBar(method.title))
    with _training.explain_settings(request), progress as watch:
        return regularization_path(
            estimator,
            X,
            table.y,
            offset=table.offset,
            n_alphas=request.n_alphas,
            alpha_min_ratio=request.alpha_min_ratio,
            callback=watch,
        )


def _path_lines(path: NamedPath) -> list[Report]:
    """Return a dictionary for each alpha, with the kernels that become active at it."""
    in_use = path.norms() > 0
    # A kernel enters at the first alpha at which it is in use.
    has_entered = np.logical_or.accumulate(in_use, axis=0)
    enters = has_entered & ~np.vstack([np.zeros_like(in_use[:1]), has_entered[:-1]])
    return [
        {
            "alpha": alpha,
            "objective": path.path.objectives[:, step].sum(),
            "duality_gap": path.path.duality_gaps[:, step].max(),
            "n_active": in_use[step].sum(),
            "entered": [path.kernel_names[m] for m in np.flatnonzero(enters[step])],
        }
        for step, alpha in enumerate(path.path.alphas)
    ]


def _show_path(report: Report) -> None:
    """Print a line for each alpha, with the kernels that become active at it."""
    _outputs.print_table(
        f"Path over {report['n_kernels']} kernels, {report['seconds']:.1f} s",
        [*_outputs.aligned("alpha", "objective", "gap", "active"), "enters"],
        [
            (
                f"{line['alpha']:.4g}",
                f"{line['objective']:.5g}",
                f"{line['duality_gap']:.1e}",
                str(line["n_active"]),
                _first_two(line["entered"]),
            )
            for line in report["path"]
        ],
    )
    if report["plot"] is not None:
        say(f"Plot saved as {report['plot']}")


def _first_two(names: list[str]) -> str:
    """Return text with the first two names, and the number of further names."""
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    return ", ".join(names[:2]) + more
