"""What a solver is: frozen settings with one pure method."""

from collections.abc import Iterator, Sequence
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
    """A solver that carries more than a solution from one strength to the next."""

    def solve_path(
        self,
        problem: Problem,
        regularizers: Sequence[BlockRegularizer],
        callback: Callback | None = None,
    ) -> list[Solution]:
        """Solve for every regulariser in turn; a stopped solve ends the path."""
        ...


@runtime_checkable
class FollowingSolver(Solver, Protocol):
    """A path solver that hands out solutions one by one, so that none need be kept."""

    def follow(
        self,
        problem: Problem,
        regularizers: Sequence[BlockRegularizer],
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Iterator[Solution]:
        """Yield a solution for every regulariser in turn; a stopped one is the last."""
        ...


class Walk(Protocol):
    """The outer iteration of a solver, while the regulariser changes on the way."""

    def step(self, regularizer: BlockRegularizer, tol: float) -> Solution:
        """Take one outer step, from where the last one ended.

        Parameters
        ----------
        regularizer : BlockRegularizer
            The penalty from now on.
        tol : float
            Relative duality gap that is asked for in the end, by which a solver may
            judge how exact a step has to be.

        Returns
        -------
        solution : Solution
            The best point for this regulariser since it was last changed, its dual
            point and gap over the matrices of the stack alone, whatever these leave
            of the kernels. The last line of its history counts the inner steps of the
            whole walk.
        """
        ...


@runtime_checkable
class SteppingSolver(Solver, Protocol):
    """A solver whose outer steps can be taken one at a time."""

    def walk(self, problem: Problem, init: Solution | None = None) -> Walk:
        """Return a walk that has not begun; the problem's regulariser is not used."""
        ...
