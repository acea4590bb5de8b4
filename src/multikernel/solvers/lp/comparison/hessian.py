"""HessianMKL: sparse multiple kernel learning by Newton's method on the weights."""

from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array
from multikernel.exceptions import UnsupportedProblemError
from multikernel.gram.dense import DenseMatrix
from multikernel.machines import SMO
from multikernel.problem import Callback, Problem, Solution
from multikernel.solvers.incumbent import Incumbent
from multikernel.solvers.lp.comparison.planes import reason_against_p
from multikernel.solvers.lp.comparison.simple import first_weights
from multikernel.solvers.lp.oracle import OraclePoint, WeightOracle
from multikernel.solvers.lp.weighted_machine import CACHE_BYTES, reason_against
from multikernel.solvers.recorder import metered

ARMIJO = 1e-4
HALVINGS = 20
QP_SHARE = 0.01  # of the tolerance: what the quadratic program may leave of the gap
QP_STEPS = 1_000_000
RIDGE = 1e-10
SNAP = 1e-12  # weights below this share of the largest one are zero


@dataclass(frozen=True)
class HessianMKL:
    r"""Sparse multiple kernel learning by Newton steps on the kernel weights.

    The algorithm of [1]_ with p = 1: at a machine's solution the optimal value J has a
    Hessian in the kernel weights; a quadratic program over the simplex gives the
    Newton step, and the step is halved until J has fallen enough. The quadratic
    program has a box and one equation, so SMO solves it as well.

    Parameters
    ----------
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int, default=100
        Newton steps at most.
    cache_bytes : int, default=1_000_000_000
        Memory for rows of a combined kernel that is too large to be held.

    References
    ----------
    .. [1] Chapelle, Rakotomamonjy (2008). Second order optimization of kernel
       parameters. NIPS workshop on kernel learning.
    """

    tol: float = 1e-3
    max_iter: int = 100
    cache_bytes: int = CACHE_BYTES

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this solver cannot treat the problem, or None if it can."""
        name = "HessianMKL"
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
            Called with a `Progress` after each Newton step; True stops.

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
        tracker = Incumbent(*metered(problem, callback))
        weights = first_weights(tracker, init)
        status = tracker.status(self.tol, self.max_iter)
        oracle = WeightOracle(tracker, self.cache_bytes)
        point: OraclePoint | None = None
        while status is None:
            if point is None:
                point = oracle.evaluate(weights, self.tol)
            else:
                point = self._step(oracle, point)
            tracker.record()
            status = tracker.status(self.tol, self.max_iter)
        return tracker.solution(status)

    def _step(self, oracle: WeightOracle, point: OraclePoint) -> OraclePoint:
        """Make a Newton step, halved until the value has fallen enough."""
        hessian = oracle.hessian(point)
        direction = _newton_direction(point, hessian, QP_SHARE * self.tol)
        slope = float(point.gradient @ direction)
        step, moved = 1.0, point
        for _ in range(HALVINGS):
            weights = np.maximum(point.weights + step * direction, 0.0)
            weights[weights <= SNAP * weights.max()] = 0.0
            moved = oracle.evaluate(weights / weights.sum(), self.tol)
            if moved.value <= point.value + ARMIJO * step * slope:
                break
            step *= 0.5
        return moved


def _newton_direction(point: OraclePoint, hessian: Array, tol: float) -> Array:
    """Minimise g^T d + d^T H d / 2 over weights + d in the simplex.

    In units of the largest derivative, as here, a violation is one of the relative gap.
    """
    weights, gradient = point.weights, point.gradient
    unit = max(float(np.abs(gradient).max()), 1e-300)
    ridge = RIDGE * max(float(np.trace(hessian)) / weights.size, unit)
    matrix = (hessian + ridge * np.eye(weights.size)) / unit
    program = _SimplexProgram(weights, gradient / unit)
    machine = SMO(tol=tol, max_steps=QP_STEPS)
    fit = machine.fit(
        DenseMatrix(matrix), np.zeros_like(weights), program, fit_intercept=True
    )
    return fit.dual


@dataclass(frozen=True, eq=False)
class _SimplexProgram:
    """A linear cost on moves that keep weights in the simplex, in the form of a loss.

    Its conjugate at -d is gradient^T d on -weights <= d <= 1.
    """

    weights: Array
    costs: Array

    def value(self, y: Array, f: Array) -> Array:
        """Return the largest -(f + costs) d."""
        slope = -(f + self.costs)
        return np.maximum(slope, -slope * self.weights)

    def gradient(self, y: Array, f: Array) -> Array:
        """Return minus the maximising d."""
        return np.where(f + self.costs < 0.0, -1.0, self.weights)

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return costs d at d = -u, infinity outside the domain."""
        inside = (u >= -1.0) & (u <= self.weights)
        return np.where(inside, -self.costs * u, np.inf)

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        """Return the domain of the conjugate."""
        return np.full_like(self.weights, -1.0), self.weights

    def dual_pieces(self, y: Array) -> tuple[Array, Array, Array]:
        """Return a piece for moves upwards, u = -d, and one for those downwards."""
        one = np.ones_like(self.weights)
        return (
            np.stack([-one, one]),
            np.stack([self.costs, -self.costs]),
            np.stack([one, self.weights]),
        )
