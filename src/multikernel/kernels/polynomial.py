"""Kernels of inner products: linear, polynomial and Tanimoto."""

from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array
from multikernel._validation import COUNT, NON_NEGATIVE, POSITIVE, check_parameter


def inner_products(X: Array, Y: Array | None = None) -> Array:
    r"""Return the inner products of all rows of X with all rows of Y, by default X."""
    A = np.ascontiguousarray(X)
    # For contiguous rows, NumPy computes A @ A.T by a symmetric rank-k update, which
    # halves the work and is exactly symmetric.
    return np.asarray(A @ (A if Y is None else Y).T)


@dataclass(frozen=True)
class LinearKernel:
    r"""The linear kernel :math:`k(x, x') = \langle x, x' \rangle`.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.kernels import LinearKernel
    >>> LinearKernel()(np.array([[1.0], [2.0]]))
    array([[1., 2.],
           [2., 4.]])
    """

    name = "linear()"

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the Gram matrix, shape (n_samples_X, n_samples_Y)."""
        return inner_products(X, Y)

    def diag(self, X: Array) -> Array:
        """Return the squared norm of every row, shape (n_samples,)."""
        return np.asarray(np.einsum("ij,ij->i", X, X))


@dataclass(frozen=True)
class PolynomialKernel:
    r"""The polynomial kernel :math:`k(x, x') = (s \langle x, x' \rangle + c)^q`.

    Parameters
    ----------
    degree : int
        Degree q, at least 1.
    offset, scale : float, default=1.0
        Constant c, at least 0, and positive factor s.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.kernels import PolynomialKernel
    >>> PolynomialKernel(degree=2)(np.array([[1.0], [2.0]]))
    array([[ 4.,  9.],
           [ 9., 25.]])
    """

    degree: int
    offset: float = 1.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_parameter("PolynomialKernel", "degree", self.degree, COUNT)
        check_parameter("PolynomialKernel", "offset", self.offset, NON_NEGATIVE)
        check_parameter("PolynomialKernel", "scale", self.scale, POSITIVE)

    @property
    def name(self) -> str:
        """Return the readable name, without default parameters."""
        parts = [f"degree={self.degree}"]
        if self.offset != 1.0:
            parts.append(f"offset={self.offset:g}")
        if self.scale != 1.0:
            parts.append(f"scale={self.scale:g}")
        return f"polynomial({', '.join(parts)})"

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the Gram matrix, shape (n_samples_X, n_samples_Y)."""
        return self._power(inner_products(X, Y))

    def diag(self, X: Array) -> Array:
        """Return k(x, x) for every row, shape (n_samples,)."""
        return self._power(np.einsum("ij,ij->i", X, X))

    def _power(self, inner: Array) -> Array:
        """Return the kernel values of inner products, which are overwritten."""
        if self.scale != 1.0:
            inner *= self.scale
        inner += self.offset
        if self.degree == 1:
            return inner
        if self.degree == 2:
            inner *= inner
            return inner
        value = inner * inner
        for _ in range(self.degree - 2):
            value *= inner
        return value


@dataclass(frozen=True)
class TanimotoKernel:
    r"""The Tanimoto kernel on bits or counts, such as molecular fingerprints [1]_.

    .. math:: k(x, z) = \frac{\langle x, z \rangle}
        {\|x\|^2 + \|z\|^2 - \langle x, z \rangle}

    On bits it is the number of common bits divided by the number of bits set in either
    sample. Two zero vectors have the value 1. Do not standardize the columns.

    References
    ----------
    .. [1] Ralaivola, Swamidass, Saigo, Baldi (2005). Graph kernels for chemical
       informatics. Neural Networks 18, 1093-1110.
       https://doi.org/10.1016/j.neunet.2005.07.009

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.kernels import TanimotoKernel
    >>> TanimotoKernel()(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])).round(4)
    array([[1.    , 0.3333],
           [0.3333, 1.    ]])
    """

    # The kernel is positive semidefinite for any real vectors, as a power series with
    # positive coefficients in <x, z> / (|x|^2 + |z|^2).

    name = "tanimoto()"

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the Gram matrix, shape (n_samples_X, n_samples_Y)."""
        rows = np.einsum("ij,ij->i", X, X)
        columns = rows if Y is None else np.einsum("ij,ij->i", Y, Y)
        return tanimoto_values(inner_products(X, Y), rows, columns)

    def diag(self, X: Array) -> Array:
        """Return ones, shape (n_samples,)."""
        return np.ones(X.shape[0])


def tanimoto_values(inner: Array, row_squares: Array, column_squares: Array) -> Array:
    """Return Tanimoto values from the inner products and squared norms of samples."""
    total = row_squares[:, None] + column_squares
    ones = np.ones(inner.shape)  # for pairs of zero vectors
    return np.divide(inner, total - inner, out=ones, where=total > 0.0)
