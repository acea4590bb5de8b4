"""The Gaussian kernel."""

from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array
from multikernel._validation import POSITIVE, Number, check_parameter
from multikernel.kernels.distances import squared_distances

WIDTHS = Number(1e-100, 1e100)
"""Widths whose squares are numbers, too."""


@dataclass(frozen=True)
class GaussianKernel:
    r"""The Gaussian kernel :math:`k(x, x') = \exp(-\|x - x'\|^2 / (2 \sigma^2))`.

    Parameters
    ----------
    sigma : float
        Width, positive, in the units of the features; from 1e-100 to 1e100.

    Raises
    ------
    ValueError
        If `sigma` is not a positive finite number.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.kernels import GaussianKernel
    >>> kernel = GaussianKernel(sigma=2.0)
    >>> kernel.name
    'gaussian(sigma=2)'
    >>> kernel(np.array([[0.0], [2.0]])).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """

    sigma: float

    def __post_init__(self) -> None:
        check_parameter("GaussianKernel", "sigma", self.sigma, POSITIVE)
        check_parameter("GaussianKernel", "sigma", self.sigma, WIDTHS)

    @property
    def name(self) -> str:
        """Return the readable name."""
        return f"gaussian(sigma={self.sigma:g})"

    @property
    def exponent(self) -> float:
        """Return -1 / (2 sigma^2), the factor of the squared distance."""
        return -0.5 / (self.sigma * self.sigma)

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
        K = squared_distances(X, Y)
        K *= self.exponent
        return np.exp(K, out=K)

    def diag(self, X: Array) -> Array:
        """Return ones, shape (n_samples,)."""
        return np.ones(X.shape[0])
