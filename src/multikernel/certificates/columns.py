"""Models of unpenalized columns alone, and dual points orthogonal to these columns."""

from dataclasses import dataclass
from typing import cast

import numpy as np
from scipy.optimize import linprog

from multikernel._typing import Array
from multikernel.gram.projected import LeastSquares
from multikernel.linalg import EPS
from multikernel.losses.answers import refuse_nan
from multikernel.losses.base import (
    SmoothConjugateLoss,
    is_shift_equivariant,
    is_smooth,
)
from multikernel.losses.weighted import finite_ends
from multikernel.problem import Problem

# A logistic model takes about eight steps.
STEPS = 300
"""Maximum number of Newton steps for the model without kernels."""

# Without this minimum, samples whose loss has no curvature would have no weight, and
# the remaining samples might not determine the coefficients.
LEAST_WEIGHT = 1e-10
"""Smallest weight of a sample in a Newton step, relative to the largest one."""

# Newton steps to a gap of 1e-7 on 80 samples, for Huber's loss and the squared hinge:
# 34 and 6 with a factor of 0.1, 20 and 4 with 0.01, 14 and 4 with 1e-3, 10 and 4 with
# 1e-4.
LINEAR_FACTOR = 1e-3
"""Factor that reduces the Newton weights of samples where the loss is linear."""

SUFFICIENT = 1e-4
"""Smallest accepted share of the decrease that the slope predicts (Armijo's rule)."""

SHORTEST = 1e-12
"""Step length below which a step changes nothing."""

# With a smaller value, a cross-validated search spent nine tenths of its time on 300
# useless Newton steps for each dual point.
CLOSED = 1e-12
"""Largest |Q^T rho| / |rho| at which rho counts as orthogonal to the columns of Q."""


class UnboundedModelError(ValueError):
    """The best model without kernels has infinite coefficients."""


@dataclass(frozen=True, eq=False)
class ColumnModel:
    """The best model without kernels, with an optimal dual point."""

    intercept: float  # zero if the problem has none
    effects: Array  # coefficients of the columns
    dual: Array  # orthogonal to the columns


def weighted_targets(
    loss: SmoothConjugateLoss, y: Array, f: Array, linear_factor: float = LINEAR_FACTOR
) -> tuple[Array, Array, Array]:
    """Return targets, weights and slopes of squared losses that approximate `loss`.

    A Newton step from f minimizes weight * (target - g)^2 / 2 over the decision values
    g. Weights are multiplied by `linear_factor` where the loss is linear.
    """
    # At f, the squared loss of a sample has the same slope as `loss` and, where `loss`
    # is curved, the same curvature.
    slopes = loss.gradient(y, f)
    refuse_nan(loss, "gradient", slopes, f)
    # The curvature of a loss is the inverse of the conjugate's curvature.
    with np.errstate(divide="ignore", over="ignore"):
        weights = 1.0 / loss.conjugate_hessian(y, slopes)
    lower, upper = loss.dual_bounds(y)
    # If the slope is at a bound of its domain, the loss is a line from there on. The
    # parabola with this slope at f, and with its minimum where the line is zero, has
    # the curvature `tangent`. No weight exceeds this curvature: with larger weights,
    # steps from far away would be too short.
    is_linear = (slopes <= lower) | (slopes >= upper)
    values = loss.value(y, f)
    falls = is_linear & (slopes != 0.0) & (values > 0.0)
    tangent = slopes[falls] ** 2 / values[falls]
    is_curved = weights[falls] > 0.0
    weights[falls] = np.where(is_curved, np.minimum(weights[falls], tangent), tangent)
    weights[is_linear] *= linear_factor
    weights = np.maximum(weights, LEAST_WEIGHT * weights.max())
    return f - slopes / weights, weights, slopes


def next_linear_factor(linear_factor: float, step_length: float) -> float:
    """Return the `linear_factor` of `weighted_targets` for the next Newton step."""
    # `step_length` is the length of the last step, 1 for a full step. If that step had
    # to be shortened, samples where the loss is linear get larger weights, which make
    # the next full step shorter.
    if step_length < 1.0:
        return min(10.0 * linear_factor, 1.0)
    return max(linear_factor / 10.0, 1e-7)


