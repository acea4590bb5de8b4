"""The ``solver`` parameter of lp-norm models: names, and what fits which p."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

from multikernel._validation import Number
from multikernel.problem import Callback, Problem, Solution, Status
from multikernel.regularizers import BlockRegularizer, SquaredBlockNorm
from multikernel.solvers import (
    LP_SOLVERS,
    SPARSE_ONLY,
    Solver,
    SquaredForm,
    choose_lp_solver,
    follow,
)


def exponent(value: Any) -> str | None:
    """Check a ``p`` parameter: a number of at least 1, infinity included."""
    infinite = isinstance(value, float | np.floating) and value == np.inf
    if infinite or Number(1.0)(value) is None:
        return None
    return "a number of at least 1, or infinity"


def check_solver(owner: str, solver: str, exponents: Sequence[float]) -> None:
    """Raise a sentence if a solver cannot treat an exponent.

    Parameters
    ----------
    owner : str
        The estimator.
    solver : str
        Its ``solver``.
    exponents : sequence of float
        All p that it is to solve for.

    Raises
    ------
    ValueError
        If the solver is for p = 1 only, and another p is asked for.
    """
    others = [p for p in exponents if p != 1.0]
    if solver in SPARSE_ONLY and others:
        general = ", ".join(
            repr(name) for name in LP_SOLVERS if name not in SPARSE_ONLY
        )
        raise ValueError(
            f"{owner}: solver={solver!r} is for p=1 only, got p={others[0]:g}. For any "
            f"p there are 'auto', {general}."
        )


@dataclass(frozen=True)
class AutoLpSolver:
    """The solver that `choose_lp_solver` names, once the size of a problem is known.

    Parameters
    ----------
    tol : float
        Relative duality gap at which to stop.
    max_iter : int or None
        Iterations at most; the default of the chosen solver when None.
    """

    tol: float
    max_iter: int | None

    def _chosen(self, problem: Problem) -> Solver:
        p = _exponent(problem)
        n_kernels, n_samples, _ = problem.gram.shape
        n_outputs = 1 if problem.y.ndim == 1 else problem.y.shape[1]
        name = choose_lp_solver(p, n_samples, n_kernels, n_outputs)
        chosen = lp_solver(name, self.tol, self.max_iter)
        if name == "squared_form" and chosen.unsupported(problem) is not None:
            # Newton steps take every loss that has a machine.
            return lp_solver("newton", self.tol, self.max_iter)
        return chosen

    def unsupported(self, problem: Problem) -> str | None:
        """Return why the problem cannot be treated, or None if it can."""
        return self._chosen(problem).unsupported(problem)

    def solve(
        self,
        problem: Problem,
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Solution:
        """Solve the problem by the chosen solver.

        For p = 1 a second one takes over where that is stuck above the tolerance: what
        stops Newton steps on kernel weights does not stop a working set, and the
        reverse.
        """
        chosen = self._chosen(problem)
        found = chosen.solve(problem, init, callback)
        return self._improved(problem, chosen, found, callback)

    def follow(
        self,
        problem: Problem,
        regularizers: Iterable[BlockRegularizer],
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Iterator[Solution]:
        """Yield the solutions for penalties in turn; see `PathSolver.follow`."""
        steps = [replace(problem, regularizer=penalty) for penalty in regularizers]
        for chosen, group in groupby(steps, self._chosen):
            run = list(group)
            penalties = [step.regularizer for step in run]
            found = follow(chosen, problem, penalties, init, callback)
            for place, (step, each) in enumerate(zip(run, found, strict=False)):
                solution = self._improved(step, chosen, each, callback)
                init = solution if place == 0 else init
                yield solution
                if solution.status is Status.STOPPED:
                    return

    def _improved(
        self,
        problem: Problem,
        chosen: Solver,
        found: Solution,
        callback: Callback | None,
    ) -> Solution:
        """Return what a second solver makes of a solution for p = 1 that is stuck."""
        if found.status is not Status.STALLED or _exponent(problem) != 1.0:
            return found
        name = "newton" if isinstance(chosen, SquaredForm) else "squared_form"
        other = lp_solver(name, self.tol, self.max_iter)
        if other.unsupported(problem) is not None:
            return found
        again = other.solve(problem, found, callback)
        return again if again.duality_gap < found.duality_gap else found


def _exponent(problem: Problem) -> float:
    """Return p, or 1 for a penalty that has none, which no solver takes anyway."""
    regularizer = problem.regularizer
    return regularizer.p if isinstance(regularizer, SquaredBlockNorm) else 1.0


def lp_solver(name: str, tol: float, max_iter: int | None) -> Solver:
    """Return a solver by the name that estimators have for it.

    Parameters
    ----------
    name : str
        "auto" or a key of `LP_SOLVERS`.
    tol : float
        Relative duality gap at which to stop.
    max_iter : int or None
        Iterations at most; the solver's own default when None.

    Returns
    -------
    solver : Solver
    """
    tol = float(tol)
    if name == "auto":
        return AutoLpSolver(tol, max_iter)
    kind = {str(key): value for key, value in LP_SOLVERS.items()}[name]
    return kind(tol=tol) if max_iter is None else kind(tol=tol, max_iter=max_iter)
