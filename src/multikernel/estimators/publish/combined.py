"""The learned combination of kernels, as one kernel for any kernel method."""

from collections.abc import Mapping

import numpy as np
from scipy.sparse import issparse
from sklearn.gaussian_process.kernels import Kernel

from multikernel._typing import Array
from multikernel.estimators.publish.predict import CrossGrams
from multikernel.estimators.read.kinds import names_of
from multikernel.estimators.read.numbers import open_data
from multikernel.estimators.read.tables import (
    TEXT_FEATURES,
    Columns,
    check_predict_data,
)
from multikernel.kernels.base import checked_values
from multikernel.linalg.tables import row_chunks


class CombinedKernelData(Columns):
    """Columns of a combined kernel's data; scikit-learn's errors name this class."""


class CombinedKernel(Kernel):
    """A sum of normalized kernels with fixed weights, for any kernel method."""

    # The kernel has no parameters, so a Gaussian process does not change it. In
    # ``ConstantKernel() * model.combined_kernel_ + WhiteKernel()`` the process learns
    # the scale and the noise. `columns` are the attributes with which a fitted model
    # compares new data, see `Columns.of_model`.
    def __init__(
        self, grams: CrossGrams, weights: Array, columns: Mapping[str, object]
    ) -> None:
        self.grams = grams
        self.weights = weights
        self.columns = columns

    def __call__(
        self, X: object, Y: object = None, eval_gradient: bool = False
    ) -> Array | tuple[Array, Array]:
        """Return the kernel matrix between the samples X and Y; Y defaults to X."""
        # With `eval_gradient`, also return an empty gradient: no parameter varies.
        rows = self._read_samples(X)
        K = self._matrix(rows, rows if Y is None else self._read_samples(Y))
        if eval_gradient:
            return K, np.empty((*K.shape, 0))
        return K

    def diag(self, X: object) -> Array:
        """Return k(x, x) of all samples, shape (n_samples,)."""
        rows = self._read_samples(X)
        # Only matrices are available, so take the diagonals of square blocks.
        blocks = [rows[chunk] for chunk in row_chunks(len(rows), 2**15)]
        diagonals = [np.diag(self._matrix(block, block)) for block in blocks]
        return np.concatenate([*diagonals, np.empty(0)])

    def _read_samples(self, X: object) -> Array:
        """Return samples in the form that the kernels require."""
        # X has the same columns as in the fit: numbers, sequences, categories, or names
        # of rows of given matrices. Columns without names are matched by position.
        attributes, table = dict(self.columns), open_data(X, "X")
        if names_of(table) is None:
            attributes.pop("feature_names_in_", None)
            # Some callers pass single samples as vectors.
            if not (issparse(table) or table.dtype.kind in "OUS"):
                table = np.atleast_2d(table)
        columns = CombinedKernelData()
        for name, value in attributes.items():
            setattr(columns, name, value)
        return check_predict_data(columns, table, precomputed=False)

    def _matrix(self, rows: Array, cols: Array) -> Array:
        """Return the kernel between validated samples, shape (n_rows, n_cols)."""
        shape = rows.shape[0], cols.shape[0]

        def sum_kernels() -> Array:
            K = np.zeros(shape)
            for position, weight in enumerate(self.weights):
                K += weight * self.grams.between(rows, cols, position)
            return K

        return checked_values(sum_kernels, shape, repr(self))

    @property
    def requires_vector_input(self) -> bool:
        """Whether samples are rows of numbers, not text or categories."""
        return not any(name in self.columns for name in TEXT_FEATURES)

    def is_stationary(self) -> bool:
        """Return False: the kernels may be of any type."""
        return False

    def __repr__(self) -> str:
        return f"CombinedKernel({len(self.weights)} kernels)"
