"""Linear systems with a sum of factored kernels, sum_m Z_m B_m Z_m^T + D."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.linalg.shifted import solve_shifted
from multikernel.linalg.tall import TallMatrix, slices, take_columns, weighted_gram


@dataclass(frozen=True, eq=False)
class BlockColumns:
    """A block diagonal matrix with blocks w I + u u^T, one per kernel, and its root."""

    kernels: Indices  # index of each column's kernel, ascending
    weights: Array  # w of every column, positive
    bend: Array  # (n_columns,), the vectors u of all blocks, block after block

    @cached_property
    def starts(self) -> Indices:
        """First column of every kernel."""
        return np.flatnonzero(np.diff(self.kernels, prepend=-1))

    @cached_property
    def block_of(self) -> Indices:
        """Block number of every column."""
        return np.cumsum(np.diff(self.kernels, prepend=-1) != 0) - 1

    def restrict(self, columns: Indices) -> "BlockColumns":
        """Return the blocks of some columns only."""
        return BlockColumns(
            self.kernels[columns], self.weights[columns], self.bend[columns]
        )

    def times(self, matrix: Array) -> Array:
        """Return the block diagonal matrix times another matrix."""
        outer_part = self._inner_with_bend(matrix) * self.bend[:, None]
        return np.asarray(self.weights[:, None] * matrix + outer_part)

    def root_times(self, matrix: Array) -> Array:
        """Return the symmetric square root times a matrix."""
        # A block w I + u u^T has the root r I + t u u^T with r = w^(1/2) and t =
        # 1 / (r + (w + |u|^2)^(1/2)).
        roots = np.sqrt(self.weights)
        squares = np.add.reduceat(self.bend**2, self.starts)[self.block_of]
        outer_part = self._inner_with_bend(matrix)
        outer_part *= (self.bend / (roots + np.sqrt(self.weights + squares)))[:, None]
        return np.asarray(roots[:, None] * matrix + outer_part)

    def _inner_with_bend(self, matrix: Array) -> Array:
        """Return u^T M for the rows M of `matrix` that belong to each block u u^T."""
        # The result of a block is repeated for each of its rows, so that the array has
        # the shape of `matrix`.
        inner = np.add.reduceat(self.bend[:, None] * matrix, self.starts, axis=0)
        return np.asarray(inner[self.block_of])


@dataclass(frozen=True, eq=False)
class ProductHessian:
    """A matrix A B A^T with columns A of a tall matrix, and a block diagonal B."""

    products: "ColumnProducts"
    columns: Indices  # columns of active kernels
    blocks: BlockColumns
    # `solve` may omit the columns that contribute least to the matrix, as long as their
    # total trace, relative to the shift, is at most this limit. The last columns of
    # factors are tiny: without half of the columns, a step costs a third, and differs
    # from Newton's step by at most a tenth.
    omitted_trace: float = 0.1

    @property
    def cost(self) -> float:
        """Number of multiplications to compute the smaller system of `solve`."""
        n_samples, rank = self.products.Z.shape[0], self.columns.size
        return float(n_samples * rank * min(n_samples, rank))

    def solve(self, rhs: Array, shift: Array) -> Array:
        """Solve (A B A^T + diag(shift)) x = rhs without the negligible columns of A."""
        n_samples, rank = self.products.Z.shape[0], self.columns.size
        positive = bool(np.all(shift > 0.0))
        if rank == 0 and positive:
            return np.asarray((rhs.T / shift).T)
        if not positive:
            return solve_shifted(self.rows(np.arange(n_samples)), rhs, shift, None)
        inverse = 1.0 / shift
        chosen = self._significant_columns(inverse)
        columns, blocks = self.columns[chosen], self.blocks.restrict(chosen)
        if columns.size >= n_samples:
            return solve_shifted(self._outer_sum(columns, blocks), rhs, shift, None)
        vectors = rhs if rhs.ndim == 2 else rhs[:, None]
        # With D = diag(shift), C the remaining columns and T the root of their blocks,
        # x = D^-1 (r - C T (I + T C^T D^-1 C T)^-1 T C^T D^-1 r) by the Woodbury
        # identity.
        G, inner = self.products(inverse, columns, vectors)
        # T (T G)^T is T G T, because G and T are symmetric.
        system = blocks.root_times(blocks.root_times(G).T)
        ones = np.ones(columns.size)
        halves = solve_shifted(system, blocks.root_times(inner), ones, None)
        x = vectors - self._columns_times(columns, blocks.root_times(halves))
        x *= inverse[:, None]
        return np.asarray(x.reshape(rhs.shape))

    def root(self, shift: Array) -> None:
        """Return None: this system has no explicit root; callers must use `solve`."""

    def rows(self, indices: Indices) -> Array:
        """Return some rows of the matrix."""
        rows = take_columns(self.products.Z.rows(indices), self.columns)
        return self._columns_times(self.columns, self.blocks.times(rows.T)).T

    def times(self, x: Array) -> Array:
        """Return the matrix times another matrix."""
        inner = self.products.Z.inner(x)[self.columns]
        return self._columns_times(self.columns, self.blocks.times(inner))

    def _significant_columns(self, inverse: Array) -> Indices:
        """Return positions of columns that `solve` must use; see `omitted_trace`."""
        # `inverse`, (n_samples,), is 1 / shift, so `traces` are relative to the shift.
        traces = self.products.Z.squares(inverse)[self.columns]
        # The term of a column z in A B A^T, without its products with other columns, is
        # z z^T times a diagonal entry of a block w I + u u^T.
        traces = traces * (self.blocks.weights + self.blocks.bend**2)
        order = np.argsort(traces)
        chosen = order[np.cumsum(traces[order]) > self.omitted_trace]
        ends = np.zeros(self.blocks.starts.size, dtype=np.intp)
        np.maximum.at(ends, self.blocks.block_of[chosen], chosen + 1)
        # Factors begin with their largest columns, so each is copied in one piece up to
        # its last column that is not negligible.
        return np.flatnonzero(np.arange(order.size) < ends[self.blocks.block_of])

    def _outer_sum(self, columns: Indices, blocks: BlockColumns) -> Array:
        """Return the sum of Z_b (w_b I + u_b u_b^T) Z_b^T over blocks b, n x n."""
        # The blocks b are w_b I + u_b u_b^T, one per kernel, with consecutive columns.
        samples = np.arange(self.products.Z.shape[0])
        Z = self.products.Z.rows(samples)
        weights, bends = np.zeros(Z.shape[1]), np.zeros(Z.shape[1])
        weights[columns], bends[columns] = blocks.weights, blocks.bend
        total, _ = weighted_gram(Z.T, weights, samples, np.empty((Z.shape[1], 0)))
        ends = np.append(blocks.starts, columns.size)
        parts = slices(columns[blocks.starts], columns[ends[1:] - 1] + 1)
        low_rank = self.products.Z.images(bends, parts)
        total += low_rank.T @ low_rank
        return total

    def _columns_times(self, columns: Indices, coordinates: Array) -> Array:
        """Return Z[:, columns] @ coordinates."""
        padded = np.zeros((self.products.Z.shape[1], coordinates.shape[1]))
        padded[columns] = coordinates
        return self.products.Z.times(padded)


@dataclass(eq=False)
class ColumnProducts:
    """Products Z^T diag(w) Z, cached for the last weights w and their multiples."""

    Z: TallMatrix
    # All columns are cached if they are at most this many times the requested ones.
    cache_ratio: int = 3
    _last_weights: Array = field(init=False)  # divided by the largest weight
    _cached: Array | None = None

    def __post_init__(self) -> None:
        self._last_weights = np.ones(self.Z.shape[0])

    def __call__(
        self, weights: Array, columns: Indices, sides: Array
    ) -> tuple[Array, Array]:
        """Return A^T diag(w) A and A^T diag(w) B, A = Z[:, columns] and B = `sides`."""
        largest = float(weights.max())
        scaled = weights / largest
        # For the squared loss, the weights of all calls are proportional, so `scaled`
        # does not change, and the cache remains valid.
        if not np.array_equal(scaled, self._last_weights):
            self._last_weights, self._cached = scaled, None
            return self.Z.gram(weights, columns, sides)
        all_columns = np.arange(self.Z.shape[1])
        if all_columns.size > self.cache_ratio * columns.size:
            return self.Z.gram(weights, columns, sides)
        if self._cached is None:
            self._cached, _ = self.Z.gram(scaled, all_columns, sides)
        inner = self.Z.inner(weights[:, None] * sides)[columns]
        return largest * self._cached[np.ix_(columns, columns)], inner
