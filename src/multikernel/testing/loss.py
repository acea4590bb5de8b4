"""Conformance of losses: conjugate, capabilities, and sample weights."""

from dataclasses import is_dataclass, replace

import numpy as np
from numpy.random import Generator
from scipy.optimize import linprog

from multikernel._typing import Array
from multikernel.losses import base
from multikernel.losses.base import Loss
from multikernel.losses.weighted import part_of, weighted

CAPABILITIES = (base.SmoothConjugateLoss, base.PolyhedralLoss)


def check_loss(loss: Loss, y: Array | None = None, seed: int = 0) -> None:
    """Check that a loss satisfies its protocols.

    The conjugate is compared with a numerical supremum and checked by the Fenchel-Young
    inequality. Derivatives are compared with finite differences. Capabilities
    (`SmoothConjugateLoss`, `PolyhedralLoss`, ``shift_equivariant``, ``degree``) are
    checked as well, and all checks are repeated with sample weights. A violated
    property raises an ``AssertionError`` that names it. Admissible targets `y` are -1
    and +1 by default; check regression losses with other values, too.
    """
    rng = np.random.default_rng(seed)
    targets = rng.choice([-1.0, 1.0], 24) if y is None else np.array(y, dtype=float)
    targets.flags.writeable = False
    _check_promises(loss, targets, rng)
    if base.degree(loss) is not None:
        _check_degree(loss, targets, rng)
    weights: Array = rng.uniform(0.2, 3.0, size=targets.shape)
    _check_weighting(loss, targets, weights, rng)
    _check_promises(weighted(loss, weights), targets, rng)


def _check_promises(loss: Loss, y: Array, rng: Generator) -> None:
    """Check a loss against all protocols that it implements."""
    assert isinstance(loss, Loss), (
        f"{loss!r} is not a Loss: it must have value, gradient, conjugate and "
        "dual_bounds."
    )
    _check_parts(loss, y, rng)
    _check_shapes(loss, y, rng)
    _check_shapes(loss, np.stack([y, y[::-1]], axis=1), rng)
    _check_gradient(loss, y, rng)
    _check_domain(loss, y, rng)
    _check_fenchel_young(loss, y, rng)
    _check_supremum(loss, y, rng)
    _check_large_values(loss, y)
    if base.is_shift_equivariant(loss):
        _check_shift(loss, y, rng)
    if isinstance(loss, base.SmoothConjugateLoss):
        _check_conjugate_derivatives(loss, y, rng)
    if isinstance(loss, base.PolyhedralLoss):
        _check_dual_pieces(loss, y, rng)


def _check_degree(loss: Loss, y: Array, rng: Generator) -> None:
    """Check that scaling all arguments by 100 scales the loss by 100**degree."""
    error = 1e6 * (1.0 + rng.uniform(size=y.shape))
    length = vars(type(loss)).get("length")
    longer = loss
    if length:
        assert is_dataclass(loss)
        longer = replace(loss, **{length: 100.0 * getattr(loss, length)})
    small = loss.value(y, y + error)
    large = longer.value(100.0 * y, 100.0 * (y + error))
    power = base.degree(loss)
    expected = 100.0 ** float(power or 0)
    assert np.allclose(large, expected * small, rtol=1e-3), (
        f"degree is {power}, but the loss does not scale by this power if all its "
        "arguments are scaled."
    )


def _points(y: Array, rng: Generator, n: int = 20) -> list[Array]:
    """Return random decision values at several scales around zero and the targets."""
    scales = np.geomspace(1e-3, 30.0, n)
    return [
        rng.normal(scale=s, size=y.shape) + rng.choice([0.0, 1.0]) * y for s in scales
    ]


def _duals(loss: Loss, y: Array, rng: Generator, n: int = 12) -> list[Array]:
    """Return several points strictly inside the conjugate's domain."""
    lower, upper = loss.dual_bounds(y)
    low, high = np.maximum(lower, -5.0), np.minimum(upper, 5.0)
    return [low + (high - low) * rng.uniform(0.02, 0.98, y.shape) for _ in range(n)]


def _check_parts(loss: Loss, y: Array, rng: Generator) -> None:
    """Check that the loss of some samples does not depend on other samples."""
    f, rows = rng.normal(size=y.shape), np.arange(0, len(y), 2)
    try:
        values = part_of(loss, rows).value(y[rows], f[rows])
        equal = np.allclose(values, loss.value(y, f)[rows], rtol=1e-12, atol=0.0)
    except ValueError:  # arrays of the loss still have the length of all samples
        equal = False
    assert equal, (
        "The loss of some samples changes if other samples are removed: it must depend "
        "on their own y and f only. Use `weighted` for sample weights."
    )


