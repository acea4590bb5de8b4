"""Survival times with a log-logistic accelerated failure time model."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from scipy.special import expit, xlog1py, xlogy

from multikernel._typing import Array, Indices
from multikernel.losses.times_scale import null_scale

FARTHEST = 300.0
"""Exponent above which arsinh(exp(x)) is x + log 2 up to rounding."""

FLATTEST = 1e-12
"""Smallest curvature of an interval's loss, divided by that of an observed event."""


@dataclass(frozen=True, eq=False, repr=False)
class LogLogisticLoss:
    r"""Negative log-likelihood of censored times; exp(f) is the median time.

    .. math:: \ell(f) = \log(1 + e^{(a - f) / \sigma}) + \log(1 + e^{(f - b) / \sigma})

    for a time between exp(a) and exp(b); an event has a = b, right censoring b = inf,
    left censoring a = -inf. `lower` and `upper` hold the ends a and b of a table of
    intervals; a target y is a position in this table. `scale` is the positive number
    sigma; terms that depend on sigma only are omitted, so the loss is nonnegative.
    """

    # The logarithm of a time is f plus sigma times a logistic variable: Bennett, S.
    # (1983). Log-logistic regression models for survival data. Applied Statistics 32,
    # 165-171.

    link: ClassVar[str] = "log"

    lower: Array
    upper: Array
    scale: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.scale) and self.scale > 0.0):
            raise ValueError(f"scale must be positive and finite, got {self.scale}.")
        is_bounded = np.isfinite(self.lower) | np.isfinite(self.upper)
        invalid_rows = np.flatnonzero(~(is_bounded & (self.lower <= self.upper)))
        if invalid_rows.size:
            row = int(invalid_rows[0])
            raise ValueError(
                "Every interval requires lower <= upper and at least one finite bound, "
                f"but interval {row} (counted from 0) is [{self.lower[row]}, "
                f"{self.upper[row]}]: correct it."
            )

    def __repr__(self) -> str:
        return f"LogLogisticLoss({len(self.lower)} intervals, scale={self.scale:.6g})"

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss of each sample."""
        a, b = self.intervals(y)
        early = np.logaddexp(0.0, (a - f) / self.scale)
        late = np.logaddexp(0.0, (f - b) / self.scale)
        return early + late

    def gradient(self, y: Array, f: Array) -> Array:
        """Return (P(time above the interval) - P(time below it)) / `scale`."""
        a, b = self.intervals(y)
        early = expit((a - f) / self.scale)
        late = expit((f - b) / self.scale)
        slope: Array = (late - early) * self._steepest
        return slope

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return the conjugate l*(y, u), infinity outside `dual_bounds`."""
        # With v = -sigma u and the negative entropy h (`_entropy`), the conjugate is
        # u a + h(v) for b = inf, u b + h(-v) for a = -inf, and u a + 2 h((1 + v) / 2)
        # for an event. For other intervals, it is computed from the decision value at
        # which the loss has the gradient u.
        a, b = self.intervals(y)
        lower, upper = self.dual_bounds(y)
        is_inside = (u >= lower) & (u <= upper)
        v = self._scaled_dual(np.where(is_inside, u, 0.0))
        entropy = np.where(np.isinf(b), _entropy(v), _entropy(-v))
        centers = np.where(np.isinf(b), a, b)
        is_bounded = np.isfinite(a) & np.isfinite(b)
        event_entropy = (1.0 + v) * np.log1p(v, where=v > -1.0, out=np.zeros_like(v))
        event_entropy += xlog1py(1.0 - v, -v) - 2.0 * np.log(2.0)
        entropy = np.where(is_bounded, event_entropy, entropy)
        is_wide = is_bounded & (a < b)
        if np.any(is_wide):
            middle, half = _middle_and_half(a[is_wide], b[is_wide])
            centers[is_wide] = middle
            entropy[is_wide] = _interval_conjugate(v[is_wide], half / self.scale)
        return np.where(is_inside, u * centers + entropy, np.inf)

    def conjugate_gradient(self, y: Array, u: Array) -> Array:
        """Return the decision value with gradient u."""
        # With v = -sigma u, the result is c - sigma z: c is a finite end of the
        # interval, or its middle if both ends are finite and differ. z is log(v / (1 -
        # v)) for b = inf, log((1 + v) / (1 - v)) for an event.
        a, b = self.intervals(y)
        v = self._scaled_dual(u)
        no_upper, no_lower = np.isinf(b), np.isinf(a)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(no_upper, _logit(v), -_logit(-v))
            z = np.where(no_upper | no_lower, z, np.log1p(v) - np.log1p(-v))
            centers = np.where(no_upper, a, b)
            is_wide = ~(no_upper | no_lower) & (a < b)
            if np.any(is_wide):
                middle, half = _middle_and_half(a[is_wide], b[is_wide])
                centers[is_wide] = middle
                z[is_wide] = _interval_f(v[is_wide], half / self.scale)
        return centers - self.scale * z

    def conjugate_hessian(self, y: Array, u: Array) -> Array:
        """Return the second derivative, limited by `FLATTEST` for wide intervals."""
        # `curvature` is sigma^2 times the loss's second derivative in f, as a function
        # of v = -sigma u.
        a, b = self.intervals(y)
        v = self._scaled_dual(u)
        curvature = np.abs(v) * (1.0 - np.abs(v))  # avoids negative zeros
        is_bounded = np.isfinite(a) & np.isfinite(b)
        curvature = np.where(is_bounded, 0.5 * (1.0 - v) * (1.0 + v), curvature)
        is_wide = is_bounded & (a < b)
        if np.any(is_wide):
            half = _middle_and_half(a[is_wide], b[is_wide])[1] / self.scale
            z = _interval_f(v[is_wide], half)
            smallest = FLATTEST * (1.0 - v[is_wide]) * (1.0 + v[is_wide])
            curvature[is_wide] = np.maximum(
                _density(z - half) + _density(z + half), smallest
            )
        with np.errstate(divide="ignore"):
            return self.scale**2 / curvature

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        """Return [-1 / sigma, 1 / sigma], with one end at 0 for one-sided censoring."""
        a, b = self.intervals(y)
        lower = np.where(np.isinf(a), 0.0, -self._steepest)
        return lower, np.where(np.isinf(b), 0.0, self._steepest)

    def unsuitable(self, y: Array) -> str | None:
        """Return why the targets have no best constant model, or None."""
        a, b = self.intervals(y)
        if np.isinf(b).all():
            return (
                "no event was observed, because all times are right-censored, and the "
                "best constant is an infinite time: include samples with an event"
            )
        if np.isinf(a).all():
            return (
                "all times are left-censored, so the best constant is a time of 0: "
                "include samples with an event at a known time"
            )
        return None

    def estimated(
        self, y: Array, weights: Array | None
    ) -> tuple[Self, dict[str, float]]:
        """Return the loss with a constant model's scale, and a dict with this scale."""
        scale = self.scale
        if self.unsuitable(y) is None:
            weights = np.ones(len(y)) if weights is None else weights
            scale = null_scale(*self.intervals(y), weights)
        return replace(self, scale=scale), {"loss_scale": scale}

    def intervals(self, y: Array) -> tuple[Array, Array]:
        """Return the lower and upper ends of the targets' intervals, as logarithms."""
        rows: Indices = np.asarray(y).astype(np.intp)
        return self.lower[rows], self.upper[rows]

    @property
    def _steepest(self) -> float:
        """Largest gradient, 1 / sigma."""
        return 1.0 / self.scale

    def _scaled_dual(self, u: Array) -> Array:
        """Return v = -sigma u, clipped to its range [-1, 1]."""
        # The division is exact at the bounds of u, which are -1 / sigma and 1 / sigma.
        return np.clip(-u / self._steepest, -1.0, 1.0)


