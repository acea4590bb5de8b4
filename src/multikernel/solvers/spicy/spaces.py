r"""What SpicyMKL's inner iteration makes of vectors: their images under every kernel.

A kernel in memory makes K v of a vector v, of n_samples numbers. One that is held as a
factor, :math:`K = Z Z^\top`, makes :math:`Z^\top v`, of as many numbers as its rank:
norms are those of these numbers, and with total active rank R a system

.. math:: \Bigl(\sum_m Z_m B_m Z_m^\top + D\Bigr) x = r, \qquad
    B_m = w_m I + u_m u_m^\top,

costs :math:`n R^2` by the Woodbury identity, or the cube of n where n is less than R.
"""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Protocol

import numpy as np
from scipy.linalg.blas import daxpy

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramMatrix, GramStack
from multikernel.gram.expansions import padded, unpadded
from multikernel.linalg.shifted import ShiftedRoot, shifted_root, solve_shifted
from multikernel.linalg.tall import TallMatrix
from multikernel.linalg.weighted import gathered, weighted_gram
from multikernel.solvers.spicy.quadratic_model import AnyHessian, JointHessian
from multikernel.solvers.spicy.tuning import FEW_IN_STEP, KEPT, UNCOUNTED, WIDE


def per_kernel(factors: Array, values: Array) -> Array:
    """Return values of shape (n_kernels, ...), those of every kernel times a factor."""
    return np.asarray(factors.reshape((-1,) + (1,) * (values.ndim - 1)) * values)


def _rows(values: Array) -> Array:
    """Return values of shape (n_kernels, ...) with a row for every kernel."""
    return values.reshape(len(values), prod(values.shape[1:]))


class KernelSpaces(Protocol):
    """The spaces of some kernels; images are arrays that only they understand."""

    def images(self, v: Array) -> Array:
        """Return what every kernel makes of one v, shape (n_samples[, n_outputs])."""
        ...

    def images_of_each(self, coefs: Array) -> Array:
        """Return what every kernel makes of its own row."""
        ...

    def expansions(self, coefs: Array, v: Array, images: Array) -> Array:
        """Return expansions that are each moved by one v, whose images are these."""
        ...

    def inner(self, images: Array, v: Array, v_images: Array) -> Array:
        """Return inner products with v, one for all kernels or one for each.

        Images must be those of one for each, or `v` one for all. Products are summed
        over outputs.
        """
        ...

    def scaled(self, images: Array, factors: Array) -> Array:
        """Return images, those of every kernel multiplied by a factor."""
        ...

    def values(self, images: Array, shares: Array) -> Array:
        """Return the decision values of shares of what the images stand for."""
        ...

    def hessian(self, weights: Array, bends: Array, images: Array) -> AnyHessian:
        r"""Return :math:`\sum_m w_m K_m + b_m^2 (K_m v_m) (K_m v_m)^\top`.

        Parameters
        ----------
        weights, bends : ndarray of shape (n_kernels,)
            The weights w, and the multiples b; these are zero where w is.
        images : ndarray
            Of a vector v for each kernel.
        """
        ...


def kernel_spaces(gram: GramStack) -> KernelSpaces:
    """Return the spaces of the kernels of a stack.

    Parameters
    ----------
    gram : GramStack
        Few kernels, of which much is asked.

    Returns
    -------
    spaces : KernelSpaces
        By ranks where the stack holds factors.
    """
    factors = gram.tall_form()
    return ImageSpaces(gram) if factors is None else FactorSpaces(gram, *factors)


@dataclass(frozen=True, eq=False)
class ImageSpaces:
    """Spaces that are met through images K_m v, shape (n_kernels, n_samples).

    Parameters
    ----------
    gram : GramStack
        The kernels.
    """

    gram: GramStack

    def images(self, v: Array) -> Array:
        """Return K_m v; only some columns are looked at if v has few entries."""
        if v.ndim == 1:
            entries = np.flatnonzero(v)
            if entries.size <= FEW_IN_STEP * v.size:
                return self.gram.sparse_matvec(entries, v[entries])
        return self.gram.matvec(v)

    def images_of_each(self, coefs: Array) -> Array:
        """Return K_m coefs[m]."""
        return self.gram.block_matvec(coefs)

    def expansions(self, coefs: Array, v: Array, images: Array) -> Array:
        """Return the sums."""
        return coefs + v

    def inner(self, images: Array, v: Array, v_images: Array) -> Array:
        """Return v^T K_m v' from the images K_m v'."""
        rows = _rows(images)
        if v.ndim < images.ndim:
            return np.asarray(rows @ v.reshape(-1))
        return np.asarray(np.einsum("mi,mi->m", rows, v.reshape(rows.shape)))

    def scaled(self, images: Array, factors: Array) -> Array:
        """Multiply the rows."""
        return per_kernel(factors, images)

    def values(self, images: Array, shares: Array) -> Array:
        """Add up the rows."""
        total = shares @ _rows(images)
        return np.asarray(total.reshape(images.shape[1:]))

    def hessian(self, weights: Array, bends: Array, images: Array) -> AnyHessian:
        """Return the weighted sum of the kernels; it is added up where it is used."""
        bent = np.flatnonzero(weights)
        low_rank = per_kernel(bends[bent], images[bent])
        if images.ndim == 3:
            return JointHessian(SummedHessian(self.gram, weights, None), low_rank)
        return SummedHessian(self.gram, weights, low_rank.T if bent.size else None)


