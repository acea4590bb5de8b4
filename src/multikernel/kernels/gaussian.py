"""The Gaussian kernel, and squared distances, which many Gaussian kernels share."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from multikernel._typing import Array
from multikernel._validation import COUNT, POSITIVE, Number, check_parameter
from multikernel.kernels.base import Kernel
from multikernel.kernels.columns import ColumnKernel

WIDTHS = Number(1e-100, 1e100)
"""Widths whose squares neither overflow nor underflow."""

MEDIAN = "median"


def _expect_width(value: object) -> str | None:
    """Return a description of valid kernel widths, or None if the value is valid."""
    if WIDTHS(value) is None:
        return None
    return f"{POSITIVE(value) or WIDTHS(value)}, or 'median'"


@dataclass(frozen=True)
class GaussianKernel:
    r"""The Gaussian kernel :math:`k(x, x') = \exp(-\|x - x'\|^2 / (2 \sigma^2))`.

    Parameters
    ----------
    sigma : float or "median"
        Width in units of the features, from 1e-100 to 1e100. With "median", `fit` sets
        it to `multiple` times the `median_distance` of the training samples on the
        kernel's columns, rounded to three digits; until then, calls raise ValueError.
    multiple : float, default=1.0
        Factor of the median distance, for "median" only.

    Raises
    ------
    ValueError
        If `sigma` or `multiple` is invalid, or a kernel with "median" is called.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.kernels import GaussianKernel
    >>> GaussianKernel(sigma=2.0)(np.array([[0.0], [2.0]])).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """

    sigma: float | str
    multiple: float = 1.0

    def __post_init__(self) -> None:
        check_parameter("GaussianKernel", "multiple", self.multiple, WIDTHS)
        if isinstance(self.sigma, str) and self.sigma == MEDIAN:
            return
        check_parameter("GaussianKernel", "sigma", self.sigma, _expect_width)
        if self.multiple != 1.0:
            raise ValueError(
                "GaussianKernel: multiple requires sigma='median', got "
                f"sigma={self.sigma!r} and multiple={self.multiple!r}: pass "
                "sigma='median', or omit multiple."
            )

    @classmethod
    def grid(
        cls, n: int = 5, low: float = 0.25, high: float = 4.0
    ) -> "list[GaussianKernel]":
        """Return a list of kernels with several widths around the median distance.

        Parameters
        ----------
        n : int, default=5
            Number of kernels, which have ``sigma="median"``.
        low, high : float, default=0.25, 4.0
            Smallest and largest `multiple`, with values between them in logarithmic
            steps. If n is 1, `multiple` is their geometric mean.
        """
        check_parameter("GaussianKernel.grid", "n", n, COUNT)
        for name, value in (("low", low), ("high", high)):
            check_parameter("GaussianKernel.grid", name, value, WIDTHS)
        log_low, log_high = np.log([low, high])
        middle = 0.5 * (log_low + log_high)
        logs = np.linspace(log_low, log_high, n) if n > 1 else [middle]
        return [cls(MEDIAN, float(f"{np.exp(log):.3g}")) for log in logs]

    @property
    def name(self) -> str:
        """Return the readable name."""
        if self.sigma != MEDIAN:
            return f"gaussian(sigma={self.sigma:g})"
        factor = "" if self.multiple == 1.0 else f"{self.multiple:g} "
        return f"gaussian(sigma={factor}{MEDIAN})"

    @property
    def width(self) -> float:
        """Return the width as a number; raise for "median"."""
        if isinstance(self.sigma, str):
            raise ValueError(
                f"{self.name} has no width yet. Estimators compute it from the "
                "training samples. To call the kernel yourself, pass a number as "
                "sigma, such as median_distance(X)."
            )
        return self.sigma

    @property
    def exponent(self) -> float:
        """Return -1 / (2 sigma^2), the factor of the squared distance."""
        width = self.width
        return -0.5 / (width * width)

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the Gram matrix, shape (n_samples_X, n_samples_Y)."""
        # An expansion into inner products would be faster for more than thirty columns,
        # but inaccurate for rows far from zero.
        K = np.asarray(cdist(X, X if Y is None else Y, "sqeuclidean"))
        K *= self.exponent
        return np.exp(K, out=K)

    def diag(self, X: Array) -> Array:
        """Return ones, shape (n_samples,)."""
        return np.ones(X.shape[0])


@dataclass(frozen=True)
class RadialForm:
    """The kernel exp(exponent |x - x'|^2) on some columns, with a negative exponent."""

    columns: tuple[int, ...] | None  # None: all columns
    exponent: float


def radial_form(kernel: Kernel) -> RadialForm | None:
    """Return the `RadialForm` of a Gaussian kernel; None for all other kernels."""
    # A subclass may compute something else, so types are compared exactly.
    columns = None
    if type(kernel) is ColumnKernel and isinstance(kernel.columns, tuple):
        columns, kernel = kernel.columns, kernel.kernel
    # `RadialForm` stores column indices, so a kernel on a slice or on column names has
    # none. Columns are all indices or all names.
    if type(kernel) is not GaussianKernel or (columns and isinstance(columns[0], str)):
        return None
    return RadialForm(columns, kernel.exponent)
