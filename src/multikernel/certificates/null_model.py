"""The model without kernels: the best constant, and the largest useful alpha."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array
from multikernel.certificates.columns import UnboundedModelError, fit_columns_alone
from multikernel.certificates.forms import largest_dual_norm
from multikernel.exceptions import UnsupportedProblemError
from multikernel.linalg import EPS
from multikernel.losses.answers import refuse_nan
from multikernel.losses.base import (
    Loss,
    PolyhedralLoss,
    SmoothConjugateLoss,
    degree,
    has_log_scale,
    is_polyhedral,
    is_smooth,
)
from multikernel.losses.coupled import is_coupled, project_coupled
from multikernel.losses.weighted import output_loss, weights_of, without_weights
from multikernel.problem import Problem, center_targets
from multikernel.regularizers.base import ProximableRegularizer

# Constants for regression are much smaller, and log-odds of this size require weights
# with a ratio of exp(256).
FARTHEST = 128.0
"""Largest intercept of the search, as a multiple of the initial search radius."""

# The error is about the square of the last step. Most logistic fits take four steps.
STEPS, CLOSE = 6, 1e-8
"""Maximum number of Newton steps for an intercept, and the relative step to stop at."""

# More digits of an intercept near zero would not change any decision value.
NEAR_ZERO = 1e-3
"""Intercepts smaller than this share of the first bracket have absolute precision."""

# One pass over the matrices serves this number of targets, but stores the product of
# every kernel with each target's dual point.
TOGETHER = 64
"""Number of targets whose dual points are multiplied by the kernels together."""


@dataclass(frozen=True, eq=False)
class ConstantModel:
    """The best model without kernels.

    `intercept`, (n_outputs,), includes the problem's offset, and is zero if the problem
    has no intercept. `dual` is minus a subgradient of the loss at the decision values;
    if the problem has an intercept, `dual` sums to zero.
    """

    intercept: Array
    dual: Array


def constant_model(problem: Problem) -> ConstantModel:
    """Return the best constant model and its dual point; raise if it is infinite."""
    problem = center_targets(problem)
    y, loss = problem.y, problem.loss
    if problem.columns is not None:
        constant = 0.0
        if problem.fit_intercept:
            constant = best_intercept(loss, y, np.zeros_like(y))[0]
        best = fit_columns_alone(problem, constant)
        return ConstantModel(np.array([best.intercept]) + problem.offset, best.dual)
    if not problem.fit_intercept:
        n_outputs = 1 if y.ndim == 1 else y.shape[1]
        return ConstantModel(np.zeros(n_outputs), -loss.gradient(y, np.zeros_like(y)))
    if is_coupled(loss):
        b, dual = loss.constant_model(y)
        return ConstantModel(b, project_coupled(loss, y, dual, center=True))
    b, dual = best_intercepts(loss, y, np.zeros_like(y))
    return ConstantModel(b + problem.offset, dual)


def best_intercepts(loss: Loss, y: Array, f: Array) -> tuple[Array, Array]:
    """Return the optimal intercepts b of all outputs, and a dual point at f + b."""
    if is_coupled(loss):
        b, dual = loss.best_intercept(y, f)
        return b, project_coupled(loss, y, dual, center=True)
    if y.ndim == 1:
        best, dual = best_intercept(loss, y, f)
        return np.array([best]), dual
    columns, values = (np.ascontiguousarray(array.T) for array in (y, f))
    fits = [
        best_intercept(output_loss(loss, k), *pair)
        for k, pair in enumerate(zip(columns, values, strict=True))
    ]
    dual = np.stack([slopes for _, slopes in fits], axis=1)
    return np.array([b for b, _ in fits]), dual


def best_intercept(loss: Loss, y: Array, f: Array) -> tuple[float, Array]:
    """Return the best intercept b for decision values f, and a dual point at f + b."""
    # The dual point is minus a subgradient and sums to zero. At a kink, it is minus a
    # mixture of the gradients just below and just above the kink, at intercepts that
    # differ only by rounding. If a piecewise linear loss is minimal on an interval, the
    # intercept is its middle, as in support vector machines: the ends would favor one
    # of the classes.
    reach = _largest_intercept(loss, y, f)
    minimum = None
    if is_polyhedral(loss):
        minimum = _best_intercept_by_kinks(loss, y, f)
    elif is_smooth(loss):
        minimum = _best_intercept_by_newton(loss, y, f, 2.0 * NEAR_ZERO * reach)
    return _best_intercept_halved(loss, y, f, reach) if minimum is None else minimum


def _largest_intercept(loss: Loss, y: Array, f: Array) -> float:
    """Return the radius of the search for an intercept around zero."""
    # The radius is an upper bound on abs(y - f) plus a margin of 1. For losses that
    # declare a degree, the margin is at most this upper bound. With a log link,
    # decision values are on the scale of the targets' logarithms, which then replace y.
    targets = np.log(y[y > 0.0]) if has_log_scale(without_weights(loss)) else y
    size = float(np.abs(targets).max(initial=0.0) + np.abs(f).max())
    unit = 1.0 if degree(loss) is None else min(1.0, size)
    return size + (unit or 1.0)


def _best_intercept_halved(
    loss: Loss, y: Array, f: Array, reach: float
) -> tuple[float, Array]:
    """Return the result of `best_intercept` by bisection, for any loss."""

    def slope(b: float) -> float:
        """Return the slope of the summed loss; zero if it is within rounding errors."""
        gradient = loss.gradient(y, f + b)
        refuse_nan(loss, "gradient", gradient, f + b)
        total = float(gradient.sum())
        is_rounding = abs(total) <= 4.0 * EPS * float(np.abs(gradient).sum())
        return 0.0 if is_rounding else total

    # The intercept of a loss with an offset may have the size of the offset.
    reach += float(np.abs(getattr(without_weights(loss), "offset", 0.0)).max())
    left, outer = (_bracket_end(slope, b, FARTHEST * reach) for b in (-reach, reach))
    left, right = _bisect(lambda b: slope(b) >= 0.0, left, outer)
    if slope(right) == 0.0 < slope(outer):
        outer, _ = _bisect(lambda b: slope(b) > 0.0, right, outer)
        middle = 0.5 * (right + outer)
        return middle, -loss.gradient(y, f + middle)
    ends = ((end, loss.gradient(y, f + end)) for end in (left, right))
    b, dual = _interpolate(*ends)
    # If a kink is a floating-point number, the loss may be minimal only there.
    b = min((b, left, right), key=lambda b: float(loss.value(y, f + b).sum()))
    return b, dual


def _interpolate(
    left: tuple[float, Array], right: tuple[float, Array]
) -> tuple[float, Array]:
    """Return an intercept where the interpolated slope is zero, and a dual point."""
    # Each argument is a pair: an intercept, and the gradient of the loss with this
    # intercept, (n_samples,). The slope is the sum of the gradient.
    (a, g_low), (b, g_high) = left, right
    low, high = float(g_low.sum()), float(g_high.sum())
    share = 0.5 if high <= low else float(np.clip(-low / (high - low), 0.0, 1.0))
    # Computed as below, the mixture of two equal entries is exact, so rounding moves no
    # entry out of the conjugate's domain.
    return a + share * (b - a), -(g_low + share * (g_high - g_low))


@np.errstate(all="ignore")
def _best_intercept_by_newton(
    loss: SmoothConjugateLoss, y: Array, f: Array, smallest: float
) -> tuple[float, Array] | None:
    """Return the result of `best_intercept` by Newton's method; None if it fails."""
    # Newton's method takes about four gradients, bisection fifty. For a log link it
    # starts at the optimum, which has a formula: from a much smaller intercept, the
    # steps would be far too long. The optimum is then enclosed by two intercepts that
    # differ by rounding only; the dual point is minus a mean of their gradients.
    unweighted, b = without_weights(loss), 0.0
    if has_log_scale(unweighted):
        b = unweighted.best_constant(y, f, weights_of(loss, len(y)))
    for _ in range(STEPS):
        gradient = loss.gradient(y, f + b)
        refuse_nan(loss, "gradient", gradient, f + b)
        # The curvature of a loss is the inverse of the conjugate's curvature.
        step = gradient.sum() / (1.0 / loss.conjugate_hessian(y, gradient)).sum()
        b -= float(step)
        if abs(step) <= CLOSE * max(abs(b), smallest):
            break
    radius = 4.0 * EPS * max(abs(b), smallest)
    for _ in range(STEPS):
        ends = [(end, loss.gradient(y, f + end)) for end in (b - radius, b + radius)]
        low, high = (float(gradient.sum()) for _, gradient in ends)
        if low <= 0.0 <= high and low < high:
            return _interpolate(*ends)
        radius *= 4.0
    return None


