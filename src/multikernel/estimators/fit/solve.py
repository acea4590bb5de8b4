"""From a method and its training data to solutions, and to what a fit publishes."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel.certificates import check_combination
from multikernel.estimators.data.grams import Grams
from multikernel.estimators.data.samples import Samples
from multikernel.estimators.fit.losses import find_joint_loss
from multikernel.estimators.fit.one_vs_rest import FINISHED, merge, worst_status
from multikernel.estimators.fit.predict import AdditiveModel
from multikernel.estimators.fit.progress import Watch, history_array
from multikernel.estimators.fit.shares import described_terms
from multikernel.exceptions import ConvergenceWarning, UnsupportedProblemError
from multikernel.gram.base import GramStack
from multikernel.losses import Loss, is_coupled, weighted
from multikernel.problem import Problem, Solution, Status
from multikernel.regularizers import BlockRegularizer
from multikernel.solvers import Solver
from multikernel.solvers.path import solve_path


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
    starts : tuple of Solution, default=()
        Warm starts over these samples, one per output, for methods that take them.
    """

    samples: Samples
    grams: Grams
    fit_intercept: bool
    starts: tuple[Solution, ...] = ()

    @property
    def stack(self) -> GramStack:
        """Return the Gram matrices."""
        return self.grams.stack

    def problems(self, recipe: Recipe) -> list[Problem]:
        """Return the problems of a fit, all on one stack.

        Parameters
        ----------
        recipe : Recipe
            Loss and penalty.

        Returns
        -------
        problems : list of Problem
            One per output; one for all where they share a selection.

        Raises
        ------
        UnsupportedProblemError
            If the solver of the recipe cannot treat them.
        """
        samples, loss = self.samples, recipe.loss
        targets = samples.targets
        if samples.shared and len(targets) > 1:
            targets = np.ascontiguousarray(targets.T)[None]
            joint = None if samples.several else find_joint_loss(loss)
            if joint is not None:
                loss, targets = joint, (targets > 0.0).astype(np.float64)
        if is_coupled(loss) and targets.ndim < 3:
            raise UnsupportedProblemError(
                f"{loss!r} is a loss of three or more classes at once: it needs them, "
                "selection='shared', and one column of y."
            )
        loss = weighted(loss, samples.weights)
        problems = [
            Problem(self.stack, y, loss, recipe.regularizer, self.fit_intercept)
            for y in targets
        ]
        reason = recipe.solver.unsupported(problems[0])
        if reason is not None:
            raise UnsupportedProblemError(reason)
        return problems


def solve_outputs(
    recipe: Recipe, training: Training, watch: Watch | None
) -> list[Solution]:
    """Return the solutions of all problems.

    Parameters
    ----------
    recipe : Recipe
        The method.
    training : Training
        The data; its matrices are refined where the tolerance asks for it.
    watch : Watch or None
        The callback.

    Returns
    -------
    solutions : list of Solution
        All over the same matrices, those that `training` holds in the end.
    """
    known: list[Solution | None] = []

    def solve() -> list[list[Solution]]:
        problems = training.problems(recipe)
        known.extend([None] * (len(problems) - len(known)))
        starts = [k or s for k, s in zip_longest(known, training.starts)]
        pairs = list(zip(problems, starts, strict=True))
        found = [recipe.solver.solve(p, init, watch) for p, init in pairs]
        found = [continued(*pair) for pair in zip(known, found, strict=True)]
        known[:] = found
        return [[solution] for solution in found]

    return [path[0] for path in on_finest(training.grams, solve)]


def solve_strengths(
    recipe: Recipe, training: Training, strengths: Array, watch: Watch | None
) -> list[list[Solution]]:
    """Return the solutions of all problems for strengths in turn.

    Parameters
    ----------
    recipe, training, watch
        As in `solve_outputs`.
    strengths : ndarray of shape (n_strengths,)
        Strengths in the summed scale of `Problem`, best in descending order.

    Returns
    -------
    paths : list of list of Solution
        One per output; a callback may have ended them early.
    """

    def solve() -> list[list[Solution]]:
        problems = training.problems(recipe)
        return [solve_path(p, recipe.solver, strengths, watch) for p in problems]

    return on_finest(training.grams, solve)


def on_finest(
    grams: Grams, solve: Callable[[], list[list[Solution]]]
) -> list[list[Solution]]:
    """Return the solutions of the last call, once matrices are as fine as they ask."""
    while True:
        paths = solve()
        if not grams.refine([s for path in paths for s in path]):
            return paths


def continued(before: Solution | None, after: Solution) -> Solution:
    """Return a solution with the history of the one that it started from."""
    if before is None:
        return after
    last = before.history[-1]
    lines = [
        replace(
            line,
            iteration=last.iteration + line.iteration,
            seconds=last.seconds + line.seconds,
            passes=last.passes + line.passes,
            inner_steps=last.inner_steps + line.inner_steps,
        )
        for line in after.history[1:]
    ]
    history = (*before.history, *lines)
    return replace(after, history=history, n_iter=len(history) - 1)


def fitted_attributes(
    recipe: Recipe, training: Training, solutions: Sequence[Solution]
) -> dict[str, Any]:
    """Return what a fit publishes; attributes of one problem lose their first axis.

    Parameters
    ----------
    recipe : Recipe
        The method.
    training : Training
        What it was fitted on.
    solutions : sequence of Solution
        One per output, or one of all.

    Returns
    -------
    attributes : dict
        With the model that predicts as ``_model``.
    """
    samples, scale = training.samples, recipe.objective_scale
    expansion = merge(solutions)
    dual = np.concatenate([np.atleast_2d(s.dual.T) for s in solutions])
    in_use = expansion.coefs.any(axis=(0, 2))
    if in_use.size != dual.shape[1]:
        # Functions over columns of factors are sums of dual points on the way.
        in_use = dual.any(axis=0) & bool(expansion.active.size)
    training.grams.check_active(expansion.active)
    model: AdditiveModel = training.grams.model(expansion)
    described = described_terms(
        training.stack, expansion.active, expansion.coefs, samples.sample_weight
    )
    return described | {
        "kernel_weights_": single([s.kernel_weights for s in solutions]),
        "active_kernels_": expansion.active,
        "dual_coef_": single(samples.scatter(recipe.dual_scale * dual)),
        "intercept_": expansion.intercept,
        "support_": samples.rows_of(np.flatnonzero(in_use)),
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
    gap = max(solution.duality_gap for solution in solutions)
    if status not in FINISHED:
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
