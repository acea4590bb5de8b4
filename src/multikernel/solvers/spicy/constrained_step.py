r"""Newton's step within simplices, by conjugate gradients.

With :math:`p_i = w_i e_{y_i} - \rho_i` in a simplex a sample, the step d minimises

.. math:: \tfrac12 d^\top H d + \tfrac12 \sum_{ic} \frac{d_{ic}^2}{s_{ic}} + g^\top d

over the d whose rows sum to zero, and whose columns do what an intercept asks for. The
softness s is p for the softmax, and tiny where a mass vanishes: there d is as tiny,
whatever H is. Where it is not small beside H, as for masses that a hinge leaves free,
the matrix has huge eigenvalues. So conjugate gradients are preconditioned by the same
problem with H on the softest entries only, which `SimplexSystem` solves: all others
take products of H with a matrix of a column per class, and no system over all samples
and classes is set up.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from multikernel._typing import Array
from multikernel.linalg.shifted import solve_shifted
from multikernel.linalg.simplex_system import SimplexSystem
from multikernel.solvers.spicy.quadratic_model import JointHessian, QuadraticModel
from multikernel.solvers.spicy.tuning import MOST_LOOSE, MOST_PRODUCTS

ROWS = 512
"""Rows of H that are looked at together, of all samples."""


def constrained_step(
    softness: Array, model: QuadraticModel, pull: Array, loose: float, forcing: float
) -> tuple[Array, Array]:
    """Return Newton's step, but for a share of it, and the intercepts' change.

    Parameters
    ----------
    softness : ndarray of shape (n_samples, n_classes)
        Inverse curvatures of the conjugate, positive.
    model : QuadraticModel
        What is added to the conjugate.
    pull : ndarray of shape (n_samples, n_classes)
        Slopes of the conjugate.
    loose : float
        Entries softer than so many times the inverse of H's mean diagonal are solved
        for exactly.
    forcing : float
        The share, in the norm of the whole matrix.

    Returns
    -------
    step : ndarray of shape (n_samples, n_classes)
    shift : ndarray of shape (n_classes,)

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is not positive definite.
    """
    hessian, gradient = model.hessian, pull + model.gradient
    assert isinstance(hessian, JointHessian)
    nearby = _nearby(softness, hessian, model.excess is not None, loose)
    sums = None if model.excess is None else -model.excess
    step, shift = nearby.solve(-gradient, sums)
    residual = -gradient - hessian.times(step) - step / softness
    way, square = np.zeros_like(step), np.inf
    for _ in range(MOST_PRODUCTS):
        own, shift = nearby.solve(residual)
        before, square = square, float(np.vdot(residual, own))
        if not square > forcing**2 * float(np.vdot(step, -gradient - residual)):
            break
        way = own + (square / before) * way
        image = hessian.times(way) + way / softness
        curvature = float(np.vdot(way, image))
        if not curvature > 0.0:
            raise np.linalg.LinAlgError("The Hessian is not positive definite.")
        step = step + (square / curvature) * way
        residual = residual - (square / curvature) * image
    return step, shift


@dataclass(frozen=True, eq=False)
class _Nearby:
    """A system that is nearly Newton's: H counts between some entries only.

    Parameters
    ----------
    system : SimplexSystem
        What outputs share of it.
    low_rank : ndarray of shape (rank, n_samples, n_classes)
        What couples them, :math:`u_k`.
    """

    system: SimplexSystem
    low_rank: Array

    def solve(self, side: Array, sums: Array | None = None) -> tuple[Array, Array]:
        """Return the solution for a right-hand side, and the classes' multipliers."""
        z, shifts = (each[0] for each in self.system.solve(side[None], sums))
        if not len(self.low_rank):
            return z, shifts
        solved, own_shifts, inverse = self._bent
        parts = inverse @ np.tensordot(self.low_rank, z, axes=2)
        return z - np.tensordot(parts, solved, axes=1), shifts - parts @ own_shifts

    @cached_property
    def _bent(self) -> tuple[Array, Array, Array]:
        """Return the solutions for all u_k, and the inverse that Woodbury's takes."""
        solved, shifts = self.system.solve(self.low_rank)
        inner = np.tensordot(self.low_rank, solved, axes=([1, 2], [1, 2]))
        inverse = np.linalg.inv(inner + np.eye(len(inner)))
        return solved, shifts, np.asarray(inverse, dtype=np.float64)


def _nearby(
    softness: Array, hessian: JointHessian, centred: bool, loose: float
) -> _Nearby:
    """Return the system with H between loose entries only."""
    # A product with random signs is the sum of the diagonal, on average.
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(len(softness), 1))
    mean = float(np.vdot(signs, hessian.each.times(signs))) / len(softness)
    if softness.size > MOST_LOOSE:
        last = np.partition(softness.ravel(), -MOST_LOOSE)[-MOST_LOOSE]
        loose = max(loose, mean * float(last))
    inside = softness * mean > loose
    rows = np.flatnonzero(inside.any(axis=1))
    members = [np.flatnonzero(own) for own in inside.T]
    if not rows.size:
        nothing = [np.zeros((0, 0))] * len(members)
        system = SimplexSystem(softness, members, nothing, centred)
        return _Nearby(system, hessian.low_rank[:0])
    parts = np.array_split(rows, 1 + rows.size // ROWS)
    H = np.concatenate([hessian.each.rows(part)[:, rows] for part in parts])
    inverses = []
    for c, own in enumerate(members):
        places = np.searchsorted(rows, own)
        block = H[np.ix_(places, places)]
        shift = 1.0 / softness[own, c]
        inverses.append(solve_shifted(block, np.eye(own.size), shift, None))
    outside = np.where(inside, 0.0, softness)
    system = SimplexSystem(outside, members, inverses, centred)
    return _Nearby(system, hessian.low_rank * inside)
