"""Multipliers of the walls of a domain: how far they go, and how far they may stray."""

import numpy as np

from multikernel._typing import Array

FARTHEST = 1e4
"""A multiplier stays within this factor of the central path, up or down."""


def reach_of_zero(point: Array, step: Array) -> float:
    """Return the multiple of a step at which the first entry is zero."""
    falling = step < 0.0
    return float(np.min(-point[falling] / step[falling], initial=np.inf))


def advanced(
    multiplier: Array, direction: Array, reach: float, centered: Array
) -> Array:
    """Return a multiplier after a step, at most a whole one, near the central path.

    Parameters
    ----------
    multiplier, direction : ndarray
        Where it is, and where a whole step leads.
    reach : float
        The longest step that keeps all multipliers positive.
    centered : ndarray
        The multiplier on the central path, for the new point.
    """
    moved = multiplier + min(1.0, reach) * direction
    return np.asarray(np.clip(moved, 1.0 / FARTHEST * centered, FARTHEST * centered))
