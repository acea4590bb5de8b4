"""Compiled loops of SMO, with and without an intercept: choice of the best step.

SMO minimizes rho^T K rho / 2 + c(rho) in a box over the dual variable rho, where c is
piecewise linear with a kink at zero. The rows UP and DOWN of the state are one-sided
slopes of c, infinite at bounds, so f + up and f + down with f = K rho are one-sided
derivatives of the objective. With an intercept, pairs of samples move, which keeps the
sum of rho. Without an intercept, a sample may also move alone: its partner is then
NOBODY, which has no bounds, cost or kernel values.
"""

import numpy as np

from multikernel._typing import Array
from multikernel.linalg.jit import loop, part
from multikernel.machines.smo.state import (
    CONVERGED,
    DIAGONAL,
    DOWN,
    INDEFINITE,
    LANES,
    LEFT,
    LOWER,
    RHO,
    RIGHT,
    STALLED,
    STEPS_DONE,
    UP,
    UPPER,
    F,
)

TINY = 1e-200
NOISE = 1e-15  # curvature below this share of the diagonal is rounding

NOBODY = -1

Pair = tuple[float, float]
Found = tuple[int, float]
"""A sample (or NOBODY), and the derivative or the violation that selected it."""

Result = tuple[int, int, float]
"""The code, the number of steps and the violation, as in `state.Outcome`."""


@part(error_model="numpy")
def set_rho(v: Array, i: int, value: float) -> None:
    """Set the dual variable of sample i in the state v, and the slopes of its cost."""
    v[RHO, i] = value
    up = v[LEFT, i] if value < 0.0 else v[RIGHT, i]
    down = v[RIGHT, i] if value > 0.0 else v[LEFT, i]
    v[UP, i] = up if value < v[UPPER, i] else np.inf
    v[DOWN, i] = down if value > v[LOWER, i] else -np.inf


@part(error_model="numpy")
def fill(lane: Array, value: float) -> None:
    """Set all LANES entries of an array to a value."""
    for k in range(LANES):
        lane[k] = value


@part(error_model="numpy")
def index_of_largest(lane: Array) -> int:
    """Return the index of the largest entry of an array of LANES entries."""
    where = 0
    for k in range(1, LANES):
        if lane[k] > lane[where]:
            where = k
    return where


@part(error_model="numpy")
def line_minimum(
    slope: float, curvature: float, kinks: tuple[Pair, Pair], limit: float
) -> float:
    """Return the t in [0, limit] that minimizes a quadratic function with two kinks."""
    # `slope` must be positive. The derivative is -slope + curvature t, plus the jump of
    # each kink below t. The two `kinks` are pairs (position, jump).
    near, far = kinks
    if far[0] < near[0]:
        near, far = far, near
    t = 0.0
    for kink, jump in (near, far):
        if kink >= limit or t + slope / curvature <= kink:
            break
        slope -= curvature * (kink - t) + jump
        t = kink
        if slope <= 0.0:
            return t
    return min(t + slope / curvature, limit)


@part(error_model="numpy")
def reach(v: Array, i: int, sign: float) -> tuple[float, Pair]:
    """Return how far rho_i can move in direction `sign`, and a kink on the way."""
    if i == NOBODY:
        return np.inf, (np.inf, 0.0)
    bound = v[UPPER, i] if sign > 0.0 else v[LOWER, i]
    room, position = sign * (bound - v[RHO, i]), -sign * v[RHO, i]
    # The kink of the cost is (distance, jump of the slope), or (infinity, 0) if the
    # bound is nearer. A kink at the bound is omitted, because the bound stops the move.
    if 0.0 < position < room:
        return room, (position, v[RIGHT, i] - v[LEFT, i])
    return room, (np.inf, 0.0)


@part(error_model="numpy")
def move(v: Array, i: int, sign: float, length: float, room: float) -> float:
    """Move rho_i by `length`, at most to its bound; return the signed change."""
    # `sign` is 1.0 for up and -1.0 for down; `room` is the distance to the bound.
    if i == NOBODY:
        return 0.0
    old = v[RHO, i]
    value = old + sign * length
    # Steps to the bound or to the kink end there exactly. Otherwise, a sample at a
    # rounding error from them would count as free, and be chosen for tiny steps.
    if length >= room:
        value = v[UPPER, i] if sign > 0.0 else v[LOWER, i]
    elif abs(value) <= NOISE * length:
        value = 0.0
    set_rho(v, i, value)
    change: float = value - old
    return change


@part(error_model="numpy")
def move_and_select(
    v: Array, row_i: Array, row_j: Array, change: Pair, lanes: Array
) -> Found:
    """Update f, a row of the state `v`; select the first sample of the next pair."""
    # f changes because `change` is added to rho_i and rho_j; `row_i` and `row_j` are
    # rows of K. One pass over the samples updates f and finds LANES candidates, with
    # the working memory `lanes`. The selected sample is the one whose increase has the
    # smallest directional derivative, which is returned too; the sample is NOBODY if no
    # sample may increase.
    delta_i, delta_j = change
    best = lanes[0]
    fill(best, -np.inf)
    for start in range(0, v.shape[1], LANES):
        end = start + LANES
        fs, ups = v[F, start:end], v[UP, start:end]
        a, b = row_i[start:end], row_j[start:end]
        for k in range(fs.shape[0]):
            x = fs[k] + delta_i * a[k] + delta_j * b[k]
            fs[k] = x
            x = -(x + ups[k])
            best[k] = x if x > best[k] else best[k]
    where, low = NOBODY, np.inf
    for k in range(index_of_largest(best), v.shape[1], LANES):
        x = v[F, k] + v[UP, k]
        if x < low:
            where, low = k, x
    return where, low


