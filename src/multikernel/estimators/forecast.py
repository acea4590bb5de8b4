"""How much of a call is done, and how long the rest takes, where that can be said.

A call builds kernels, solves for candidates on folds, and fits the choice on all
samples. Shares count this work and never fall. Times are another matter: the last
strengths of a path may take a hundred times as long as the first ones, rounds of
building come as samples ask for them, and gaps of a single fit close in jumps. Folds
alone take about as long as one another. So there is a forecast from the end of the
first fold on, and none before, nor where there are no folds.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

COMPILING = 30.0
"""Seconds that the first fold may have taken for what was compiled, loaded and cut on
it, and no other fold takes: a first search of a new installation compiled for 10 to
30 s."""

ALIKE = 0.8
"""The time of a fold over the shortest one so far that forecasts allow for, and the
longest one so far over it. Of 13 searches all folds but the first were within 0.8 and
1.2 of the mean."""

REFIT = 2.0
"""Times of a fold that the model on all samples may take at most. It has 5 / 4 of the
samples, ends where the choice is, and is solved to a tenth of the gap: in 13 searches
of five methods, on 300 and on 1000 samples, it took 0.04 to 1.03 times a fold."""

WIDEST = 4.0
"""The upper bound of a time over the lower one above which none is said: the middle of
two bounds that are nearer is within a factor of two of all between them."""

BUILDING = 0.1
"""Share of a bar that is for building kernels, where that tells how far it is."""


@dataclass(frozen=True)
class Work:
    """What a call has to do once its kernels are built.

    Parameters
    ----------
    n_solves : int
        Solves of all folds, and on all samples.
    n_outputs : int, default=1
        Problems of each.
    n_folds : int, default=0
        Folds that are solved one after another as a whole; 0 where there are none, or
        where they go side by side, candidate by candidate, and may end early.
    n_jobs : int, default=1
        Folds at a time.
    refit : bool, default=False
        Whether a model on all samples follows.
    """

    n_solves: int
    n_outputs: int = 1
    n_folds: int = 0
    n_jobs: int = 1
    refit: bool = False


def seconds_left(
    work: Work, finished: Sequence[float], running: Sequence[float]
) -> float | None:
    """Return how long the rest of a search takes, or None where nobody knows.

    Parameters
    ----------
    work : Work
        What there is to do.
    finished : sequence of float
        Seconds that each finished fold took, the first one first.
    running : sequence of float
        Seconds since each fold that is being solved for has begun.

    Returns
    -------
    seconds : float or None
        The middle of a lower and an upper bound, within a factor of two of both.

    Examples
    --------
    >>> five = Work(120, n_folds=5, refit=True)
    >>> seconds_left(five, [], [80.0]) is None
    True
    >>> round(seconds_left(five, [100.0], [50.0]))
    336
    """
    n_left, jobs = work.n_folds - len(finished), work.n_jobs
    if not finished or n_left == 0:
        return None
    # The first ones say nothing of others once there are some.
    first, others = finished[:jobs], finished[jobs:]
    low = min(others) if others else min(first) - COMPILING
    high = max(others) if others else max(first)
    least = _work_left(ALIKE * low, n_left, running) / jobs
    # Threads that find no further fold wait for the last one.
    most = _work_left(high / ALIKE, n_left, running) / jobs + high * (1.0 - 1.0 / jobs)
    most += REFIT * high * work.refit
    return math.sqrt(least * most) if 0.0 < most <= WIDEST * least else None


def _work_left(fold: float, n_left: int, running: Sequence[float]) -> float:
    """Return the seconds of folds that take as long each, where some have begun."""
    begun = sum(max(0.0, fold - seconds) for seconds in running)
    return begun + fold * (n_left - len(running))


@dataclass
class Course:
    """One share of a whole call, from building kernels to its end: it never falls."""

    share: float = 0.0
    _first: float = 0.0

    def building(self, share: float) -> float:
        """Return the share of the call where so much of the kernels is built."""
        self._first = BUILDING
        return self._at_least(BUILDING * share)

    def solving(self, done: float) -> float:
        """Return the share of the call where so much is done of what comes then."""
        return self._at_least(self._first + (1.0 - self._first) * done)

    def _at_least(self, share: float) -> float:
        self.share = max(self.share, min(share, 1.0))
        return self.share


def elapsed_and_left(seconds: float, left: float | None) -> str:
    """Return how long a call has taken, and the rest of it where that is known.

    Examples
    --------
    >>> elapsed_and_left(30.0, None), elapsed_and_left(30.0, 400.0)
    ('30 s so far', '30 s so far, about 7 min left')
    """
    rest = "" if left is None else f", about {readable_time(left)} left"
    return f"{readable_time(seconds)} so far{rest}"


def readable_time(seconds: float) -> str:
    """Return a time for people.

    Examples
    --------
    >>> readable_time(90.0), readable_time(600.0), readable_time(9000.0)
    ('90 s', '10 min', '2.5 h')
    """
    if seconds < 120.0:
        return f"{seconds:.0f} s"
    if seconds < 7200.0:
        return f"{seconds / 60.0:.0f} min"
    return f"{seconds / 3600:.1f} h"