def fit_columns_alone(problem: Problem, constant: float) -> ColumnModel:
    """Return the best model without kernels, by Newton's method from `constant`."""
    loss, y, columns = problem.loss, problem.y, problem.columns
    assert is_smooth(loss)
    assert columns is not None
    # The loss of a survival time has no curvature far from its target, so the iteration
    # starts at `constant`, the best intercept without columns.
    f, intercept, effects = _initial_model(problem, constant)
    basis = orthonormal_basis(problem)
    sizes, linear_factor, first_loss = np.abs(basis), LINEAR_FACTOR, None
    for _ in range(STEPS):
        targets, weights, slopes = weighted_targets(loss, y, f, linear_factor)
        imbalances, parts = np.abs(basis.T @ slopes), sizes.T @ np.abs(slopes)
        fit = LeastSquares(columns, weights, problem.fit_intercept)
        b, coefs = fit.coefficients(targets[:, None])
        step = float(b[0]) + columns @ coefs[:, 0] - f
        before, slope = float(loss.value(y, f).sum()), float(slopes @ step)
        first_loss = before if first_loss is None else first_loss
        # If the loss has become zero at large decision values, further steps would only
        # enlarge them: the best coefficients are infinite.
        if before <= EPS * first_loss and np.abs(f).min() > 30.0:
            break
        is_rounding = slope >= -1e-14 * abs(before) or before <= EPS * first_loss
        if is_rounding or np.all(imbalances <= 1e-10 * parts):
            if decreases_forever(problem, basis, slopes):
                break
            return ColumnModel(intercept, effects, orthogonal_dual(problem, -slopes))
        length = _armijo_length(problem, f, step, slope)
        if length is None:
            break
        linear_factor = next_linear_factor(linear_factor, length)
        f = f + length * step
        intercept += length * (float(b[0]) - intercept)
        effects = effects + length * (coefs[:, 0] - effects)
    raise UnboundedModelError(
        "The fit of the unpenalized columns alone did not converge: their coefficients "
        "may be infinite, for example if the columns separate the classes, or if an "
        "indicator column is 1 only for samples of one class, only for samples with "
        "count zero, or only for samples without an event. Remove such a column, or "
        "give it a kernel."
    )


def _armijo_length(
    problem: Problem, f: Array, step: Array, slope: float
) -> float | None:
    """Return the first step length 1, 1/2, ... that lowers the loss enough, or None."""
    loss, y, length = problem.loss, problem.y, 1.0
    before = float(loss.value(y, f).sum())
    while length > SHORTEST:
        allowed = before + SUFFICIENT * length * slope + 4.0 * EPS * abs(before)
        if loss.value(y, f + length * step).sum() <= allowed:
            return length
        length *= 0.5
    return None


def _initial_model(problem: Problem, constant: float) -> tuple[Array, float, Array]:
    """Return the decision values, intercept and coefficients to start Newton steps."""
    # Newton's method starts at the intercept `constant` and coefficients of zero, or at
    # a least-squares fit if its loss is lower. The fit is a better start for Huber's
    # loss, which is linear far from its targets.
    loss, y, columns = problem.loss, problem.y, problem.columns
    assert columns is not None
    f, effects = np.full_like(y, constant), np.zeros(columns.shape[1])
    if not is_shift_equivariant(loss):
        return f, constant, effects
    fit = LeastSquares(columns, None, problem.fit_intercept)
    b, coefs = fit.coefficients(y[:, None])
    fitted = float(b[0]) + columns @ coefs[:, 0]
    if loss.value(y, fitted).sum() < loss.value(y, f).sum():
        return fitted, float(b[0]), coefs[:, 0]
    return f, constant, effects


