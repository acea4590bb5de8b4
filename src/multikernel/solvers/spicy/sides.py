r"""The loss's side of SpicyMKL's inner problem, as Newton's method sees it.

The inner problem minimises :math:`\sum_i \ell^*(y_i, -\rho_i) + \Phi(\rho)` with a
smooth :math:`\Phi`. Where the conjugate is twice differentiable, Newton's method has a
curvature of the first term; where its slope is finite at the ends of its domain, as
with Huber's loss, slack multipliers keep the point inside. Where it is piecewise
linear on a box (hinge, epsilon-insensitive) there are two ways. From far away the box
is kept by slack multipliers, as in section 3.3 of [1]_; here they follow the central
path :math:`\xi (u - p) = \zeta p = \mu` and :math:`\mu` is driven to zero with the
duality gap, so nothing stays smoothed and every iterate is strictly feasible. From a
solution for a near-by strength most samples sit at corners of the box and stay there:
each Newton step minimises its quadratic model over the box, by an active-set method.

References
----------
.. [1] Suzuki, Tomioka (2009). SpicyMKL. METR 2009-45, University of Tokyo.
"""

from abc import ABC, abstractmethod

import numpy as np

from multikernel._typing import Array
from multikernel.certificates import best_intercepts
from multikernel.losses.base import PolyhedralLoss, SmoothConjugateLoss
from multikernel.losses.weighted import finite_ends
from multikernel.solvers.spicy.corners import FaceSearch, make_corners
from multikernel.solvers.spicy.kernels import QuadraticModel, newton_step
from multikernel.solvers.spicy.settings import SETTINGS


class Side(ABC):
    """A point rho inside the domain of the conjugate, and steps from it.

    Methods that are not abstract suit a conjugate that is exact by itself. Sides
    begin at a point of the shape of the targets y, which they move off the boundary.
    """

    rho: Array
    """The point, of the shape of the targets."""

    @abstractmethod
    def newton(self, model: QuadraticModel) -> tuple[Array, Array]:
        """Return the step of Newton's method, and the change of the intercepts.

        Where there is none a LinAlgError is raised.
        """

    @abstractmethod
    def aim(self, step: Array) -> float:
        """Set the direction; return the longest multiple of it, at most 1, allowed."""

    @abstractmethod
    def slope(self, length: float) -> float:
        """Return the derivative along the direction, `length` of it away."""

    @abstractmethod
    def move(self, length: float) -> None:
        """Go `length` times the direction."""

    def center(self, gap: float) -> None:  # noqa: B027
        """Make what the side itself adds to the duality gap at most `gap`."""

    def slack(self) -> float:
        """Return what the side itself adds to the duality gap, 0 if it is exact."""
        return 0.0

    def again(self) -> "Side | None":
        """Return the side for a near-by problem, None if a fresh one is as good."""
        return None

    def sturdier(self) -> "Side | None":
        """Return a side to go on with where this one fails, if there is one."""
        return None


def reach(
    point: Array, step: Array, lower: Array | float, upper: Array | float
) -> float:
    """Return the multiple of a step at which the first bound is met."""
    bound = np.where(step > 0.0, upper, lower)
    moving = step != 0.0
    return float(np.min((bound[moving] - point[moving]) / step[moving], initial=np.inf))


