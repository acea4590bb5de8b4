"""A kernel on a view that some samples do not have."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array
from multikernel.kernels.base import Kernel, check_kernel, kernel_diagonal, kernel_name


def present_rows(X: Array) -> NDArray[np.bool_]:
    """Return which rows have values: where a view is missing, all of it is."""
    return ~np.isnan(X[:, 0]) if X.shape[1] else np.ones(X.shape[0], dtype=bool)


@dataclass(frozen=True)
class OptionalKernel:
    """A kernel that is zero between samples of which one lacks the columns.

    Such a sample, all of whose values are nan, lies at the origin of the kernel's
    space: the kernel's term of the model is zero for it. As a sum of a positive
    semidefinite block and zeros it stays a kernel.

    Parameters
    ----------
    kernel : Kernel
        The kernel between samples that have the columns.

    Raises
    ------
    TypeError
        If `kernel` is no kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.kernels import LinearKernel, OptionalKernel
    >>> OptionalKernel(LinearKernel())(np.array([[2.0], [np.nan]]))
    array([[4., 0.],
           [0., 0.]])
    """

    kernel: Kernel

    def __post_init__(self) -> None:
        check_kernel(self.kernel, "The kernel of an OptionalKernel")

    @property
    def name(self) -> str:
        """Return the name of the kernel."""
        return kernel_name(self.kernel)

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the Gram matrix, shape (n_samples_X, n_samples_Y)."""
        rows = present_rows(X)
        if Y is None:
            columns, values = rows, self.kernel(X[rows])
        else:
            columns = present_rows(Y)
            values = self.kernel(X[rows], Y[columns])
        K = np.zeros((rows.size, columns.size))
        K[np.ix_(rows, columns)] = values
        return K

    def diag(self, X: Array) -> Array:
        """Return k(x, x) for every row, shape (n_samples_X,)."""
        rows = present_rows(X)
        diagonal = np.zeros(rows.size)
        diagonal[rows] = kernel_diagonal(self.kernel, X[rows])
        return diagonal
