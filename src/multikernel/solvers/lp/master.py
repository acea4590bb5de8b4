"""Master problems of cutting planes over kernel weights.

J(theta) is the optimal value for kernel weights theta. Each dual point j gives a plane
h_j - theta^T s_j below J. The master problem minimizes the highest plane over the unit
p-ball. Its dual maximizes lambda^T h - |u|_{p/(p-1)}, u = sum_j lambda_j s_j, over
multipliers lambda >= 0 with sum one. The norm is the support function of the ball. With
a barrier of size mu, it becomes the function sigma_mu(u) = max theta^T u + mu sum_m
log(theta_m) over |theta|_p <= 1, which is smooth for every p.

Exact minimizers of the highest plane are often far from all previous weights without
being better. Points on the central path, the minimizers for every mu, are in the middle
of the weights that may be optimal (Gondzio et al. 2013, EJOR 224, 41-51). Damped Newton
steps for decreasing mu minimize sigma_mu(u) - lambda^T h - mu sum_j log(lambda_j).
Kloft et al. (2009, section 2.4.2) expand the norm to second order once, around the last
weights. Here, each Newton step expands it around its current weights.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import linprog
from scipy.special import xlogy

from multikernel._typing import Array
from multikernel.exceptions import ConvergenceWarning, warn_user
from multikernel.linalg import TINY
from multikernel.linalg.threads import aside
from multikernel.regularizers.squared_block_norm import SquaredBlockNorm, p_norm


@dataclass(frozen=True)
class Settings:
    """Tuning constants of `central_master` and `barrier_response`."""

    centered: float = 0.3
    """A stage (one barrier size mu) ends at this Newton decrement over sqrt(mu)."""

    most_steps: int = 100
    """Maximum number of Newton steps of a stage, and of a barrier response, which needs
    about four. Stages may end early, since any multipliers give a lower bound."""

    accuracy: float = 1e-12
    """Accuracy of the logarithms of weights and of their norm."""

    block: int = 2**16
    """Number of kernels in one product, which limits memory for millions of kernels."""

    tolerance: float = 1e-10
    """Tolerance of HiGHS relative to the largest slope; the smallest it accepts."""

    pivots: int = 20
    """Maximum number of steps of HiGHS per plane and kernel; 0.5 to 1.5 are usual."""


SETTINGS = Settings()


@dataclass(frozen=True, eq=False)
class Master:
    """Solution of a master problem."""

    weights: Array  # kernel weights of p-norm one
    multipliers: Array  # one per plane, positive with sum one
    lower_bound: float  # on the minimum; valid for inexact `multipliers` as well
    barrier: float  # the final size mu of the barriers


def central_master(
    heights: Array,
    slopes: Array,
    regularizer: SquaredBlockNorm,
    slack: float,
    last: Master | None = None,
) -> Master:
    """Minimize the highest plane over the p-ball, up to a slack."""
    # Planes have nonnegative slopes, (n_planes, n_kernels). The barriers add at most
    # `slack` to the minimum. `last`, the starting point, is the solution of the
    # previous master problem, which had only the first of these planes.
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
        mu = max(0.1 * point.mu, smallest)
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
class BarrierResponse:
    """Weights that maximize theta^T u plus a barrier, with their derivatives in u."""

    weights: Array  # positive, of p-norm one
    value: float  # the maximum, sigma_mu(u)
    excess: float  # nu - max(u), with the multiplier nu of the norm's constraint
    # The derivative of the weights with respect to u is diag(moves) minus a matrix of
    # rank one, so that the norm stays one. `normal` is the gradient of the norm.
    moves: Array
    normal: Array

    def followed(self, change: Array) -> Array:
        """Return the weights for u + `change`, to first order in the small change."""
        # An evaluation at the new u would be inexact: if mu is small, the last digit of
        # u affects many digits of the weights.
        along = self.moves * self.normal
        mean = float(along @ change) / max(float(along @ self.normal), TINY)
        moved = self.weights + self.moves * (change - mean * self.normal)
        return np.asarray(np.maximum(moved, 0.0))

    def curvature(self, slopes: Array) -> Array:
        """Return the Hessian in x of the maximum `value` at u = slopes.T @ x."""
        along = self.moves * self.normal
        # The derivative of the weights in u is diag(moves) - along along^T / (along^T
        # normal). Center first, because the difference of two matrices would be mostly
        # rounding.
        means = slopes @ along / max(float(along @ self.normal), TINY)
        curvature = np.zeros((slopes.shape[0], slopes.shape[0]))
        for start in range(0, self.moves.size, SETTINGS.block):
            part = slice(start, start + SETTINGS.block)
            centered = slopes[:, part] - np.outer(means, self.normal[part])
            curvature += (centered * self.moves[part]) @ centered.T
        return curvature


def barrier_response(
    regularizer: SquaredBlockNorm, u: Array, mu: float, excess: float = np.inf
) -> BarrierResponse:
    """Return the maximizer of theta^T u + mu sum(log(theta)) over the unit p-ball.

    `excess` is the starting value of Newton's method, from the response to a similar u.
    """
    # Every weight solves nu theta_m^(p - 1) = u_m + mu / theta_m, with u_m >= 0 and the
    # multiplier nu of the norm. Newton's method with a bracket computes the nu for
    # which the p-norm is one. It starts at nu = max(u) + excess, or at the upper end of
    # the bracket if `excess` is infinite.
    p = regularizer.p
    if np.isinf(p):
        one, zero = np.ones_like(u), np.zeros_like(u)
        return BarrierResponse(one, float(u.sum()), np.inf, zero, zero)
    largest = float(u.max())
    low = mu
    high = p_norm(u, regularizer.conjugate_p) - largest + mu * u.size
    excess = min(max(excess, low), high)
    for _ in range(SETTINGS.most_steps):
        logs = _log_weights(p, u, mu, excess)
        weights = np.exp(logs)
        powers = np.exp(p * logs)
        # The derivatives of log(theta) in nu are -powers / stiffness.
        stiffness = (p - 1.0) * u * weights + p * mu
        total, nu = float(powers.sum()), largest + excess
        is_narrow = high - low <= SETTINGS.accuracy * low
        if is_narrow or abs(total - 1.0) <= SETTINGS.accuracy:
            break
        low, high = (excess, high) if total > 1.0 else (low, excess)
        # Newton's method is applied to 1 / total = 1, as 1 / total is nearly linear.
        fall = p * float(np.sum(powers * powers / stiffness))
        new = excess + total * (total - 1.0) / fall
        excess = new if low < new < high else 0.5 * (low + high)
    # For a feasible point near the maximizer, the error of the value is of second order
    # in the distance.
    weights = weights / total ** (1.0 / p)
    return BarrierResponse(
        weights=weights,
        value=float(u @ weights + xlogy(mu, weights).sum()),
        excess=nu - largest,
        moves=weights * weights / stiffness,
        normal=powers / weights,
    )


def _log_weights(p: float, u: Array, mu: float, excess: float) -> Array:
    """Return log(theta) for nu theta^(p - 1) = u + mu / theta, nu = max(u) + excess."""
    # In log(theta), the difference of both sides is increasing and concave, so Newton's
    # method increases to the root from any point below it. The roots are at most zero.
    # Differences to the largest u remain exact for any mu.
    largest = float(u.max())
    nu, short = largest + excess, largest - u
    logs = np.log(mu / (excess + short))
    if p == 1.0:
        return np.asarray(logs)
    with np.errstate(divide="ignore"):
        power = np.log(u / nu) / (p - 1.0)
    logs = np.maximum(np.maximum(logs, power), np.log(mu / nu) / p)
    for _ in range(SETTINGS.most_steps):
        weights = np.exp(logs)
        rise = nu * np.expm1((p - 1.0) * logs) + excess + short
        size = u * weights + mu
        step = -np.log1p((weights * rise - mu) / size) / (p - u * weights / size)
        logs += step
        if float(np.abs(step).max()) <= SETTINGS.accuracy:
            break
    return np.asarray(logs)


@dataclass(frozen=True, eq=False)
class _Point:
    """Multipliers of the planes, with `barrier_response` and the objective there."""

    multipliers: Array  # one for each plane, with sum one
    mu: float  # size of the barriers
    response: BarrierResponse
    value: float  # of the objective of `_Program`


@dataclass(frozen=True, eq=False)
class _Program:
    """Objective of the master problem as a function of the planes' multipliers."""

    # The objective, which is minimized for any size mu of the barriers, is
    # sigma_mu(slopes^T multipliers) - heights^T multipliers - mu sum(log(multipliers)).
    # sigma_mu(u) is the `value` of `barrier_response`.

    heights: Array
    slopes: Array
    regularizer: SquaredBlockNorm

    def at(self, multipliers: Array, mu: float, excess: float = np.inf) -> _Point:
        """Return the `_Point` at these multipliers, for barriers of size `mu`."""
        # `excess` starts Newton's method for the response; see `barrier_response`.
        u = multipliers @ self.slopes
        response = barrier_response(self.regularizer, u, mu, excess)
        barrier = mu * float(np.log(multipliers).sum())
        value = response.value - float(multipliers @ self.heights) - barrier
        return _Point(multipliers, mu, response, value)

    def bound(self, multipliers: Array) -> float:
        """Return the dual value without barriers, a lower bound on the optimum."""
        u = multipliers @ self.slopes
        norm = p_norm(u, self.regularizer.conjugate_p)
        return float(multipliers @ self.heights) - norm

    def newton_step(self, point: _Point) -> tuple[Array, float]:
        """Return relative changes of the multipliers, and the squared decrement."""
        # In relative changes of the multipliers, the barrier -mu sum(log(multipliers))
        # has a Hessian of mu times the identity. `slack` is the gradient by
        # the multipliers without the barrier. The step keeps the multipliers' sum, so
        # the mean of `slack` has no effect on it; subtracting it avoids cancellation.
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
    """Return the minimizer for the barrier size of `point`, by damped Newton steps."""
    for _ in range(SETTINGS.most_steps):
        # `decrease` is the square of the Newton decrement, which is compared with
        # sqrt(mu).
        step, decrease = program.newton_step(point)
        moved = _line_search(program, point, step, decrease)
        if moved is point or decrease <= SETTINGS.centered**2 * point.mu:
            return moved
        point = moved
    return point


