"""Products with a matrix of many rows and few columns, in any storage."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.linalg.threads import available_threads, run_blocks

BLOCK_BYTES = 2**24
"""Bytes of rows that a thread multiplies at a time, before it adds the results."""


def weighted_gram(
    Z: Array, weights: Array, columns: Indices, sides: Array
) -> tuple[Array, Array]:
    """Return A^T diag(w) A and A^T diag(w) B, A = Z[:, columns] and B = `sides`."""
    # Weights are nonnegative, and columns ascending. Rows are divided among threads and
    # summed in a fixed order, so results are reproducible for a fixed number of
    # threads.
    rows = np.flatnonzero(weights)
    rows = rows if rows.size < weights.size else np.arange(0)
    n_rows = rows.size or weights.size
    block_size = max(1, BLOCK_BYTES // (8 * max(columns.size, 1)))
    n_lanes = min(available_threads(), max(1, n_rows // block_size))
    lane_ends = [lane * n_rows // n_lanes for lane in range(n_lanes + 1)]
    totals: list[tuple[Array, Array] | None] = [None] * n_lanes
    roots = np.sqrt(weights)

    def add(lane: int) -> None:
        gram = np.zeros((columns.size, columns.size))
        inner = np.zeros((columns.size, sides.shape[1]))
        for start in range(lane_ends[lane], lane_ends[lane + 1], block_size):
            part = slice(start, min(start + block_size, lane_ends[lane + 1]))
            rows_in_part = rows[part] if rows.size else part
            block = take_columns(Z[rows_in_part], columns, roots[rows_in_part])
            gram += block.T @ block
            inner += block.T @ (roots[rows_in_part, None] * sides[rows_in_part])
        totals[lane] = gram, inner

    run_blocks(add, range(n_lanes))
    first, *other_totals = (total for total in totals if total is not None)
    for gram, inner in other_totals:
        first[0][:] += gram
        first[1][:] += inner
    return first


def take_columns(Z: Array, columns: Indices, roots: Array | None = None) -> Array:
    """Return some columns of a matrix, with rows multiplied by `roots` if given."""
    # The memory order is that of Z; a single run of columns is a view.
    run = as_slice(columns)
    by_rows = Z.strides[1] <= Z.strides[0]
    if isinstance(run, slice):
        part = Z[:, run]
    else:
        part = np.take(Z, columns, axis=1) if by_rows else np.take(Z.T, columns, 0).T
    return part if roots is None else np.asarray(part * roots[:, None])


def as_slice(indices: Indices) -> Indices | slice:
    """Return the indices as a slice if they are consecutive and ascend."""
    if indices.size and np.all(np.diff(indices) == 1):
        return slice(int(indices[0]), int(indices[-1]) + 1)
    return indices


def slices(starts: Indices, ends: Indices) -> list[slice]:
    """Return a slice for every pair of start and end."""
    return [slice(a, b) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]


def slices_between(ends: Indices) -> list[slice]:
    """Return the slices between consecutive ends."""
    return slices(ends[:-1], ends[1:])


def covariances_with_sum(values: Array, weights: Array) -> Array:
    """Return each term's weighted covariance with their sum, times the total weight."""
    # Samples are the first axis of `values`, terms the last.
    centered = values - np.tensordot(weights / weights.sum(), values, axes=1)
    total = (centered.sum(axis=-1).T * weights).T
    return np.asarray(np.einsum("i...,i...m->...m", total, centered))


