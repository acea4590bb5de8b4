r"""The simplex of every row, which the losses of all classes share; their dual points.

The dual point nearest to a candidate whose classes sum to zero, too, is the projection
of the rows of a shifted one,

.. math:: \rho(b) = P(\hat\rho - 1 b^\top), \qquad \textstyle\sum_i \rho_{ic}(b) = 0,

as a projection onto a box with a fixed sum is a clipped shift. The b maximises a
concave function with a piecewise linear slope, by Newton's method.
"""

from collections.abc import Callable

import numpy as np

from multikernel._typing import Array, Mask
from multikernel.linalg import EPS
from multikernel.linalg.threads import compiled
from multikernel.losses.base import CoupledLoss

PROJECT = "multikernel.linalg.loops", "project_simplex"

OUTSIDE = 1e-12
"""Distance from the simplex that is rounding."""


class SimplexDomain:
    """The domain of slopes u = p - e_y, with p in the simplex."""

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        """Return the box around the domain: p between 0 and 1."""
        return -y, 1.0 - y

    def project_rows(self, y: Array, u: Array) -> Array:
        """Return the nearest point of the domain to every row of u."""
        rows = np.ascontiguousarray(y + u, dtype=np.float64)
        return np.asarray(compiled(*PROJECT)(rows, np.ones(len(y))) - y)

    def support(self, y: Array, u: Array) -> Mask:
        """Return where p is positive, shape (n_samples, n_classes)."""
        return np.asarray(y + u > 0.0)

    def masses(self, y: Array) -> Array:
        """Return what the p of every row sum to: ones."""
        return np.ones(len(y))

    def _masses_and_inside(self, y: Array, u: Array) -> tuple[Array, Mask]:
        """Return p, clipped by rounding only, and which rows are in the domain."""
        p = y + u
        inside = p.min(axis=1) >= -OUTSIDE
        inside &= np.abs(u.sum(axis=1)) <= OUTSIDE
        return np.clip(p, 0.0, 1.0), inside


def own_values(y: Array, f: Array) -> Array:
    """Return the decision value of the own class of every sample, as a column."""
    return np.asarray(np.take_along_axis(f, np.argmax(y, axis=1)[:, None], axis=1))


def class_weights(y: Array, weights: Array | None) -> tuple[Array, Array]:
    """Return weights of samples, and the total weight of every class; none is empty.

    The best constant of an empty class would be infinite.
    """
    sample_weights = np.ones(len(y)) if weights is None else weights
    totals = y.sum(axis=0) if weights is None else weights @ y
    if not np.all(totals > 0.0):
        raise ValueError(
            "The best constant model is infinite: class "
            f"{int(np.argmin(totals))} has no samples."
        )
    return sample_weights, np.asarray(totals)


MOST_STEPS, HALVINGS = 200, 20
LOOSE = (1e-9, 1e-5, 1e-2, 1.0)
"""Of the samples, as if free in every class: Newton's step, and what is tried where it
does not lead up. With the last one the step always does, as it is a gradient's."""

_Point = tuple[Array, Array, Mask]
"""A shift, the projection of what it leads to, and where that is inside the domain."""

ROUNDING = 4.0 * EPS
"""An excess below this share of the sum of absolute values is left at the end."""


def project_coupled(loss: CoupledLoss, y: Array, rho: Array, *, centre: bool) -> Array:
    """Return the nearest dual point in the domain of a loss.

    Parameters
    ----------
    loss : CoupledLoss
        The loss, weighted or not.
    y : ndarray of shape (n_samples, n_classes)
        Targets.
    rho : ndarray of shape (n_samples, n_classes)
        A candidate.
    centre : bool
        Whether every class is to sum to zero, as an intercept asks for.

    Returns
    -------
    projected : ndarray of shape (n_samples, n_classes)
    """

    def shifted(shift: Array) -> _Point:
        projected = -loss.project_rows(y, shift - rho)
        return shift, projected, loss.support(y, -projected)

    least = EPS * float(np.abs(rho).max())
    point = shifted(np.zeros(y.shape[1]))
    for _ in range(MOST_STEPS if centre else 0):
        excess = point[1].sum(axis=0)
        if np.abs(excess).sum() <= ROUNDING * np.abs(point[1]).sum():
            break
        steps = (_newton_step(point[2], excess, loose) for loose in LOOSE)
        tried = (_halved_step_up(shifted, point, step, least) for step in steps)
        feasible = next((each for each in tried if each is not None), None)
        if feasible is None:
            break
        point = feasible
    return point[1]


def centre_of_simplices(loss: CoupledLoss, y: Array, *, centre: bool) -> Array:
    """Return a dual point strictly inside the domain; its classes sum to zero if asked.

    Every sample has the masses that the classes have of all samples.
    """
    masses = loss.masses(y)
    shares = np.full(y.shape[1], 1.0 / y.shape[1])
    if centre:
        shares = masses @ y / masses.sum()
    return np.asarray(masses[:, None] * (y - shares))


def _halved_step_up(
    shifted: Callable[[Array], _Point], last: _Point, step: Array, least: float
) -> _Point | None:
    """Return the point that a halved step leads up to; None if there is none.

    Values of the concave function have no digits left where the candidate is far away,
    and its slopes have. Up to a point where it still rises, all of the way led up, and
    at least half of what the line has to give is gained. Between points with the same
    support it is quadratic, and a step that takes off half of the excess leads up.
    Shorter steps than `least` drown in the rounding of the candidate.
    """
    shift, projected, free = last
    excess, length = projected.sum(axis=0), 1.0
    for _ in range(HALVINGS):
        point = shifted(shift + length * step)
        after = point[1].sum(axis=0)
        closer = np.abs(after).sum() < 0.5 * np.abs(excess).sum()
        same = closer and np.array_equal(point[2], free)
        moves = length * np.abs(step).max() > least
        if same or (moves and float(step @ after) >= 0.0):
            return point
        length *= 0.5
    return None


def _newton_step(free: Mask, excess: Array, loose: float) -> Array:
    """Return Newton's step: the shift that takes the excess off by the free entries."""
    masks = free.astype(np.float64)
    sizes = np.maximum(masks.sum(axis=1), 1.0)
    curvature = np.diag(masks.sum(axis=0)) - masks.T @ (masks / sizes[:, None])
    # Classes that no sample is free to leave are moved as if some were.
    curvature += loose * len(free) * (np.eye(excess.size) - 1.0 / excess.size)
    step = np.linalg.lstsq(curvature, excess, rcond=None)[0]
    return np.asarray(step)
