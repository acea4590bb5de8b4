"""Columns of factors whose rows are in blocks, as solvers meet them: a `TallMatrix`."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.blocked.blocks import RowBlocks
from multikernel.gram.blocked.factors import FactorBlock


@dataclass(frozen=True, eq=False)
class BlockedColumns:
    """Some columns of a tall matrix whose rows are in blocks.

    Parameters
    ----------
    blocks : RowBlocks
        Of `FactorBlock`.
    columns : ndarray of shape (n_columns,)
        The columns.
    """

    blocks: RowBlocks
    columns: Indices

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n_rows, n_columns)."""
        return self.blocks.n_rows, self.columns.size

    def inner(self, v: Array) -> Array:
        """Return Z^T v."""
        if not self.columns.size:
            return np.zeros((0, *v.shape[1:]))
        parts = self.blocks.split(v)
        (total,) = self.blocks.sum(FactorBlock.inner, parts, columns=self.columns)
        return total

    def inner_of_each(self, vectors: Array, parts: Sequence[slice]) -> Array:
        """Return for every part of the columns their products with its own vector."""
        products = np.zeros((self.columns.size, *vectors.shape[2:]))
        used = np.flatnonzero(vectors.reshape(len(parts), -1).any(axis=1))
        if not used.size:
            return products
        # The columns of a part are neighbours, here as in the whole matrix.
        own = [self.columns[parts[m]] for m in used.tolist()]
        # A view where all are used: vectors are as many as kernels of a model.
        some = vectors if used.size == len(parts) else vectors[used]
        (total,) = self.blocks.sum(
            FactorBlock.inner_of_each,
            self.blocks.split(np.moveaxis(some, 1, 0)),
            parts=[slice(int(c[0]), int(c[-1]) + 1) for c in own],
        )
        every = np.arange(self.columns.size)
        products[np.concatenate([every[parts[m]] for m in used.tolist()])] = total
        return products

    def images(self, u: Array, parts: Sequence[slice]) -> Array:
        """Return Z_m u_m for some parts."""
        if not parts:
            return np.empty((0, self.shape[0], *u.shape[1:]))
        own = [self.columns[part] for part in parts]
        images = self.blocks.joined(
            FactorBlock.images,
            u=np.concatenate([u[part] for part in parts]),
            parts=[slice(int(c[0]), int(c[-1]) + 1) for c in own],
        )
        return np.ascontiguousarray(np.moveaxis(images, 0, 1))

    def times(self, u: Array) -> Array:
        """Return Z u."""
        used = np.flatnonzero(u.any(axis=tuple(range(1, u.ndim))))
        if not used.size:
            return np.zeros((self.shape[0], *u.shape[1:]))
        return self.blocks.joined(
            FactorBlock.times, u=u[used], columns=self.columns[used]
        )

    def squares(self, weights: Array) -> Array:
        """Return the diagonal of Z^T diag(w) Z."""
        parts = self.blocks.split(weights)
        (total,) = self.blocks.sum(FactorBlock.squares, parts, columns=self.columns)
        return total

    def gram(
        self, weights: Array, columns: Indices, sides: Array
    ) -> tuple[Array, Array]:
        """Return A^T diag(w) A and A^T diag(w) B."""
        gram, inner = self.blocks.sum(
            FactorBlock.gram,
            self.blocks.split(weights),
            self.blocks.split(sides),
            columns=self.columns[columns],
        )
        return gram, inner

    def rows(self, indices: Indices) -> Array:
        """Return some rows."""
        return self.blocks.rows(FactorBlock.rows, indices, columns=self.columns)
