"""SMO on a block of samples at a time, for matrices with fast products.

A pair step reads two rows over all samples. If a row is a product of a factor with
hundreds of columns, rows dominate the cost of a fit (benchmarks/ablation). Among 500
samples all entries cost one matrix product, pair steps among them read short rows, and
one product with the factor updates all others. Blocks hold the samples that violate the
optimality conditions most, and all between bounds and kinks: those have to agree with
each other in the end.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import isqrt

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.matrix import GramMatrix
from multikernel.machines.base import support_product
from multikernel.machines.smo.state import (
    CHANGING,
    CONVERGED,
    DOWN,
    INDEFINITE,
    RHO,
    STALLED,
    STEPS_DONE,
    UP,
    F,
    Outcome,
)

Run = Callable[[float, int, Array, Array], Outcome]
"""Runs to a tolerance, with a limit of steps, on a state and its matrix."""


@dataclass(frozen=True)
class Settings:
    """Settings of blocks."""

    size: int = 500
    """Samples of a block."""

    spare: float = 1.5
    """Minimum number of samples of a block per sample off its bounds and kinks."""

    most: int = 2000
    """Maximum size of a block. After a line search between two solutions, thousands of
    samples are off bounds and kinks, to which the next steps return them."""

    share: float = 0.1
    """A block is solved to this share of the violation on all samples."""


SETTINGS = Settings()


def run_in_blocks(
    v: Array,
    gram: GramMatrix,
    limits: tuple[float, int, int],
    run: Run,
    *,
    paired: bool,
) -> Outcome:
    """Solve for the state `v` in place, by runs on blocks of samples.

    The limits are the tolerance, the steps at most, and the bytes of a block.
    """
    tol, most, n_bytes = limits
    steps, lowest = 0, np.inf
    while True:
        sides = _violations(v, paired=paired)
        violation = float(sides.max())
        # NaN is for the caller to complain about.
        if not violation > tol or steps >= most:
            code = STEPS_DONE if violation > tol else CONVERGED
            return Outcome(code, steps, violation)
        ended = 0.5 * tol
        block = _block(v, sides, ended, n_bytes)
        target = max(SETTINGS.share * violation, ended)
        done = _run_on(v, gram, block, partial(run, target, most - steps))
        steps += done.step
        stuck = done.code == STALLED and violation >= lowest
        if stuck or done.code == INDEFINITE or done.step == 0:
            code = INDEFINITE if done.code == INDEFINITE else STALLED
            return Outcome(code, steps, violation)
        lowest = min(lowest, violation)


def _run_on(
    v: Array,
    gram: GramMatrix,
    block: Indices,
    run: Callable[[Array, Array], Outcome],
) -> Outcome:
    """Run SMO on a block of samples, and update f of all samples by its changes."""
    w = np.ascontiguousarray(v[:, block])
    done = run(w, gram.within(block))
    change = np.zeros(v.shape[1])
    change[block] = w[RHO] - v[RHO, block]
    f = v[F] + support_product(gram, change)
    v[CHANGING, block] = w[CHANGING]
    # The block's f has the rounding errors of all its small steps; this is one product.
    v[F] = f
    return done


def _violations(v: Array, *, paired: bool) -> Array:
    """Return by how much rises and falls of samples violate optimality, (2, n)."""
    # F + UP and F + DOWN are slopes of the dual for a rise and a fall of rho. `paired`
    # samples move against the best partner, others also against one of slope zero.
    up, down = v[F] + v[UP], v[F] + v[DOWN]
    low, high = up.min(), down.max()
    if not paired:
        low, high = min(low, 0.0), max(high, 0.0)
    return np.stack([high - up, down - low])


def _block(v: Array, sides: Array, ended: float, n_bytes: int) -> Indices:
    """Return the samples of the next block, ascending; its matrix takes `n_bytes`."""
    # Likely to move are free samples and those with a violation above `ended`. If they
    # do not fit, the worst quarter of either side is first, then free samples.
    free, violations = v[UP] == v[DOWN], sides.max(axis=0)
    wanted = max(SETTINGS.size, round(SETTINGS.spare * np.count_nonzero(free)))
    moving = np.flatnonzero(free | (violations > ended))
    size = min(wanted, SETTINGS.most, max(4, isqrt(n_bytes // 8)))
    if size >= moving.size:
        return moving
    # With the worst pairs in it, every block lowers the objective.
    rank = violations.copy()
    rank[free] += violations.max()
    quarter = size // 4
    for side in sides:
        rank[np.argpartition(-side, quarter)[:quarter]] = np.inf
    return np.sort(np.argpartition(-rank, size - 1)[:size])
