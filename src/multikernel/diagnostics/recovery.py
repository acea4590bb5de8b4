"""Theory of Group-OMP: exact recovery, and generalization."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import (
    COUNT,
    FLAG,
    NON_NEGATIVE,
    POSITIVE,
    Number,
    check_parameter,
    check_places,
    shown,
)
from multikernel.gram.base import STACK, GramStack
from multikernel.linalg import EPS
from multikernel.linalg.spectra import NEGLIGIBLE


@dataclass(frozen=True)
class RecoveryCoefficient:
    """The exact recovery coefficient of a set of kernels, or an upper bound on it.

    If `value` is below one, Group-OMP recovers the set from targets without noise.
    `lower` is a lower bound, equal to `value` if exact. `worst_kernel` is the kernel
    outside the set that determines `value`, or -1 if the set contains all kernels.
    """

    value: float
    lower: float
    kind: Literal["exact", "upper bound"]
    worst_kernel: int


def recovery_coefficient(
    gram: GramStack, good: Indices, alpha: float, *, fit_intercept: bool = False
) -> RecoveryCoefficient:
    """Return the recovery coefficient of kernels in Group-OMP, or an upper bound on it.

    Suppose that the coefficient is below one, and that targets depend on the kernels
    `good` only, without noise. Then at every step, the kernel that would improve the
    fit most is in `good` (theorem 2 of Sindhwani and Lozano, 2011), so no other kernel
    is selected. A strong ridge is an exception: the kernel that would improve the fit
    most may be selected already, and the next best one may be outside `good`.

    `alpha` is the ridge strength for the sum of losses; `fit_intercept` centers the
    kernels. The result is exact if a lower and an upper bound are equal, and otherwise
    the upper bound. The time is O(M n³) for M kernels and n samples.
    """
    # Theorem 2 of Sindhwani, Lozano (2011). Non-parametric group orthogonal matching
    # pursuit for sparse learning with multiple kernels. NIPS 24, section 4.2. With a
    # basis U of the range of K_G = sum_{i in G} K_i, the coefficient is the largest
    # sum_{i in G} ||C_ij v|| over j outside G and unit vectors v, where
    # C_ij = Q_i U (U^T S U)^{-1} U^T Q_j and S = sum_{k in G} Q_k^2 (see _hat_root).
    # Equation (8) has K_G and Q_i in the other order, which is equivalent if they
    # commute; bound (7) holds in general for the order here.
    owner = "recovery_coefficient"
    check_parameter(owner, "gram", gram, STACK)
    check_parameter(owner, "alpha", alpha, POSITIVE)
    check_parameter(owner, "fit_intercept", fit_intercept, FLAG)
    n_kernels = gram.shape[0]
    good = _kernel_indices(owner, good, n_kernels)
    roots = [_hat_root(gram, m, alpha, fit_intercept=fit_intercept) for m in good]
    # Eigenvectors that span the range of S, and 1 / sqrt(eigenvalues).
    values, vectors = np.linalg.eigh(np.asarray(sum(Q @ Q for Q in roots)))
    is_positive = values > NEGLIGIBLE * max(values[-1], np.finfo(np.float64).tiny)
    basis, inverse_roots = vectors[:, is_positive], 1.0 / np.sqrt(values[is_positive])
    # C_ij = A_i B_j with B_j = (U^T S U)^(-1/2) U^T Q_j, which all i share.
    factors = [root @ basis * inverse_roots for root in roots]
    bounds = []
    for m in np.setdiff1d(np.arange(n_kernels), good):
        root = _hat_root(gram, m, alpha, fit_intercept=fit_intercept)
        bounds.append((*_norm_bounds(factors, (basis * inverse_roots).T @ root), m))
    if not bounds:
        return RecoveryCoefficient(0.0, 0.0, "exact", -1)
    lower = max(low for low, _, _ in bounds)
    _, value, worst_kernel = max(bounds, key=lambda bound: bound[1])
    if value <= lower * (1.0 + 1e-8):
        return RecoveryCoefficient(value, value, "exact", int(worst_kernel))
    return RecoveryCoefficient(value, lower, "upper bound", int(worst_kernel))


def _kernel_indices(owner: str, good: object, n_kernels: int) -> Indices:
    """Return kernel indices as an array; raise if they are invalid."""
    try:
        kernel_indices = np.asarray(good)
    except ValueError:  # lists of different lengths
        kernel_indices = np.empty(0)
    if kernel_indices.size == 0 or np.unique(kernel_indices).size < kernel_indices.size:
        raise ValueError(
            f"{owner}: good must contain one or more kernel indices without repeats, "
            f"got {shown(good)}."
        )
    check_places(owner, "good", kernel_indices, n_kernels)
    return kernel_indices


def _hat_root(gram: GramStack, m: int, alpha: float, *, fit_intercept: bool) -> Array:
    """Return Q_m = (K_m (K_m + alpha I)^{-1})^{1/2}; `fit_intercept` centers K_m."""
    n_samples = gram.shape[1]
    K = gram.take(np.array([m])).columns(np.arange(n_samples))[0]
    if fit_intercept:
        K = K - K.mean(axis=0)
        K = K - K.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    # Eigenvalues that are only rounding errors become zero. If alpha is as small as
    # they are, their ratios values / (values + alpha) would be near one.
    values[values < n_samples * EPS * values[-1]] = 0.0
    return np.asarray((vectors * np.sqrt(values / (values + alpha))) @ vectors.T)


def _norm_bounds(A_all: list[Array], B: Array) -> tuple[float, float]:
    """Return lower and upper bounds on max sum_i ||A_all[i] B v|| over unit v."""
    # The bounds are equal for a single A_i, and for B of rank one.
    if B.shape[0] == 0 or not np.any(B):
        return 0.0, 0.0
    # B v depends only on the part of v in the row space of B. So the blocks, one for
    # each A_i, need only as many columns as the rank of B.
    u, sizes, _ = np.linalg.svd(B, full_matrices=False)
    is_positive = sizes > NEGLIGIBLE * sizes[0]
    scaled = u[:, is_positive] * sizes[is_positive]
    blocks = [A @ scaled for A in A_all]
    forms = np.stack([block.T @ block for block in blocks])
    start_vectors = [np.linalg.eigh(forms.sum(axis=0))[1][:, -1]]
    start_vectors += [np.linalg.eigh(form)[1][:, -1] for form in forms]
    ascents = [_ascend(forms, v) for v in start_vectors]
    lower, v = max(ascents, key=lambda pair: pair[0])
    # The second bound is the sum of the spectral norms; the third is by Cauchy-Schwarz.
    upper = min(
        _weighted_bound(forms, v),
        sum(math.sqrt(max(np.linalg.eigvalsh(form)[-1], 0.0)) for form in forms),
        math.sqrt(len(blocks) * max(np.linalg.eigvalsh(forms.sum(axis=0))[-1], 0.0)),
    )
    return lower, max(upper, lower)


def _block_norms(forms: Array, v: Array) -> Array:
    """Return max(||C_i v||, a tiny number) for all i; forms[i] is C_i^T C_i."""
    squares = np.einsum("iab,a,b->i", forms, v, v)
    floor = EPS * np.trace(forms.sum(axis=0))
    return np.asarray(np.sqrt(np.maximum(squares, floor**2)))


def _ascend(forms: Array, v: Array) -> tuple[float, Array]:
    """Return a local maximum of sum_i sqrt(u^T forms[i] u) and the unit vector u."""
    # The search for u starts from the unit vector v.
    value = 0.0
    for _ in range(500):
        norms = _block_norms(forms, v)
        if norms.sum() <= value * (1.0 + 1e-14):
            break
        value = float(norms.sum())
        gradient = np.einsum("iab,b,i->a", forms, v, 1.0 / norms)
        v = gradient / np.linalg.norm(gradient)
    return float(_block_norms(forms, v).sum()), v


def _weighted_bound(forms: Array, v: Array) -> float:
    """Return an upper bound on sum_i sqrt(w^T forms[i] w) over all w with |w| = 1."""
    # Let n_i = sqrt(v^T forms[i] v). By Cauchy-Schwarz, the square of
    # sum_i sqrt(w^T forms[i] w) is at most sum_i n_i times
    # w^T (sum_i forms[i] / n_i) w, with equality at w = v.
    norms = _block_norms(forms, v)
    weighted = np.einsum("iab,i->ab", forms, 1.0 / norms)
    largest = float(np.linalg.eigvalsh(weighted)[-1])
    return math.sqrt(float(norms.sum()) * max(largest, 0.0))


def rademacher_bound(
    n_samples: int,
    n_kernels: int,
    *,
    squared_norm: float,
    largest_diagonal: float,
    target_bound: float,
    delta: float = 0.05,
) -> float:
    """Return a bound on the excess risk of the empirical risk minimizer on few kernels.

    The bound (theorem 1 of Sindhwani and Lozano, 2011), in units of the squared target,
    fails with a probability of at most `delta`. It is for functions of at most
    `n_kernels` kernels whose squared norms sum to at most `squared_norm`;
    `largest_diagonal` bounds k(x, x), and `target_bound` the absolute targets.
    """
    owner = "rademacher_bound"
    check_parameter(owner, "n_samples", n_samples, COUNT)
    check_parameter(owner, "n_kernels", n_kernels, COUNT)
    check_parameter(owner, "squared_norm", squared_norm, NON_NEGATIVE)
    check_parameter(owner, "largest_diagonal", largest_diagonal, NON_NEGATIVE)
    check_parameter(owner, "target_bound", target_bound, NON_NEGATIVE)
    check_parameter(owner, "delta", delta, Number(0.0, 1.0, above=True, below=True))
    # Equation (6) of Sindhwani and Lozano (theorem 1), with s kernels, largest diagonal
    # kappa, squared norm tau and target bound M, does not depend on the dictionary:
    # 8 L sqrt(s kappa tau / n) + 4 L^2 sqrt(log(3 / delta) / (2 n)),
    # L = M + sqrt(s kappa tau).
    squared_value_bound = n_kernels * largest_diagonal * squared_norm
    largest_error = target_bound + math.sqrt(squared_value_bound)
    confidence = math.sqrt(math.log(3.0 / delta) / (2.0 * n_samples))
    complexity = math.sqrt(squared_value_bound / n_samples)
    return 8.0 * largest_error * complexity + 4.0 * largest_error**2 * confidence
