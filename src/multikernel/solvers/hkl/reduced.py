r"""The problem on the active set: Newton's method on a norm less and less smoothed.

The certificate is that of the problem itself, without any smoothing (METHODS 4).
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from multikernel._typing import Array, Mask
from multikernel.certificates import half_range, relative_gap
from multikernel.losses.base import is_polyhedral
from multikernel.solvers.hkl.active import ActiveSet
from multikernel.solvers.hkl.certificate import (
    DualPoint,
    dual_point,
    primal_value,
)
from multikernel.solvers.hkl.problem import HullProblem
from multikernel.solvers.hkl.smoothing import (
    Risk,
    SmoothedNorm,
    is_quadratic,
    norm_value,
    rounded,
    smoothed_norm,
    squared_norms,
)


@dataclass(frozen=True)
class Settings:
    """What tunes Newton's method on the active set."""

    first_smoothing: float = 0.1
    """Without a warm start smoothing starts at this share of the norm."""

    sharper: float = 0.2
    """Factor between levels of smoothing: smaller ones took more Newton steps each than
    levels were saved."""

    least_smoothing: float = 1e-13

    max_steps: int = 400
    """Newton steps of one problem; some 15 are usual, and a hinge loss takes 60."""

    armijo: float = 1e-4

    careful: float = 0.25
    """Step length below which the next direction is a careful one."""


SETTINGS = Settings()


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
    steps : int
        Newton steps taken.
    """

    beta: Array
    intercept: float
    f: Array
    primal: float
    dual: DualPoint
    gap: float
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
        self.mu = mu if is_polyhedral(problem.loss) else 0.0
        self.risk: Risk = rounded(problem.loss, problem.y, mu)

    def at(self, beta: Array, intercept: float, f: Array) -> _Iterate:
        norm = smoothed_norm(self.active, beta, self.smoothing)
        value = self.risk.value(f) / self.problem.total_weight
        value += 0.5 * self.problem.alpha * norm.value**2
        return _Iterate(beta, intercept, f, norm, value)

    def direction(
        self, point: _Iterate, *, careful: bool
    ) -> tuple[Array, float, float]:
        """Return Newton's direction, and the slope of the objective along it.

        A careful one minimises a quadratic model of the norm from above. It is for
        groups on their way to zero, where Newton's own overshoots.
        """
        problem, active = self.problem, self.active
        features, total = active.features, problem.total_weight
        slopes = self.risk.gradient(point.f) / total
        penalty = point.norm.value * point.norm.rates[active.owner] * point.beta
        gradient = features @ slopes + problem.alpha * penalty
        hessian = problem.alpha * point.norm.curvature(above=careful)
        shift = float(slopes.sum()) if problem.fit_intercept else 0.0
        if is_quadratic(problem.loss):
            hessian += active.gram
            cross, own = np.zeros_like(gradient), 1.0
        else:
            bends = self.risk.curvature(point.f) / total
            cross, own = features @ bends, float(bends.sum())
            # Where no sample bends, as on the far side of a hinge, a unit does.
            unit = 1.0 / half_range(problem.y)
            own = own if own > 1e-12 * unit else unit
            # Products of centred rows: of the plain ones, less those of the means, an
            # outlier of 1e4 to the fourth power leaves nothing but rounding.
            centre = cross / own if problem.fit_intercept else np.zeros_like(cross)
            rows = (features - centre[:, None]) * np.sqrt(bends)
            hessian += rows @ rows.T
        step = _solve(hessian, cross * (shift / own) - gradient)
        move = -(shift + float(cross @ step)) / own if problem.fit_intercept else 0.0
        return step, move, float(gradient @ step) + shift * move

    def search(
        self, point: _Iterate, step: Array, move: float, slope: float
    ) -> tuple[_Iterate | None, float]:
        """Return the point that Armijo's rule takes, if any, and the step length."""
        change = step @ self.active.features + move
        length = 1.0
        for _ in range(50):
            found = self.at(
                point.beta + length * step,
                point.intercept + length * move,
                point.f + length * change,
            )
            if found.value <= point.value + SETTINGS.armijo * length * slope:
                return found, length
            length *= 0.5
        return None, 0.0


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
    """Solve the problem on the active set to a certified gap, from some start.

    Returns the best point found; `tol` is the relative duality gap on the active set.
    """
    share, steps = SETTINGS.first_smoothing, 0
    f = beta @ active.features + intercept
    best: ReducedPoint | None = None
    while True:
        scale = _scale(problem, active, beta, f)
        epsilon = share * scale / (active.weights * len(active))
        level = _Level(problem, active, epsilon, share * half_range(problem.y))
        start = level.at(beta, intercept, f)
        found, point, taken = _newton(
            level, start, tol, share, SETTINGS.max_steps - steps
        )
        steps += taken
        beta, intercept, f = point.beta, point.intercept, point.f
        if best is None or found.gap < best.gap:
            best = found
        best = replace(best, steps=steps)
        tired = (
            steps >= SETTINGS.max_steps
            or share * SETTINGS.sharper < SETTINGS.least_smoothing
        )
        if best.gap <= tol or tired:
            return best
        share *= SETTINGS.sharper


