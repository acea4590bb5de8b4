"""Half the gamma deviance: regression on positive amounts with a log link."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp, xlog1py

from multikernel._typing import Array
from multikernel.losses.base import log_difference

FARTHEST = -500.0
"""Smallest f - log y; below it, a tangent replaces the loss to avoid overflow."""


@dataclass(frozen=True)
class GammaLoss:
    r"""Half the gamma deviance of positive targets with mean exp(f) [1]_.

    .. math:: \ell(y, f) = f + y e^{-f} - 1 - \log y, \qquad y > 0

    The conjugate is :math:`w \log w + u + u \log y` for :math:`w = 1 - u \ge 0`. A
    target's standard deviation is proportional to its mean.

    References
    ----------
    .. [1] McCullagh, P. and Nelder, J. A. (1989). Generalized Linear Models, chapter 8.
       Chapman and Hall. https://doi.org/10.1201/9780203753736

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.losses import GammaLoss
    >>> GammaLoss().value(np.ones(2), np.log([1.0, 2.0]))
    array([0.        , 0.19314718])
    """

    tasks: ClassVar[tuple[str, ...]] = ("regression",)
    link: ClassVar[str] = "log"
    deviance: ClassVar[tuple[str, float]] = ("tweedie", 2.0)

    def value(self, y: Array, f: Array) -> Array:
        """Return half the deviances, z + exp(-z) - 1 with z = f - log y."""
        z = log_difference(f, np.log(y))
        clipped = np.maximum(z, FARTHEST)
        ratio = np.exp(-clipped)
        return clipped + np.expm1(-clipped) + (z - clipped) * (1.0 - ratio)

    def gradient(self, y: Array, f: Array) -> Array:
        """Return 1 - y / exp(f)."""
        difference = log_difference(f, np.log(y))
        slope: Array = -np.expm1(-np.maximum(difference, FARTHEST))
        return slope

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return w log w + u + u log y with w = 1 - u, infinity for w < 0."""
        is_inside = u <= 1.0
        slope = np.where(is_inside, u, 0.0)
        # Avoids 1 - u, in which small u lose their digits.
        entropy: Array = np.asarray(xlog1py(1.0 - slope, -slope), dtype=np.float64)
        return np.where(is_inside, (entropy + slope) + slope * np.log(y), np.inf)

    def conjugate_gradient(self, y: Array, u: Array) -> Array:
        """Return the conjugate's derivative, log(y / (1 - u))."""
        return np.log(y) - np.log1p(-u)

    def conjugate_hessian(self, y: Array, u: Array) -> Array:
        """Return the conjugate's second derivative, 1 / (1 - u)."""
        return 1.0 / (1.0 - u)

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        """Return the ends of the conjugate's domain, (-inf, 1]."""
        return np.full_like(y, -np.inf), np.ones_like(y)

    def best_constant(self, y: Array, f: Array, weights: Array) -> float:
        """Return the b that minimizes the sum of weights times losses at f + b."""
        return float(logsumexp(np.log(y) - f, b=weights) - np.log(weights.sum()))

    def absorbed(self, y: Array, offset: Array) -> tuple[Array, Array]:
        """Return targets divided by exp(offset), and weights of one."""
        return y * np.exp(-offset), np.ones_like(y)

    def unsuitable(self, y: Array) -> str | None:
        """Return why the gamma loss does not support the targets, or None."""
        if np.min(y) <= 0.0:
            return (
                "the gamma loss requires y > 0, but the smallest y is "
                f"{np.min(y):g}: use another loss"
            )
        return None
