"""Compiled loops of SMO without an intercept: no constraint ties the variables.

A step moves the sample of largest gain to its best value, then a second one together
with it, chosen by what it gains on top. That costs what a pair step costs.
"""

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
    RHO,
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
def move_and_select_free(
    v: Array, row_i: Array, row_j: Array, change: Pair, lanes: Array
) -> Found:
    """Add two samples' changes to f; return who gains most next, and the violation."""
    best, top, force = lanes[0], lanes[1], lanes[2]
    delta_i, delta_j = change
    fill(best, 0.0)
    fill(top, 0.0)
    for start in range(0, v.shape[1], LANES):
        stop = start + LANES
        fs, ups, downs = v[F, start:stop], v[UP, start:stop], v[DOWN, start:stop]
        a, b = row_i[start:stop], row_j[start:stop]
        diagonal = v[DIAGONAL, start:stop]
        for k in range(fs.shape[0]):
            fs[k] = fs[k] + delta_i * a[k] + delta_j * b[k]
        for k in range(fs.shape[0]):
            rise, fall = -(fs[k] + ups[k]), fs[k] + downs[k]
            x = rise if rise > fall else fall
            force[k] = x if x > 0.0 else 0.0
        for k in range(fs.shape[0]):
            x = force[k]
            top[k] = x if x > top[k] else top[k]
            gain = x * x / (diagonal[k] if diagonal[k] > TINY else TINY)
            best[k] = gain if gain > best[k] else best[k]
    where, most = -1, 0.0
    for k in range(peak(best), v.shape[1], LANES):
        x = max(-(v[F, k] + v[UP, k]), v[F, k] + v[DOWN, k], 0.0)
        gain = x * x / max(v[DIAGONAL, k], TINY)
        if gain > most:
            where, most = k, gain
    return where, top[peak(top)]


@njit(inline="always", error_model="numpy")
def second_free(v: Array, row: Array, i: int, change: float, lanes: Array) -> int:
    """Return who gains most once i has moved and goes on to move along, -1 for nobody.

    With i at its best value for every value of k, the curvature left for k is that of
    the Schur complement, K_kk - K_ik^2 / K_ii.
    """
    best, force = lanes[0], lanes[2]
    fill(best, 0.0)
    share = 1.0 / max(v[DIAGONAL, i], TINY)
    own = v[UP, i], v[DOWN, i]
    v[UP, i], v[DOWN, i] = np.inf, -np.inf  # i is no partner of its own
    for start in range(0, v.shape[1], LANES):
        stop = start + LANES
        fs, ups, downs = v[F, start:stop], v[UP, start:stop], v[DOWN, start:stop]
        ks, diagonal = row[start:stop], v[DIAGONAL, start:stop]
        for k in range(fs.shape[0]):
            x = fs[k] + change * ks[k]
            rise, fall = -(x + ups[k]), x + downs[k]
            x = rise if rise > fall else fall
            force[k] = x if x > 0.0 else 0.0
        for k in range(fs.shape[0]):
            left = diagonal[k] - share * ks[k] * ks[k]
            least = NOISE * diagonal[k] + TINY
            gain = force[k] * force[k] / (left if left > least else least)
            best[k] = gain if gain > best[k] else best[k]
    where, most = -1, 0.0
    for k in range(peak(best), v.shape[1], LANES):
        x = v[F, k] + change * row[k]
        x = max(-(x + v[UP, k]), x + v[DOWN, k], 0.0)
        left = v[DIAGONAL, k] - share * row[k] * row[k]
        gain = x * x / max(left, NOISE * v[DIAGONAL, k] + TINY)
        if gain > most:
            where, most = k, gain
    v[UP, i], v[DOWN, i] = own
    return where


@njit(inline="always", error_model="numpy")
def best_step(v: Array, i: int) -> tuple[bool, Pair]:
    """Return whether i should rise, and (length, room) of its best step alone."""
    rise, fall = -(v[F, i] + v[UP, i]), v[F, i] + v[DOWN, i]
    rises = rise > fall
    room, kink = reach(v, i, rises)
    slope, curvature = max(rise, fall), max(v[DIAGONAL, i], TINY)
    t = line_minimum(slope, curvature, (kink, (np.inf, 0.0)), room)
    return rises, (t, room)


@njit(inline="always", error_model="numpy")
def step_along(v: Array, i: int, j: int, coupling: float, change: float) -> float:
    """Move j, and i along with it where it is free; return the change of rho_j.

    `change` is the change of rho_i that f does not hold yet, and `coupling` is K_ij.
    """
    f = v[F, j] + change * coupling
    rise, fall = -(f + v[UP, j]), f + v[DOWN, j]
    rises = rise > fall
    rises_i = (coupling < 0.0) == rises
    # At a bound or a kink i has no zero derivative, and stays where it is.
    free = v[UP, i] == v[DOWN, i]
    share = abs(coupling) / max(v[DIAGONAL, i], TINY) if free else 0.0
    curvature = v[DIAGONAL, j] - share * abs(coupling)
    curvature = max(curvature, NOISE * v[DIAGONAL, j], TINY)
    (room_i, (place, jump)), (room_j, kink) = reach(v, i, rises_i), reach(v, j, rises)
    scale = max(share, TINY)
    limit = min(room_j, room_i / scale)
    kinks = (kink, (place / scale, jump * share))
    t = line_minimum(max(rise, fall), curvature, kinks, limit)
    if free:
        move(v, i, rises_i, (room_i if t >= room_i / scale else share * t, room_i))
    return move(v, j, rises, (t, room_j))


@njit(cache=True, nogil=True, error_model="numpy")
def solve_free(  # noqa: PLR0913 - compiled code takes arrays, not objects
    v: Array,
    rows: Array,
    slot: Indices,
    stamp: Indices,
    lanes: Array,
    tol: float,
    first: int,
    last: int,
) -> Result:
    """Make steps of two samples, from `first` to `last`, until converged."""
    step = first
    i, violation = move_and_select_free(v, v[DIAGONAL], v[DIAGONAL], (0.0, 0.0), lanes)
    while True:
        if violation <= tol:
            return CONVERGED, -1, step, violation
        if i < 0 or step >= last:  # nobody gains and it is not zero: NaN
            return STALLED if i < 0 else STEPS_DONE, -1, step, violation
        if slot[i] < 0:
            return MISSING, i, step, violation
        row, own = rows[slot[i]], v[DIAGONAL, i]
        stamp[slot[i]] = 2 * step + 1
        rises, best = best_step(v, i)
        alone = best[0] if rises else -best[0]
        j = second_free(v, row, i, alone, lanes)
        other = j if j >= 0 else i
        if slot[other] < 0:
            return MISSING, other, step, violation
        stamp[slot[other]] = 2 * step + 1
        coupling = row[other]
        if own < 0.0 or coupling**2 > (1.0 + NEGATIVE) * own * v[DIAGONAL, other]:
            return INDEFINITE, -1, step, violation
        old, change_j = v[RHO, i], 0.0
        alone = move(v, i, rises, best)
        if j >= 0:
            change_j = step_along(v, i, j, coupling, alone)
        change = v[RHO, i] - old
        if change == 0.0 and change_j == 0.0:
            return STALLED, -1, step, violation
        step += 1
        row_j = rows[slot[other]]
        i, violation = move_and_select_free(v, row, row_j, (change, change_j), lanes)