def _newton(
    level: _Level, point: _Iterate, tol: float, share: float, limit: int
) -> tuple[ReducedPoint, _Iterate, int]:
    """Take Newton steps until the gap is what smoothing leaves of it, or small enough.

    A small decrement does not say so: nodes at zero are so stiff that it may hide a
    large error in their correlations.
    """
    problem, taken, careful, enough = level.problem, 0, False, np.inf
    while True:
        step, move, slope = level.direction(point, careful=careful)
        found, length = level.search(point, step, move, slope)
        taken += 1
        if found is not None:
            point = found
        hidden = problem.alpha * share * point.norm.value**2 + 2.0 * level.mu
        enough = min(enough, max(0.05 * tol * abs(point.value), 0.05 * hidden))
        over = taken >= limit or (found is None and not careful)
        careful = length < SETTINGS.careful and not careful
        if -0.5 * slope > enough and not over:
            continue
        result = evaluate(level, point)
        target = max(tol * abs(result.primal), 2.0 * hidden)
        if over or result.gap * abs(result.primal) <= target:
            return result, point, taken
        enough *= 0.1
        if enough < 1e-16 * abs(point.value):
            return result, point, taken


def _scale(problem: HullProblem, active: ActiveSet, beta: Array, f: Array) -> float:
    """Return the norm of the model, or what it may become where that is zero."""
    omega = norm_value(active, beta)
    slopes = problem.loss.gradient(problem.y, f) / problem.total_weight
    products = active.features @ slopes / problem.alpha
    own = np.bincount(active.owner, products**2, minlength=len(active))
    reach = float(np.max(np.sqrt(own) / active.weights, initial=0.0))
    return max(omega, 1e-3 * reach) or 1.0


def evaluate(level: _Level, point: _Iterate) -> ReducedPoint:
    """Return a point with its certificate, which knows no smoothing.

    Parameters
    ----------
    level : _Level
        Problem and active set; the slopes of its loss are the candidate for a dual.
    point : _Iterate
        The point.
    """
    problem, f = level.problem, point.f
    primal = primal_value(problem, f, norm_value(level.active, point.beta))
    dual = dual_point(problem, level.active, point.norm, -level.risk.gradient(f))
    gap = relative_gap(primal, dual.value(problem, 0.0))
    return ReducedPoint(point.beta, point.intercept, f, primal, dual, gap, 0)


def needed_nodes(
    problem: HullProblem, active: ActiveSet, point: ReducedPoint, allowed: float
) -> Mask:
    """Return which nodes the model needs to stay within a relative gap.

    The nodes of the smallest norms are left out, with their descendants, as long as the
    objective allows it.
    """
    norms = active.weights * np.sqrt(squared_norms(active, point.beta))
    below = point.dual.value(problem, 0.0)
    for share in 10.0 ** np.arange(-1.0, -8.0, -0.5):
        used = norms > share * norms.sum()
        # A node counts only with all its ancestors, and roots always do.
        used &= ~((active.relation.T @ ~used) > 0.0)
        beta = np.where(used[active.owner], point.beta, 0.0)
        f = point.f + (beta - point.beta) @ active.features
        primal = primal_value(problem, f, norm_value(active, beta))
        if relative_gap(primal, below) <= allowed:
            return np.asarray(used)
    return np.asarray(norms > 0.0)
