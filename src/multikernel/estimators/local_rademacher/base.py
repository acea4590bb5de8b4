"""Local Rademacher complexity: lp-norm weights, bounded by what the spectra leave."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from multikernel._validation import COUNT, Check, Number, OneOf
from multikernel.estimators.data.warned import warn_short
from multikernel.estimators.fit.parameters import SequenceOf
from multikernel.estimators.fit.progress import Watch
from multikernel.estimators.fit.solve import (
    Recipe,
    Training,
    single,
    solve_outputs,
    warn_unfinished,
)
from multikernel.estimators.lp.base import LP_CHECKS, MarginMethod, lp_method
from multikernel.gram.normalization import check_steps
from multikernel.gram.spectra import TailSums, tail_sums
from multikernel.problem import Solution
from multikernel.solvers import DCSolution, Solver, TailConv, TailDC

THETA: Check = Number(0, integer=True)

TAIL_CHECKS: Mapping[str, Check] = {
    **LP_CHECKS,
    "method": OneOf(("conv", "dc")),
    "n_starts": COUNT,
    "theta": THETA,
    "thetas": SequenceOf(THETA, "a sequence of whole numbers of at least 0"),
}


@dataclass(frozen=True, eq=False)
class TailRecipe(Recipe):
    """A recipe whose solver knows the tails of the kernels' spectra.

    Parameters
    ----------
    loss, regularizer, solver, objective_scale, dual_scale
        As in `Recipe`.
    sums : TailSums
        What the spectra leave.
    """

    sums: TailSums = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class TailMethod(MarginMethod):
    """A method whose kernel weights are bounded by what the spectra leave.

    Parameters
    ----------
    source, loss, C, p
        As in `MarginMethod`.
    solver : TailConv or TailDC
        The algorithm; tails are yet to be computed.
    theta : int
        How many leading eigenvalues are free.
    """

    theta: int

    def problem(self, data: Training) -> TailRecipe:
        """Compute the tails, and return the recipe with them."""
        sums = tail_sums(data.stack, self.theta, data.samples.weights)
        warn_short(self.source.owner, data.grams, sums.short, self.theta)
        return self.with_tails(sums, self.theta)

    def with_tails(self, sums: TailSums, theta: int) -> TailRecipe:
        """Return the recipe with another theta.

        Parameters
        ----------
        sums : TailSums
            Of the stack that it is for, up to theta at least.
        theta : int
            How many leading eigenvalues are free.

        Returns
        -------
        recipe : TailRecipe
        """
        solver = self.solver
        assert isinstance(solver, TailConv | TailDC)
        known = replace(solver, theta=theta, tails=sums.bounded(theta))
        own = replace(self, solver=known).recipe()
        return TailRecipe(
            own.loss,
            own.regularizer,
            known,
            own.objective_scale,
            own.dual_scale,
            sums=sums,
        )

    def solve(self, problem: Recipe, data: Training, watch: Watch) -> list[Solution]:
        """Return the solutions; "dc" has random starts, and no others."""
        solutions = solve_outputs(problem, replace(data, starts=()), watch)
        warn_unfinished(self.source.owner, data, certified(solutions))
        return solutions

    def publish(
        self, problem: Recipe, data: Training, solution: list[Solution]
    ) -> dict[str, Any]:
        """Return the fitted attributes, and what the method says of its solutions."""
        assert isinstance(problem, TailRecipe)
        return (
            super().publish(problem, data, solution)
            | method_attributes(problem, solution)
            | {"tail_sums_": problem.sums.tails}
        )


def tail_method(model: Any, thetas: Sequence[int], C: float = 1.0) -> TailMethod:
    """Return the method of an estimator.

    Parameters
    ----------
    model : BaseMKL
        The estimator.
    thetas : sequence of int
        All theta that are solved for; the method has the first.
    C : float, default=1.0
        In front of the losses; that of a search is set by its candidates.

    Returns
    -------
    method : TailMethod

    Raises
    ------
    ValueError
        If the solver does not fit p, or p the method.
    """
    inner = lp_method(model, [model.p], C)
    if model.method == "dc" and np.isinf(model.p):
        raise ValueError(
            f"{type(model).__name__}: method='dc' needs a finite p, got p=inf."
        )
    theta = int(thetas[0])
    # Kernels end at a trace of n: weights are comparable there.
    steps = (*check_steps(model.normalize), "trace")
    source = replace(
        inner.source, options=replace(inner.source.options, normalize=steps)
    )
    solver: Solver = TailConv(inner.solver, theta)
    if model.method == "dc":
        # An integer as it is: None stands for the same random starts in every fit.
        given = 0 if model.random_state is None else model.random_state
        solver = TailDC(
            inner.solver,
            theta,
            tol=float(model.tol),
            n_starts=int(model.n_starts),
            seed=int(check_random_state(given).randint(2**31 - 1)),
        )
    return TailMethod(source, inner.loss, inner.C, inner.p, solver, theta)


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
