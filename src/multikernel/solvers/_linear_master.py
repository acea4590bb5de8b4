"""Master problem of cutting planes over the simplex, as a linear program."""

import numpy as np
from scipy.optimize import linprog

from multikernel._typing import Array
from multikernel.solvers._master import Master

LP_TOLERANCE = 1e-10


def linear_master(heights: Array, slopes: Array) -> Master:
    """Minimise the highest plane over the simplex, by a linear program (HiGHS).

    Parameters
    ----------
    heights : ndarray of shape (n_planes,)
        The values h.
    slopes : ndarray of shape (n_planes, n_kernels)
        The slopes s; a plane is ``heights - slopes @ weights``.

    Returns
    -------
    master : Master

    Raises
    ------
    RuntimeError
        If HiGHS gives up.
    """
    n_planes, n_kernels = slopes.shape
    # In units of the numbers at hand, for HiGHS works with absolute tolerances.
    unit = max(float(np.abs(slopes).max()), float(np.ptp(heights)), 1e-300)
    shifted = (heights - heights.max()) / unit
    solved = linprog(
        np.append(np.zeros(n_kernels), 1.0),
        A_ub=np.hstack([-slopes / unit, -np.ones((n_planes, 1))]),
        b_ub=-shifted,
        A_eq=np.append(np.ones(n_kernels), 0.0)[None],
        b_eq=np.ones(1),
        bounds=[(0.0, None)] * n_kernels + [(None, None)],
        method="highs",
        options={
            "primal_feasibility_tolerance": LP_TOLERANCE,
            "dual_feasibility_tolerance": LP_TOLERANCE,
        },
    )
    if not solved.success or solved.x is None:
        raise RuntimeError(
            f"The linear program of the cutting planes failed: {solved.message}"
        )
    multipliers = np.maximum(-solved.ineqlin.marginals, 0.0)
    multipliers /= multipliers.sum()
    weights = np.maximum(solved.x[:-1], 0.0)
    lowest = float(multipliers @ heights - (multipliers @ slopes).max())
    return Master(weights / weights.sum(), multipliers, lowest, 0.0)
