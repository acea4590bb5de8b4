"""Kernels on sparse tables, whose rows are packed as pairs (column, value)."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from multikernel._typing import Array
from multikernel.kernels.base import Kernel, check_kernel, kernel_name
from multikernel.kernels.columns import label_of
from multikernel.kernels.gaussian import GaussianKernel
from multikernel.kernels.given import FunctionKernel
from multikernel.kernels.polynomial import (
    LinearKernel,
    PolynomialKernel,
    TanimotoKernel,
    tanimoto_values,
)

FUNCTIONS = ("cosine", "linear", "poly", "polynomial", "rbf")
"""Functions of scikit-learn that return dense values for two sparse tables."""


def supports_sparse(kernel: Kernel) -> bool:
    """Return whether a kernel supports sparse tables."""
    if type(kernel) is FunctionKernel:
        return kernel.function in FUNCTIONS
    kernel_classes = (GaussianKernel, LinearKernel, PolynomialKernel, TanimotoKernel)
    return type(kernel) in kernel_classes


def pack(X: csr_array) -> Array:
    """Return rows of a CSR table as pairs (column, value), padded with zeros."""
    # Folds, landmarks and model files store rows of numbers. The table must have sorted
    # columns and no stored zeros. The result has shape (n_rows, 2 * the largest number
    # of nonzeros in a row). Columns ascend within a row. They are counted from one,
    # because zeros are padding.
    counts = np.diff(X.indptr)
    pairs = np.zeros((X.shape[0], max(1, counts.max(initial=0)), 2))
    rows = np.repeat(np.arange(X.shape[0]), counts)
    positions = np.arange(X.nnz) - np.repeat(X.indptr[:-1], counts)
    pairs[rows, positions, 0] = X.indices + 1.0
    pairs[rows, positions, 1] = X.data
    return pairs.reshape(X.shape[0], -1)


def unpack(pairs: Array, n_columns: int) -> csr_array:
    """Return packed rows as a CSR table; raise for a column out of range."""
    columns, values = pairs[:, 0::2], pairs[:, 1::2]
    is_stored = columns > 0.0
    indices = columns[is_stored].astype(np.intp) - 1
    if indices.size and indices.max() >= n_columns:
        raise ValueError(
            f"A row of X has a value in column {indices.max()} (counted from 0), but "
            f"the training table has {n_columns} columns: pass a table with the "
            "columns of the fit."
        )
    row_ends = np.concatenate([[0], np.cumsum(is_stored.sum(axis=1))])
    return csr_array((values[is_stored], indices, row_ends), (len(pairs), n_columns))


@dataclass(frozen=True)
class SparseKernel:
    """A kernel on packed rows of a sparse table, on some columns or all."""

    kernel: Kernel
    n_columns: int  # number of columns of the table
    # Positions of the kernel's columns in the table; None: all columns.
    columns: tuple[int, ...] | None = field(default=None, repr=False)
    label: str | None = None  # text in the brackets of the name

    def __post_init__(self) -> None:
        check_kernel(self.kernel, "The kernel of a SparseKernel")

    @property
    def name(self) -> str:
        """Return the name of the kernel with its columns in brackets."""
        if self.columns is None:
            return kernel_name(self.kernel)
        return f"{kernel_name(self.kernel)}[{self.label or label_of(self.columns)}]"

    def table(self, pairs: Array) -> Any:
        """Return the packed rows `pairs` as a CSR table of the kernel's columns."""
        table = unpack(pairs, self.n_columns)
        return table if self.columns is None else table[:, list(self.columns)]

    def nonzero_columns(self, pairs: Array) -> Array:
        """Return packed rows as a dense array, without columns that are all zero."""
        # If all columns are zero, the array is a single zero of shape (1, 1).
        table = self.table(pairs)
        columns = np.unique(table.indices)
        return table[:, columns].toarray() if columns.size else np.zeros((1, 1))

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the Gram matrix, shape (n_samples_X, n_samples_Y)."""
        A = self.table(X)
        B = A if Y is None else self.table(Y)
        if isinstance(self.kernel, FunctionKernel):
            return np.asarray(self.kernel(A, B))
        inner = (A @ B.T).toarray()
        if isinstance(self.kernel, LinearKernel):
            return np.asarray(inner)
        if isinstance(self.kernel, PolynomialKernel):
            return self.kernel._power(inner)
        rows, columns = squared_norms(A), squared_norms(B)
        if isinstance(self.kernel, TanimotoKernel):
            return tanimoto_values(inner, rows, columns)
        assert isinstance(self.kernel, GaussianKernel)
        inner *= -2.0
        inner += rows[:, None] + columns
        # Rounding can make squared distances negative.
        np.maximum(inner, 0.0, out=inner)
        inner *= self.kernel.exponent
        return np.asarray(np.exp(inner, out=inner))

    def diag(self, X: Array) -> Array:
        """Return k(x, x) for every row, shape (n_samples,)."""
        if isinstance(self.kernel, GaussianKernel | TanimotoKernel):
            return np.ones(len(X))
        table = self.table(X)
        if isinstance(self.kernel, FunctionKernel):
            return self.kernel.diag(table)
        norms = squared_norms(table)
        if isinstance(self.kernel, PolynomialKernel):
            return self.kernel._power(norms)
        return norms


def squared_norms(table: csr_array) -> Array:
    """Return the squared norm of every row of a CSR table, shape (n_rows,)."""
    return np.asarray(table.multiply(table).sum(axis=1), dtype=np.float64).ravel()
