r"""The problem on the active set: Newton's method on a norm less and less smoothed.

The certificate is that of the problem itself, without any smoothing (METHODS 4).
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from multikernel._typing import Array
from multikernel.solvers.hull.active import ActiveSet
from multikernel.solvers.hull.certificate import (
    DualPoint,
    dual_point,
    primal_value,
    relative_gap,
)
from multikernel.solvers.hull.norm import SmoothedNorm, smoothed_norm, squared_norms
from multikernel.solvers.hull.problem import HullProblem
from multikernel.solvers.hull.risk import Risk, is_quadratic, rounded

FIRST_SMOOTHING = 0.1
"""Where smoothing starts without a warm start, as a share of the norm."""

SHARPER = 0.2
"""Factor between levels of smoothing: smaller ones took more Newton steps each than
levels were saved."""

LEAST_SMOOTHING = 1e-13

MAX_STEPS = 400
"""Newton steps of one problem; some 15 are usual, and a hinge loss takes 60."""

ARMIJO = 1e-4


@dataclass(frozen=True, eq=False)
class ReducedPoint:
    """A model on the active set, with its certificate.

    Parameters
    ----------
    beta : ndarray of shape (n_columns,)
        Coefficients.
    intercept : float
        The intercept, of centred features.
    f : ndarray of shape (n_samples,)
        Decision values.
    primal : float
        The objective.
    dual : DualPoint
        A dual point, with a bound on its norm on the active set.
    gap : float
        The relative gap on the active set.
    smoothing : float
        The last level of smoothing.
    steps : int
        Newton steps taken.
    """

    beta: Array
    intercept: float
    f: Array
    primal: float
    dual: DualPoint
    gap: float
    smoothing: float
    steps: int


@dataclass(frozen=True, eq=False)
class _Iterate:
    """A point of Newton's method."""

    beta: Array
    intercept: float
    f: Array
    norm: SmoothedNorm
    value: float


class _Level:
    """The problem at one level of smoothing."""

    def __init__(
        self, problem: HullProblem, active: ActiveSet, smoothing: Array, mu: float
    ) -> None:
        self.problem, self.active, self.smoothing = problem, active, smoothing
        self.risk: Risk = rounded(problem.loss, problem.y, mu)

    def at(self, beta: Array, intercept: float, f: Array) -> _Iterate:
        norm = smoothed_norm(self.active, beta, self.smoothing)
        value = self.risk.value(f) / self.problem.total_weight
        value += 0.5 * self.problem.alpha * norm.value**2
        return _Iterate(beta, intercept, f, norm, value)

    def direction(self, point: _Iterate) -> tuple[Array, float, float]:
        """Return Newton's direction, and the slope of the objective along it."""
        problem, active = self.problem, self.active
        features, total = active.features, problem.total_weight
        slopes = self.risk.gradient(point.f) / total
        penalty = point.norm.value * point.norm.rates[active.owner] * point.beta
        gradient = features @ slopes + problem.alpha * penalty
        hessian = problem.alpha * point.norm.curvature()
        shift = 0.0
        if is_quadratic(problem.loss):
            hessian += active.gram
            cross, own = np.zeros_like(gradient), 1.0
        else:
            bends = self.risk.curvature(point.f) / total
            weighted = features * bends
            hessian += weighted @ features.T
            cross, own = weighted.sum(axis=1), float(bends.sum())
        # Where no sample bends, as on the far side of a hinge, a unit does.
        own = own if own > 1e-12 else 1.0
        if problem.fit_intercept:
            shift = float(slopes.sum())
            hessian -= np.outer(cross, cross / own)
        step = _solve(hessian, cross * (shift / own) - gradient)
        move = -(shift + float(cross @ step)) / own if problem.fit_intercept else 0.0
        return step, move, float(gradient @ step) + shift * move

    def search(
        self, point: _Iterate, step: Array, move: float, slope: float
    ) -> _Iterate | None:
        """Return the point that Armijo's rule takes, None where there is none."""
        change = step @ self.active.features + move
        length = 1.0
        for _ in range(50):
            found = self.at(
                point.beta + length * step,
                point.intercept + length * move,
                point.f + length * change,
            )
            if found.value <= point.value + ARMIJO * length * slope:
                return found
            length *= 0.5
        return None


