r"""The geometry of a least squares fit with sample weights and a free intercept.

Minimising :math:`\sum_i w_i (r_i - g(x_i) - b)^2 + c \|g\|^2` over g and b is, with
:math:`S = \operatorname{diag}(w)^{1/2}` and P the projection off the unit vector u
along S 1, a ridge regression without either:

.. math:: \min_g \|\tilde r - \tilde g\|^2 + c \|\tilde g\|^2_{\tilde K}, \quad
   \tilde K = P S K S P, \quad \tilde r = P S r.

Without weights S = I and P centres, so that selection works on the centred kernel.
"""

from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array
from multikernel.losses.base import Loss
from multikernel.losses.squared import SquaredLoss
from multikernel.losses.weighted import WeightedLoss
from multikernel.problem import Problem


@dataclass(frozen=True, eq=False)
class Whitening:
    """The maps S and P; vectors are rows.

    Parameters
    ----------
    scale : ndarray of shape (n_samples,) or None
        The diagonal of S; None stands for ones.
    direction : ndarray of shape (n_samples,) or None
        The unit vector u; None where there is no intercept.
    """

    scale: Array | None
    direction: Array | None

    def project(self, rows: Array) -> Array:
        """Remove the part along u in place, shape (..., n_samples)."""
        if self.direction is not None:
            rows -= (rows @ self.direction)[..., None] * self.direction
        return rows

    def scaled(self, rows: Array) -> Array:
        """Return the rows times S, the rows themselves where S = I."""
        return rows if self.scale is None else rows * self.scale

    def residual_rows(self, rho: Array) -> Array:
        r"""Return :math:`\tilde r`, one row per output, from the dual variable.

        The dual variable of the weighted squared loss is W (y - f) = S (S r).
        """
        rows = np.array(rho.T if rho.ndim == 2 else rho[None], order="C")
        if self.scale is not None:
            rows /= self.scale
        return self.project(rows)


def whitening(problem: Problem) -> Whitening:
    """Return the geometry in which the residual of a problem is fitted.

    Weights enter for the squared loss only: for another loss the residual is the
    functional gradient, which holds them already.
    """
    n_samples = problem.y.shape[0]
    scale = None
    loss = problem.loss
    if is_squared(loss) and isinstance(loss, WeightedLoss):
        scale = np.sqrt(loss.weights)
    direction = None
    if problem.fit_intercept:
        direction = np.ones(n_samples) if scale is None else scale
        direction = direction / np.linalg.norm(direction)
    return Whitening(scale, direction)


def is_squared(loss: Loss) -> bool:
    """Return whether a loss is the squared loss, weighted or not."""
    inner = loss.loss if isinstance(loss, WeightedLoss) else loss
    return type(inner) is SquaredLoss  # a subclass may be any other loss
