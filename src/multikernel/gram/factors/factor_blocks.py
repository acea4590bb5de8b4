"""Blocks with some rows of all factors, and a tall matrix of chosen factor columns."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.factors.row_blocks import RowBlocks
from multikernel.linalg.tables import row_norms
from multikernel.linalg.tall import TallArray, take_columns, weighted_gram

Parts = Sequence[slice]
"""One slice for each kernel: its columns in an array of all factors side by side."""


@dataclass(frozen=True, eq=False)
class FactorBlock:
    """Some rows of the factors of all kernels, with their residual diagonals."""

    Z: Array  # (n_rows, total_rank), float64 or float32; sums are float64
    roots: Array | None = None  # (n_kernels, n_rows), roots of residual diagonals

    def __sizeof__(self) -> int:
        # Dask uses this size, in bytes, to plan its memory use.
        return self.Z.nbytes + (0 if self.roots is None else self.roots.nbytes)

    def columns(self, columns: Indices | slice) -> Array:
        """Return some columns as float64, without a copy if possible."""
        if isinstance(columns, slice):
            return self.Z[:, columns].astype(np.float64, copy=False)
        return take_columns(self.Z, columns).astype(np.float64, copy=False)

    def kernel_factors(self, parts: Parts) -> list[Array]:
        """Return the factors of some kernels in this block, one array each."""
        return [self.columns(columns) for columns in parts]


def forms(
    block: FactorBlock, v: Array, columns: Indices, kernels: Indices
) -> tuple[Array, Array, Array]:
    """Return Z^T v, `block.roots` @ |v|, and sum(v) over the rows of a block."""
    # Z are the chosen columns of the factors, and |v| the norms of the rows of v. The
    # second result has an entry for each of `kernels`, zero without residuals.
    bounds = np.zeros(kernels.size)
    if block.roots is not None:
        bounds = (block.roots @ row_norms(v))[kernels]
    return block.columns(columns).T @ v, bounds, v.sum(axis=0)


def diagonals(block: FactorBlock, parts: Parts) -> Array:
    """Return the diagonal of Z Z^T for each part Z of columns, (n_parts, n_rows)."""
    rows = [np.einsum("ik,ik->i", Z, Z) for Z in block.kernel_factors(parts)]
    return np.array(rows).reshape(len(parts), len(block.Z))


def sum_of_roots(block: FactorBlock, units: Array, parts: Parts) -> Array:
    """Return sum_m units[m] * sqrt(diagonal of K_m), shape (n_rows,)."""
    roots = np.zeros(len(block.Z))
    for unit, Z in zip(units.tolist(), block.kernel_factors(parts), strict=True):
        roots += unit * np.sqrt(np.einsum("ik,ik->i", Z, Z))
    return roots


def image_lengths(
    block: FactorBlock, coordinates: Sequence[Array], parts: Parts
) -> tuple[Array]:
    """Return |Z_m u_m|^2 over the rows of a block, Z_m the columns parts[m]."""
    # The vectors u_m = coordinates[m] have shape (rank of Z_m[, n_outputs]). The result
    # is a tuple of one array, (n_parts,), because `RowBlocks.sum` requires tuples.
    pairs = zip(block.kernel_factors(parts), coordinates, strict=True)
    return (np.array([np.sum((Z @ u) ** 2) for Z, u in pairs]),)


def residual_traces(
    block: FactorBlock, shares: Array, kernels: Indices
) -> tuple[Array]:
    """Return a block's terms of the weighted residual traces of `kernels`."""
    # `shares` are the weights of the rows of the block. A residual is a kernel minus
    # its low-rank approximation. The result is a tuple of one array, (n_kernels,),
    # because `RowBlocks.sum` requires tuples.
    if block.roots is None:
        return (np.zeros(kernels.size),)
    return (np.square(block.roots[kernels], dtype=np.float64) @ shares,)


def root_rows(block: FactorBlock, indices: Indices, kernels: Indices) -> Array:
    """Return roots of residual diagonals at some rows, shape (n_indices, n_kernels)."""
    if block.roots is None:
        return np.zeros((indices.size, kernels.size))
    return np.array(block.roots[np.ix_(kernels, indices)].T, dtype=np.float64)


