"""Quadratic programs in a box, posed as the problem of a machine."""

from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array


@dataclass(frozen=True, eq=False)
class BoxCost:
    r"""A linear cost on a box around zero, in the form of a loss.

    With it a machine with an intercept solves

    .. math:: \min_\rho \; \tfrac12 \rho^\top K \rho + c^\top \rho \quad
        \text{subject to } L \le \rho \le U, \; \textstyle\sum_i \rho_i = 0 .

    Its conjugate at :math:`-\rho` is :math:`c^\top \rho` in the box; targets have no
    meaning.

    Parameters
    ----------
    lower, upper : ndarray of shape (n,)
        L and U, at most and at least zero.
    costs : ndarray of shape (n,)
        c.
    """

    lower: Array
    upper: Array
    costs: Array

    def value(self, y: Array, f: Array) -> Array:
        """Return the largest -(f + c) rho."""
        slope = -(f + self.costs)
        return np.maximum(slope * self.upper, slope * self.lower)

    def gradient(self, y: Array, f: Array) -> Array:
        """Return minus the maximising rho."""
        return np.where(f + self.costs < 0.0, -self.upper, -self.lower)

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return c rho at rho = -u, infinity outside the domain."""
        inside = (u >= -self.upper) & (u <= -self.lower)
        return np.where(inside, -self.costs * u, np.inf)

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        """Return the domain of the conjugate."""
        return -self.upper, -self.lower

    def dual_pieces(self, y: Array) -> tuple[Array, Array, Array]:
        """Return a piece for rho above zero, u = -rho, and one for rho below."""
        one = np.ones_like(self.costs)
        return (
            np.stack([-one, one]),
            np.stack([self.costs, -self.costs]),
            np.stack([self.upper, -self.lower]),
        )
