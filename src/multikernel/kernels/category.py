"""A kernel on categories: whether two samples agree."""

from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array


@dataclass(frozen=True)
class CategoryKernel:
    r"""The share of columns on which two samples have the same value.

    .. math:: k(x, x') = \frac1d \sum_{j=1}^d 1[x_j = x'_j]

    It is the linear kernel on the indicators of all categories (one-hot codes), over
    the number of columns. In a data frame its columns may hold text, truth values or
    pandas categories: estimators number the categories that they find, in
    ``categories_``, and a category that they have not met matches no training sample.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.kernels import CategoryKernel
    >>> CategoryKernel()(np.array([[0.0, 1.0], [0.0, 2.0]]))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    @property
    def name(self) -> str:
        """Return the readable name."""
        return "category()"

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the Gram matrix, shape (n_samples_X, n_samples_Y)."""
        other = X if Y is None else Y
        K = np.zeros((X.shape[0], other.shape[0]))
        for column in range(X.shape[1]):
            K += X[:, column, None] == other[None, :, column]
        K /= X.shape[1]
        return K

    def diag(self, X: Array) -> Array:
        """Return ones, shape (n_samples,)."""
        return np.ones(X.shape[0])
