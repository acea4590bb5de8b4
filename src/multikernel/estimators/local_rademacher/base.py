"""What the estimators of local Rademacher complexity share."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from multikernel._validation import COUNT, Check, Number, OneOf
from multikernel.estimators.data.warned import warn_short
from multikernel.estimators.fit.parameters import SequenceOf
from multikernel.estimators.fit.progress import Watch
from multikernel.estimators.fit.solve import (
    Recipe,
    Training,
    fitted_attributes,
    single,
    solve_outputs,
    warn_unfinished,
)
from multikernel.estimators.lp.base import LpMKL
from multikernel.gram.normalization import Steps, check_steps
from multikernel.gram.spectra import TailSums, tail_sums
from multikernel.problem import Solution
from multikernel.solvers import DCSolution, Solver, TailConv, TailDC

THETA: Check = Number(0, integer=True)


class LocalRademacherMKL(LpMKL):
    """A model whose kernel weights are bounded by what the spectra leave."""

    _checks: ClassVar[Mapping[str, Check]] = {
        "method": OneOf(("conv", "dc")),
        "n_starts": COUNT,
        "theta": THETA,
        "thetas": SequenceOf(THETA, "a sequence of whole numbers of at least 0"),
    }

    method: str
    theta: int
    n_starts: int

    def _cut_offs(self) -> Sequence[int]:
        """Return all theta that are solved for."""
        return [int(self.theta)]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.method == "dc" and np.isinf(self.p):
            raise ValueError(
                f"{type(self).__name__}: method='dc' needs a finite p, got p=inf."
            )

    def _normalization(self) -> Steps:
        """Return steps that end at a trace of n: weights are comparable there."""
        return (*check_steps(self.normalize), "trace")

    def _solver(self) -> Solver:
        """Return the algorithm for one theta; tails are yet to be computed."""
        solver, theta = super()._solver(), self._cut_offs()[0]
        if self.method == "conv":
            return TailConv(solver, theta)
        # An integer as it is: None stands for the same random starts in every fit.
        random = check_random_state(
            0 if self.random_state is None else self.random_state
        )
        seed = int(random.randint(2**31 - 1))
        return TailDC(
            solver,
            theta,
            tol=float(self.tol),
            n_starts=int(self.n_starts),
            seed=seed,
        )

    def _solve(
        self, recipe: Recipe, training: Training, watch: Watch
    ) -> dict[str, Any]:
        """Compute the tails, solve, and say what the method says of its solutions."""
        owner, theta = type(self).__name__, max(self._cut_offs())
        sums = tail_sums(training.stack, theta, training.samples.weights)
        warn_short(owner, training.grams, sums.short, theta)
        recipe = with_tails(recipe, sums, theta)
        solutions = solve_outputs(recipe, training, watch)
        warn_unfinished(owner, training, certified(solutions))
        attributes = fitted_attributes(recipe, training, solutions)
        attributes |= method_attributes(recipe, solutions)
        return attributes | {"tail_sums_": sums.tails}


def method_attributes(recipe: Recipe, solutions: Sequence[Solution]) -> dict[str, Any]:
    """Return what "dc" has to say of its solutions, and "conv" need not.

    Parameters
    ----------
    recipe : Recipe
        Gives the scale of objectives.
    solutions : sequence of Solution
        One per output.

    Returns
    -------
    attributes : dict
    """
    found = [each for each in solutions if isinstance(each, DCSolution)]
    if not found:
        return {}
    scale = recipe.objective_scale
    return {
        "subproblem_gap_": single([each.subproblem_gap for each in found]),
        "start_objectives_": single([scale * each.start_objectives for each in found]),
    }


def with_tails(recipe: Recipe, sums: TailSums, theta: int) -> Recipe:
    """Return a recipe whose solver has another theta, and knows the tails.

    Parameters
    ----------
    recipe : Recipe
        With a `TailConv` or a `TailDC`.
    sums : TailSums
        Of the stack that it is for, up to theta at least.
    theta : int
        How many leading eigenvalues are free.

    Returns
    -------
    recipe : Recipe
    """
    solver = recipe.solver
    assert isinstance(solver, TailConv | TailDC)
    known = replace(solver, theta=theta, tails=sums.bounded(theta))
    return replace(recipe, solver=known)


def certified(solutions: Sequence[Solution]) -> list[Solution]:
    """Return solutions with the gap of the last convex problem in place of none.

    Parameters
    ----------
    solutions : sequence of Solution
        One per output; those of `TailDC` have no gap of their own.

    Returns
    -------
    solutions : list of Solution
    """
    return [
        replace(solution, duality_gap=solution.subproblem_gap)
        if isinstance(solution, DCSolution)
        else solution
        for solution in solutions
    ]
