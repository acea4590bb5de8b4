"""Intercepts of all classes: by Newton's method, or by linear programs."""

from functools import partial

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array
from scipy.special import logsumexp

from multikernel._typing import Array, Indices
from multikernel.linalg.threads import aside
from multikernel.losses.coupled.simplex import true_values

NEWTON_STEPS, HALVINGS = 50, 40
"""Maximum numbers of Newton steps and of step halvings."""

PIVOTS = 20
"""Maximum number of HiGHS iterations per row and column of a linear program."""


def smoothed_intercept(
    y: Array, scores: Array, weights: Array, temperature: float, start: Array
) -> tuple[Array, Array]:
    """Return the class constants of least smoothed loss, and class probabilities.

    The constants b, (n_classes,), have mean zero; the probabilities at the constants
    have shape (n_samples, n_classes). Newton's method starts at the constants `start`.
    """
    # min_b sum_i w_i (t log sum_c exp((s_ic + b_c) / t) - (s_iy + b_y)) with the
    # temperature t, the scores s, the sample weights w and each sample's class y.
    total = float(weights.sum())
    shares = weights @ y

    def evaluate(b: Array) -> tuple[float, Array]:
        """Return the objective and the probabilities."""
        rows = (scores + b) / temperature
        row_sums = logsumexp(rows, axis=1, keepdims=True)
        value = temperature * float(weights @ (row_sums - true_values(y, rows))[:, 0])
        return value, np.exp(rows - row_sums)

    b = start
    value, p = evaluate(b)
    for _ in range(NEWTON_STEPS):
        mass = weights @ p
        gradient = mass - shares
        excess = float(np.abs(gradient).sum())
        if excess <= 1e-13 * total:
            break
        hessian = (np.diag(mass) - (weights[:, None] * p).T @ p) / temperature
        # The pseudoinverse ignores directions that are flat up to rounding.
        step = -np.linalg.pinv(hessian, rcond=1e-14 * b.size, hermitian=True) @ gradient
        slope = float(step @ gradient)
        length = 1.0
        for _ in range(HALVINGS):
            new_value, new_p = evaluate(b + length * step)
            # Near the minimum, changes of the value are rounding, so the gradient (its
            # absolute sum is `excess`) decides.
            distance = float(np.abs(weights @ new_p - shares).sum())
            is_flat = abs(new_value - value) <= 1e-12 * (total + abs(value))
            decreases = new_value <= value + 1e-4 * length * slope
            if decreases or (is_flat and distance < 0.5 * excess):
                break
            length *= 0.5
        else:
            break  # value and excess do not decrease beyond rounding
        b, value, p = b + length * step, new_value, new_p
    return b - b.mean(), p


def improved_intercept(
    y: Array, scores: Array, weights: Array, b: Array, window: float
) -> tuple[Array, Array, bool]:
    """Minimize the hinge loss over class constants near b by a linear program.

    Return constants with at most the loss of b, a subgradient in the scores s of
    sum_i w_i max_c (s_ic + b_c), (n_samples, n_classes), and whether all constants
    changed by less than the limit, half of `window`.
    """
    # The loss is sum_i w_i (max_c (s_ic + b_c) - (s_iy + b_y)), with the notation of
    # `smoothed_intercept`. Because constants change by at most half of `window`, the
    # linear program needs only classes within the window of the largest.
    rows = scores + b
    below = rows - rows.max(axis=1, keepdims=True)
    is_near = below >= -window
    tied = is_near.sum(axis=1) > 1
    mass = np.where(is_near & ~tied[:, None], weights[:, None], 0.0)
    sample, label = np.nonzero(is_near & tied[:, None])
    position = np.cumsum(tied)[sample] - 1
    # The variables of the linear program are the change of the largest entry of
    # scores + b for each sample with several classes in the window (`tied`), and then
    # the changes of all constants. For such a sample i and a class c in its window, the
    # change of b_c minus the largest entry's change is at most -below[i, c].
    costs = np.concatenate([weights[tied], mass.sum(axis=0) - weights @ y])
    matrix = _incidence(position, int(tied.sum()) + label, costs.size)
    unbounded: tuple[float | None, float | None] = (None, None)
    # The last constant is fixed, because a common constant changes nothing.
    limits = [unbounded] * int(tied.sum())
    limits += [(-0.5 * window, 0.5 * window)] * (b.size - 1)
    rhs = -below[sample, label]
    program = partial(
        linprog,
        *(costs, matrix, rhs),
        bounds=[*limits, (0.0, 0.0)],
        options={"maxiter": PIVOTS * sum(matrix.shape)},
    )
    result = aside(program)
    # At the iteration limit, b is returned unchanged; the duality gap stays valid.
    if result.x is None:
        return b, mass, True
    change = result.x[-b.size :]
    mass[sample, label] = -result.ineqlin.marginals
    is_inside = bool(np.abs(change).max() < (0.5 - 1e-6) * window)

    def value(b: Array) -> float:
        """Return the loss at the constants b."""
        margins = (scores + b).max(axis=1) - true_values(y, scores + b)[:, 0]
        return float(weights @ margins)

    is_better = value(b + change) <= value(b)
    return (b + change if is_better else b), mass, is_inside


def _incidence(minus: Indices, plus: Indices, width: int) -> csr_array:
    """Return a sparse matrix whose rows have one -1 and one +1."""
    rows, ones = np.tile(np.arange(minus.size), 2), np.ones(minus.size)
    entries = np.concatenate([-ones, ones]), (rows, np.concatenate([minus, plus]))
    return coo_array(entries, shape=(minus.size, width)).tocsr()
