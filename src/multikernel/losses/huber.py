"""Huber's loss: regression that is robust to outliers."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from multikernel._typing import Array


@dataclass(frozen=True)
class HuberLoss:
    r"""Half the squared error up to delta, and its tangent beyond [1]_.

    .. math:: \ell(y, f) = \tfrac12 r^2 \text{ for } |r| \le \delta, \quad
        \delta |r| - \tfrac12 \delta^2 \text{ otherwise}, \qquad r = y - f

    The conjugate is :math:`\ell^*(y, u) = u^2 / 2 + y u` on :math:`|u| \le \delta`.

    Parameters
    ----------
    delta : float, default=1.0
        Positive error above which the loss is linear, in units of y.

    References
    ----------
    .. [1] Huber, P. J. (1964). Robust estimation of a location parameter. Ann. Math.
       Statist. 35, 73-101. https://doi.org/10.1214/aoms/1177703732

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.losses import HuberLoss
    >>> HuberLoss(delta=1.0).value(np.zeros(2), np.array([0.5, 3.0]))
    array([0.125, 2.5  ])
    """

    tasks: ClassVar[tuple[str, ...]] = ("regression",)
    shift_equivariant: ClassVar[bool] = True
    degree: ClassVar[int] = 2
    length: ClassVar[str] = "delta"
    # 1.345 standard deviations of the error (95 % efficiency for normal errors) if a
    # model explains three quarters of the variance.
    standard_length: ClassVar[float] = 0.7
    """Default delta if y has standard deviation one."""

    delta: float = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.delta) and self.delta > 0.0):
            raise ValueError(f"delta must be positive and finite, got {self.delta}.")

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss of each sample."""
        distance = np.abs(f - y)
        clipped = np.minimum(distance, self.delta)
        return clipped * (distance - 0.5 * clipped)

    def gradient(self, y: Array, f: Array) -> Array:
        """Return f - y, clipped to [-delta, delta]."""
        return np.clip(f - y, -self.delta, self.delta)

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return u^2 / 2 + y u within `dual_bounds`, infinity outside."""
        return np.where(np.abs(u) <= self.delta, u * (0.5 * u + y), np.inf)

    def conjugate_gradient(self, y: Array, u: Array) -> Array:
        """Return the conjugate's derivative, u + y."""
        return u + y

    def conjugate_hessian(self, y: Array, u: Array) -> Array:
        """Return the conjugate's second derivative, ones."""
        return np.ones_like(u)

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        """Return the ends of the conjugate's domain, [-delta, delta]."""
        return np.full_like(y, -self.delta), np.full_like(y, self.delta)
