"""Compiled loops of SMO, with an intercept and without: who makes the best step.

Everything is in terms of the dual variable rho itself, so no label multiplies a kernel
entry: minimise rho^T K rho / 2 + c(rho) in a box, with c piecewise linear with a kink
at zero, and the sum of rho fixed where there is an intercept. The rows UP and DOWN of
the state hold the one-sided slopes of c, infinite at the bounds, so f + up and f + down
are the one-sided derivatives of the objective and no branch is needed to tell who may
move.

Pairs of samples move against each other, as an intercept fixes the sum of rho. Without
one nobody ties them: then a sample also moves against nobody, a partner without bounds,
cost or kernel, whose derivative is zero.

Compiled functions take and give numbers, arrays and tuples of them, nothing else:
building any other object runs Python code, where an interrupt may be raised that
compiled code does not survive.
"""

import numpy as np
from numba import njit

from multikernel._typing import Array
from multikernel.linalg.jit import loop
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
"""A sample, and a value that goes with it."""

Result = tuple[int, int, float]
"""The entries of `state.Outcome`."""


@loop()
def write_pieces(signs: Array, costs: Array, sizes: Array, v: Array) -> bool:
    """Write bounds, and slopes of c, from the pieces of a loss, (n_pieces, n).

    Returns whether there is one piece at most on either side of zero.
    """
    for i in range(v.shape[1]):
        above, below = 0, 0
        for j in range(len(signs)):
            if signs[j, i] < 0.0:  # rho = -u
                above += 1
                v[UPPER, i], v[RIGHT, i] = sizes[j, i], costs[j, i]
            elif signs[j, i] > 0.0:
                below += 1
                v[LOWER, i], v[LEFT, i] = -sizes[j, i], -costs[j, i]
        if max(above, below) > 1:
            return False
        # A side that does not exist takes the slope of the other: no kink.
        if not v[UPPER, i] > 0.0:
            v[RIGHT, i] = v[LEFT, i]
        if not v[LOWER, i] < 0.0:
            v[LEFT, i] = v[RIGHT, i]
    return True


@njit(inline="always", error_model="numpy")
def set_rho(v: Array, i: int, value: float) -> None:
    """Set rho_i, and the one-sided slopes there."""
    v[RHO, i] = value
    up = v[LEFT, i] if value < 0.0 else v[RIGHT, i]
    down = v[RIGHT, i] if value > 0.0 else v[LEFT, i]
    v[UP, i] = up if value < v[UPPER, i] else np.inf
    v[DOWN, i] = down if value > v[LOWER, i] else -np.inf


@loop()
def write_slopes(v: Array) -> None:
    """Write the one-sided slopes at rho."""
    for i in range(v.shape[1]):
        set_rho(v, i, v[RHO, i])


@njit(inline="always", error_model="numpy")
def fill(lane: Array, value: float) -> None:
    """Set every entry."""
    for k in range(LANES):
        lane[k] = value


@njit(inline="always", error_model="numpy")
def peak(lane: Array) -> int:
    """Return where an array of LANES entries is largest."""
    where = 0
    for k in range(1, LANES):
        if lane[k] > lane[where]:
            where = k
    return where


@njit(inline="always", error_model="numpy")
def line_minimum(
    slope: float, curvature: float, kinks: tuple[Pair, Pair], limit: float
) -> float:
    """Return argmin over 0 <= t <= limit of a convex function, quadratic but for kinks.

    Its derivative is -slope + curvature t, and jumps up at each of the two `kinks`
    (place, jump).
    """
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


@njit(inline="always", error_model="numpy")
def reach(v: Array, i: int, rises: bool) -> tuple[float, Pair]:
    """Return how far rho_i may move up, or down, and its kink (place, jump) that way.

    A kink at the bound is left out: the bound stops the move anyway.
    """
    rho = v[RHO, i]
    room = v[UPPER, i] - rho if rises else rho - v[LOWER, i]
    position = -rho if rises else rho
    if 0.0 < position < room:
        return room, (position, v[RIGHT, i] - v[LEFT, i])
    return room, (np.inf, 0.0)