def _check_shapes(loss: Loss, y: Array, rng: Generator) -> None:
    """Check shapes and types of all results."""
    f = rng.normal(size=y.shape)
    f.flags.writeable = False
    lower, upper = loss.dual_bounds(y)
    for result, name in (
        (loss.value(y, f), "value"),
        (loss.gradient(y, f), "gradient"),
        (loss.conjugate(y, loss.gradient(y, f)), "conjugate"),
        (lower, "dual_bounds' lower"),
        (upper, "dual_bounds' upper"),
    ):
        assert np.shape(result) == y.shape, (
            f"{name} has shape {np.shape(result)}, the targets have {y.shape}."
        )
        assert result.dtype == np.float64, f"{name} is {result.dtype}, not float64."


def _check_gradient(loss: Loss, y: Array, rng: Generator) -> None:
    """Check that tangents do not exceed the loss."""
    for f in _points(y, rng):
        slope, value = loss.gradient(y, f), loss.value(y, f)
        other = f + rng.normal(scale=rng.choice([0.1, 3.0]), size=y.shape)
        bound = value + slope * (other - f)
        excess = np.max(bound - loss.value(y, other) - 1e-9 * (1.0 + np.abs(bound)))
        assert excess <= 0.0, (
            "The gradient is not that of a convex loss: a tangent exceeds the loss by "
            f"{excess:.3g}."
        )


def _check_shift(loss: Loss, y: Array, rng: Generator) -> None:
    """Check that the loss depends on y - f only."""
    shift = rng.normal()
    for f in _points(y, rng):
        change = loss.value(y + shift, f + shift) - loss.value(y, f)
        relative = np.abs(change) / (1.0 + loss.value(y, f))
        assert relative.max() <= 1e-9, (
            "The loss declares that it depends on y - f only, but its relative change "
            f"is {relative.max():.3g} if y and f are shifted together."
        )


def _check_domain(loss: Loss, y: Array, rng: Generator) -> None:
    """Check that the conjugate is finite exactly within dual_bounds."""
    lower, upper = loss.dual_bounds(y)
    assert bool(np.all((lower <= 0.0) & (upper >= 0.0))), (
        "dual_bounds must contain 0: certificates shrink dual points towards it."
    )
    for f in _points(y, rng):
        u = loss.gradient(y, f)
        excess = np.maximum(lower - u, u - upper).max()
        assert excess <= 0.0, f"A gradient is outside dual_bounds by {excess:.3g}."
    for u in _duals(loss, y, rng):
        assert bool(np.all(np.isfinite(loss.conjugate(y, u)))), (
            "The conjugate must be finite inside dual_bounds."
        )
    for bound, side in ((lower, -1.0), (upper, 1.0)):
        finite = np.isfinite(bound)
        outside = np.where(finite, bound + side * 1e-3 * (1.0 + np.abs(bound)), 0.0)
        with np.errstate(divide="raise", invalid="raise"):
            values = loss.conjugate(y, outside)
        assert bool(np.all(np.isposinf(values[finite]))), (
            "The conjugate must be infinite outside dual_bounds."
        )


def _check_fenchel_young(loss: Loss, y: Array, rng: Generator) -> None:
    """Check the Fenchel-Young inequality, with equality at the gradient."""
    for f in _points(y, rng):
        value, slope = loss.value(y, f), loss.gradient(y, f)
        scale = 1.0 + np.abs(f * slope) + value
        residual = value + loss.conjugate(y, slope) - f * slope
        worst = np.max(np.abs(residual) / scale)
        assert worst <= 1e-9, (
            "The Fenchel-Young inequality must be an equality at u = gradient(f), but "
            f"l(f) + l*(u) - f u is {worst:.3g} in relative terms."
        )
        for u in _duals(loss, y, rng, n=3):
            slack = np.min(value + loss.conjugate(y, u) - f * u + 1e-9 * scale)
            assert slack >= 0.0, (
                f"l(f) + l*(u) must be at least f u, but it is less by {-slack:.3g}."
            )