class TallMatrix(Protocol):
    """A matrix Z of shape (n_rows, n_columns), used through its products."""

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (n_rows, n_columns)."""

    def inner(self, v: Array) -> Array:
        """Return Z^T v, shape (n_columns[, n_vectors])."""

    def inner_of_each(self, vectors: Array, parts: Sequence[slice]) -> Array:
        """Return Z_m^T v_m for all column blocks Z_m, (n_columns[, n_outputs])."""
        # `vectors` has shape (n_parts, n_rows[, n_outputs]).

    def images(self, u: Array, parts: Sequence[slice]) -> Array:
        """Return Z_m u_m for column blocks Z_m, (n_parts, n_rows[, n_outputs])."""

    def times(self, u: Array) -> Array:
        """Return Z u, shape (n_rows[, n_vectors])."""

    def squares(self, weights: Array) -> Array:
        """Return the diagonal of Z^T diag(w) Z, shape (n_columns,)."""

    def row_squares(self, weights: Array) -> Array:
        """Return the diagonal of Z diag(w) Z^T, shape (n_rows,)."""

    def gram(
        self, weights: Array, columns: Indices, sides: Array
    ) -> tuple[Array, Array]:
        """Return A^T diag(w) A and A^T diag(w) B, A = Z[:, columns] and B = `sides`."""
        # Weights are nonnegative, and columns ascending, as for `weighted_gram`.

    def rows(self, indices: Indices) -> Array:
        """Return some rows, shape (n_indices, n_columns)."""


@dataclass(frozen=True, eq=False)
class TallArray:
    """A tall matrix in one array, in any memory order."""

    Z: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (n_rows, n_columns)."""
        return int(self.Z.shape[0]), int(self.Z.shape[1])

    def inner(self, v: Array) -> Array:
        """Return Z^T v; if v is mostly zero, only its nonzero rows are read."""
        used = np.flatnonzero(v if v.ndim == 1 else v.any(axis=1))
        if 8 * used.size < len(v):
            return np.asarray((v[used].T @ self.Z[used]).T)
        return np.asarray((v.T @ self.Z).T)

    def inner_of_each(self, vectors: Array, parts: Sequence[slice]) -> Array:
        """Return Z_m^T v_m for every part Z_m of the columns."""
        products = np.zeros((self.Z.shape[1], *vectors.shape[2:]))
        for v, part in zip(vectors, parts, strict=True):
            if v.any():
                products[part] = (v.T @ self.Z[:, part]).T
        return products

    def images(self, u: Array, parts: Sequence[slice]) -> Array:
        """Return Z[:, part] @ u[part] per part, (n_parts, n_rows[, n_outputs])."""
        images = np.empty((len(parts), self.Z.shape[0], *u.shape[1:]))
        for k, part in enumerate(parts):
            np.matmul(self.Z[:, part], u[part], out=images[k])
        return images

    def times(self, u: Array) -> Array:
        """Return Z u."""
        return np.asarray(self.Z @ u)

    def squares(self, weights: Array) -> Array:
        """Return the diagonal of Z^T diag(w) Z."""
        return np.asarray(np.einsum("i,ij,ij->j", weights, self.Z, self.Z))

    def row_squares(self, weights: Array) -> Array:
        """Return the diagonal of Z diag(w) Z^T."""
        return np.asarray(np.einsum("ij,ij,j->i", self.Z, self.Z, weights))

    def gram(
        self, weights: Array, columns: Indices, sides: Array
    ) -> tuple[Array, Array]:
        """Return A^T diag(w) A and A^T diag(w) B, A = Z[:, columns] and B = `sides`."""
        # For equal weights and all columns, the first result is cached unless it is
        # larger than Z.
        is_tall = self.Z.shape[0] >= self.Z.shape[1] == columns.size
        if not is_tall or np.any(weights != weights[0]):
            return weighted_gram(self.Z, weights, columns, sides)
        inner = weights[0] * (sides.T @ self.Z).T
        # With weights of one, callers share the cached array, which is read-only.
        is_unweighted = weights[0] == 1.0
        return self._products if is_unweighted else weights[0] * self._products, inner

    @cached_property
    def _products(self) -> Array:
        """Return Z^T Z, read-only."""
        n_rows, n_columns = self.Z.shape
        ones, no_sides = np.ones(n_rows), np.empty((n_rows, 0))
        products, _ = weighted_gram(self.Z, ones, np.arange(n_columns), no_sides)
        products.flags.writeable = False
        return products

    def rows(self, indices: Indices) -> Array:
        """Return Z[indices], without a copy if these are all rows."""
        n_rows = len(self.Z)
        is_all = indices.size == n_rows and np.array_equal(indices, np.arange(n_rows))
        return self.Z if is_all else self.Z[indices]


@dataclass(frozen=True, eq=False)
class GroupedFactor:
    """A factor Z of one kernel, whose equal rows are stored once."""

    rows: Array  # distinct rows of Z, transposed and divided by `scale`
    group: Indices | None = None  # index of every sample's row; None if all are stored
    scale: float = 1.0  # common factor of all entries of Z

    def inner(self, v: Array) -> Array:
        """Return Z^T v, shape (rank[, n_vectors])."""
        return np.asarray(self.scale * (self.rows @ self.sums(v)))

    def times(self, u: Array) -> Array:
        """Return Z u, shape (n_samples[, n_vectors])."""
        values = self.rows.T @ (self.scale * u)
        return np.asarray(values if self.group is None else values[self.group])

    def gram(self, weights: Array) -> Array:
        """Return Z^T diag(w) Z for nonnegative weights."""
        scaled = self.rows * (self.scale * np.sqrt(self.sums(weights)))
        return np.asarray(scaled @ scaled.T)

    def rows_of(self, samples: Indices | slice) -> Array:
        """Return the rows of some samples, transposed, (rank, n_chosen)."""
        row_indices = samples if self.group is None else self.group[samples]
        return np.asarray(self.scale * self.rows[:, row_indices])

    def sums(self, v: Array) -> Array:
        """Return the sums of v over equal rows, (n_distinct[, n_vectors])."""
        if self.group is None:
            return v
        size = self.rows.shape[1]
        columns = v.reshape(len(v), -1).T
        sums = [np.bincount(self.group, column, size) for column in columns]
        return np.asarray(sums, dtype=np.float64).T.reshape(size, *v.shape[1:])


def padded(u: Array, ranks: Indices, length: int) -> Array:
    """Return concatenated coordinates `u` of kernels as a table, one row per kernel."""
    # `ranks` are the kernels' numbers of coordinates, at most `length`. The table,
    # (n_kernels, length[, n_outputs]), is padded with zeros.
    table = np.zeros((ranks.size, length, *u.shape[1:]))
    table[np.arange(length) < ranks[:, None]] = u
    return table


def unpadded(coefs: Array, ranks: Indices) -> Array:
    """Undo `padded`: return the concatenated coordinates in the table `coefs`."""
    length = int(ranks.max(initial=0))
    # A kernel's rank may have grown since `padded`; its new coordinates are zero.
    table = np.zeros((ranks.size, length, *coefs.shape[2:]))
    n_stored = min(length, coefs.shape[1])
    table[:, :n_stored] = coefs[:, :n_stored]
    return np.asarray(table[np.arange(length) < ranks[:, None]])
