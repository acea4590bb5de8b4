"""One duality gap for every loss, regularizer and solver.

Over dual points rho, the dual of `multikernel.problem.Problem` maximizes -sum_i
loss*(y_i, -rho_i) - Omega*(||rho||_{K_1}, ..., ||rho||_{K_M}), with sum_i rho_i = 0 if
there is an intercept; loss* and Omega* are the conjugates of loss and regularizer. The
dual depends on the kernels K_m only through the M dual norms ||rho||_{K_m} = (rho^T K_m
rho)^(1/2). Every dual value is computed at a *feasible* point, so the gap is a proof.

The functions evaluate one target, whose norms have shape (n_kernels,), or many targets
with separate norms, (n_kernels, n_targets), and the penalty `BlockL1Each`. Targets,
decision values and dual points then have shape (n_samples, n_targets). Several outputs
with shared norms are one target.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from multikernel._typing import Array
from multikernel.exceptions import IndefiniteKernelError
from multikernel.linalg import EPS, TINY
from multikernel.losses.answers import refuse_nan
from multikernel.losses.coupled import is_coupled, project_coupled
from multikernel.problem import Problem, Targets

Number = Any
"""A float or, with a target axis, one float for each target, shape (n_targets,)."""

NUDGE = 1.0 - 1e-6
"""Factor by which a dual point is shrunk to test whether that increases its value."""


@dataclass(frozen=True, eq=False)
class DualCertificate:
    """A feasible dual point, its norms, and its value, a lower bound on the optimum."""

    dual: Array
    dual_norms: Array
    value: Number


def sum_of_samples(values: Array, norms: Array) -> Number:
    """Return the sum of `values`; one per target if `norms` has an axis of targets."""
    return values.sum(axis=0 if norms.ndim > 1 else None)


def primal_value(problem: Problem, norms: Array, f: Array) -> Number:
    """Return the primal objective; decision values f include the intercept."""
    losses = sum_of_samples(problem.loss.value(problem.y, f), norms)
    refuse_nan(problem.loss, "value", losses, f)
    return losses + problem.regularizer.value(norms)


def project_dual(problem: Targets, rho: Array) -> Array:
    """Return the nearest point to `rho` in the domain of the loss's conjugate."""
    # With an intercept, the point also sums to zero over the samples. If the domain is
    # a box, the nearest point is rho clipped to it; with an intercept, rho is shifted
    # before. If the loss couples the outputs, the domain of each row is a simplex.
    if is_coupled(problem.loss):
        center = problem.fit_intercept
        return project_coupled(problem.loss, problem.y, rho, center=center)
    lower_u, upper_u = problem.loss.dual_bounds(problem.y)
    lower, upper = -upper_u, -lower_u  # rho = -u
    if not problem.fit_intercept:
        return np.asarray(np.clip(rho, lower, upper))
    if rho.ndim == 1:
        return clipped_to_sum(rho, lower, upper)
    columns = [
        clipped_to_sum(rho[:, k], lower[:, k], upper[:, k]) for k in range(rho.shape[1])
    ]
    return np.stack(columns, axis=1)


def clipped_to_sum(rho: Array, lower: Array, upper: Array, total: float = 0.0) -> Array:
    """Return clip(rho - s, lower, upper), for the number s that gives sum `total`."""
    if np.isinf(lower).all() and np.isinf(upper).all():
        return np.asarray(rho - (rho.mean() - total / rho.size))
    # At s = -reach, every entry is at its upper bound or above `total`, and no entry is
    # negative, because the domain contains zero. So the sum is at least `total`, if any
    # s gives such a sum. The same holds for s = reach with opposite signs.
    reach = 1.0 + float(np.abs(rho).max()) + abs(total)
    low, high = -reach, reach
    clipped: Array = np.clip(rho, lower, upper)
    shift = 0.0
    for _ in range(200):
        excess = float(clipped.sum()) - total
        # If the excess is only a rounding error, a step cannot change the shift.
        if abs(excess) <= EPS * float(np.abs(clipped).sum()):
            break
        low, high = (shift, high) if excess > 0.0 else (low, shift)
        is_inside = (clipped > lower) & (clipped < upper)
        n_free = int(is_inside.sum())
        step = shift + excess / n_free if n_free else np.inf
        # Use Newton's method for the zero of a monotone piecewise linear function, or
        # bisection if the Newton step leaves the bracket.
        next_shift = step if low < step < high else 0.5 * (low + high)
        if next_shift == shift or high - low <= 0.0:
            break
        shift = next_shift
        clipped = np.clip(rho - shift, lower, upper)
    return clipped


