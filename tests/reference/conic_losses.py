"""Losses and terms as expressions of cvxpy, written from the formulas."""

import cvxpy as cp
import numpy as np


def losses_of(loss, y, f, *, length=1.0, level=0.8):
    """Return the loss of every sample, for decision values f."""
    log_y, margin, error = np.log(np.maximum(y, 1e-300)), cp.multiply(y, f), y - f
    return {
        "log_loss": lambda: cp.logistic(-margin),
        "hinge": lambda: cp.pos(1.0 - margin),
        "squared_hinge": lambda: 0.5 * cp.square(cp.pos(1.0 - margin)),
        "squared_error": lambda: 0.5 * cp.square(error),
        "quantile": lambda: cp.maximum(level * error, (level - 1.0) * error),
        "huber": lambda: 0.5 * cp.huber(error, length),
        "poisson": lambda: cp.exp(f) - margin + y * log_y - y,
        "gamma": lambda: f + cp.multiply(y, cp.exp(-f)) - 1.0 - log_y,
    }[loss]()


def terms_of(grams):
    """Return the sum of a term for every matrix, and the norms of the terms."""
    f, norms = 0.0, []
    for K in grams:
        values, vectors = np.linalg.eigh(K)
        used = values > 1e-9
        u = cp.Variable(used.sum())
        f = f + (vectors[:, used] * np.sqrt(values[used])) @ u
        norms.append(cp.norm(u))
    return f, cp.hstack(norms)
