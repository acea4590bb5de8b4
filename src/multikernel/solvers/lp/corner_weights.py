"""Kernel weights in a corner of the simplex, by a linear program over planes."""

import numpy as np
from scipy.optimize import linprog

from multikernel._typing import Array

TOLERANCE = 1e-10
"""HiGHS gets this absolute tolerance, in units of the largest slope: the least that it
accepts."""


def corner_weights(heights: Array, slopes: Array) -> Array | None:
    """Minimise the highest plane over the simplex, by a linear program (HiGHS).

    Parameters
    ----------
    heights : ndarray of shape (n_planes,)
        The values h.
    slopes : ndarray of shape (n_planes, n_kernels)
        The slopes s; a plane is ``heights - slopes @ weights``.

    Returns
    -------
    weights : ndarray of shape (n_kernels,) or None
        At most as many as there are planes are not zero. None where HiGHS gives up.
    """
    n_planes, n_kernels = slopes.shape
    # In units of the numbers at hand, for HiGHS works with absolute tolerances.
    unit = max(float(np.abs(slopes).max()), float(np.ptp(heights)), 1e-300)
    solved = linprog(
        np.append(np.zeros(n_kernels), 1.0),
        A_ub=np.hstack([-slopes / unit, -np.ones((n_planes, 1))]),
        b_ub=(heights.max() - heights) / unit,
        A_eq=np.append(np.ones(n_kernels), 0.0)[None],
        b_eq=np.ones(1),
        bounds=[(0.0, None)] * n_kernels + [(None, None)],
        method="highs",
        options={
            "primal_feasibility_tolerance": TOLERANCE,
            "dual_feasibility_tolerance": TOLERANCE,
        },
    )
    if not solved.success or solved.x is None:
        return None
    weights = np.maximum(solved.x[:-1], 0.0)
    return np.asarray(weights / weights.sum())
