"""The losses, penalties and solver of a method, and the problems built from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel.estimators.grams.training import Training
from multikernel.estimators.parameters import find_joint_loss
from multikernel.estimators.publish.fitted import was_stopped
from multikernel.exceptions import UnsupportedProblemError
from multikernel.gram.projected import LeastSquares, ProjectedStack
from multikernel.losses import Loss, is_coupled, weighted
from multikernel.losses.answers import validate_loss
from multikernel.losses.offset import with_offset
from multikernel.losses.weighted import is_squared
from multikernel.problem import Problem, center_targets
from multikernel.regularizers import BlockRegularizer
from multikernel.solvers import FreeColumns, FreeThresholds, Solver
from multikernel.solvers.base import tolerance_of
from multikernel.solvers.free_thresholds import has_free_thresholds


@dataclass(frozen=True, eq=False)
class Recipe:
    """The losses, penalties and solver of a fit, from which its problems are built."""

    # A loss and a penalty for each problem. The losses have no sample weights; the
    # penalties are for a sum of losses over the samples, as in `Problem`.
    losses: Sequence[Loss]
    penalties: Sequence[BlockRegularizer]
    solver: Any
    # Factor that converts a problem's objective to the estimator's: one over the total
    # weight for a mean loss, C if C multiplies the sum of losses.
    objective_scale: float | Array = 1.0
    # Factor that converts a problem's dual points to the estimator's.
    dual_scale: float | Array = 1.0
    # Values of attributes such as ``alpha_``, a strength in the units of the targets.
    params: Mapping[str, float | Array] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class GramFit:
    """The solutions of all problems of a fit, with their settings and training data."""

    recipe: Recipe
    training: Training
    # A solution for each problem, on the Gram matrices of `training`; None for a
    # problem whose path has ended.
    solutions: Sequence[Any]

    @property
    def stopped(self) -> bool:
        """Whether a callback has stopped one of the solves."""
        return was_stopped(self.solutions)


def problem_of(
    training: Training,
    y: Array,
    offset: Array | None,
    loss: Loss,
    penalty: BlockRegularizer,
) -> Problem:
    """Return the problem of one target `y`; raise if the loss does not support `y`."""
    validate_loss(training.source.owner, loss, y)
    weights, stack = training.samples.weights, training.stack_with_rounding
    if offset is not None:
        loss, y, factors = with_offset(loss, y, offset)
        counts = 1.0 if weights is None else weights
        weights = weights if factors is None else counts * factors
    weighted_loss = weighted(loss, weights)
    return Problem(stack, y, weighted_loss, penalty, training.source.fit_intercept)


def originals(recipe: Recipe, training: Training) -> list[Problem]:
    """Return the problems of all outputs, before unpenalized columns are eliminated."""
    samples, losses, targets = training.samples, recipe.losses, training.samples.targets
    # Outputs that share a selection form one problem; otherwise each has its own.
    is_joint = samples.shared and len(targets) > 1
    if is_joint:
        targets = np.ascontiguousarray(targets.T)[None]
        joint_loss = None if samples.several else find_joint_loss(losses[0])
        if joint_loss is not None:
            losses, targets = [joint_loss], (targets > 0.0).astype(np.float64)
    if is_coupled(losses[0]) and (samples.several or not is_joint):
        classes = None if samples.several else samples.classes
        if classes is None or classes.size < 3:
            targets_text = "several columns" if samples.several else "numbers"
            if classes is not None:
                targets_text = f"{classes.size} classes"
            raise UnsupportedProblemError(
                f"loss={losses[0]!r} requires three or more classes in one column of "
                f"y, got {targets_text}: pass another loss."
            )
        raise UnsupportedProblemError(
            f"loss={losses[0]!r} requires selection='shared', got 'separate': pass "
            "selection='shared', or another loss."
        )
    offsets: Sequence[Array | None] = [None] * len(targets)
    if samples.offset is not None:
        offsets = [samples.offset] if is_joint else list(samples.offset.T)
    problem_parts = zip(targets, offsets, losses, recipe.penalties, strict=True)
    return [problem_of(training, *parts) for parts in problem_parts]


def residual_problems(
    fit: LeastSquares | None, problems: list[Problem]
) -> list[Problem]:
    """Project unpenalized columns out of problems; raise unless losses are squared."""
    if fit is None:
        return problems
    stack, projected = ProjectedStack(problems[0].gram, fit.projection), []
    for problem in problems:
        if not is_squared(problem.loss):
            raise UnsupportedProblemError(
                "Unpenalized columns require loss='squared_error' with this estimator, "
                f"got {getattr(problem.loss, 'loss', problem.loss)!r}: pass "
                "loss='squared_error', or remove the Unpenalized views from kernels."
            )
        y = center_targets(problem).y
        # Project twice: if the unpenalized columns explain most of y, the first
        # projection has rounding errors.
        for _ in range(2):
            y = fit.projection.residual(y)
        projected.append(
            replace(problem, gram=stack, y=y, fit_intercept=False, offset=0.0)
        )
    return projected


def problems_of(recipe: Recipe, training: Training) -> tuple[list[Problem], Solver]:
    """Return the problems of all outputs, on the same Gram matrices, and the solver."""
    problems, solver = originals(recipe, training), recipe.solver
    if training.design is not None:
        solver = FreeColumns(solver, tol=tolerance_of(solver))
        if is_squared(problems[0].loss):
            problems = residual_problems(training.least_squares, problems)
        else:
            columns = training.design(training.X)
            problems = [replace(problem, columns=columns) for problem in problems]
    if has_free_thresholds(recipe.losses[0]):
        inner = recipe.solver
        solver = FreeThresholds(inner, inner.tol, inner.max_iter)
    reason = solver.unsupported(problems[0])
    if reason is not None:
        raise UnsupportedProblemError(reason)
    return problems, solver
