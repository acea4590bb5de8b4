"""Optima by conic programming, written from the formulas and not from the library.

Nothing here imports the library: losses, penalties and dual values are spelled out
once more, so that an error there cannot hide in its own reflection. Each kernel is
replaced by finite-dimensional features, K_m = L_m L_m^T, and its function by a vector
w_m with ||f_m|| = ||w_m||_2.
"""

import itertools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp, softmax, xlogy

Array = NDArray[np.float64]

COUPLED_NAMES = ("softmax", "crammer_singer")
LOSS_NAMES = ("hinge", "log_loss", "squared_error", "epsilon_insensitive")

# An interior-point method may break down just short of a very tight tolerance, so
# looser ones follow; what counts is the gap that NumPy computes afterwards.
TOLERANCES = (1e-12, 1e-11, 1e-10, 1e-9)
EXCELLENT, CERTIFIED = 1e-10, 1e-8


@dataclass(frozen=True)
class Optimum:
    """A solved problem, with its own proof of optimality.

    `objective` and `lower_bound` are evaluated by NumPy at the primal and the dual
    point that the conic solver returned, not taken from its report.
    """

    objective: float
    lower_bound: float
    norms: Array
    f: Array
    intercept: Array
    dual: Array

    @property
    def relative_gap(self) -> float:
        """Return the distance between the two values, relative to the objective."""
        return (self.objective - self.lower_bound) / abs(self.objective)


def reference_optimum(
    grams: Array,
    y: Array,
    loss_name: str,
    alpha: float,
    *,
    l1_ratio: float = 1.0,
    epsilon: float = 0.1,
    fit_intercept: bool = True,
    sample_weight: Array | None = None,
) -> Optimum:
    r"""Solve penalized multiple kernel learning as one conic program in the features.

    .. math::
        \min_{w, b} \sum_i s_i \ell(y_i, z_i)
        + \alpha \sum_m \Bigl( r \|w_m\| + \frac{1 - r}{2} \|w_m\|^2 \Bigr),
        \quad z = \sum_m L_m w_m + b

    Parameters
    ----------
    grams : ndarray of shape (n_kernels, n_samples, n_samples)
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        One-hot for the last two losses.
    loss_name : {"hinge", "log_loss", "squared_error", "epsilon_insensitive", \
            "softmax", "crammer_singer"}
    alpha : float
        In the scale of summed losses.
    l1_ratio : float, default=1.0
        The share r of the block l1 norm.
    epsilon : float, default=0.1
        Of the epsilon-insensitive loss.
    fit_intercept : bool, default=True
    sample_weight : ndarray of shape (n_samples,), optional
        The weights s; ones by default.

    Returns
    -------
    optimum : Optimum
        Its `dual` is the better of two feasible points: the solver's multipliers, and
        minus the derivative of the loss at z.
    """
    weights = np.ones(len(y)) if sample_weight is None else sample_weight
    loss = LossTerm(loss_name, y, weights, epsilon)
    return _solve_in_features(
        grams, loss, ElasticPenalty(alpha, l1_ratio), fit_intercept
    )


def reference_lp_optimum(
    grams: Array,
    y: Array,
    loss_name: str,
    C: float,
    p: float,
    *,
    epsilon: float = 0.1,
    fit_intercept: bool = True,
    sample_weight: Array | None = None,
) -> Optimum:
    r"""Solve lp-norm multiple kernel learning as one conic program in the features.

    .. math::
        \min_{w, b} \frac12 \Bigl( \sum_m \|w_m\|^q \Bigr)^{2/q}
        + C \sum_i s_i \ell(y_i, z_i), \quad q = \frac{2p}{p + 1}

    The power cones are exact: no rational approximation of q is made. Parameters are
    those of `reference_optimum`, with C before the losses and p in [1, inf].
    """
    weights = np.ones(len(y)) if sample_weight is None else sample_weight
    loss = LossTerm(loss_name, y, C * weights, epsilon)
    return _solve_in_features(grams, loss, SquaredNormPenalty(p), fit_intercept)


