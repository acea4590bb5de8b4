"""When the rest of a chain of candidates is left out."""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any, TypeVar

import numpy as np

from multikernel._typing import Array
from multikernel.problem import Status

PATIENCE = 0.3
"""Share of a chain of candidates in which the score has not become better, before the
rest is left out: of the default grids a factor of nine in alpha, and of sixteen in C.
"""


OF_A_TARGET = 0.15
"""The same for each of many targets. Of 100 targets on 200 samples (five spaces of 80
columns; noise alike, and between a fifth and five times the signal) all have the same
strength with it as with twice as much and as along whole paths, at 9.0 in place of 11.8
and 20 strengths."""


def no_better(
    means: Array | None, chain: Sequence[int], patience: float = PATIENCE
) -> bool:
    """Return whether the mean score of a chain has not gone up for long.

    That is where the best is a share `patience` of the chain ago and better than the
    first one: at its beginning models are constant, and scores all the same. Where
    nothing changes any more, as all data are separated, none is better than the best.
    """
    mean = np.empty(0) if means is None else means[np.asarray(chain)]
    mean = mean[np.isfinite(mean)]
    if mean.size < 3:
        return False
    best = int(np.argmax(mean))
    waited = mean.size - 1 - best >= max(2, round(patience * len(chain)))
    return bool(waited and mean[best] > mean[0])


Solutions = TypeVar("Solutions", bound=Sequence[Any])


def until_stopped(path: Iterator[Solutions]) -> Iterator[Solutions]:
    """Yield the solutions of all outputs in turn, until a callback has stopped one."""
    return takewhile(
        lambda each: all(s.status is not Status.STOPPED for s in each), path
    )
