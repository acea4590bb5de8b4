r"""Dual points of coupled losses: rows on the simplex, classes that sum to zero.

The nearest such point to a candidate is the projection of the rows of a shifted one,

.. math:: \rho(b) = P(\hat\rho - 1 b^\top), \qquad \textstyle\sum_i \rho_{ic}(b) = 0,

as that of a box with a fixed sum is a clipped shift. The shift b maximises a concave
function with a piecewise linear slope, by Newton's method.
"""

import numpy as np

from multikernel._typing import Array, Mask
from multikernel.losses.coupled.base import CoupledLoss

MOST_STEPS, HALVINGS = 100, 30
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
    projected = -loss.project_rows(y, -rho)
    if not centre:
        return projected
    shift = np.zeros(y.shape[1])
    distance = _distance(rho, shift, projected)
    for _ in range(MOST_STEPS):
        excess = projected.sum(axis=0)
        if np.abs(excess).sum() <= ROUNDING * np.abs(projected).sum():
            break
        free = loss.support(y, -projected)
        step, length = _step(free, excess), 1.0
        for _ in range(HALVINGS):
            moved = -loss.project_rows(y, -(rho - shift - length * step))
            new = _distance(rho, shift + length * step, moved)
            # Near the end values have no digits left, and the excess decides.
            gained = new - distance
            flat = abs(gained) <= 1e-12 * (abs(new) + abs(distance))
            closer = np.abs(moved.sum(axis=0)).sum() < 0.5 * np.abs(excess).sum()
            if gained > 1e-4 * length * float(step @ excess) or (flat and closer):
                break
            length *= 0.5
        else:
            break
        shift, projected, distance = shift + length * step, moved, new
    return projected


def _distance(rho: Array, shift: Array, projected: Array) -> float:
    """Return the concave function of the shift, whose slope is the excess."""
    away = projected - rho
    return float(0.5 * np.sum(away**2) + shift @ projected.sum(axis=0))


def _step(free: Mask, excess: Array) -> Array:
    """Return Newton's step: the shift that takes the excess off by the free entries."""
    masks = free.astype(np.float64)
    sizes = np.maximum(masks.sum(axis=1), 1.0)
    curvature = np.diag(masks.sum(axis=0)) - masks.T @ (masks / sizes[:, None])
    # Classes that no sample is free to leave are moved as if all were.
    loose = 1e-9 * max(float(np.trace(curvature)), 1.0)
    curvature += loose * (np.eye(excess.size) - 1.0 / excess.size)
    step = np.linalg.lstsq(curvature, excess, rcond=None)[0]
    return np.asarray(step)
