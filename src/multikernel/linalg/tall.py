"""What is asked of a matrix of many rows and few columns, wherever its rows are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.linalg.weighted import runs_of, weighted_gram


class TallMatrix(Protocol):
    """A matrix Z of shape (n_rows, n_columns) that is met through its products."""

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n_rows, n_columns)."""
        ...

    def inner(self, v: Array) -> Array:
        """Return Z^T v, shape (n_columns[, n_vectors])."""
        ...

    def inner_of_each(self, vectors: Array, parts: Sequence[slice]) -> Array:
        """Return for every part of the columns their products with its own vector.

        Shape (n_columns[, n_outputs]), of vectors (n_parts, n_rows[, n_outputs]).
        """
        ...

    def images(self, u: Array, parts: Sequence[slice]) -> Array:
        """Return Z_m u_m for some parts, shape (n_parts, n_rows[, n_outputs])."""
        ...

    def times(self, u: Array) -> Array:
        """Return Z u, shape (n_rows[, n_vectors])."""
        ...

    def squares(self, weights: Array) -> Array:
        """Return the diagonal of Z^T diag(w) Z, shape (n_columns,)."""
        ...

    def gram(
        self, weights: Array, columns: Indices, sides: Array
    ) -> tuple[Array, Array]:
        """Return A^T diag(w) A and A^T diag(w) B, see `weighted_gram`."""
        ...

    def rows(self, indices: Indices) -> Array:
        """Return some rows, shape (n_indices, n_columns)."""
        ...


@dataclass(frozen=True, eq=False)
class TallArray:
    """A tall matrix in one array.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_columns)
        The matrix, in any order.
    """

    Z: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n_rows, n_columns)."""
        return int(self.Z.shape[0]), int(self.Z.shape[1])

    def inner(self, v: Array) -> Array:
        """Return Z^T v."""
        return np.asarray((v.T @ self.Z).T)

    def inner_of_each(self, vectors: Array, parts: Sequence[slice]) -> Array:
        """Return for every part of the columns their products with its own vector."""
        products = np.zeros((self.Z.shape[1], *vectors.shape[2:]))
        used = vectors.any(axis=tuple(range(1, vectors.ndim)))
        for m in np.flatnonzero(used).tolist():
            products[parts[m]] = (vectors[m].T @ self.Z[:, parts[m]]).T
        return products

    def images(self, u: Array, parts: Sequence[slice]) -> Array:
        """Return Z_m u_m for some parts."""
        images = np.empty((len(parts), self.Z.shape[0], *u.shape[1:]))
        for place, part in enumerate(parts):
            np.matmul(self.Z[:, part], u[part], out=images[place])
        return images

    def times(self, u: Array) -> Array:
        """Return Z u."""
        return np.asarray(self.Z @ u)

    def squares(self, weights: Array) -> Array:
        """Return the diagonal of Z^T diag(w) Z."""
        return np.asarray(np.einsum("i,ij,ij->j", weights, self.Z, self.Z))

    def gram(
        self, weights: Array, columns: Indices, sides: Array
    ) -> tuple[Array, Array]:
        """Return A^T diag(w) A and A^T diag(w) B."""
        return weighted_gram(self.Z, weights, columns, sides)

    def rows(self, indices: Indices) -> Array:
        """Return some rows, a view where they are a run."""
        runs = runs_of(indices)
        return np.asarray(self.Z[runs[0] if len(runs) == 1 else indices])
