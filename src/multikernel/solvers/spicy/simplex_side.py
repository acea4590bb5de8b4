r"""The sides of losses of all classes at once, whose dual points lie on simplices.

A point is :math:`p_i = w_i e_{y_i} - \rho_i`, not negative and of sum :math:`w_i`. The
conjugate of the softmax keeps off the boundary by itself. That of Crammer and Singer's
hinge is linear, so that multipliers :math:`\zeta` do, on the central path
:math:`\zeta p = \mu` with a :math:`\mu` that vanishes with the duality gap, as those of
`BarrierSide` do for boxes.
"""

import numpy as np

from multikernel._typing import Array
from multikernel.losses import CoupledLoss, PolyhedralCoupledLoss, SmoothCoupledLoss
from multikernel.solvers.spicy.constrained_step import constrained_step
from multikernel.solvers.spicy.multipliers import advanced, reach_of_zero
from multikernel.solvers.spicy.quadratic_model import QuadraticModel
from multikernel.solvers.spicy.tuning import (
    FORCING,
    INTERIOR,
    LOOSE,
    TIGHT_FORCING,
    TIGHT_LOOSE,
)

SMALLEST = 1e-15
"""Share of a row's mass that an entry of p has at least: rounding of the others."""


class SimplexSide:
    """A point of simplices, and steps inside them.

    Parameters
    ----------
    loss : CoupledLoss
        The loss.
    y : ndarray of shape (n_samples, n_classes)
        Targets, one-hot.
    rho : ndarray of shape (n_samples, n_classes)
        A point of the domain; it is moved off the boundary.
    """

    def __init__(self, loss: CoupledLoss, y: Array, rho: Array) -> None:
        self.y, self.masses = y, loss.masses(y)[:, None]
        self.step = np.zeros_like(rho)
        self.p = self.kept(self.masses * y - rho)

    @property
    def rho(self) -> Array:
        """Return the point."""
        return np.asarray(self.masses * self.y - self.p)

    def aim(self, step: Array) -> float:
        """Set the direction; return the longest multiple of it, at most 1, allowed."""
        self.step = step
        return min(1.0, INTERIOR * reach_of_zero(self.p, -step))

    def move(self, length: float) -> None:
        """Go along the direction."""
        self.p = self.moved(length)

    def again(self) -> None:
        """Return None: a scaled dual point is the better start."""

    def sturdier(self) -> None:
        """Return None."""

    def moved(self, length: float) -> Array:
        """Return the p of the point `length` times the direction away."""
        return self.kept(self.p - length * self.step)

    def kept(self, p: Array) -> Array:
        """Return the point with rows of the right sums, off the boundary."""
        p = np.maximum(p, SMALLEST * self.masses)
        return np.asarray(p * (self.masses / p.sum(axis=1, keepdims=True)))


class SmoothSimplexSide(SimplexSide):
    """The side of a coupled loss with a differentiable conjugate.

    Parameters
    ----------
    loss : SmoothCoupledLoss
        The loss.
    y, rho : ndarray of shape (n_samples, n_classes)
        See `SimplexSide`.
    """

    def __init__(self, loss: SmoothCoupledLoss, y: Array, rho: Array) -> None:
        super().__init__(loss, y, rho)
        self.loss = loss

    def center(self, gap: float) -> None:
        """Do nothing: the conjugate is exact."""

    def slack(self) -> float:
        """Return 0."""
        return 0.0

    def newton(self, model: QuadraticModel) -> tuple[Array, Array]:
        """Return Newton's step, but for a share of the residual."""
        pull = -self.loss.conjugate_gradient(self.y, -self.rho)
        step, shift = constrained_step(self.p, model, pull, LOOSE, FORCING)
        return self._off_the_wall(step), shift

    def slope(self, length: float) -> float:
        """Return the derivative of the conjugate along the direction."""
        u = self.moved(length) - self.masses * self.y
        return -float(np.vdot(self.loss.conjugate_gradient(self.y, u), self.step))

    def _off_the_wall(self, step: Array) -> Array:
        """Return the step, which must not stop at what is next to nothing already."""
        small = self.p <= np.sqrt(SMALLEST) * self.masses
        bounded = np.where(small, np.minimum(step, INTERIOR * self.p), step)
        largest = np.argmax(self.p, axis=1)[:, None]
        excess = bounded.sum(axis=1, keepdims=True)
        own = np.take_along_axis(bounded, largest, axis=1) - excess
        np.put_along_axis(bounded, largest, own, axis=1)
        return np.asarray(bounded)


class BarrierSimplexSide(SimplexSide):
    """The side of a coupled loss whose conjugate is linear: kept off the boundary.

    Parameters
    ----------
    loss : PolyhedralCoupledLoss
        The loss.
    y, rho : ndarray of shape (n_samples, n_classes)
        Targets, and a point strictly inside the domain.
    gap : float
        Duality gap (absolute) of the starting point, which sets the first barrier.
    """

    def __init__(
        self, loss: PolyhedralCoupledLoss, y: Array, rho: Array, gap: float
    ) -> None:
        super().__init__(loss, y, rho)
        self.costs = loss.corner_costs(y)
        self.barrier = gap / self.p.size
        self.zeta = self.barrier / self.p
        self.dual_direction = np.zeros_like(self.zeta)
        self.dual_reach = 1.0

    def center(self, gap: float) -> None:
        """Lower the barrier until complementarity costs at most `gap`."""
        self.barrier = min(self.barrier, gap / self.p.size)

    def slack(self) -> float:
        """Return the complementarity on the central path, mu for every entry of p."""
        return self.barrier * self.p.size

    def newton(self, model: QuadraticModel) -> tuple[Array, Array]:
        """Return Newton's step after eliminating the multipliers."""
        pull = self.barrier / self.p - self.costs
        softness = self.p / self.zeta
        return constrained_step(softness, model, pull, TIGHT_LOOSE, TIGHT_FORCING)

    def aim(self, step: Array) -> float:
        """Set the directions of the point and the multipliers; stay inside."""
        self.dual_direction = (self.barrier + self.zeta * step) / self.p - self.zeta
        self.dual_reach = INTERIOR * reach_of_zero(self.zeta, self.dual_direction)
        return super().aim(step)

    def slope(self, length: float) -> float:
        """Return the derivative of the barrier function along the direction."""
        slopes = self.barrier / self.moved(length) - self.costs
        return float(np.vdot(slopes, self.step))

    def move(self, length: float) -> None:
        """Go along the directions; multipliers keep near the central path."""
        super().move(length)
        centered = self.barrier / self.p
        self.zeta = advanced(self.zeta, self.dual_direction, self.dual_reach, centered)