def _line_search(
    program: _Program, point: _Point, step: Array, decrease: float
) -> _Point:
    """Return the first point with a lower value along halved steps, or `point`."""
    decrement = np.sqrt(decrease / point.mu)
    # If the decrement is large, start with the step that self-concordance guarantees to
    # be safe. No step makes a multiplier zero or negative.
    size = 1.0 if decrement <= SETTINGS.centered else 1.0 / (1.0 + decrement)
    size = min(size, 0.95 / max(-float(step.min()), 0.95))
    for _ in range(30):
        multipliers = point.multipliers * (1.0 + size * step)
        multipliers /= multipliers.sum()
        moved = program.at(multipliers, point.mu, point.response.excess)
        if moved.value <= point.value - 0.1 * size * decrease:
            return moved
        size *= 0.5
    return point


def corner_weights(heights: Array, slopes: Array) -> Array | None:
    """Return simplex weights that minimize the highest plane; None if HiGHS fails."""
    # At most as many weights are nonzero as there are planes.
    n_planes, n_kernels = slopes.shape
    # Scale the numbers, because HiGHS uses absolute tolerances.
    unit = max(float(np.abs(slopes).max()), float(np.ptp(heights)), 1e-300)
    most = SETTINGS.pivots * (n_planes + n_kernels)
    program = partial(
        linprog,
        np.append(np.zeros(n_kernels), 1.0),
        A_ub=np.hstack([-slopes / unit, -np.ones((n_planes, 1))]),
        b_ub=(heights.max() - heights) / unit,
        A_eq=np.append(np.ones(n_kernels), 0.0)[None],
        b_eq=np.ones(1),
        bounds=[(0.0, None)] * n_kernels + [(None, None)],
        method="highs",
        options={
            "primal_feasibility_tolerance": SETTINGS.tolerance,
            "dual_feasibility_tolerance": SETTINGS.tolerance,
            "maxiter": most,
        },
    )
    solved = aside(program)
    if solved.status == 1:  # HiGHS reached the limit of steps.
        message = (
            "The linear program that searches for a model of fewer kernels stopped "
            f"after {most} steps: the model may have more kernels than necessary. "
            "Increase tol to allow fewer kernels."
        )
        warn_user(message, ConvergenceWarning)
    if not solved.success or solved.x is None:
        return None
    weights = np.maximum(solved.x[:-1], 0.0)
    return np.asarray(weights / weights.sum())
