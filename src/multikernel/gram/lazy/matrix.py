"""A weighted sum of Gram matrices that are recomputed when needed."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.linalg import LinAlgError
from scipy.sparse.linalg import LinearOperator, cg

from multikernel._typing import Array, Indices
from multikernel.gram.matrix import GramMatrix

if TYPE_CHECKING:
    from multikernel.gram.lazy.stack import LazyStack


@dataclass(frozen=True, eq=False)
class LazyMatrix(GramMatrix):
    """The sum of weights[m] K_m over a lazy stack, never held.

    Parameters
    ----------
    stack : LazyStack
        The matrices.
    weights : ndarray of shape (n_kernels,)
        Their weights.
    note : callable, optional
        Told how many entries are computed, every time.
    """

    stack: "LazyStack"
    weights: Array
    note: Callable[[float], None] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n_rows, n_cols)."""
        return self.stack.shape[1], self.stack.shape[2]

    def matvec(self, v: Array) -> Array:
        """Return K v, shape (n_rows,) or (n_rows, n_outputs)."""
        image = np.zeros((self.shape[0], *v.shape[1:]))
        self._visit_sums(lambda block: block @ v, image)
        return image

    def compute(self) -> Array:
        """Return the matrix itself, shape (n_rows, n_cols)."""
        total = np.zeros(self.shape)
        self._visit_sums(lambda block: block, total)
        return total

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_rows, n_indices)."""
        return self.between(np.arange(self.shape[0]), indices)

    def between(self, rows: Indices, columns: Indices) -> Array:
        """Return the entries of some rows and columns, shape (n_rows, n_columns)."""
        return replace(self, stack=self.stack.between(rows, columns)).compute()

    def diagonal(self) -> Array:
        """Return the diagonal, shape (n_rows,)."""
        return np.asarray(self.weights @ self.stack.diagonals())

    def solve(
        self, rhs: Array, *, shift: Array, low_rank: Array | None = None
    ) -> Array:
        """Solve (K + diag(shift) + U U^T) x = rhs by conjugate gradients.

        They are preconditioned by the diagonal, and run to a relative residual of
        1e-12; every step computes all kernels once.

        Raises
        ------
        numpy.linalg.LinAlgError
            If the residual does not get there: the matrix is singular, or indefinite.
        """
        n = self.shape[0]
        # An infinite shift fixes its unknown at zero.
        free = np.isfinite(shift).astype(np.float64)
        shift = np.where(free, shift, 1.0)
        U = np.zeros((n, 0)) if low_rank is None else low_rank * free[:, None]
        diagonal = free * self.diagonal() + shift + np.einsum("ij,ij->i", U, U)
        if not np.all(diagonal > 0.0):
            raise LinAlgError(
                "The combined kernel is not positive semidefinite: with the shift its "
                f"diagonal is {diagonal.min():.3g} at row {int(np.argmin(diagonal))}."
            )
        system = LinearOperator(
            (n, n),
            matvec=lambda x: free * self.matvec(free * x) + shift * x + U @ (U.T @ x),
        )
        inverse = LinearOperator((n, n), matvec=lambda x: x / diagonal)
        solutions = []
        for column in (rhs.reshape(n, -1) * free[:, None]).T:
            x, info = cg(system, column, rtol=1e-12, maxiter=10 * n, M=inverse)
            if info != 0 or x @ column < 0.0:
                raise LinAlgError(
                    "Conjugate gradients did not solve the shifted system: the matrix "
                    "is singular or indefinite. Raise dense_bytes, so that it is "
                    "held and factorized, or the shift."
                )
            solutions.append(x)
        return np.stack(solutions, axis=1).reshape(rhs.shape)

    def _visit_sums(self, image: Callable[[Array], Array], total: Array) -> None:
        """Add the images of the sum's rows, computed block by block."""
        if self.note is not None:
            n_kernels, n_rows, n_cols = self.stack.shape
            self.note(float(n_kernels) * n_rows * self.stack.row_length(n_cols))

        def summed(kernels: Indices, rows: slice, block: Array) -> tuple[slice, Array]:
            return rows, image(np.tensordot(self.weights[kernels], block, axes=1))

        def add(part: tuple[slice, Array]) -> None:
            rows, values = part
            total[rows] += values

        self.stack.sum_blocks(summed, add)
