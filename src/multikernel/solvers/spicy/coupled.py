"""Losses that couple all classes, in Newton's method: dual points lie on simplices.

With the weight w_i of sample i and the unit vector e of its class y_i, the point p_i =
w_i e - rho_i is nonnegative and has the sum w_i. Newton's step d minimizes

    d^T H d / 2 + sum_ic d_ic^2 / (2 s_ic) + g^T d

over d whose rows sum to zero and whose columns have the sums that an intercept
requires. H is the Hessian of the kernels' term, g the gradient of the objective. The
softness s, the inverse curvature of the conjugate, is p for the softmax. For Crammer
and Singer's hinge, multipliers keep points off the boundary (`Walls`). H dominates for
large softness, so conjugate gradients are preconditioned by the same problem with H
restricted to the softest entries (`SimplexSystem`).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from multikernel._typing import Array, Mask
from multikernel.linalg.shifted import solve_shifted
from multikernel.linalg.simplex_system import SimplexSystem
from multikernel.losses import CoupledLoss, PolyhedralCoupledLoss, SmoothCoupledLoss
from multikernel.solvers.spicy.kernels import JointHessian, QuadraticModel
from multikernel.solvers.spicy.settings import SETTINGS
from multikernel.solvers.spicy.sides import Side, Walls, reach


class SimplexSide(Side):
    """Dual point on simplices, with steps in their interior; targets y are one-hot."""

    # Row i is p_i = w_i e - rho_i, for the weight w_i (in `masses`) and one-hot target
    # e.
    p: Array
    rho: Array

    def __init__(self, loss: CoupledLoss, y: Array, rho: Array) -> None:
        self.y, self.masses = y, loss.masses(y)[:, None]
        self.step = np.zeros_like(rho)
        self._go_to(self.onto_simplices(self.masses * y - rho))

    def _go_to(self, p: Array) -> None:
        """Set the point p on the simplices, and the rho that it implies."""
        self.p, self.rho = p, self.masses * self.y - p

    def aim(self, step: Array) -> float:
        """Set the direction; return the longest feasible step length, at most 1."""
        self.step = step
        longest = reach(self.p, -step, 0.0, np.inf)
        return min(1.0, SETTINGS.interior * longest)

    def move(self, length: float) -> None:
        """Move the point along the direction."""
        self._go_to(self.moved(length))

    def moved(self, length: float) -> Array:
        """Return the point p after a step of `length` times the direction."""
        return self.onto_simplices(self.p - length * self.step)

    def onto_simplices(self, p: Array) -> Array:
        """Return p with entries made positive and rows scaled to the sums `masses`."""
        p = np.maximum(p, 1e-15 * self.masses)
        return np.asarray(p * (self.masses / p.sum(axis=1, keepdims=True)))


class SmoothSimplexSide(SimplexSide):
    """Dual point of a coupled loss with a differentiable conjugate."""

    def __init__(self, loss: SmoothCoupledLoss, y: Array, rho: Array) -> None:
        super().__init__(loss, y, rho)
        self.loss = loss

    def newton(self, model: QuadraticModel) -> tuple[Array, Array]:
        """Return an inexact Newton step, and the change of the intercepts."""
        # `pull` is the conjugate's gradient in rho. The conjugate of the softmax has
        # the second derivatives 1 / p, so p is the `softness` of `constrained_step`.
        pull = -self.loss.conjugate_gradient(self.y, -self.rho)
        step, shift = constrained_step(self.p, model, pull, forcing=0.1, exact=False)
        return self._away_from_bounds(step), shift

    def slope(self, length: float) -> float:
        """Return the derivative of the conjugate after a step of this length."""
        u = self.moved(length) - self.masses * self.y
        return -float(np.vdot(self.loss.conjugate_gradient(self.y, u), self.step))

    def _away_from_bounds(self, step: Array) -> Array:
        """Return the step, shortened for entries of p that are nearly zero."""
        # A step changes p by -step, so small entries of p may not fall to zero. The
        # largest entry of a row absorbs the difference, because rows of a step sum to
        # zero.
        small = self.p <= 3e-8 * self.masses
        bounded = np.where(small, np.minimum(step, SETTINGS.interior * self.p), step)
        largest = np.argmax(self.p, axis=1)[:, None]
        excess = bounded.sum(axis=1, keepdims=True)
        balanced = np.take_along_axis(bounded, largest, axis=1) - excess
        np.put_along_axis(bounded, largest, balanced, axis=1)
        return np.asarray(bounded)


class BarrierSimplexSide(SimplexSide):
    """`SimplexSide` for a linear conjugate; a barrier keeps all of `p` positive."""

    walls: Walls

    def __init__(
        self, loss: PolyhedralCoupledLoss, y: Array, rho: Array, gap: float
    ) -> None:
        super().__init__(loss, y, rho)
        self.costs = loss.corner_costs(y)
        zero = np.zeros_like(self.p)
        self.walls = Walls(zero, zero + np.inf, self.p, gap)

    def newton(self, model: QuadraticModel) -> tuple[Array, Array]:
        """Return an inexact Newton step, and the change of the intercepts."""
        # The conjugate is linear, with slope `costs`; the barrier -mu log(p) keeps p
        # above zero. Its multipliers zeta are eliminated from the primal-dual system,
        # which leaves the curvature zeta / p.
        pull = self.walls.mu / self.p - self.costs
        softness = self.p / self.walls.zeta
        # Multipliers keep points off the boundary, which a less exact step would hit.
        return constrained_step(softness, model, pull, forcing=0.01, exact=True)

    def aim(self, step: Array) -> float:
        """Set directions of point and multipliers; return the longest feasible step."""
        self.walls.aim(self.p, -step)
        return super().aim(step)

    def slope(self, length: float) -> float:
        """Return the derivative of the barrier function after a step of this length."""
        # In rho, the linear conjugate has the derivative -costs, and the barrier mu /
        # p.
        slopes = self.walls.mu / self.moved(length) - self.costs
        return float(np.vdot(slopes, self.step))

    def move(self, length: float) -> None:
        """Move along the directions of the point and the multipliers."""
        super().move(length)
        self.walls.move()


def constrained_step(
    softness: Array,
    model: QuadraticModel,
    pull: Array,
    forcing: float,
    *,
    exact: bool,
) -> tuple[Array, Array]:
    """Return Newton's step d of the dual point, and the changes of the intercepts."""
    # The step d minimizes d^T H d / 2 + sum d^2 / (2 s) + g^T d. Its rows sum to zero,
    # and with an intercept its columns sum to -excess. `model` contains H and the
    # gradient of the kernels' term. `pull`, (n_samples, n_classes), is the gradient of
    # the conjugate and of barriers; with both, g is `gradient`. The positive `softness`
    # is s. Conjugate gradients end when the error is at most the share `forcing` of the
    # step, in the norm of H + diag(1 / s).
    hessian, gradient = model.hessian, pull + model.gradient
    assert isinstance(hessian, JointHessian)
    # If `exact`, the preconditioner includes H between the entries of large softness;
    # otherwise it ignores H.
    softest = (
        _soft_entries(softness, hessian) if exact else np.zeros(softness.shape, bool)
    )
    preconditioner = _make_preconditioner(
        softness, hessian, softest, centered=model.excess is not None
    )
    sums = None if model.excess is None else -model.excess
    step, shift = preconditioner.solve(-gradient, sums)
    residual = -gradient - hessian.times(step) - step / softness
    direction, square = np.zeros_like(step), np.inf
    for _ in range(500):
        preconditioned, shift = preconditioner.solve(residual)
        before, square = square, float(np.vdot(residual, preconditioned))
        if not square > forcing**2 * float(np.vdot(step, -gradient - residual)):
            break
        direction = preconditioned + (square / before) * direction
        image = hessian.times(direction) + direction / softness
        curvature = float(np.vdot(direction, image))
        if not curvature > 0.0:
            raise np.linalg.LinAlgError(
                "The Hessian is not positive definite: scale the Gram matrices down."
            )
        step = step + (square / curvature) * direction
        residual = residual - (square / curvature) * image
    return step, shift


