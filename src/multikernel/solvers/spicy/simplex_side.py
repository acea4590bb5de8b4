r"""The side of a loss of all classes at once, whose dual points lie on simplices.

With :math:`p_i = w_i e_{y_i} - \rho_i`, positive and of sum :math:`w_i`, Newton's step
d minimises

.. math:: \tfrac12 d^\top H d + \tfrac12 \sum_{ic} \frac{d_{ic}^2}{p_{ic}} + g^\top d

over the d whose rows sum to zero, and whose columns do what an intercept asks for. The
Hessian of the softmax, :math:`W_i = \operatorname{diag}(p_i) - p_i p_i^\top / w_i`, has
the root :math:`R_i = \operatorname{diag}(p_i)^{1/2} (I - q_i q_i^\top)` with
:math:`q_i = (p_i / w_i)^{1/2}`, so that d = R z turns the system into

.. math:: (I + R^\top H R) z = -R^\top g ,

whose eigenvalues are at least one, however small a probability is. Conjugate gradients
solve it by products of H with a matrix of a column per class [1]_: no system over all
samples and classes is set up, and none is factorised.

References
----------
.. [1] Böhning (1992). Multinomial logistic regression algorithm. Annals of the
   Institute of Statistical Mathematics 44, 197-200.
"""

from dataclasses import dataclass

from functools import cached_property
import numpy as np
from multikernel.linalg.simplex_system import SimplexSystem
from multikernel.linalg.shifted import solve_shifted

from multikernel._typing import Array
from multikernel.losses.coupled import (
    CoupledLoss,
    PolyhedralCoupledLoss,
    SmoothCoupledLoss,
)
from multikernel.solvers.spicy.quadratic_model import JointHessian, QuadraticModel
from multikernel.solvers.spicy.tuning import FORCING, INTERIOR, MOST_PRODUCTS

SMALLEST = 1e-15
"""Share of a row's mass that a probability has at least: rounding of the others."""


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
        falling = step > 0.0
        if not falling.any():
            return 1.0
        return min(1.0, INTERIOR * float(np.min(self.p[falling] / step[falling])))

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
        step, shift = constrained_step(self.p, model, pull + model.gradient)
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
        return constrained_step(self.p / self.zeta, model, pull + model.gradient)

    def aim(self, step: Array) -> float:
        """Set the directions of the point and the multipliers; stay inside."""
        self.dual_direction = (self.barrier + self.zeta * step) / self.p - self.zeta
        self.dual_reach = INTERIOR * reach(self.zeta, self.dual_direction)
        return super().aim(step)

    def slope(self, length: float) -> float:
        """Return the derivative of the barrier function along the direction."""
        slopes = self.barrier / self.moved(length) - self.costs
        return float(np.vdot(slopes, self.step))

    def move(self, length: float) -> None:
        """Go along the directions; multipliers keep near the central path."""
        super().move(length)
        share = min(1.0, self.dual_reach)
        moved, centered = self.zeta + share * self.dual_direction, self.barrier / self.p
        self.zeta = np.clip(moved, 1e-4 * centered, 1e4 * centered)


def reach(p, step):
    f = step < 0
    return float(np.min(-p[f] / step[f])) if f.any() else np.inf


def constrained_step(
    softness: Array, model: QuadraticModel, gradient: Array
) -> tuple[Array, Array]:
    """Return Newton's step, but for a share of the residual, and the intercepts'.

    Parameters
    ----------
    softness : ndarray of shape (n_samples, n_classes)
        Inverse curvatures of the conjugate, entry by entry.
    model : QuadraticModel
        What is added to the conjugate.
    gradient : ndarray of shape (n_samples, n_classes)
        Of the sum.
    """
    hessian = model.hessian
    assert isinstance(hessian, JointHessian)
    system = preconditioner(softness, hessian, model.excess is not None)
    excess = None if model.excess is None else -model.excess
    step, _ = system.solve(-gradient, excess)
    image = hessian.times(step) + step / softness
    residual, way, square = -gradient - image, np.zeros_like(step), 1.0
    for k in range(MOST_PRODUCTS):
        own, shift = system.solve(residual)
        before, square = square, float(np.vdot(residual, own))
        if not square > FORCING**2 * float(np.vdot(step, -gradient - residual)):
            break
        way = own if k == 0 else own + (square / before) * way
        image = hessian.times(way) + way / softness
        curvature = float(np.vdot(way, image))
        if not curvature > 0.0:
            raise np.linalg.LinAlgError("The Hessian is not positive definite.")
        step = step + (square / curvature) * way
        residual = residual - (square / curvature) * image
    global STAT
    STAT.append((k, [len(m) for m in system.system.members]))
    return step, shift

STAT=[]
LOOSE = 1.0
@dataclass(frozen=True, eq=False)
class Preconditioner:
    system: SimplexSystem
    low_rank: Array

    @cached_property
    def _bent(self):
        W, shifts = self.system.solve(self.low_rank)
        k = len(W)
        inner = self.low_rank.reshape(k, -1) @ W.reshape(k, -1).T
        return W, shifts, np.linalg.inv(inner + np.eye(k))

    def solve(self, side, sums=None):
        z, b = self.system.solve(side[None], sums)
        z, b = z[0], b[0]
        if len(self.low_rank):
            W, shifts, inverse = self._bent
            parts = inverse @ np.tensordot(self.low_rank, z, axes=2)
            z = z - np.tensordot(parts, W, axes=1)
            b = b - parts @ shifts
        return z, b


def preconditioner(softness, hessian, centred):
    n = len(softness)
    v = np.random.default_rng(0).choice([-1.0, 1.0], size=(n, 1))
    size = float(np.vdot(v, hessian.each.times(v))) / n
    loose = softness * size > LOOSE
    rows = np.flatnonzero(loose.any(axis=1))
    H = hessian.each.rows(rows)[:, rows] if rows.size else np.zeros((0, 0))
    members, inverses = [], []
    for c in range(softness.shape[1]):
        own = np.flatnonzero(loose[rows, c])
        members.append(rows[own])
        inverses.append(solve_shifted(H[np.ix_(own, own)], np.eye(own.size), 1.0 / softness[rows[own], c], None))
    system = SimplexSystem(np.where(loose, 0.0, softness), members, inverses, centred)
    low = hessian.low_rank * loose
    return Preconditioner(system, low if rows.size else low[:0])
