"""The pinball loss: regression on a quantile."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from multikernel._typing import Array


@dataclass(frozen=True)
class PinballLoss:
    r"""Absolute errors with two slopes; the best constant is a quantile [1]_.

    .. math:: \ell(y, f) = \max(\tau (y - f), (1 - \tau) (f - y))

    The conjugate is :math:`\ell^*(y, u) = y u` on :math:`-\tau \le u \le 1 - \tau`.

    Parameters
    ----------
    quantile : float, default=0.5
        The level :math:`\tau` in (0, 1); with 0.5, the loss is half the absolute error.

    References
    ----------
    .. [1] Koenker, R. and Bassett, G. (1978). Regression quantiles. Econometrica 46,
       33-50. https://doi.org/10.2307/1913643

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.losses import PinballLoss
    >>> PinballLoss(quantile=0.9).value(np.zeros(2), np.array([-1.0, 1.0]))
    array([0.9, 0.1])
    """

    tasks: ClassVar[tuple[str, ...]] = ("regression",)
    shift_equivariant: ClassVar[bool] = True
    degree: ClassVar[int] = 1

    quantile: float = 0.5

    def __post_init__(self) -> None:
        if not 0.0 < self.quantile < 1.0:
            raise ValueError(
                f"quantile must be above 0 and below 1, got {self.quantile}."
            )

    @property
    def deviance(self) -> tuple[str, float]:
        """Name and argument of scikit-learn's D^2 score for this loss."""
        return "pinball", self.quantile

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss of each sample."""
        error = y - f
        return np.maximum(self.quantile * error, (self.quantile - 1.0) * error)

    def gradient(self, y: Array, f: Array) -> Array:
        """Return a subgradient: -quantile where f < y, 1 - quantile elsewhere."""
        return np.where(f < y, -self.quantile, 1.0 - self.quantile)

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return y u within `dual_bounds`, infinity outside."""
        lower, upper = self.dual_bounds(y)
        return np.where((u >= lower) & (u <= upper), y * u, np.inf)

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        """Return the ends of the conjugate's domain, [-quantile, 1 - quantile]."""
        return np.full_like(y, -self.quantile), np.full_like(y, 1.0 - self.quantile)

    def dual_pieces(self, y: Array) -> tuple[Array, Array, Array]:
        """Return signs, costs and bounds of two pieces, for u > 0 and for u < 0."""
        ones = np.ones_like(y)
        signs = np.stack([ones, -ones])
        sizes = np.stack([(1.0 - self.quantile) * ones, self.quantile * ones])
        return signs, signs * y, sizes
