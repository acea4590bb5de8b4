"""Theory of MKL-GOMP: exact recovery, and generalization."""

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

    Parameters
    ----------
    value : float
        The coefficient or an upper bound. Recovery is guaranteed if it is below one.
    lower : float
        Lower bound on the coefficient, equal to `value` if exact.
    kind : {"exact", "upper bound"}
        Meaning of `value`.
    worst_kernel : int
        The kernel outside the set that determines `value`; -1 if there is none.
    """

    value: float
    lower: float
    kind: Literal["exact", "upper bound"]
    worst_kernel: int


def recovery_coefficient(
    gram: GramStack, good: Indices, alpha: float, *, fit_intercept: bool = False
) -> RecoveryCoefficient:
    r"""Return the coefficient of theorem 2 of [1]_ for a set G of good kernels.

    With :math:`Q_j = (K_j (K_j + \alpha I)^{-1})^{1/2}`, the improvement of kernel j on
    a residual r is :math:`\|Q_j r\|^2 / 2`. For residuals in the range of :math:`K_G =
    \sum_{i \in G} K_i` with basis U, kernels outside G improve by at most :math:`\mu^2`
    times the best improvement within G,

    .. math::

        \mu = \max_{j \notin G} \sup_{\|v\| = 1} \sum_{i \in G} \|C_{ij} v\|, \quad
        C_{ij} = Q_i U \Bigl(U^\top \sum_{k \in G} Q_k^2 \, U\Bigr)^{-1} U^\top Q_j,

    the (2, 1) operator norm of the coherence matrix C. If :math:`\mu < 1` and the
    target is a function of G without noise, no kernel outside G is ever selected.

    Parameters
    ----------
    gram : GramStack
        Square matrices of all kernels.
    good : ndarray of shape (n_good,)
        Indices of the kernels in G, at least one.
    alpha : float
        Ridge strength for the sum of losses, as in `Problem`: n_samples times lambda.
    fit_intercept : bool, default=False
        Whether kernels are centered, as in `GroupOMP` with an intercept.

    Raises
    ------
    ValueError
        If `good` is empty, has duplicates or invalid indices, or alpha is not positive.

    Notes
    -----
    Maximizing a convex function over a sphere is hard in general. An ascent gives a
    lower bound g at some v. With weights w_i = 1 / ||C_ij v||, the Cauchy-Schwarz
    inequality gives the upper bound (g lambda_max(sum_i w_i C_ij^T C_ij))^(1/2), which
    equals g if v is the leading eigenvector. This always holds for one good kernel, and
    for outside kernels of rank one. Otherwise the smallest of that bound, sum_i
    ||C_ij|| and sqrt(n_good) ||C_j|| is returned. The cost is O(n_kernels n_samples^3).

    Equation (8) of [1]_ has the factors K_G and Q_i of C in the other order, which is
    equivalent if they commute; bound (7) holds in general for the order here. The
    theorem compares with all kernels of G, selected or not. With a strong ridge a
    selected kernel can still have the largest improvement, and the guarantee for the
    next step is then void.

    References
    ----------
    .. [1] Sindhwani, Lozano (2011). Non-parametric group orthogonal matching pursuit
       for sparse learning with multiple kernels. NIPS 24, section 4.2.

    Examples
    --------
    Two orthogonal features that the target uses, and a third one that resembles their
    sum. At a cosine of 0.3 to each it is no rival:

    >>> import numpy as np
    >>> from multikernel.gram import LowRankStack
    >>> from multikernel.losses import SquaredLoss
    >>> from multikernel.problem import Problem
    >>> from multikernel.regularizers import BlockElasticNet
    >>> from multikernel.solvers import GroupOMP
    >>> def features(cosine):
    ...     rest = np.sqrt(1.0 - 2.0 * cosine**2)
    ...     return np.array([[1, 0, cosine], [0, 1, cosine], [0, 0, rest], [0, 0, 0]])
    >>> def first_two(Z, alpha=1e-6):
    ...     gram = LowRankStack(Z, np.arange(4))
    ...     y = Z[:, 0] + 0.8 * Z[:, 1]
    ...     ridge = BlockElasticNet(alpha, l1_ratio=0.0)
    ...     problem = Problem(gram, y, SquaredLoss(), ridge, fit_intercept=False)
    ...     coefficient = recovery_coefficient(gram, np.array([0, 1]), alpha)
    ...     print(f"mu = {coefficient.value:.2f} ({coefficient.kind})")
    ...     return GroupOMP(max_kernels=2).path(problem).order
    >>> first_two(features(0.3))
    mu = 0.60 (exact)
    array([0, 1])

    At a cosine of 0.65 it fits the target better than either of the two alone:

    >>> first_two(features(0.65))
    mu = 1.30 (exact)
    array([2, 0])
    """
    owner = "recovery_coefficient"
    check_parameter(owner, "gram", gram, STACK)
    check_parameter(owner, "alpha", alpha, POSITIVE)
    check_parameter(owner, "fit_intercept", fit_intercept, FLAG)
    n_kernels = gram.shape[0]
    good = _kernel_indices(owner, good, n_kernels)
    roots = [_hat_root(gram, m, alpha, fit_intercept=fit_intercept) for m in good]
    total = sum(root @ root for root in roots)
    basis, inverse_roots = _range_basis(np.asarray(total))
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
            f"{owner}: good must name at least one kernel, each once, got "
            f"{shown(good)}."
        )
    check_places(owner, "good", kernel_indices, n_kernels)
    return kernel_indices


def _hat_root(gram: GramStack, m: int, alpha: float, *, fit_intercept: bool) -> Array:
    """Return Q_m = (K_m (K_m + alpha I)^{-1})^{1/2}, centered with an intercept."""
    n_samples = gram.shape[1]
    K = gram.take(np.array([m])).columns(np.arange(n_samples))[0]
    if fit_intercept:
        K = K - K.mean(axis=0)
        K = K - K.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    # With a small alpha, rounding errors of eigenvalues would count fully.
    values[values < n_samples * EPS * values[-1]] = 0.0
    return np.asarray((vectors * np.sqrt(values / (values + alpha))) @ vectors.T)


def _range_basis(total: Array) -> tuple[Array, Array]:
    """Return a basis of the range, and its eigenvalues to the power -1/2."""
    values, vectors = np.linalg.eigh(total)
    is_positive = values > NEGLIGIBLE * max(values[-1], np.finfo(np.float64).tiny)
    return vectors[:, is_positive], 1.0 / np.sqrt(values[is_positive])


def _norm_bounds(A_all: list[Array], B: Array) -> tuple[float, float]:
    """Return lower and upper bounds on sup_v sum_i ||A_i B v|| over unit vectors v."""
    if B.shape[0] == 0 or not np.any(B):
        return 0.0, 0.0
    # Only the row space of B matters, so low ranks give small blocks.
    u, sizes, _ = np.linalg.svd(B, full_matrices=False)
    is_positive = sizes > NEGLIGIBLE * sizes[0]
    scaled = u[:, is_positive] * sizes[is_positive]
    blocks = [A @ scaled for A in A_all]
    forms = np.stack([block.T @ block for block in blocks])
    start_vectors = [np.linalg.eigh(forms.sum(axis=0))[1][:, -1]]
    start_vectors += [np.linalg.eigh(form)[1][:, -1] for form in forms]
    ascents = [_ascend(forms, v) for v in start_vectors]
    lower, v = max(ascents, key=lambda pair: pair[0])
    upper = min(
        _weighted_bound(forms, v),
        sum(math.sqrt(max(np.linalg.eigvalsh(form)[-1], 0.0)) for form in forms),
        math.sqrt(len(blocks) * max(np.linalg.eigvalsh(forms.sum(axis=0))[-1], 0.0)),
    )
    return lower, max(upper, lower)


def _block_norms(forms: Array, v: Array) -> Array:
    """Return ||C_i v||, or a tiny positive number; `forms` contains C_i^T C_i."""
    squares = np.einsum("iab,a,b->i", forms, v, v)
    floor = EPS * np.trace(forms.sum(axis=0))
    return np.asarray(np.sqrt(np.maximum(squares, floor**2)))


def _ascend(forms: Array, v: Array) -> tuple[float, Array]:
    """Return a local maximum of sum_i ||C_i v|| over unit vectors, and its v."""
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
    """Return an upper bound on sum_i ||C_i v||, by Cauchy-Schwarz with weights at v."""
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
    r"""Return the generalization bound of theorem 1, equation (6) of [1]_.

    For functions of at most s kernels with :math:`\|f\|^2 \le \tau`, the risk (expected
    squared error) of the empirical minimizer exceeds the best risk, with probability at
    least :math:`1 - \delta`, by at most

    .. math::

        8 L \sqrt{\frac{s \kappa \tau}{n}} + 4 L^2 \sqrt{\frac{\log(3 / \delta)}{2 n}},
        \qquad L = M + \sqrt{s \kappa \tau}.

    It does not depend on the size of the dictionary.

    Parameters
    ----------
    n_samples : int
        Number of samples n.
    n_kernels : int
        Number of selected kernels s.
    squared_norm : float
        Bound tau on the sum of the squared norms of the f_m.
    largest_diagonal : float
        Largest k_m(x, x) over kernels and inputs, kappa.
    target_bound : float
        Largest absolute target M.
    delta : float, default=0.05
        Probability that the bound fails, in (0, 1).

    Returns
    -------
    excess_risk : float
        In units of the squared target.

    Raises
    ------
    ValueError
        If a count is below one, a size negative or not finite, or delta outside (0, 1).

    References
    ----------
    .. [1] Sindhwani, Lozano (2011). Non-parametric group orthogonal matching pursuit
       for sparse learning with multiple kernels. NIPS 24, section 4.1.

    Examples
    --------
    The bound halves with four times the samples:

    >>> sizes = dict(squared_norm=1.0, largest_diagonal=1.0, target_bound=1.0)
    >>> [round(rademacher_bound(n, 4, **sizes), 3) for n in (10_000, 40_000)]
    [0.995, 0.498]
    """
    owner = "rademacher_bound"
    check_parameter(owner, "n_samples", n_samples, COUNT)
    check_parameter(owner, "n_kernels", n_kernels, COUNT)
    check_parameter(owner, "squared_norm", squared_norm, NON_NEGATIVE)
    check_parameter(owner, "largest_diagonal", largest_diagonal, NON_NEGATIVE)
    check_parameter(owner, "target_bound", target_bound, NON_NEGATIVE)
    check_parameter(owner, "delta", delta, Number(0.0, 1.0, above=True, below=True))
    squared_value_bound = n_kernels * largest_diagonal * squared_norm
    largest_error = target_bound + math.sqrt(squared_value_bound)
    confidence = math.sqrt(math.log(3.0 / delta) / (2.0 * n_samples))
    complexity = math.sqrt(squared_value_bound / n_samples)
    return 8.0 * largest_error * complexity + 4.0 * largest_error**2 * confidence
