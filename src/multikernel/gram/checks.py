"""Checks of Gram matrices: positive semidefinite, nearly constant or diagonal."""

from functools import partial
from typing import NamedTuple

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import check_symmetric
from multikernel.gram.base import GramStack
from multikernel.gram.dense import DenseStack
from multikernel.gram.factors.blocked import BlockedStack
from multikernel.gram.factors.low_rank import LowRankStack
from multikernel.gram.factors.products import FactoredProducts
from multikernel.gram.matrix import GramMatrix
from multikernel.gram.products import ProductStack
from multikernel.gram.views import ScaledStack
from multikernel.kernels.base import off_diagonal_ratio
from multikernel.linalg import TINY
from multikernel.linalg.tables import evenly_spaced
from multikernel.linalg.threads import aside, run_blocks

# Rounding to single precision moves eigenvalues by up to 6e-8 of the trace, and sums in
# single precision, as on a GPU, lose another digit.
ROUNDING = 1e-6
"""Largest negative eigenvalue that is accepted, as a share of the trace."""


def check_gram(K: Array, name: str = "The Gram matrix") -> None:
    """Raise unless a matrix is finite, symmetric and positive semidefinite.

    It computes all eigenvalues, which costs more than a pass of a solver. The error
    starts with `name`, and states the wrong entry or eigenvalue and a remedy.
    """
    check_symmetric(K, name)
    eigenvalues = aside(partial(np.linalg.eigvalsh, K))
    lowest, highest = float(eigenvalues[0]), float(eigenvalues[-1])
    if lowest < -ROUNDING * max(float(np.abs(K.diagonal()).sum()), highest):
        raise ValueError(
            f"{name} is not positive semidefinite: its smallest eigenvalue is "
            f"{lowest:.3g}, its largest {highest:.3g}. Set its negative eigenvalues to "
            "zero, or remove the matrix."
        )


def is_semidefinite(K: GramMatrix) -> bool:
    """Return whether a Cholesky factorization proves a matrix positive semidefinite."""
    # Weak duality requires that the weighted sum of a model's kernels is positive
    # semidefinite, not that each kernel is. For implicit matrices, whose `root` is
    # None, the result is False.
    allowed = max(ROUNDING * float(np.abs(K.diagonal()).sum()), TINY)
    return K.root(np.full(K.shape[0], allowed)) is not None


class Census(NamedTuple):
    """Numbers that one pass over the matrices computes, (n_kernels,) each."""

    # The vectors u and v are random, and w are the weights of the samples.
    largest: Array  # largest entry of u^T K_m and v^T K_m; not finite if one is not
    asymmetry: Array  # u^T (K_m - K_m^T) v, zero if K_m is symmetric
    forms: Array  # w^T K_m w


