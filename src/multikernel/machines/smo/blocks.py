"""SMO on one block of samples at a time, for matrices with fast products.

If each pair step computes rows of K from a factor, these rows dominate the cost of a
fit (benchmarks/ablation). For a block of 500 samples, one matrix product computes all
entries, pair steps read short rows, and one product with the factor updates all other
samples. Blocks contain the samples that violate the optimality conditions most, and the
free samples, which are neither at a bound nor at the kink of their cost.
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
"""SMO as a function of tolerance, maximum number of steps, state and Gram matrix."""


@dataclass(frozen=True)
class Settings:
    """Settings for the choice of blocks, and for the runs of SMO on them."""

    size: int = 500
    """Minimum number of samples of a block, unless fewer samples are likely to move."""

    spare: float = 1.5
    """Minimum size of a block, divided by the number of free samples."""

    # After a line search between two solutions, thousands of samples are free, until
    # the next steps return them to bounds and kinks.
    most: int = 2000
    """Maximum number of samples of a block."""

    share: float = 0.1
    """Tolerance of a block, relative to the largest violation on all samples."""


SETTINGS = Settings()


def run_in_blocks(
    v: Array,
    gram: GramMatrix,
    limits: tuple[float, int, int],
    run: Run,
    *,
    paired: bool,
) -> Outcome:
    """Solve for the state `v` in place: call `run` on one block at a time.

    `limits` are the tolerance, the maximum number of steps of all blocks together, and
    the maximum number of bytes of a block's matrix. If `paired`, steps keep sum(rho).
    """
    tol, most, n_bytes = limits
    steps, lowest = 0, np.inf
    while True:
        violations = _violations(v, paired=paired)
        largest = float(violations.max())
        # If the violation is NaN, the caller raises an error.
        if not largest > tol or steps >= most:
            code = STEPS_DONE if largest > tol else CONVERGED
            return Outcome(code, steps, largest)
        negligible = 0.5 * tol
        block = _block(v, violations, negligible, n_bytes)
        target = max(SETTINGS.share * largest, negligible)
        done = _run_on(v, gram, block, partial(run, target, most - steps))
        steps += done.step
        stuck = done.code == STALLED and largest >= lowest
        if stuck or done.code == INDEFINITE or done.step == 0:
            code = INDEFINITE if done.code == INDEFINITE else STALLED
            return Outcome(code, steps, largest)
        lowest = min(lowest, largest)


def _run_on(
    v: Array,
    gram: GramMatrix,
    block: Indices,
    run: Callable[[Array, Array], Outcome],
) -> Outcome:
    """Run SMO on a block of samples, update the state `v`, and return the outcome."""
    # `run` changes the block's part of the state. With the block's changes of rho,
    # f = K rho is then updated for all samples.
    w = np.ascontiguousarray(v[:, block])
    done = run(w, gram.within(block))
    change = np.zeros(v.shape[1])
    change[block] = w[RHO] - v[RHO, block]
    f = v[F] + support_product(gram, change)
    v[CHANGING, block] = w[CHANGING]
    # This f is more accurate than the block's, which sums up the errors of many steps.
    v[F] = f
    return done


def _violations(v: Array, *, paired: bool) -> Array:
    """Return violations for an increase and for a decrease of each rho_i, (2, n)."""
    # In the state v, F + UP and F + DOWN are slopes of the objective for an increase
    # and a decrease of rho_i. Another sample moves in the opposite direction, which
    # keeps sum(rho). Unless `paired`, a sample may also move alone, as if its partner
    # had slope zero.
    up, down = v[F] + v[UP], v[F] + v[DOWN]
    low, high = up.min(), down.max()
    if not paired:
        low, high = min(low, 0.0), max(high, 0.0)
    return np.stack([high - up, down - low])


def _block(v: Array, violations: Array, negligible: float, n_bytes: int) -> Indices:
    """Return samples that are likely to move, and whose matrix fits in `n_bytes`."""
    # These are the free samples, and those with a violation (the result of
    # `_violations`) above `negligible`.
    # If more samples are likely to move than fit into the block, a quarter of it gets
    # the largest violations for an increase of rho, and another quarter gets those for
    # a decrease. Free samples fill the rest, then samples with smaller violations. The
    # one-sided slopes of a free sample's cost are equal.
    free, largest_violations = v[UP] == v[DOWN], violations.max(axis=0)
    wanted_size = max(SETTINGS.size, round(SETTINGS.spare * np.count_nonzero(free)))
    moving = np.flatnonzero(free | (largest_violations > negligible))
    size = min(wanted_size, SETTINGS.most, max(4, isqrt(n_bytes // 8)))
    if size >= moving.size:
        return moving
    # A block lowers the objective if it contains the worst pair.
    rank = largest_violations.copy()
    rank[free] += largest_violations.max()
    quarter = size // 4
    for one_direction in violations:
        rank[np.argpartition(-one_direction, quarter)[:quarter]] = np.inf
    return np.sort(np.argpartition(-rank, size - 1)[:size])
