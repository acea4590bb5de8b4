"""Time, memory, gap and accuracy against rows, beside what users would take.

Rows that ``results/growth.json`` has are not measured again without ``--again``; a run
that takes longer than ``--limit`` seconds is stopped and says so. Small problems and
quick methods come first: ``--only`` names data sets, and ``--most 20000 --limit 100``
makes what of the table a quarter of an hour can. himalaya and scMKL run by the
interpreter that ``MULTIKERNEL_RIVALS`` names (`pip install himalaya scmkl` into an
environment of their own). ``report.py`` makes the page.
"""

import tempfile
from collections.abc import Iterator
from typing import Any

from output import Options, Results, child, options, rival
from problems import WIDTHS, kernel_list, split_of
from rivals import RIVALS

Problem = tuple[int, tuple[float, ...]]

PROBLEMS: dict[str, list[Problem]] = {
    "generated": [
        *((n, WIDTHS) for n in (1_000, 3_000, 10_000, 20_000, 100_000)),
        *((n, (1.0,)) for n in (1_000, 10_000, 100_000, 1_000_000)),
    ],
    "ringnorm": [(n, WIDTHS) for n in (1_000, 10_000)],
    "magic04": [(n, WIDTHS) for n in (1_000, 4_000, 15_216)],
    "mnist": [(n, (0.5, 1.0, 2.0)) for n in (1_000, 8_000)],
}
"""Rows and widths by data set; magic04 and mnist keep a fifth for the test."""

QUICK: dict[str, list[Problem]] = {"generated": [(200, (1.0,))]}

ALPHA = 0.005

OURS = {"multikernel, logistic", "multikernel, hinge"}
SLOW = {"himalaya", "scmkl"}
"""These come last: they take minutes where others take seconds."""

WHOLE_MATRICES = 2**27
"""Entries up to which himalaya, which wants whole matrices, is asked: a gigabyte."""


def lines(data: str, problem: Problem) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield our ways to fit, and their tasks."""
    n, widths = problem
    task = {
        "data": data,
        "n": n,
        "widths": widths,
        "alpha": ALPHA,
        "tol": 1e-3,
        "storage": "auto",
    }
    for loss in ("logistic", "hinge"):
        yield f"multikernel, {loss}", task | {"loss": loss}


def run(task: Options) -> None:
    """Measure every data set that was asked for."""
    found = Results(task, "growth")
    known = (QUICK if task.quick else PROBLEMS).items()
    chosen = [(data, p) for data, problems in known for p in problems]
    chosen.sort(key=lambda pair: pair[1][0])
    for methods in (OURS, set(RIVALS) - SLOW, SLOW):
        for data, problem in chosen:
            if data in task.only and problem[0] <= task.most:
                compare(found, data, problem, methods)


def compare(found: Results, data: str, problem: Problem, methods: set[str]) -> None:
    """Measure some methods on one problem."""
    n, widths = problem
    facts = {"data": data, "n": n, "widths": widths}
    key = f"{data} {n} {len(widths)}"
    for name, ours in lines(data, problem):
        if name in methods:
            found.measure(f"{key} {name}", child("fit", **ours), facts)
    with tempfile.TemporaryDirectory() as folder:
        split = split_of(data, n)
        kernels = kernel_list(data, split.X.shape[1], widths)
        for method in sorted(methods & set(RIVALS)):
            if method == "himalaya" and len(kernels) * n * n > WHOLE_MATRICES:
                continue
            line = rival(method, split, kernels, folder)
            found.measure(f"{key} {method}", line, facts)


if __name__ == "__main__":
    run(options(__doc__, list(PROBLEMS)))
