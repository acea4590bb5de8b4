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
from multikernel.estimators.forecast import (
    Course,
    Work,
    elapsed_and_left,
    readable_time,
    seconds_left,
)
from multikernel.gram.memory import readable_bytes
from multikernel.problem import Callback, Progress


def report(owner: str, scale: float) -> Callback:
    """Return a callback that writes one line per iteration to standard error.

    Each begins with the owner; `scale` turns an objective of `Problem` into the
    estimator's.
    """

    def write(line: Progress) -> bool:
        # Greedy methods have no gap.
        has_gap = not math.isnan(line.duality_gap)
        gap = f"gap {line.duality_gap:.2e}, " if has_gap else ""
        share = "" if line.done is None else f"{line.done:.0%}, "
        time_left = (
            "" if line.left is None else f"about {readable_time(line.left)} left, "
        )
        sys.stderr.write(
            f"{owner}: {share}{time_left}iteration {line.iteration}, "
            f"{line.seconds:.2f} s, objective {line.objective * scale:.6g}, {gap}"
            f"{line.n_active} active kernels\n"
        )
        return False

    return write


QUIET_SECONDS = 5.0
"""Between two lines of a log about the same work."""

LONG_SECONDS = 30.0
"""What a search has taken when a sentence says so, whoever looks on."""

LOG = logging.getLogger("multikernel")


def tell_building(
    owner: str, callback: Callback | None, verbose: int
) -> Callable[[float], None] | None:
    """Return what is told which share of the kernels has been built.

    That is the method ``building`` of a callback that has one; otherwise, where
    `verbose` asks for it, what writes a line to standard error every few seconds.
    """
    show: Callable[[float], None] | None = getattr(callback, "building", None)
    if show is not None or not verbose:
        return show
    begun = time.perf_counter()
    last = [begun]

    def write(share: float) -> None:
        now = time.perf_counter()
        if now - last[0] < QUIET_SECONDS or share <= 0.0:
            return
        last[0] = now
        spent = elapsed_and_left(now - begun, None)
        sys.stderr.write(f"{owner}: kernels {share:.0%}, {spent}\n")

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
        self.stopped, self.note = False, ""  # how far it is, in words
        self._last: Progress | None = None
        self._work: Work | None = None
        self._done, self._started, self._share = 0, 0.0, 0.0
        self._begun, self._search, self._n_bytes = 0.0, "", 0.0
        self._running: dict[int, float] = {}
        self._finished: list[float] = []

    def expect(self, work: Work, search: str = "", n_bytes: float = 0.0) -> None:
        """Say what is to be done; lines of progress then have shares.

        A sentence about one that takes long calls it `search`, and there is none
        without; its kernels take `n_bytes` at most.
        """
        self._work, self._begun = work, self.clock()
        self._search, self._n_bytes = search, n_bytes

    def expect_problems(self, n_problems: int) -> None:
        """Say that a single fit solves several problems, one after another."""
        if n_problems > 1:
            self.expect(Work(n_problems))

    def advance(self, n_solves: int) -> None:
        """Say that some solves are made, or left out."""
        self._done += n_solves
        self._started = max(0.0, self._started - n_solves)
        if self._search and self._done and self.clock() - self._begun >= LONG_SECONDS:
            self._tell_long()

    def fold_begun(self, number: int) -> None:
        """Say that a fold is being solved for, which ends before others begin."""
        self._running[number] = self.clock()

    def fold_ended(self, number: int) -> None:
        """Say that it is done."""
        self._finished.append(self.clock() - self._running.pop(number))

    def seconds_left(self) -> float | None:
        """Return how long the rest takes, or None where nobody knows."""
        if self._work is None or not self._finished:
            return None
        now = self.clock()
        # Other threads may end theirs meanwhile.
        running = [now - begun for begun in tuple(self._running.values())]
        return seconds_left(self._work, tuple(self._finished), running)

    def _tell_long(self) -> None:
        """Say once how far a search is that takes long."""
        search, self._search = self._search, ""
        assert self._work is not None
        LOG.warning(
            "%s has made %d of its %d solves at most: %s. Its kernels take up to %s. "
            "fit(X, y, callback=ProgressBar()) shows how it goes on.",
            search,
            self._done,
            self._work.n_solves,
            elapsed_and_left(self.clock() - self._begun, self.seconds_left()),
            readable_bytes(round(self._n_bytes)),
        )

    def _share_done(self, line: Progress, work: Work) -> float:
        """Return what is done; a path of many strengths is told of at its end only.

        Solves that are made once more, on finer matrices, take nothing back.
        """
        if line.iteration == 0:
            self._started += 1.0 / work.n_outputs
        done = self._done + max(0.0, self._started - 1.0)
        self._share = max(self._share, min(1.0, done / work.n_solves))
        return self._share

    def stop(self) -> None:
        """Stop every solve of the fit at its next iteration."""
        self.stopped = True

    def __call__(self, line: Progress) -> bool:
        """Call all, and return whether the fit is to stop."""
        if not self.stopped:
            if self._work is not None:
                done = self._share_done(line, self._work)
                seconds = self.seconds_left()
                line = replace(line, done=done, left=seconds, note=self.note)
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
        if self._work is not None and not self.stopped:
            line = replace(line, done=1.0, left=0.0, note=self.note)
        for callback in self.callbacks:
            if hasattr(callback, "finished"):
                callback.finished(line)


