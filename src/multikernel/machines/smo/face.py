"""Newton steps of SMO on the samples that are free to move, the others held.

A pair step sees two samples. Where kernels differ by many orders of magnitude the
curvature of most pairs is that of the largest kernel, and pairs creep through the rest:
at a ratio of 1e6 between two kernels on 30 samples, millions of steps. One linear
system over the free samples has the whole curvature.
"""

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.linalg.shifted import solve_shifted
from multikernel.machines.smo.state import DOWN, LOWER, RHO, UP, UPPER, F, set_slopes

SHIFT = 1e-14
"""Added to the diagonal of the system, over its trace: above the rounding of its
factorisation, and small enough that a second step makes up for it."""

MOST_FACES = 10
"""Linear systems of one call at most. Where a step meets a bound, the sample there is
fixed and a system without it follows."""


def free_samples(v: Array) -> Indices:
    """Return who is inside a piece of c: neither at a bound nor at the kink."""
    return np.flatnonzero(v[UP] == v[DOWN])


def minimise_on_face(v: Array, free: Indices, rows: Array, paired: bool) -> int:
    """Move the free samples to the best point of their face, or to its boundary.

    `rows`, of shape (n_free, n_active), are theirs of K; where samples are paired, the
    sum of rho is fixed. Returns how many linear systems were solved.
    """
    start, old, inside = v[F].copy(), v[RHO, free], np.ones(free.size, dtype=bool)
    systems = 0
    while systems < MOST_FACES:
        if np.count_nonzero(inside) <= int(paired):
            break
        now = free[inside]
        K = np.ascontiguousarray(rows[np.ix_(inside, now)])
        systems += 1
        direction = _direction(K, v[F, now] + v[UP, now], paired)
        if direction is None:
            break
        step, ends = _move(v, now, direction)
        v[F, now] += K @ (step * direction)
        inside[inside] = ~ends
        if not ends.any():
            break
    change = v[RHO, free] - old
    v[F] = start + change @ rows
    set_slopes(v)
    return systems


def _direction(K: Array, gradient: Array, paired: bool) -> Array | None:
    """Return the way to the minimum on the face, None if rounding leaves no descent."""
    shift = np.full(gradient.size, SHIFT * float(np.trace(K)))
    sides = np.column_stack([gradient, np.ones_like(gradient)])
    try:
        solved = solve_shifted(K, sides, shift, None)
    except np.linalg.LinAlgError:
        return None
    direction = -solved[:, 0]
    if paired:
        direction += solved[:, 1] * (solved[:, 0].sum() / solved[:, 1].sum())
        # Where the system is nearly singular these are large numbers that cancel, and
        # what is left of their sum would add up in rho.
        direction -= direction.mean()
    descends = float(gradient @ direction) < 0.0
    return direction if descends else None


def _move(
    v: Array, free: Indices, direction: Array
) -> tuple[float, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Move along a direction as far as a bound or kink; return how far, and who ends.

    A step along the whole direction ends nobody.
    """
    rho = v[RHO, free]
    above = np.where(rho < 0.0, 0.0, v[UPPER, free])
    below = np.where(rho > 0.0, 0.0, v[LOWER, free])
    end = np.where(direction > 0.0, above, below)
    # Where a direction is tiny, an end may be farther away than numbers go.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        room = np.where(direction == 0.0, np.inf, (end - rho) / direction)
    step = min(1.0, float(room.min()))
    ends = room <= step
    v[RHO, free] = np.where(ends, end, rho + step * direction)
    return step, ends
