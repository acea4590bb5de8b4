"""The duality gap over the whole graph, at the best multiple of one dual point.

The notation is that of `HullProblem`, with the conjugate l* of the loss and the kernel
matrix K_v of node v. The absolute gap at the multiple s rho of a dual point rho is the
objective of the model plus sum_i l*(y_i, -s rho_i) / W + alpha s^2 / 2
max(Omega*_J(a)^2, B(a)) with a = rho / (W alpha); the best s in [0, 1] minimizes it.
Omega*_J is the dual norm on the active set J. B is the bound for all other nodes (Bach
2008, Prop. 3), a maximum over sources t (nodes outside J whose parents are all in J)
and idle nodes v of J (whose coefficients are zero). D(w) are the descendants and A(w)
the ancestors of a node w, both with w itself:

    B(a) = max(max_t sum_{w in D(t)} a^T K_w a / (sum_{u in A(w) and D(t)} d_u)^2,
               max_v a^T K_v a / d_v^2)

D(t) has exponentially many nodes, but on a grid the sum is a product over inputs
(`descendant_forms`). A bound on Omega*_J follows from Newton's method for coefficients
beta, in which s_v = sqrt(|beta_D(v)|^2 + epsilon_v^2) smooths the norm sum_v d_v s_v.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from multikernel._typing import Array, Mask
from multikernel.certificates import (
    largest_losses,
    project_dual,
    relative_gap,
    rounding_unit,
)
from multikernel.linalg import EPS
from multikernel.losses.answers import refuse_nan
from multikernel.solvers.hkl.active import ActiveSet
from multikernel.solvers.hkl.problem import HullProblem

WIDE = np.longdouble
"""Extended precision, if the processor supports it."""


@dataclass(frozen=True, eq=False)
class SmoothedNorm:
    """Smoothed norm at a point, with its derivatives and a bound on the dual norm."""

    active: ActiveSet
    smoothing: Array  # epsilon_v for each node v
    beta: Array  # the point: coefficients of the features in `active`
    squares: Array  # squared norms of beta over v and its descendants D(v)
    smooth: Array  # s_v, square roots of squares + smoothing^2

    @cached_property
    def value(self) -> float:
        """The smoothed norm: the sum over all nodes of their weight times `smooth`."""
        return float(self.active.weights @ self.smooth)

    @cached_property
    def rates(self) -> Array:
        """For each node, sum_u d_u / s_u over its ancestors u, including itself."""
        # d_u are the weights of the nodes, and s_u the entries of `smooth`. The norm's
        # derivative in a coefficient is the rate of its node times the coefficient.
        return self.active.relation.T @ (self.active.weights / self.smooth)

    def curvature(self, *, above: bool = False) -> Array:
        """Return the Hessian of half the squared norm; of an upper bound if `above`."""
        # With the norm Omega = sum_v d_v s_v, its gradient g (`slope`) and the rates
        # (the sum of d_u / s_u over the ancestors of a node), the Hessian of Omega^2 /
        # 2 is g g^T + Omega (diag(rates) - sum_v d_v / s_v^3 b_v b_v^T) where b_v has
        # the coefficients of v and its descendants, and zeros elsewhere.
        active, omega = self.active, self.value
        rates = self.rates[active.owner]
        slope = rates * self.beta
        hessian = np.outer(slope, slope)
        hessian.reshape(-1)[:: rates.size + 1] += omega * rates
        # Without the negative term below, this is the Hessian of a quadratic upper
        # bound that equals half the squared norm at beta.
        if above:
            return hessian
        # The cube of a small s_v would underflow.
        root = np.sqrt(omega * active.weights / self.smooth) / self.smooth
        spread = (root[:, None] * active.relation)[:, active.owner] * self.beta
        hessian -= spread.T @ spread
        return hessian

    def dual_bound(self, products: Array, slack: Array) -> float:
        """Return an upper bound on the squared dual norm Omega*_J(a)^2 of a vector."""
        # `products` are the features times the vector a. `slack` are upper bounds on
        # the dual norms of the parts of the nodes' kernels that the features omit. The
        # split xi^v = Omega d_v beta_{D(v)} / s_v of the correlations, with the
        # remainder added to each node's own coordinate, is feasible. So the dual norm
        # is at most the largest |xi^v| / d_v. `split` contains all |xi^v|^2.
        active, omega = self.active, self.value
        missing = products - omega * self.rates[active.owner] * self.beta
        scaled = omega * active.weights / self.smooth
        m = len(active)
        crossed = np.bincount(active.owner, missing * self.beta, minlength=m)
        errors = np.bincount(active.owner, missing * missing, minlength=m)
        split = scaled**2 * self.squares + 2.0 * scaled * crossed + errors + slack**2
        return float(np.max(split / active.weights**2, initial=0.0))


def smoothed_norm(active: ActiveSet, beta: Array, smoothing: Array) -> SmoothedNorm:
    """Return the smoothed norm at `beta`; `smoothing` has one number for each node."""
    squares = squared_norms(active, beta)
    return SmoothedNorm(
        active, smoothing, beta, squares, np.sqrt(squares + smoothing**2)
    )


def norm_value(active: ActiveSet, beta: Array) -> float:
    """Return the norm of `beta` without smoothing."""
    return float(active.weights @ np.sqrt(squared_norms(active, beta)))


def squared_norms(active: ActiveSet, beta: Array) -> Array:
    """Return, for each node, the squared norm of `beta` over it and its descendants."""
    squares = np.bincount(active.owner, beta * beta, minlength=len(active))
    return np.asarray(active.relation @ squares)


STEP, NEAR = 1e-3, 0.05
"""`near_minimum` first uses a parabola through three points near one, at the distance
STEP, if its vertex is within NEAR of one. With exact minima instead, a classification
took 1.2 times as long."""


def near_minimum(loss: Callable[[float], float]) -> tuple[float, float]:
    """Return a point near the minimum of a convex loss on [0, 1], and its value."""
    tried = {1.0 - k * STEP: loss(1.0 - k * STEP) for k in range(3)}
    at_end, near, far = tried.values()
    # Use the vertex of the parabola through the losses at three points near 1. If it is
    # far from 1, use the vertex of the parabola through the losses at 0, 1/2 and 1.
    slope, bend = 1.5 * at_end - 2.0 * near + 0.5 * far, at_end - 2.0 * near + far
    vertex = 1.0
    if 0.0 < STEP * slope < NEAR * bend:
        vertex = 1.0 - STEP * slope / bend
    elif not slope <= 0.0:
        tried |= {scale: loss(scale) for scale in (0.0, 0.5)}
        start, middle = tried[0.0], tried[0.5]
        bend = 2.0 * (start - 2.0 * middle + at_end)
        share = 0.5 * (start - at_end) / bend + 0.5 if bend > 0.0 else 0.0
        vertex = min(max(share, 0.0), 1.0)
    tried[vertex] = loss(vertex)
    best = min(tried, key=tried.__getitem__)
    return best, tried[best]


@dataclass(frozen=True, eq=False)
class DualPoint:
    """Dual point in the conjugate's domain; with an intercept, its sum is zero."""

    rho: Array  # minus a slope of the summed loss
    vector: Array  # a = rho / (W alpha)
    bound: float  # upper bound on the squared dual norm of `vector` on the active set
    # Results of `scaled` by the larger of `bound` and `outside_bound`.
    known: dict[float, tuple[float, float]] = field(default_factory=dict)

    def value(self, problem: HullProblem, outside_bound: float) -> float:
        """Return the dual value at the multiple of rho that `scaled` selects."""
        return self.scaled(problem, outside_bound)[1]

    def scaled(self, problem: HullProblem, outside_bound: float) -> tuple[float, float]:
        """Return nearly the best factor s of rho, and the dual value at s rho."""
        # `outside_bound` bounds the squared dual norm of `vector` on the nodes outside
        # the active set.
        bound = max(self.bound, outside_bound)
        if bound in self.known:
            return self.known[bound]
        half = 0.5 * problem.alpha * bound

        def loss(scale: float) -> float:
            """Return minus the dual value at a multiple of the point."""
            conjugate = problem.loss.conjugate(problem.y, -scale * self.rho).sum()
            penalty = half * scale * scale if scale > 0.0 else 0.0
            return float(conjugate) / problem.total_weight + penalty

        scale, lowest = near_minimum(loss)
        self.known[bound] = scale, -lowest
        return self.known[bound]


