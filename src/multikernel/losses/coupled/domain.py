r"""Dual points of coupled losses: rows on the simplex, classes that sum to zero.

The nearest such point to a candidate is the projection of the rows of a shifted one,

.. math:: \rho(b) = P(\hat\rho - 1 b^\top), \qquad \textstyle\sum_i \rho_{ic}(b) = 0,

as that of a box with a fixed sum is a clipped shift. The shift b maximises a concave
function with a piecewise linear slope, by Newton's method.
"""

from collections.abc import Callable

import numpy as np

from multikernel._typing import Array, Mask
from multikernel.losses.coupled.base import CoupledLoss

MOST_STEPS, HALVINGS = 200, 20
LOOSE = (1e-9, 1e-5, 1e-2, 1.0)
"""Of the samples, as if free in every class: Newton's step, and what is tried where it
does not lead up. With the last one the step always does, as it is a gradient's."""

_Point = tuple[Array, Array, float]
"""A shift, the projection of what it leads to, and the distance."""

ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
"""An excess below this share of the sum of absolute values is left at the end."""


def project_coupled(loss: CoupledLoss, y: Array, rho: Array, centre: bool) -> Array:
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

    def project(candidate: Array) -> Array:
        return -loss.project_rows(y, -candidate)

    shift, projected = np.zeros(y.shape[1]), project(rho)
    if not centre:
        return projected
    point: _Point = shift, projected, _distance(rho, shift, projected)
    for _ in range(MOST_STEPS):
        excess = point[1].sum(axis=0)
        if np.abs(excess).sum() <= ROUNDING * np.abs(point[1]).sum():
            break
        free = loss.support(y, -point[1])
        steps = (_step(free, excess, loose) for loose in LOOSE)
        tried = (_ascent(project, rho, point, step) for step in steps)
        found = next((each for each in tried if each is not None), None)
        if found is None:
            break
        point = found
    return point[1]


def centre_of_simplices(loss: CoupledLoss, y: Array, centre: bool) -> Array:
    """Return a dual point strictly inside the domain; its classes sum to zero if asked.

    Every sample has the masses that the classes have of all samples.
    """
    masses = loss.masses(y)
    shares = (
        masses @ y / masses.sum() if centre else np.full(y.shape[1], 1.0 / y.shape[1])
    )
    return np.asarray(masses[:, None] * (y - shares))


def _distance(rho: Array, shift: Array, projected: Array) -> float:
    """Return the concave function of the shift, whose slope is the excess."""
    away = projected - rho
    return float(0.5 * np.sum(away**2) + shift @ projected.sum(axis=0))


def _ascent(
    project: Callable[[Array], Array], rho: Array, last: _Point, step: Array
) -> _Point | None:
    """Return the shift to which a halved step leads up, and its point; None if none."""
    shift, projected, distance = last
    excess, length = projected.sum(axis=0), 1.0
    for _ in range(HALVINGS):
        new = shift + length * step
        moved = project(rho - new)
        value = _distance(rho, new, moved)
        # Near the end values have no digits left, and the excess decides.
        gained = value - distance
        flat = abs(gained) <= 1e-12 * (abs(value) + abs(distance))
        closer = np.abs(moved.sum(axis=0)).sum() < 0.5 * np.abs(excess).sum()
        if gained > 1e-4 * length * float(step @ excess) or (flat and closer):
            return new, moved, value
        length *= 0.5
    return None


def _step(free: Mask, excess: Array, loose: float) -> Array:
    """Return Newton's step: the shift that takes the excess off by the free entries."""
    masks = free.astype(np.float64)
    sizes = np.maximum(masks.sum(axis=1), 1.0)
    curvature = np.diag(masks.sum(axis=0)) - masks.T @ (masks / sizes[:, None])
    # Classes that no sample is free to leave are moved as if some were.
    curvature += loose * len(free) * (np.eye(excess.size) - 1.0 / excess.size)
    step = np.linalg.lstsq(curvature, excess, rcond=None)[0]
    return np.asarray(step)
