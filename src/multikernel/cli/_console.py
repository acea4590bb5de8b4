"""What is said to the user: sentences, errors, warnings, and how far work has come."""

import functools
import math
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from typing import ParamSpec, Self

import typer
from rich import progress
from rich.console import Console
from rich.text import Text

from multikernel.estimators.forecast import Course, elapsed_and_left
from multikernel.estimators.progress import QUIET_SECONDS
from multikernel.estimators.read.numbers import ENCODE, IMPUTE
from multikernel.problem import Progress

P = ParamSpec("P")

FILL = (
    "Fill gaps with --impute median (or mean) when fitting, which models keep for new "
    "rows, or leave rows out."
)
"""What to do about missing values, in the words of the command line."""

NAME_TEXT = (
    "leave it out with --drop, or read the file as a whole (--no-stream), where "
    "--category names columns of text."
)
"""What to do about text among batches, in the words of the command line."""

OPTIONS = {
    r"scoring='(\w+)'": r"--scoring \1",
    "class_weight='balanced'": "--set class_weight=balanced",
}
"""What parameters in warnings are called on the command line."""

# What bad input, missing files and missing libraries raise. Anything else is a defect
# of the program and keeps its traceback.
USER_ERRORS = (ValueError, OSError, ImportError, MemoryError)


def console(*, stderr: bool = False) -> Console:
    """Return a console to which names of files and of classes are no markup."""
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


def say(
    message: object, label: str = "", style: str = "", *, stderr: bool = False
) -> None:
    """Write one line: a label in a style of rich, and a message without line breaks."""
    # Names of files may hold bytes that are no text.
    plain = " ".join(str(message).split()).encode("utf-8", "backslashreplace").decode()
    line = Text.assemble((label, style), " " if label else "", plain)
    console(stderr=stderr).print(line, soft_wrap=True)


def user_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Wrap a command: its errors become a sentence on stderr and exit code 1."""

    @functools.wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            try:
                command(*args, **kwargs)
                sys.stdout.flush()
            except BrokenPipeError:
                raise  # nobody reads on: typer ends without a word
            except USER_ERRORS as error:
                told = str(error).replace(IMPUTE, FILL).replace(ENCODE, NAME_TEXT)
                say(told, "Error:", "bold red", stderr=True)
                raise typer.Exit(1) from error

    return guarded


def _show_warning(
    message: Warning | str, category: type[Warning], *_: object, **__: object
) -> None:
    told = str(message)
    for parameter, option in OPTIONS.items():
        told = re.sub(parameter, option, told)
    say(told, f"{category.__name__}:", "bold yellow", stderr=True)


def check_choice(option: str, value: str, choices: Iterable[str]) -> None:
    """Raise unless an option of the command line has one of a few values."""
    if value not in choices:
        listed = ", ".join(choices)
        raise ValueError(f"{option} must be one of {listed}, got {value!r}.")


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
        self._start = self._said = time.perf_counter()

    def __enter__(self) -> Self:
        self._bar.start()
        self._start = self._said = time.perf_counter()
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
        said = f"{times}, {state}" if state else times
        self._bar.update(self._task, completed=share, state=said)
        if self._console.is_terminal or now - self._said < self._quiet:
            return
        self._said = now
        line = f"{self._title}: {share:.0%}, {said}"
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
