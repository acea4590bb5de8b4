"""Protocols of solvers, and functions that solve for a sequence of penalties."""

from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby
from typing import Any, Protocol, runtime_checkable

import numpy as np

from multikernel._typing import Array
from multikernel.certificates import alpha_max
from multikernel.certificates.incumbent import Incumbent
from multikernel.certificates.progress import Patience, Recorder, metered
from multikernel.exceptions import UnsupportedProblemError
from multikernel.problem import Callback, Problem, Solution, Status, center_targets
from multikernel.regularizers.base import BlockRegularizer
from multikernel.regularizers.squared_block_norm import SquaredBlockNorm


@runtime_checkable
class Solver(Protocol):
    """An algorithm that solves a `Problem`; its settings are dataclass fields.

    A solver provides `unsupported` and `solve`. `solve` raises an
    UnsupportedProblemError if `unsupported` returns a reason, and an
    IndefiniteKernelError if a kernel matrix is not positive semidefinite.
    """

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this solver cannot solve the problem, or None if it can."""

    def solve(
        self,
        problem: Problem,
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Solution:
        """Solve the problem; return a model with the dual point that certifies it.

        `init` is a warm start, for example the solution for a similar strength.
        `callback` is called with a `Progress` after each iteration; returning True
        stops the solve.
        """


def check_supported(solver: Solver, problem: Problem) -> None:
    """Raise an UnsupportedProblemError if the solver does not support the problem."""
    reason = solver.unsupported(problem)
    if reason is None and problem.columns is not None:
        reason = (
            f"{type(solver).__name__} does not support unpenalized columns. Wrap the "
            "solver in multikernel.solvers.FreeColumns."
        )
    if reason is not None:
        raise UnsupportedProblemError(reason)


def incumbents(
    solver: Solver,
    problem: Problem,
    regularizers: Iterable[BlockRegularizer],
    callback: Callback | None,
    limit: int = Patience.limit,
    share: float = Patience.share,
) -> Iterator[Incumbent]:
    """Yield the `Incumbent`, the store of the best points, for each penalty in turn."""
    # `limit` and `share` are those of `Patience`, which stops a solve that makes no
    # progress. The count of passes over the kernels continues from penalty to penalty.
    problem, joint_recorder = metered(center_targets(problem), callback)
    for regularizer in regularizers:
        penalized = replace(problem, regularizer=regularizer)
        check_supported(solver, penalized)
        recorder = Recorder(callback, joint_recorder.meter, Patience(limit, share))
        yield Incumbent(penalized, recorder, (type(solver).__name__,))


@runtime_checkable
class PathSolver(Solver, Protocol):
    """A solver that solves for a sequence of penalties and shares work between them."""

    def solve(
        self,
        problem: Problem,
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Solution:
        """Solve the problem as a path of one penalty; see `Solver.solve`."""
        check_supported(self, problem)
        return next(self.follow(problem, [problem.regularizer], init, callback))

    @abstractmethod
    def follow(
        self,
        problem: Problem,
        regularizers: Iterable[BlockRegularizer],
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Iterator[Solution]:
        """Yield the solution for each regularizer, until `callback` stops a solve.

        The next regularizer is read after the previous solution is yielded, and the
        regularizer of `problem` is not used. `init` is a warm start for the first
        regularizer, `callback` is as in `solve`.
        """


@runtime_checkable
class ManySolver(Solver, Protocol):
    """A solver that can solve several problems together for a sequence of penalties."""

    def supports_many(
        self, problems: Sequence[Problem], penalties: Sequence[BlockRegularizer]
    ) -> bool:
        """Return whether `follow_many` supports these problems and penalties."""

    def follow_many(
        self,
        problems: Sequence[Problem],
        penalties: Iterable[Sequence[BlockRegularizer | None]],
        starts: Sequence[Solution | None],
        callback: Callback | None = None,
    ) -> Iterator[list[Solution | None]]:
        """Yield each step's solutions, one per problem; see `follow_problems`."""


def alpha_grid(
    problem: Problem, n_alphas: int = 50, alpha_min_ratio: float = 1e-2
) -> Array:
    """Return strengths from `alpha_max` downwards, evenly spaced in the logarithm.

    The strengths, (n_alphas,), are for the summed loss of `Problem`; the last is
    `alpha_min_ratio` times the first. The strength of the problem's regularizer is not
    used.
    """
    largest = alpha_max(problem)
    return np.asarray(largest * np.geomspace(1.0, alpha_min_ratio, n_alphas))


def with_alpha(problem: Problem, alpha: float) -> Problem:
    """Return a copy of the problem with the regularization strength `alpha`."""
    return replace(problem, regularizer=problem.regularizer.with_alpha(alpha))


