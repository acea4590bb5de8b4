"""SimpleMKL and HessianMKL on the same problems, to the same relative duality gap.

Both minimise the hinge loss plus C'/2 times the square of the sum of norms. That has
the same minimiser where C' is C over the sum of norms at the optimum (the paper's
eq. 13, with the division it needs). All methods are this library's, on one machine.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from figure1 import TOL
from measure import solve
from output import Options, Table, options
from problems import STRENGTHS, Split, dense, problem, uci_dictionary, uci_split

from multikernel.problem import Problem, Progress
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
    facts = {"n": len(split.y), "M": stack.shape[0]}
    for C in strengths:
        posed = problem(stack, split.y, "hinge", C)
        ours = solve(posed, TOL, repeats=3)
        yield facts | {
            "C": C,
            "method": "SpicyMKL",
            "seconds": ours.seconds,
            "gap": ours.solution.duality_gap,
            "n_active": ours.solution.active.size,
            "ratio": 1.0,
        }
        for row in rivals(squared_form(posed)):
            yield facts | {"C": C, "ratio": row["seconds"] / ours.seconds, **row}


def squared_form(posed: Problem) -> Problem:
    """Return the problem with a squared penalty that has the same minimiser."""
    total = float(solve(posed, 1e-6).solution.norms.sum())
    strength = posed.regularizer.alpha / total
    return replace(posed, regularizer=SquaredBlockNorm(strength, p=1.0))


def rivals(posed: Problem) -> Iterator[dict[str, Any]]:
    """Solve by the other methods, within their time."""
    for solver in (SimpleMKL(tol=TOL), HessianMKL(tol=TOL)):
        start = time.perf_counter()
        solution = solver.solve(posed, callback=_late)
        yield {
            "method": type(solver).__name__,
            "seconds": time.perf_counter() - start,
            "gap": solution.duality_gap,
            "n_active": solution.active.size,
        }


def _late(line: Progress) -> bool:
    return line.seconds > PATIENCE


if __name__ == "__main__":
    run(options(__doc__))
