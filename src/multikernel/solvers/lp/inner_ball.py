"""Smoother balls of kernel weights inside the unit p-ball.

Around weights c of p-norm one, and for P >= p, the ball sum_m c_m^(p - P) theta_m^P <=
1 touches the p-ball at c. It lies inside the p-ball by Jensen's inequality, since with
probabilities c_m^p, if the mean of (theta_m / c_m)^P is at most one, the mean of
(theta_m / c_m)^p is too. The problem over this ball has the same optimality conditions
at c, and is smooth even for p = 1. Line searches between dual points rho use only the
products K_m rho.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from multikernel._typing import Array
from multikernel.certificates import Expansion
from multikernel.problem import Problem
from multikernel.regularizers.squared_block_norm import SquaredBlockNorm, p_norm


@dataclass(frozen=True, eq=False)
class InnerBall:
    """Ball of exponent P in the p-ball of weights, touching it at `center`."""

    # The ball is sum_m c_m^(p - P) theta_m^P <= 1 for weights theta, with center c.

    regularizer: SquaredBlockNorm
    center: Array  # c: positive kernel weights of p-norm one
    exponent: float  # P, at least p, and above 1 up to rounding

    def respond(self, forms: Array) -> Array:
        """Return the weights in the ball that maximize weights @ forms."""
        # The ball is sum_m c_m^(p - P) w_m^P <= 1, with center c. Forms must be
        # nonnegative, and not all zero.
        p, larger = self.regularizer.p, self.exponent
        if larger == p:
            return self.regularizer.responding_weights(forms)
        logs = np.full(forms.shape, -np.inf)
        used = forms > 0.0
        center = np.log(self.center[used])
        response = ((larger - p) * center + np.log(forms[used])) / (larger - 1.0)
        size = (p - larger) * center + larger * response
        largest = float(size.max())
        with np.errstate(under="ignore"):
            response -= (largest + np.log(np.exp(size - largest).sum())) / larger
        logs[used] = response
        with np.errstate(under="ignore"):
            return np.asarray(np.exp(logs))

    def support(self) -> Callable[[Array], float]:
        """Return the function forms -> max(weights @ forms) over the ball."""
        # With the ball's center c and exponent P, and the penalty's exponent p, the
        # function is the norm of c^((P - p) / P) * forms that is dual to the P-norm. A
        # line search calls this function about ten times a step, at half the cost of
        # `respond`.
        p, larger = self.regularizer.p, self.exponent
        if np.isinf(larger):
            scales, dual = np.ones_like(self.center), 1.0
        else:
            scales = self.center ** (1.0 - p / larger)
            dual = larger / (larger - 1.0) if larger > 1.0 else np.inf
        return lambda forms: p_norm(scales * forms, dual)

    def follow(self, old: Expansion, new: Expansion, weights: Array) -> Array:
        """Approximate `respond(new.forms)`, given weights = respond(old.forms)."""
        used = (weights > 0.0) & (old.forms > 0.0)
        if np.count_nonzero(used) <= 1 or self.exponent == 1.0:
            return weights  # steps do not change a vertex of the ball
        # With rho = old.rho, log(theta_m) changes to first order by
        # (2 rho^T K_m (new.rho - rho) / rho^T K_m rho - c) / (P - 1). The constant c
        # only scales the weights.
        change = old.images[used] @ (new.rho - old.rho)
        logs = 2.0 * change / old.forms[used] / (self.exponent - 1.0)
        followed = np.zeros_like(weights)
        with np.errstate(under="ignore"):
            followed[used] = weights[used] * np.exp(np.maximum(logs - logs.max(), -700))
        return followed

    def curvature_factor(self, images: Array, forms: Array, weights: Array) -> Array:
        """Return the U of the term U U^T that the ball adds to the combined kernel."""
        # Let N be the support function of the ball, P the ball's exponent, and theta =
        # `weights` the result of `respond` for the forms q_m = rho^T K_m rho. Half the
        # Hessian of N in rho is sum_m theta_m K_m + U U^T, where U U^T is 2 N / (P - 1)
        # times the covariance of the vectors v_m = K_m rho / q_m with the probabilities
        # theta_m q_m / N. As N is homogeneous, U^T rho is zero. So the quadratic model
        # of the dual at rho is the dual of a machine with the single kernel
        # sum_m theta_m K_m + U U^T.
        used = np.flatnonzero(weights * forms > 0.0)
        if used.size <= 1 or np.isinf(self.exponent):
            return np.empty((images.shape[1], 0))
        products = weights[used] * forms[used]
        total = float(products.sum())
        shares = products / total
        slopes = images[used] / forms[used][:, None]
        slopes -= shares @ slopes
        sizes = np.sqrt(2.0 * total / (self.exponent - 1.0) * shares)
        return np.asarray((slopes * sizes[:, None]).T)


STEP_TOLERANCE = 1e-3
"""Tolerance of the step length; the quadratic model of the step is not more exact."""

EPS = 64.0 * float(np.finfo(np.float64).eps)
"""Relative size of the rounding errors of a dual value."""


def _box(problem: Problem) -> tuple[Array, Array]:
    """Return the lower and upper bounds of the dual variables rho."""
    lower, upper = problem.loss.dual_bounds(problem.y)
    return -upper, -lower


def between(
    problem: Problem, old: Expansion, new: Expansion, share: float
) -> Expansion:
    """Return old + share (new - old), inside the bounds of the dual variables."""
    if share == 1.0:
        return new
    lower, upper = _box(problem)
    rho = np.clip(old.rho + share * (new.rho - old.rho), lower, upper)
    images = old.images + share * (new.images - old.images)
    return Expansion(rho, images, np.maximum(images @ rho, 0.0))


def best_share(
    problem: Problem, ball: InnerBall, old: Expansion, new: Expansion
) -> float:
    """Return the step length from `old` to `new` in [0, 1] with the best dual value."""
    # The dual value is that of the problem with kernel weights in the ball. Quadratic
    # forms are known for any step length, so no matrix is read.
    alpha = problem.regularizer.alpha
    lower, upper = _box(problem)
    cross, support = new.images @ old.rho, ball.support()

    def dual_loss(share: float) -> float:
        """Return minus the dual value at a step length."""
        rho = np.clip(old.rho + share * (new.rho - old.rho), lower, upper)
        conjugate = float(problem.loss.conjugate(problem.y, -rho).sum())
        old_share = 1.0 - share
        forms = old_share * (old_share * old.forms + 2.0 * share * cross)
        forms = np.maximum(forms + share * share * new.forms, 0.0)
        return conjugate + support(forms) / (2.0 * alpha)

    at_end = dual_loss(1.0)
    if at_end <= dual_loss(1.0 - STEP_TOLERANCE):
        return 1.0  # the usual case: the convex loss still decreases at the end
    minimum = minimize_scalar(
        dual_loss,
        bounds=(0.0, 1.0),
        method="bounded",
        options={"xatol": STEP_TOLERANCE},
    )
    return 1.0 if at_end <= minimum.fun + EPS * abs(at_end) else float(minimum.x)
