"""What a fit tells while it runs: progress lines, and the history it leaves."""

import math
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from multikernel.problem import Callback, Progress, Solution

HISTORY_DTYPE = np.dtype(
    [
        ("output", np.intp),
        ("iteration", np.intp),
        ("seconds", np.float64),
        ("objective", np.float64),
        ("duality_gap", np.float64),
        ("n_active", np.intp),
        ("passes", np.float64),
        ("inner_steps", np.intp),
    ]
)


def history_array(solutions: Sequence[Solution], scale: float) -> NDArray[np.void]:
    """Return the histories of the problems of one fit as one structured array.

    Parameters
    ----------
    solutions : sequence of Solution
        One per output (one-vs-rest has several).
    scale : float
        What turns an objective of `Problem` into that of the estimator.

    Returns
    -------
    history : structured ndarray of shape (n_lines,)
        Fields ``output`` (index of the problem), ``iteration``, ``seconds``,
        ``objective``, ``duality_gap``, ``n_active``, ``passes``, ``inner_steps``.
    """
    lines = [
        (
            output,
            line.iteration,
            line.seconds,
            line.objective * scale,
            line.duality_gap,
            line.n_active,
            line.passes,
            line.inner_steps,
        )
        for output, solution in enumerate(solutions)
        for line in solution.history
    ]
    return np.array(lines, dtype=HISTORY_DTYPE)


def report(owner: str, scale: float) -> Callback:
    """Return a callback that writes one line per iteration to standard error.

    Parameters
    ----------
    owner : str
        What is fitted, at the start of each line.
    scale : float
        What turns an objective of `Problem` into that of the estimator.

    Returns
    -------
    callback : Callback
    """

    def write(line: Progress) -> bool:
        # Greedy methods have no gap.
        known = not math.isnan(line.duality_gap)
        gap = f"gap {line.duality_gap:.2e}, " if known else ""
        sys.stderr.write(
            f"{owner}: iteration {line.iteration}, {line.seconds:.2f} s, objective "
            f"{line.objective * scale:.6g}, {gap}{line.n_active} active kernels\n"
        )
        return False

    return write


QUIET_SECONDS = 5.0
"""Between two lines about the same work."""


def tell_building(
    owner: str, callback: Callback | None, verbose: int
) -> Callable[[float], None] | None:
    """Return what is told which share of the kernels has been built.

    Parameters
    ----------
    owner : str
        What is fitted.
    callback : Callback or None
        Told by its method ``building``, where it has one.
    verbose : int
        Whether a line is written to standard error, every few seconds.

    Returns
    -------
    tell : callable or None
    """
    told: Callable[[float], None] | None = getattr(callback, "building", None)
    if told is not None or not verbose:
        return told
    begun = time.perf_counter()
    last = [begun]

    def write(share: float) -> None:
        now = time.perf_counter()
        if now - last[0] < QUIET_SECONDS or share <= 0.0:
            return
        last[0] = now
        left = (now - begun) * (1.0 - share) / share
        sys.stderr.write(f"{owner}: kernels {share:.0%}, {left:.0f} s left\n")

    return write


class Watch:
    """What is called once per iteration of a fit; it stops where any callback says so.

    Once stopped it stops every further solve of the fit, and calls nobody.

    Parameters
    ----------
    callbacks : sequence of Callback
        Those who look on.
    """

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        self.callbacks = tuple(callbacks)
        self.stopped = False

    def stop(self) -> None:
        """Stop every solve of the fit at its next iteration."""
        self.stopped = True

    def __call__(self, line: Progress) -> bool:
        """Call all, and return whether the fit is to stop."""
        if not self.stopped:
            answers = [callback(line) for callback in self.callbacks]
            self.stopped = any(answers)
        return self.stopped
