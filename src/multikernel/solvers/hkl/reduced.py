"""Solver of the problem on the active set: Newton's method with decreasing smoothing.

`certificate.SmoothedNorm` smooths the norm; a barrier smooths the kinks of piecewise
linear losses. The certificate is for the problem without any smoothing.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dposv

from multikernel._typing import Array
from multikernel.certificates import best_intercepts, relative_gap
from multikernel.losses import Loss
from multikernel.losses.base import PolyhedralLoss, SmoothConjugateLoss, is_polyhedral
from multikernel.losses.weighted import is_squared
from multikernel.problem import half_range
from multikernel.solvers.hkl.active import ActiveSet
from multikernel.solvers.hkl.certificate import (
    DualPoint,
    ReducedPoint,
    SmoothedNorm,
    dual_point,
    norm_value,
    objective,
    smoothed_norm,
)
from multikernel.solvers.hkl.problem import HullProblem


@dataclass(frozen=True)
class Settings:
    """Tuning constants of Newton's method on the active set."""

    smoothing: float = 0.02
    """First level of smoothing, as a share of the norm; 0.1 takes 1.3 times as long."""

    sharper: float = 0.2
    """Factor between smoothing levels; a smaller factor costs more Newton steps."""

    max_steps: int = 400
    """Maximum number of Newton steps; 15 are usual, 60 for a hinge loss."""


SETTINGS = Settings()


@dataclass(frozen=True, eq=False)
class SmoothRisk:
    """A loss with a smooth conjugate, evaluated on all samples."""

    loss: SmoothConjugateLoss
    y: Array
    mu: ClassVar[float] = 0.0  # no barrier

    def value(self, f: Array) -> float:
        """Return the sum of the losses."""
        return float(self.loss.value(self.y, f).sum())

    def derivatives(self, f: Array) -> tuple[Array, Array]:
        """Return the slopes, and the second derivatives, of the losses."""
        slopes = self.loss.gradient(self.y, f)
        with np.errstate(divide="ignore", over="ignore"):
            return slopes, 1.0 / self.loss.conjugate_hessian(self.y, slopes)


@dataclass(frozen=True, eq=False)
class RoundedRisk:
    """Piecewise linear loss whose kinks are smoothed by a barrier."""

    # A piece u max(0, s f - c) becomes the maximum over 0 < p < u of
    #     p (s f - c) + mu log(4 p (u - p) / u^2).
    # The slopes of this maximum are in the domain of the loss's own conjugate, so dual
    # points of the smoothed loss are dual points of the loss. Quadratic smoothing has
    # this property too, but Newton's method then moves slowly from kink to kink: 11 700
    # steps along a path of nine strengths on 600 samples, and gaps of 0.02.

    loss: PolyhedralLoss
    y: Array
    mu: float  # positive weight of the barrier

    def _parts(self, f: Array) -> tuple[Array, Array, Array, Array]:
        """Return signs s, s f - c, slopes p, and u - p of all pieces; see the class."""
        signs, costs, sizes = self.loss.dual_pieces(self.y)
        excess = signs * f - costs
        # With e = s f - c (`excess`), p solves e + mu / p - mu / (u - p) = 0. This is a
        # quadratic equation; its root is computed without cancellation.
        product = np.abs(excess) * sizes
        root = np.sqrt(product**2 + 4.0 * self.mu**2)
        small = self.mu + 2.0 * self.mu**2 / (root + product)
        small *= sizes / (root + 2.0 * self.mu)
        large = sizes - small
        above = excess > 0.0
        return (
            signs,
            excess,
            np.where(above, large, small),
            np.where(above, small, large),
        )

    def value(self, f: Array) -> float:
        """Return the sum of the smoothed losses, up to a constant."""
        # The pieces are p (s f - c) + mu log(4 p q / u^2) with q = u - p.
        _, excess, p, q = self._parts(f)
        sizes = p + q
        barrier = np.log(2.0 * p / sizes) + np.log(2.0 * q / sizes)
        return float((excess * p + self.mu * barrier).sum())

    def derivatives(self, f: Array) -> tuple[Array, Array]:
        """Return the slopes, and the second derivatives, of the smoothed losses."""
        # The slope of a piece is s p, by the envelope theorem; `curvatures` are dp /
        # d(s f), by the equation s f - c + mu / p - mu / q = 0 with p + q = u.
        signs, _, p, q = self._parts(f)
        curvatures = p**2 * q**2 / (self.mu * (p**2 + q**2))
        return (signs * p).sum(axis=0), curvatures.sum(axis=0)