def _best_intercept_by_kinks(
    loss: PolyhedralLoss, y: Array, f: Array
) -> tuple[float, Array] | None:
    """Return the result of `best_intercept` from sorted kinks; None if that fails."""
    # The method fails if the optimal intercepts are unbounded, or if rounding may have
    # merged kinks.
    b, end = _optimal_interval(loss, y, f)
    if np.isnan(b):
        return None
    # If the optimal intercepts form an interval, the gradient sums to zero inside it.
    # If only one intercept is optimal, it is a kink, at which `gradient` contains
    # subgradients. Their sum may be zero, too.
    middle = 0.5 * (b + end)
    gradient = loss.gradient(y, f + middle)
    if abs(float(gradient.sum())) <= 4.0 * EPS * float(np.abs(gradient).sum()):
        return middle, -gradient
    if b < end:
        return None
    radius = 8.0 * EPS * (_largest_intercept(loss, y, f) + abs(b))
    below = loss.gradient(y, f + (b - radius))
    above = loss.gradient(y, f + (b + radius))
    crosses = float(below.sum()) < 0.0 < float(above.sum())
    return _interpolate((b, below), (b, above)) if crosses else None


def _optimal_interval(loss: PolyhedralLoss, y: Array, f: Array) -> tuple[float, float]:
    """Return the smallest and the largest optimal intercept; NaN if unbounded."""
    # The slope of the summed loss is a step function of the intercept: `start` to the
    # left of all kinks, then `slopes`. Slopes within `rounding` count as zero. If the
    # slope does not change its sign, no bounded interval is optimal.
    signs, costs, sizes = loss.dual_pieces(y)
    kinks, jumps = (signs * costs - f).ravel(), np.ravel(sizes)
    start, rounding = -float(sizes[signs < 0.0].sum()), 4.0 * EPS * float(jumps.sum())
    order = np.argsort(kinks)
    slopes = np.cumsum(np.append(start, jumps[order]))[1:]
    if not (start < -rounding and slopes[-1] > rounding):
        return np.nan, np.nan
    left = kinks[order[np.searchsorted(slopes, -rounding)]]
    right = kinks[order[np.searchsorted(slopes, rounding, "right")]]
    return float(left), float(right)


