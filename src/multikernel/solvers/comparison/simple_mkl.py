"""SimpleMKL: sparse multiple kernel learning by reduced gradients on the weights."""

import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from multikernel._typing import Array
from multikernel.certificates import Expansion
from multikernel.problem import Solution, Status
from multikernel.solvers.lp.weight_solver import (
    OraclePoint,
    Step,
    WeightOracle,
    WeightSolver,
    first_weights,
    moved_weights,
)
from multikernel.solvers.machine_runs import FIRST_GAP, SMALLEST_GAP


@dataclass(frozen=True)
class SimpleMKL(WeightSolver):
    """Sparse multiple kernel learning by descent on the kernel weights, for comparison.

    Minimizes J, the optimal value of a machine (a learner for one kernel), over kernel
    weights with sum one (p = 1) along reduced gradients (Rakotomamonjy et al., JMLR 9,
    2008, eq. 12). Each step goes to the point where the first weight becomes zero, and
    continues without that kernel while J falls. Then a line search uses secants (golden
    sections in the paper). Every evaluation of J runs the machine and certifies the
    relative duality gap; `InterleavedNewton` needs far fewer runs.
    """

    max_iter: int = 5000  # gradient steps, each with several runs of the machine

    sparse_only: ClassVar[bool] = True
    # The optimal value may decrease long before the gap does, so `step` itself detects
    # when the value no longer decreases.
    patience: ClassVar[int] = sys.maxsize

    def _make_step(
        self, oracle: WeightOracle, init: Solution | None, expansion: Expansion | None
    ) -> Step:
        """Return a `Step` that starts at the weights of `init`, or at equal weights."""
        return _ReducedGradient(oracle, self.tol, first_weights(oracle, init)).step


@dataclass
class _ReducedGradient:
    """State of the reduced gradient descent on the kernel weights."""

    oracle: WeightOracle
    tol: float
    start_weights: Array
    share: float = 0.01  # gap of machine runs, divided by the gap of the search
    point: OraclePoint | None = None

    def step(self) -> Status | None:
        """Evaluate J in the first call, and take a gradient step in later calls."""
        # J is the optimal value of the machine, see `SimpleMKL`. The result is STALLED
        # if no step decreases J, even at the smallest tolerance, otherwise None.
        if self.point is None:
            self.point = self.oracle.evaluate(self.start_weights, self.precision)
            return None
        # The first loop follows the direction while J falls at the point where the next
        # weight becomes zero. A line search then continues from the last such point.
        start = point = self.point
        direction = _descent_direction(point.weights, point.gradient)
        while True:
            longest = _longest_step(point.weights, direction)
            end = self._evaluate(point, direction, longest) if longest > 0.0 else point
            if end.value >= point.value:
                break
            # The direction becomes zero at weights that have reached zero; the largest
            # weight compensates.
            direction = np.where(end.weights > 0.0, direction, 0.0)
            largest = int(np.argmax(end.weights))
            direction[largest] -= direction.sum()
            point = end
        candidate = self._line_search(point, direction, longest, end)
        if start.value - candidate.value <= 1e-13 * abs(start.value):
            # Evaluate J at the same weights again, with a tenth of the tolerance.
            self.share *= 0.1
            candidate = self.oracle.evaluate(candidate.weights, self.precision)
        self.point = candidate
        return Status.STALLED if self.precision < SMALLEST_GAP else None

    @property
    def precision(self) -> float:
        """The relative gap that the machine must reach."""
        return self.share * max(self.tol, min(self.oracle.incumbent.gap, FIRST_GAP))

    def _evaluate(self, start: OraclePoint, move: Array, step: float) -> OraclePoint:
        """Evaluate the optimum J at the weights of `start` plus `step` * `move`."""
        weights = moved_weights(start.weights, step * move)
        return self.oracle.evaluate(weights, self.precision)

    def _line_search(
        self, start: OraclePoint, direction: Array, longest: float, end: OraclePoint
    ) -> OraclePoint:
        """Return a point along `direction` where the slope of J is near zero."""
        # Secants bracket the minimum by `low`, where the slope of J along the direction
        # is negative, and `high`, where it is positive.
        best, low, high, last = start, 0.0, longest, np.nan
        first = slope_low = float(start.gradient @ direction)
        slope_high = float(end.gradient @ direction)
        for _ in range(30 if first < 0.0 < longest else 0):
            share = slope_low / (slope_low - slope_high) if slope_high > 0.0 else 0.5
            step = low + float(np.clip(share, 0.01, 1.0 - 0.01)) * (high - low)
            candidate = self._evaluate(start, direction, step)
            slope = float(candidate.gradient @ direction)
            if candidate.value < best.value:
                best = candidate
            flat = abs(slope) <= 0.3 * abs(first) or high - low <= 0.01 * high
            if flat and best is not start:
                break
            # If the same end of the bracket stays twice in a row, the Illinois rule
            # halves the slope there.
            if slope < 0.0:
                slope_high *= 0.5 if low == last else 1.0
                last, low, slope_low = step, step, slope
            else:
                slope_low *= 0.5 if high == last else 1.0
                last, high, slope_high = step, step, slope
        return best


def _descent_direction(weights: Array, gradient: Array) -> Array:
    """Return minus the reduced gradient, feasible at zero weights (paper's eq. 12)."""
    largest = int(np.argmax(weights))
    reduced = gradient - gradient[largest]
    direction = np.where((weights > 0.0) | (reduced < 0.0), -reduced, 0.0)
    direction[largest] = 0.0
    direction[largest] = -direction.sum()
    return direction


def _longest_step(weights: Array, direction: Array) -> float:
    """Return the longest step that keeps weights nonnegative; 0 if none decreases."""
    falling = direction < 0.0
    if not falling.any():
        return 0.0
    return float(np.min(-weights[falling] / direction[falling]))
