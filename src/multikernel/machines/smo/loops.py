"""Compiled loops of SMO, with an intercept and without: who makes the best step.

Everything is in terms of the dual variable rho itself, so no label multiplies a kernel
entry: minimise rho^T K rho / 2 + c(rho) in a box, with c piecewise linear with a kink
at zero, and the sum of rho fixed where there is an intercept. The rows UP and DOWN of
the state hold the one-sided slopes of c, infinite at the bounds, so f + up and f + down
are the one-sided derivatives of the objective and no branch is needed to tell who may
move.

With an intercept pairs of samples move against each other. Without one no constraint
ties the variables: a step moves the sample of largest gain to its best value, then a
second one together with it, chosen by what it gains on top. That costs what a pair step
costs.

Compiled functions take and give numbers, arrays and tuples of them, nothing else:
building any other object runs Python code, where an interrupt may be raised that
compiled code does not survive.
"""

import numpy as np
from numba import njit

from multikernel._typing import Array, Indices
from multikernel.linalg.jit import loop
from multikernel.machines.smo.state import (
    CONVERGED,
    DIAGONAL,
    DOWN,
    INDEFINITE,
    LANES,
    LEFT,
    LOWER,
    MISSING,
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
NEGATIVE = 1e-6  # and below minus this share it cannot be rounding, even of float32

Pair = tuple[float, float]
Found = tuple[int, float]
"""A sample, -1 for none, and a value that goes with it."""

Result = tuple[int, int, int, float]
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
    diagonal_i = v[DIAGONAL, i]
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
    where, most = -1, 0.0
    for k in range(peak(best), v.shape[1], LANES):
        x = v[F, k] + v[DOWN, k] - low
        gain = x * x / max(diagonal_i + v[DIAGONAL, k] - 2.0 * row[k], TINY)
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


@loop(error_model="numpy")
def solve_pairs(  # noqa: PLR0913 - compiled code takes arrays, not objects
    v: Array,
    diagonal: Array,
    rows: Array,
    slot: Indices,
    stamp: Indices,
    lanes: Array,
    tol: float,
    task: tuple[int, int],
) -> Result:
    """Make pair steps, from the first of a task to its last, until converged.

    They keep sum(rho). The `diagonal` of the matrix is read-only, as rows are.
    """
    step, last = task
    i, low = move_and_select(v, diagonal, diagonal, (0.0, 0.0), lanes)
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


@loop(error_model="numpy")
def move_and_select_free(
    v: Array, row_i: Array, row_j: Array, change: Pair, lanes: Array
) -> Found:
    """Add two samples' changes to f; return who gains most next, and the violation.

    This is the loop without an intercept: no constraint ties the samples.
    """
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

    With i at its best value for every value of k, the curvature left for k is the Schur
    complement, K_kk - K_ik^2 / K_ii.
    """
    best, force = lanes[0], lanes[2]
    fill(best, 0.0)
    share = 1.0 / max(v[DIAGONAL, i], TINY)
    room_of_i = v[UP, i], v[DOWN, i]
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
            curvature = diagonal[k] - share * ks[k] * ks[k]
            least = NOISE * diagonal[k] + TINY
            gain = force[k] * force[k] / (curvature if curvature > least else least)
            best[k] = gain if gain > best[k] else best[k]
    where, most = -1, 0.0
    for k in range(peak(best), v.shape[1], LANES):
        x = v[F, k] + change * row[k]
        x = max(-(x + v[UP, k]), x + v[DOWN, k], 0.0)
        curvature = v[DIAGONAL, k] - share * row[k] * row[k]
        gain = x * x / max(curvature, NOISE * v[DIAGONAL, k] + TINY)
        if gain > most:
            where, most = k, gain
    v[UP, i], v[DOWN, i] = room_of_i
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
    (room_i, (position, jump)), (room_j, kink) = (
        reach(v, i, rises_i),
        reach(v, j, rises),
    )
    scale = max(share, TINY)
    limit = min(room_j, room_i / scale)
    kinks = (kink, (position / scale, jump * share))
    t = line_minimum(max(rise, fall), curvature, kinks, limit)
    if free:
        move(v, i, rises_i, (room_i if t >= room_i / scale else share * t, room_i))
    return move(v, j, rises, (t, room_j))


@loop(error_model="numpy")
def solve_free(  # noqa: PLR0913 - compiled code takes arrays, not objects
    v: Array,
    diagonal: Array,
    rows: Array,
    slot: Indices,
    stamp: Indices,
    lanes: Array,
    tol: float,
    task: tuple[int, int],
) -> Result:
    """Make steps of two samples, from the first of a task to its last."""
    step, last = task
    i, violation = move_and_select_free(v, diagonal, diagonal, (0.0, 0.0), lanes)
    while True:
        if violation <= tol:
            return CONVERGED, -1, step, violation
        if i < 0 or step >= last:  # nobody gains and it is not zero: NaN
            return STALLED if i < 0 else STEPS_DONE, -1, step, violation
        if slot[i] < 0:
            return MISSING, i, step, violation
        row, diagonal_i = rows[slot[i]], v[DIAGONAL, i]
        stamp[slot[i]] = 2 * step + 1
        rises, best = best_step(v, i)
        alone = best[0] if rises else -best[0]
        j = second_free(v, row, i, alone, lanes)
        other = j if j >= 0 else i
        if slot[other] < 0:
            return MISSING, other, step, violation
        stamp[slot[other]] = 2 * step + 1
        coupling = row[other]
        if (
            diagonal_i < 0.0
            or coupling**2 > (1.0 + NEGATIVE) * diagonal_i * v[DIAGONAL, other]
        ):
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
