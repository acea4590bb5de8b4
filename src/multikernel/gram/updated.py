"""A Gram matrix plus a term of low rank."""

from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramMatrix, is_dense
from multikernel.gram.dense import DenseMatrix


@dataclass(frozen=True, eq=False)
class UpdatedMatrix:
    """The matrix K + U U^T, with K behind any storage and the factor U held.

    Parameters
    ----------
    base : GramMatrix
        K, square.
    factor : ndarray of shape (n_rows, rank)
        U.
    """

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

    def diagonal(self) -> Array:
        """Return the diagonal, shape (n_rows,)."""
        squares = np.einsum("ir,ir->i", self.factor, self.factor)
        return np.asarray(self.base.diagonal() + squares)

    def solve(
        self, rhs: Array, *, shift: Array, low_rank: Array | None = None
    ) -> Array:
        """Solve (K + U U^T + diag(shift) + V V^T) x = rhs; see `GramMatrix.solve`.

        Parameters
        ----------
        rhs : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Right-hand side.
        shift : ndarray of shape (n_samples,)
            Non-negative diagonal.
        low_rank : ndarray of shape (n_samples, rank), optional
            A further factor V.

        Returns
        -------
        x : ndarray of the shape of `rhs`

        Raises
        ------
        numpy.linalg.LinAlgError
            If the matrix is not positive definite.
        """
        factors = [self.factor] if low_rank is None else [self.factor, low_rank]
        return self.base.solve(rhs, shift=shift, low_rank=np.hstack(factors))


def add_low_rank(gram: GramMatrix, factor: Array) -> GramMatrix:
    """Return K + U U^T: one array where K is one, implicit otherwise.

    Parameters
    ----------
    gram : GramMatrix
        K, square.
    factor : ndarray of shape (n_rows, rank)
        U; nothing is done where it has no columns.

    Returns
    -------
    updated : GramMatrix

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.gram import DenseMatrix
    >>> add_low_rank(DenseMatrix(np.eye(2)), np.array([[1.0], [2.0]])).array
    array([[2., 2.],
           [2., 5.]])
    """
    if factor.shape[1] == 0:
        return gram
    if is_dense(gram):
        total = factor @ factor.T
        total += gram.array
        return DenseMatrix(total)
    return UpdatedMatrix(gram, factor)
