"""The convergence history of a solver, and why it ends."""

import math
import time
from dataclasses import dataclass, field, replace

import numpy as np

from multikernel.gram.metered import Meter, MeteredStack
from multikernel.problem import Callback, Problem, Progress, Status


@dataclass
class Patience:
    """Counts iterations that gain nothing.

    A slow method goes on until the iteration limit; one that always takes large steps
    may give up earlier.

    Parameters
    ----------
    limit : int, default=10
        Iterations without progress before giving up: a solver that is about to
        converge gains in every one, and one that rounding holds gains in none.
    share : float, default=1e-6
        Share of the gap that counts as progress in that many iterations. Slow methods,
        of closed-form weights for p near 1, gain some 1e-4; what rounding does is far
        less.
    """

    limit: int = 10
    share: float = 1e-6
    _in_vain: int = -1
    _milestone: float = np.inf

    def note(self, gap: float) -> None:
        """Take note of the gap after an iteration."""
        if not gap >= (1.0 - self.share) * self._milestone:
            self._milestone, self._in_vain = gap, -1
        self._in_vain += 1

    def restart(self) -> None:
        """Count the next iteration as the first one."""
        self._milestone, self._in_vain = np.inf, -1

    @property
    def exhausted(self) -> bool:
        """Return whether it is time to give up."""
        return self._in_vain >= self.limit


@dataclass
class Recorder:
    """Collects the convergence history, and says when a solve has ended.

    Parameters
    ----------
    callback : Callback or None
        Called with every new line.
    meter : Meter, optional
        Counts what is read of the Gram matrices; see `metered`.
    patience : Patience, optional
        When to give up.
    stopped : bool, default=False
        Whether the callback has asked to stop.
    first : int, default=0
        Number of the first line.
    """

    callback: Callback | None
    meter: Meter = field(default_factory=lambda: Meter(1))
    patience: Patience = field(default_factory=Patience)
    stopped: bool = False
    first: int = 0
    inner_steps: int = 0
    history: list[Progress] = field(default_factory=list)
    _start: float = field(default_factory=time.perf_counter)
    _passes: float = field(init=False)

    def __post_init__(self) -> None:
        self._passes = self.meter.passes

    def _line(self, objective: float, duality_gap: float, n_active: int) -> Progress:
        """Return the next line of the history."""
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
        """Append a line; return whether the callback asks to stop."""
        line = self._line(objective, duality_gap, n_active)
        self.history.append(line)
        if self.callback is not None:
            self.stopped |= bool(self.callback(line))
        return self.stopped

    def ended(
        self, gap: float, tol: float, max_iter: int, *, in_vain: bool = False
    ) -> Status | None:
        """Return why a solve ends at a relative gap, or None if it goes on."""
        if gap <= tol:
            return Status.CONVERGED
        if self.stopped:
            return Status.STOPPED
        if len(self.history) > max_iter:
            return Status.MAX_ITER
        return Status.STALLED if in_vain or self.patience.exhausted else None

    def close(self, objective: float, duality_gap: float, n_active: int) -> None:
        """Replace the figures of the last line by the published model's."""
        last = self.history.pop()
        line = self._line(objective, duality_gap, n_active)
        self.history.append(replace(line, iteration=last.iteration))


def metered(problem: Problem, callback: Callback | None) -> tuple[Problem, Recorder]:
    """Return the problem on a stack that counts its reads, and a recorder.

    All parts of the stack count as well; the recorder's passes are what they count.
    """
    meter = Meter(math.prod(problem.gram.shape))
    watched = replace(problem, gram=MeteredStack(problem.gram, meter))
    return watched, Recorder(callback, meter)
