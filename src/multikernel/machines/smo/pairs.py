"""Compiled loop of SMO with an intercept: pairs of samples move against each other."""

import numpy as np
from numba import njit

from multikernel._typing import Array, Indices
from multikernel.machines.smo.state import (
    CONVERGED,
    DIAGONAL,
    DOWN,
    INDEFINITE,
    LANES,
    MISSING,
    STALLED,
    STEPS_DONE,
    UP,
    F,
)
from multikernel.machines.smo.steps import (
    NEGATIVE,
    NOISE,
    TINY,
    Found,
    Pair,
    Result,
    fill,
    line_minimum,
    move,
    peak,
    reach,
)


@njit(cache=True, nogil=True, error_model="numpy")
def move_and_select(
    v: Array, row_i: Array, row_j: Array, change: Pair, lanes: Array
) -> Found:
    """Add a pair's change to f, and in the same pass select the next first sample.

    Returns the sample with the smallest derivative upwards (-1 where nobody may move
    up), and that derivative.
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
    where, low = -1, np.inf
    for k in range(peak(best), v.shape[1], LANES):
        x = v[F, k] + v[UP, k]
        if x < low:
            where, low = k, x
    return where, low


@njit(inline="always", error_model="numpy")
def second_down(v: Array, row: Array, i: int, low: float, lanes: Array) -> Found:
    """Return the partner of largest second-order gain, and the largest violation.

    WSS 2 of Fan, Chen and Lin (2005): moving i up and j down gains about
    violation^2 / (2 curvature) with curvature K_ii + K_jj - 2 K_ij.
    """
    best, top, slack = lanes[0], lanes[1], lanes[2]
    fill(best, 0.0)
    fill(top, -np.inf)
    own = v[DIAGONAL, i]
    for start in range(0, v.shape[1], LANES):
        end = start + LANES
        fs, downs = v[F, start:end], v[DOWN, start:end]
        ks, diagonal = row[start:end], v[DIAGONAL, start:end]
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
    for k in range(peak(best), v.shape[1], LANES):
        x = v[F, k] + v[DOWN, k] - low
        gain = x * x / max(own + v[DIAGONAL, k] - 2.0 * row[k], TINY)
        if x > 0.0 and gain > most:
            where, most = k, gain
    return where, top[peak(top)]


@njit(inline="always", error_model="numpy")
def step_pair(v: Array, i: int, j: int, curvature: float) -> Pair:
    """Move i up and j down to the best point on that line; return both changes."""
    slope = (v[F, j] + v[DOWN, j]) - (v[F, i] + v[UP, i])
    room_i, kink_i = reach(v, i, True)
    room_j, kink_j = reach(v, j, False)
    t = line_minimum(slope, curvature, (kink_i, kink_j), min(room_i, room_j))
    return move(v, i, True, (t, room_i)), move(v, j, False, (t, room_j))


@njit(cache=True, nogil=True, error_model="numpy")
def solve_pairs(  # noqa: PLR0913 - compiled code takes arrays, not objects
    v: Array,
    rows: Array,
    slot: Indices,
    stamp: Indices,
    lanes: Array,
    tol: float,
    first: int,
    last: int,
) -> Result:
    """Make pair steps, from `first` to `last`, until converged; keep sum(rho)."""
    step = first
    i, low = move_and_select(v, v[DIAGONAL], v[DIAGONAL], (0.0, 0.0), lanes)
    while True:
        if i < 0:
            return CONVERGED, -1, step, 0.0
        if slot[i] < 0:
            return MISSING, i, step, np.inf
        row = rows[slot[i]]
        stamp[slot[i]] = 2 * step + 1
        j, excess = second_down(v, row, i, low, lanes)
        if excess <= tol:
            return CONVERGED, -1, step, max(excess, 0.0)
        if j < 0:  # NaN
            return STALLED, -1, step, excess
        if step >= last:
            return STEPS_DONE, -1, step, excess
        if slot[j] < 0:
            return MISSING, j, step, excess
        stamp[slot[j]] = 2 * step + 1
        scale = v[DIAGONAL, i] + v[DIAGONAL, j]
        curvature = scale - 2.0 * row[j]
        if curvature < -NEGATIVE * abs(scale) - TINY:
            return INDEFINITE, -1, step, excess
        change_i, change_j = step_pair(v, i, j, max(curvature, NOISE * scale, TINY))
        if change_i == 0.0 and change_j == 0.0:
            return STALLED, -1, step, excess
        step += 1
        other = rows[slot[j]]
        i, low = move_and_select(v, row, other, (change_i, change_j), lanes)
