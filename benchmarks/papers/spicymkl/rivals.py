"""SimpleMKL and HessianMKL on the same problems, to the same relative duality gap.

Both minimise the hinge loss plus C'/2 times the square of the sum of norms. That has
the same minimiser where C' is C over the sum of norms at the optimum (the paper's
eq. 13, with the division it needs). All methods are this library's, on one machine.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from figure1 import TOL
from measure import Run, solve
from output import Options, Table, options
from problems import (
    STRENGTHS,
    Array,
    Split,
    dense,
    problem,
    uci_dictionary,
    uci_split,
)

from multikernel.gram import DenseStack
from multikernel.problem import Problem
from multikernel.regularizers import SquaredBlockNorm
from multikernel.solvers import HessianMKL, SimpleMKL

SETS = ("liver", "wpbc", "sonar")
SPLITS = 1
PATIENCE = 60.0
"""Seconds after which a rival is stopped; the gap it has reached is reported."""

COLUMNS = {
    "data": "s",
    "split": "d",
    "C": "g",
    "method": "<12s",
    "n": "d",
    "M": "d",
    "seconds": ".3f",
    "cpu_seconds": ".3f",
    "gap": ".1e",
    "n_active": "d",
    "ratio": ".1f",
}


def run(task: Options) -> None:
    """Measure and save."""
    table = Table(COLUMNS)
    for name in ("liver",) if task.smoke else SETS:
        for split in range(1 if task.smoke else SPLITS):
            chosen = uci_split(name, split, 60 if task.smoke else None)
            for row in one_split(chosen, STRENGTHS[-1:] if task.smoke else STRENGTHS):
                table.add(data=name, split=split, **row)
    task.save("rivals", table.rows)


def one_split(split: Split, strengths: Sequence[float]) -> Iterator[dict[str, Any]]:
    """Solve by all methods for every strength."""
    stack = dense(uci_dictionary(split.X), split.X).stack
    yield from one_stack(stack, split.y, strengths, TOL, PATIENCE)


def one_stack(
    stack: DenseStack,
    y: Array,
    strengths: Sequence[float],
    tol: float,
    patience: float,
    most_for_simple: float = np.inf,
) -> Iterator[dict[str, Any]]:
    """Solve by all methods for every strength, on the same stack.

    SimpleMKL is left out where there are more kernels than it has time for.
    """
    slow = (SimpleMKL(tol=tol),) if stack.shape[0] <= most_for_simple else ()
    for C in strengths:
        facts = {"C": C, "n": len(y), "M": stack.shape[0]}
        posed = problem(stack, y, "hinge", C)
        ours = solve(posed, tol, repeats=3)
        yield facts | _row("SpicyMKL", ours) | {"ratio": 1.0}
        squared = squared_form(posed)
        for solver in (*slow, HessianMKL(tol=tol)):
            theirs = _within(patience, solver, squared)
            ratio = {"ratio": theirs.seconds / ours.seconds}
            yield facts | _row(type(solver).__name__, theirs) | ratio


def squared_form(posed: Problem) -> Problem:
    """Return the problem with a squared penalty that has the same minimiser."""
    total = float(solve(posed, 1e-6).solution.norms.sum())
    strength = posed.regularizer.alpha / total
    return replace(posed, regularizer=SquaredBlockNorm(strength, p=1.0))


def _within(patience: float, solver: SimpleMKL | HessianMKL, posed: Problem) -> Run:
    """Solve once, and stop after so many seconds."""
    start, cpu = time.perf_counter(), time.process_time()
    solution = solver.solve(posed, callback=lambda line: line.seconds > patience)
    return Run(solution, time.perf_counter() - start, time.process_time() - cpu)


def _row(method: str, run: Run) -> dict[str, Any]:
    return {
        "method": method,
        "seconds": run.seconds,
        "cpu_seconds": run.cpu_seconds,
        "gap": run.solution.duality_gap,
        "n_active": run.solution.active.size,
    }


if __name__ == "__main__":
    run(options(__doc__))
