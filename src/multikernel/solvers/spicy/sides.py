"""The loss in SpicyMKL's inner problem: its conjugate in Newton's method.

The inner problem minimizes sum_i l*(y_i, -rho_i) + Phi(rho) with a smooth Phi. A `Side`
represents the first sum at a point rho inside the domain of the conjugate. `SmoothSide`
is for twice differentiable conjugates; modules `polyhedral` and `coupled` are for
others.

Slack multipliers keep points off bounds at which the slope of the conjugate is finite
(METR 2009-45, section 3.3). They follow the central path of a logarithmic barrier,
whose weight mu decreases to zero with the duality gap, so the final solution is not
smoothed.
"""

from abc import ABC, abstractmethod

import numpy as np

from multikernel._typing import Array
from multikernel.certificates import best_intercepts
from multikernel.losses.base import SmoothConjugateLoss
from multikernel.losses.weighted import finite_ends
from multikernel.solvers.spicy.kernels import QuadraticModel, newton_step
from multikernel.solvers.spicy.settings import SETTINGS


class Side(ABC):
    """Conjugate of the loss at a dual point rho; Newton steps stay in its domain."""

    # The starting point has the shape of the targets; it is moved off the boundary.

    rho: Array
    """The point, of the shape of the targets."""

    walls: "Walls | None" = None
    """The barrier that keeps the point inside; None if the conjugate does."""

    @abstractmethod
    def newton(self, model: QuadraticModel) -> tuple[Array, Array]:
        """Return Newton's step and the change of intercepts, or raise LinAlgError."""

    @abstractmethod
    def aim(self, step: Array) -> float:
        """Set the direction of `move`; return the longest feasible length up to 1."""
        # The direction belongs to `step`, the result of `newton`. A length is feasible
        # if the point stays in the domain of the conjugate.

    @abstractmethod
    def slope(self, length: float) -> float:
        """Return the slope of conjugate plus barrier after a step of this length."""

    @abstractmethod
    def move(self, length: float) -> None:
        """Move by `length` times the direction."""

    def lower_barrier(self, gap: float) -> None:
        """Lower the barrier until it adds at most `gap` to the duality gap."""
        if self.walls is not None:
            self.walls.lower_barrier(gap)

    def slack(self) -> float:
        """Return the part of the gap due to the barrier; 0 without a barrier."""
        return 0.0 if self.walls is None else self.walls.slack()

    def for_similar_problem(self) -> "Side | None":
        """Return the start for a similar problem; None if a new `Side` is as good."""
        return None

    def more_robust(self) -> "Side | None":
        """Return the `Side` that continues after a failure of this one, or None."""
        return None


def reach(
    point: Array, step: Array, lower: Array | float, upper: Array | float
) -> float:
    """Return the multiple of a step at which the point reaches its first bound."""
    bound = np.where(step > 0.0, upper, lower)
    moving = step != 0.0
    return float(np.min((bound[moving] - point[moving]) / step[moving], initial=np.inf))


class Walls:
    """Slack multipliers that keep a point inside its domain, one for each bound."""

    # A point p between the bounds l and h has the multipliers zeta of l and xi of h. On
    # the central path, each multiplier times the distance to its bound is mu:
    # xi (h - p) = zeta (p - l) = mu, which adds mu for each bound to the duality gap.
    # Steps of the point and of the multipliers are taken together.

    def __init__(self, low: Array, high: Array, point: Array, gap: float) -> None:
        self.low, self.high = low, high  # bounds of the domain, may be infinite
        self.count = int(np.isfinite(low).sum() + np.isfinite(high).sum())
        # The absolute gap of the starting point sets the first mu.
        self.mu = gap / self.count
        self.xi, self.zeta = self.mu / (high - point), self.mu / (point - low)
        self._direction = np.zeros_like(self.xi), np.zeros_like(self.zeta)
        self._reach = 1.0

    def lower_barrier(self, gap: float) -> None:
        """Lower the barrier until it adds at most `gap` to the duality gap."""
        self.mu = min(self.mu, gap / self.count)  # each bound adds mu

    def slack(self) -> float:
        """Return the part of the gap that the barrier adds on the central path."""
        return self.mu * self.count

    def gradient(self, point: Array) -> Array:
        """Return the gradient of the logarithmic barrier at a point."""
        return self.mu * (1.0 / (self.high - point) - 1.0 / (point - self.low))

    def curvature(self, point: Array) -> Array:
        """Return the curvature that the eliminated multipliers add, entry by entry."""
        return self.xi / (self.high - point) + self.zeta / (point - self.low)

    def aim(self, point: Array, step: Array) -> None:
        """Set the directions of the multipliers that belong to a step from `point`."""
        # The multipliers after the step solve xi (h - p) = mu and zeta (p - l) = mu to
        # first order in p, xi and zeta.
        d_xi = (self.mu + self.xi * step) / (self.high - point) - self.xi
        d_zeta = (self.mu - self.zeta * step) / (point - self.low) - self.zeta
        self._direction = d_xi, d_zeta
        # The longest multiple of the directions that keeps the multipliers positive.
        self._reach = SETTINGS.interior * min(
            reach(self.xi, d_xi, 0.0, np.inf), reach(self.zeta, d_zeta, 0.0, np.inf)
        )

    def move(self) -> None:
        """Move the multipliers along their directions, by at most a full step."""
        (d_xi, d_zeta), length = self._direction, min(1.0, self._reach)
        self.xi = self.xi + length * d_xi
        self.zeta = self.zeta + length * d_zeta