Risk = SmoothRisk | RoundedRisk


def rounded(loss: Loss, y: Array, mu: float) -> Risk:
    """Return a smooth risk for Newton's method; `mu` is the weight of its barrier."""
    if is_polyhedral(loss):
        return RoundedRisk(loss, y, mu)
    return SmoothRisk(cast(SmoothConjugateLoss, loss), y)


@dataclass(frozen=True, eq=False)
class _Iterate:
    """Point of Newton's method, with its smoothed norm and objective."""

    beta: Array
    intercept: float
    f: Array
    norm: SmoothedNorm
    value: float


@dataclass(frozen=True, eq=False)
class _Level:
    """Problem on the active set at one level of smoothing."""

    problem: HullProblem
    active: ActiveSet
    smoothing: Array  # of the norm: epsilon_v for each node v
    risk: Risk

    def at(self, beta: Array, intercept: float, f: Array) -> _Iterate:
        """Return the iterate with norm and objective; `f` are its decision values."""
        norm = smoothed_norm(self.active, beta, self.smoothing)
        value = self.risk.value(f) / self.problem.total_weight
        value += 0.5 * self.problem.alpha * norm.value**2
        return _Iterate(beta, intercept, f, norm, value)

    def direction(
        self, point: _Iterate, *, careful: bool
    ) -> tuple[Array, float, float]:
        """Return steps of beta and intercept, shorter if `careful`, and their slope."""
        # The Hessian is the penalty's plus features diag(curvatures) features^T;
        # the intercept, whose curvature is `weight`, is eliminated. A `careful`
        # direction uses an upper bound on the norm, because Newton's direction
        # overshoots for nodes whose functions go to zero.
        problem, active = self.problem, self.active
        features, total = active.features, problem.total_weight
        slopes, curvatures = (each / total for each in self.risk.derivatives(point.f))
        penalty = point.norm.value * point.norm.rates[active.owner] * point.beta
        gradient = features @ slopes + problem.alpha * penalty
        hessian = problem.alpha * point.norm.curvature(above=careful)
        shift = float(slopes.sum()) if problem.fit_intercept else 0.0
        if is_squared(problem.loss):
            hessian += active.gram
            cross, weight = np.zeros_like(gradient), 1.0
        else:
            cross, weight = features @ curvatures, float(curvatures.sum())
            # If the loss is flat at all samples, as a hinge beyond the margin, the
            # curvature of the intercept is zero. The inverse of half the range of the
            # targets replaces it.
            unit = 1.0 / half_range(problem.y)
            weight = weight if weight > 1e-12 * unit else unit
            # Center rows first: with an outlier of 1e4, the difference of products of
            # rows and products of means would consist of rounding errors.
            center = cross / weight if problem.fit_intercept else np.zeros_like(cross)
            rows = (features - center[:, None]) * np.sqrt(curvatures)
            hessian += rows @ rows.T
        step = _solve(hessian, cross * (shift / weight) - gradient)
        move = -(shift + float(cross @ step)) / weight if problem.fit_intercept else 0.0
        return step, move, float(gradient @ step) + shift * move

    def search(
        self, point: _Iterate, step: Array, move: float, slope: float
    ) -> tuple[_Iterate | None, float]:
        """Return the point that Armijo's rule accepts, if any, and the step length."""
        change = step @ self.active.features + move
        length = 1.0
        for _ in range(50):
            candidate = self.at(
                point.beta + length * step,
                point.intercept + length * move,
                point.f + length * change,
            )
            if candidate.value <= point.value + 1e-4 * length * slope:
                return candidate, length
            length *= 0.5
        return None, 0.0


def _solve(hessian: Array, right: Array) -> Array:
    """Solve a positive semidefinite system, with a ridge if rounding requires it."""
    diagonal = np.sqrt(np.maximum(np.diag(hessian), 1e-300))
    scaled = hessian / diagonal
    scaled /= diagonal[:, None]
    ridge = 0.0
    while ridge <= 1e3:
        _, solution, info = dposv(scaled.T, right / diagonal, lower=1)
        if info == 0:
            return np.asarray(solution / diagonal)
        more = max(1e-13, 9.0 * ridge)
        scaled.reshape(-1)[:: len(scaled) + 1] += more
        ridge += more
    raise LinAlgError(
        "The Hessian of the selected kernels is not finite: use standardize=True, or "
        "scale the columns of X down."
    )