@part(error_model="numpy")
def second_down(
    v: Array, row: Array, diagonal_i: float, low: float, lanes: Array, alone: bool
) -> Found:
    """Return the best partner of a sample i, and the largest violation.

    `row` is row i of K, `diagonal_i` is K_ii, and `low` the derivative for an increase
    of rho_i. If `alone`, rho_i may change alone: the partner is NOBODY if no pair gains
    more. `lanes` is working memory.
    """
    # WSS 2 of Fan, Chen and Lin (2005): moving the first sample i up and a partner j
    # down gains about violation^2 / (2 curvature) with curvature K_ii + K_jj - 2 K_ij.
    best, top = lanes[0], lanes[1]
    fill(best, 0.0)
    fill(top, -low if alone else -np.inf)
    for start in range(0, v.shape[1], LANES):
        end = start + LANES
        fs, downs = v[F, start:end], v[DOWN, start:end]
        ks, diagonal = row[start:end], v[DIAGONAL, start:end]
        for k in range(fs.shape[0]):
            x = fs[k] + downs[k] - low
            top[k] = x if x > top[k] else top[k]
            slack = x if x > 0.0 else 0.0
            curvature = diagonal_i + diagonal[k] - 2.0 * ks[k]
            curvature = curvature if curvature > TINY else TINY
            gain = slack * slack / curvature
            best[k] = gain if gain > best[k] else best[k]
    where, most = NOBODY, low * low / max(diagonal_i, TINY) if alone else 0.0
    for k in range(index_of_largest(best), v.shape[1], LANES):
        x = v[F, k] + v[DOWN, k] - low
        gain = x * x / max(diagonal_i + v[DIAGONAL, k] - 2.0 * row[k], TINY)
        if x > 0.0 and gain > most:
            where, most = k, gain
    return where, top[index_of_largest(top)]


@part(error_model="numpy")
def step_pair(v: Array, i: int, j: int, curvature: float) -> Pair:
    """Raise sample i's and lower sample j's dual variable; return the changes."""
    slope = 0.0
    if i != NOBODY:
        slope -= v[F, i] + v[UP, i]
    if j != NOBODY:
        slope += v[F, j] + v[DOWN, j]
    room_i, kink_i = reach(v, i, 1.0)
    room_j, kink_j = reach(v, j, -1.0)
    t = line_minimum(slope, curvature, (kink_i, kink_j), min(room_i, room_j))
    return move(v, i, 1.0, t, room_i), move(v, j, -1.0, t, room_j)


@part(error_model="numpy")
def row_of(K: Array, nothing: Array, i: int) -> Array:
    """Return row i of the matrix K, or `nothing` for the sample NOBODY."""
    row: Array = nothing
    if i != NOBODY:
        row = K[i]
    return row


@loop(error_model="numpy")
def solve_pairs(  # noqa: PLR0913 - compiled code takes arrays, not objects
    v: Array,
    K: Array,
    nothing: Array,
    lanes: Array,
    tol: float,
    paired: bool,
    task: tuple[int, int],
) -> Result:
    """Make steps until no violation of the optimality conditions exceeds `tol`.

    If `paired`, each step changes two entries of rho and keeps their sum. `task`
    contains the number of steps made so far, and the number of steps at which to
    return. `nothing` replaces a row of K if a step has no first or second sample
    (NOBODY). K and `nothing` are read-only; `lanes` is workspace for comparisons of
    LANES samples at once.
    """
    step, last = task
    i, low = move_and_select(v, nothing, nothing, (0.0, 0.0), lanes)
    while True:
        if not paired and not low < 0.0:
            i, low = NOBODY, 0.0
        if paired and i == NOBODY:
            return CONVERGED, step, 0.0
        row, alone = row_of(K, nothing, i), not paired and i != NOBODY
        diagonal_i = 0.0 if i == NOBODY else v[DIAGONAL, i]
        j, excess = second_down(v, row, diagonal_i, low, lanes, alone)
        if excess <= tol:
            return CONVERGED, step, max(excess, 0.0)
        if j == NOBODY and not alone:  # derivatives are NaN
            return STALLED, step, excess
        if step >= last:
            return STEPS_DONE, step, excess
        scale, coupling = diagonal_i, 0.0
        if j != NOBODY:
            scale, coupling = diagonal_i + v[DIAGONAL, j], row[j]
        curvature = scale - 2.0 * coupling
        if curvature < -1e-6 * abs(scale) - TINY:
            return INDEFINITE, step, excess
        change = step_pair(v, i, j, max(curvature, NOISE * scale, TINY))
        if change[0] == 0.0 and change[1] == 0.0:
            return STALLED, step, excess
        step += 1
        i, low = move_and_select(v, row, row_of(K, nothing, j), change, lanes)
