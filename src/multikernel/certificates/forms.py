"""Dual norms, the roots of rho^T K_m rho for a dual point rho, from validated forms.

If kernels are stored as low-rank factors, dual norms include an upper bound on the form
of the residual, the kernel minus its low-rank approximation. If this bound is too loose
for a few kernels, the forms of the full kernels are computed. Kernels whose residuals
are too large need more landmarks.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.certificates.gap import DualCertificate, certify, scaled_dual_value
from multikernel.certificates.rounding import rounding_unit
from multikernel.exceptions import IndefiniteKernelError
from multikernel.gram.base import GramStack
from multikernel.gram.checks import ROUNDING
from multikernel.linalg import TINY
from multikernel.linalg.spectra import lowest_direction
from multikernel.problem import Problem
from multikernel.regularizers.base import ProximableRegularizer


def factor_norms(gram: GramStack, v: Array) -> Array:
    """Return the root of v^T K_m v for every kernel matrix K_m, (n_kernels,)."""
    forms = gram.quadratic_forms(v)
    check_forms(gram, forms, v)
    return np.sqrt(np.maximum(forms, 0.0))


def dual_norms(gram: GramStack, rho: Array) -> Array:
    """Return ||rho||_{K_m} for every kernel, or upper bounds on them, in one pass.

    The norms have shape (n_kernels,), and include the bounds on residuals if the stack
    approximates kernels (`GramStack.residual_bounds`). A quadratic form that is
    negative beyond rounding raises `IndefiniteKernelError`.
    """
    norms = factor_norms(gram, rho)
    return np.sqrt(norms**2 + gram.residual_bounds(rho))


def not_finite(kernel: int) -> str:
    """Return the error message for a matrix whose products are not finite."""
    return (
        f"Gram matrix {kernel} has values that are not finite, or so large that "
        "products overflow: impute or scale the data, or remove this matrix."
    )


def check_forms(
    gram: GramStack, forms: Array, rho: Array, kernels: Indices | None = None
) -> None:
    """Raise if a quadratic form is not finite, or negative beyond rounding."""
    # The form of a positive semidefinite matrix is at most |rho|^2 times its trace, so
    # rounding errors are compared with this product.
    lowest = int(np.argmin(forms))
    if forms[lowest] >= 0.0 and np.isfinite(forms).all():
        return
    size, traces = float(np.sum(rho * rho)), gram.traces()
    sizes = np.maximum(np.abs(traces), TINY)
    depths = np.where(np.isfinite(forms), -forms, np.inf)
    # `rounded_traces` exceed the traces of matrices whose entries have rounding errors.
    # The errors of n^2 entries with random signs have this spectral norm.
    n_samples, excess = gram.shape[1], gram.rounded_traces() - np.abs(traces)
    error_norms = np.sqrt(n_samples) * rounding_unit(n_samples) * excess
    is_bad = depths > size * (ROUNDING * sizes + error_norms)
    is_bad |= ~np.isfinite(forms)
    if not is_bad.any():
        return
    worst = int(np.argmax(np.where(is_bad, depths, -np.inf)))
    curvature = forms[worst] / max(size, TINY)
    # If `gram` is part of a larger stack, error messages use the indices of its kernels
    # in that stack, which are `kernels`.
    index = worst if kernels is None else int(kernels[worst])
    if not np.isfinite(forms[worst]):
        raise IndefiniteKernelError(not_finite(index), kernel=index)
    raise IndefiniteKernelError(
        f"Gram matrix {index} is not positive semidefinite: its smallest eigenvalue is "
        f"at most {curvature:.3g}, and its trace is {traces[worst]:.3g}. "
        "Subtract its smallest eigenvalue from its diagonal, clip its negative "
        "eigenvalues, or remove this matrix.",
        kernel=index,
    )


def check_combination(gram: GramStack, weights: Array) -> None:
    """Raise if a quadratic form proves a kernel of a weighted sum to be indefinite."""
    active = np.flatnonzero(weights)
    if not active.size:
        return
    total = gram.combine(weights)
    size = float(np.abs(total.diagonal()).sum())
    # The Lanczos method approximates the lowest eigenvector of the sum from a few dozen
    # products. A negative form of a kernel at this vector is a proof, so the error
    # never names a positive semidefinite kernel; an indefinite one may pass unnoticed.
    direction = lowest_direction(total.matvec, gram.shape[1], size)
    forms = gram.once(active).quadratic_forms(direction)
    sizes = np.maximum(np.abs(gram.traces()[active]), np.finfo(float).tiny)
    worst = int(np.argmin(forms / sizes))
    if forms[worst] < -ROUNDING * sizes[worst]:
        suspect = active[[worst]]
        check_forms(gram.take(suspect), forms[[worst]], direction, suspect)


@dataclass(frozen=True, eq=False)
class Expansion:
    """A dual point with its products and quadratic forms for every kernel."""

    rho: Array
    images: Array  # products K_m rho
    forms: Array  # rho^T K_m rho, summed over outputs

    def decision_values(self, weights: Array) -> Array:
        """Return sum_m weights[m] K_m rho."""
        images = self.images
        values = weights @ images.reshape(weights.size, -1)
        return np.asarray(values.reshape(images.shape[1:]))


def expand(gram: GramStack, rho: Array, kernels: Indices | None = None) -> Expansion:
    """Return a dual point with its products and its (checked) quadratic forms."""
    images = gram.matvec(rho)
    forms = images.reshape(images.shape[0], -1) @ rho.reshape(-1)
    check_forms(gram, forms, rho, kernels)
    return Expansion(rho, images, np.maximum(forms, 0.0))


def best_multiple(problem: Problem, point: Expansion, norms: Array) -> Expansion:
    """Return the multiple of a dual point with the best dual value."""
    # If the point was found for a stronger penalty, `scale` may be far above one.
    scale, _ = scaled_dual_value(problem, point.rho, norms, np.sqrt(point.forms))
    rho, images = scale * point.rho, scale * point.images
    return Expansion(rho, images, scale**2 * point.forms)


@dataclass(frozen=True, eq=False)
class FullProof:
    """A dual point that is feasible for the full kernels, not only for their factors.

    `goals` has one number for each kernel whose residual bound would make the dual
    value too low: the smaller residual bound that more landmarks must reach, at the
    dual point before scaling. A residual is a kernel minus its low-rank approximation.
    """

    certificate: DualCertificate
    goals: dict[int, float]


def prove_over_full_kernels(
    problem: Problem, rho: Array, forms: Array, norms: Array, excess: float
) -> FullProof:
    """Scale a dual point so that it is feasible over the full kernels.

    Residual bounds are accepted up to a common limit, the largest one that lowers the
    dual value by at most `excess`. Kernels with larger bounds get full quadratic forms
    if that is fast. `forms` are those of the factors at `rho`, and `norms` the block
    norms of the current primal point.
    """
    residual, regularizer = problem.gram.residual_bounds(rho), problem.regularizer
    # A kernel with a dual norm below the threshold does not change the dual value.
    threshold = 0.0
    if isinstance(regularizer, ProximableRegularizer):
        threshold = regularizer.threshold**2

    def value(cut: float) -> float:
        """Return the dual value with residual bounds limited to `cut`."""
        largest = np.maximum(forms + cut, threshold)
        sizes = np.sqrt(np.minimum(forms + residual, largest))
        return float(scaled_dual_value(problem, rho, norms, sizes)[1])

    cut = _largest_x(value, value(0.0) - excess, float(residual.max()))
    allowed = np.maximum(cut, threshold - forms)
    loose = np.flatnonzero(residual > allowed)
    bounds = tighten_bounds(problem.gram, rho, forms, residual, loose)
    former_bounds, residual[loose] = residual[loose], bounds
    certificate = certify(problem, rho, norms, np.sqrt(forms + residual))
    # A goal limits the loose bound of a kernel, but `allowed` limits the tight one. So
    # the goal is the allowed form times the ratio of the loose to the tight bound. The
    # factor 0.5 is a reserve, because the next dual point will be different.
    goals = {
        int(m): float(0.5 * former * (allowed[m] / bound))
        for m, former, bound in zip(loose, former_bounds, bounds, strict=True)
        if bound > allowed[m]
    }
    return FullProof(certificate, goals)


def tighten_bounds(
    gram: GramStack, rho: Array, forms: Array, residual: Array, loose: Indices
) -> Array:
    """Return tighter upper bounds on the residual forms of the `loose` kernels."""
    # The tightest bounds are the exact forms, from the entries of the full kernels. If
    # their computation would take over two minutes on one core, the bounds remain.
    if not 0 < loose.size * rho.shape[0] ** 2 <= 2**35:
        return np.asarray(residual[loose])
    exact = np.maximum(gram.full_forms(loose, rho) - forms[loose], 0.0)
    return np.asarray(np.fmin(residual[loose], exact))


def largest_dual_norm(gram: GramStack, rho: Array) -> float:
    """Return the largest dual norm, or an upper bound if exact norms are expensive."""
    forms, residual = factor_norms(gram, rho) ** 2, gram.residual_bounds(rho)
    loose = np.flatnonzero(forms + residual > (1.0 + 1e-5) * forms.max())
    residual[loose] = tighten_bounds(gram, rho, forms, residual, loose)
    return float(np.sqrt((forms + residual).max()))


def _largest_x(value: Callable[[float], float], goal: float, upper: float) -> float:
    """Return approximately the largest x up to `upper` with value(x) >= goal."""
    if value(upper) >= goal:
        return upper
    low, high = np.log(max(upper, TINY)) - np.array([40.0, 0.0])
    while high - low > 0.1:
        middle = 0.5 * (low + high)
        is_enough = value(float(np.exp(middle))) >= goal
        low, high = (middle, high) if is_enough else (low, middle)
    return float(np.exp(low))
