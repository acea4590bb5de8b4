"""The hinge loss of all classes (Crammer and Singer)."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from multikernel._typing import Array
from multikernel.losses.coupled.intercept import improved_intercept, smoothed_intercept
from multikernel.losses.coupled.simplex import SimplexDomain, class_weights, true_values

WARM = 0.003
"""Lowest temperature of the log-sum-exp, relative to the size of decision values. Its
minimum is the start of the linear program."""


@dataclass(frozen=True)
class CrammerSingerLoss(SimplexDomain):
    r"""Largest margin violation of a class, :math:`\max_c (1[c \ne y] + f_c - f_y)`.

    The loss of Crammer and Singer (2001), with which Zien and Ong (2007) combine
    kernels. The conjugate is :math:`p_y - 1` for class shares p in the simplex, with
    :math:`p = u` plus the one-hot target.
    """

    # Crammer, Singer (2001). On the algorithmic implementation of multiclass
    # kernel-based vector machines. JMLR 2, 265-292. Zien, Ong (2007). Multiclass
    # multiple kernel learning. ICML, 1191-1198.

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss of each row, shape (n_samples,)."""
        return np.asarray(np.max((1.0 - y) + (f - true_values(y, f)), axis=1))

    def gradient(self, y: Array, f: Array) -> Array:
        """Return p - y; p has equal shares for the classes of maximal loss, else 0."""
        # The shares of a row sum to one, and y is one-hot.
        rows = (1.0 - y) + f
        is_worst = (rows == rows.max(axis=1, keepdims=True)).astype(np.float64)
        return np.asarray(is_worst / is_worst.sum(axis=1, keepdims=True) - y)

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return p - 1, p the true class's entry of y + u; infinity if not feasible."""
        p, is_inside = self._masses_and_inside(y, u)
        return np.where(is_inside, true_values(y, p)[:, 0] - 1.0, np.inf)

    def corner_costs(self, y: Array) -> Array:
        """Return 0 at the vertex of the sample's class, and -1 at other vertices."""
        return y - 1.0

    def best_intercept(
        self, y: Array, f: Array, weights: Array | None = None
    ) -> tuple[Array, Array]:
        """Return each class's best constant by linear programs, and a dual point."""
        w, _ = class_weights(y, weights)
        size = 1.0 + float(np.abs(f - f.mean(axis=1, keepdims=True)).max())
        scores, b = (1.0 - y) + f, np.zeros(y.shape[1])
        for temperature in (1.0, 0.1, WARM):
            b, p = smoothed_intercept(y, scores, w, temperature * size, b)
        mass, window = w[:, None] * p, 5.0 * WARM * size
        for _ in range(50):
            b, mass, is_inside = improved_intercept(y, scores, w, b, window)
            if is_inside:
                break
            window *= 2.0
        return b - b.mean(), w[:, None] * y - mass

    def constant_model(
        self, y: Array, weights: Array | None = None
    ) -> tuple[Array, Array]:
        """Return each class's best constant without kernels, and a dual point."""
        # Before centering, the constant is 1 for a class with more than half of the
        # weight, else 0. The optimal dual points solve a transport problem between the
        # classes. The result is the optimal dual point of largest entropy.
        w, totals = class_weights(y, weights)
        b, flow = np.zeros(totals.size), transport_between_classes(totals)
        largest = int(np.argmax(totals))
        b[largest] = 1.0 if 2.0 * totals[largest] > totals.sum() else 0.0
        shares = y @ (flow / totals[:, None])
        return b - b.mean(), np.asarray(w[:, None] * (y - shares))


def transport_between_classes(totals: Array) -> Array:
    """Return a matrix with row and column sums `totals` and the smallest diagonal."""
    largest, total = int(np.argmax(totals)), float(totals.sum())
    is_other = np.arange(totals.size) != largest
    largest_total = float(totals[largest])
    if 2.0 * largest_total >= (1.0 - 1e-9) * total:
        flow = np.zeros((totals.size, totals.size))
        flow[largest, is_other] = flow[is_other, largest] = totals[is_other]
        flow[largest, largest] = 2.0 * largest_total - total
        return flow

    # No class has more than half of the total, so the diagonal can be zero. Among the
    # matrices with a zero diagonal, the one of largest entropy has the entries a_j a_k,
    # where a_k (S - a_k) = totals[k] for every class k and S = sum_k a_k.
    def factors(log_largest: float) -> Array:
        """Return the factors a_k of all classes, given log(a_k) for k = `largest`."""
        a = float(np.exp(log_largest))
        S = a + largest_total / a
        # The smaller root of a (S - a) = n, without cancellation.
        roots = 2.0 * totals / (S + np.sqrt(np.maximum(S * S - 4.0 * totals, 0.0)))
        roots[largest] = a
        return np.asarray(roots)

    def excess(log_largest: float) -> float:
        """Return (sum of the other classes' factors) / (S - a) - 1."""
        # a = exp(log_largest) is the factor of class `largest`, and S - a follows from
        # a (S - a) = `largest_total`. At the solution, S is the sum of all factors, so
        # the result is zero.
        sum_of_others = largest_total / float(np.exp(log_largest))
        return float(factors(log_largest)[is_other].sum()) / sum_of_others - 1.0

    middle = 0.5 * float(np.log(largest_total))
    a = factors(brentq(excess, middle - 30.0, middle + 30.0, xtol=1e-14))
    flow = np.outer(a, a)
    np.fill_diagonal(flow, 0.0)
    return np.asarray(flow)