def traces_and_roots(
    block: FactorBlock, weights: Array, parts: Parts
) -> tuple[Array, ...]:
    """Return each kernel's tr Z Z^T and weighted sum of roots, and if roots exist."""
    # The first two arrays have shape (n_kernels,): sums over the rows of the block, for
    # the factor Z and the roots of each kernel. The last array is [1.0] if the block
    # stores roots, otherwise [0.0], because results are added over blocks.
    traces = np.array([np.vdot(Z, Z) for Z in block.kernel_factors(parts)])
    if block.roots is None:
        return traces, np.zeros(len(parts)), np.zeros(1)
    return traces, block.roots @ weights, np.ones(1)


def _product(
    block: FactorBlock,
    *rows: Array,
    name: str,
    columns: Indices,
    arguments: tuple[object, ...],
) -> Array:
    """Return the result of the `TallMatrix` method `name` of the chosen columns."""
    # The arguments of the method are `rows`, which are arrays with an entry for each
    # row of the block, and then `arguments`, which are equal for all blocks.
    product: Array = getattr(TallArray(block.columns(columns)), name)(*rows, *arguments)
    return product


def _sum_of_products(
    block: FactorBlock,
    rows: Array,
    *,
    name: str,
    columns: Indices,
    arguments: tuple[object, ...],
) -> tuple[Array]:
    """Return a block's term of a sum of products, as a tuple of one array."""
    # `RowBlocks.sum` adds up such tuples. See `_product` for the arguments.
    return (_product(block, rows, name=name, columns=columns, arguments=arguments),)


def _gram(
    block: FactorBlock, weights: Array, rhs: Array, columns: Indices
) -> tuple[Array, Array]:
    """Return A^T diag(weights) A and A^T diag(weights) rhs with A = Z[:, columns]."""
    return weighted_gram(block.Z, weights, columns, rhs)


@dataclass(frozen=True, eq=False)
class BlockedColumns:
    """A `TallMatrix` Z of some factor columns, whose rows are in blocks."""

    blocks: RowBlocks  # of type `FactorBlock`
    columns: Indices

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n_rows, n_columns)."""
        return self.blocks.n_rows, self.columns.size

    def _sum(self, name: str, rows: list[Array], *arguments: object) -> Array:
        """Return the sum over the blocks of a product such as Z^T v."""
        # `name` and `arguments` are as in `_product`; rows[b] is an array for block b.
        (total,) = self.blocks.sum(
            _sum_of_products, rows, name=name, columns=self.columns, arguments=arguments
        )
        return total

    def _joined(self, name: str, *arguments: object, axis: int = 0) -> Array:
        """Return a product with one entry per row, such as Z u, from all blocks."""
        return self.blocks.concatenate(
            _product, axis=axis, name=name, columns=self.columns, arguments=arguments
        )

    def inner(self, v: Array) -> Array:
        """Return Z^T v."""
        return self._sum("inner", self.blocks.split(v))

    def inner_of_each(self, vectors: Array, parts: Parts) -> Array:
        """Return Z_m^T v_m for every part Z_m of the columns and its own vector v_m."""
        return self._sum("inner_of_each", self.blocks.split(vectors, axis=1), parts)

    def images(self, u: Array, parts: Parts) -> Array:
        """Return Z_m u_m for every part Z_m of the columns, u_m this part of u."""
        return self._joined("images", u, parts, axis=1)

    def times(self, u: Array) -> Array:
        """Return Z u."""
        return self._joined("times", u)

    def squares(self, weights: Array) -> Array:
        """Return the diagonal of Z^T diag(weights) Z."""
        return self._sum("squares", self.blocks.split(weights))

    def row_squares(self, weights: Array) -> Array:
        """Return the diagonal of Z diag(weights) Z^T."""
        return self._joined("row_squares", weights)

    def gram(self, weights: Array, columns: Indices, rhs: Array) -> tuple[Array, Array]:
        """Return A^T diag(weights) A and A^T diag(weights) rhs; A = Z[:, columns]."""
        gram, inner = self.blocks.sum(
            _gram,
            self.blocks.split(weights),
            self.blocks.split(rhs),
            columns=self.columns[columns],
        )
        return gram, inner

    def rows(self, indices: Indices) -> Array:
        """Return some rows, shape (n_indices, n_columns)."""
        return self.blocks.rows(_rows, indices, columns=self.columns)


def _rows(block: FactorBlock, indices: Indices, columns: Indices) -> Array:
    """Return some rows of the chosen columns of a block."""
    return np.array(take_columns(block.Z[indices], columns), dtype=np.float64)