class Walls:
    r"""Slack multipliers that keep a point off the ends of its domain, one an end.

    On the central path each of them times the distance to its end is :math:`\mu`:
    :math:`\xi (h - p) = \zeta (p - l) = \mu`, which costs :math:`\mu` an end in the
    duality gap. They are stepped as the point is.

    Parameters
    ----------
    low, high : ndarray of the shape of the point
        The ends l and h; infinite where there is no wall.
    point : ndarray
        A point p strictly between them.
    gap : float
        Duality gap (absolute) of the starting point, which sets the first
        :math:`\mu`.
    """

    def __init__(self, low: Array, high: Array, point: Array, gap: float) -> None:
        self.low, self.high = low, high
        self.count = int(np.isfinite(low).sum() + np.isfinite(high).sum())
        self.mu = gap / self.count
        self.xi, self.zeta = self.mu / (high - point), self.mu / (point - low)
        self._direction = np.zeros_like(self.xi), np.zeros_like(self.zeta)
        self._reach = 1.0

    def center(self, gap: float) -> None:
        """Lower mu until complementarity costs at most `gap`."""
        self.mu = min(self.mu, gap / self.count)

    def slack(self) -> float:
        """Return what complementarity costs on the central path."""
        return self.mu * self.count

    def gradient(self, point: Array) -> Array:
        """Return the gradient of the barrier that the multipliers stand for."""
        return self.mu * (1.0 / (self.high - point) - 1.0 / (point - self.low))

    def curvature(self, point: Array) -> Array:
        """Return the diagonal that the multipliers add when they are eliminated."""
        return self.xi / (self.high - point) + self.zeta / (point - self.low)

    def aim(self, point: Array, step: Array) -> None:
        """Set the directions of the multipliers for a step of the point.

        They solve xi (h - p) = mu and zeta (p - l) = mu to first order in p and the
        multipliers. `_reach` is the longest multiple that keeps these positive.
        """
        d_xi = (self.mu + self.xi * step) / (self.high - point) - self.xi
        d_zeta = (self.mu - self.zeta * step) / (point - self.low) - self.zeta
        self._direction = d_xi, d_zeta
        self._reach = SETTINGS.interior * min(
            reach(self.xi, d_xi, 0.0, np.inf), reach(self.zeta, d_zeta, 0.0, np.inf)
        )

    def move(self) -> None:
        """Go along the directions, at most whole ones."""
        (d_xi, d_zeta), length = self._direction, min(1.0, self._reach)
        self.xi = self.xi + length * d_xi
        self.zeta = self.zeta + length * d_zeta


class Walled(Side):
    """A side whose barrier is set by the absolute duality gap that it begins at."""

    walls: Walls

    def center(self, gap: float) -> None:
        """Lower the barrier until complementarity costs at most `gap`."""
        self.walls.center(gap)

    def slack(self) -> float:
        """Return what complementarity costs on the central path."""
        return self.walls.slack()


class SmoothSide(Side):
    """The side of a loss whose conjugate is twice differentiable."""

    def __init__(self, loss: SmoothConjugateLoss, y: Array, rho: Array) -> None:
        self.loss, self.y = loss, y
        lower, upper = loss.dual_bounds(y)
        self.lowest, self.highest = _inside(-upper), -_inside(lower)
        self.rho = np.clip(rho, self.lowest, self.highest)
        self.step = np.zeros_like(rho)

    def again(self) -> "Side | None":
        """Return a side that starts where this one ended."""
        return SmoothSide(self.loss, self.y, self.rho)

    def newton(self, model: QuadraticModel) -> tuple[Array, Array]:
        """Return Newton's step with the derivatives of the conjugate.

        A step that leaves the domain is taken in the decision values that belong to
        the point instead, where nothing ends: of their answer the step is a
        linearisation. Cut off at the boundary it would be as short as the sample that
        is the nearest to it allows, and those are many that are classified well.
        """
        pull, curvature = self._derivatives()
        step, shift = newton_step(model, pull, curvature)
        if reach(self.rho, step, self.lowest, self.highest) <= 1.0:
            f = -(pull + curvature * step)
            bent = self._answer(f, centre=model.excess is not None) - self.rho
            if np.vdot(pull + model.gradient, bent) < 0.0:
                return bent, shift
        return step, shift

    def _answer(self, f: Array, *, centre: bool) -> Array:
        """Return the point of some decision values, up to intercepts if it is centred.

        It is another one where decision values are beyond all numbers.
        """
        if not centre:
            return -self.loss.gradient(self.y, f)
        if not np.isfinite(f).all():
            return self.rho
        return best_intercepts(self.loss, self.y, f)[1]

    def _derivatives(self) -> tuple[Array, Array]:
        """Return slope and curvature of the conjugate in terms of rho."""
        u, loss = -self.rho, self.loss
        return -loss.conjugate_gradient(self.y, u), loss.conjugate_hessian(self.y, u)

    def aim(self, step: Array) -> float:
        """Set the direction; stay inside the domain.

        Samples that are as near to the boundary as rounding lets them be, and would
        go nearer, stay where they are: they are not to hold up the others.
        """
        outwards = np.where(
            step > 0.0, self.rho >= self.highest, self.rho <= self.lowest
        )
        self.step = np.where(outwards, 0.0, step)
        longest = reach(self.rho, self.step, self.lowest, self.highest)
        return min(1.0, SETTINGS.interior * longest)

    def slope(self, length: float) -> float:
        """Return the derivative of the conjugate along the direction."""
        slopes = self.loss.conjugate_gradient(self.y, -self._moved(length))
        return -float(np.vdot(slopes, self.step))

    def move(self, length: float) -> None:
        """Go along the direction."""
        self.rho = self._moved(length)

    def _moved(self, length: float) -> Array:
        """Return the point `length` times the direction away, off the boundary."""
        moved = self.rho + length * self.step
        return np.asarray(np.clip(moved, self.lowest, self.highest))