def _bracket_end(slope: Callable[[float], float], b: float, farthest: float) -> float:
    """Return b, doubled until the loss stops decreasing; raise if it never does."""
    while slope(b) * b < 0.0:
        if abs(b) > farthest:
            raise UnboundedModelError(
                "The intercept of the model without kernels is infinite, because the "
                "targets contain one class only, no count above zero, or no event: add "
                "samples of another class, with a positive count, or with an event."
            )
        b *= 2.0
    outer = b
    while slope(outer) == 0.0 and abs(outer) < farthest:
        outer *= 2.0
    return outer if slope(outer) != 0.0 else b


def _bisect(
    is_reached: Callable[[float], bool], lower: float, upper: float
) -> tuple[float, float]:
    """Return two neighboring numbers: `is_reached` is False at the first, then True."""
    middle, smallest = 0.5 * (lower + upper), NEAR_ZERO * (upper - lower)
    # Bisect down to neighboring floating-point numbers, because a kink may be at one of
    # them. Near zero these are too dense, so `smallest` limits the precision.
    while lower < middle < upper and upper - lower > EPS * max(
        abs(lower), abs(upper), smallest
    ):
        lower, upper = (lower, middle) if is_reached(middle) else (middle, upper)
        middle = 0.5 * (lower + upper)
    return lower, upper


def alpha_max(problem: Problem) -> float:
    """Return the smallest regularization strength at which no kernel is active.

    It is the largest dual norm of the best constant model's dual point, in the scale of
    `Problem` (n_samples times the alpha of estimators). If the loss has kinks at this
    model, the result is an upper bound. If the threshold of the penalty is only a share
    of alpha, as in the elastic net, the largest dual norm is divided by this share. A
    penalty without a threshold raises `UnsupportedProblemError`.
    """
    threshold_share = _threshold_share(problem)
    largest = largest_dual_norm(problem.gram, constant_model(problem).dual)
    return largest / threshold_share if threshold_share > 0.0 else np.inf


def _threshold_share(problem: Problem) -> float:
    """Return threshold / alpha of a penalty; raise for a penalty without threshold."""
    regularizer = problem.regularizer
    if not isinstance(regularizer, ProximableRegularizer):
        raise UnsupportedProblemError(
            f"{type(regularizer).__name__} keeps all kernels active at every alpha, so "
            "alpha_max is not defined: use a sparse penalty, such as BlockL1."
        )
    return regularizer.threshold / regularizer.alpha


def largest_alphas(problems: Sequence[Problem]) -> Array:
    """Return the `alpha_max` of problems that share the stack, shape (n_problems,)."""
    gram = problems[0].gram
    joint = any(problem.y.ndim > 1 for problem in problems)
    one_by_one = joint or not gram.in_memory or gram.shares_work()
    if one_by_one or gram.tall_form() is not None:
        return np.array([alpha_max(problem) for problem in problems])
    largest_norms = []
    for start in range(0, len(problems), TOGETHER):
        group = problems[start : start + TOGETHER]
        duals = np.stack([constant_model(problem).dual for problem in group], axis=1)
        forms = np.einsum("mit,it->mt", gram.matvec(duals), duals)
        largest_norms += np.sqrt(np.maximum(forms.max(axis=0), 0.0)).tolist()
    shares = np.array([_threshold_share(problem) for problem in problems])
    with np.errstate(divide="ignore"):
        return np.where(shares > 0.0, np.array(largest_norms) / shares, np.inf)