@njit(inline="always", error_model="numpy")
def move(v: Array, i: int, rises: bool, step: Pair) -> float:
    """Move rho_i by `step` = (length, room), set its slopes; return the change.

    A step that fills the room ends exactly at the bound, and one to the kink exactly
    there: a sample that is a rounding away would count as free, and be chosen for steps
    of that size.
    """
    length, room = step
    old = v[RHO, i]
    value = old + length if rises else old - length
    if length >= room:
        value = v[UPPER, i] if rises else v[LOWER, i]
    elif abs(value) <= NOISE * length:
        value = 0.0
    set_rho(v, i, value)
    change: float = value - old
    return change


@loop(error_model="numpy")
def move_and_select(
    v: Array, row_i: Array, row_j: Array, change: Pair, lanes: Array
) -> Found:
    """Add a pair's change to f, and in the same pass select the next first sample.

    Returns the sample with the smallest derivative upwards, NOBODY where none may move
    up, and that derivative.
    """
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
    for k in range(peak(best), v.shape[1], LANES):
        x = v[F, k] + v[UP, k]
        if x < low:
            where, low = k, x
    return where, low


@njit(inline="always", error_model="numpy")
def second_down(
    v: Array, row: Array, diagonal_i: float, low: float, lanes: Array, alone: bool
) -> Found:
    """Return the partner of largest second-order gain, and the largest violation.

    WSS 2 of Fan, Chen and Lin (2005): moving i up and j down gains about
    violation^2 / (2 curvature) with curvature K_ii + K_jj - 2 K_ij. The partner may be
    NOBODY where i may move `alone`.
    """
    best, top, slack = lanes[0], lanes[1], lanes[2]
    fill(best, 0.0)
    fill(top, -low if alone else -np.inf)
    for start in range(0, v.shape[1], LANES):
        end = start + LANES
        fs, downs = v[F, start:end], v[DOWN, start:end]
        ks, diagonal = row[start:end], v[DIAGONAL, start:end]
        for k in range(fs.shape[0]):
            x = fs[k] + downs[k] - low
            top[k] = x if x > top[k] else top[k]
            slack[k] = x if x > 0.0 else 0.0
        for k in range(fs.shape[0]):
            curvature = diagonal_i + diagonal[k] - 2.0 * ks[k]
            curvature = curvature if curvature > TINY else TINY
            gain = slack[k] * slack[k] / curvature
            best[k] = gain if gain > best[k] else best[k]
    where, most = NOBODY, low * low / max(diagonal_i, TINY) if alone else 0.0
    for k in range(peak(best), v.shape[1], LANES):
        x = v[F, k] + v[DOWN, k] - low
        gain = x * x / max(diagonal_i + v[DIAGONAL, k] - 2.0 * row[k], TINY)
        if x > 0.0 and gain > most:
            where, most = k, gain
    return where, top[peak(top)]


@njit(inline="always", error_model="numpy")
def step_pair(v: Array, i: int, j: int, curvature: float) -> Pair:
    """Move i up and j down to the best point on that line; return both changes."""
    slope, change_i, change_j = 0.0, 0.0, 0.0
    room_i, kink_i = np.inf, (np.inf, 0.0)
    room_j, kink_j = np.inf, (np.inf, 0.0)
    if i != NOBODY:
        slope -= v[F, i] + v[UP, i]
        room_i, kink_i = reach(v, i, True)
    if j != NOBODY:
        slope += v[F, j] + v[DOWN, j]
        room_j, kink_j = reach(v, j, False)
    t = line_minimum(slope, curvature, (kink_i, kink_j), min(room_i, room_j))
    if i != NOBODY:
        change_i = move(v, i, True, (t, room_i))
    if j != NOBODY:
        change_j = move(v, j, False, (t, room_j))
    return change_i, change_j


@njit(inline="always", error_model="numpy")
def row_of(K: Array, nothing: Array, i: int) -> Array:
    """Return the row of a sample, or of nobody."""
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
    """Make pair steps, from the first of a task to its last, until converged.

    They keep sum(rho) if `paired`. The rows of K, and `nothing`, the row of nobody, are
    read-only.
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
        if j == NOBODY and not alone:  # NaN
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