class SmoothSide(Side):
    """Dual point of a loss whose conjugate is twice differentiable."""

    def __init__(
        self, loss: SmoothConjugateLoss, y: Array, rho: Array, gap: float
    ) -> None:
        self.loss, self.y = loss, y
        lower, upper = loss.dual_bounds(y)
        self.lowest, self.highest = lowest_inside(-upper), -lowest_inside(lower)
        self.rho = np.clip(rho, self.lowest, self.highest)
        self.step = np.zeros_like(rho)
        # Barriers are placed at the ends of the domain at which the slope of the
        # conjugate is finite, as for Huber's loss: many samples of the solution are
        # there.
        low, high = finite_ends(loss, y)
        if np.isfinite(low).any() or np.isfinite(high).any():
            width = high - low
            margin = SETTINGS.inward_share * np.where(np.isfinite(width), width, 1.0)
            self.rho = np.clip(self.rho, low + margin, high - margin)
            self.walls = Walls(low, high, self.rho, gap)

    def for_similar_problem(self) -> "Side | None":
        """Return this object, or None if it has a barrier."""
        # The size of a barrier is chosen for the duality gap of one problem.
        return self if self.walls is None else None

    def newton(self, model: QuadraticModel) -> tuple[Array, Array]:
        """Return Newton's step and the change of the intercepts."""
        u, loss = -self.rho, self.loss
        pull = -loss.conjugate_gradient(self.y, u)
        curvature = loss.conjugate_hessian(self.y, u)
        if self.walls is not None:
            pull = pull + self.walls.gradient(self.rho)
            curvature = curvature + self.walls.curvature(self.rho)
        step, shift = newton_step(model, pull, curvature)
        # Without a barrier, a step that leaves the domain is replaced by a step in the
        # decision values, which are unbounded. If it were cut at the boundary, the
        # sample nearest to the boundary would make it short, and many well classified
        # samples are near.
        leaves = reach(self.rho, step, self.lowest, self.highest) <= 1.0
        if leaves and self.walls is None:
            f = -(pull + curvature * step)  # decision values after the step
            end = self.rho
            if model.excess is None:
                end = -loss.gradient(self.y, f)
            elif np.isfinite(f).all():
                end = best_intercepts(loss, self.y, f)[1]
            if np.vdot(pull + model.gradient, end - self.rho) < 0.0:
                return end - self.rho, shift
        return step, shift

    def aim(self, step: Array) -> float:
        """Set the direction; return the longest length inside the domain."""
        if self.walls is not None:
            self.walls.aim(self.rho, step)
        # Samples that are as close to the boundary as rounding allows, and would move
        # closer, stay fixed, so that they do not shorten the step of other samples.
        outward = np.where(
            step > 0.0, self.rho >= self.highest, self.rho <= self.lowest
        )
        self.step = np.where(outward, 0.0, step)
        longest = reach(self.rho, self.step, self.lowest, self.highest)
        return min(1.0, SETTINGS.interior * longest)

    def slope(self, length: float) -> float:
        """Return the derivative of conjugate plus barrier after a step."""
        slopes = self.loss.conjugate_gradient(self.y, -self._moved(length))
        slope = -float(np.vdot(slopes, self.step))
        if self.walls is not None:
            gradient = self.walls.gradient(self.rho + length * self.step)
            slope += float(np.vdot(gradient, self.step))
        return slope

    def move(self, length: float) -> None:
        """Move along the directions of the point and the multipliers."""
        self.rho = self._moved(length)
        if self.walls is not None:
            # The multipliers move by another step length, which is at most one.
            self.walls.move()

    def _moved(self, length: float) -> Array:
        """Return the point after a step of this length, kept off the boundary."""
        moved = self.rho + length * self.step
        return np.asarray(np.clip(moved, self.lowest, self.highest))


def lowest_inside(lower: Array) -> Array:
    """Return `lower`, with its finite bounds raised by a tiny amount."""
    # The conjugate of the loss may have infinite derivatives at a bound of its domain.
    bounded = np.isfinite(lower)
    size = np.where(bounded, np.abs(lower), 0.0)
    return np.where(bounded, lower + np.maximum(1e-100, 1e-15 * size), lower)