class BoundedSide(Walled, SmoothSide):
    """The side of a smooth conjugate whose slope is finite at ends of its domain.

    Nothing in such a conjugate, as Huber's, keeps Newton's method off the
    ends, where many samples of the solution are. Slack multipliers do, as in
    `BarrierSide`, at these ends only.
    """

    def __init__(
        self, loss: SmoothConjugateLoss, y: Array, rho: Array, gap: float
    ) -> None:
        super().__init__(loss, y, rho)
        low, high = finite_ends(loss, y)
        width = high - low
        margin = SETTINGS.inwards * np.where(np.isfinite(width), width, 1.0)
        self.rho = np.clip(rho, low + margin, high - margin)
        self.walls = Walls(low, high, self.rho, gap)

    def again(self) -> None:
        """Return that a fresh side is as good: its barrier suits the gap."""

    def newton(self, model: QuadraticModel) -> tuple[Array, Array]:
        """Return Newton's step after eliminating the multipliers."""
        pull, curvature = self._derivatives()
        return newton_step(
            model,
            pull + self.walls.gradient(self.rho),
            curvature + self.walls.curvature(self.rho),
        )

    def aim(self, step: Array) -> float:
        """Set the directions of the point and the multipliers; stay inside."""
        self.walls.aim(self.rho, step)
        return super().aim(step)

    def slope(self, length: float) -> float:
        """Return the derivative of the barrier function along the direction."""
        gradient = self.walls.gradient(self.rho + length * self.step)
        return super().slope(length) + float(np.vdot(gradient, self.step))

    def move(self, length: float) -> None:
        """Go along the directions of the point and the multipliers."""
        super().move(length)
        self.walls.move()


class BarrierSide(Walled):
    """The side of a piecewise linear loss: boxes kept by a vanishing barrier."""

    rho: Array  # the point, and the pieces that add up to it
    pieces: Array

    # Of the quadratic model: a Newton step sets them, and its directions need them.
    gradient: Array
    curvatures: Array
    curvature: Array
    pull: Array

    def __init__(self, loss: PolyhedralLoss, y: Array, rho: Array, gap: float) -> None:
        self.loss, self.y = loss, y
        slopes, self.costs, self.sizes = loss.dual_pieces(y)
        self.signs = -slopes  # rho = -u
        self.direction = zero = np.zeros_like(self.sizes)
        self.lowest = _inside(zero)
        self.highest = -_inside(-self.sizes)
        self._go_to(_interior_pieces(self.signs, self.sizes, rho))
        self.walls = Walls(zero, self.sizes, self.pieces, gap)

    def _go_to(self, pieces: Array) -> None:
        """Set the pieces and the point that they add up to."""
        self.pieces = self._off_walls(pieces)
        self.rho = (self.signs * self.pieces).sum(axis=0)

    def newton(self, model: QuadraticModel) -> tuple[Array, Array]:
        """Return Newton's step after eliminating pieces and multipliers."""
        self.gradient = self.costs + self.walls.gradient(self.pieces)
        self.curvatures = self.walls.curvature(self.pieces)
        # Pieces add up to rho, so their flexibilities (inverse curvatures) add up.
        self.curvature = 1.0 / (1.0 / self.curvatures).sum(axis=0)
        pull = (self.signs * self.gradient / self.curvatures).sum(axis=0)
        self.pull = self.curvature * pull
        return newton_step(model, self.pull, self.curvature)

    def aim(self, step: Array) -> float:
        """Set the directions of pieces and multipliers; stay inside the boxes."""
        f = -self.pull - self.curvature * step  # decision values after the step
        direction = -(self.gradient + self.signs * f) / self.curvatures
        # The softest piece takes what the others leave: its own formula divides
        # rounding errors by a tiny curvature, and rho would drift off the pieces.
        soft = np.argmin(self.curvatures, axis=0)[None, :]
        signs = np.take_along_axis(self.signs, soft, axis=0)
        move = signs * np.take_along_axis(direction, soft, axis=0)
        others = (self.signs * direction).sum(axis=0) - move
        np.put_along_axis(direction, soft, signs * (step - others), axis=0)
        self.direction = direction
        self.walls.aim(self.pieces, direction)
        longest = reach(self.pieces, direction, 0.0, self.sizes)
        return min(1.0, SETTINGS.interior * longest)

    def slope(self, length: float) -> float:
        """Return the derivative of the barrier function along the direction."""
        moved = self._off_walls(self.pieces + length * self.direction)
        gradient = self.costs + self.walls.gradient(moved)
        return float(np.vdot(gradient, self.direction))

    def move(self, length: float) -> None:
        """Go along the directions of pieces and multipliers."""
        self._go_to(self.pieces + length * self.direction)
        self.walls.move()

    def again(self) -> "CornerSide | None":
        """Return the side at the corners that this one has come near.

        Active sets are for one output; for several a fresh side does as well.
        """
        return CornerSide(self.loss, self.y, self.rho) if self.y.ndim == 1 else None

    def _off_walls(self, pieces: Array) -> Array:
        """Return pieces off the walls, onto which rounding may put them."""
        return np.asarray(np.clip(pieces, self.lowest, self.highest))


