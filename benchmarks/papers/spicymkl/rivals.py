"""SimpleMKL, HessianMKL and SILP on the problems of figure 1, hinge, gap 0.01.

They minimize the hinge loss plus C'/2 times the square of the sum of norms. That has
the same minimizer where C' is C over the sum of norms at the optimum (the paper's
eq. 13, with the division it needs). All methods are this library's; seconds are those
of the processor on one thread. Nothing is stopped before its gap. SimpleMKL takes a
hundred times as long, and has fewer splits. A split that is there is not measured
again; splits come in turn, so that a run may be ended at any time.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from figure1 import TOL
from measure import Run, fix_threads, provenance, solve
from output import Options, options
from problems import (
    STRENGTHS,
    Array,
    accuracy,
    dense,
    problem,
    uci_dictionary,
    uci_split,
)

from multikernel.gram import DenseStack
from multikernel.problem import Problem, Solution
from multikernel.regularizers import SquaredBlockNorm
from multikernel.solvers import SILP, HessianMKL, SimpleMKL, Solver

SETS = ("liver", "wpbc", "ionosphere", "sonar", "pima")
SPLITS = 10
SIMPLE_SPLITS = {"liver": 6, "wpbc": 1}
"""Of SimpleMKL: a fit takes 6 s on liver, and 25 on wpbc."""

RIVALS: Mapping[str, Callable[..., Solver]] = {
    "HessianMKL": HessianMKL,
    "SILP": partial(SILP, max_iter=5000),
}

Facts = dict[str, Any]


def run(task: Options) -> None:
    """Measure, and write every row."""
    fix_threads(1)
    known = [(row["data"], row["split"]) for row in task.lines("rivals")]
    for split in range(1 if task.smoke else SPLITS):
        for name in SETS[:1] if task.smoke else SETS:
            if (name, split) not in known:
                for row in one_split(name, split, task.smoke):
                    task.append("rivals", {"data": name, "split": split, **row})


def one_split(name: str, number: int, smoke: bool) -> list[Facts]:
    """Solve by all methods for every strength."""
    split = uci_split(name, number, 60 if smoke else None)
    dictionary = uci_dictionary(split.X)
    built = dense(dictionary, split.X)
    methods = dict(RIVALS)
    if number < SIMPLE_SPLITS.get(name, 0):
        methods["SimpleMKL"] = SimpleMKL

    def judged(solution: Solution) -> Facts:
        return {"accuracy": round(accuracy(solution, built, dictionary, split), 4)}

    strengths = STRENGTHS[-1:] if smoke else STRENGTHS
    rows = one_stack(built.stack, split.y, strengths, TOL, methods, judged)
    return [row | provenance("spicymkl") for row in rows]


def one_stack(
    stack: DenseStack,
    y: Array,
    strengths: Sequence[float],
    tol: float,
    methods: Mapping[str, Callable[..., Solver]],
    judged: Callable[[Solution], Facts] = lambda solution: {},
) -> Iterator[Facts]:
    """Solve by SpicyMKL and others for every strength, on the same stack."""
    for C in strengths:
        facts = {"C": C, "n": len(y), "M": stack.shape[0]}
        posed = problem(stack, y, "hinge", C)
        ours = solve(posed, tol, repeats=3)
        yield facts | _row("SpicyMKL", ours, ours) | judged(ours.solution)
        squared = squared_form(posed)
        for name, kind in methods.items():
            theirs = _timed(kind(tol=tol), squared)
            yield facts | _row(name, theirs, ours) | judged(theirs.solution)


def squared_form(posed: Problem) -> Problem:
    """Return the problem with a squared penalty that has the same minimizer."""
    total = float(solve(posed, 1e-6).solution.norms.sum())
    strength = posed.regularizer.alpha / total
    return replace(posed, regularizer=SquaredBlockNorm(strength, p=1.0))


def _timed(solver: Solver, posed: Problem) -> Run:
    """Solve once."""
    start, cpu = time.perf_counter(), time.process_time()
    solution = solver.solve(posed)
    return Run(solution, time.perf_counter() - start, time.process_time() - cpu)


def _row(method: str, run: Run, ours: Run) -> Facts:
    """Return what a method took, and how many kernels it shares with SpicyMKL."""
    active = run.solution.active
    return {
        "method": method,
        "cpu_seconds": round(run.cpu_seconds, 4),
        "ratio": round(run.cpu_seconds / ours.cpu_seconds, 2),
        "gap": float(f"{run.solution.duality_gap:.2e}"),
        "n_active": int(active.size),
        "n_shared": int(np.intersect1d(active, ours.solution.active).size),
    }


if __name__ == "__main__":
    run(options(__doc__))