@dataclass(frozen=True)
class LossTerm:
    """A weighted sum of losses: as an expression, by value, and its conjugate."""

    name: str
    y: Array
    weights: Array
    epsilon: float

    @property
    def _w(self) -> Array:
        columns = self.weights if self.y.ndim == 1 else self.weights[:, None]
        return np.broadcast_to(columns, self.y.shape)

    def expression(self, z: cp.Expression) -> cp.Expression:
        """Return the sum as a convex expression."""
        y, w = self.y, self._w
        if self.name in COUPLED_NAMES:
            tops = {
                "softmax": lambda: cp.log_sum_exp(z, axis=1),
                "crammer_singer": lambda: cp.max(z + (1.0 - y), axis=1),
            }[self.name]()
            return self.weights @ tops - cp.sum(cp.multiply(w, cp.multiply(y, z)))
        if self.name == "squared_error":
            return 0.5 * cp.sum_squares(cp.multiply(np.sqrt(w), y - z))
        each = {
            "hinge": lambda: cp.pos(1 - cp.multiply(y, z)),
            "log_loss": lambda: cp.logistic(-cp.multiply(y, z)),
            "epsilon_insensitive": lambda: cp.pos(cp.abs(y - z) - self.epsilon),
        }[self.name]()
        return cp.sum(cp.multiply(w, each))

    def value(self, z: Array) -> float:
        """Return the sum."""
        y = self.y
        if self.name in COUPLED_NAMES:
            tops = {
                "softmax": lambda: logsumexp(z, axis=1),
                "crammer_singer": lambda: np.max(z + (1.0 - y), axis=1),
            }[self.name]()
            return float(self.weights @ (tops - np.sum(y * z, axis=1)))
        each = {
            "hinge": lambda: np.maximum(0.0, 1.0 - y * z),
            "log_loss": lambda: np.logaddexp(0.0, -y * z),
            "squared_error": lambda: 0.5 * (y - z) ** 2,
            "epsilon_insensitive": lambda: np.maximum(0, np.abs(y - z) - self.epsilon),
        }[self.name]()
        return float(np.sum(self._w * each))

    def conjugate(self, rho: Array) -> float:
        """Return the sum of the conjugates at -rho, clipped by rounding errors only."""
        y, w = self.y, self._w
        r = rho / w
        if self.name in COUPLED_NAMES:
            p = np.clip(y - r, 0.0, 1.0)
            own = {"softmax": lambda: xlogy(p, p), "crammer_singer": lambda: y * p - y}
            return float(np.sum(w * own[self.name]()))
        a = np.clip(y * r, 0.0, 1.0)
        boxed = np.clip(r, -1.0, 1.0)
        each = {
            "hinge": lambda: -a,
            "log_loss": lambda: xlogy(a, a) + xlogy(1.0 - a, 1.0 - a),
            "squared_error": lambda: 0.5 * r**2 - y * r,
            "epsilon_insensitive": lambda: -y * boxed + self.epsilon * np.abs(boxed),
        }[self.name]()
        return float(np.sum(w * each))

    def dual_points(self, z: Array, multiplier: Array, balanced: bool) -> list[Array]:
        """Return feasible dual points: the multiplier's, and that of z.

        The Lagrangian adds multiplier * (z - features), so the multiplier is minus a
        subgradient. Where the loss has a derivative there is a second one, and which of
        them is the better one is decided by the last digits of the solver's algebra.
        """
        w, y = self._w, self.y
        slopes = {
            "squared_error": lambda: w * (y - z),
            "softmax": lambda: w * (y - softmax(z, axis=1)),
            "log_loss": lambda: w * y * expit(-y * z),
        }
        points = [np.asarray(multiplier, dtype=np.float64)]
        if self.name in slopes:
            points.append(slopes[self.name]())
        return [self._feasible(rho, balanced) for rho in points]

    def _feasible(self, rho: Array, balanced: bool) -> Array:
        """Return a feasible point near rho.

        Sums that must vanish are subtracted; from outside the domain one goes towards
        the dual point of a constant model, which is inside, up to the border.
        """
        if self.name in COUPLED_NAMES:
            rho = rho - rho.mean(axis=1, keepdims=True)
        if balanced:
            rho = rho - rho.mean(axis=0)
        inner = self._constant_dual()
        here, there = self._margins(rho), self._margins(inner)
        outside = here < 0.0
        shares = here[outside] / (here[outside] - there[outside])
        share = float(shares.max(initial=0.0))
        return (1.0 - share) * rho + share * inner

    def _margins(self, rho: Array) -> Array:
        """Return what is non-negative in the conjugate's domain, affine in rho."""
        r = rho / self._w
        if self.name == "squared_error":
            return np.ones(1)
        if self.name == "epsilon_insensitive":
            return np.stack([1.0 - r, 1.0 + r])
        if self.name in COUPLED_NAMES:
            return self.y - r
        return np.stack([self.y * r, 1.0 - self.y * r])

    def _constant_dual(self) -> Array:
        """Return the derivative at the frequencies of the classes, or zero."""
        w, y = self._w, self.y
        if self.name in ("squared_error", "epsilon_insensitive"):
            return np.zeros(y.shape)
        present = np.maximum(y, 0.0)
        frequencies = np.sum(w * present, axis=0) / np.sum(w, axis=0)
        if self.name in COUPLED_NAMES:
            return w * (y - frequencies)
        return w * (present - frequencies)


class Penalty(Protocol):
    """A penalty on the norms: as an expression, by value, and its conjugate."""

    def expression(self, norms: list[cp.Expression]) -> cp.Expression: ...

    def value(self, norms: Array) -> float: ...

    def scale(self, dual_norms: Array) -> float: ...

    def conjugate(self, dual_norms: Array) -> float: ...


