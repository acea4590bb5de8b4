"""The squared hinge loss: smooth large-margin classification."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from multikernel._typing import Array


@dataclass(frozen=True)
class SquaredHingeLoss:
    r"""Half the squared margin violation, :math:`\max(0, 1 - y f)^2 / 2`, y = -1 or +1.

    The conjugate is :math:`\ell^*(y, u) = u^2 / 2 + y u` on :math:`y u \le 0`.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.losses import SquaredHingeLoss
    >>> SquaredHingeLoss().value(np.array([1.0, -1.0]), np.array([0.0, 1.0]))
    array([0.5, 2. ])
    """

    tasks: ClassVar[tuple[str, ...]] = ("classification",)

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss of each sample."""
        return 0.5 * np.maximum(0.0, 1.0 - y * f) ** 2

    def gradient(self, y: Array, f: Array) -> Array:
        """Return -y times the margin violation."""
        return -y * np.maximum(0.0, 1.0 - y * f)

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return u^2 / 2 + y u within `dual_bounds`, infinity outside."""
        return np.where(y * u <= 0.0, u * (0.5 * u + y), np.inf)

    def conjugate_gradient(self, y: Array, u: Array) -> Array:
        """Return the conjugate's derivative, u + y."""
        return u + y

    def conjugate_hessian(self, y: Array, u: Array) -> Array:
        """Return the conjugate's second derivative, ones."""
        return np.ones_like(u)

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        """Return (-inf, 0] for y = +1, and [0, inf) for y = -1."""
        positive = y > 0.0
        return np.where(positive, -np.inf, 0.0), np.where(positive, 0.0, np.inf)