def follow(
    solver: Solver,
    problem: Problem,
    regularizers: Iterable[BlockRegularizer],
    init: Solution | None = None,
    callback: Callback | None = None,
) -> Iterator[Solution]:
    """Yield the solution for each regularizer, until `callback` stops a solve.

    A `PathSolver` implements this itself. With other solvers, each solve starts from
    the previous solution; if the exponent p of an lp-norm changes, it starts from the
    first solution with the previous p. So group regularizers by p, with decreasing
    strengths in each group. The regularizer of `problem` is not used.
    """
    if isinstance(solver, PathSolver):
        yield from solver.follow(problem, regularizers, init, callback)
        return
    for _, group in groupby(regularizers, exponent_of):
        start = init
        for k, regularizer in enumerate(group):
            step = replace(problem, regularizer=regularizer)
            start = solver.solve(step, start, callback)
            init = start if k == 0 else init
            yield start
            if start.status is Status.STOPPED:
                return


def continued(before: Solution | None, after: Solution) -> Solution:
    """Return `after` with the history and steps of its warm start `before` in front."""
    if before is None:
        return after
    last_line = before.history[-1]
    lines = [
        replace(
            line,
            iteration=last_line.iteration + line.iteration,
            seconds=last_line.seconds + line.seconds,
            passes=last_line.passes + line.passes,
            inner_steps=last_line.inner_steps + line.inner_steps,
        )
        for line in after.history
    ]
    # The first history line of `after` describes the last point of the warm start
    # again, so it replaces the last line of `before`.
    history = (*before.history[:-1], *lines)
    overlap = before.steps[-1:] == after.steps[:1]
    steps = before.steps + after.steps[overlap:]
    return replace(after, history=history, n_iter=len(history) - 1, steps=steps)


def reason_against_penalty(problem: Problem, name: str) -> str | None:
    """Return None if the penalty is a `SquaredBlockNorm`, else an error message."""
    if isinstance(problem.regularizer, SquaredBlockNorm):
        return None
    penalty_name = type(problem.regularizer).__name__
    return (
        f"{name} requires the penalty SquaredBlockNorm(alpha, p), got {penalty_name}. "
        f"Pass this penalty, or use a solver for {penalty_name}."
    )


def exponent_of(regularizer: BlockRegularizer) -> float:
    """Return p of a `SquaredBlockNorm`, or 1 for any other penalty."""
    return regularizer.p if isinstance(regularizer, SquaredBlockNorm) else 1.0


def follow_problems(
    solver: Solver,
    problems: Sequence[Problem],
    penalties: Iterable[Sequence[BlockRegularizer | None]],
    starts: Sequence[Solution | None],
    callback: Callback | None = None,
) -> Iterator[list[Solution | None]]:
    """Yield each step's solutions, one per problem; None for a skipped problem."""
    # Each item of `penalties` has one penalty per problem, and strengths should
    # decrease from item to item. A problem whose penalty is None is skipped from then
    # on, and its solution is None. A callback that stops the solve of one problem ends
    # the path for all. If `solver` solves one problem at a time, each problem has a
    # path, which reads its penalties from a queue; every step adds one to each queue.
    steps = iter(penalties)
    first_penalties = next(steps, None)
    if first_penalties is None:
        return
    steps = chain([first_penalties], steps)
    present = [penalty for penalty in first_penalties if penalty is not None]
    if isinstance(solver, ManySolver) and solver.supports_many(problems, present):
        yield from solver.follow_many(problems, steps, starts, callback)
        return
    queues: list[deque[BlockRegularizer]] = [deque() for _ in problems]
    paths = [
        follow(solver, problem, _drain(queue), start, callback)
        for problem, queue, start in zip(problems, queues, starts, strict=True)
    ]
    # The next penalties are read after the previous solutions are yielded.
    for step_penalties in steps:
        solutions: list[Solution | None] = []
        for path, queue, penalty in zip(paths, queues, step_penalties, strict=True):
            if penalty is not None:
                queue.append(penalty)
            solution = None if penalty is None else next(path, None)
            if solution is None and penalty is not None:
                return  # The solve for the previous penalty was stopped.
            solutions.append(solution)
        yield solutions


def _drain(penalties: "deque[BlockRegularizer]") -> Iterator[BlockRegularizer]:
    """Yield penalties from a queue that the caller refills, until it is empty."""
    while penalties:
        yield penalties.popleft()


def solve_path(
    problem: Problem,
    solver: Solver,
    alphas: Sequence[float] | Array,
    callback: Callback | None = None,
) -> list[Solution]:
    """Return the solution for each strength; each solve starts from the previous one.

    `alphas` are strengths for the summed loss of `Problem`, in any order; descending
    order is fastest. The strength of the problem's regularizer is not used. If
    `callback` stops a solve, the path ends.
    """
    regularizer = problem.regularizer
    penalties = [[regularizer.with_alpha(float(alpha))] for alpha in alphas]
    path = follow_problems(solver, [problem], penalties, [None], callback)
    return [solution for (solution,) in path if solution is not None]


def tolerance_of(solver: Any) -> float:
    """Return the relative gap at which a solver, or its inner solver, stops."""
    while not hasattr(solver, "tol"):
        solver = solver.solver
    return float(solver.tol)
