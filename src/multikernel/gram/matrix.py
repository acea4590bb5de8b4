"""Base class of a Gram matrix, its main subclasses, and products of many matrices."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices
from multikernel.linalg.shifted import Root, shifted_root, solve_shifted
from multikernel.linalg.tables import CHUNK_BYTES, row_chunks
from multikernel.linalg.threads import with_one_blas_thread

Stored = NDArray[np.float64] | NDArray[np.float32]
"""Gram matrices in memory."""

ENTRIES_PER_TASK = 2**21
"""Matrix entries per task of a thread; smaller tasks spend most time on waiting."""

HELD_BYTES = 2**28
"""Bytes of matrices that are cached for repeated products."""

# A `BlockMultiplier` multiplies matrices of chosen kernels by vectors. Its first
# argument, (n_positions,), has positions of matrices K among these kernels. Its second
# argument `rows`, (n_positions, n_vectors, n_samples), has the vectors for each of the
# matrices. The result has the shape of `rows`.
BlockMultiplier = Callable[[Indices, Array], Array]
"""A function of positions and rows; it returns rows[k] @ K for K at positions[k]."""


class GramMatrix(ABC):
    """One (possibly implicit) kernel matrix, square or n_rows x n_cols."""

    array: Array | None = None
    """The matrix if it is one array, for loops that read it in place."""

    quick_products: bool = False
    """Whether computing K v is as fast as computing a few columns of K."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Return (n_rows, n_cols)."""

    @abstractmethod
    def matvec(self, v: Array) -> Array:
        """Return K v, shape (n_rows,) or (n_rows, n_outputs)."""

    @abstractmethod
    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_rows, n_indices)."""

    def within(self, indices: Indices) -> Array:
        """Return the rows and columns of some samples, shape (n_indices, n_indices)."""
        return self.between(indices, indices)

    def between(self, rows: Indices, columns: Indices) -> Array:
        """Return the entries of some rows and columns, shape (n_rows, n_columns)."""
        return self.columns(columns)[rows]

    def diagonal(self) -> Array:
        """Return the diagonal, shape (n_rows,)."""
        runs = column_runs(self.shape[0], self.shape[0])
        return np.concatenate([self.columns(r)[r, np.arange(r.size)] for r in runs])

    def solve(
        self, rhs: Array, *, shift: Array, low_rank: Array | None = None
    ) -> Array:
        """Solve (K + diag(shift) + U U^T) x = rhs; here by Cholesky factorization.

        An infinite entry of the nonnegative `shift` fixes its unknown at zero.
        `low_rank` is U, shape (n_samples, rank). An indefinite matrix raises
        `numpy.linalg.LinAlgError`.
        """
        array = self.array
        K = self.columns(np.arange(self.shape[1])) if array is None else array
        return solve_shifted(K, rhs, shift, low_rank)

    def root(self, shift: Array) -> Root | None:
        """Return R with K + diag(shift) = R R^T; None if implicit or indefinite."""
        # An implicit matrix has no `array`.
        return None if self.array is None else shifted_root(self.array, shift)

    def plus(self, factor: Array) -> "GramMatrix":
        """Return K + U U^T for a factor U of shape (n_rows, rank)."""
        return self if factor.shape[1] == 0 else MatrixPlusFactor(self, factor)


@dataclass(frozen=True, eq=False)
class DenseMatrix(GramMatrix):
    """One float64 Gram matrix in memory, neither copied nor changed."""

    array: Array = field()

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n_rows, n_cols)."""
        return self.array.shape[0], self.array.shape[1]

    def matvec(self, v: Array) -> Array:
        """Return K v, shape (n_rows,) or (n_rows, n_outputs)."""
        multiply = partial(np.dot, self.array, v)
        # BLAS itself uses one thread for smaller products.
        one_thread = v.size == len(v) and 2**13 < self.array.size <= ENTRIES_PER_TASK
        return np.asarray(with_one_blas_thread(multiply, small=one_thread))

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_rows, n_indices)."""
        return self.array[:, indices]

    def diagonal(self) -> Array:
        """Return the diagonal, shape (n_rows,)."""
        return self.array.diagonal().copy()

    def plus(self, factor: Array) -> GramMatrix:
        """Return K + U U^T, one array."""
        if factor.shape[1] == 0:
            return self
        total = factor @ factor.T
        total += self.array
        return DenseMatrix(total)


@dataclass(frozen=True, eq=False)
class MatrixPlusFactor(GramMatrix):
    """The matrix K + U U^T, with K in any storage."""

    base: GramMatrix
    factor: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n_rows, n_cols)."""
        return self.base.shape

    def matvec(self, v: Array) -> Array:
        """Return (K + U U^T) v, shape (n_rows,) or (n_rows, n_outputs)."""
        return self.base.matvec(v) + self.factor @ (self.factor.T @ v)

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_rows, n_indices)."""
        return self.base.columns(indices) + self.factor @ self.factor[indices].T

    @property
    def quick_products(self) -> bool:  # type: ignore[override]
        """Return whether products with K are quick; see `GramMatrix.quick_products`."""
        return self.base.quick_products

    def within(self, indices: Indices) -> Array:
        """Return the rows and columns of some samples, shape (n_indices, n_indices)."""
        rows = self.factor[indices]
        entries = self.base.within(indices)
        entries += rows @ rows.T
        return entries

    def diagonal(self) -> Array:
        """Return the diagonal, shape (n_rows,)."""
        squares = np.einsum("ir,ir->i", self.factor, self.factor)
        return np.asarray(self.base.diagonal() + squares)

    def solve(
        self, rhs: Array, *, shift: Array, low_rank: Array | None = None
    ) -> Array:
        """Solve (K + U U^T + diag(shift) + V V^T) x = rhs, with V = `low_rank`."""
        factors = [self.factor] if low_rank is None else [self.factor, low_rank]
        return self.base.solve(rhs, shift=shift, low_rank=np.hstack(factors))


@dataclass(frozen=True, eq=False)
class RestrictedMatrix(GramMatrix):
    """A square matrix restricted to some samples."""

    parent: GramMatrix  # the matrix of all samples
    samples: Indices

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n_samples, n_samples)."""
        return self.samples.size, self.samples.size

    def matvec(self, v: Array) -> Array:
        """Return K v, shape (n_samples,) or (n_samples, n_outputs)."""
        padded = zero_padded(v, self.samples, self.parent.shape[1])
        return self.parent.matvec(padded)[self.samples]

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_samples, n_indices)."""
        return self.parent.columns(self.samples[indices])[self.samples]

    def diagonal(self) -> Array:
        """Return the diagonal, shape (n_samples,)."""
        return self.parent.diagonal()[self.samples]


def zero_padded(v: Array, samples: Indices, n_all: int) -> Array:
    """Return v over all samples, zero outside `samples`; repeated samples add up."""
    padded = np.zeros((n_all, *v.shape[1:]))
    np.add.at(padded, samples, v)
    return padded


def column_runs(size: int, n_numbers: int) -> list[Indices]:
    """Split range(size) into runs for which `n_numbers` per index fit in memory."""
    indices = np.arange(size)
    return [indices[rows] for rows in row_chunks(size, n_numbers)] or [indices]


class TermProducts(Protocol):
    """Lengths and sums of the images K_m c_m, with one vector c_m for each kernel."""

    @property
    def forms(self) -> Array:
        """Return c_m^T K_m c_m, summed over outputs, shape (n_kernels,)."""

    @property
    def lengths(self) -> Array:
        """Return |K_m c_m|^2, summed over outputs, shape (n_kernels,)."""

    @property
    def traces(self) -> Array:
        """Return the traces of the kernels, shape (n_kernels,)."""

    def sums(self, used: NDArray[np.bool_], units: Array) -> tuple[Array, Array]:
        """Return sum_m K_m c_m and sum_m units[m] sqrt(diag K_m) over the used m."""
        # Both sums are over the same kernels, those with used[m]. The sum of
        # sqrt(diag K_m) has shape (n_samples,).


@dataclass(frozen=True, eq=False)
class ImageProducts:
    """The `TermProducts` of stored images K_m c_m."""

    coefs: Array  # (n_kernels, n_samples[, n_outputs])
    images: Array
    diagonals: Array  # (n_kernels, n_samples)

    def _inner(self, vectors: Array) -> Array:
        shape = len(vectors), prod(vectors.shape[1:])
        flat, images = vectors.reshape(shape), self.images.reshape(shape)
        return np.asarray(np.einsum("mi,mi->m", flat, images))

    @property
    def forms(self) -> Array:
        """Return the inner product of each vector c_m with its image K_m c_m."""
        return self._inner(self.coefs)

    @property
    def lengths(self) -> Array:
        """Return the squared lengths of the images K_m c_m, shape (n_kernels,)."""
        return self._inner(self.images)

    @property
    def traces(self) -> Array:
        """Return the sums of the diagonals."""
        return np.asarray(self.diagonals.sum(axis=1))

    def sums(self, is_used: NDArray[np.bool_], units: Array) -> tuple[Array, Array]:
        """Return sums over the used kernels; see `TermProducts.sums`."""
        # Usually all kernels are used, and indexing by a slice makes no copies.
        active = slice(None) if is_used.all() else is_used
        roots = np.sqrt(np.maximum(self.diagonals[active], 0.0))
        return self.images[active].sum(axis=0), np.asarray(units[active] @ roots)


def multiplier_of_arrays(matrices: list[Array]) -> BlockMultiplier:
    """Return a function that multiplies matrices in memory by blocks of vectors."""

    def products(positions: Indices, rows: Array) -> Array:
        images = np.empty_like(rows)
        for i, position in enumerate(positions):
            # Not `matmul`, which does not release the GIL for 500 samples and one row:
            # two threads took as long as one.
            np.dot(rows[i], matrices[position], out=images[i])
        return images

    return products


def cache_first_matrices(
    compute_matrix: Callable[[int], Array],
) -> Callable[[int], Array]:
    """Return the function `compute_matrix` with a cache of its first few matrices."""
    cached: dict[int, Array] = {}

    def matrix(m: int) -> Array:
        if m in cached:
            return cached[m]
        K = compute_matrix(m)
        if (len(cached) + 1) * K.nbytes <= CHUNK_BYTES:
            cached[m] = K
        return K

    return matrix