@dataclass(frozen=True, eq=False)
class _Preconditioner:
    """Preconditioner of `constrained_step`, with H between soft entries only."""

    # Soft entries are those of the dual point whose `softness` (the inverse curvature
    # of the conjugate) is large; see `_soft_entries`. Other entries of H are zero.

    # The preconditioner's matrix is that of `system` plus sum_k u_k u_k^T.

    system: SimplexSystem  # without entries between different classes
    low_rank: Array  # u_k, (rank, n_samples, n_classes), which couple classes

    def solve(self, side: Array, sums: Array | None = None) -> tuple[Array, Array]:
        """Return the solution for a right-hand side, and one multiplier per class."""
        # The columns of the solution sum to `sums`, by default to zero.
        z, shifts = (each[0] for each in self.system.solve(side[None], sums))
        if not len(self.low_rank):
            return z, shifts
        # Woodbury: A^-1 r - A^-1 U (I + U^T A^-1 U)^-1 U^T A^-1 r for the matrix A of
        # `system` and the right-hand side r; z is A^-1 r, and `solved` is A^-1 U.
        solved, solved_shifts, inverse = self._woodbury_terms
        parts = inverse @ np.tensordot(self.low_rank, z, axes=2)
        return z - np.tensordot(parts, solved, axes=1), shifts - parts @ solved_shifts

    @cached_property
    def _woodbury_terms(self) -> tuple[Array, Array, Array]:
        """Solutions for all u_k, multipliers, and the inverse in Woodbury's formula."""
        # Let A be the matrix of `system`, and U the matrix of all u_k in `low_rank`.
        # The results are A^-1 U (with constrained sums), the multipliers of these
        # constraints for each u_k, and (I + U^T A^-1 U)^-1.
        solved, shifts = self.system.solve(self.low_rank)
        inner = np.tensordot(self.low_rank, solved, axes=([1, 2], [1, 2]))
        inverse = np.linalg.inv(inner + np.eye(len(inner)))
        return solved, shifts, np.asarray(inverse, dtype=np.float64)


