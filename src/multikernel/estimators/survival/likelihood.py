"""Scale of log-logistic times by maximum likelihood, and index of concordance."""

import numpy as np
from scipy.optimize import minimize, minimize_scalar
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
        value, slopes = _misfit(point[0], point[1], a, b, weights)
        total = weights.sum()
        return value / total, slopes / total

    start = np.clip(np.array([0.0, 1.8]), [-np.inf, min_rate], [np.inf, max_rate])
    bounds = [(None, None), (min_rate, max_rate)]
    fit = minimize(misfit, start, jac=True, bounds=bounds, method="L-BFGS-B")
    return float(spread / fit.x[1])


def most_likely_scale(
    lower: Array, upper: Array, f: Array, weights: Array | None = None
) -> float:
    """Return the maximum likelihood scale of log times with the medians `f`."""
    # The log time of a sample lies between `lower` and `upper`.
    weights = np.ones(f.size) if weights is None else weights
    a, b = lower - f, upper - f

    def misfit(log_scale: float) -> float:
        return _misfit(0.0, float(np.exp(-log_scale)), a, b, weights)[0]

    bounds = (np.log(NARROWEST), np.log(WIDEST))
    fit = minimize_scalar(misfit, bounds=bounds, method="bounded")
    return float(np.exp(fit.x))


def _misfit(
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


def has_known_order(lower: Array, upper: Array) -> bool:
    """Return whether there are two samples whose order in time is known."""
    earliest = float(upper.min())
    if earliest < lower.max():
        return True
    # If a sample is censored at the time of an event, its own event is later.
    return bool(np.any((lower == earliest) & (lower < upper)))


def concordance(
    lower: Array, upper: Array, risk: Array, weights: Array | None = None
) -> float:
    """Return Harrell's concordance index of risks, for event times in intervals."""
    # The index is the share of pairs that the risks order correctly, a higher risk for
    # the earlier event, among pairs of samples whose order in time is known. It is 0.5
    # for a random order. Equal risks count half. The weight of a pair is the product of
    # the weights of its samples.
    weights = np.ones(risk.size) if weights is None else weights
    events = np.flatnonzero(np.isfinite(upper))
    # Process a million pairs at a time, at 50 bytes each.
    rows = max(1, 2**20 // max(risk.size, 1))
    n_comparable = n_agreed = 0.0
    for begin in range(0, events.size, rows):
        block = events[begin : begin + rows, None]
        # If a sample is censored at the time of an event, its own event is later.
        later = (upper[block] < lower) | ((upper[block] == lower) & (lower < upper))
        pairs = later * weights
        n_comparable += float(weights[block[:, 0]] @ pairs.sum(axis=1))
        order = 0.5 * (np.sign(risk[block] - risk) + 1.0)
        n_agreed += float(weights[block[:, 0]] @ (pairs * order).sum(axis=1))
    return n_agreed / n_comparable if n_comparable > 0.0 else float("nan")
