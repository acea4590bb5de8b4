"""Piecewise linear losses in Newton's method: a barrier, or active sets.

The domain of the conjugate is a box. Far from the solution, a barrier keeps the point
inside (`Walls`). After a warm start, most dual variables stay at bounds or kinks. Then
a Newton step minimizes a quadratic program over the box, with h_i(x) = l*(y_i, -x):

    sum_i h_i(x_i) + f^T (x - rho) + (x - rho)^T H (x - rho) / 2,

where rho is the current point, f are the decision values at rho, H is the Hessian of
the kernels' term, and x has sum zero if there is an intercept. The corners are the two
bounds of h_i and its kink at zero. A sample is fixed at a corner or free between two,
and a step to the optimum over the free samples fixes those that reach a corner. At this
optimum, fixed samples whose subgradients exclude their corner are freed. A step costs
the cube of the number of free samples.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dposv

from multikernel._typing import Array, Indices
from multikernel.losses.base import PolyhedralLoss
from multikernel.solvers.spicy.kernels import QuadraticModel, newton_step
from multikernel.solvers.spicy.settings import SETTINGS
from multikernel.solvers.spicy.sides import Side, Walls, lowest_inside, reach


@dataclass(frozen=True, eq=False)
class Corners:
    """Bounds and kinks in rho of the conjugates h_i of a piecewise linear loss."""

    low: Array  # bounds of the domain, low <= 0 <= high
    high: Array
    left: Array  # slopes below and above zero; infinite if the domain ends at zero
    right: Array

    @property
    def width(self) -> Array:
        """The width of the domain of each sample."""
        return self.high - self.low

    def subgradients(self, x: Array) -> tuple[Array, Array]:
        """Return the least and largest subgradient of h_i at x_i; equal off corners."""
        below = np.where(x > self.low, self.left, -np.inf)
        above = np.where(x < self.high, self.right, np.inf)
        return np.where(x > 0.0, self.right, below), np.where(x < 0.0, self.left, above)

    def slope(self, x: Array, step: Array) -> float:
        """Return the slope of sum_i h_i at x along `step`, which moves no kink."""
        moving = step != 0.0
        slopes = np.where(x > 0.0, self.right, self.left)[moving]
        return float(slopes @ step[moving])

    def fenchel_gap(self, x: Array, f: Array) -> float:
        """Return the Fenchel gap of a dual point x and decision values f."""
        # The gap is sum_i h_i(x_i) + f_i x_i minus the minimum of this sum over the
        # box, with the conjugates h_i(x) = l*(y_i, -x).
        right = np.where(self.high > 0.0, self.right, 0.0)
        below = np.where(self.low < 0.0, self.left, 0.0)
        value = np.where(x > 0.0, right, below) * x + f * x
        ends = np.minimum((below + f) * self.low, (right + f) * self.high)
        return float(np.sum(value - np.minimum(0.0, ends)))

    def snap(self, x: Array) -> Array:
        """Return x with entries near a bound or kink moved onto it."""
        near = 1e-3 * self.width  # later steps move an entry that does not belong there
        x = np.where(np.abs(x) <= near, 0.0, x)
        x = np.where(x <= self.low + near, self.low, x)
        return np.where(x >= self.high - near, self.high, x)


def make_corners(loss: PolyhedralLoss, y: Array) -> Corners:
    """Return the `Corners` of a loss with at most one dual piece per sign of rho."""
    # The dual pieces are those of `PolyhedralLoss.dual_pieces`.
    slopes, costs, sizes = loss.dual_pieces(y)
    signs = -slopes  # rho = -u, with the conjugate's argument u
    up, down = signs > 0.0, signs < 0.0
    none_up, none_down = ~up.any(axis=0), ~down.any(axis=0)
    left, right = -(costs * down).sum(axis=0), (costs * up).sum(axis=0)
    return Corners(
        low=-(sizes * down).sum(axis=0),
        high=(sizes * up).sum(axis=0),
        left=np.where(none_down, -np.inf, left),
        right=np.where(none_up, np.inf, right),
    )


class FaceSearch:
    """Active-set solver of the quadratic program of one Newton step, over a box."""

    def __init__(self, model: QuadraticModel, corners: Corners, start: Array) -> None:
        self.model, self.corners = model, corners
        # `x` is the current point. `shift` is the multiplier of the constraint on the
        # sum, which is the change of the intercept.
        self.x, self.gradient, self.shift = start.copy(), model.gradient.copy(), 0.0
        # `_free` is a mask of the free samples. A free sample moves between `_low` and
        # `_high`, two corners between which its h_i has the slope `_slopes`.
        lower, upper = corners.subgradients(start)
        self._free = lower == upper
        self._slopes = np.where(self._free, lower, 0.0)
        self._low = np.where(start > 0.0, 0.0, corners.low)
        self._high = np.where(start < 0.0, 0.0, corners.high)
        # A tolerance below the rounding of decision values cannot be reached.
        floor = 1e-13 * float((1.0 + np.abs(model.gradient)) @ corners.width)
        gap = corners.fenchel_gap(start, model.gradient)
        self._allowed = max(0.1 * gap, floor)
        self._moved = True  # since samples were freed

    def run(self) -> None:
        """Move to the optimum; raise LinAlgError if a barrier method costs less."""
        n_samples, flops = self.x.size, 0.0
        while flops <= SETTINGS.budget * self.model.hessian.cost:
            # A factorization over free samples, and products of their rows.
            free = np.flatnonzero(self._free)
            flops += free.size**3 + 6.0 * n_samples * (free.size + 10)
            if not self._step(free):
                continue
            violators = self._violators()
            if not violators.size:
                return
            self._release(violators)
        raise np.linalg.LinAlgError(
            "The active-set method takes too long for this Newton step. SpicyMKL "
            "then uses BarrierSide: use it too if you call CornerSide yourself."
        )

    def _step(self, free: Indices) -> bool:
        """Move toward the optimum over free samples; return whether it is reached."""
        if not free.size:
            self._center_shift()
            return True
        rows = self.model.rows(free)
        step = self._free_step(free, rows[:, free])
        start = self.x[free]
        bound = np.where(step > 0.0, self._high[free], self._low[free])
        moving = step != 0.0
        reaches = np.full(free.size, np.inf)
        reaches[moving] = (bound[moving] - start[moving]) / step[moving]
        length = min(1.0, float(reaches.min()))
        self.x[free] = start + length * step
        self.gradient += length * (step @ rows)
        negligible = 1e-9 * self.corners.width[free]
        self._moved = self._moved or bool(np.any(length * np.abs(step) > negligible))
        if length == 1.0:
            return True
        hit = reaches <= length
        self.x[free[hit]] = bound[hit]
        self._free[free[hit]] = False
        return False

    def _free_step(self, free: Indices, block: Array) -> Array:
        """Return the step to the optimum over free samples with the Hessian `block`."""
        # With an intercept, the step makes the sum of x zero.
        block = block.copy()
        # With kernels of low rank, free samples may have no curvature.
        diagonal = block.reshape(-1)[:: free.size + 1]
        diagonal += SETTINGS.ridge * (diagonal + diagonal.max())
        pull = self.gradient[free] + self._slopes[free]
        sides = np.column_stack([pull, np.ones_like(pull)])
        _, solved, info = dposv(block, sides, lower=1, overwrite_a=1, overwrite_b=1)
        if info != 0:
            raise np.linalg.LinAlgError(
                "The Hessian of Newton's step is not positive definite: scale the "
                "Gram matrices down."
            )
        if self.model.excess is None:
            return np.asarray(-solved[:, 0])
        excess = float(self.x.sum())
        self.shift = (excess - float(solved[:, 0].sum())) / float(solved[:, 1].sum())
        step = -solved[:, 0] - self.shift * solved[:, 1]
        # With an intercept, a single free sample cannot move. Tiny steps are set to
        # zero, because a rounding error could move this sample back to its corner,
        # where it would be fixed again.
        return np.where(np.abs(step) > 1e-12 * np.abs(solved[:, 0]), step, 0.0)

    def _center_shift(self) -> None:
        """If no sample is free, choose the smallest optimal change of the intercept."""
        if self.model.excess is None:
            return
        # A shift is optimal if -(gradient + shift) is a subgradient of h_i for each i.
        lower, upper = self.corners.subgradients(self.x)
        least = float(np.max(-self.gradient - upper))
        most = float(np.min(-self.gradient - lower))
        inside = min(max(0.0, least), most)
        self.shift = inside if least <= most else 0.5 * (least + most)

    def _violators(self) -> Indices:
        """Return the fixed samples to free; empty at the optimum."""
        # At the optimum, -(gradient + shift) is a subgradient of h_i for each sample i.
        # `excess` is the distance from the set of subgradients; times the width of the
        # domain, it bounds the gap of a sample.
        lower, upper = self.corners.subgradients(self.x)
        slope = -(self.gradient + self.shift)
        excess = np.maximum(0.0, np.maximum(slope - upper, lower - slope))
        excess[self._free] = 0.0
        if float(excess @ self.corners.width) <= self._allowed:
            return np.empty(0, dtype=np.intp)
        if not self._moved:
            # The samples freed last did not move. Several samples freed at once may
            # block each other forever; the worst one alone cannot.
            return np.array([np.argmax(excess)])
        self._moved = False
        # Freeing one sample at a time would cost one factorization per sample.
        return np.flatnonzero(excess >= 0.3 * excess.max())

    def _release(self, fixed: Indices) -> None:
        """Free fixed samples, each toward the side on which the objective decreases."""
        # A fixed sample is at a bound or at zero; from a bound, it moves toward zero.
        x, corners = self.x[fixed], self.corners
        _, upper = corners.subgradients(self.x)
        rising = -(self.gradient + self.shift)[fixed] > upper[fixed]
        positive = (x > 0.0) | ((x == 0.0) & rising)
        self._slopes[fixed] = np.where(
            positive, corners.right[fixed], corners.left[fixed]
        )
        self._low[fixed] = np.where(positive, 0.0, corners.low[fixed])
        self._high[fixed] = np.where(positive, corners.high[fixed], 0.0)
        self._free[fixed] = True


class BarrierSide(Side):
    """Dual point of a piecewise linear loss, for Newton steps with a barrier."""

    # The dual point is a signed sum of `pieces`, one for each linear piece of the
    # conjugate. The barrier keeps pieces inside their bounds, and decreases to zero.

    rho: Array  # the dual point, the sum of the signed pieces
    pieces: Array
    walls: Walls

    # Parts of the quadratic model, set by a Newton step and used by its directions: the
    # derivatives of conjugate plus barrier in the pieces, then those in rho.
    piece_gradients: Array
    piece_curvatures: Array
    curvature: Array
    pull: Array

    def __init__(self, loss: PolyhedralLoss, y: Array, rho: Array, gap: float) -> None:
        self.loss, self.y = loss, y
        slopes, self.costs, self.sizes = loss.dual_pieces(y)
        self.signs = -slopes  # rho = -u, with the conjugate's argument u
        self.direction = zero = np.zeros_like(self.sizes)
        self.lowest = lowest_inside(zero)
        self.highest = -lowest_inside(-self.sizes)
        self._go_to(_interior_pieces(self.signs, self.sizes, rho))
        self.walls = Walls(zero, self.sizes, self.pieces, gap)

    def _go_to(self, pieces: Array) -> None:
        """Set the pieces, and rho as their signed sum."""
        self.pieces = self._away_from_bounds(pieces)
        self.rho = (self.signs * self.pieces).sum(axis=0)

    def newton(self, model: QuadraticModel) -> tuple[Array, Array]:
        """Return Newton's step of rho and the change of the intercepts."""
        self.piece_gradients = self.costs + self.walls.gradient(self.pieces)
        self.piece_curvatures = self.walls.curvature(self.pieces)
        # The pieces sum to rho, so their flexibilities (inverse curvatures) add up.
        self.curvature = 1.0 / (1.0 / self.piece_curvatures).sum(axis=0)
        pull = (self.signs * self.piece_gradients / self.piece_curvatures).sum(axis=0)
        self.pull = self.curvature * pull
        return newton_step(model, self.pull, self.curvature)

    def aim(self, step: Array) -> float:
        """Set directions of pieces and multipliers; return the longest step length."""
        # The length is that of `step`, a step of rho. It is at most 1 and keeps all
        # pieces of rho strictly inside their bounds. Each piece minimizes its quadratic
        # model at the decision values after the step.
        f = -self.pull - self.curvature * step
        direction = -(self.piece_gradients + self.signs * f) / self.piece_curvatures
        # The softest piece gets the remainder: its own formula divides rounding errors
        # by a tiny curvature, and rho would drift from the sum of the pieces.
        softest = np.argmin(self.piece_curvatures, axis=0)[None, :]
        signs = np.take_along_axis(self.signs, softest, axis=0)
        move = signs * np.take_along_axis(direction, softest, axis=0)
        other_moves = (self.signs * direction).sum(axis=0) - move
        np.put_along_axis(direction, softest, signs * (step - other_moves), axis=0)
        self.direction = direction
        self.walls.aim(self.pieces, direction)
        longest = reach(self.pieces, direction, 0.0, self.sizes)
        return min(1.0, SETTINGS.interior * longest)

    def slope(self, length: float) -> float:
        """Return the derivative of the barrier function after a step of this length."""
        moved = self._away_from_bounds(self.pieces + length * self.direction)
        gradient = self.costs + self.walls.gradient(moved)
        return float(np.vdot(gradient, self.direction))

    def move(self, length: float) -> None:
        """Move along the directions of pieces and multipliers."""
        self._go_to(self.pieces + length * self.direction)
        self.walls.move()

    def for_similar_problem(self) -> "CornerSide | None":
        """Return a `CornerSide` at the same dual point; None for several outputs."""
        return CornerSide(self.loss, self.y, self.rho) if self.y.ndim == 1 else None

    def _away_from_bounds(self, pieces: Array) -> Array:
        """Return pieces moved off the bounds, onto which rounding may put them."""
        return np.asarray(np.clip(pieces, self.lowest, self.highest))


