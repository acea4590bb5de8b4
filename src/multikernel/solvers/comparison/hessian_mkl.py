"""HessianMKL: sparse multiple kernel learning by Newton's method on the weights."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from multikernel._typing import Array
from multikernel.certificates import Expansion
from multikernel.gram.matrix import DenseMatrix
from multikernel.machines import SMO
from multikernel.machines.base import BoxCost
from multikernel.problem import Solution, Status
from multikernel.solvers.lp.weight_solver import (
    OraclePoint,
    Step,
    WeightOracle,
    WeightSolver,
    first_weights,
    moved_weights,
)


@dataclass(frozen=True)
class HessianMKL(WeightSolver):
    """Sparse multiple kernel learning by Newton steps on the weights, for comparison.

    Minimizes J, the optimal value of a machine (a learner for one kernel), over kernel
    weights with sum one (p = 1). The solution of the machine gives the Hessian of J in
    the weights (Chapelle and Rakotomamonjy, NIPS workshop on kernel learning, 2008). A
    quadratic program, solved by SMO, gives a Newton step, which is halved until J
    decreases enough. Each evaluation of J certifies the relative duality gap.
    """

    max_iter: int = 100

    sparse_only: ClassVar[bool] = True

    def _make_step(
        self, oracle: WeightOracle, init: Solution | None, expansion: Expansion | None
    ) -> Step:
        """Return a `Step` that starts at the weights of `init`, or at equal weights."""
        weights, point = first_weights(oracle, init), None

        def step() -> Status | None:
            """Evaluate J in the first call, and take a Newton step in later calls."""
            # STALLED means that no step decreases J.
            nonlocal point
            if point is None:
                point = oracle.evaluate(weights, self.tol)
                return None
            before, point = point, self._halved_newton_step(oracle, point)
            return Status.STALLED if point is before else None

        return step

    def _halved_newton_step(
        self, oracle: WeightOracle, point: OraclePoint
    ) -> OraclePoint:
        """Return the point after a Newton step, halved until J decreases enough."""
        hessian = oracle.hessian(point)
        direction = _newton_direction(point, hessian, 0.01 * self.tol)
        slope = float(point.gradient @ direction)
        for halving in range(20):
            step = 0.5**halving
            weights = moved_weights(point.weights, step * direction)
            moved = oracle.evaluate(weights, self.tol)
            if moved.value <= point.value + 1e-4 * step * slope:
                return moved
        return point


def _newton_direction(point: OraclePoint, hessian: Array, tol: float) -> Array:
    """Return the Newton step d, (n_kernels,), with weights + d in the simplex."""
    # d minimizes g^T d + d^T H d / 2 for the gradient g and the Hessian H of J.
    # Dividing by the largest derivative makes SMO's violations comparable to relative
    # gaps.
    weights, gradient = point.weights, point.gradient
    unit = max(float(np.abs(gradient).max()), 1e-300)
    # Equally good kernels make the Hessian singular.
    ridge = 1e-10 * max(float(np.trace(hessian)) / weights.size, unit)
    matrix = (hessian + ridge * np.eye(weights.size)) / unit
    program = BoxCost(-weights, np.ones_like(weights), gradient / unit)
    # This machine solves the quadratic program, which has one variable per kernel.
    machine = SMO(tol=tol, max_steps=1_000_000)
    fit = machine.fit(
        DenseMatrix(matrix), np.zeros_like(weights), program, fit_intercept=True
    )
    return fit.dual
