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

import numpy as np

from multikernel._typing import Array
from multikernel.losses.coupled import SmoothCoupledLoss
from multikernel.solvers.spicy.quadratic_model import JointHessian, QuadraticModel
from multikernel.solvers.spicy.tuning import FORCING, INTERIOR, MOST_PRODUCTS

SMALLEST = 1e-15
"""Share of a row's mass that a probability has at least: rounding of the others."""


class SimplexSide:
    """The side of a coupled loss with a differentiable conjugate.

    Parameters
    ----------
    loss : SmoothCoupledLoss
        The loss.
    y : ndarray of shape (n_samples, n_classes)
        Targets, one-hot.
    rho : ndarray of shape (n_samples, n_classes)
        A point of the domain; it is moved off the boundary.
    """

    def __init__(self, loss: SmoothCoupledLoss, y: Array, rho: Array) -> None:
        self.loss, self.y = loss, y
        self.masses = loss.masses(y)[:, None]
        self.step = np.zeros_like(rho)
        self._p = self._kept(self.masses * y - rho)

    @property
    def rho(self) -> Array:
        """Return the point."""
        return np.asarray(self.masses * self.y - self._p)

    def center(self, gap: float) -> None:
        """Do nothing: the conjugate is exact."""

    def slack(self) -> float:
        """Return 0."""
        return 0.0

    def newton(self, model: QuadraticModel) -> tuple[Array, Array]:
        """Return Newton's step, but for a share of the residual."""
        pull = -self.loss.conjugate_gradient(self.y, -self.rho)
        root = _Root(np.sqrt(self._p), np.sqrt(self._p / self.masses))
        step, shift = _constrained_step(root, model, pull + model.gradient)
        return self._off_the_wall(step), shift

    def _off_the_wall(self, step: Array) -> Array:
        """Return the step, which must not stop at what is next to nothing already."""
        small = self._p <= np.sqrt(SMALLEST) * self.masses
        bounded = np.where(small, np.minimum(step, INTERIOR * self._p), step)
        largest = np.argmax(self._p, axis=1)[:, None]
        excess = bounded.sum(axis=1, keepdims=True)
        own = np.take_along_axis(bounded, largest, axis=1) - excess
        np.put_along_axis(bounded, largest, own, axis=1)
        return np.asarray(bounded)

    def aim(self, step: Array) -> float:
        """Set the direction; return the longest multiple of it, at most 1, allowed."""
        self.step = step
        falling = step > 0.0
        if not falling.any():
            return 1.0
        return min(1.0, INTERIOR * float(np.min(self._p[falling] / step[falling])))

    def slope(self, length: float) -> float:
        """Return the derivative of the conjugate along the direction."""
        u = self._kept(self._p - length * self.step) - self.masses * self.y
        return -float(np.vdot(self.loss.conjugate_gradient(self.y, u), self.step))

    def move(self, length: float) -> None:
        """Go along the direction."""
        self._p = self._kept(self._p - length * self.step)

    def again(self) -> None:
        """Return None: a scaled dual point is the better start."""

    def sturdier(self) -> None:
        """Return None."""

    def _kept(self, p: Array) -> Array:
        """Return the point with rows of the right sums, off the boundary."""
        p = np.maximum(p, SMALLEST * self.masses)
        return np.asarray(p * (self.masses / p.sum(axis=1, keepdims=True)))


@dataclass(frozen=True, eq=False)
class _Root:
    """The roots R of the Hessians of all rows.

    Parameters
    ----------
    roots : ndarray of shape (n_samples, n_classes)
        Of the probabilities.
    unit : ndarray of shape (n_samples, n_classes)
        The unit vectors q.
    """

    roots: Array
    unit: Array

    def times(self, z: Array) -> Array:
        """Return R z."""
        return np.asarray(self.roots * self._off(z))

    def transposed(self, v: Array) -> Array:
        """Return R^T v."""
        return self._off(self.roots * v)

    def _off(self, z: Array) -> Array:
        inner = np.einsum("ic,ic->i", self.unit, z)
        return np.asarray(z - self.unit * inner[:, None])


def _constrained_step(
    root: _Root, model: QuadraticModel, gradient: Array
) -> tuple[Array, Array]:
    """Return the step of projected conjugate gradients, and the intercepts' change."""
    hessian, n_classes = model.hessian, gradient.shape[1]
    assert isinstance(hessian, JointHessian)
    inverse: Array = np.zeros((n_classes, n_classes), dtype=np.float64)
    if model.excess is not None:
        diagonal = np.diag((root.roots**2).sum(axis=0))
        shares = root.roots * root.unit
        inverse = np.asarray(np.linalg.pinv(diagonal - shares.T @ shares))

    def multipliers(z: Array) -> Array:
        """Return what all rows of a vector have in common, as a constant each class."""
        return np.asarray(inverse @ root.times(z).sum(axis=0))

    def projected(z: Array) -> Array:
        """Return a vector whose step leaves the sums of the classes."""
        return np.asarray(z - root.transposed(multipliers(z)[None]))

    z, image = np.zeros_like(gradient), np.zeros_like(gradient)
    if model.excess is not None:
        z = root.transposed(-(inverse @ model.excess)[None])
        image = hessian.times(root.times(z))
    residual = projected(-root.transposed(gradient + image) - z)
    way, square = residual, float(np.vdot(residual, residual))
    least = FORCING**2 * square
    for _ in range(MOST_PRODUCTS):
        if not square > least:
            break
        own = hessian.times(root.times(way))
        bend = projected(way + root.transposed(own))
        curvature = float(np.vdot(way, bend))
        if not curvature > 0.0:
            raise np.linalg.LinAlgError("The Hessian is not positive definite.")
        length = square / curvature
        z, image = z + length * way, image + length * own
        residual = residual - length * bend
        before, square = square, float(np.vdot(residual, residual))
        way = residual + (square / before) * way
    shift = -multipliers(root.transposed(gradient + image) + z)
    return root.times(z), shift
