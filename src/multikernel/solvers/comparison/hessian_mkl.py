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
from multikernel.solvers.lp.oracle import OraclePoint, WeightOracle
from multikernel.solvers.lp.weight_solver import (
    Step,
    WeightSolver,
    first_weights,
    moved_weights,
)


@dataclass(frozen=True)
class Settings:
    """What tunes HessianMKL."""

    armijo: float = 1e-4
    """Share of the fall that the slope promises which has to come: the customary
    one."""

    halvings: int = 20
    """A step is halved so often at most: a millionth of it changes nothing that the gap
    could show."""

    qp_share: float = 0.01
    """Share of the tolerance that the quadratic program may leave of the gap."""

    qp_steps: int = 1_000_000
    """SMO makes this many steps at most, for a program with one variable per kernel."""

    ridge: float = 1e-10
    """This share of the Hessian's mean diagonal is added to it, as kernels that tie
    leave it singular."""


SETTINGS = Settings()


@dataclass(frozen=True)
class HessianMKL(WeightSolver):
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
        Memory for entries of a combined kernel that is not held as an array.

    References
    ----------
    .. [1] Chapelle, Rakotomamonjy (2008). Second order optimization of kernel
       parameters. NIPS workshop on kernel learning.
    """

    max_iter: int = 100

    sparse_only: ClassVar[bool] = True

    def _make_step(
        self, oracle: WeightOracle, init: Solution | None, expansion: Expansion | None
    ) -> Step:
        """Begin at the weights of a solution, or at equal ones."""
        weights, point = first_weights(oracle, init), None

        def step() -> Status | None:
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
        """Make a Newton step, halved until the value has fallen enough.

        Returns the same point where none does: values are no more exact than that.
        """
        hessian = oracle.hessian(point)
        direction = _newton_direction(point, hessian, SETTINGS.qp_share * self.tol)
        slope = float(point.gradient @ direction)
        for halving in range(SETTINGS.halvings):
            step = 0.5**halving
            weights = moved_weights(point.weights, step * direction)
            moved = oracle.evaluate(weights, self.tol)
            if moved.value <= point.value + SETTINGS.armijo * step * slope:
                return moved
        return point


def _newton_direction(point: OraclePoint, hessian: Array, tol: float) -> Array:
    """Minimise g^T d + d^T H d / 2 over weights + d in the simplex.

    In units of the largest derivative, as here, a violation is one of the relative gap.
    """
    weights, gradient = point.weights, point.gradient
    unit = max(float(np.abs(gradient).max()), 1e-300)
    ridge = SETTINGS.ridge * max(float(np.trace(hessian)) / weights.size, unit)
    matrix = (hessian + ridge * np.eye(weights.size)) / unit
    program = BoxCost(-weights, np.ones_like(weights), gradient / unit)
    machine = SMO(tol=tol, max_steps=SETTINGS.qp_steps)
    fit = machine.fit(
        DenseMatrix(matrix), np.zeros_like(weights), program, fit_intercept=True
    )
    return fit.dual
