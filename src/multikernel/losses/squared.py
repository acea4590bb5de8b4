"""The squared loss: regression, and least-squares classification."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from multikernel._typing import Array


@dataclass(frozen=True)
class SquaredLoss:
    r"""Half the squared error, :math:`\ell(y, f) = (y - f)^2 / 2`.

    Its conjugate is :math:`\ell^*(y, u) = u^2 / 2 + y u`, finite everywhere.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.losses import SquaredLoss
    >>> SquaredLoss().value(np.zeros(2), np.array([0.5, 3.0]))
    array([0.125, 4.5  ])
    """

    tasks: ClassVar[tuple[str, ...]] = ("classification", "regression")
    shift_equivariant: ClassVar[bool] = True
    degree: ClassVar[int] = 2

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss of each sample."""
        return 0.5 * (y - f) ** 2

    def gradient(self, y: Array, f: Array) -> Array:
        """Return f - y."""
        return f - y

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return u^2 / 2 + y u."""
        return u * (0.5 * u + y)

    def conjugate_gradient(self, y: Array, u: Array) -> Array:
        """Return the conjugate's derivative, u + y."""
        return u + y

    def conjugate_hessian(self, y: Array, u: Array) -> Array:
        """Return the conjugate's second derivative, ones."""
        return np.ones_like(u)

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        """Return the ends of the conjugate's domain, (-inf, inf)."""
        return np.full_like(y, -np.inf), np.full_like(y, np.inf)
