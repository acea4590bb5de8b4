"""Compiled loops of SMO: working-set selection, the pair step, the gradient.

Everything is in terms of the dual variable rho itself, so no label multiplies a kernel
entry: minimise rho^T K rho / 2 + c(rho) in a box, with c piecewise linear with a kink
at zero, and the sum of rho fixed where there is an intercept. ``up`` and ``down`` hold
the one-sided slopes of c, infinite at the bounds, so f + up and f + down are the
one-sided derivatives of the objective and no branch is needed to tell who may move.
"""

import numpy as np
from numba import njit

from multikernel._typing import Array
from multikernel.machines.smo.types import (
    CONVERGED,
    INDEFINITE,
    LANES,
    MISSING,
    NEGATIVE,
    NOISE,
    STALLED,
    STEPS_DONE,
    TINY,
    Found,
    Outcome,
    Pair,
    Rows,
    Span,
    Variables,
)


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


@njit(cache=True, nogil=True, error_model="numpy")
def move_and_select(
    v: Variables, row_i: Array, row_j: Array, change: Pair, lanes: Array
) -> Found:
    """Add a pair's change to f, and in the same pass select the next first sample.

    Returns the sample with the smallest derivative upwards (-1 where nobody may move
    up), and that derivative.
    """
    delta_i, delta_j = change
    best = lanes[0]
    fill(best, -np.inf)
    for start in range(0, v.f.shape[0], LANES):
        end = start + LANES
        fs, ups = v.f[start:end], v.up[start:end]
        a, b = row_i[start:end], row_j[start:end]
        for k in range(fs.shape[0]):
            x = fs[k] + delta_i * a[k] + delta_j * b[k]
            fs[k] = x
            x = -(x + ups[k])
            best[k] = x if x > best[k] else best[k]
    where, low = -1, np.inf
    for k in range(peak(best), v.f.shape[0], LANES):
        x = v.f[k] + v.up[k]
        if x < low:
            where, low = k, x
    return where, low


@njit(inline="always", error_model="numpy")
def second_down(v: Variables, row: Array, i: int, low: float, lanes: Array) -> Found:
    """Return the partner of largest second-order gain, and the largest violation.

    WSS 2 of Fan, Chen and Lin (2005): moving i up and j down gains about
    violation^2 / (2 curvature) with curvature K_ii + K_jj - 2 K_ij.
    """
    best, top, slack = lanes[0], lanes[1], lanes[2]
    fill(best, 0.0)
    fill(top, -np.inf)
    own = v.diagonal[i]
    for start in range(0, v.f.shape[0], LANES):
        end = start + LANES
        fs, downs = v.f[start:end], v.down[start:end]
        ks, diagonal = row[start:end], v.diagonal[start:end]
        for k in range(fs.shape[0]):
            x = fs[k] + downs[k] - low
            top[k] = x if x > top[k] else top[k]
            slack[k] = x if x > 0.0 else 0.0
        for k in range(fs.shape[0]):
            curvature = own + diagonal[k] - 2.0 * ks[k]
            curvature = curvature if curvature > TINY else TINY
            gain = slack[k] * slack[k] / curvature
            best[k] = gain if gain > best[k] else best[k]
    where, most = -1, 0.0
    for k in range(peak(best), v.f.shape[0], LANES):
        x = v.f[k] + v.down[k] - low
        gain = x * x / max(own + v.diagonal[k] - 2.0 * row[k], TINY)
        if x > 0.0 and gain > most:
            where, most = k, gain
    return where, top[peak(top)]


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
    for place, jump in (near, far):
        if place >= limit or t + slope / curvature <= place:
            break
        slope -= curvature * (place - t) + jump
        t = place
        if slope <= 0.0:
            return t
    return min(t + slope / curvature, limit)


@njit(inline="always", error_model="numpy")
def reach(v: Variables, i: int, rises: bool) -> tuple[float, Pair]:
    """Return how far rho_i may move up, or down, and its kink (place, jump) that way.

    A kink at the bound is left out: the bound stops the move anyway.
    """
    rho = v.rho[i]
    room = v.upper[i] - rho if rises else rho - v.lower[i]
    place = -rho if rises else rho
    if 0.0 < place < room:
        return room, (place, v.right[i] - v.left[i])
    return room, (np.inf, 0.0)


@njit(inline="always", error_model="numpy")
def move(v: Variables, i: int, rises: bool, step: Pair) -> float:
    """Move rho_i by `step` = (length, room), set its slopes; return the change.

    A step that fills the room ends exactly at the bound: a sample that is a rounding
    away would count as free, and be chosen for steps of that size.
    """
    length, room = step
    old = v.rho[i]
    value = old + length if rises else old - length
    if length >= room:
        value = v.upper[i] if rises else v.lower[i]
    v.rho[i] = value
    up = v.left[i] if value < 0.0 else v.right[i]
    down = v.right[i] if value > 0.0 else v.left[i]
    v.up[i] = up if value < v.upper[i] else np.inf
    v.down[i] = down if value > v.lower[i] else -np.inf
    change: float = value - old
    return change


@njit(inline="always", error_model="numpy")
def step_pair(v: Variables, i: int, j: int, curvature: float) -> Pair:
    """Move i up and j down to the best point on that line; return both changes."""
    slope = (v.f[j] + v.down[j]) - (v.f[i] + v.up[i])
    room_i, kink_i = reach(v, i, True)
    room_j, kink_j = reach(v, j, False)
    t = line_minimum(slope, curvature, (kink_i, kink_j), min(room_i, room_j))
    return move(v, i, True, (t, room_i)), move(v, j, False, (t, room_j))


@njit(cache=True, nogil=True, error_model="numpy")
def solve_pairs(
    v: Variables, rows: Rows, lanes: Array, tol: float, span: Span
) -> Outcome:
    """Make pair steps, from `span[0]` to `span[1]`, until converged; keep sum(rho)."""
    step, last = span
    i, low = move_and_select(v, v.diagonal, v.diagonal, (0.0, 0.0), lanes)
    while True:
        if i < 0:
            return Outcome(CONVERGED, -1, step, 0.0)
        if rows.slot[i] < 0:
            return Outcome(MISSING, i, step, np.inf)
        row = rows.data[rows.slot[i]]
        rows.stamp[rows.slot[i]] = 2 * step + 1
        j, excess = second_down(v, row, i, low, lanes)
        if excess <= tol:
            return Outcome(CONVERGED, -1, step, max(excess, 0.0))
        if j < 0:  # NaN
            return Outcome(STALLED, -1, step, excess)
        if step >= last:
            return Outcome(STEPS_DONE, -1, step, excess)
        if rows.slot[j] < 0:
            return Outcome(MISSING, j, step, excess)
        rows.stamp[rows.slot[j]] = 2 * step + 1
        scale = v.diagonal[i] + v.diagonal[j]
        curvature = scale - 2.0 * row[j]
        if curvature < -NEGATIVE * abs(scale) - TINY:
            return Outcome(INDEFINITE, -1, step, excess)
        change_i, change_j = step_pair(v, i, j, max(curvature, NOISE * scale, TINY))
        if change_i == 0.0 and change_j == 0.0:
            return Outcome(STALLED, -1, step, excess)
        step += 1
        other = rows.data[rows.slot[j]]
        i, low = move_and_select(v, row, other, (change_i, change_j), lanes)
