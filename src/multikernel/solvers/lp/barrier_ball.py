r"""Kernel weights inside the unit p-ball, kept off zero by a logarithmic barrier.

The support function of the p-ball has kinks for p = 1, and almost so for p near 1.
With a barrier of size mu > 0,

.. math:: \sigma_\mu(u) = \max_{\|\theta\|_p \le 1} \; \theta^\top u
    + \mu \sum_m \log \theta_m ,

it is smooth for every p, and exceeds the kinked one by no more than the barrier's
share: that is what interior point methods for linear programs do, for p = 1.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from multikernel._typing import Array
from multikernel.certificates import TINY
from multikernel.regularizers.squared_block_norm import SquaredBlockNorm, p_norm

ACCURACY = 1e-12
"""Logarithms of weights, and of their norm, are found to this accuracy."""

STEPS = 100
"""Newton steps on one equation at most; it takes four or so."""

BLOCK = 2**16
"""Kernels at a time: bounds the memory for millions of them."""


@dataclass(frozen=True, eq=False)
class BarrierResponse:
    """The maximising weights, and how they move.

    Parameters
    ----------
    weights : ndarray of shape (n_kernels,)
        Positive, of p-norm one.
    value : float
        sigma_mu(u).
    excess : float
        By how much the multiplier of the norm exceeds the largest u: a start for the
        response to another u.
    moves, normal : ndarray of shape (n_kernels,)
        The derivative of the weights in u is diag(moves), less its part that would
        change the norm, whose slope is `normal`.
    """

    weights: Array
    value: float
    excess: float
    moves: Array
    normal: Array

    def followed(self, change: Array) -> Array:
        """Return the weights, to first order, after a small change of u.

        Evaluated at the new u they would lose digits: where mu is small, the last digit
        of u decides about many of those of the weights.
        """
        along = self.moves * self.normal
        mean = float(along @ change) / max(float(along @ self.normal), TINY)
        moved = self.weights + self.moves * (change - mean * self.normal)
        return np.asarray(np.maximum(moved, 0.0))

    def curvature(self, slopes: Array) -> Array:
        """Return the second derivatives of sigma_mu(slopes.T @ x) in x.

        Parameters
        ----------
        slopes : ndarray of shape (n_planes, n_kernels)
            The rows are the directions of u.

        Returns
        -------
        curvature : ndarray of shape (n_planes, n_planes)
        """
        along = self.moves * self.normal
        # Centred first, as a difference of two such matrices would drown in rounding.
        means = slopes @ along / max(float(along @ self.normal), TINY)
        curvature = np.zeros((slopes.shape[0], slopes.shape[0]))
        for start in range(0, self.moves.size, BLOCK):
            part = slice(start, start + BLOCK)
            centred = slopes[:, part] - np.outer(means, self.normal[part])
            curvature += (centred * self.moves[part]) @ centred.T
        return curvature


def barrier_response(
    regularizer: SquaredBlockNorm, u: Array, mu: float, excess: float = np.inf
) -> BarrierResponse:
    r"""Maximise theta^T u plus the barrier over the p-ball.

    With the multiplier nu of the norm, every weight solves an equation of its own,

    .. math:: \nu \theta_m^{p-1} = u_m + \mu / \theta_m ,

    and nu is found by Newton's method, in brackets, so that the p-norm is one.

    Parameters
    ----------
    regularizer : SquaredBlockNorm
        Gives p.
    u : ndarray of shape (n_kernels,)
        Non-negative.
    mu : float
        Size of the barrier, positive.
    excess : float, optional
        A start, from a response close by.

    Returns
    -------
    response : BarrierResponse
    """
    p = regularizer.p
    if np.isinf(p):
        one, zero = np.ones_like(u), np.zeros_like(u)
        return BarrierResponse(one, float(u.sum()), np.inf, zero, zero)
    largest = float(u.max())
    low = mu
    high = p_norm(u, regularizer.conjugate_p) - largest + mu * u.size
    excess = min(max(excess, low), high)
    for _ in range(STEPS):
        logs = _log_weights(p, u, mu, excess)
        weights = np.exp(logs)
        powers = np.exp(p * logs)
        # Derivatives of log(theta) in log(nu) are minus powers / stiffness.
        stiffness = (p - 1.0) * u * weights + p * mu
        total, nu = float(powers.sum()), largest + excess
        if abs(total - 1.0) <= ACCURACY or high - low <= ACCURACY * low:
            break
        low, high = (excess, high) if total > 1.0 else (low, excess)
        # 1 / total is close to linear in nu.
        fall = p * float(np.sum(powers * powers / stiffness))
        new = excess + total * (total - 1.0) / fall
        excess = new if low < new < high else 0.5 * (low + high)
    # Of a feasible point near the maximum, the value is exact to second order.
    weights = weights / total ** (1.0 / p)
    return BarrierResponse(
        weights=weights,
        value=float(u @ weights + xlogy(mu, weights).sum()),
        excess=nu - largest,
        moves=weights * weights / stiffness,
        normal=powers / weights,
    )


def _log_weights(p: float, u: Array, mu: float, excess: float) -> Array:
    """Return log(theta) for nu theta^(p - 1) = u + mu / theta, nu = max(u) + excess.

    In logarithms both sides differ by an increasing concave function, so Newton's
    method goes up to the root from any point below it. The roots are at most zero.
    Differences to the largest u keep their digits, however small mu is.
    """
    largest = float(u.max())
    nu, short = largest + excess, largest - u
    logs = np.log(mu / (excess + short))
    if p == 1.0:
        return np.asarray(logs)
    with np.errstate(divide="ignore"):
        power = np.log(u / nu) / (p - 1.0)
    logs = np.maximum(np.maximum(logs, power), np.log(mu / nu) / p)
    for _ in range(STEPS):
        weights = np.exp(logs)
        rise = nu * np.expm1((p - 1.0) * logs) + excess + short
        size = u * weights + mu
        step = -np.log1p((weights * rise - mu) / size) / (p - u * weights / size)
        logs += step
        if float(np.abs(step).max()) <= ACCURACY:
            break
    return np.asarray(logs)
