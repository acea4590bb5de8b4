"""A live line for long fits: objective, duality gap, active kernels."""

import math
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress

from multikernel.problem import Progress


class LiveFit:
    """A callback for ``fit`` that shows its progress on standard error.

    The bar runs from the first duality gap to the tolerance, on a logarithmic scale.
    Where standard error is no terminal nothing is shown.

    Parameters
    ----------
    title : str
        What is being fitted.
    tol : float
        The relative duality gap at which the fit will stop.
    n_samples : int
        Training samples: objectives are shown per sample.
    console : rich Console, default=None
        Where to show it; standard error when None.

    Examples
    --------
    >>> from multikernel.cli._progress import LiveFit
    >>> from multikernel.problem import Progress
    >>> with LiveFit("SpicyMKL", tol=1e-3, n_samples=100) as watch:
    ...     stop = watch(Progress(1, 0.1, 50.0, 0.2, 7))
    >>> stop
    False
    """

    def __init__(
        self, title: str, *, tol: float, n_samples: int, console: Console | None = None
    ) -> None:
        console = console or Console(stderr=True)
        self._bar = RichProgress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task(title, total=1.0, state="building kernels")
        self._tol = tol
        self._n_samples = n_samples
        self._first_gap = math.inf
        self._last_iteration = -1

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def __call__(self, line: Progress) -> bool:
        """Show one line of progress; never asks the solver to stop."""
        # Another class, fold or alpha starts over.
        if line.iteration <= self._last_iteration or math.isinf(self._first_gap):
            self._first_gap = line.duality_gap
        self._last_iteration = line.iteration
        state = (
            f"iteration {line.iteration} · objective "
            f"{line.objective / self._n_samples:.5g} · gap {line.duality_gap:.1e} · "
            f"{line.n_active} active kernels"
        )
        done = _share_done(self._first_gap, line.duality_gap, self._tol)
        if not math.isnan(line.done):  # of a cross-validation
            done = line.done
        self._bar.update(self._task, completed=done, state=state)
        return False


def _share_done(first: float, now: float, tol: float) -> float:
    """Return how far the gap is on its way to the tolerance, on a log scale."""
    if not (math.isfinite(first) and math.isfinite(now) and first > tol):
        return 0.0
    done = math.log(first / max(now, tol)) / math.log(first / tol)
    return min(max(done, 0.0), 1.0)