class CornerSide(Side):
    """Dual point of a piecewise linear loss, for Newton steps by active sets."""

    # Most entries of the dual point are at corners: bounds, or kinks of the conjugate.

    def __init__(self, loss: PolyhedralLoss, y: Array, rho: Array) -> None:
        self.loss, self.y = loss, y
        self.corners = make_corners(loss, y)
        self.rho = self.corners.snap(rho)
        self.step = np.zeros_like(rho)
        self.end = self.rho
        self.allowed = 0.0

    def free_share(self) -> float:
        """Return the share of the dual variables that are off all bounds and kinks."""
        lower, upper = self.corners.subgradients(self.rho)
        return float(np.mean(lower == upper))

    def lower_barrier(self, gap: float) -> None:
        """Store the gap for `more_robust`; there is no barrier to lower."""
        self.allowed = gap

    def newton(self, model: QuadraticModel) -> tuple[Array, Array]:
        """Return the step to the minimum over the box, and the intercept's change."""
        search = FaceSearch(model, self.corners, self.rho)
        search.run()
        self.end = search.x
        return search.x - self.rho, np.asarray(search.shift)

    def aim(self, step: Array) -> float:
        """Set the direction; return 1, because the full step is inside the domain."""
        self.step = step
        return 1.0

    def slope(self, length: float) -> float:
        """Return the derivative of the conjugate after a step of this length."""
        # Slopes at a bound or kink are one-sided. At the start of the step, use the
        # slope just after the start; at the end, use the slope just before the end.
        just = max(length - 1e-9, 1e-9)
        return self.corners.slope(self.rho + just * self.step, self.step)

    def move(self, length: float) -> None:
        """Move rho along the direction."""
        moved = self.rho + length * self.step
        inside = np.clip(moved, self.corners.low, self.corners.high)
        # A full step ends exactly at the optimum of the search, so that rounding moves
        # no coordinate off its bound or kink.
        self.rho = self.end if length == 1.0 else inside

    def for_similar_problem(self) -> "CornerSide":
        """Return a `CornerSide` at this dual point, the start for a similar problem."""
        return CornerSide(self.loss, self.y, self.rho)

    def more_robust(self) -> BarrierSide:
        """Return a `BarrierSide`, for use if steps by active sets fail."""
        # The new side starts at the current point, moved toward the middle of the
        # domain and so into the interior. Its barrier fits the gap that `center` last
        # stored.
        middle = 0.5 * (self.corners.low + self.corners.high)
        rho = (1.0 - SETTINGS.inward_share) * self.rho + SETTINGS.inward_share * middle
        return BarrierSide(self.loss, self.y, rho, self.allowed)


def _interior_pieces(signs: Array, sizes: Array, rho: Array) -> Array:
    """Return pieces inside their boxes [0, sizes], with rho as their signed sum."""
    if signs.shape[0] == 1:
        return signs * rho
    # Each entry of rho is the difference of two pieces, and does not change if the same
    # number `lift` is added to both. `lift` is at most a quarter of the upper bound of
    # either piece, and at most half of the distance from either piece to this bound.
    pieces = np.maximum(signs * rho, 0.0)
    lift = np.minimum(0.25 * sizes, 0.5 * (sizes - pieces)).min(axis=0)
    return np.asarray(pieces + lift)