def certify(
    problem: Problem, rho: Array, norms: Array, candidate_norms: Array
) -> DualCertificate:
    """Scale a projected point into the regularizer's dual ball and evaluate it.

    `rho` is from `project_dual`, and `candidate_norms` are its dual norms. `norms` are
    the block norms of the current primal point, which `BlockRegularizer.conjugate` may
    use.
    """
    scale, value = scaled_dual_value(problem, rho, norms, candidate_norms)
    return DualCertificate(scale * rho, scale * candidate_norms, value)


def scaled_dual_value(
    problem: Problem, rho: Array, norms: Array, candidate_norms: Array
) -> tuple[Number, Number]:
    """Return s with s * rho feasible and its dual value largest, and that value."""
    # `candidate_norms` are the dual norms of rho, or upper bounds on them. `norms` are
    # the block norms of the current model: with an axis of targets, each target gets a
    # scale; the conjugates of some penalties need them, too.
    loss, regularizer, y = problem.loss, problem.regularizer, problem.y

    def negative_dual(scale: Number) -> Number:
        """Return minus the dual value at a multiple of rho."""
        conjugate = sum_of_samples(loss.conjugate(y, -scale * rho), norms)
        refuse_nan(loss, "conjugate", conjugate, rho)
        return conjugate + regularizer.conjugate(scale * candidate_norms, norms)

    largest = regularizer.feasible_scale(candidate_norms)
    if norms.ndim > 1:
        # Only Newton's method in the weights has an axis of targets, also for one
        # target. Its dual points nearly solve the problem for fixed kernel weights, so
        # a smaller factor would hardly increase the dual value. Any scale up to the
        # largest gives a valid bound.
        return largest, -negative_dual(largest)
    scale, lowest = best_scale(negative_dual, largest)
    return scale, -lowest


def best_scale(
    negative_dual: Callable[[float], float], largest: float
) -> tuple[float, float]:
    """Return the factor in [0, largest] with the smallest value, and this value."""
    # `negative_dual` returns minus the dual value at a multiple of a dual point. It is
    # a convex function of the factor.
    scale, lowest = largest, negative_dual(largest)
    if negative_dual(NUDGE * largest) < lowest:
        # If Omega* is finite but steep, a factor below `largest` may give a better dual
        # value. For example, the first dual points of an elastic net ignore most
        # kernels, and their dual values at the factor `largest` would be useless.
        shrunk = _segment_minimum(negative_dual, largest, lowest)
        if shrunk[1] < lowest:
            scale, lowest = shrunk
    # The factor zero is always feasible. If the optimum is zero, only it proves it.
    if not lowest <= 0.0 and negative_dual(0.0) <= lowest:
        scale, lowest = 0.0, negative_dual(0.0)
    return scale, lowest


def _segment_minimum(
    negative_dual: Callable[[float], float], end: float, at_end: float
) -> tuple[float, float]:
    """Return the minimizer of a convex function on [0, end], and the minimum."""
    # Along a ray, conjugates of hinges are linear and squared norms quadratic. Three
    # values define the parabola, and a fourth one checks that the function is one.
    at_start, at_middle = negative_dual(0.0), negative_dual(0.5 * end)
    bend = 2.0 * (at_start - 2.0 * at_middle + at_end)
    share = 0.5 * (at_start - at_end) / bend + 0.5 if bend > 0.0 else 0.0
    if 0.0 < share < 1.0:
        value, expected = negative_dual(share * end), at_start - bend * share * share
        size = abs(at_start) + abs(at_end) + abs(at_middle)
        if abs(value - expected) <= 1e-12 * size:
            return share * end, value
    result = minimize_scalar(
        negative_dual, bounds=(0.0, end), method="bounded", options={"xatol": 1e-9}
    )
    return float(result.x), float(result.fun)


def relative_gap(primal: Number, dual: Number) -> Number:
    """Return (primal - dual) / abs(primal); zero if both are zero."""
    return (primal - dual) / np.maximum(np.abs(primal), TINY)


def check_gap(gap: float) -> None:
    """Raise if a relative gap is negative beyond rounding: a kernel is indefinite."""
    # The message names no matrix: all computed quadratic forms were nonnegative.
    # The limit allows for rounding in single precision.
    if gap < -1e-4:
        raise IndefiniteKernelError(
            f"The relative duality gap is {gap:.2g}. With symmetric positive "
            "semidefinite Gram matrices it cannot be negative: check your own kernel "
            "functions and precomputed matrices."
        )
