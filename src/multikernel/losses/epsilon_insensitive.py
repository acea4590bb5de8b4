"""The epsilon-insensitive loss: support vector regression."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from multikernel._typing import Array


@dataclass(frozen=True)
class EpsilonInsensitiveLoss:
    r"""Absolute error outside a tube, :math:`\max(0, |y - f| - \varepsilon)`.

    The conjugate is :math:`\ell^*(y, u) = y u + \varepsilon |u|` on :math:`|u| \le 1`.

    Parameters
    ----------
    epsilon : float, default=0.1
        Nonnegative half-width of the tube, in units of y.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.losses import EpsilonInsensitiveLoss
    >>> EpsilonInsensitiveLoss(epsilon=0.5).value(np.zeros(2), np.array([0.25, 2.0]))
    array([0. , 1.5])
    """

    tasks: ClassVar[tuple[str, ...]] = ("regression",)
    shift_equivariant: ClassVar[bool] = True
    degree: ClassVar[int] = 1
    length: ClassVar[str] = "epsilon"
    standard_length: ClassVar[float] = 0.1

    epsilon: float = 0.1

    def __post_init__(self) -> None:
        if not (np.isfinite(self.epsilon) and self.epsilon >= 0.0):
            raise ValueError(
                f"epsilon must be finite and not negative, got {self.epsilon}."
            )

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss of each sample."""
        return np.maximum(0.0, np.abs(y - f) - self.epsilon)

    def gradient(self, y: Array, f: Array) -> Array:
        """Return a subgradient: the sign of f - y outside the tube, 0 inside."""
        residual = f - y
        return np.where(np.abs(residual) > self.epsilon, np.sign(residual), 0.0)

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return y u + epsilon abs(u) within `dual_bounds`, infinity outside."""
        size = np.abs(u)
        return np.where(size <= 1.0, y * u + self.epsilon * size, np.inf)

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        """Return the ends of the conjugate's domain, [-1, 1]."""
        return -np.ones_like(y), np.ones_like(y)

    def dual_pieces(self, y: Array) -> tuple[Array, Array, Array]:
        """Return signs, costs and bounds of the two pieces u > 0 and u < 0."""
        ones = np.ones((2, *y.shape))
        signs = np.stack([ones[0], -ones[1]])
        return signs, self.epsilon + signs * y, ones