def _middle_and_half(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the middle of intervals, and half their lengths."""
    return 0.5 * a + 0.5 * b, 0.5 * (b - a)


def _entropy(v: Array) -> Array:
    """Return p log p + (1 - p) log(1 - p), with p = v clipped to [0, 1]."""
    p = np.clip(v, 0.0, 1.0)
    # log1p(-p), because log(1 - p) would lose digits of a small p, and large weights
    # amplify this error.
    return np.asarray(xlogy(p, p) + xlog1py(1.0 - p, -p), dtype=np.float64)


def _logit(v: Array) -> Array:
    """Return the log odds of probabilities."""
    return np.asarray(np.log(v) - np.log1p(-v), dtype=np.float64)


def _density(z: Array) -> Array:
    """Return the density of the logistic variable."""
    return np.asarray(expit(z) * expit(-z), dtype=np.float64)


def _interval_f(v: Array, half: Array) -> Array:
    """Return the z at which the loss of `_interval_conjugate` has the derivative v."""
    # The derivative is v = sinh z / (cosh z + cosh h) with h = half. So this z is
    # artanh v + arsinh(v cosh h / sqrt(1 - v^2)). For t beyond FARTHEST, arsinh(e^t) is
    # t + log 2 up to rounding.
    with np.errstate(divide="ignore"):
        exponent = np.log(np.abs(v)) - 0.5 * (np.log1p(v) + np.log1p(-v))
    exponent += half + np.log1p(np.exp(-2.0 * half)) - np.log(2.0)
    excess = np.maximum(exponent - FARTHEST, 0.0)
    distance = np.arcsinh(np.exp(np.minimum(exponent, FARTHEST))) + excess
    with np.errstate(divide="ignore"):
        return np.asarray(np.arctanh(v) + np.copysign(distance, v), dtype=np.float64)


def _interval_conjugate(v: Array, half: Array) -> Array:
    """Return the conjugate at v of the loss with a = -half, b = half and sigma = 1."""
    is_at_bound = np.abs(v) >= 1.0
    w = np.where(is_at_bound, 0.0, v)
    z = _interval_f(w, half)
    values = w * z - np.logaddexp(0.0, z - half) - np.logaddexp(0.0, -z - half)
    return np.where(is_at_bound, half, values)
