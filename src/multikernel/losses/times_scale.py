"""Scale of log-logistic times that have a common median, by maximum likelihood."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from multikernel._typing import Array

NARROWEST, WIDEST = 1e-3, 1e3
"""Bounds of the scale: at 1e-3 f almost determines the order of events, at 1e3 not."""


def null_scale(lower: Array, upper: Array, weights: Array) -> float:
    """Return the maximum likelihood scale of log times that have a common median."""
    # The log time of a sample lies between `lower` and `upper`.
    times = np.concatenate([lower[weights > 0.0], upper[weights > 0.0]])
    times = times[np.isfinite(times)]
    median = float(np.median(times))
    spread = max(float(np.std(times)), 2.0 * NARROWEST)
    # The negative log-likelihood is convex in (median / scale, 1 / scale).
    a, b = (lower - median) / spread, (upper - median) / spread
    min_rate, max_rate = spread / WIDEST, spread / NARROWEST

    def misfit(point: Array) -> tuple[float, Array]:
        """Return the mean of `negative_log_likelihood`, and its gradient."""
        value, slopes = negative_log_likelihood(point[0], point[1], a, b, weights)
        total = weights.sum()
        return value / total, slopes / total

    start = np.clip(np.array([0.0, 1.8]), [-np.inf, min_rate], [np.inf, max_rate])
    bounds = [(None, None), (min_rate, max_rate)]
    fit = minimize(misfit, start, jac=True, bounds=bounds, method="L-BFGS-B")
    return float(spread / fit.x[1])


def negative_log_likelihood(
    shift: float, rate: float, a: Array, b: Array, weights: Array
) -> tuple[float, Array]:
    """Return the negative log-likelihood of log times in [a, b], and its gradient."""
    # The gradient is with respect to `shift` = median / scale and `rate` = 1 / scale.
    early, late = rate * a - shift, shift - rate * b
    value = np.logaddexp(0.0, early) + np.logaddexp(0.0, late)
    below, above = expit(early), expit(late)
    lower, upper = np.where(np.isinf(a), 0.0, a), np.where(np.isinf(b), 0.0, b)
    by_rate = lower * below - upper * above
    is_event = a == b
    value = value - is_event * np.log(rate)
    by_rate = by_rate - is_event / rate
    is_bounded = np.isfinite(a) & np.isfinite(b) & ~is_event
    length = (b - a)[is_bounded]
    value[is_bounded] -= np.log(-np.expm1(-rate * length))
    by_rate[is_bounded] -= length * np.exp(-rate * length) / -np.expm1(-rate * length)
    slopes = np.array([weights @ (above - below), weights @ by_rate])
    return float(weights @ value), slopes
