"""Rules for kernel weights: centered alignment, and the margin of EasyMKL.

Sample weights s count as copies, so inner products are <K, L> = sum_ij s_i s_j K_ij
L_ij. For the centered kernel K^c of K and t_i = s_i (y_i - mean(y)), <K^c, y y^T> = t^T
K t. So the alignments of all kernels need one pass, without centering the kernels.
"""

from typing import Literal

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import (
    COUNT,
    NOTHING,
    AnyOf,
    Number,
    OneOf,
    check_parameter,
)
from multikernel.exceptions import ConvergenceWarning, warn_user
from multikernel.gram import DenseMatrix, ScaledStack
from multikernel.gram.base import GramStack
from multikernel.linalg import TINY
from multikernel.linalg.tables import row_chunks
from multikernel.losses import HingeLoss, weighted
from multikernel.losses.base import Loss
from multikernel.machines import SMO
from multikernel.machines.base import BoxCost
from multikernel.machines.smo.machine import SETTINGS
from multikernel.solvers.fixed_weights import inverse_sizes
from multikernel.solvers.machine_runs import naming_the_kernel

AlignmentMethod = Literal["independent", "joint", "greedy"]

METHODS = OneOf(("independent", "joint", "greedy"))
SHARE = Number(0.0, 1.0, above=True)

REMEDIES = {
    "alignment": (
        "Use multikernel.solvers.alignment_weights with method='independent', which "
        "needs no quadratic program."
    ),
    "EasyMKL": (
        "Use multikernel.solvers.easy_weights with a larger regularization, or sample "
        "weights of more similar size."
    ),
}
"""Advice in the warning about a quadratic program that stops early, by rule name."""


def alignment_weights(
    gram: GramStack,
    y: Array,
    sample_weight: Array,
    *,
    method: AlignmentMethod = "joint",
    max_kernels: int | None = None,
) -> Array:
    r"""Return kernel weights by centered alignment with the targets, (n_kernels,).

    Let :math:`K_m^c` be the centered kernels, M their inner products and :math:`a_m =
    \langle K_m^c, y y^\top \rangle`, where `sample_weight` counts as copies.
    "independent" gives :math:`a_m / \|K_m^c\|`, proportional to the cosine between
    kernel and targets. "joint" gives the v >= 0 that minimizes :math:`v^\top M v - 2
    v^\top a`, which maximizes the alignment of the sum (Cortes, Mohri and Rostamizadeh,
    JMLR 13, 2012, proposition 9). "greedy" is "joint" on a subset that grows by the
    kernel that increases the alignment most, to at most `max_kernels` (None: all). The
    weights have sum one, or are zero if no kernel is aligned.
    """
    check_parameter("alignment", "method", method, METHODS)
    check_parameter("alignment", "max_kernels", max_kernels, AnyOf((NOTHING, COUNT)))
    shares = sample_weight / sample_weight.sum()
    centered = y - shares @ y
    centered /= np.abs(centered).max() or 1.0
    # A scaling to trace one keeps cosines; products of unscaled kernels could overflow.
    traces = gram.traces()
    scales = np.zeros(traces.size)
    np.divide(1.0, traces, out=scales, where=traces > TINY)
    gram = ScaledStack(gram, scales)
    aligned = gram.quadratic_forms(shares * centered)
    products = centered_products(gram, shares, diagonal=method == "independent")
    squares = products if products.ndim == 1 else products.diagonal()
    sizes = np.sqrt(np.maximum(squares, 0.0))
    # After centering, a kernel that is constant on the samples is zero up to rounding
    # errors: ignore it.
    used = np.flatnonzero(sizes > 1e-9 * sizes.max(initial=0.0))
    cosines = np.maximum(aligned[used], 0.0) / sizes[used]
    weights = np.zeros_like(sizes)
    if method == "independent":
        weights[used] = cosines
        return _normalize(weights)
    if used.size:
        M = products[np.ix_(used, used)] / np.outer(sizes[used], sizes[used])
        selection = np.arange(used.size)
        if method == "greedy":
            selection = _greedy(M, cosines, max_kernels or used.size)
        v = _best_combination(M[np.ix_(selection, selection)], cosines[selection])
        weights[used[selection]] = v / sizes[used[selection]]
    return _normalize(_normalize(weights) * scales / scales.max(initial=TINY))


def centered_products(
    gram: GramStack, sample_weight: Array, *, diagonal: bool = False
) -> Array:
    """Return the inner products of all pairs of centered kernels, or their diagonal."""
    # The cost is M^2 n^2 multiplications for M kernels, or M n^2 with `diagonal`.
    # Sample weights count as copies.
    n_kernels, n_samples, _ = gram.shape
    shares = sample_weight / sample_weight.sum()
    roots = np.sqrt(sample_weight)
    means = gram.matvec(shares)
    grand = means @ shares
    total = np.zeros(n_kernels if diagonal else (n_kernels, n_kernels))
    for chunk in row_chunks(n_samples, n_kernels * n_samples):
        block = np.arange(n_samples)[chunk]
        # `columns` may return a view of the stored kernels, so K is a new array.
        K = gram.columns(block) - means[:, :, None]
        K -= (means[:, block] - grand[:, None])[:, None, :]
        K *= roots[:, None] * roots[block]
        rows = K.reshape(n_kernels, -1)
        total += np.einsum("mi,mi->m", rows, rows) if diagonal else rows @ rows.T
    return total


