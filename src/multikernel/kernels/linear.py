"""The linear kernel."""

from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array
from multikernel.kernels.distances import inner_products


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

    @property
    def name(self) -> str:
        """Return the readable name."""
        return "linear()"

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the Gram matrix.

        Parameters
        ----------
        X : ndarray of shape (n_samples_X, n_features)
            Rows.
        Y : ndarray of shape (n_samples_Y, n_features), optional
            Rows of the second set, `X` when left out.

        Returns
        -------
        K : ndarray of shape (n_samples_X, n_samples_Y)
        """
        return inner_products(X, Y)

    def diag(self, X: Array) -> Array:
        """Return the squared norm of every row, shape (n_samples,)."""
        return np.asarray(np.einsum("ij,ij->i", X, X))
