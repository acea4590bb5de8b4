"""From a method and its training data to solutions, and to what a fit publishes."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from multikernel.certificates import check_combination
from multikernel.estimators._grams import Grams
from multikernel.estimators._one_vs_rest import FINISHED, merge, worst_status
from multikernel.estimators._predict import AdditiveModel
from multikernel.estimators._progress import history_array
from multikernel.estimators._samples import Samples
from multikernel.exceptions import ConvergenceWarning, UnsupportedProblemError
from multikernel.gram.base import GramStack
from multikernel.losses import Loss, weighted
from multikernel.problem import Callback, Problem, Solution, Status
from multikernel.regularizers import BlockRegularizer
from multikernel.solvers import Solver


@dataclass(frozen=True, eq=False)
class Recipe:
    """The parts of a method: what `Problem` is made of, and what solves it.

    Parameters
    ----------
    loss : Loss
        The loss of one sample, without sample weights.
    regularizer : BlockRegularizer
        The penalty, in the summed scale of `Problem`.
    solver : Solver
        The algorithm.
    objective_scale : float
        What turns an objective of `Problem` into that of the estimator: one over the
        total weight for a mean loss, C for a C in front of the sum.
    dual_scale : float, default=1.0
        What turns a dual point of `Problem` into the estimator's.
    """

    loss: Loss
    regularizer: BlockRegularizer
    solver: Solver
    objective_scale: float
    dual_scale: float = 1.0


@dataclass(frozen=True, eq=False)
class Training:
    """Samples and their Gram matrices: all that a method learns from.

    Parameters
    ----------
    samples : Samples
        The samples.
    grams : Grams
        Their normalised Gram matrices.
    fit_intercept : bool
        Whether models have an intercept.
    """

    samples: Samples
    grams: Grams
    fit_intercept: bool

    @property
    def stack(self) -> GramStack:
        """Return the Gram matrices."""
        return self.grams.stack

    def problems(self, recipe: Recipe) -> list[Problem]:
        """Return one problem per output, all on one stack.

        Parameters
        ----------
        recipe : Recipe
            Loss and penalty.

        Returns
        -------
        problems : list of Problem

        Raises
        ------
        UnsupportedProblemError
            If the solver of the recipe cannot treat them.
        """
        loss = weighted(recipe.loss, self.samples.weights)
        problems = [
            Problem(self.stack, target, loss, recipe.regularizer, self.fit_intercept)
            for target in self.samples.targets
        ]
        reason = recipe.solver.unsupported(problems[0])
        if reason is not None:
            raise UnsupportedProblemError(reason)
        return problems


def solve_outputs(
    recipe: Recipe, training: Training, watch: Callback | None
) -> list[Solution]:
    """Return the solutions of all outputs.

    Parameters
    ----------
    recipe : Recipe
        The method.
    training : Training
        The data.
    watch : callable or None
        The callback.

    Returns
    -------
    solutions : list of Solution
    """
    problems = training.problems(recipe)
    return [recipe.solver.solve(problem, callback=watch) for problem in problems]


def fitted_attributes(
    recipe: Recipe, training: Training, solutions: Sequence[Solution]
) -> dict[str, Any]:
    """Return what a fit publishes; attributes of one output lose their first axis.

    Parameters
    ----------
    recipe : Recipe
        The method.
    training : Training
        What it was fitted on.
    solutions : sequence of Solution
        One per output.

    Returns
    -------
    attributes : dict
        With the model that predicts as ``_model``.
    """
    samples, scale = training.samples, recipe.objective_scale
    expansion = merge(solutions)
    support = np.flatnonzero(expansion.coefs.any(axis=(0, 2)))
    dual = np.concatenate([np.atleast_2d(s.dual.T) for s in solutions])
    training.grams.check_active(expansion.active)
    model: AdditiveModel = training.grams.model(expansion)
    return {
        "kernel_weights_": single([s.kernel_weights for s in solutions]),
        "active_kernels_": expansion.active,
        "dual_coef_": single(samples.scatter(recipe.dual_scale * dual)),
        "intercept_": expansion.intercept,
        "support_": samples.rows_of(support),
        "objective_": single([scale * s.objective for s in solutions]),
        "duality_gap_": single([s.duality_gap for s in solutions]),
        "n_iter_": single([s.n_iter for s in solutions]),
        "history_": history_array(solutions, scale),
        "status_": worst_status(solutions).value,
        "_model": model,
    }


def warn_unfinished(
    owner: str, training: Training, solutions: Sequence[Solution]
) -> None:
    """Say so where a solver stopped above the tolerance.

    A kernel that a solver is stuck on is searched for and named.

    Parameters
    ----------
    owner : str
        The estimator.
    training : Training
        The data.
    solutions : sequence of Solution
        One per output.

    Warns
    -----
    ConvergenceWarning
        With the gap and the reason.
    """
    for solution in solutions:
        if solution.status is Status.STALLED:
            check_combination(training.stack, solution.kernel_weights)
    status = worst_status(solutions)
    if status not in FINISHED:
        gap = max(solution.duality_gap for solution in solutions)
        warnings.warn(
            f"{owner} stopped at a relative duality gap of {gap:.2e}. {status.value}",
            ConvergenceWarning,
            stacklevel=5,
        )


def single(values: Any) -> Any:
    """Return values per output as an array, or the value of a single output.

    Parameters
    ----------
    values : array-like of shape (n_outputs, ...)
        The values.

    Returns
    -------
    values : ndarray of shape (n_outputs, ...), or its only entry
    """
    values = np.asarray(values)
    return values[0] if values.shape[0] == 1 else values