def watching(estimator: Any, scale: float | Array, callback: Callback | None) -> Watch:
    """Return what is called once per iteration, in the scale of an estimator.

    Problems with scales of their own are told of in the mean scale.
    """
    lines = []
    if estimator.verbose:
        lines = [report(type(estimator).__name__, float(np.mean(scale)))]
    return Watch([*lines, *([] if callback is None else [callback])])


class ProgressBar:
    """A callback that shows how far a fit is, in notebooks, on terminals and in logs.

    It shows one share of the whole call, which never falls. The time that is left is
    shown from the first fold of a search on whose folds are solved one after another,
    as those are whose kernels take gigabytes; otherwise nobody knows it. A single fit
    does not know how many iterations it will take: it shows the duality gap, on its way
    to the tolerance.

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
    >>> bar(Progress(3, 0.1, 50.0, 0.02, 7, done=0.25, left=600.0))
    False
    >>> log.getvalue()
    'search: 25%, 0 s so far, about 10 min left, iteration 3, gap 2.0e-02, 7 active ...
    """

    def __init__(
        self, title: str = "fit", *, every: float = 10.0, file: TextIO | None = None
    ) -> None:
        self.title, self.every, self.file = title, every, file
        self._started, self._said = 0.0, 0.0
        self._course = Course()
        self._show: Callable[[str], None] | None = None
        self._end: Callable[[], None] = lambda: None

    def building(self, share: float) -> None:
        """Show how much of the kernels has been computed."""
        self._tell(f"{self._course.building(share):.0%}", None, "building kernels")

    def __call__(self, line: Progress) -> bool:
        """Show one line of progress; never asks a solver to stop."""
        share = None if line.done is None else f"{self._course.solving(line.done):.0%}"
        gap = "" if math.isnan(line.duality_gap) else f"gap {line.duality_gap:.1e}, "
        note = f"{line.note}, " if line.note else ""
        state = f"{note}iteration {line.iteration}, {gap}{line.n_active} active kernels"
        self._tell(share, line.left, state)
        return False

    def finished(self, line: Progress) -> None:
        """Show the last line of a fit, however soon after the one before."""
        self._said = -math.inf
        self(line)
        self._end()
        # The next fit begins its own line, and its own time.
        self._show, self._end, self._course = None, lambda: None, Course()

    def _tell(self, share: str | None, left: float | None, state: str) -> None:
        """Show how things stand, if it is time to."""
        now = time.perf_counter()
        if self._show is None:
            self._show = self._place()
            self._started, self._said = now, -math.inf
        if now - self._said < self.every:
            return
        self._said = now
        times = [share, elapsed_and_left(now - self._started, left)] if share else []
        self._show(f"{self.title}: {', '.join([*times, state])}")

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