def dual_point(
    problem: HullProblem, active: ActiveSet, norm: SmoothedNorm, candidate: Array
) -> DualPoint:
    """Return the feasible point nearest to a candidate, with its `DualPoint.bound`."""
    # The candidate is minus the slopes of the loss at a model, and `norm` is the
    # smoothed norm at this model. `slack` accounts for the parts of the kernels that
    # their low-rank features omit.
    rho = project_dual(problem, candidate)
    vector = rho / (problem.total_weight * problem.alpha)
    slack = active.slack_norms(vector)
    return DualPoint(rho, vector, norm.dual_bound(active.features @ vector, slack))


def objective(problem: HullProblem, active: ActiveSet, beta: Array, f: Array) -> float:
    """Return the objective for coefficients beta with decision values f."""
    losses = float(problem.loss.value(problem.y, f).sum())
    refuse_nan(problem.loss, "value", losses, f)
    omega = norm_value(active, beta)
    return losses / problem.total_weight + 0.5 * problem.alpha * omega**2


@dataclass(frozen=True, eq=False)
class ReducedPoint:
    """Model on the active set, with its dual point and relative gap there."""

    beta: Array  # coefficients of centered features
    intercept: float  # for centered features
    f: Array
    primal: float
    dual: DualPoint
    gap: float
    steps: int  # number of Newton steps