class CornerSide(Side):
    """The side of a piecewise linear loss whose samples mostly sit at corners.

    What begins near a corner is moved there.
    """

    def __init__(self, loss: PolyhedralLoss, y: Array, rho: Array) -> None:
        self.loss, self.y = loss, y
        self.corners = make_corners(loss, y)
        self.rho = self.corners.snap(rho)
        self.step = np.zeros_like(rho)
        self.end = self.rho
        self.allowed = 0.0

    def free_share(self) -> float:
        """Return the share of the samples that are at no corner."""
        lower, upper = self.corners.subgradients(self.rho)
        return float(np.mean(lower == upper))

    def center(self, gap: float) -> None:
        """Remember the gap: the conjugate itself is exact."""
        self.allowed = gap

    def newton(self, model: QuadraticModel) -> tuple[Array, Array]:
        """Return the step to the minimum of the model over the domain."""
        search = FaceSearch(model, self.corners, self.rho)
        search.run()
        self.end = search.x
        return search.x - self.rho, np.asarray(search.shift)

    def aim(self, step: Array) -> float:
        """Set the direction; all of it is inside the domain."""
        self.step = step
        return 1.0

    def slope(self, length: float) -> float:
        """Return the derivative of the conjugate along the direction."""
        # At a corner: the slope on the way off from the start, else on the way there.
        just = max(length - 1e-9, 1e-9)
        return self.corners.slope(self.rho + just * self.step, self.step)

    def move(self, length: float) -> None:
        """Go along the direction.

        The end of a whole step is taken from the search itself, so that rounding moves
        no coordinate off its corner.
        """
        moved = self.rho + length * self.step
        inside = np.clip(moved, self.corners.low, self.corners.high)
        self.rho = self.end if length == 1.0 else inside

    def again(self) -> "CornerSide":
        """Return a side that starts where this one ended."""
        return CornerSide(self.loss, self.y, self.rho)

    def sturdier(self) -> BarrierSide:
        """Return a barrier side, for where steps between corners fail.

        It starts at this point, moved towards the middle of the domain so that it is
        strictly inside, with the gap that was last given to `center`.
        """
        middle = 0.5 * (self.corners.low + self.corners.high)
        rho = (1.0 - SETTINGS.inwards) * self.rho + SETTINGS.inwards * middle
        return BarrierSide(self.loss, self.y, rho, self.allowed)


def _interior_pieces(signs: Array, sizes: Array, rho: Array) -> Array:
    """Split rho into pieces strictly inside their boxes."""
    if signs.shape[0] == 1:
        return signs * rho
    # One lift for both pieces leaves their difference. It is at most a quarter of
    # either box, and never fills the rest of a box.
    pieces = np.maximum(signs * rho, 0.0)
    lift = np.minimum(0.25 * sizes, 0.5 * (sizes - pieces)).min(axis=0)
    return np.asarray(pieces + lift)


def _inside(lower: Array) -> Array:
    """Return the lowest values above finite bounds at which derivatives are finite."""
    bounded = np.isfinite(lower)
    size = np.where(bounded, np.abs(lower), 0.0)
    return np.where(bounded, lower + np.maximum(1e-100, 1e-15 * size), lower)
