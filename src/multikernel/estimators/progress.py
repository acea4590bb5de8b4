"""Progress of a fit: lines of a log, and a bar."""

import html
import importlib
import logging
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TextIO

from sklearn.base import BaseEstimator

from multikernel.gram.memory import readable_bytes
from multikernel.problem import Callback, Progress

QUIET_SECONDS = 5.0
"""Minimum seconds between two log lines about the building of kernels."""

BUILD_SHARE = 0.1
"""Share of a progress bar that is for building kernels."""

LOG = logging.getLogger("multikernel")


def elapsed(seconds: float) -> str:
    """Return the elapsed time as text, such as "10 min so far"."""
    if seconds < 120.0:
        return f"{seconds:.0f} s so far"
    if seconds < 7200.0:
        return f"{seconds / 60.0:.0f} min so far"
    return f"{seconds / 3600:.1f} h so far"


@dataclass(eq=False)
class Watch:
    """A callback that calls other callbacks, and stops the fit if one returns True."""

    callbacks: Sequence[Callback]
    stopped: bool = False
    note: str = ""  # the progress in words
    _latest: Progress | None = field(default=None, init=False)
    _n_solves: int = field(default=1, init=False)
    _n_outputs: int = field(default=1, init=False)
    _n_done: int = field(default=0, init=False)
    _n_started: float = field(default=0.0, init=False)
    _max_share: float = field(default=0.0, init=False)
    _begin: float = field(default=0.0, init=False)
    _search: str = field(default="", init=False)
    _n_bytes: float = field(default=0.0, init=False)

    def building(self, share: float) -> None:
        """Report the share of computed kernels to callbacks that have ``building``."""
        for callback in self.callbacks:
            if hasattr(callback, "building"):
                callback.building(share)

    def expect(
        self,
        n_solves: int,
        n_outputs: int = 1,
        search: str = "",
        kernel_bytes: float = 0.0,
    ) -> None:
        """Set the number of solves, of which progress lines show the finished share."""
        # Each solve has `n_outputs` outputs. A long run logs one message with the name
        # of the estimator (`search`) and the maximum memory of its kernels
        # (`kernel_bytes`); none if `search` is empty.
        self._n_solves, self._n_outputs = n_solves, n_outputs
        self._search, self._n_bytes = search, kernel_bytes
        self._begin = time.perf_counter()

    def advance(self, n_solves: int) -> None:
        """Count `n_solves` solves as done or skipped; log one message after 30 s."""
        self._n_done += n_solves
        self._n_started = max(0.0, self._n_started - n_solves)
        if not (self._search and self._n_done):
            return
        seconds = time.perf_counter() - self._begin
        if seconds >= 30.0:
            LOG.warning(
                "%s has finished %d of at most %d solves: %s. Its kernels take up to "
                "%s of memory. Call fit(X, y, callback=ProgressBar()) to see the "
                "progress.",
                self._search,
                self._n_done,
                self._n_solves,
                elapsed(seconds),
                readable_bytes(round(self._n_bytes)),
            )
            self._search = ""

    def _share_done(self, line: Progress) -> float:
        """Return the share of finished solves, which never decreases."""
        if line.iteration == 0:
            self._n_started += 1.0 / self._n_outputs
        n_done = self._n_done + max(0.0, self._n_started - 1.0)
        self._max_share = max(self._max_share, min(1.0, n_done / self._n_solves))
        return self._max_share

    def stop(self) -> None:
        """Stop every solve of the fit at its next iteration."""
        self.stopped = True

    def __call__(self, line: Progress) -> bool:
        """Call all callbacks, and return whether the fit should stop."""
        # After a stop, every further solve of the fit stops, without calling the
        # callbacks.
        if not self.stopped:
            if self._n_solves > 1:
                line = replace(line, done=self._share_done(line), note=self.note)
            self._latest = line
            stops = [callback(line) for callback in self.callbacks]
            # Never reset: another thread may have stopped the fit meanwhile.
            if any(stops):
                self.stopped = True
        return self.stopped

    def finish(self) -> None:
        """Call the ``finished`` method of callbacks that have one."""
        for callback in self.callbacks:
            if self._latest is not None and hasattr(callback, "finished"):
                # Unless the fit was stopped, its share of finished solves is now one.
                is_complete = self._n_solves > 1 and not self.stopped
                done = 1.0 if is_complete else self._latest.done
                callback.finished(replace(self._latest, done=done, note=self.note))


