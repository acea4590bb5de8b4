"""The state of an SMO run, who is set aside, and Newton steps on who is free to move.

One array holds a row for each quantity, RHO to DIAGONAL below, and a column for each
sample, so that compiled loops get plain arrays. Importing this does not load numba.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.matrix import GramMatrix
from multikernel.linalg.shifted import solve_shifted
from multikernel.linalg.threads import compiled
from multikernel.machines.base import MOST_FACES, support_product
from multikernel.machines.smo.rows import FETCH, RowSource

RHO, F, UP, DOWN, LOWER, UPPER, RIGHT, LEFT, DIAGONAL = range(9)
"""Rows of the state, for every sample: rho and its image K rho (without the intercept);
the slopes of c to the right of rho (infinity at the upper bound) and to its left (minus
infinity at the lower one); the bounds; the slopes of c on the positive side and on the
negative one; the diagonal of K. The first four change."""

LOOPS = "multikernel.machines.smo.loops"

CHANGING = slice(RHO, LOWER)

LANES = 64
"""Samples of a block. A minimum over a long array is one chain of dependent steps; the
elementwise minimum of blocks is vectorised, and leaves this many candidates."""

CONVERGED, STEPS_DONE, MISSING, STALLED, INDEFINITE = range(5)
"""Why a loop returned."""


class Outcome(NamedTuple):
    """What a loop hands back; calling it again goes on from there."""

    code: int
    missing: int
    """The sample whose row is needed, for the code MISSING."""
    step: int
    violation: float
    """The largest violation of the optimality conditions, infinity if not known."""


def set_slopes(v: Array) -> None:
    """Set the one-sided slopes of a state to those at its rho."""
    compiled(LOOPS, "write_slopes")(v)


@dataclass(eq=False)
class SMOState:
    """Variables of all samples, and of the samples in play.

    Parameters
    ----------
    gram : GramMatrix
        The matrix over all samples.
    whole : ndarray of shape (9, n_samples)
        All samples. What `v` holds is newer for the samples in play.
    v : ndarray of shape (9, n_active)
        The samples in play, `whole` itself where nobody is set aside.
    source : RowSource
        Rows over the samples in play.
    active : ndarray of shape (n_active,)
        Indices of the samples in play.
    aside : list of tuple
        For every time that samples were set aside: which, and rho at that time.
    """

    gram: GramMatrix
    whole: Array
    v: Array
    source: RowSource
    active: Indices
    aside: list[tuple[Indices, Array]] = field(default_factory=list)

    def thresholds(self, outcome: Outcome, *, paired: bool) -> tuple[float, float]:
        """Return (low, high): who cannot move up below high or down above low waits.

        In pairs a sample violates the optimality conditions against the best partner,
        alone against zero, give or take the present violation.
        """
        if not paired:
            return -outcome.violation, outcome.violation
        v = self.v
        return float(np.min(v[F] + v[UP])), float(np.max(v[F] + v[DOWN]))

    def shrink(self, low: float, high: float) -> None:
        """Set aside the samples at a bound or kink that no step would choose now."""
        v = self.v
        waits = (v[F] + v[UP] > high) & (v[F] + v[DOWN] < low)
        keep = np.flatnonzero(~waits)
        source = self.source.narrowed(keep) if keep.size < waits.size else None
        if source is None:
            return
        self._write_back()
        self.aside.append((self.active[waits], self.whole[RHO].copy()))
        self.active, self.source = self.active[keep], source
        self.v = np.ascontiguousarray(v[:, keep])

    def widen(self) -> None:
        """Bring all samples back into play, with their decision values up to date."""
        if not self.aside:
            return
        self._write_back()
        for dropped, rho in self.aside:
            moved = support_product(self.gram, self.whole[RHO] - rho)
            self.whole[F, dropped] += moved[dropped]
        self.aside.clear()
        self.v, self.source = self.whole, self.source.widened()
        self.active = np.arange(self.whole[RHO].size)

    def fetch(self, outcome: Outcome, *, paired: bool) -> None:
        """Fetch the row that is missing, and those that are likely to be next."""
        low, high = self.thresholds(outcome, paired=paired) if paired else (0.0, 0.0)
        v = self.v
        violation = np.maximum(high - (v[F] + v[UP]), v[F] + v[DOWN] - low)
        violation[self.source.rows.slot >= 0] = -np.inf
        violation[outcome.missing] = np.inf
        count = min(FETCH, violation.size)
        worst = np.argpartition(-violation, count - 1)[:count]
        worst = worst[np.argsort(-violation[worst])]
        self.source.fetch(worst[violation[worst] > 0.0], outcome.step)

    def _write_back(self) -> None:
        if self.aside:
            self.whole[CHANGING, self.active] = self.v[CHANGING]


SHIFT = 1e-14
"""Added to the diagonal of the system, over its trace: above the rounding of its
factorisation, and small enough that a second step makes up for it."""


def free_samples(v: Array) -> Indices:
    """Return who is inside a piece of c: neither at a bound nor at the kink."""
    return np.flatnonzero(v[UP] == v[DOWN])


def minimise_on_face(v: Array, free: Indices, rows: Array, *, paired: bool) -> int:
    """Move the free samples to the best point of their face, or to its boundary.

    A pair step sees two samples. Where kernels differ by many orders of magnitude the
    curvature of most pairs comes from the largest kernel, and pairs creep through the
    rest: at a ratio of 1e6 between two kernels on 30 samples, millions of steps. One
    linear system over the free samples has the whole curvature.

    `v` (n_quantities, n_active) is the state of the solver, by rows: RHO the dual
    point, F its image K rho, UP the upper slopes of c. `rows`
    (n_free, n_active) are the free samples' rows of K; where samples are paired, the
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
        direction = _direction(K, v[F, now] + v[UP, now], paired=paired)
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


def _direction(K: Array, gradient: Array, *, paired: bool) -> Array | None:
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
    """Move along a direction up to a bound or kink; return how far, and who ends.

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
