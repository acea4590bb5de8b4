"""The Tanimoto kernel on fingerprints."""

from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array
from multikernel.kernels.polynomial import inner_products


@dataclass(frozen=True)
class TanimotoKernel:
    r"""The Tanimoto kernel on bits or counts, such as molecular fingerprints.

    .. math:: k(x, z) = \frac{\langle x, z \rangle}
        {\|x\|^2 + \|z\|^2 - \langle x, z \rangle}

    (section 3.2 of [1]_). On bits it is the number of common bits divided by the number
    of bits set in either. It is positive semidefinite for any real vectors, as a power
    series with positive coefficients in :math:`\langle x, z \rangle / (\|x\|^2 +
    \|z\|^2)`. Two zero vectors have the value 1. Do not standardize the columns.

    References
    ----------
    .. [1] Ralaivola, L., Swamidass, S. J., Saigo, H. and Baldi, P. (2005). Graph
       kernels for chemical informatics. Neural Networks 18, 1093-1110.
       https://doi.org/10.1016/j.neunet.2005.07.009

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.kernels import TanimotoKernel
    >>> TanimotoKernel()(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])).round(4)
    array([[1.    , 0.3333],
           [0.3333, 1.    ]])
    """

    @property
    def name(self) -> str:
        """Return the readable name."""
        return "tanimoto()"

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the Gram matrix, shape (n_samples_X, n_samples_Y)."""
        rows = np.einsum("ij,ij->i", X, X)
        columns = rows if Y is None else np.einsum("ij,ij->i", Y, Y)
        return tanimoto_of(inner_products(X, Y), rows, columns)

    def diag(self, X: Array) -> Array:
        """Return ones, shape (n_samples,)."""
        return np.ones(X.shape[0])


def tanimoto_of(inner: Array, rows: Array, columns: Array) -> Array:
    """Return Tanimoto values from inner products and squared norms of both sides."""
    total = rows[:, None] + columns
    ones = np.ones(inner.shape)  # for pairs of zero vectors
    return np.divide(inner, total - inner, out=ones, where=total > 0.0)
