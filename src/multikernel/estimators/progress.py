"""What a fit tells while it runs: lines of progress, and a bar."""

import html
import importlib
import logging
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TextIO

import numpy as np

from multikernel._typing import Array
from multikernel.gram.memory import readable_bytes
from multikernel.problem import Callback, Progress


def report(owner: str, scale: float) -> Callback:
    """Return a callback that writes one line per iteration to standard error.

    Each begins with the owner; `scale` turns an objective of `Problem` into that of the
    estimator.
    """

    def write(line: Progress) -> bool:
        # Greedy methods have no gap.
        known = not math.isnan(line.duality_gap)
        gap = f"gap {line.duality_gap:.2e}, " if known else ""
        share = "" if line.done is None else f"{line.done:.0%}, "
        sys.stderr.write(
            f"{owner}: {share}iteration {line.iteration}, {line.seconds:.2f} s, "
            f"objective {line.objective * scale:.6g}, {gap}"
            f"{line.n_active} active kernels\n"
        )
        return False

    return write


QUIET_SECONDS = 5.0
"""Between two lines of a log about the same work."""

LONG_SECONDS = 30.0
"""What is left of a search from which on a sentence says so, whoever looks on. It is
not said before a tenth of that has passed, as paces of less are no forecast."""

LOG = logging.getLogger("multikernel")


def tell_building(
    owner: str, callback: Callback | None, verbose: int
) -> Callable[[float], None] | None:
    """Return what is told which share of the kernels has been built.

    That is the method ``building`` of a callback that has one; otherwise, where
    `verbose` asks for it, what writes a line to standard error every few seconds.
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
    clock : callable, optional
        Returns seconds.
    """

    def __init__(
        self, callbacks: Sequence[Callback], clock: Callable[[], float] | None = None
    ) -> None:
        self.callbacks = tuple(callbacks)
        self.clock = time.perf_counter if clock is None else clock
        self.stopped = False
        self._last: Progress | None = None
        self._done, self._total, self._started, self._step = 0, 0, 0.0, 1.0
        self._begun: tuple[float, int] | None = None
        self._search, self._n_bytes = "", 0.0

    def expect(
        self, n_solves: int, n_outputs: int, search: str = "", n_bytes: float = 0.0
    ) -> None:
        """Say how many solves a search makes; lines of progress then have shares.

        It solves for `n_solves` candidates, on all folds and on all samples,
        `n_outputs` problems each. A sentence that says how long it takes calls it
        `search`, and there is none without; its kernels take `n_bytes` at most.
        """
        self._total, self._step = n_solves, 1.0 / n_outputs
        self._search, self._n_bytes = search, n_bytes

    def advance(self, n_solves: int) -> None:
        """Say that some of them are made, or left out."""
        self._done += n_solves
        self._started = max(0.0, self._started - n_solves)
        if self._search:
            self._forecast()

    def _forecast(self) -> None:
        """Say once how long the rest takes at the pace so far, where that is long.

        The first solves do not count: what is compiled, loaded and cut is so in them.
        """
        done, total, now = self._done, self._total, self.clock()
        if self._begun is None:
            self._begun = now, done
            return
        begun, first = self._begun
        left = (now - begun) * (total - done) / max(done - first, 1)
        if now - begun < 0.1 * LONG_SECONDS or left < LONG_SECONDS:
            return
        search, self._search = self._search, ""
        LOG.warning(
            "%s may take about %s more, as %d of its %d solves took %s, and up to "
            "%s of memory for kernels.",
            search,
            _time(left),
            done - first,
            total,
            _time(now - begun),
            readable_bytes(round(self._n_bytes)),
        )

    def _share(self, line: Progress) -> float:
        """Return what is done; a path of many strengths is told of at its end only."""
        if line.iteration == 0:
            self._started += self._step
        done = self._done + max(0.0, self._started - 1.0)
        return min(1.0, done / self._total)

    def stop(self) -> None:
        """Stop every solve of the fit at its next iteration."""
        self.stopped = True

    def __call__(self, line: Progress) -> bool:
        """Call all, and return whether the fit is to stop."""
        if not self.stopped:
            if self._total:
                line = replace(line, done=self._share(line))
            self._last = line
            answers = [callback(line) for callback in self.callbacks]
            # Never taken back: another thread may have been told to stop meanwhile.
            if any(answers):
                self.stopped = True
        return self.stopped

    def finish(self) -> None:
        """Tell those who have a method ``finished`` of the end, and of the last line.

        What was not stopped is done as a whole, whatever its last line said.
        """
        line = self._last
        if line is None:
            return
        if self._total and not self.stopped:
            line = replace(line, done=1.0)
        for callback in self.callbacks:
            if hasattr(callback, "finished"):
                callback.finished(line)


