"""The state of an SMO run, and Newton steps on the free samples, without numba."""

from typing import NamedTuple

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.linalg.shifted import solve_shifted
from multikernel.machines.base import MOST_FACES

# In this order: rho; K rho (without the intercept); the slopes of the cost c to the
# right of rho (infinity at the upper bound) and to its left (minus infinity at the
# lower bound); the lower and upper bounds; the slopes of c for positive and for
# negative rho; diag(K).
RHO, F, UP, DOWN, LOWER, UPPER, RIGHT, LEFT, DIAGONAL = range(9)
"""Rows of the state, whose columns are samples; the first four change during a run."""

LOOPS = "multikernel.machines.smo.loops"

CHANGING = slice(RHO, LOWER)

# A minimum over a long array is one chain of dependent steps; the elementwise minimum
# of parts of this length is vectorized.
LANES = 64
"""Number of samples that are compared at once, and of the candidates that remain."""

CONVERGED, STEPS_DONE, STALLED, INDEFINITE = range(4)
"""Codes for the reasons why a loop ended."""


class Outcome(NamedTuple):
    """Result of a loop; another call with the same state continues the run."""

    code: int
    step: int
    violation: float
    """Largest violation of the optimality conditions; infinite before any step."""


def set_slopes(v: Array) -> None:
    """Set the rows UP and DOWN of the state v, one-sided slopes of the cost, at rho."""
    rho = v[RHO]
    up = np.where(rho < 0.0, v[LEFT], v[RIGHT])
    down = np.where(rho > 0.0, v[RIGHT], v[LEFT])
    v[UP] = np.where(rho < v[UPPER], up, np.inf)
    v[DOWN] = np.where(rho > v[LOWER], down, -np.inf)


def free_samples(v: Array) -> Indices:
    """Return the free samples, which are neither at a bound nor at the kink."""
    return np.flatnonzero(v[UP] == v[DOWN])


def minimize_on_face(v: Array, free: Indices, rows: Array, *, paired: bool) -> int:
    """Minimize the objective of module `loops` over the entries `free` of rho.

    Change the state v in place; return the number of linear systems solved. `rows` are
    the rows of K of the samples `free`; if `paired`, sum(rho) does not change.
    """
    # Pair steps are slow if kernels differ by many orders of magnitude, because the
    # largest kernel dominates the curvature of most pairs. With a ratio of 1e6 between
    # two kernels on 30 samples, they take millions of steps. One linear system over the
    # free samples contains the full curvature.
    start, old, is_free = v[F].copy(), v[RHO, free], np.ones(free.size, dtype=bool)
    n_systems = 0
    while n_systems < MOST_FACES:
        if np.count_nonzero(is_free) <= int(paired):
            break
        moving = free[is_free]
        K = np.ascontiguousarray(rows[np.ix_(is_free, moving)])
        n_systems += 1
        direction = _direction(K, v[F, moving] + v[UP, moving], paired=paired)
        if direction is None:
            break
        step, ends = _move(v, moving, direction)
        v[F, moving] += K @ (step * direction)
        is_free[is_free] = ~ends
        if not ends.any():
            break
    change = v[RHO, free] - old
    v[F] = start + change @ rows
    set_slopes(v)
    return n_systems


def _direction(K: Array, gradient: Array, *, paired: bool) -> Array | None:
    """Return the step to the face's minimum, of sum 0 if `paired`; None if it fails."""
    # The step is -K^-1 (gradient + b 1) with the multiplier b of the sum. The shift of
    # the diagonal exceeds the rounding errors of the factorization; a later step
    # corrects its effect.
    shift = np.full(gradient.size, 1e-14 * float(np.trace(K)))
    sides = np.column_stack([gradient, np.ones_like(gradient)])
    try:
        solved = solve_shifted(K, sides, shift, None)
    except np.linalg.LinAlgError:
        return None
    direction = -solved[:, 0]
    if paired:
        direction += solved[:, 1] * (solved[:, 0].sum() / solved[:, 1].sum())
        # The two terms of `direction` have opposite sums. If the system is nearly
        # singular, they are large, and the rounding error of their sum would accumulate
        # in sum(rho).
        direction -= direction.mean()
    prefers_descent = float(gradient @ direction) < 0.0
    return direction if prefers_descent else None


def _move(
    v: Array, free: Indices, direction: Array
) -> tuple[float, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Move rho along `direction` up to a bound; return step and ended samples."""
    # The step is at most 1, and ends at the first bound or kink; the mask marks the
    # samples there.
    rho = v[RHO, free]
    above = np.where(rho < 0.0, 0.0, v[UPPER, free])
    below = np.where(rho > 0.0, 0.0, v[LOWER, free])
    end = np.where(direction > 0.0, above, below)
    # If a direction is tiny, the distance to an end may overflow.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        room = np.where(direction == 0.0, np.inf, (end - rho) / direction)
    step = min(1.0, float(room.min()))
    ends = room <= step
    v[RHO, free] = np.where(ends, end, rho + step * direction)
    return step, ends
