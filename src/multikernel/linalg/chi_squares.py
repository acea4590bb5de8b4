"""Accurate upper tails of weighted sums of chi-squared variables."""

import numpy as np
from scipy.optimize import brentq

from multikernel._typing import Array

# A sum S of independent chi-squared variables with one degree of freedom, weighted by
# a_j, has the cumulant generating function K(s) = -1/2 sum_j log(1 - 2 a_j s), and
#
#     Pr(S > x) = 1 / (2 pi i) * integral of exp(K(s) - s x) / s ds
#
# along any path upwards that crosses the real axis between zero and the first branch
# point 1 / (2 max a_j). On the path of steepest descent through the saddle point (Rice
# 1980, Distribution of quadratic forms in normal random variables: evaluation by
# numerical integration, SIAM J. Sci. Stat. Comput. 1, doi:10.1137/0901032) nothing
# cancels, so even a tail of 1e-300 is accurate. Methods that integrate along the
# imaginary axis (Davies 1980, The distribution of a linear combination of chi-squared
# random variables, Applied Statistics 29, doi:10.2307/2346911) fail below about 1e-10.

# The largest relative error over 600 random sums is 5e-9 for equal weights, and below
# 2e-7 for weights of both signs.
NODES = 160
"""Number of points of the trapezoidal rule."""

REACH = 3.4
"""Upper end of the rule's variable v; Im s on the path grows as sinh(pi/2 sinh(v))."""


def chi_squares_tail(weights: Array, x: float) -> float:
    """Return the probability that a weighted sum of chi-squared variables exceeds x."""
    largest = np.abs(weights).max(initial=0.0)
    a = weights[np.abs(weights) > 1e-14 * largest] / (largest or 1.0)
    x = x / (largest or 1.0)
    if not a.size:
        return float(x < 0.0)
    is_below_mean = x < a.sum()
    tail = _upper_tail(-a, -x) if is_below_mean else _upper_tail(a, x)
    return 1.0 - tail if is_below_mean else tail


def _upper_tail(a: Array, x: float) -> float:
    """Return P(Y > x), Y = sum_k a[k] Z_k^2, Z_k standard normal, for x >= E[Y]."""
    if a.max() <= 0.0 and x >= 0.0:
        return 0.0
    saddle = _saddle(a, x)
    inner = 1.0 - 2.0 * a * saddle
    second, third = 2.0 * np.sum((a / inner) ** 2), 8.0 * np.sum((a / inner) ** 3)
    curvature = float(third / (6.0 * second))
    if curvature * x < 0.0:
        curvature = 0.0  # a straight path, because exp(-s x) grows along the curved one
    width = 1.0 / np.sqrt(second + saddle**-2)
    v = (np.arange(NODES) + 0.5) * (REACH / NODES)
    heights = width * np.sinh(0.5 * np.pi * np.sinh(v))
    slope = width * 0.5 * np.pi * np.cosh(v) * np.cosh(0.5 * np.pi * np.sinh(v))
    s = saddle + curvature * heights**2 + 1j * heights
    logs = -0.5 * np.log1p(-2.0 * np.multiply.outer(s, a)).sum(axis=1) - s * x
    terms = np.exp(logs) / s * (1j + 2.0 * curvature * heights) * slope
    tail = float(terms.imag.sum()) * (REACH / NODES) / np.pi
    return min(max(tail, 0.0), 1.0)


def _saddle(a: Array, x: float) -> float:
    """Return the s > 0 that minimizes E[exp(s Y - s x)] / s, Y = sum_k a[k] chi^2_k."""
    largest = a.max()

    def slope(s: float) -> float:
        return float(np.sum(a / (1.0 - 2.0 * a * s))) - x - 1.0 / s

    low = high = 0.25 / largest if largest > 0.0 else 1.0
    while slope(low) > 0.0:
        low *= 0.5
    while slope(high) < 0.0:
        high = 0.5 * (high + 0.5 / largest) if largest > 0.0 else 2.0 * high
    return float(brentq(slope, low, high, xtol=1e-12 * high, rtol=1e-10))