def _soft_entries(softness: Array, hessian: JointHessian) -> Mask:
    """Return a mask of entries whose softness times the mean of diag(H) exceeds one."""
    # For random signs s the mean of s^T H s is the trace of H.
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(len(softness), 1))
    mean = float(np.vdot(signs, hessian.each.times(signs))) / len(softness)
    inside = softness * mean > 1.0
    if np.count_nonzero(inside) > 6000:  # a matrix of 300 MB
        inside = softness > np.partition(softness.ravel(), -6000)[-6000]
    return inside


def _make_preconditioner(
    softness: Array, hessian: JointHessian, inside: Mask, *, centered: bool
) -> _Preconditioner:
    """Return the preconditioner that uses H only between the entries in `inside`."""
    # H is the Hessian of the kernels' term, and 1 / `softness` is added to its
    # diagonal. For entries outside the mask `inside`, only this addition remains. If
    # `centered`, the sum over samples of the system's solution is fixed per class.
    rows = np.flatnonzero(inside.any(axis=1))
    rows_of_class = [np.flatnonzero(mask) for mask in inside.T]
    if not rows.size:
        nothing = [np.zeros((0, 0))] * len(rows_of_class)
        system = SimplexSystem(softness, rows_of_class, nothing, centered)
        return _Preconditioner(system, hessian.low_rank[:0])
    parts = np.array_split(rows, 1 + rows.size // 512)
    H = np.concatenate([hessian.each.rows(part)[:, rows] for part in parts])
    inverses = []
    for c, class_rows in enumerate(rows_of_class):
        places = np.searchsorted(rows, class_rows)
        block = H[np.ix_(places, places)]
        shift = 1.0 / softness[class_rows, c]
        inverses.append(solve_shifted(block, np.eye(class_rows.size), shift, None))
    outer_softness = np.where(inside, 0.0, softness)
    system = SimplexSystem(outer_softness, rows_of_class, inverses, centered)
    return _Preconditioner(system, hessian.low_rank * inside)
