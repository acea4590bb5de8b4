"""How far work has come: a bar on a terminal, lines elsewhere."""

import math
import time
from typing import Self

from rich import progress
from rich.console import Console

from multikernel.estimators.forecast import Course, elapsed_and_left
from multikernel.estimators.progress import QUIET_SECONDS
from multikernel.problem import Progress


class LiveShare:
    """A callback that shows how much of some work is done, and what time is left.

    On a terminal, standard error by default, that is a bar; elsewhere, as in a log, a
    line every five seconds, which `quiet` changes. What is left is said after a tenth
    of the work, which goes at the same pace throughout.

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
            console=self._console,
            disable=not self._console.is_terminal,
            transient=True,
        )
        self._title, self._quiet = title, quiet
        self._task = self._bar.add_task(title, total=1.0, state="")
        self._start = time.perf_counter()
        self._said = self._start

    def __enter__(self) -> Self:
        self._bar.start()
        self._start = time.perf_counter()
        self._said = self._start
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def __call__(self, share: float) -> None:
        """Show the share that is done, from zero to one."""
        left = None
        if share >= 0.1:
            left = (time.perf_counter() - self._start) * (1.0 - share) / share
        self.show(share, left)

    def show(self, share: float, left: float | None, state: str = "") -> None:
        """Show a share, the seconds that are left if known, and how things stand."""
        now = time.perf_counter()
        times = elapsed_and_left(now - self._start, left)
        text = f"{times}, {state}" if state else times
        self._bar.update(self._task, completed=share, state=text)
        if self._console.is_terminal or now - self._said < self._quiet:
            return
        self._said = now
        line = f"{self._title}: {share:.0%}, {text}"
        self._console.print(line, soft_wrap=True, markup=False, highlight=False)


class LiveFit(LiveShare):
    """A callback for ``fit`` that shows its progress on standard error.

    There is one bar for the whole call, from building kernels on. For a fit of a single
    problem it runs from the first relative duality gap to the tolerance, on a
    logarithmic scale; objectives are shown per sample.

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
        self._course = Course()

    def building(self, share: float) -> None:
        """Show how much of the kernels has been computed."""
        self.show(self._course.building(share), None, "building kernels")

    def scaling(self, share: float) -> None:
        """Show how much of the columns is standardized; kernels come after it."""
        self.show(self._course.share, None, f"scaling columns, {share:.0%}")

    def __call__(self, line: Progress) -> bool:  # type: ignore[override]
        """Show one line of progress; never asks the solver to stop."""
        if math.isinf(self._first_gap):
            self._first_gap = line.duality_gap
        done = line.done
        if done is None:
            done = _share_done(self._first_gap, line.duality_gap, self._tol)
        state = (
            f"iteration {line.iteration} · objective "
            f"{line.objective / self._n_samples:.5g} · gap {line.duality_gap:.1e} · "
            f"{line.n_active} active kernels"
        )
        self.show(self._course.solving(done), line.left, state)
        return False


def _share_done(first: float, now: float, tol: float) -> float:
    """Return how far the gap is on its way to the tolerance, on a log scale."""
    if not (math.isfinite(first) and math.isfinite(now) and first > tol):
        return 0.0
    done = math.log(first / max(now, tol)) / math.log(first / tol)
    return min(max(done, 0.0), 1.0)
