"""Losses, their conjugates and the domains of these, in extended precision.

Written down anew, from the docstrings. Values are at decision values with their
offsets, see `attack.beside`.
"""

import numpy as np

WIDE = np.longdouble


def xlogx(x):
    return x * np.log(np.where(x > 0.0, x, 1.0))


def xlog1px(t):
    """(1 + t) log(1 + t), whose digits small t keep."""
    return (1.0 + t) * np.log1p(np.where(t > -1.0, t, 0.0))


def level_of(case):
    """The quantile of a pinball loss."""
    return WIDE(case.settings.get("quantile", 0.5))


def tube_of(case):
    """The length of a loss that has one."""
    return WIDE(case.settings["epsilon"])


def ends_of(case, y):
    """The logarithms that times are between; targets are positions in these."""
    return (end[y.astype(int)] for end in case.times)


def softplus(z):
    return np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z)))


def time_loss(case, y, f):
    """Minus the log-likelihood of times to an event, seen or between two ends."""
    low, high = ends_of(case, y)
    sigma = WIDE(case.settings["loss_scale"])
    return softplus((low - f) / sigma) + softplus((f - high) / sigma)


def time_conjugate(case, y, u):
    """Closed forms, and where times are between two ends the place by bisection."""
    low, high = ends_of(case, y)
    sigma = WIDE(case.settings["loss_scale"])
    t = np.clip(sigma * u, -1.0, 1.0)
    later, earlier = np.isinf(high), np.isinf(low)
    p = np.clip(np.where(later, -t, t), 0.0, 1.0)
    censored = u * np.where(later, low, high) + xlogx(p) + xlogx(1.0 - p)
    middle = np.where(later | earlier, 0.0, (low + high) / 2.0)
    half = np.where(later | earlier, 0.0, (high - low) / (2.0 * sigma))
    left, right = -2e4 - half, 2e4 + half
    for _ in range(120):
        z = (left + right) / 2.0
        slope = t - sigmoid(z - half) + sigmoid(-z - half)
        left, right = np.where(slope > 0.0, z, left), np.where(slope > 0.0, right, z)
    seen = u * middle + t * z - softplus(z - half) - softplus(-z - half)
    return np.where(later | earlier, censored, seen)


def sigmoid(z):
    return np.exp(-softplus(-z))


def loss_value(case, y, f):
    if case.loss == "LogLogisticLoss":
        return time_loss(case, y, f)
    if case.loss == "HingeLoss":
        return np.maximum(0.0, 1.0 - y * f)
    if case.loss == "LogisticLoss":
        z = -y * f
        return np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z)))
    if case.loss == "SquaredLoss":
        return 0.5 * (y - f) ** 2
    if case.loss == "SquaredHingeLoss":
        return 0.5 * np.maximum(0.0, 1.0 - y * f) ** 2
    if case.loss == "PinballLoss":
        level = level_of(case)
        return np.maximum(level * (y - f), (1.0 - level) * (f - y))
    if case.loss == "HuberLoss":
        size, delta = np.abs(y - f), tube_of(case)
        return np.where(size <= delta, size**2 / 2.0, delta * (size - delta / 2.0))
    if case.loss == "PoissonLoss":
        count = np.where(y > 0.0, y, 1.0)
        z = f - np.log(count)
        return np.where(y > 0.0, count * (np.expm1(z) - z), np.exp(f))
    if case.loss == "GammaLoss":
        z = f - np.log(y)
        return z + np.expm1(-z)
    return np.maximum(0.0, np.abs(y - f) - tube_of(case))


def loss_conjugate(case, y, u):
    if case.loss == "LogLogisticLoss":
        return time_conjugate(case, y, u)
    if case.loss == "HingeLoss":
        return y * u
    if case.loss == "LogisticLoss":
        a = np.clip(-y * u, 0.0, 1.0)

        return xlogx(a) + xlogx(1.0 - a)
    if case.loss in ("SquaredLoss", "HuberLoss", "SquaredHingeLoss"):
        return u * (0.5 * u + y)
    if case.loss == "PinballLoss":
        return y * u
    if case.loss == "PoissonLoss":
        count = np.where(y > 0.0, y, 1.0)
        share = np.maximum(u / count, -1.0)
        some = count * (xlog1px(share) - share) + u * np.log(count)
        return np.where(y > 0.0, some, xlogx(np.maximum(u, 0.0)) - u)
    if case.loss == "GammaLoss":
        return xlog1px(np.maximum(-u, -1.0)) + u + u * np.log(y)
    return y * u + tube_of(case) * np.abs(u)


def dual_box(case, y, c):
    """Ends of the domain of rho_i, where c_i multiplies the loss of sample i."""
    if case.loss in ("HingeLoss", "LogisticLoss"):
        return np.minimum(c * y, 0.0), np.maximum(c * y, 0.0)
    if case.loss == "SquaredLoss":
        return np.full_like(c, -np.inf), np.full_like(c, np.inf)
    if case.loss == "SquaredHingeLoss":
        return np.where(y > 0, 0.0, -np.inf), np.where(y > 0, np.inf, 0.0)
    if case.loss == "PinballLoss":
        return (level_of(case) - 1.0) * c, level_of(case) * c
    if case.loss == "HuberLoss":
        return -tube_of(case) * c, tube_of(case) * c
    if case.loss == "PoissonLoss":
        return np.full_like(c, -np.inf), c * y
    if case.loss == "LogLogisticLoss":
        low, high = ends_of(case, y)
        most = c / WIDE(case.settings["loss_scale"])
        return np.where(np.isinf(high), 0.0, -most), np.where(np.isinf(low), 0.0, most)
    if case.loss == "GammaLoss":
        return -c, np.full_like(c, np.inf)
    return -c, c
