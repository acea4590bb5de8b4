"""SimpleMKL: sparse multiple kernel learning by reduced gradients on the weights."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from multikernel._typing import Array
from multikernel.exceptions import UnsupportedProblemError
from multikernel.problem import Callback, Problem, Solution, Status
from multikernel.solvers.incumbent import Incumbent
from multikernel.solvers.lp.comparison.planes import reason_against_p
from multikernel.solvers.lp.oracle import OraclePoint, WeightOracle
from multikernel.solvers.lp.weighted_machine import (
    CACHE_BYTES,
    SMALLEST_GAP,
    reason_against,
)
from multikernel.solvers.recorder import metered

# Of the line search, relative to its longest step: finer where nothing was found.
STEP_TOLERANCES = (1e-2, 1e-4, 1e-6, 1e-8)
PRECISION = 0.01  # of the tolerance, to which values are compared at first
SHARPENING = 0.1  # of the precision, where no step lowers the value
ROUNDING = 1e-13  # relative fall of the value that is none
SNAP = 1e-9  # weights below this share of the largest one are zero


@dataclass(frozen=True)
class SimpleMKL:
    r"""Sparse multiple kernel learning by descent on the kernel weights.

    The algorithm of [1]_ with p = 1: the reduced gradient of the optimal value on the
    simplex gives a direction; it is followed, component after component leaving, for
    as long as the value falls at its end, and then searched by golden sections. Each
    value is a machine run to full precision. For comparison: `InterleavedNewton`
    needs far fewer runs.

    Parameters
    ----------
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int, default=5000
        Moves at most; a gradient step is one for every component that leaves.
    cache_bytes : int, default=1_000_000_000
        Memory for rows of a combined kernel that is too large to be held.

    References
    ----------
    .. [1] Rakotomamonjy, Bach, Canu, Grandvalet (2008). SimpleMKL. JMLR 9, 2491-2521.
    """

    tol: float = 1e-3
    max_iter: int = 5000
    cache_bytes: int = CACHE_BYTES

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this solver cannot treat the problem, or None if it can."""
        name = "SimpleMKL"
        return reason_against(problem, name) or reason_against_p(problem, name)

    def solve(
        self,
        problem: Problem,
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Solution:
        """Solve the problem.

        Parameters
        ----------
        problem : Problem
            With a `SquaredBlockNorm` of p = 1 and one-dimensional targets.
        init : Solution, optional
            A warm start, for example the solution for a near-by alpha.
        callback : callable, optional
            Called with a `Progress` after each move; True stops.

        Returns
        -------
        solution : Solution

        Raises
        ------
        UnsupportedProblemError
            If `unsupported` gives a reason.
        IndefiniteKernelError
            If a kernel matrix is found to be not positive semidefinite.
        """
        reason = self.unsupported(problem)
        if reason is not None:
            raise UnsupportedProblemError(reason)
        # The value may fall for long before the gap shows it: the search tells when it
        # does not any more.
        tracker = Incumbent(*metered(problem, callback), patience=self.max_iter)
        weights = first_weights(tracker, init)
        status = tracker.status(self.tol, self.max_iter)
        search = _Search(WeightOracle(tracker, self.cache_bytes), PRECISION * self.tol)
        while status is None:
            search.step(weights)
            tracker.record()
            status = tracker.status(self.tol, self.max_iter)
            if status is None and search.precision < SMALLEST_GAP:
                status = Status.STALLED
        return tracker.solution(status)


@dataclass
class _Search:
    """Where the descent is, and where it is heading."""

    oracle: WeightOracle
    precision: float
    point: OraclePoint | None = None
    direction: Array | None = None

    def step(self, weights: Array) -> None:
        """Go as far along the direction as it leads down, or evaluate first weights."""
        if self.point is None:
            self.point = self.oracle.evaluate(weights, self.precision)
            return
        point, direction = self.point, self.direction
        renewed = direction is None
        if direction is None:
            direction = _descent_direction(point.weights, point.gradient)
        longest = _longest_step(point.weights, direction)
        self.direction = None
        end = self._evaluate(direction, longest) if longest > 0.0 else point
        if end.value >= point.value:
            self.point = self._line_search(direction, longest)
            fall = point.value - self.point.value
            if renewed and fall <= ROUNDING * abs(point.value):
                self._sharpen(point)
            return
        # The components that have reached zero leave; the largest one makes up.
        direction = np.where(end.weights > 0.0, direction, 0.0)
        largest = int(np.argmax(end.weights))
        direction[largest] -= direction.sum()
        self.point, self.direction = end, direction

    def _sharpen(self, point: OraclePoint) -> None:
        """Look at a point more closely: its gradient has led nowhere.

        Values are found from below, so one that is not exact enough looks too good.
        """
        self.precision *= SHARPENING
        self.point = self.oracle.evaluate(point.weights, self.precision)

    def _evaluate(self, direction: Array, step: float) -> OraclePoint:
        assert self.point is not None
        weights = _moved(self.point.weights, direction, step)
        return self.oracle.evaluate(weights, self.precision)

    def _line_search(self, direction: Array, longest: float) -> OraclePoint:
        """Return the best point along a direction, by golden sections."""
        assert self.point is not None
        if longest == 0.0:
            return self.point
        visited = [self.point]

        def value(step: float) -> float:
            visited.append(self._evaluate(direction, step))
            return visited[-1].value

        for tolerance in STEP_TOLERANCES:
            minimize_scalar(
                value,
                bounds=(0.0, longest),
                method="bounded",
                options={"xatol": tolerance * longest},
            )
            best = min(visited, key=lambda point: point.value)
            if best is not self.point:
                break
        return best


def first_weights(tracker: Incumbent, init: Solution | None) -> Array:
    """Start the tracker, and return the weights of a solution, or equal ones."""
    tracker.start(init)
    n_kernels = tracker.problem.gram.shape[0]
    if init is not None and init.kernel_weights.any():
        return np.asarray(init.kernel_weights / init.kernel_weights.sum())
    return np.full(n_kernels, 1.0 / n_kernels)


def _descent_direction(weights: Array, gradient: Array) -> Array:
    """Return minus the reduced gradient, feasible at zero weights (eq. 12 of [1])."""
    largest = int(np.argmax(weights))
    reduced = gradient - gradient[largest]
    direction = np.where((weights > 0.0) | (reduced < 0.0), -reduced, 0.0)
    direction[largest] = 0.0
    direction[largest] = -direction.sum()
    return direction


def _longest_step(weights: Array, direction: Array) -> float:
    """Return how far the weights stay non-negative; 0 where there is no way down."""
    falling = direction < 0.0
    if not falling.any():
        return 0.0
    return float(np.min(-weights[falling] / direction[falling]))


def _moved(weights: Array, direction: Array, step: float) -> Array:
    """Return the weights a step further, on the simplex."""
    moved = np.maximum(weights + step * direction, 0.0)
    moved[moved <= SNAP * moved.max()] = 0.0
    return np.asarray(moved / moved.sum())
