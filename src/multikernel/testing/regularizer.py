"""Conformance of penalties: conjugate, dual ball, and capabilities."""

from itertools import product

import numpy as np
from numpy.random import Generator

from multikernel._typing import Array
from multikernel.regularizers.base import (
    BlockRegularizer,
    ProximableRegularizer,
    VariationalRegularizer,
    treats_kernels_alike,
)


def check_regularizer(
    regularizer: BlockRegularizer, n_kernels: int = 6, seed: int = 0
) -> None:
    """Check that a penalty satisfies its protocols.

    The conjugate is checked by the Fenchel-Young inequality, with equality at
    gradients. The prox is compared with random neighbors, its derivative with finite
    differences, and kernel weights with their definition. A violated property raises an
    ``AssertionError`` that names it. If the penalty is for a fixed number of kernels,
    pass this number as `n_kernels`.
    """
    assert isinstance(regularizer, BlockRegularizer), (
        f"{regularizer!r} is not a BlockRegularizer: it must have alpha, with_alpha, "
        "value, conjugate and feasible_scale."
    )
    rng = np.random.default_rng(seed)
    points = _norms(n_kernels, rng)
    if isinstance(regularizer, ProximableRegularizer):
        assert treats_kernels_alike(regularizer), (
            "A penalty with a prox must accept the norms of any number of kernels, "
            "even none, because solvers call it for working sets. Instead of an array "
            "of weights, divide each kernel's matrix by the square of its weight."
        )
    _check_value(regularizer, points, rng)
    _check_dual_ball(regularizer, points)
    _check_fenchel_young(regularizer, points, rng)
    _check_tightness(regularizer, points)
    if isinstance(regularizer, ProximableRegularizer):
        _check_no_kernels(regularizer)
        steps = [*product(points, (0.05, 1.0, 4.0))]
        for norms, step in steps:
            _check_prox(regularizer, norms, step, rng)
        for norms, step in steps:
            _check_prox_derivative(regularizer, norms, step)
            _check_threshold(regularizer, norms, step)
        zeros = np.zeros(n_kernels)
        at_threshold = zeros + regularizer.threshold
        assert regularizer.conjugate(at_threshold, zeros) == 0.0, (
            "The conjugate must vanish where no dual norm exceeds the threshold."
        )
    if isinstance(regularizer, VariationalRegularizer):
        _check_kernel_weights(regularizer, points)


def _norms(n_kernels: int, rng: Generator) -> list[Array]:
    """Return vectors of norms at several scales, some of them sparse."""
    points = []
    for scale in np.geomspace(1e-2, 1e2, 16):
        norms = scale * rng.exponential(size=n_kernels)
        points += [norms, norms * (rng.random(n_kernels) < 0.5)]
    for norms in points:
        norms.flags.writeable = False
    return points


def _check_value(
    penalty: BlockRegularizer, points: list[Array], rng: Generator
) -> None:
    """Check convexity and monotonicity in the norms, and proportionality to alpha."""
    assert penalty.alpha > 0.0, f"alpha is {penalty.alpha:g}, not positive."
    doubled = penalty.with_alpha(2.0 * penalty.alpha)
    assert doubled.alpha == 2.0 * penalty.alpha, (
        f"with_alpha({2.0 * penalty.alpha:g}) returns a penalty with "
        f"alpha={doubled.alpha:g}."
    )
    at_zero = penalty.value(np.zeros_like(points[0]))
    assert at_zero == 0.0, f"The penalty of zero norms is {at_zero:g}, not zero."
    for t in points:
        value = penalty.value(t)
        assert isinstance(value, float), f"value returns {type(value)}, not a float."
        assert abs(doubled.value(t) - 2.0 * value) <= 1e-9 * value, (
            "with_alpha must multiply the penalty, and must not change anything else."
        )
        other = points[rng.integers(len(points))]
        chord = 0.5 * (value + penalty.value(other))
        assert penalty.value(0.5 * (t + other)) <= chord + 1e-10 * chord, (
            "The penalty is not convex: it lies above a chord."
        )
        larger = penalty.value(t + 0.1 * t.mean())
        assert larger >= value, "The penalty must not decrease if norms increase."


def _check_dual_ball(penalty: BlockRegularizer, points: list[Array]) -> None:
    """Check that `feasible_scale` scales points just into the conjugate's domain."""
    norms = np.ones_like(points[0])
    for s in points:
        scale = penalty.feasible_scale(s)
        assert 0.0 < scale <= 1.0, f"feasible_scale is {scale:g}, outside (0, 1]."
        assert np.isfinite(penalty.conjugate(scale * s, norms)), (
            "The conjugate must be finite at feasible_scale(s) * s."
        )
        again = penalty.feasible_scale(scale * s)
        assert abs(again - 1.0) <= 1e-12, (
            f"A feasible point must not be scaled further: its scale is {again:.15g}."
        )
        if scale < 1.0:
            value = penalty.conjugate(1.001 * scale * s, norms)
            assert np.isposinf(value), (
                "feasible_scale shrinks too much: the conjugate is still finite at a "
                "point 0.1 % larger."
            )
    assert penalty.feasible_scale(np.zeros_like(norms)) == 1.0, (
        "Zero dual norms are always feasible: their scale must be 1."
    )


def _check_fenchel_young(
    penalty: BlockRegularizer, points: list[Array], rng: Generator
) -> None:
    """Check the Fenchel-Young inequality."""
    for t in points:
        for k in rng.choice(len(points), size=8, replace=False):
            s = points[k] * penalty.feasible_scale(points[k])
            product = float(t @ s)
            slack = penalty.value(t) + penalty.conjugate(s, t) - product
            assert slack >= -1e-9 * (1.0 + product), (
                "Omega(t) + Omega*(s) must be at least the product of t and s, but it "
                f"is less by {-slack:.3g}."
            )