def take_census(
    stack: DenseStack, weights: Array, random: np.random.RandomState
) -> Census:
    """Read each matrix once: how large, how asymmetric, its form and diagonal."""
    # Vectors of random signs would not suffice: u_i v_j - u_j v_i, the factor of the
    # difference of entries (i, j) and (j, i), would be zero for half of all pairs.
    u, v = random.standard_normal((2, stack.shape[1]))
    vectors = np.vstack([u, v, weights])
    n_kernels, n_samples, _ = stack.shape
    largest, sums = np.empty(n_kernels), np.empty((n_kernels, 3))
    diagonals = np.empty((n_kernels, n_samples))
    step = max(1, 2**19 // n_samples**2)

    def work(start: int) -> None:
        block = slice(start, start + step)
        grams = np.asarray(stack.array[block], dtype=np.float64)
        diagonals[block] = np.diagonal(grams, axis1=1, axis2=2)
        # The caller reads `largest` before sums of entries that are not finite.
        with np.errstate(invalid="ignore", over="ignore"):
            images = vectors @ grams
            largest[block] = np.abs(images[:, :2]).max(axis=(1, 2))
            sums[block] = np.einsum("mij,ij->mi", images, vectors[[1, 0, 2]])

    run_blocks(work, range(0, n_kernels, step))
    stack.cache_diagonals(diagonals)
    return Census(largest, sums[:, 0] - sums[:, 1], sums[:, 2])


def non_product_kernels(stack: GramStack) -> Indices:
    """Return the indices of all kernels that are not products of other kernels."""
    products = stack.stack if isinstance(stack, ScaledStack) else stack
    if isinstance(products, ProductStack | FactoredProducts):
        return products.main_kernels
    return np.arange(stack.shape[0])


def trivial_distances(stack: GramStack) -> tuple[Array, Array]:
    """Return how far main kernels are from being constant, and from the identity."""
    n_kernels, n_samples, _ = stack.shape
    products = stack.stack if isinstance(stack, ScaledStack) else stack
    if isinstance(products, ProductStack | FactoredProducts):
        return trivial_distances(products.main_stack())
    if isinstance(stack, ScaledStack) and stack.scales.all():
        # The distances do not depend on the scale of a kernel.
        stack = stack.stack
    if isinstance(stack, BlockedStack) and n_samples > 1000:
        # Other machines may store the blocks of rows. Estimate the distances from 1000
        # rows and columns, so that no whole column of a matrix is transferred.
        block = evenly_spaced(n_samples, 1000)
        means, ratios = trivial_distances(stack.restrict(block))
        return means, np.sqrt(n_samples / block.size) * ratios
    # 16 rows suffice: in 212 of 216 cases, their `off_diagonal_ratio` was on the same
    # side of the threshold `MEMORIZES` as the ratio of all rows.
    rows = evenly_spaced(n_samples, 16)
    sums = np.empty((n_kernels, 2))
    # Blocks of this size stay in the cache of a core: half the time of larger ones.
    step = max(1, 2**16 // (n_samples * rows.size))

    def work(start: int) -> None:
        block = np.arange(start, min(start + step, n_kernels))
        # Kernels that are not stored are computed at these rows alone.
        block_stack = stack.take(block) if stack.in_memory else stack.once(block)
        sums[block] = _off_diagonal_sums(_matrix_rows(block_stack, rows), rows)

    run_blocks(work, range(0, n_kernels, step))
    means, squares = sums.T / (rows.size * max(1, n_samples - 1))
    spreads = np.sqrt(np.maximum(squares - means**2, 0.0))
    # `means` and `spreads` are the mean and the standard deviation of (mean diagonal -
    # off-diagonal entry), relative to the largest entry. Both are zero for a constant
    # kernel. For the identity, the spread is zero, and so is `off_diagonal_ratio`.
    constant_distances = np.maximum(np.abs(means), spreads)
    return constant_distances, off_diagonal_ratio(means, spreads, n_samples)


def _matrix_rows(stack: GramStack, rows: Indices) -> Array:
    """Return some rows of every matrix, shape (n_kernels, n_rows, n_samples)."""
    if isinstance(stack, DenseStack):
        return np.asarray(stack.array[:, rows], dtype=np.float64)
    columns = stack.columns(rows)
    if isinstance(stack, LowRankStack) and stack.residual is not None:
        # Replace the columns of kernels with inaccurate factors by exact ones.
        roots = stack.residual.roots
        residual_traces = np.einsum("mi,mi->m", roots, roots)
        poor = np.flatnonzero(residual_traces > 0.01 * stack.diagonals().sum(axis=1))
        if poor.size and stack.landmarks is not None:
            computed = stack.landmarks.full_columns(stack.kernel_ids[poor], rows)
            is_finite = np.isfinite(computed).all(axis=(1, 2))
            columns[poor[is_finite]] = computed[is_finite]
    return np.moveaxis(columns, 1, 2)


def _off_diagonal_sums(values: Array, rows: Indices) -> Array:
    """Return the sums of t - K_ij and of (t - K_ij)^2 for each kernel K."""
    # The sums are over i in `rows` and all j != i, and t is the mean diagonal entry of
    # these rows. `values`, (n_kernels, n_rows, n_samples), are the entries K_ij. They
    # are first divided by the largest absolute entry of K. The result has shape
    # (n_kernels, 2).
    positions = np.arange(rows.size)
    means = (values[:, positions, rows] / rows.size).sum(axis=1)
    largest = np.abs(values).max(axis=(1, 2))
    scales = 1.0 / np.where(largest > 0.0, largest, 1.0)
    differences = scales[:, None, None] * (means[:, None, None] - values)
    differences[:, positions, rows] = 0.0
    squares = np.einsum("mij,mij->m", differences, differences)
    return np.column_stack([differences.sum(axis=(1, 2)), squares])
