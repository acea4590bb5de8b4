"""The kernel on categories."""

from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array


@dataclass(frozen=True)
class CategoryKernel:
    """The share of columns on which two samples have the same value.

    Columns of a data frame may contain text, booleans or pandas categories. A category
    that is unknown at prediction matches no training sample.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.kernels import CategoryKernel
    >>> CategoryKernel()(np.array([[0.0, 1.0], [0.0, 2.0]]))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    name = "category()"

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the Gram matrix, shape (n_samples_X, n_samples_Y)."""
        Z = X if Y is None else Y
        K = np.zeros((X.shape[0], Z.shape[0]))
        for column in range(X.shape[1]):
            K += X[:, column, None] == Z[None, :, column]
        K /= X.shape[1]
        return K

    def diag(self, X: Array) -> Array:
        """Return ones, shape (n_samples,)."""
        return np.ones(X.shape[0])