def solve_reduced(
    problem: HullProblem,
    active: ActiveSet,
    beta: Array,
    intercept: float,
    tol: float,
) -> ReducedPoint:
    """Solve the problem on the active set to the gap `tol`; return the best point."""
    if not beta.any() and (constant := _fitting_constant(problem, beta)) is not None:
        return constant
    share, steps = SETTINGS.smoothing, 0
    f = beta @ active.features + intercept
    best: ReducedPoint | None = None
    while True:
        scale = _scale(problem, active, beta, f)
        epsilon = share * scale / (active.weights * len(active))
        risk = rounded(problem.loss, problem.y, share * half_range(problem.y))
        level = _Level(problem, active, epsilon, risk)
        start = level.at(beta, intercept, f)
        solution, point, n_steps = _newton(
            level, start, tol, share, SETTINGS.max_steps - steps
        )
        steps += n_steps
        beta, intercept, f = point.beta, point.intercept, point.f
        if best is None or solution.gap < best.gap:
            best = solution
        best = replace(best, steps=steps)
        exhausted = steps >= SETTINGS.max_steps or share * SETTINGS.sharper < 1e-13
        if best.gap <= tol or exhausted:
            return best
        share *= SETTINGS.sharper


def _fitting_constant(problem: HullProblem, zero: Array) -> ReducedPoint | None:
    """Return the best constant model if its loss is zero, otherwise None."""
    # `zero` are zero coefficients, those of a constant model. With a smoothed loss,
    # Newton's method would miss this optimum.
    y, b = problem.y, 0.0
    if problem.fit_intercept:
        b = float(best_intercepts(problem.loss, y, np.zeros_like(y))[0][0])
    f = np.full_like(y, b)
    if problem.loss.value(y, f).any():
        return None
    rho = np.zeros_like(y)
    return ReducedPoint(zero, b, f, 0.0, DualPoint(rho, rho, 0.0), 0.0, 0)


def _newton(
    level: _Level, point: _Iterate, tol: float, share: float, limit: int
) -> tuple[ReducedPoint, _Iterate, int]:
    """Take Newton steps; return the certified point, last iterate and step count."""
    # The gap is the stopping rule, and is computed only if the decrement, -slope / 2,
    # is at most `allowed`. The decrement alone is not reliable: nodes at zero
    # have such large curvatures that it may hide large errors of the correlations.
    problem, n_steps, careful, allowed = level.problem, 0, False, np.inf
    while True:
        step, move, slope = level.direction(point, careful=careful)
        next_point, length = level.search(point, step, move, slope)
        n_steps += 1
        if next_point is not None:
            point = next_point
        # The gap that smoothing causes: epsilon increases the norm by at most `share`,
        # and a barrier adds about 2 mu per sample.
        hidden = problem.alpha * share * point.norm.value**2 + 2.0 * level.risk.mu
        allowed = min(allowed, max(0.05 * tol * abs(point.value), 0.05 * hidden))
        must_stop = n_steps >= limit or (next_point is None and not careful)
        careful = length < 0.25 and not careful
        if -0.5 * slope > allowed and not must_stop:
            continue
        result = evaluate(level, point)
        target = max(tol * abs(result.primal), 2.0 * hidden)
        if must_stop or result.gap * abs(result.primal) <= target:
            return result, point, n_steps
        allowed *= 0.1
        if allowed < 1e-16 * abs(point.value):
            return result, point, n_steps


def _scale(problem: HullProblem, active: ActiveSet, beta: Array, f: Array) -> float:
    """Return the norm of the model; if it is zero, an estimate for the solution."""
    # The estimate is a share of the largest norm of a node's correlations with minus
    # the slopes, divided by its weight: the dual norm on single nodes.
    omega = norm_value(active, beta)
    slopes = problem.loss.gradient(problem.y, f) / problem.total_weight
    products = active.features @ slopes / problem.alpha
    squares = np.bincount(active.owner, products**2, minlength=len(active))
    largest = float(np.max(np.sqrt(squares) / active.weights, initial=0.0))
    return max(omega, 1e-3 * largest) or 1.0


def evaluate(level: _Level, point: _Iterate) -> ReducedPoint:
    """Return a point with its gap for the problem without smoothing."""
    problem, f = level.problem, point.f
    primal = objective(problem, level.active, point.beta, f)
    # Minus the slopes of the smoothed loss are the candidate dual point.
    slopes, _ = level.risk.derivatives(f)
    dual = dual_point(problem, level.active, point.norm, -slopes)
    gap = relative_gap(primal, dual.value(problem, 0.0))
    return ReducedPoint(point.beta, point.intercept, f, primal, dual, gap, 0)
