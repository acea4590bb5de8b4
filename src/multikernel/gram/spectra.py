"""Leading eigenvalues and tail sums of kernels, and normalization by tails."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices
from multikernel._validation import (
    NON_NEGATIVE,
    Number,
    check_parameter,
    check_shapes,
    check_weights,
)
from multikernel.exceptions import IndefiniteKernelError
from multikernel.gram.base import STACK, GramStack
from multikernel.gram.factors.low_rank import LowRankMatrix
from multikernel.gram.matrix import GramMatrix
from multikernel.gram.steps import Moments, ScaleStep, Step
from multikernel.linalg import EPS
from multikernel.linalg.spectra import TOLERANCE, LeadingPairs, leading_pairs
from multikernel.linalg.tables import equal_shares
from multikernel.linalg.threads import aside, run_blocks, with_one_blas_thread

THETA = Number(0, integer=True)

# Lanczos's method is faster than computing all eigenvalues if at most n_rows / CROWDED
# eigenvalues are required.
CROWDED = 4
"""If more than n_rows / CROWDED eigenvalues are required, all are computed."""

VANISHES = 1e-6
"""Share of the trace below which a tail counts as zero: the precision of tails."""


@dataclass(frozen=True, eq=False)
class TailSums:
    """Leading eigenvalues of kernels, and the sums of their remaining eigenvalues.

    Eigenvalues and traces are divided by n_samples. Each row of `leading` has the theta
    largest eigenvalues of a kernel (or all), descending. `totals` are the traces of the
    stored matrices, and `residuals` bounds on the traces that low-rank factors omit.
    `products` counts the products of each matrix with a vector.
    """

    leading: Array
    totals: Array
    residuals: Array
    products: Indices

    @property
    def tails(self) -> Array:
        """Return sums of the eigenvalues after the first k, for k = 0 to theta."""
        # The result has shape (n_kernels, theta + 1); `tail_sums` limits theta to
        # n_samples. Negative sums are rounding errors, and are set to zero.
        leading = np.cumsum(self.leading, axis=1)
        all_tails = np.column_stack([self.totals, self.totals[:, None] - leading])
        return np.maximum(all_tails, 0.0)

    @property
    def short(self) -> NDArray[np.bool_]:
        """Return a mask of nonzero kernels whose tail beyond theta is zero."""
        tails = self.tails[:, -1] + self.residuals
        return (tails <= VANISHES * self.totals) & (self.totals > 0.0)

    def bounded(self, theta: int) -> Array:
        """Return upper bounds on the tails beyond theta, at least 1e-6 of the trace."""
        max_theta = self.leading.shape[1]
        tails = self.tails[:, min(theta, max_theta)] + self.residuals
        return np.maximum(tails, VANISHES * (self.totals + self.residuals))


def leading_spectrum(
    matrix: GramMatrix,
    theta: int,
    shares: Array,
    *,
    tol: float = TOLERANCE,
) -> LeadingPairs:
    """Return the `theta` leading eigenpairs of D K D, with D = diag(sqrt(shares))."""
    # With equal shares that sum to one, the eigenvalues are those of K / n. Unequal
    # shares act like repeated samples. The sum of eigenvalues is exact to `tol` times
    # the trace. For factors of rank r < n it is exact but for rounding, in O(n r^2).
    n, roots = matrix.shape[0], np.sqrt(shares)
    count = min(theta, n)
    if isinstance(matrix, LowRankMatrix) and matrix.factor.shape[1] < n:
        pairs = _from_factor(matrix, roots, count)
    elif CROWDED * count > n:
        matrix_of_shares = matrix.columns(np.arange(n)) * np.outer(roots, roots)
        values, vectors = aside(partial(np.linalg.eigh, matrix_of_shares))
        pairs = LeadingPairs(
            np.maximum(values[::-1][:count], 0.0), vectors[:, ::-1][:, :count], 0.0, n
        )
    else:
        trace = float(matrix.diagonal() @ shares)
        matvec = matrix.matvec

        def product(v: Array) -> Array:
            return roots * matvec(roots * v)

        # With several BLAS threads, the many small steps wait for one another: 16
        # eigenvalues at n = 1000 took 0.14 s on two threads, and 0.02 s on one.
        pairs = with_one_blas_thread(
            lambda: leading_pairs(product, n, count, trace, tol=tol)
        )
    return pairs


def _from_factor(matrix: LowRankMatrix, roots: Array, count: int) -> LeadingPairs:
    """Return leading eigenpairs of D K D, D = diag(roots), from the factor of K."""
    factor = matrix.factor * (roots[:, None] * np.sqrt(matrix.weights))
    rank = factor.shape[1]
    values, vectors = np.linalg.eigh(factor.T @ factor)
    n_pairs = min(count, rank)
    largest, eigenvectors = np.zeros(count), np.zeros((factor.shape[0], count))
    largest[:n_pairs] = np.maximum(values[::-1][:n_pairs], 0.0)
    used = np.flatnonzero(largest > EPS * largest.max(initial=0.0))
    eigenvectors[:, used] = factor @ vectors[:, ::-1][:, used] / np.sqrt(largest[used])
    return LeadingPairs(largest, eigenvectors, 0.0, rank)


def tail_sums(
    stack: GramStack,
    theta: int,
    weights: Array | None = None,
    *,
    tol: float = TOLERANCE,
) -> TailSums:
    """Return leading eigenvalues and tail sums of every kernel up to a cut-off.

    `theta` is the largest cut-off, `weights` are sample weights, and `tol` is the error
    of a tail relative to the trace. A matrix whose leading eigenvalues exceed its trace
    raises `IndefiniteKernelError`.
    """
    check_parameter("tail_sums", "stack", stack, STACK)
    check_parameter("tail_sums", "theta", theta, THETA)
    check_parameter("tail_sums", "tol", tol, NON_NEGATIVE)
    n_kernels, n_samples, _ = stack.shape
    shares = equal_shares(n_samples, check_weights(weights, n_samples))
    theta = min(int(theta), n_samples)  # there are no more eigenvalues
    leading = np.zeros((n_kernels, theta))
    products = np.zeros(n_kernels, dtype=np.intp)

    def compute_spectrum(m: int) -> None:
        indicator = (np.arange(n_kernels) == m).astype(np.float64)
        pairs = leading_spectrum(stack.combine(indicator), theta, shares, tol=tol)
        leading[m], products[m] = pairs.values, pairs.products

    if theta > 0:
        run_blocks(compute_spectrum, range(n_kernels))
    totals, residuals = stack.traces(shares), stack.residual_traces(shares)
    _check_definite(leading, totals)
    return TailSums(leading, totals, residuals, products)


def _check_definite(leading: Array, totals: Array) -> None:
    """Raise if leading eigenvalues exceed the trace: some others must be negative."""
    sums = np.maximum(leading, 0.0).sum(axis=1)
    # In single precision, each eigenvalue has a relative error of 1e-7.
    indefinite = np.flatnonzero(~(sums <= 1.001 * totals))
    if indefinite.size:
        m = int(indefinite[0])
        raise IndefiniteKernelError(
            f"Gram matrix {m} is not positive semidefinite: its trace is "
            f"{totals[m]:.3g}, but its largest eigenvalues add up to {sums[m]:.3g}, so "
            "some are negative. "
            "Subtract its smallest eigenvalue from its diagonal, set its negative "
            "eigenvalues to zero, or remove the matrix.",
            kernel=m,
        )


def frame_tails(stack: GramStack, vectors: Array, shares: Array) -> Array:
    """Return the trace v_m of every kernel outside the span of orthonormal vectors."""
    # v_m = tr D K_m D - sum_j u_j^T D K_m D u_j with the `vectors` u_j, as columns, and
    # D = diag(sqrt(shares)), where `shares` are weights of the samples. If the u_j are
    # the leading eigenvectors of a weighted sum of kernels, v_m is the derivative of
    # its tail sum by the weight of kernel m. For kernels stored as low-rank factors
    # with residuals, v_m is only an upper bound.
    totals = stack.traces(shares) + stack.residual_traces(shares)
    if vectors.shape[1] == 0:
        return np.asarray(totals)
    explained = stack.quadratic_forms(np.sqrt(shares)[:, None] * vectors)
    return np.maximum(totals - explained, 0.0)


@dataclass(frozen=True)
class TailNormalizer:
    """Scale kernels so that their eigenvalues beyond the first theta sum to n_samples.

    This is "conv" of Cortes, Kloft and Mohri (2013), Learning kernels using local
    Rademacher complexity, NIPS 26. Pass it as ``normalize`` of any estimator; theta=0
    is "trace". A kernel of rank theta or less has no such eigenvalues: it is divided by
    1e-6 of its trace, and a `DegenerateKernelWarning` names it.
    """

    theta: int = 1

    def __post_init__(self) -> None:
        check_parameter("TailNormalizer", "theta", self.theta, THETA)

    def empty(self, weights: Array, n_kernels: int) -> Step:
        """Return an unfitted step; see `Normalizer`."""
        short = np.zeros(n_kernels, dtype=bool)
        return TailStep(weights, np.zeros(n_kernels), int(self.theta), short)


@dataclass(frozen=True, eq=False)
class TailStep(ScaleStep):
    """A step that multiplies each kernel by the inverse tail of its spectrum."""

    theta: int  # number of leading eigenvalues that are not counted
    short: NDArray[np.bool_]  # kernels of rank theta or less
    per_kernel = ("factors", "short")

    def _check_fitted(self) -> None:
        """Raise unless the shapes of the arrays, which come from a file, agree."""
        super()._check_fitted()
        check_shapes(
            "TailStep",
            factors=(self.factors, ("n_kernels",)),
            short=(self.short, ("n_kernels",)),
        )

    def learn(
        self, kernels: slice, stack: GramStack, forms: Array | None = None
    ) -> None:
        """Compute the factors of the chosen kernels; see `Step.learn`."""
        sums = tail_sums(stack, self.theta, self.weights)
        self.store(kernels, sums.bounded(self.theta))
        self.short[kernels] = sums.short

    def learn_moments(self, m: int, moments: Moments) -> None:
        """Fit the scale of kernel m and scale `moments`; see `Step.learn_moments`."""
        factor = moments.rows.T
        ones = np.ones(factor.shape[1])
        pairs = leading_spectrum(LowRankMatrix(factor, ones), self.theta, self.weights)
        # `moments.size`, the sum of all eigenvalues, includes the trace of the low-rank
        # factor's residual, which may belong to the tail.
        tail = moments.size - float(pairs.values.sum())
        min_tail = VANISHES * moments.size
        self.store(slice(m, m + 1), np.array([max(tail, min_tail)]))
        self.short[m] = tail <= min_tail and moments.size > 0.0
        moments.multiply(float(self.factors[m]))
