"""The convergence history of a solver, and its reasons to stop."""

import math
import time
from dataclasses import dataclass, field, replace

import numpy as np

from multikernel.gram.metered import Meter, MeteredStack
from multikernel.problem import Callback, Problem, Progress, Status


@dataclass
class Patience:
    """A counter of iterations without progress, to detect stalls by rounding errors."""

    limit: int = 10  # iterations in a row without progress that end a solve
    # Smallest relative decrease of the gap in `limit` iterations that counts as
    # progress. Slow methods (closed-form weights for p near 1) achieve about 1e-4, and
    # rounding changes the gap by far less than the default.
    share: float = 1e-6
    _in_vain: int = -1
    _milestone: float = np.inf

    def note(self, gap: float) -> None:
        """Count an iteration, given the gap after it."""
        if not gap >= (1.0 - self.share) * self._milestone:
            self._milestone, self._in_vain = gap, -1
        self._in_vain += 1

    def restart(self) -> None:
        """Count the next iteration as the first one."""
        self._milestone, self._in_vain = np.inf, -1

    @property
    def exhausted(self) -> bool:
        """Whether the limit of iterations without progress is reached."""
        return self._in_vain >= self.limit


@dataclass
class Recorder:
    """The convergence history of a solve, and the checks of its stopping rules."""

    callback: Callback | None  # called with every new line
    meter: Meter = field(default_factory=lambda: Meter(1))  # see `metered`
    patience: Patience = field(default_factory=Patience)
    stopped: bool = False  # whether the callback has returned True
    first: int = 0  # iteration number of the first line in `history`
    inner_steps: int = 0
    history: list[Progress] = field(default_factory=list)
    _start: float = field(default_factory=time.perf_counter)
    _passes: float = field(init=False)

    def __post_init__(self) -> None:
        self._passes = self.meter.passes

    def _line(self, objective: float, duality_gap: float, n_active: int) -> Progress:
        return Progress(
            iteration=self.first + len(self.history),
            seconds=time.perf_counter() - self._start,
            objective=objective,
            duality_gap=duality_gap,
            n_active=n_active,
            passes=self.meter.passes - self._passes,
            inner_steps=self.inner_steps,
        )

    def add(self, objective: float, duality_gap: float, n_active: int) -> bool:
        """Append a line to the history; return whether the callback asked to stop."""
        # The callback, if there is one, gets the new line.
        line = self._line(objective, duality_gap, n_active)
        self.history.append(line)
        if self.callback is not None:
            self.stopped |= bool(self.callback(line))
        return self.stopped

    def ended(
        self, gap: float, tol: float, max_iter: int, *, is_stalled: bool = False
    ) -> Status | None:
        """Return the reason to stop, or None if the solver should continue."""
        # `is_stalled` says that more steps cannot reduce the gap.
        if gap <= tol:
            return Status.CONVERGED
        if self.stopped:
            return Status.STOPPED
        if len(self.history) > max_iter:
            return Status.MAX_ITER
        return Status.STALLED if is_stalled or self.patience.exhausted else None

    def close(self, objective: float, duality_gap: float, n_active: int) -> None:
        """Replace the numbers of the last line by those of the returned model."""
        last = self.history.pop()
        line = self._line(objective, duality_gap, n_active)
        self.history.append(replace(line, iteration=last.iteration))


def metered(problem: Problem, callback: Callback | None) -> tuple[Problem, Recorder]:
    """Return the problem on a stack that counts passes, and its history recorder."""
    meter = Meter(math.prod(problem.gram.shape))
    watched = replace(problem, gram=MeteredStack(problem.gram, meter))
    return watched, Recorder(callback, meter)