def _check_supremum(loss: Loss, y: Array, rng: Generator) -> None:
    """Check the conjugate against a numerical supremum."""
    for u in _duals(loss, y, rng, n=4):
        # Golden section search for each entry. The start interval contains the maximum
        # for the slopes `u` drawn here, which are at most 5.
        high = 1e3 + 10.0 * np.abs(y)
        low, ratio = -high, 0.5 * (np.sqrt(5.0) - 1.0)
        for _ in range(80):
            inner, outer = high - ratio * (high - low), low + ratio * (high - low)
            fall = loss.value(y, outer) - loss.value(y, inner) - (outer - inner) * u
            low = np.where(fall >= 0.0, low, inner)
            high = np.where(fall >= 0.0, outer, high)
        best = 0.5 * (low + high)
        error = _largest_error(loss.conjugate(y, u), best * u - loss.value(y, best))
        assert error <= 1e-6, (
            "The conjugate differs from the numerical supremum of f u - l(f) by "
            f"{error:.3g} in relative terms."
        )


def _largest_error(values: Array, expected: Array) -> float:
    """Return the largest difference of entries, relative to 1 + |expected|."""
    return float(np.max(np.abs(values - expected) / (1.0 + np.abs(expected))))


def _check_large_values(loss: Loss, y: Array) -> None:
    """Check that values and gradients are finite for large f."""
    for size in (1e3, -1e3, 1e8, -1e8):
        f = np.full_like(y, size)
        try:
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                results = np.stack([loss.value(y, f), loss.gradient(y, f)])
        except FloatingPointError as error:
            raise AssertionError(
                f"At f = {size:g} the loss must not overflow, divide by zero or "
                f"compute nan, even in intermediate results: {error}."
            ) from error
        assert np.isfinite(results).all(), f"At f = {size:g} the loss is not finite."


def _check_conjugate_derivatives(
    loss: base.SmoothConjugateLoss, y: Array, rng: Generator
) -> None:
    """Check derivatives of the conjugate against finite differences."""
    step = 1e-6
    functions = (loss.conjugate, loss.conjugate_gradient, loss.conjugate_hessian)
    for u in _duals(loss, y, rng):
        for function, derivative, tol in zip(
            functions, functions[1:], (1e-5, 1e-4), strict=False
        ):
            rise = function(y, u + step) - function(y, u - step)
            error = _largest_error(rise / (2.0 * step), derivative(y, u))
            assert error <= tol, (
                f"{derivative.__name__} differs from differences of "
                f"{function.__name__} by {error:.3g}."
            )
        curvature = loss.conjugate_hessian(y, u)
        assert bool(np.all(curvature > 0.0)), "conjugate_hessian must be positive."


def _check_dual_pieces(loss: base.PolyhedralLoss, y: Array, rng: Generator) -> None:
    """Check that the linear program of `dual_pieces` has the conjugate as its value."""
    signs, costs, sizes = loss.dual_pieces(y)
    assert bool(np.all(np.abs(signs) == 1.0) and np.all(sizes > 0.0)), (
        "dual_pieces must return signs of -1 or +1 and positive sizes."
    )
    lower, upper = loss.dual_bounds(y)
    upper_end = np.sum(np.where(signs > 0.0, sizes, 0.0), axis=0)
    lower_end = np.sum(np.where(signs < 0.0, sizes, 0.0), axis=0)
    assert np.allclose([upper_end, -lower_end], [upper, lower]), (
        "The boxes of dual_pieces must add up to dual_bounds."
    )
    for u in _duals(loss, y, rng):
        programs = [
            linprog(cost, A_eq=sign[None], b_eq=part, bounds=[(0.0, s) for s in size])
            for cost, sign, size, part in zip(costs.T, signs.T, sizes.T, u, strict=True)
        ]
        values = np.array([program.fun for program in programs])
        error = _largest_error(loss.conjugate(y, u), values)
        assert error <= 1e-9, (
            "The linear program of dual_pieces must have the conjugate as its value, "
            f"but it differs by {error:.3g}."
        )


def _check_weighting(loss: Loss, y: Array, weights: Array, rng: Generator) -> None:
    """Check the protocols of a loss with weights, and its value for integer weights."""
    weighted_loss = weighted(loss, weights)
    for capability in CAPABILITIES:
        has, had = isinstance(weighted_loss, capability), isinstance(loss, capability)
        assert has == had, (
            f"With sample weights the loss must be a {capability.__name__} if and only "
            "if it is one without them."
        )
    counts = rng.integers(1, 4, size=y.shape)
    f = rng.normal(size=y.shape)
    repeated = loss.value(np.repeat(y, counts, axis=0), np.repeat(f, counts, axis=0))
    total = weighted(loss, counts.astype(np.float64)).value(y, f).sum()
    assert abs(total - repeated.sum()) <= 1e-10 * (1 + abs(total)), (
        "Integer weights must equal repetition of the samples: the summed losses are "
        f"{total:.12g} and {repeated.sum():.12g}."
    )