def decreases_forever(problem: Problem, basis: Array, slopes: Array) -> bool:
    """Return whether the loss decreases forever along some combination of columns."""
    loss, y = problem.loss, problem.y
    lower, upper = loss.dual_bounds(y)
    signs = np.where(lower < 0.0, 1.0, 0.0) - np.where(upper > 0.0, 1.0, 0.0)
    is_one_sided = (lower == 0.0) | (upper == 0.0)
    # The slopes are orthogonal to all columns. If the slopes of all monotone losses are
    # far from zero, a combination of columns that lowers one of these losses raises
    # another loss. Then no combination decreases the summed loss forever.
    smallest = np.abs(slopes[is_one_sided]).min(initial=np.inf)
    if smallest > 1e-4 * np.abs(slopes).max(initial=0.0):
        return False
    low_end, high_end = finite_ends(cast(SmoothConjugateLoss, loss), y)
    is_endless = ((lower == 0.0) & np.isinf(high_end)) | (
        (upper == 0.0) & np.isinf(low_end)
    )
    # The sum of losses decreases forever along a combination of columns if three
    # conditions hold along it: no monotone loss increases, the decision values of
    # samples with other losses do not change, and a loss without a minimum decreases.
    rows = signs[:, None] * basis
    is_free = ~is_one_sided
    program = linprog(
        -rows[is_endless].sum(axis=0),
        -rows[is_one_sided],
        np.zeros(np.count_nonzero(is_one_sided)),
        basis[is_free],
        np.zeros(np.count_nonzero(is_free)),
        bounds=(-1.0, 1.0),
    )
    if program.x is None:
        return False
    changes = rows @ program.x
    rounding = 1e-9 * np.abs(basis @ program.x).max(initial=0.0)
    violation = np.abs(basis[is_free] @ program.x).max(initial=0.0)
    violation = max(violation, -changes[is_one_sided].min(initial=0.0))
    return bool(changes[is_endless].max(initial=0.0) > 0.0 and violation <= rounding)


def orthonormal_basis(problem: Problem) -> Array:
    """Return an orthonormal basis of the span of `columns`, shape (n_samples, rank)."""
    # The span includes constants if the problem has an intercept.
    assert problem.columns is not None
    return LeastSquares(problem.columns, None, problem.fit_intercept).projection.span


def orthogonal_dual(problem: Problem, rho: Array, basis: Array | None = None) -> Array:
    """Return the dual point nearest to `rho` and orthogonal to `problem.columns`."""
    # With an intercept, it also sums to zero. `basis` is the `orthonormal_basis` of the
    # columns and intercept; None means that it is computed here. The result is the
    # projection onto the points in the domain of the loss's conjugate with
    # Q^T point = 0, where Q is the basis. This projection is clip(rho - Q nu), where
    # the multipliers nu of the constraint maximize a concave function. They are found
    # by Newton's method with Armijo's rule.
    Q = orthonormal_basis(problem) if basis is None else basis
    lower_u, upper_u = problem.loss.dual_bounds(problem.y)
    lower, upper = -upper_u, -lower_u

    def value(point: Array, nu: Array) -> float:
        """Return the projection's dual function at nu; `point` is clip(rho - Q nu)."""
        return 0.5 * float(np.sum((point - rho) ** 2)) + float(nu @ (Q.T @ point))

    nu = np.zeros(Q.shape[1])
    point = np.clip(rho, lower, upper)
    for _ in range(STEPS):
        slopes = Q.T @ point
        imbalance = np.linalg.norm(slopes)
        if imbalance <= 4.0 * EPS * np.linalg.norm(point):
            break
        is_free = (point > lower) & (point < upper)
        curvature = Q[is_free].T @ Q[is_free] + 1e-12 * np.eye(nu.size)
        step = np.linalg.solve(curvature, slopes)
        initial, length = value(point, nu), 1.0
        while length > SHORTEST:
            next_point = np.clip(rho - Q @ (nu + length * step), lower, upper)
            gain = SUFFICIENT * length * float(slopes @ step)
            required = initial + gain - EPS * abs(initial)
            if value(next_point, nu + length * step) >= required:
                break
            length *= 0.5
        has_shrunk = np.linalg.norm(Q.T @ next_point) < imbalance
        # Slopes at rounding level cannot be reduced further.
        is_settled = imbalance <= CLOSED * np.linalg.norm(point) and not has_shrunk
        if is_settled or length <= SHORTEST:
            break
        nu, point = nu + length * step, next_point
    # The zero vector is always feasible.
    is_orthogonal = np.linalg.norm(Q.T @ point) <= CLOSED * np.linalg.norm(point)
    return np.asarray(point if is_orthogonal else np.zeros_like(point))