def _solve(hessian: Array, right: Array) -> Array:
    """Solve a positive semidefinite system, with a ridge where rounding asks for it."""
    diagonal = np.sqrt(np.maximum(np.diag(hessian), 1e-300))
    scaled = hessian / np.outer(diagonal, diagonal)
    ridge = 0.0
    while True:
        try:
            factor = cho_factor(scaled, lower=True, check_finite=False)
            solution = cho_solve(factor, right / diagonal, check_finite=False)
            return np.asarray(solution / diagonal)
        except LinAlgError:
            more = max(1e-13, 9.0 * ridge)
            scaled[np.diag_indices_from(scaled)] += more
            ridge += more
            if ridge > 1e3:
                raise


def solve_reduced(
    problem: HullProblem,
    active: ActiveSet,
    beta: Array,
    intercept: float,
    tol: float,
) -> ReducedPoint:
    """Solve the problem on the active set to a certified gap.

    Parameters
    ----------
    problem : HullProblem
        The problem.
    active : ActiveSet
        The nodes.
    beta : ndarray of shape (n_columns,)
        Where to start.
    intercept : float
        Where to start.
    tol : float
        Relative duality gap on the active set.

    Returns
    -------
    point : ReducedPoint
        The best point found.
    """
    share, steps = FIRST_SMOOTHING, 0
    f = beta @ active.features + intercept
    best: ReducedPoint | None = None
    while True:
        scale = _scale(problem, active, beta, f)
        epsilon = share * scale / (active.weights * len(active))
        level = _Level(problem, active, epsilon, share)
        point = level.at(beta, intercept, f)
        point, taken = _newton(level, point, tol, share, MAX_STEPS - steps)
        steps += taken
        beta, intercept, f = point.beta, point.intercept, point.f
        found = evaluate(problem, active, level.risk, point.norm, intercept, f)
        found = replace(found, smoothing=share, steps=steps)
        if best is None or found.gap < best.gap:
            best = found
        best = replace(best, steps=steps)
        tired = steps >= MAX_STEPS or share * SHARPER < LEAST_SMOOTHING
        if best.gap <= tol or tired:
            return best
        share *= SHARPER


def _newton(
    level: _Level, point: _Iterate, tol: float, share: float, limit: int
) -> tuple[_Iterate, int]:
    """Take Newton steps until what is left to gain is below what smoothing hides."""
    alpha, taken = level.problem.alpha, 0
    while taken < max(limit, 1):
        step, move, slope = level.direction(point)
        hidden = 0.05 * share * alpha * point.norm.value**2
        enough = max(0.05 * tol * abs(point.value), hidden)
        found = level.search(point, step, move, slope)
        if found is None:
            break
        point, taken = found, taken + 1
        if -0.5 * slope <= enough:
            break
    return point, taken


def _scale(problem: HullProblem, active: ActiveSet, beta: Array, f: Array) -> float:
    """Return the norm of the model, or what it may become where that is zero."""
    omega = float(active.weights @ np.sqrt(squared_norms(active, beta)))
    slopes = problem.loss.gradient(problem.y, f) / problem.total_weight
    products = active.features @ slopes / problem.alpha
    own = np.bincount(active.owner, products**2, minlength=len(active))
    reach = float(np.max(np.sqrt(own) / active.weights, initial=0.0))
    return max(omega, 1e-3 * reach) or 1.0


def evaluate(
    problem: HullProblem,
    active: ActiveSet,
    risk: Risk,
    norm: SmoothedNorm,
    intercept: float,
    f: Array,
) -> ReducedPoint:
    """Return a point with its certificate on the active set.

    Parameters
    ----------
    problem : HullProblem
        The problem.
    active : ActiveSet
        The nodes.
    risk : Risk
        The loss whose slopes are the candidate for a dual point.
    norm : SmoothedNorm
        The norm at the coefficients.
    intercept : float
        The intercept.
    f : ndarray of shape (n_samples,)
        Decision values.

    Returns
    -------
    point : ReducedPoint
    """
    primal = primal_value(problem, f, norm.exact)
    dual = dual_point(problem, active, norm, -risk.gradient(f))
    gap = relative_gap(problem, primal, dual.value(problem, 0.0))
    return ReducedPoint(norm.beta, intercept, f, primal, dual, gap, 0.0, 0)
