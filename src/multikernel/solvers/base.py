"""What a solver is: frozen settings with one pure method."""

from collections.abc import Iterable, Iterator
from typing import Protocol, runtime_checkable

from multikernel.exceptions import UnsupportedProblemError
from multikernel.problem import Callback, Problem, Solution
from multikernel.regularizers.base import BlockRegularizer


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


def check_supported(solver: Solver, problem: Problem) -> None:
    """Raise with the reason where a solver cannot treat a problem.

    Raises
    ------
    UnsupportedProblemError
        If the solver's `unsupported` gives a reason.
    """
    reason = solver.unsupported(problem)
    if reason is not None:
        raise UnsupportedProblemError(reason)


@runtime_checkable
class PathSolver(Solver, Protocol):
    """A solver that carries more than a solution from one regulariser to the next."""

    def follow(
        self,
        problem: Problem,
        regularizers: Iterable[BlockRegularizer],
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Iterator[Solution]:
        """Yield a solution for every regulariser in turn; a stopped one is the last.

        Solutions are handed out one by one, so that none need be kept, and a
        regulariser is asked for when the solution before it is known.
        """
        ...
