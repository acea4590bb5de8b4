"""Scale of log-logistic times given their medians, and index of concordance."""

import numpy as np
from scipy.optimize import minimize_scalar

from multikernel._typing import Array
from multikernel.losses.times_scale import NARROWEST, WIDEST, negative_log_likelihood


def most_likely_scale(
    lower: Array, upper: Array, f: Array, weights: Array | None = None
) -> float:
    """Return the maximum likelihood scale of log times with the medians `f`."""
    # The log time of a sample lies between `lower` and `upper`.
    weights = np.ones(f.size) if weights is None else weights
    a, b = lower - f, upper - f

    def misfit(log_scale: float) -> float:
        # The shift is zero, because the medians are subtracted; the rate is 1 / scale.
        return negative_log_likelihood(0.0, float(np.exp(-log_scale)), a, b, weights)[0]

    bounds = (np.log(NARROWEST), np.log(WIDEST))
    fit = minimize_scalar(misfit, bounds=bounds, method="bounded")
    return float(np.exp(fit.x))


def has_known_order(lower: Array, upper: Array) -> bool:
    """Return whether there are two samples whose order in time is known."""
    # The order of two samples is known if one interval ends before the other begins.
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
