r"""Master problems of cutting planes over kernel weights.

Every dual point rho gives a plane below the optimal value as a function of the kernel
weights, :math:`J(\theta) \ge c - \theta^\top s / (2 \alpha)`. The master minimises the
highest plane over the weights allowed: a linear program for p = 1, and otherwise a
convex program over the p-ball, which is solved in the few multipliers of the planes.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import LinearConstraint, brentq, linprog, minimize

from multikernel._typing import Array
from multikernel.regularizers.squared_block_norm import SquaredBlockNorm, p_norm

TAYLOR_RANGE = (1.05, 8.0)
"""Exponents p at which a second-order expansion of the norm is of use."""

EXPANSIONS = 10
ACCURACY = 1e-12
LP_TOLERANCE = 1e-10

Support = Callable[[Array], Array]
"""Takes a vector; returns the weights in a convex set of largest product with it."""


@dataclass(frozen=True, eq=False)
class Master:
    """A solved master problem.

    Parameters
    ----------
    weights : ndarray of shape (n_kernels,)
        Kernel weights of p-norm one.
    multipliers : ndarray of shape (n_planes,)
        Of the planes; non-negative, their sum is one.
    lower_bound : float
        A lower bound on the optimum over all weights, whatever the accuracy.
    """

    weights: Array
    multipliers: Array
    lower_bound: float


def linear_master(heights: Array, slopes: Array) -> Master:
    """Minimise the highest plane over the simplex, by a linear program (HiGHS).

    Parameters
    ----------
    heights : ndarray of shape (n_planes,)
        The values c.
    slopes : ndarray of shape (n_planes, n_kernels)
        The slopes s / (2 alpha); a plane is ``heights - slopes @ weights``.

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
    return Master(weights / weights.sum(), multipliers, lowest)


def ball_master(
    heights: Array, slopes: Array, regularizer: SquaredBlockNorm, center: Array
) -> Master:
    """Minimise the highest plane over the p-ball, p > 1.

    The norm is expanded to second order around the last weights (section 2.4.2 of
    Kloft et al., 2009), again and again; the quadratic constraint is diagonal, so each
    such program is solved in the multipliers. Where the expansion does not lead to the
    optimum over the ball itself, which the lower bound shows, the ball is used.

    Parameters
    ----------
    heights : ndarray of shape (n_planes,)
        The values c.
    slopes : ndarray of shape (n_planes, n_kernels)
        The slopes s / (2 alpha).
    regularizer : SquaredBlockNorm
        Gives p.
    center : ndarray of shape (n_kernels,)
        The last weights, positive and of p-norm one.

    Returns
    -------
    master : Master
    """
    p = regularizer.p
    multipliers = np.full(heights.size, 1.0 / heights.size)

    def evaluate(weights: Array, multipliers: Array) -> tuple[Master, float]:
        scaled = weights / p_norm(weights, p)
        combined = multipliers @ slopes
        bound = float(multipliers @ heights)
        bound -= p_norm(combined, regularizer.conjugate_p)
        height = float((heights - slopes @ scaled).max())
        return Master(scaled, multipliers, bound), height - bound

    unit = max(float(np.abs(heights).max()), 1e-300)
    if TAYLOR_RANGE[0] <= p <= TAYLOR_RANGE[1] and center.min() > 0.0:
        for _ in range(EXPANSIONS):
            support = _expanded_ball(center, p)
            multipliers = _best_multipliers(heights, slopes, support, multipliers)
            master, error = evaluate(support(multipliers @ slopes), multipliers)
            if error <= np.sqrt(ACCURACY) * unit:
                return master
            center = np.maximum(master.weights, 1e-12 * master.weights.max())
            center /= p_norm(center, p)
    support = regularizer.responding_weights
    multipliers = _best_multipliers(heights, slopes, support, multipliers)
    return evaluate(support(multipliers @ slopes), multipliers)[0]


def _best_multipliers(
    heights: Array, slopes: Array, support: Support, start: Array
) -> Array:
    """Maximise the Lagrangian of the planes over multipliers in the simplex."""
    if heights.size == 1:
        return np.ones(1)
    unit = max(float(np.abs(heights).max()), 1e-300)

    def loss(multipliers: Array) -> float:
        combined = multipliers @ slopes
        return float(support(combined) @ combined - multipliers @ heights) / unit

    def slope(multipliers: Array) -> Array:
        weights = support(multipliers @ slopes)
        return np.asarray((slopes @ weights - heights) / unit)

    found = minimize(
        loss,
        start,
        jac=slope,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * heights.size,
        constraints=LinearConstraint(np.ones((1, heights.size)), 1.0, 1.0),
        options={"ftol": ACCURACY, "maxiter": 200},
    )
    multipliers = np.maximum(found.x, 0.0)
    return np.asarray(multipliers / multipliers.sum())


def _expanded_ball(center: Array, p: float) -> Support:
    r"""Return the support of the second-order expansion of the p-ball.

    With the squares completed, the expansion around a center of p-norm one is

    .. math:: \sum_m c_m^{p-2} \Bigl( \theta_m - \tfrac{p-2}{p-1} c_m \Bigr)^2
        \le \frac{1}{(p - 1)^2} .
    """
    widths = center ** (2.0 - p)
    middle = center * (p - 2.0) / (p - 1.0)
    radius = 1.0 / (p - 1.0) ** 2

    def support(direction: Array) -> Array:
        moves = widths * direction
        length = float(moves @ direction)
        if length == 0.0:
            return center
        reach = np.sqrt(radius / length)

        def excess(step: float) -> float:
            weights = np.maximum(middle + step * moves, 0.0)
            return float(np.sum((weights - middle) ** 2 / widths)) - radius

        # Where p < 2 some weights may stay at zero, so the step can be longer.
        while excess(reach) < -1e-14 * radius:
            reach *= 2.0
        if excess(reach) > 0.0:
            reach = float(brentq(excess, 0.0, reach, xtol=1e-300, rtol=1e-14))
        return np.asarray(np.maximum(middle + reach * moves, 0.0))

    return support