@dataclass(frozen=True, eq=False)
class SummedHessian:
    """A weighted sum of kernels, and a product U U^T.

    Parameters
    ----------
    gram : GramStack
        The kernels.
    weights : ndarray of shape (n_kernels,)
        Their weights.
    low_rank : ndarray of shape (n_samples, rank) or None
        The factor U.
    """

    gram: GramStack
    weights: Array
    low_rank: Array | None

    @property
    def cost(self) -> float:
        """Return the cube of the number of samples."""
        return float(self.gram.shape[1]) ** 3

    @cached_property
    def _matrix(self) -> GramMatrix:
        return self.gram.combine(self.weights)

    def solve(self, rhs: Array, shift: Array) -> Array:
        """Solve (H + diag(shift)) x = rhs."""
        return self._matrix.solve(rhs, shift=shift, low_rank=self.low_rank)

    def root(self, shift: Array) -> ShiftedRoot | None:
        """Return a root of H + diag(shift) where the sum is held as an array."""
        array = self._matrix.array
        if array is None or not np.all(shift > 0.0):
            return None
        return shifted_root(array, shift)

    def rows(self, indices: Indices) -> Array:
        """Return some rows of H."""
        rows = self.gram.combined_rows(self.weights, indices)
        if self.low_rank is not None:
            rows += self.low_rank[indices] @ self.low_rank.T
        return rows

    def times(self, x: Array) -> Array:
        """Return the product with a matrix, without U U^T, which joint steps add."""
        return self._matrix.matvec(x)


