"""Half the Poisson deviance: regression on counts with a log link."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp, xlog1py, xlogy

from multikernel._typing import Array
from multikernel.losses.base import log_difference, log_rounding

FARTHEST = 500.0
"""Decision value above which the loss is replaced by its tangent to avoid overflow."""


@dataclass(frozen=True)
class PoissonLoss:
    r"""Half the Poisson deviance of counts with mean exp(f) [1]_.

    .. math:: \ell(y, f) = e^f - y f + y \log y - y, \qquad y \ge 0

    The conjugate is :math:`v \log v - v - y \log y + y` for :math:`v = y + u \ge 0`.

    References
    ----------
    .. [1] McCullagh, P. and Nelder, J. A. (1989). Generalized Linear Models, section
       2.3. Chapman and Hall. https://doi.org/10.1201/9780203753736

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.losses import PoissonLoss
    >>> PoissonLoss().value(np.ones(2), np.log([1.0, 2.0]))
    array([0.        , 0.30685282])
    """

    tasks: ClassVar[tuple[str, ...]] = ("regression",)
    link: ClassVar[str] = "log"
    deviance: ClassVar[tuple[str, float]] = ("tweedie", 1.0)

    def value(self, y: Array, f: Array) -> Array:
        """Return half the deviances; above `FARTHEST`, the tangent."""
        clipped = np.minimum(f, FARTHEST)
        tangent_part = (f - clipped) * np.exp(clipped)
        counts = np.where(y > 0.0, y, 1.0)
        # With t = f - log y the loss is y (e^t - 1 - t), which is accurate near the
        # mean.
        ratio = log_difference(clipped, np.log(counts))
        positive_case = counts * (np.expm1(ratio) - ratio) - y * (f - clipped)
        return np.where(y > 0.0, positive_case, np.exp(clipped)) + tangent_part

    def gradient(self, y: Array, f: Array) -> Array:
        """Return exp(f) - y."""
        mean = np.exp(np.minimum(f, FARTHEST))
        is_rounding = np.abs(mean - y) <= log_rounding(f) * mean
        return np.where(is_rounding, 0.0, mean - y)

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return v log v - v - y log y + y with v = y + u, infinity for v < 0."""
        is_inside = y + u >= 0.0
        counts, slopes = np.where(y > 0.0, y, 1.0), np.where(is_inside, u, 0.0)
        ratio = np.maximum(slopes / counts, -1.0)
        positive_case = slopes * np.log(counts)
        positive_case += counts * (xlog1py(1.0 + ratio, ratio) - ratio)
        zero_case = xlogy(slopes, np.maximum(slopes, 0.0)) - slopes
        return np.where(is_inside, np.where(y > 0.0, positive_case, zero_case), np.inf)

    def conjugate_gradient(self, y: Array, u: Array) -> Array:
        """Return the conjugate's derivative, log(y + u)."""
        return np.log(y + u)

    def conjugate_hessian(self, y: Array, u: Array) -> Array:
        """Return the conjugate's second derivative, 1 / (y + u)."""
        return 1.0 / (y + u)

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        """Return the ends of the conjugate's domain, [-y, inf)."""
        return -y, np.full_like(y, np.inf)

    def best_constant(self, y: Array, f: Array, weights: Array) -> float:
        """Return the b that minimizes the sum of weights times losses at f + b."""
        return float(np.log(weights @ y) - logsumexp(f, b=weights))

    def absorbed(self, y: Array, offset: Array) -> tuple[Array, Array]:
        """Return targets y / exp(offset), and weights exp(offset)."""
        # l(y, f + o) = e^o l(y e^-o, f).
        exposure: Array = np.exp(offset)
        return y / exposure, exposure

    def unsuitable(self, y: Array) -> str | None:
        """Return why the Poisson loss does not support the targets, or None."""
        if np.min(y) < 0.0:
            return (
                "the Poisson loss requires y >= 0, but the smallest y is "
                f"{np.min(y):g}: use another loss"
            )
        if not np.all(np.any(y > 0.0, axis=0)):
            return (
                "the Poisson loss requires a count above 0, but all y are 0: include "
                "samples with y > 0"
            )
        return None
