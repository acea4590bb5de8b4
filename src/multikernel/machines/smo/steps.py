"""Compiled pieces that both loops of SMO share: the best step on a line, its limits.

Everything is in terms of the dual variable rho itself, so no label multiplies a kernel
entry: minimise rho^T K rho / 2 + c(rho) in a box, with c piecewise linear with a kink
at zero, and the sum of rho fixed where there is an intercept. The rows UP and DOWN of
the state hold the one-sided slopes of c, infinite at the bounds, so f + up and f + down
are the one-sided derivatives of the objective and no branch is needed to tell who may
move.

Compiled functions take and give numbers, arrays and tuples of them, nothing else:
building any other object runs Python code, where an interrupt may be raised that
compiled code does not survive.
"""

import numpy as np
from numba import njit

from multikernel._typing import Array
from multikernel.machines.smo.state import (
    DOWN,
    LANES,
    LEFT,
    LOWER,
    RHO,
    RIGHT,
    UP,
    UPPER,
)

TINY = 1e-200
NOISE = 1e-15  # curvature below this share of the diagonal is rounding
NEGATIVE = 1e-6  # and below minus this share it cannot be rounding, even of float32

Pair = tuple[float, float]
Found = tuple[int, float]
"""A sample, -1 for none, and a value that goes with it."""

Result = tuple[int, int, int, float]
"""The entries of `state.Outcome`."""


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
    for place, jump in (near, far):
        if place >= limit or t + slope / curvature <= place:
            break
        slope -= curvature * (place - t) + jump
        t = place
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
    place = -rho if rises else rho
    if 0.0 < place < room:
        return room, (place, v[RIGHT, i] - v[LEFT, i])
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
    v[RHO, i] = value
    up = v[LEFT, i] if value < 0.0 else v[RIGHT, i]
    down = v[RIGHT, i] if value > 0.0 else v[LEFT, i]
    v[UP, i] = up if value < v[UPPER, i] else np.inf
    v[DOWN, i] = down if value > v[LOWER, i] else -np.inf
    change: float = value - old
    return change