@dataclass(frozen=True, eq=False)
class FactorSpaces:
    """Spaces that are met through coordinates Z_m^T v, all in one row.

    Parameters
    ----------
    gram : GramStack
        The kernels; it is told what is read.
    Z : TallMatrix
        Their factors, side by side.
    offsets : ndarray of shape (n_kernels + 1,)
        The first column of every kernel, and the end.
    """

    gram: GramStack
    Z: TallMatrix
    offsets: Indices

    @cached_property
    def _products(self) -> "ColumnProducts":
        return ColumnProducts(self.Z)

    @cached_property
    def _ranks(self) -> Indices:
        return np.diff(self.offsets)

    @cached_property
    def _parts(self) -> list[slice]:
        return [slice(a, b) for a, b in pairwise(self.offsets.tolist())]

    def images(self, v: Array) -> Array:
        """Return Z^T v, shape (rank[, n_outputs])."""
        self._count(vectors=v.size // len(v))
        return self.Z.inner(v)

    def images_of_each(self, coefs: Array) -> Array:
        """Return Z_m^T coefs[m], one after another."""
        if coefs.shape[1] != self.Z.shape[0]:
            return unpadded(coefs, self._ranks)
        self._count(vectors=coefs.shape[2] if coefs.ndim == 3 else 1)
        return self.Z.inner_of_each(coefs, self._parts)

    def expansions(self, coefs: Array, v: Array, images: Array) -> Array:
        """Return the sums, or the images where functions are given by these."""
        length = self.gram.expansion_length
        if length == self.Z.shape[0]:
            return coefs + v
        return padded(images, self._ranks, length)

    def inner(self, images: Array, v: Array, v_images: Array) -> Array:
        """Return sums of products over the columns of every kernel."""
        products = images * v_images
        return self._sums(products if products.ndim == 1 else products.sum(axis=1))

    def scaled(self, images: Array, factors: Array) -> Array:
        """Multiply the entries of every kernel."""
        return per_kernel(self._repeated(factors), images)

    def values(self, images: Array, shares: Array) -> Array:
        """Return Z times the coordinates."""
        return self.Z.times(self.scaled(images, shares))

    def hessian(self, weights: Array, bends: Array, images: Array) -> AnyHessian:
        """Return the sum as a product of the active columns with themselves."""
        self._count(int(np.count_nonzero(weights)))
        active = np.flatnonzero(self._repeated(weights))
        bent = self.scaled(images, bends)
        own = bent[active] if images.ndim == 1 else np.zeros(active.size)
        columns = BlockColumns(
            np.repeat(np.arange(weights.size), self._ranks)[active],
            self._repeated(weights)[active],
            own,
        )
        hessian = ProductHessian(self._products, active, columns)
        if images.ndim == 1:
            return hessian
        parts = [self._parts[m] for m in np.flatnonzero(weights)]
        return JointHessian(hessian, self.Z.images(bent, parts))

    def _count(self, kernels: int | None = None, vectors: int = 1) -> None:
        """Count a product with some kernels, of which Z^T v is the dear half."""
        n_kernels, n_samples, _ = self.gram.shape
        kernels = n_kernels if kernels is None else kernels
        self.gram.count(kernels, n_samples, vectors)

    def _sums(self, values: Array) -> Array:
        return np.asarray(np.add.reduceat(values, self.offsets[:-1]))

    def _repeated(self, values: Array) -> Array:
        return np.asarray(np.repeat(values, self._ranks))


@dataclass(frozen=True, eq=False)
class BlockColumns:
    """A matrix of blocks w I + u u^T, one for each kernel, and its root.

    Parameters
    ----------
    kernels : ndarray of shape (rank,)
        The kernel of every column, ascending.
    weights : ndarray of shape (rank,)
        The weight w of its kernel, positive.
    bend : ndarray of shape (rank,)
        The vectors u, one after another.
    """

    kernels: Indices
    weights: Array
    bend: Array

    @cached_property
    def starts(self) -> Indices:
        """Return the first column of every kernel."""
        return np.flatnonzero(np.diff(self.kernels, prepend=-1))

    @cached_property
    def own(self) -> Indices:
        """Return the place of every column's kernel among those that have one."""
        return np.cumsum(np.diff(self.kernels, prepend=-1) != 0) - 1

    def some(self, columns: Indices) -> "BlockColumns":
        """Return the blocks of some columns only."""
        return BlockColumns(
            self.kernels[columns], self.weights[columns], self.bend[columns]
        )

    def times(self, matrix: Array) -> Array:
        """Return the product with a matrix of as many rows as there are columns."""
        along = self._along(matrix) * self.bend[:, None]
        return np.asarray(self.weights[:, None] * matrix + along)

    def root_times(self, matrix: Array) -> Array:
        """Return the product of the root, r I + t u u^T, with a matrix.

        Here r is the root of w, and t = 1 / (r + (w + |u|^2)^(1/2)).
        """
        roots = np.sqrt(self.weights)
        squares = np.add.reduceat(self.bend**2, self.starts)[self.own]
        along = self._along(matrix)
        along *= (self.bend / (roots + np.sqrt(self.weights + squares)))[:, None]
        return np.asarray(roots[:, None] * matrix + along)

    def _along(self, matrix: Array) -> Array:
        """Return u^T times the rows of its block, for every column."""
        inner = np.add.reduceat(self.bend[:, None] * matrix, self.starts, axis=0)
        return np.asarray(inner[self.own])


@dataclass(frozen=True, eq=False)
class ProductHessian:
    """A matrix A B A^T, where A is some columns of a tall Z and B of small blocks.

    Parameters
    ----------
    products : ColumnProducts
        Of the columns of all kernels.
    columns : ndarray of shape (rank,)
        Those of active ones.
    blocks : BlockColumns
        The matrix B.
    """

    products: "ColumnProducts"
    columns: Indices
    blocks: BlockColumns

    @property
    def cost(self) -> float:
        """Return what the smaller of the two systems costs."""
        n_samples, rank = self.products.Z.shape[0], self.columns.size
        return float(n_samples * rank * min(n_samples, rank))

    def solve(self, rhs: Array, shift: Array) -> Array:
        """Solve (H + diag(shift)) x = rhs, nearly, by the smaller system.

        Columns that all together hardly count beside the shift are left out. With
        C the matrix of the others, and T the root of their blocks,
        x = D^-1 (r - C T (I + T C^T D^-1 C T)^-1 T C^T D^-1 r).
        """
        n_samples, rank = self.products.Z.shape[0], self.columns.size
        positive = bool(np.all(shift > 0.0))
        if rank == 0 and positive:
            return np.asarray((rhs.T / shift).T)
        if not positive:
            return solve_shifted(self.rows(np.arange(n_samples)), rhs, shift, None)
        inverse = 1.0 / shift
        counting = self._counting(inverse)
        columns, blocks = self.columns[counting], self.blocks.some(counting)
        if columns.size >= n_samples:
            return solve_shifted(self._sum(columns, blocks), rhs, shift, None)
        sides = rhs if rhs.ndim == 2 else rhs[:, None]
        G, inner = self.products(inverse, columns, sides)
        # T G T is symmetric, so either side may come first.
        system = blocks.root_times(blocks.root_times(G).T)
        ones = np.ones(columns.size)
        solved = solve_shifted(system, blocks.root_times(inner), ones, None)
        x = sides - self._expanded(columns, blocks.root_times(solved))
        x *= inverse[:, None]
        return np.asarray(x.reshape(rhs.shape))

    def root(self, shift: Array) -> None:
        """Return None: what is solved is another system."""

    def rows(self, indices: Indices) -> Array:
        """Return some rows of H."""
        some = gathered(self.products.Z.rows(indices), self.columns)
        return self._expanded(self.columns, self.blocks.times(some.T)).T

    def times(self, x: Array) -> Array:
        """Return the product with a matrix."""
        inner = self.products.Z.inner(x)[self.columns]
        return self._expanded(self.columns, self.blocks.times(inner))

    def _counting(self, inverse: Array) -> Indices:
        """Return the columns without which the rest is below a share of the shift."""
        traces = self.products.Z.squares(inverse)[self.columns]
        # Of the block w I + u u^T the diagonal is what counts of a column.
        traces = traces * (self.blocks.weights + self.blocks.bend**2)
        order = np.argsort(traces)
        counts = np.cumsum(traces[order]) > UNCOUNTED
        last = np.zeros(self.blocks.starts.size, dtype=np.intp)
        np.maximum.at(last, self.blocks.own[order[counts]], order[counts] + 1)
        # Factors begin with what counts most: up to the last column that does they are
        # copied in one piece.
        return np.flatnonzero(np.arange(order.size) < last[self.blocks.own])

    def _sum(self, columns: Indices, blocks: BlockColumns) -> Array:
        """Return the product of the columns, of shape (n_samples, n_samples)."""
        every = np.arange(self.products.Z.shape[0])
        Z = self.products.Z.rows(every)
        weights, bends = np.zeros(Z.shape[1]), np.zeros(Z.shape[1])
        weights[columns], bends[columns] = blocks.weights, blocks.bend
        ends = np.append(blocks.starts, columns.size)
        wide = np.flatnonzero(np.diff(ends) > WIDE * every.size)
        for k in wide.tolist():
            weights[columns[ends[k] : ends[k + 1]]] = 0.0
        total, _ = weighted_gram(Z.T, weights, every, np.empty((Z.shape[1], 0)))
        flat = total.reshape(-1)
        for k in wide.tolist():
            own = self.products.outer(Z, columns[ends[k] : ends[k + 1]])
            daxpy(own.reshape(-1), flat, a=float(blocks.weights[ends[k]]))
        last = columns[ends[1:] - 1] + 1
        parts = [
            slice(*p)
            for p in zip(columns[ends[:-1]].tolist(), last.tolist(), strict=True)
        ]
        low_rank = self.products.Z.images(bends, parts)
        total += low_rank.T @ low_rank
        return total

    def _expanded(self, columns: Indices, coordinates: Array) -> Array:
        """Return the product of columns of Z with a matrix."""
        every = np.zeros((self.products.Z.shape[1], coordinates.shape[1]))
        every[columns] = coordinates
        return self.products.Z.times(every)


@dataclass(eq=False)
class ColumnProducts:
    """Products of columns under weights, kept while the weights stay the same.

    Those of the squared loss always do: then all columns are multiplied once.

    Parameters
    ----------
    Z : TallMatrix
        The columns.
    """

    Z: TallMatrix
    _last: Array = field(init=False)  # weights, the largest of which is one
    _kept: Array | None = None
    _outer: dict[int, tuple[int, Array]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._last = np.ones(self.Z.shape[0])

    def outer(self, Z: Array, columns: Indices) -> Array:
        """Return A A^T for some columns A of one kernel; kept for the next time."""
        first = int(columns[0])
        held = self._outer.get(first)
        # The last columns of a kernel come and go; what they add can be left in.
        if held is None or held[0] < columns.size:
            chosen = gathered(Z, columns)
            held = self._outer[first] = columns.size, np.asarray(chosen @ chosen.T)
        return held[1]

    def __call__(
        self, weights: Array, columns: Indices, sides: Array
    ) -> tuple[Array, Array]:
        """Return A^T diag(w) A and A^T diag(w) B for some columns A of Z.

        Parameters
        ----------
        weights : ndarray of shape (n_samples,)
            The weights w.
        columns : ndarray of shape (rank,)
            The columns of A.
        sides : ndarray of shape (n_samples, n_sides)
            The matrix B.
        """
        largest = float(weights.max())
        scaled = weights / largest
        if not np.array_equal(scaled, self._last):
            self._last, self._kept = scaled, None
            return self.Z.gram(weights, columns, sides)
        every = np.arange(self.Z.shape[1])
        if every.size > KEPT * columns.size:
            return self.Z.gram(weights, columns, sides)
        if self._kept is None:
            self._kept, _ = self.Z.gram(scaled, every, sides)
        inner = self.Z.inner(weights[:, None] * sides)[columns]
        return largest * self._kept[np.ix_(columns, columns)], inner