def needed_nodes(
    problem: HullProblem, active: ActiveSet, point: ReducedPoint, allowed: float
) -> Mask:
    """Return a mask of few nodes on which the model has a gap of at most `allowed`."""
    norms = active.weights * np.sqrt(squared_norms(active, point.beta))
    below = point.dual.value(problem, 0.0)
    # Remove the nodes of smallest norms, with their descendants.
    for share in 10.0 ** np.arange(-1.0, -8.0, -0.5):
        used = norms > share * norms.sum()
        # Keep a node only if all its ancestors are kept.
        used &= ~((active.relation.T @ ~used) > 0.0)
        beta = np.where(used[active.owner], point.beta, 0.0)
        f = point.f + (beta - point.beta) @ active.features
        primal = objective(problem, active, beta, f)
        if relative_gap(primal, below) <= allowed:
            return np.asarray(used)
    return np.asarray(norms > 0.0)


def rounding_error_bound(
    problem: HullProblem, active: ActiveSet, beta: Array, f: Array, dual: DualPoint
) -> float:
    """Return an upper bound on the rounding error of the absolute gap."""
    # `beta` and f are the coefficients and decision values of the returned model.
    # Three quantities have rounding errors: f, which changes the loss; the conjugates,
    # which change their sum; and the products features @ a, which change the bound on
    # the squared dual norm.
    loss, y = problem.loss, problem.y
    spread = rounding_unit(beta.size) * (np.abs(beta) @ np.abs(active.features))
    spread += EPS * np.abs(f)
    excess = float((largest_losses(loss, y, f, spread) - loss.value(y, f)).sum())
    excess += 4.0 * EPS * float(np.abs(loss.conjugate(y, -dual.rho)).sum())
    # `dual.bound` is the largest squared norm of a node's products, divided by the
    # node's squared weight. Rounding errors of the products change their norm by at
    # most the norm of the errors. These errors are measured in extended precision. If
    # the samples contain an outlier, terms of a product cancel, and an a priori bound
    # on the errors would be ten times too large.
    a = dual.vector
    idle = active.rows(active.idle)
    features = np.concatenate([active.features, *idle])
    sizes = [len(rows) for rows in idle]
    owner = np.append(
        active.owner, len(active) + np.repeat(np.arange(len(idle)), sizes)
    )
    weights = np.append(active.weights, active.known.weights[active.idle])
    wide = a.astype(WIDE)
    exact = np.array([row @ wide for row in features], dtype=WIDE)
    errors = np.abs(exact - features @ a).astype(np.float64)
    unit = rounding_unit(a.size) * float(np.finfo(WIDE).eps) / EPS
    errors += unit * (np.abs(features) @ np.abs(a))
    lengths = np.sqrt(np.bincount(owner, errors**2, minlength=weights.size))
    error = float(np.max(lengths / weights, initial=0.0))
    grown = (2.0 * float(np.sqrt(dual.bound)) + error) * error
    return max(excess, 0.0) / problem.total_weight + 0.5 * problem.alpha * grown
