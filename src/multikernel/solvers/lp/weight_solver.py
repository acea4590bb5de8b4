"""What solvers that run a machine for kernel weights after kernel weights share."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from multikernel._typing import Array
from multikernel.certificates import Expansion
from multikernel.certificates.progress import Patience
from multikernel.exceptions import UnsupportedProblemError
from multikernel.machines import machine_for
from multikernel.problem import Callback, Problem, Solution, Status
from multikernel.regularizers.squared_block_norm import SquaredBlockNorm
from multikernel.solvers.base import exponent_of, incumbents
from multikernel.solvers.lp.oracle import WeightOracle
from multikernel.solvers.machine_runs import CACHE_BYTES

Step = Callable[[], Status | None]

LEFT = 1e-3
"""An iteration leaves at least this share of a weight. The form of a kernel of a large
scale may round to zero in a rough run of the machine, and a weight of zero is for ever:
one of twelve with scales from 1e8 to 6e13 left a gap of 0.18."""


@dataclass(frozen=True)
class WeightSolver(ABC):
    """A solver that looks for kernel weights, and runs a machine at each of them.

    Parameters
    ----------
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int, default=500
        Iterations at most; the default is each solver's own.
    cache_bytes : int, default=1_000_000_000
        Memory for entries of a combined kernel that is not held as an array.
    """

    tol: float = 1e-3
    max_iter: int = 500
    cache_bytes: int = CACHE_BYTES

    sparse_only: ClassVar[bool] = False
    """Whether the method is for p = 1."""

    patience: ClassVar[int] = Patience.limit
    """Iterations without progress before giving up."""

    progress: ClassVar[float] = Patience.share
    """Share of the gap that counts as progress."""

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this solver cannot treat the problem, or None if it can."""
        name = type(self).__name__
        reason = reason_against(problem, name)
        return reason or (reason_against_p(problem, name) if self.sparse_only else None)

    def solve(
        self,
        problem: Problem,
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Solution:
        """Solve the problem; see `Solver.solve`."""
        patience = self.patience, self.progress
        one = [problem.regularizer]
        tracker = next(incumbents(self, problem, one, callback, *patience))
        expansion = tracker.start(init)
        oracle = WeightOracle(tracker, self.cache_bytes)
        step = self._make_step(oracle, init, expansion)
        return tracker.run(step, self.tol, self.max_iter)

    @abstractmethod
    def _make_step(
        self, oracle: WeightOracle, init: Solution | None, expansion: Expansion | None
    ) -> Step:
        """Return the step of the method, which is yet to make the first one.

        The oracle runs the machine, and offers what it finds; the expansion belongs to
        the warm start's dual point.
        """


def reason_against(problem: Problem, name: str) -> str | None:
    """Return why a solver of this name cannot treat a problem, or None."""
    if not isinstance(problem.regularizer, SquaredBlockNorm):
        kind = type(problem.regularizer).__name__
        return f"{name} needs the regulariser SquaredBlockNorm, got {kind}."
    if problem.y.ndim != 1:
        return (
            f"{name} solves for one output at a time, and the targets have "
            f"{problem.y.shape[1]} columns: solve for each column, or use Alternating."
        )
    return reason_against_loss(problem)


def reason_against_loss(problem: Problem) -> str | None:
    """Return why no machine can treat the problem's loss, or None if one can."""
    try:
        machine_for(problem.loss)
    except UnsupportedProblemError as error:
        return str(error)
    return None


def reason_against_p(problem: Problem, name: str) -> str | None:
    """Return why a solver for p = 1 cannot treat a problem with `SquaredBlockNorm`."""
    p = exponent_of(problem.regularizer)
    return None if p == 1.0 else f"{name} is for p = 1, got p = {p:g}."


def first_weights(oracle: WeightOracle, init: Solution | None) -> Array:
    """Return the weights of a solution, or equal ones: in the simplex."""
    if init is not None and init.kernel_weights.any():
        return np.asarray(init.kernel_weights / init.kernel_weights.sum())
    n_kernels = oracle.problem.gram.shape[0]
    return np.full(n_kernels, 1.0 / n_kernels)


def moved_weights(weights: Array, move: Array) -> Array:
    """Return weights after a move, in the simplex."""
    moved = np.maximum(weights + move, 0.0)
    # Rounding leaves small weights in steps that end at the boundary.
    moved[moved <= 1e-12 * moved.max()] = 0.0
    return np.asarray(moved / moved.sum())
