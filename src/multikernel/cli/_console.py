"""How far work has come: a bar on a terminal, lines elsewhere."""

import math
import time
from typing import Self

from rich import progress
from rich.console import Console

from multikernel.estimators.progress import QUIET_SECONDS
from multikernel.problem import Progress


class LiveShare:
    """A callback that shows how much of some work is done, and what time is left.

    On a terminal, standard error by default, that is a bar; elsewhere, as in a log, a
    line every five seconds, which `quiet` changes.

    >>> from multikernel.cli._console import LiveShare
    >>> with LiveShare("Reading") as watch:
    ...     watch(0.5)
    """

    def __init__(
        self,
        title: str,
        *,
        console: Console | None = None,
        quiet: float = QUIET_SECONDS,
    ) -> None:
        self._console = console or Console(stderr=True)
        self._bar = progress.Progress(
            progress.SpinnerColumn(),
            progress.TextColumn("{task.description}"),
            progress.BarColumn(bar_width=24),
            progress.TaskProgressColumn(),
            progress.TextColumn("{task.fields[state]}"),
            progress.TimeElapsedColumn(),
            progress.TextColumn("left"),
            progress.TimeRemainingColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
            transient=True,
        )
        self._title, self._quiet = title, quiet
        self._task = self._bar.add_task(title, total=1.0, state="")
        self._start = self._said = time.perf_counter()

    def __enter__(self) -> Self:
        self._bar.start()
        self._start = self._said = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def __call__(self, share: float, state: str = "") -> None:
        """Show the share that is done, from zero to one, and how things stand."""
        self._bar.update(self._task, completed=share, state=state)
        now = time.perf_counter()
        if self._console.is_terminal or now - self._said < self._quiet:
            return
        self._said = now
        left = "time left unknown"
        if share > 0.0:
            left = f"{(now - self._start) * (1.0 - share) / share:.0f} s left"
        line = f"{self._title}: {share:.0%}, {left}{', ' if state else ''}{state}"
        self._console.print(line, soft_wrap=True, markup=False, highlight=False)

    def restart(self) -> None:
        """Begin anew: other work, of which nothing is done."""
        self._start = time.perf_counter()
        self._bar.reset(self._task, state="")


class LiveFit(LiveShare):
    """A callback for ``fit`` that shows its progress on standard error.

    The bar runs from the first relative duality gap to the tolerance, on a logarithmic
    scale; objectives are shown per sample.

    >>> from multikernel.cli._console import LiveFit
    >>> from multikernel.problem import Progress
    >>> with LiveFit("SpicyMKL", tol=1e-3, n_samples=100) as watch:
    ...     stop = watch(Progress(1, 0.1, 50.0, 0.2, 7))
    >>> stop
    False
    """

    def __init__(
        self,
        title: str,
        *,
        tol: float,
        n_samples: int,
        console: Console | None = None,
        quiet: float = QUIET_SECONDS,
    ) -> None:
        super().__init__(title, console=console, quiet=quiet)
        self._bar.update(self._task, state="building kernels")
        self._tol = tol
        self._n_samples = n_samples
        self._first_gap = math.inf
        self._last_iteration = -1

    def building(self, share: float) -> None:
        """Show how much of the kernels has been computed."""
        super().__call__(share, "building kernels")

    def __call__(self, line: Progress) -> bool:  # type: ignore[override]
        """Show one line of progress; never asks the solver to stop."""
        # Another class, fold or alpha starts over.
        if line.iteration <= self._last_iteration or math.isinf(self._first_gap):
            self._first_gap = line.duality_gap
            self.restart()
        self._last_iteration = line.iteration
        state = (
            f"iteration {line.iteration} · objective "
            f"{line.objective / self._n_samples:.5g} · gap {line.duality_gap:.1e} · "
            f"{line.n_active} active kernels"
        )
        done = _share_done(self._first_gap, line.duality_gap, self._tol)
        if line.done is not None:  # of a cross-validation
            done = line.done
        super().__call__(done, state)
        return False


def _share_done(first: float, now: float, tol: float) -> float:
    """Return how far the gap is on its way to the tolerance, on a log scale."""
    if not (math.isfinite(first) and math.isfinite(now) and first > tol):
        return 0.0
    done = math.log(first / max(now, tol)) / math.log(first / tol)
    return min(max(done, 0.0), 1.0)
