"""Regularisation paths: one problem for many strengths, each warm-started."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from multikernel._typing import Array
from multikernel.certificates import alpha_max
from multikernel.problem import Callback, Problem, Solution, Status
from multikernel.solvers.base import PathSolver, Solver


def alpha_grid(
    problem: Problem, n_alphas: int = 50, alpha_min_ratio: float = 1e-2
) -> Array:
    """Return strengths from `alpha_max` downwards, evenly spaced in the logarithm.

    Parameters
    ----------
    problem : Problem
        The problem; its regulariser's strength is not used.
    n_alphas : int, default=50
        Number of strengths.
    alpha_min_ratio : float, default=1e-2
        The last strength over the first.

    Returns
    -------
    alphas : ndarray of shape (n_alphas,)
        Descending, in the summed scale of `Problem`.
    """
    largest = alpha_max(problem)
    return np.asarray(largest * np.geomspace(1.0, alpha_min_ratio, n_alphas))


def with_alpha(problem: Problem, alpha: float) -> Problem:
    """Return the problem with another strength of its regulariser."""
    return replace(problem, regularizer=problem.regularizer.with_alpha(alpha))


def solve_path(
    problem: Problem,
    solver: Solver,
    alphas: Sequence[float] | Array,
    callback: Callback | None = None,
) -> list[Solution]:
    """Solve for every strength in turn, each from the solution before it.

    Parameters
    ----------
    problem : Problem
        The problem; its regulariser's strength is not used.
    solver : Solver
        The algorithm.
    alphas : sequence of float
        Strengths in the summed scale of `Problem`, best in descending order.
    callback : callable, optional
        Handed to every solve. Where it stops one, the path ends there.

    Returns
    -------
    solutions : list of Solution
        One per strength that was solved.
    """
    steps = [with_alpha(problem, float(alpha)) for alpha in alphas]
    if isinstance(solver, PathSolver):
        regularizers = [step.regularizer for step in steps]
        return solver.solve_path(problem, regularizers, callback)
    solutions: list[Solution] = []
    for step in steps:
        init = solutions[-1] if solutions else None
        solutions.append(solver.solve(step, init, callback))
        if solutions[-1].status is Status.STOPPED:
            break
    return solutions