def _check_tightness(penalty: BlockRegularizer, points: list[Array]) -> None:
    """Check equality in the Fenchel-Young inequality at slopes of the penalty."""
    for norms in points:
        # Central differences require positive norms.
        t = norms + 1e-2 * (1.0 + norms.mean())
        slopes = _slopes(penalty, t)
        s = slopes * penalty.feasible_scale(slopes)
        product = float(t @ s)
        slack = penalty.value(t) + penalty.conjugate(s, t) - product
        assert abs(slack) <= 1e-5 * (1.0 + product), (
            "Omega(t) + Omega*(s) must equal the product of t and s at the slopes s of "
            f"the penalty, but it differs by {slack:.3g}: the conjugate is not tight."
        )


def _slopes(penalty: BlockRegularizer, t: Array) -> Array:
    """Return the penalty's slopes at positive norms `t`; negative ones become zero."""
    # The slopes are central differences.
    slopes = np.empty_like(t)
    for m in range(t.size):
        step = np.zeros_like(t)
        step[m] = 1e-5 * t[m]
        rise = penalty.value(t + step) - penalty.value(t - step)
        slopes[m] = rise / (2.0 * step[m])
    return np.maximum(slopes, 0.0)


def _check_no_kernels(penalty: ProximableRegularizer) -> None:
    """Check the penalty of no kernels."""
    # Working sets may be empty.
    empty = np.empty(0)
    scale = penalty.feasible_scale(empty)
    values = penalty.value(empty), penalty.conjugate(empty, empty), scale
    assert values == (0.0, 0.0, 1.0), (
        "Without kernels the penalty and its conjugate must be 0 and feasible_scale 1, "
        f"got {values}."
    )


def _check_prox(
    penalty: ProximableRegularizer, norms: Array, step: float, rng: Generator
) -> None:
    """Check that no random neighbor of the prox has a smaller objective."""

    def objective(t: Array) -> float:
        return step * penalty.value(t) + 0.5 * float((t - norms) @ (t - norms))

    minimizer = penalty.prox(norms, step)
    assert bool(np.all((minimizer >= 0.0) & (minimizer <= norms))), (
        "prox must return norms between zero and its argument."
    )
    best = objective(minimizer)
    for size in (1e-5, 1e-2, 1.0):
        move = size * rng.normal(size=norms.size)
        gain = best - objective(np.maximum(minimizer + move, 0.0))
        assert gain <= 1e-12 * (1.0 + best), (
            "prox is not the minimizer of step * Omega(t) + |t - norms|^2 / 2: a "
            f"neighbor is better by {gain:.3g}."
        )


def _check_prox_derivative(
    penalty: ProximableRegularizer, norms: Array, step: float
) -> None:
    """Check the derivative of the prox against finite differences."""
    move = 1e-6 * (1.0 + norms)
    center = penalty.prox(norms, step)
    right = (penalty.prox(norms + move, step) - center) / move
    left = (center - penalty.prox(norms - move, step)) / move
    is_smooth = np.abs(right - left) <= 1e-6
    slopes = penalty.prox_derivative(norms, step)
    error = np.max(np.abs(slopes - 0.5 * (left + right)) * is_smooth)
    assert error <= 1e-5, (
        f"prox_derivative differs from differences of prox by {error:.3g}."
    )


def _check_threshold(penalty: ProximableRegularizer, norms: Array, step: float) -> None:
    """Check that the prox is positive exactly above the threshold."""
    threshold = penalty.threshold
    is_positive, margin = penalty.prox(norms, step) > 0.0, norms - step * threshold
    # Norms that equal the threshold up to rounding are not compared.
    is_clear = np.abs(margin) > 1e-9 * (1.0 + norms)
    assert bool(np.all((is_positive == (margin > 0.0)) | ~is_clear)), (
        "prox(norms, step) must be positive exactly where a norm exceeds step * "
        f"threshold, and threshold is {threshold:.6g}."
    )


def _check_kernel_weights(penalty: VariationalRegularizer, points: list[Array]) -> None:
    """Check the kernel weights and the variational identity."""
    for t in points:
        if not t.any():
            continue
        weights = penalty.kernel_weights(t)
        assert bool(np.all((weights >= 0.0) & np.isfinite(weights))), (
            "kernel_weights must be finite and nonnegative."
        )
        value, bound = penalty.value(t), _weighted_squares(penalty, t, weights)
        assert abs(bound - value) <= 1e-8 * (1.0 + value), (
            "alpha / 2 * sum(norms^2 / kernel_weights) must equal the penalty: it is "
            f"{bound:.10g} and the penalty {value:.10g}."
        )
        for other in points:
            bound = _weighted_squares(penalty, other, weights)
            value = penalty.value(other)
            assert bound >= value * (1.0 - 1e-8), (
                "alpha / 2 * sum(norms^2 / kernel_weights) must bound the penalty from "
                f"above for all norms: it is {bound:.10g} and the penalty {value:.10g}."
            )


def _weighted_squares(penalty: BlockRegularizer, t: Array, weights: Array) -> float:
    """Return alpha / 2 times the sum of t^2 / weights, with 0 / 0 = 0."""
    if bool(np.any((weights == 0.0) & (t > 0.0))):
        return np.inf
    positive = t > 0.0
    return 0.5 * penalty.alpha * float(np.sum(t[positive] ** 2 / weights[positive]))
