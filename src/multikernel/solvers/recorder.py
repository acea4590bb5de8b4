"""What all solvers share around their loops: the clock, the history, the callback."""

import time
from dataclasses import dataclass, field

from multikernel.problem import Callback, Progress


@dataclass
class Recorder:
    """Collects the convergence history and asks the callback whether to stop.

    Parameters
    ----------
    callback : Callback or None
        Called with every new line.
    """

    callback: Callback | None
    passes: float = 0.0
    inner_steps: int = 0
    history: list[Progress] = field(default_factory=list)
    _start: float = field(default_factory=time.perf_counter)

    def add(self, objective: float, duality_gap: float, n_active: int) -> bool:
        """Append a line; return whether the callback asks to stop."""
        line = Progress(
            iteration=len(self.history),
            seconds=time.perf_counter() - self._start,
            objective=objective,
            duality_gap=duality_gap,
            n_active=n_active,
            passes=self.passes,
            inner_steps=self.inner_steps,
        )
        self.history.append(line)
        return self.callback is not None and bool(self.callback(line))
