"""Protocols of the storage layer: one Gram matrix, and a stack of them.

The storage back end owns the linear algebra, so no solver ever asks how a stack is
held. Arrays cross this boundary as float64 NumPy arrays, whatever the storage.
"""

from typing import Protocol, TypeGuard, runtime_checkable

from multikernel._typing import Array, Indices


@runtime_checkable
class GramMatrix(Protocol):
    """One (possibly implicit) kernel matrix of shape (n_rows, n_cols)."""

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n_rows, n_cols)."""
        ...

    def matvec(self, v: Array) -> Array:
        """Return K v, shape (n_rows,) or (n_rows, n_outputs)."""
        ...

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_rows, n_indices)."""
        ...

    def diagonal(self) -> Array:
        """Return the diagonal, shape (n_rows,)."""
        ...

    def solve(
        self, rhs: Array, *, shift: Array, low_rank: Array | None = None
    ) -> Array:
        """Solve (K + diag(shift) + U U^T) x = rhs.

        Parameters
        ----------
        rhs : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Right-hand side.
        shift : ndarray of shape (n_samples,)
            Non-negative diagonal.
        low_rank : ndarray of shape (n_samples, rank), optional
            The factor U.

        Returns
        -------
        x : ndarray of the shape of `rhs`

        Raises
        ------
        numpy.linalg.LinAlgError
            If the matrix is not positive definite.
        """
        ...


class DenseGram(GramMatrix, Protocol):
    """A Gram matrix held in one array, which loops may read in place."""

    @property
    def array(self) -> Array:
        """Return the matrix itself, shape (n_rows, n_cols); not to be changed."""
        ...


def is_dense(gram: GramMatrix) -> TypeGuard[DenseGram]:
    """Return whether a matrix is a `DenseGram`.

    As `is_polyhedral` of the losses: an `isinstance` of this protocol took 4 % of a
    search over C on 155 samples.
    """
    return hasattr(gram, "array")


@runtime_checkable
class GramStack(Protocol):
    """The matrices K_1, ..., K_M behind one storage policy."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (n_kernels, n_rows, n_cols)."""
        ...

    def quadratic_forms(self, v: Array) -> Array:
        """Return v^T K_m v for every m, shape (n_kernels,).

        For v of shape (n_samples, n_outputs) the forms are summed over the outputs,
        tr(v^T K_m v). One call is one *pass*, the unit of cost of every solver.
        """
        ...

    def matvec(self, v: Array) -> Array:
        """Return K_m v for every m, shape (n_kernels, n_rows[, n_outputs])."""
        ...

    def block_matvec(self, coefs: Array) -> Array:
        """Return K_m coefs[m] for every m, shape (n_kernels, n_rows[, n_outputs])."""
        ...

    def combine(self, weights: Array) -> GramMatrix:
        """Return sum_m weights[m] K_m as one matrix."""
        ...

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_kernels, n_rows, n_indices)."""
        ...

    def diagonals(self) -> Array:
        """Return every diagonal, shape (n_kernels, n_rows)."""
        ...

    def take(self, kernels: Indices) -> "GramStack":
        """Return the stack of the chosen kernels (a view where possible)."""
        ...

    def restrict(self, rows: Indices, cols: Indices) -> "GramStack":
        """Return the stack on the chosen samples (a view where possible)."""
        ...