def watching(estimator: Any, scale: float | Array, callback: Callback | None) -> Watch:
    """Return what is called once per iteration, in the scale of an estimator.

    Problems with scales of their own are told of in the mean of these.
    """
    lines = []
    if estimator.verbose:
        lines = [report(type(estimator).__name__, float(np.mean(scale)))]
    return Watch([*lines, *([] if callback is None else [callback])])


class ProgressBar:
    """A callback that shows how far a fit is, in notebooks, on terminals and in logs.

    Of a cross-validation it shows the share that is done and the time that is left, if
    the rest goes at the same pace. A single fit does not know how many iterations it
    will take: it shows the duality gap, on its way to the tolerance.

    Parameters
    ----------
    title : str, default="fit"
        What is being done.
    every : float, default=10.0
        Seconds between two lines where there is neither a notebook nor a terminal.
    file : file object, default=None
        Where to write; standard error when None.

    Examples
    --------
    >>> import io
    >>> from multikernel import ProgressBar
    >>> from multikernel.problem import Progress
    >>> log = io.StringIO()
    >>> bar = ProgressBar("search", every=0.0, file=log)
    >>> bar(Progress(3, 0.1, 50.0, 0.02, 7, done=0.25))
    False
    >>> log.getvalue().startswith("search: 25%, ")
    True
    """

    def __init__(
        self, title: str = "fit", *, every: float = 10.0, file: TextIO | None = None
    ) -> None:
        self.title, self.every, self.file = title, every, file
        self._started = self._said = time.perf_counter()
        self._show: Callable[[str], None] | None = None
        self._end: Callable[[], None] = lambda: None

    def __call__(self, line: Progress) -> bool:
        """Show one line of progress; never asks a solver to stop."""
        if self._show is None:
            self._show = self._place()
            self._said = -math.inf
        now = time.perf_counter()
        if now - self._said >= self.every:
            self._said = now
            self._show(f"{self.title}: {self._state(line, now)}")
        return False

    def finished(self, line: Progress) -> None:
        """Show the last line of a fit, however soon after the one before."""
        self._said = -math.inf
        self(line)
        self._end()
        # The next fit begins its own line, and its own time.
        self._show, self._end = None, lambda: None
        self._started = time.perf_counter()

    def _state(self, line: Progress, now: float) -> str:
        """Return how things stand."""
        said = []
        if line.done is not None:
            spent = now - self._started
            left = spent * (1.0 - line.done) / line.done if line.done else math.inf
            until = "time left unknown" if math.isinf(left) else f"{_time(left)} left"
            said = [f"{line.done:.0%}", until]
        said.append(f"iteration {line.iteration}")
        if not math.isnan(line.duality_gap):
            said.append(f"gap {line.duality_gap:.1e}")
        return ", ".join([*said, f"{line.n_active} active kernels"])

    def _place(self) -> Callable[[str], None]:
        """Return what shows a line: in a notebook, on a terminal, or in a log."""
        shell = sys.modules.get("IPython")
        notebook = shell is not None and shell.get_ipython() is not None
        if notebook and self.file is None:
            self.every = min(self.every, 0.5)
            display: Any = importlib.import_module("IPython.display")
            handle = display.display(display.HTML(""), display_id=True)
            if handle is not None:
                return lambda text: handle.update(
                    display.HTML(f"<pre>{html.escape(text)}</pre>")
                )
        file = sys.stderr if self.file is None else self.file
        if file.isatty():
            self.every = min(self.every, 0.1)
            self._end = lambda: print(file=file, flush=True)
            return lambda text: print(f"\r\x1b[K{text}", end="", file=file, flush=True)
        return lambda text: print(text, file=file, flush=True)


def _time(seconds: float) -> str:
    """Return a time for people."""
    if seconds < 120.0:
        return f"{seconds:.0f} s"
    return (
        f"{seconds / 60.0:.0f} min" if seconds < 7200.0 else f"{seconds / 3600:.1f} h"
    )
