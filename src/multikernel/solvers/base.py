"""What a solver is: frozen settings with one pure method."""

from typing import Protocol, runtime_checkable

from multikernel.problem import Callback, Problem, Solution


@runtime_checkable
class Solver(Protocol):
    """An algorithm; all of its knobs are constructor fields of a frozen dataclass."""

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this solver cannot treat the problem, or None if it can."""
        ...

    def solve(
        self,
        problem: Problem,
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Solution:
        """Solve the problem, from the warm start `init` where one is given."""
        ...