def _best_combination(M: Array, a: Array) -> Array:
    """Return the v >= 0 that minimizes v'Mv - 2 v'a, for nonnegative M and a."""
    # v_i is at most (Mv)_i, which equals a_i if v_i > 0. So the upper bounds 2 a_i are
    # never active.
    cost, zeros = BoxCost(np.zeros_like(a), 2.0 * a, -a), np.zeros_like(a)
    tol = 1e-12 * float(a.max(initial=0.0))
    return _quadratic_program("alignment", M, zeros, cost, tol, sums_to_zero=False)


def _quadratic_program(
    method_name: str, K: Array, y: Array, loss: Loss, tol: float, *, sums_to_zero: bool
) -> Array:
    """Return the dual solution of a machine by SMO; warn if it needs too many steps."""
    # The solution minimizes v^T K v / 2 + sum_i l*(y_i, -v_i). If `sums_to_zero`, its
    # entries sum to zero. `method_name` is for the warning.
    max_steps = SETTINGS.steps_per_sample * y.size
    machine = SMO(tol=tol, max_steps=max_steps)
    fit = machine.fit(DenseMatrix(K), y, loss, fit_intercept=sums_to_zero)
    if fit.n_steps >= max_steps and not fit.converged:
        message = (
            f"The kernel weights are not exactly those of {method_name}: its quadratic "
            f"program stopped after {max_steps} steps for {y.size} variables. "
            f"{REMEDIES[method_name]}"
        )
        warn_user(message, ConvergenceWarning)
    return fit.dual


def _greedy(M: Array, a: Array, max_kernels: int) -> Indices:
    """Return sorted indices of at most `max_kernels` greedily selected kernels."""
    selection = [int(np.argmax(a))]
    if a[selection[0]] <= 0.0:
        return np.empty(0, dtype=np.intp)
    while len(selection) < min(max_kernels, a.size):
        v = np.zeros(a.size)
        v[selection] = _best_combination(M[np.ix_(selection, selection)], a[selection])
        # For each kernel j, t >= 0 maximizes the alignment of v + t e_j, which is
        # (a'v + t a_j) / |v + t e_j| with |x|^2 = x'Mx and the unit vector e_j. Its
        # derivative has the sign of `numerator` - t `denominator`.
        Mv, value, square = M @ v, float(a @ v), float(v @ M @ v)
        numerator = a * square - value * Mv
        denominator = value * np.diag(M) - a * Mv
        root = numerator / np.where(denominator, denominator, 1)
        t = np.where((numerator > 0.0) & (denominator > 0.0), root, 0)
        sizes = np.sqrt(square + 2.0 * t * Mv + t**2 * np.diag(M))
        gains = (value + t * a) / sizes - value / np.sqrt(square)
        gains[selection] = 0.0
        best = int(np.argmax(gains))
        if gains[best] <= 1e-6 * value / np.sqrt(square):
            break
        selection.append(best)
    return np.sort(np.array(selection, dtype=np.intp))


def easy_weights(
    gram: GramStack, y: Array, sample_weight: Array, *, regularization: float = 0.2
) -> Array:
    r"""Return the kernel weights of EasyMKL, (n_kernels,), for targets y of -1 and +1.

    With :math:`Y = \operatorname{diag}(y)`, weights are proportional to
    :math:`\gamma^\top Y K_m Y \gamma` for kernels of trace one, where :math:`\gamma \ge
    0` minimizes :math:`(1 - \lambda) \gamma^\top Y (\sum_m K_m) Y \gamma + \lambda
    \sum_i \gamma_i^2 / s_i` with a sum of one over each class, for sample weights s
    (Aiolli and Donini, Neurocomputing 169, 2015). Near :math:`\lambda = 0`
    (`regularization`, at most 1), :math:`Y \gamma` joins the nearest points of the
    classes' convex hulls, at 1 the class means. The weighted sum of the given kernels
    has a mean diagonal of one.
    """
    check_parameter("EasyMKL", "regularization", regularization, SHARE)
    total = sample_weight.sum()
    scales = inverse_sizes(gram.traces(sample_weight))
    summed = gram.combine(scales)
    K = np.asarray(summed.columns(np.arange(y.size)))
    with naming_the_kernel(ScaledStack(gram, scales), None):
        gamma = hull_points(K, y, sample_weight, regularization)
    forms = scales * np.maximum(gram.quadratic_forms(y * gamma), 0.0)
    weights: Array = _normalize(forms) * scales * total
    return weights


def hull_points(
    K: Array, y: Array, sample_weight: Array, regularization: float
) -> Array:
    """Return EasyMKL's vector gamma for one kernel matrix K, shape (n_samples,)."""
    # gamma is nonnegative with a sum of one over each class. Up to its scale, it is the
    # dual point of a hard-margin machine with the kernel `system`, the sum of K and a
    # ridge. K is a sum of kernels that have a weighted trace of one. So if all sample
    # weights s are multiplied by a constant, K and 1 / s are divided by this constant.
    # The products of K and of 1 / s with the largest sample weight do not change.
    shares = sample_weight / sample_weight.max()
    ridge = regularization / shares
    system = (1.0 - regularization) * sample_weight.max() * K + np.diag(ridge)
    # In the machine's problem, a sample's slack z costs z^2 shares / (2 lambda). The
    # optimum costs no more than the zero model, whose slacks are all one. So the dual
    # variables are inside this box.
    bounds = np.sqrt(2.0 * shares * shares.sum()) / regularization
    gamma = np.abs(
        _quadratic_program(
            "EasyMKL", system, y, weighted(HingeLoss(), bounds), 1e-9, sums_to_zero=True
        )
    )
    for sign in (-1.0, 1.0):
        gamma[y == sign] /= gamma[y == sign].sum()
    return gamma


def _normalize(values: Array) -> Array:
    """Return values scaled to a sum of one; zeros remain zeros."""
    total = float(values.sum())
    return values / total if total > 0.0 else values
