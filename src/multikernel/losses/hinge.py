"""The hinge loss: support vector classification."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from multikernel._typing import Array


@dataclass(frozen=True)
class HingeLoss:
    r"""Margin violation, :math:`\ell(y, f) = \max(0, 1 - y f)`, y = -1 or +1.

    The conjugate is :math:`\ell^*(y, u) = y u` on :math:`-1 \le y u \le 0`.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.losses import HingeLoss
    >>> HingeLoss().value(np.array([1.0, -1.0]), np.array([0.25, 0.25]))
    array([0.75, 1.25])
    """

    tasks: ClassVar[tuple[str, ...]] = ("classification",)

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss of each sample."""
        return np.maximum(0.0, 1.0 - y * f)

    def gradient(self, y: Array, f: Array) -> Array:
        """Return a subgradient: -y inside the margin, 0 elsewhere."""
        return np.where(y * f < 1.0, -y, 0.0)

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return y u within `dual_bounds`, infinity outside."""
        yu = y * u
        return np.where((yu >= -1.0) & (yu <= 0.0), yu, np.inf)

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        """Return the interval between 0 and -y."""
        return np.minimum(-y, 0.0), np.maximum(-y, 0.0)

    def dual_pieces(self, y: Array) -> tuple[Array, Array, Array]:
        """Return the sign -y, cost -1 and bound 1 of one piece p, with u = -y p."""
        ones = np.ones((1, *y.shape))
        return -y[None, :], -ones, ones
