"""What large problems must reach: one part for each line of the promise.

``--only`` names parts; rows that ``results/targets.json`` has are not measured again
without ``--again``, so that a run that was stopped goes on. ``report.py`` makes the
page.
"""

from collections.abc import Iterator
from typing import Any

from output import Options, Results, child, options
from problems import WIDTHS

LOSSES = ("logistic", "hinge", "squared")
GIGABYTE = 10**9
Line = tuple[str, list[str], dict[str, Any]]


def cancer(quick: bool) -> Iterator[Line]:
    """Breast cancer x 837: low rank against dense, single fits and paths."""
    n = 120 if quick else None
    base = {"data": "breast_cancer", "n": n, "widths": WIDTHS, "tol": 1e-4}
    pairs = [(loss, a) for loss in LOSSES for a in (0.03, 0.003)]
    for loss, alpha in pairs[:1] if quick else pairs:
        for storage in ("dense", "low_rank"):
            task = base | {"loss": loss, "alpha": alpha, "storage": storage}
            yield f"{loss} {alpha} {storage}", child("fit", **task), task
    for loss in LOSSES[2:] if quick else LOSSES:
        for storage in ("dense", "low_rank"):
            points = 3 if quick else 50
            task = base | {"loss": loss, "points": points, "storage": storage}
            yield f"{loss} path {storage}", child("path", **task), task


def _generated(n: int, loss: str, alpha: float, limit: float, **more: Any) -> Line:
    task = {
        "data": "generated",
        "n": n,
        "widths": WIDTHS,
        "loss": loss,
        "alpha": alpha,
        "tol": 1e-3,
        "storage": "auto",
    }
    limits = {"limit_seconds": limit, "limit_bytes": more.pop("limit_bytes", None)}
    task |= more
    return f"{n} {loss} {alpha}", child("fit", **task), task | limits


def n20000(quick: bool) -> Iterator[Line]:
    """20 000 rows, 100 kernels."""
    for alpha in (0.02, 0.005):
        for loss, limit in {"logistic": 8.0, "squared": 8.0, "hinge": 25.0}.items():
            yield _generated(500 if quick else 20_000, loss, alpha, limit)


def n100000(quick: bool) -> Iterator[Line]:
    """100 000 rows, 100 kernels."""
    n, most = 600 if quick else 100_000, 6 * GIGABYTE
    for loss, limit in {"logistic": 60.0, "hinge": 180.0}.items():
        yield _generated(n, loss, 0.005, limit, limit_bytes=most)


def n1000000(quick: bool) -> Iterator[Line]:
    """1 000 000 rows, 20 kernels."""
    n, most = 700 if quick else 1_000_000, 14 * GIGABYTE
    yield _generated(n, "logistic", 0.005, 900.0, limit_bytes=most, widths=(1.0,))


def csv(quick: bool) -> Iterator[Line]:
    """50 000 rows of a CSV file from the command line, with its default kernels."""
    task = {"n": 400 if quick else 50_000, "tol": 1e-2}
    yield "csv", child("csv", **task), task | {"limit_seconds": 180.0}


def model(quick: bool) -> Iterator[Line]:
    """A model of 100 000 rows: its file, and a million predictions."""
    n, n_predicted = (300, 1000) if quick else (100_000, 1_000_000)
    _, _, task = _generated(n, "logistic", 0.005, 30.0)
    task = {k: v for k, v in task.items() if not k.startswith("limit")}
    limits = {"limit_file_bytes": 20e6, "limit_seconds": 30.0}
    yield "model", child("model_file", n_predicted=n_predicted, **task), task | limits


PARTS = {f.__name__: f for f in (cancer, n20000, n100000, n1000000, csv, model)}


def run(task: Options) -> None:
    """Measure every part that was asked for."""
    found = Results(task, "targets")
    for part in task.only:
        for key, line, facts in PARTS[part](task.quick):
            found.measure(key, line, {"part": part, **facts})


if __name__ == "__main__":
    run(options(__doc__, list(PARTS)))