@dataclass(eq=False)
class _Log:
    """A callback that writes the progress of a fit to standard error."""

    owner: str
    started: float = field(default_factory=time.perf_counter)
    last_shown: float = field(default_factory=time.perf_counter)

    def building(self, share: float) -> None:
        """Write the share of the kernels that has been computed, every few seconds."""
        now = time.perf_counter()
        if now - self.last_shown >= QUIET_SECONDS and share > 0.0:
            self.last_shown, so_far = now, elapsed(now - self.started)
            sys.stderr.write(f"{self.owner}: kernels {share:.0%}, {so_far}\n")

    def __call__(self, line: Progress) -> bool:
        """Write one line per iteration; return False, because True stops the fit."""
        # Greedy methods have no gap.
        has_gap = not math.isnan(line.duality_gap)
        gap = f"gap {line.duality_gap:.2e}, " if has_gap else ""
        share = "" if line.done is None else f"{line.done:.0%}, "
        sys.stderr.write(
            f"{self.owner}: {share}iteration {line.iteration}, {line.seconds:.2f} s, "
            f"{gap}{line.n_active} active kernels\n"
        )
        return False


def make_watch(estimator: BaseEstimator, callback: Callback | None) -> Watch:
    """Return the `Watch` of a fit, with the callbacks of the estimator and the user."""
    callbacks = [] if callback is None else [callback]
    if estimator.verbose:
        callbacks.insert(0, _Log(type(estimator).__name__))
    return Watch(callbacks)


@dataclass
class _Bar:
    """The state of a progress bar during one fit."""

    started: float = 0.0
    last_shown: float = 0.0
    share: float = 0.0
    built: float = 0.0
    show: Callable[[str], None] | None = None
    end: Callable[[], None] = lambda: None


class ProgressBar:
    """A callback that shows the progress of a fit in notebooks, terminals and logs.

    It shows the finished share of a search, or the duality gap of a single fit, whose
    number of iterations is unknown. `file` is by default standard error; if it is no
    terminal, `every` is the number of seconds between two lines.
    """

    def __init__(
        self, title: str = "fit", *, every: float = 10.0, file: TextIO | None = None
    ) -> None:
        self.title, self.every, self.file = title, every, file
        self._bar = _Bar()

    def building(self, share: float) -> None:
        """Show the share of kernels that has been computed."""
        self._bar.built = BUILD_SHARE
        self.show("building kernels", BUILD_SHARE * share)

    def __call__(self, line: Progress) -> bool:
        """Show one line of progress; return False, because True stops the fit."""
        remaining = 1.0 - self._bar.built
        share = None if line.done is None else self._bar.built + remaining * line.done
        gap = "" if math.isnan(line.duality_gap) else f"gap {line.duality_gap:.1e}, "
        note = f"{line.note}, " if line.note else ""
        state = f"{note}iteration {line.iteration}, {gap}{line.n_active} active kernels"
        self.show(state, share)
        return False

    def finished(self, line: Progress) -> None:
        """Show the last line of a fit, even shortly after the previous one."""
        if self._bar.last_shown != self._bar.started:
            self._bar.last_shown = -math.inf
        self(line)
        self.close()

    def close(self) -> None:
        """End the bar of one fit, and its line in a terminal."""
        self._bar.end()
        self._bar = _Bar()

    def show(self, state: str, share: float | None = None) -> None:
        """Show the state and the share that is done, if enough time has passed."""
        now = time.perf_counter()
        if self._bar.show is None:
            self._bar.started = self._bar.last_shown = now
            self._bar.show = self._writer()
        if share is not None:
            self._bar.share = max(self._bar.share, min(share, 1.0))
        if now - self._bar.last_shown < self.every:
            return
        self._bar.last_shown = now
        done = [] if share is None else [f"{self._bar.share:.0%}"]
        done += [elapsed(now - self._bar.started)] if done else []
        self._bar.show(f"{self.title}: {', '.join(filter(None, [*done, state]))}")

    def _writer(self) -> Callable[[str], None]:
        """Return the function that shows a text in a notebook, a terminal, or a log."""
        shell = sys.modules.get("IPython")
        # IPython in a terminal has no kernel, and shows no HTML.
        is_notebook = shell is not None and hasattr(shell.get_ipython(), "kernel")
        if is_notebook and self.file is None:
            self.every, self._bar.last_shown = min(self.every, 0.5), -math.inf
            display = importlib.import_module("IPython.display")
            handle = display.display(display.HTML(""), display_id=True)
            if handle is not None:
                return lambda text: handle.update(
                    display.HTML(f"<pre>{html.escape(text)}</pre>")
                )
        file = sys.stderr if self.file is None else self.file
        if file.isatty():
            self.every, self._bar.last_shown = min(self.every, 0.1), -math.inf
            self._bar.end = lambda: print(file=file, flush=True)
            return lambda text: print(f"\r\x1b[K{text}", end="", file=file, flush=True)
        return lambda text: print(text, file=file, flush=True)
