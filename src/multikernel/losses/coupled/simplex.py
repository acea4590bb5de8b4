"""Dual points of losses whose domain is a simplex in every row."""

from collections.abc import Callable

import numpy as np

from multikernel._typing import Array, Mask
from multikernel.linalg import EPS
from multikernel.linalg.simplex_system import project_simplex
from multikernel.losses.base import CoupledLoss

OUTSIDE = 1e-12
"""Largest distance from the simplex that counts as rounding."""


class SimplexDomain:
    """The domain of gradients u = p - y, with one-hot y and p in the simplex."""

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        """Return bounds on gradients u = p - y, for class shares p between 0 and 1."""
        return -y, 1.0 - y

    def project_rows(self, y: Array, u: Array) -> Array:
        """Return the nearest point of the domain to every row of u."""
        return np.asarray(project_simplex(y + u, np.ones(len(y))) - y)

    def support(self, y: Array, u: Array) -> Mask:
        """Return a mask of positive class shares p = y + u, (n_samples, n_classes)."""
        return np.asarray(y + u > 0.0)

    def masses(self, y: Array) -> Array:
        """Return the sum of each row's class shares: ones."""
        return np.ones(len(y))

    def _masses_and_inside(self, y: Array, u: Array) -> tuple[Array, Mask]:
        """Return y + u, clipped to [0, 1], and a mask of rows in the domain."""
        p = y + u
        is_inside = p.min(axis=1) >= -OUTSIDE
        is_inside &= np.abs(u.sum(axis=1)) <= OUTSIDE
        return np.clip(p, 0.0, 1.0), is_inside


def true_values(y: Array, f: Array) -> Array:
    """Return the decision value of each sample's class, as a column."""
    return np.asarray(np.take_along_axis(f, np.argmax(y, axis=1)[:, None], axis=1))


def class_weights(y: Array, weights: Array | None) -> tuple[Array, Array]:
    """Return sample weights and total weights of classes; raise for an empty class."""
    sample_weights = np.ones(len(y)) if weights is None else weights
    totals = y.sum(axis=0) if weights is None else weights @ y
    if not np.all(totals > 0.0):
        raise ValueError(
            f"Class {int(np.argmin(totals))} (a column of y, counted from 0) has no "
            "sample of positive weight, so its intercept is not defined: remove the "
            "column, or add samples of the class."
        )
    return sample_weights, np.asarray(totals)


MOST_STEPS, HALVINGS = 200, 20
RIDGES = (1e-9, 1e-5, 1e-2, 1.0)
"""Ridges per sample, tried in turn; with 1.0, Newton's step is almost the gradient."""

_Point = tuple[Array, Array, Mask]
"""A shift, the projection of the shifted point, and its support."""

ROUNDING = 4.0 * EPS
"""Largest class sum, relative to the sum of absolute values, that counts as zero."""


# The nearest dual point with classes that sum to zero is a projection of shifted rows,
# rho(b) = P(rho - 1 b^T) with sum_i rho_ic(b) = 0. Newton's method finds b, which
# maximizes a concave function with a piecewise linear gradient.
def project_coupled(loss: CoupledLoss, y: Array, rho: Array, *, center: bool) -> Array:
    """Return the nearest dual point in the domain of a loss, (n_samples, n_classes).

    `y` are one-hot targets, and `rho` is the point to project, of the same shape. With
    `center`, every column of the result sums to zero, as with an intercept.
    """

    def shifted(shift: Array) -> _Point:
        """Return the projection rho(b) for the shift b, see above."""
        projected = -loss.project_rows(y, shift - rho)
        return shift, projected, loss.support(y, -projected)

    # Each step tries the ridges in turn, until a halved step is accepted.
    smallest = EPS * float(np.abs(rho).max())
    point = shifted(np.zeros(y.shape[1]))
    for _ in range(MOST_STEPS if center else 0):
        excess = point[1].sum(axis=0)
        if np.abs(excess).sum() <= ROUNDING * np.abs(point[1]).sum():
            break
        steps = (_newton_step(point[2], excess, ridge) for ridge in RIDGES)
        points = (_halved_step_up(shifted, point, step, smallest) for step in steps)
        feasible = next((p for p in points if p is not None), None)
        if feasible is None:
            break
        point = feasible
    return point[1]


def center_of_simplices(loss: CoupledLoss, y: Array, *, center: bool) -> Array:
    """Return a dual point strictly inside the domain; class sums are 0 if `center`."""
    masses = loss.masses(y)
    shares = np.full(y.shape[1], 1.0 / y.shape[1])
    if center:
        shares = masses @ y / masses.sum()
    # Row i of p, the class shares of `CoupledLoss`, is masses[i] * shares. If `shares`
    # are the weighted frequencies of the classes, columns of the result sum to zero.
    return np.asarray(masses[:, None] * (y - shares))


def _halved_step_up(
    shifted: Callable[[Array], _Point], start: _Point, step: Array, smallest: float
) -> _Point | None:
    """Halve `step` until it increases a concave function; return the point or None."""
    # A point is accepted in two cases. (1) The support is the same as at `start`, and
    # the sum of the absolute class sums (`excess`) is less than half of that at
    # `start`. (2) The concave function of `project_coupled` still increases at the
    # point, and the step is longer than `smallest`, the size of rounding errors. The
    # gradient tells this more accurately than a difference of function values.
    shift, projected, support = start
    excess, length = projected.sum(axis=0), 1.0
    for _ in range(HALVINGS):
        point = shifted(shift + length * step)
        next_excess = point[1].sum(axis=0)
        is_closer = np.abs(next_excess).sum() < 0.5 * np.abs(excess).sum()
        same_support = is_closer and np.array_equal(point[2], support)
        is_long = length * np.abs(step).max() > smallest
        if same_support or (is_long and float(step @ next_excess) >= 0.0):
            return point
        length *= 0.5
    return None


def _newton_step(free: Mask, excess: Array, ridge: float) -> Array:
    """Return the Newton step in the shift b that makes the class sums `excess` zero."""
    # `free` is the mask of positive class shares. The class sums of the projection have
    # the derivative -`curvature` in b: a shift moves only positive shares, minus their
    # mean in each row.
    masks = free.astype(np.float64)
    sizes = np.maximum(masks.sum(axis=1), 1.0)
    curvature = np.diag(masks.sum(axis=0)) - masks.T @ (masks / sizes[:, None])
    # For a class without positive shares, the Hessian is zero, and only the ridge, a
    # multiple of `ridge`, determines how far the shift of this class moves.
    curvature += ridge * len(free) * (np.eye(excess.size) - 1.0 / excess.size)
    step = np.linalg.lstsq(curvature, excess, rcond=None)[0]
    return np.asarray(step)