@dataclass(frozen=True)
class ElasticPenalty:
    """alpha * sum (r ||w_m|| + (1 - r) / 2 ||w_m||^2)."""

    alpha: float
    l1_ratio: float

    def expression(self, norms: list[cp.Expression]) -> cp.Expression:
        share = self.l1_ratio
        squares = sum(cp.square(norm) for norm in norms)
        return self.alpha * (share * sum(norms) + 0.5 * (1 - share) * squares)

    def value(self, norms: Array) -> float:
        share = self.l1_ratio
        return self.alpha * float(np.sum(share * norms + 0.5 * (1 - share) * norms**2))

    def scale(self, dual_norms: Array) -> float:
        if self.l1_ratio < 1.0 or dual_norms.max() <= self.alpha:
            return 1.0
        return self.alpha / float(dual_norms.max())

    def conjugate(self, dual_norms: Array) -> float:
        if self.l1_ratio == 1.0:
            return 0.0
        excess = np.maximum(dual_norms - self.alpha * self.l1_ratio, 0.0)
        return float(excess @ excess) / (2 * self.alpha * (1 - self.l1_ratio))


@dataclass(frozen=True)
class SquaredNormPenalty:
    """Half the squared q-norm of the norms, q = 2p / (p + 1)."""

    p: float

    @property
    def q(self) -> float:
        return 2.0 * self.p / (self.p + 1.0) if np.isfinite(self.p) else 2.0

    def expression(self, norms: list[cp.Expression]) -> cp.Expression:
        stacked = cp.hstack(norms)
        if self.q in (1.0, 2.0):
            return 0.5 * cp.square(cp.norm(stacked, self.q))
        return 0.5 * cp.square(cp.pnorm(stacked, self.q, approx=False))

    def value(self, norms: Array) -> float:
        return 0.5 * _p_norm(norms, self.q) ** 2

    def scale(self, dual_norms: Array) -> float:
        return 1.0

    def conjugate(self, dual_norms: Array) -> float:
        dual_exponent = self.q / (self.q - 1.0) if self.q > 1.0 else np.inf
        return 0.5 * _p_norm(dual_norms, dual_exponent) ** 2


def _p_norm(x: Array, p: float) -> float:
    """Return the p-norm of a non-negative vector; p may be 20 000."""
    largest = float(x.max())
    if largest == 0.0 or np.isinf(p):
        return largest
    return largest * float(np.sum((x / largest) ** p)) ** (1.0 / p)


def _solve_in_features(
    grams: Array, loss: LossTerm, penalty: Penalty, fit_intercept: bool
) -> Optimum:
    maps = [features(K) for K in grams]
    outputs = loss.y.shape[1:]
    w = [cp.Variable((L.shape[1], *outputs)) for L in maps]
    b = cp.Variable((1, *outputs))
    z = cp.Variable(loss.y.shape)
    total = sum(L @ v for L, v in zip(maps, w, strict=True))
    link = z == total + (np.ones((len(loss.y), 1)) @ b if fit_intercept else 0.0)
    norms = [cp.norm(cp.vec(v, order="F"), 2) for v in w]
    objective = loss.expression(z) + penalty.expression(norms)

    def bound(rho: Array) -> tuple[float, Array]:
        dual_norms = np.array([np.linalg.norm(L.T @ rho) for L in maps])
        scale = penalty.scale(dual_norms)
        lower = -loss.conjugate(scale * rho) - penalty.conjugate(scale * dual_norms)
        return lower, scale * rho

    def certify() -> Optimum:
        intercept = b.value.ravel() if fit_intercept else np.zeros(outputs or 1)
        f = total.value + intercept
        sizes = np.array([np.linalg.norm(v.value) for v in w])
        upper = loss.value(f) + penalty.value(sizes)
        points = loss.dual_points(f, link.dual_value, fit_intercept)
        lower, rho = max((bound(rho) for rho in points), key=lambda pair: pair[0])
        return Optimum(upper, lower, sizes, f, intercept, rho)

    return _solve_certified(cp.Problem(cp.Minimize(objective), [link]), certify)


def _solve_certified(problem: cp.Problem, certify: Callable[[], Optimum]) -> Optimum:
    """Return the first solution of excellent gap, else the best one below 1e-8."""
    best: Optimum | None = None
    for cold, tol in itertools.product((False, True), TOLERANCES):
        settings = {"tol_gap_abs": tol, "tol_gap_rel": tol, "tol_feas": tol}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # "may be inaccurate"
                # From where the last one ended many get further, and some no step.
                problem.solve(solver=cp.CLARABEL, warm_start=not cold, **settings)
        except cp.error.SolverError:
            continue
        optimum = certify()
        if best is None or abs(optimum.relative_gap) < abs(best.relative_gap):
            best = optimum
        if abs(best.relative_gap) <= EXCELLENT:
            return best
    if best is None or not abs(best.relative_gap) <= CERTIFIED:
        raise RuntimeError(f"No conic solution could be certified; the best is {best}.")
    return best


def features(K: Array) -> Array:
    """Return L of shape (n_samples, rank) with K = L L^T up to rounding."""
    values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    kept = values > 1e-14 * max(values.max(), 0.0)
    return vectors[:, kept] * np.sqrt(values[kept])
