r"""Master problem of cutting planes over kernel weights.

Every dual point rho gives a plane below the optimal value as a function of the kernel
weights, :math:`J(\theta) \ge h - \theta^\top s`. The master minimises the highest plane
over the unit p-ball; its dual, with a multiplier per plane, is

.. math:: \max_{\lambda \ge 0, \, 1^\top \lambda = 1} \; \lambda^\top h
    - \bigl\| \textstyle\sum_j \lambda_j s_j \bigr\|_{p/(p-1)} .
"""

from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array
from multikernel.regularizers.squared_block_norm import SquaredBlockNorm, p_norm
from multikernel.solvers.lp.barrier_ball import (
    BarrierResponse,
    barrier_response,
)

SHRINK = 0.1
"""Barriers are multiplied by this from one stage to the next."""

CENTERED = 0.3
"""Newton decrement, in units of the barriers, that ends a stage."""

LONGEST = 0.95
"""Share of the way to zero that a multiplier may go in one step."""

ARMIJO = 0.1
"""Share of the fall that the decrement promises which has to come."""

HALVINGS = 30
"""A step is halved so often at most: shorter ones change nothing but rounding."""

MOST_STEPS = 100
"""Newton steps of a stage at most; any multipliers give a lower bound."""


@dataclass(frozen=True, eq=False)
class Master:
    """A solved master problem.

    Parameters
    ----------
    weights : ndarray of shape (n_kernels,)
        Kernel weights of p-norm one.
    multipliers : ndarray of shape (n_planes,)
        Of the planes; positive, their sum is one.
    lower_bound : float
        A lower bound on the optimum over all weights, whatever the accuracy.
    barrier : float
        The size of the barriers at which it was solved.
    """

    weights: Array
    multipliers: Array
    lower_bound: float
    barrier: float


def central_master(
    heights: Array,
    slopes: Array,
    regularizer: SquaredBlockNorm,
    slack: float,
    last: Master | None = None,
) -> Master:
    r"""Minimise the highest plane over the p-ball, up to a slack.

    The exact minimiser is an extreme point of the model, often far from all weights
    looked at so far, and no better: planes then pile up without any progress. Points on
    the central path are in the middle of the weights that may still be optimal [1]_.
    They solve the problem with logarithmic barriers of a size mu,

    .. math:: \min_\lambda \; \sigma_\mu\bigl(\textstyle\sum_j \lambda_j s_j\bigr)
        - \lambda^\top h - \mu \sum_j \log \lambda_j ,

    by damped Newton steps, for falling mu, until the barriers are worth the slack. In
    section 2.4.2 of [2]_ a master replaces the norm by its second-order expansion
    around the last weights; here each Newton step does, around those of that step.

    Parameters
    ----------
    heights : ndarray of shape (n_planes,)
        The values h.
    slopes : ndarray of shape (n_planes, n_kernels)
        The slopes s, non-negative; a plane is ``heights - slopes @ weights``.
    regularizer : SquaredBlockNorm
        Gives p.
    slack : float
        How far from the optimum to stay, positive.
    last : Master, optional
        The master of the first planes: a start.

    Returns
    -------
    master : Master

    References
    ----------
    .. [1] Gondzio, González-Brevis, Munari (2013). New developments in the primal-dual
       column generation technique. EJOR 224, 41-51.
    .. [2] Kloft, Brefeld, Sonnenburg, Laskov, Müller, Zien (2009). Efficient and
       accurate lp-norm multiple kernel learning. NIPS 22, 997-1005.
    """
    n_planes, n_kernels = slopes.shape
    program = _Program(heights - heights.max(), slopes, regularizer)
    multipliers = np.full(n_planes, 1.0 / n_planes)
    barrier = max(float(np.ptp(heights)), float(slopes.max())) / (n_planes + n_kernels)
    if last is not None:
        n_known = last.multipliers.size
        multipliers[:n_known] *= n_known * last.multipliers
        barrier = last.barrier
    smallest = slack / (n_planes + n_kernels)
    point = _centered(program, program.at(multipliers, max(barrier, smallest)))
    while point.mu > smallest:
        mu = max(SHRINK * point.mu, smallest)
        start = program.at(point.multipliers, mu, point.response.excess)
        point = _centered(program, start)
    step, _ = program.newton_step(point)
    weights = point.response.followed((point.multipliers * step) @ slopes)
    return Master(
        weights=weights / p_norm(weights, regularizer.p),
        multipliers=point.multipliers,
        lower_bound=program.bound(point.multipliers) + float(heights.max()),
        barrier=point.mu,
    )


@dataclass(frozen=True, eq=False)
class _Point:
    """Multipliers, and the program there."""

    multipliers: Array
    mu: float
    response: BarrierResponse
    value: float


@dataclass(frozen=True, eq=False)
class _Program:
    """What is minimised, for barriers of any size."""

    heights: Array
    slopes: Array
    regularizer: SquaredBlockNorm

    def at(self, multipliers: Array, mu: float, excess: float = np.inf) -> _Point:
        """Evaluate at some multipliers; `excess` is that of a response close by."""
        u = multipliers @ self.slopes
        response = barrier_response(self.regularizer, u, mu, excess)
        barrier = mu * float(np.log(multipliers).sum())
        value = response.value - float(multipliers @ self.heights) - barrier
        return _Point(multipliers, mu, response, value)

    def bound(self, multipliers: Array) -> float:
        """Return the value of the dual without barriers."""
        u = multipliers @ self.slopes
        norm = p_norm(u, self.regularizer.conjugate_p)
        return float(multipliers @ self.heights) - norm

    def newton_step(self, point: _Point) -> tuple[Array, float]:
        """Return the Newton step of log(multipliers), and the decrease it promises.

        Relative to the multipliers the barrier's curvature is that of a ball, and the
        step keeps their sum.
        """
        multipliers, mu = point.multipliers, point.mu
        slack = self.slopes @ point.response.weights - self.heights
        gradient = multipliers * (slack - float(multipliers @ slack)) - mu
        curvature = point.response.curvature(self.slopes)
        hessian = np.outer(multipliers, multipliers) * curvature
        hessian[np.diag_indices_from(hessian)] += mu
        solved = np.linalg.solve(hessian, np.column_stack([-gradient, multipliers]))
        pull = float(multipliers @ solved[:, 0]) / float(multipliers @ solved[:, 1])
        step = solved[:, 0] - pull * solved[:, 1]
        return step, max(-float(gradient @ step), 0.0)


def _centered(program: _Program, point: _Point) -> _Point:
    """Go to the minimum for the size of the barriers, by damped Newton steps."""
    for _ in range(MOST_STEPS):
        step, decrease = program.newton_step(point)
        moved = _line_search(program, point, step, decrease)
        if moved is point or decrease <= CENTERED**2 * point.mu:
            return moved
        point = moved
    return point


def _line_search(
    program: _Program, point: _Point, step: Array, decrease: float
) -> _Point:
    """Return the first point along halved steps that is lower; the same if none is."""
    decrement = np.sqrt(decrease / point.mu)
    # The step that self-concordance promises to be safe, once it is not the whole one.
    size = 1.0 if decrement <= CENTERED else 1.0 / (1.0 + decrement)
    size = min(size, LONGEST / max(-float(step.min()), LONGEST))
    for _ in range(HALVINGS):
        multipliers = point.multipliers * (1.0 + size * step)
        moved = program.at(
            multipliers / multipliers.sum(), point.mu, point.response.excess
        )
        if moved.value <= point.value - ARMIJO * size * decrease:
            return moved
        size *= 0.5
    return point
