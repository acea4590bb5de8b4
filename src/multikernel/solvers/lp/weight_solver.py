"""Solvers that run a machine at a sequence of kernel weights.

For kernel weights theta and strength alpha, the optimal value of a machine is J(theta)
= max_rho -sum_i l*(y_i, -rho_i) - sum_m theta_m rho^T K_m rho / (2 alpha), with the
conjugate l* of the loss. J is convex, with derivatives -rho^T K_m rho / (2 alpha) at
the best rho.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from multikernel._typing import Array
from multikernel.certificates import Expansion, check_forms, model_of_multiples
from multikernel.certificates.incumbent import Incumbent
from multikernel.certificates.progress import Patience
from multikernel.gram.matrix import GramMatrix
from multikernel.machines import warm_start
from multikernel.problem import Callback, Problem, Solution, Status
from multikernel.solvers.base import exponent_of, incumbents
from multikernel.solvers.machine_runs import (
    CACHE_BYTES,
    feasible,
    fit_machine,
    machine_for_gap,
    reason_against,
    weight_hessian,
)

Step = Callable[[], Status | None]


@dataclass(frozen=True, eq=False)
class OraclePoint:
    """Value of a machine's optimum J at kernel weights, its dual point and gradient."""

    weights: Array  # theta
    matrix: GramMatrix  # sum_m theta_m K_m / alpha
    rho: Array  # a feasible dual point
    forms: Array  # rho^T K_m rho
    conjugate: float  # -sum_i l*(y_i, -rho_i)
    alpha: float

    @property
    def value(self) -> float:
        """A lower bound on the machine's optimum: the dual objective at rho."""
        return self.conjugate + float(self.weights @ self.gradient)

    @property
    def gradient(self) -> Array:
        """The derivatives of the optimum J in the weights, shape (n_kernels,)."""
        return self.forms / (-2.0 * self.alpha)


@dataclass
class WeightOracle:
    """Evaluates a machine's optimum J at kernel weights, and updates `incumbent`."""

    incumbent: Incumbent
    cache_bytes: int
    last_rho: Array | None = None

    @property
    def problem(self) -> Problem:
        """The problem of the incumbent."""
        return self.incumbent.problem

    def evaluate(self, weights: Array, gap: float) -> OraclePoint:
        """Evaluate the optimum J at weights, with a relative error far below `gap`."""
        problem, incumbent = self.problem, self.incumbent
        alpha, recorder = problem.regularizer.alpha, incumbent.recorder
        # An evaluation costs one weighted sum of the kernels, and one pass for forms.
        matrix = problem.gram.combine(weights / alpha)
        machine = machine_for_gap(
            problem, gap, incumbent.model.objective, self.cache_bytes
        )
        b = incumbent.model.intercept
        start = None
        if self.last_rho is not None:
            start = warm_start(matrix, self.last_rho, intercept=b)
        fit = fit_machine(machine, problem, matrix, start)
        rho, f = feasible(problem, matrix, fit)
        forms = problem.gram.quadratic_forms(rho)
        check_forms(problem.gram, forms, rho)
        forms = np.maximum(forms, 0.0)
        recorder.inner_steps += fit.n_steps
        self.last_rho = rho
        incumbent.offer(model_of_multiples(problem, rho, weights / alpha, forms, f))
        incumbent.offer_dual(rho, forms)
        conjugate = -float(problem.loss.conjugate(problem.y, -rho).sum())
        return OraclePoint(weights, matrix, rho, forms, conjugate, alpha)

    def hessian(self, point: OraclePoint) -> Array:
        """Return the Hessian of J in the kernel weights, (n_kernels, n_kernels)."""
        # The class defines J. The problem must have one output. The Hessian costs one
        # pass over the kernels and one factorization.
        images = self.problem.gram.matvec(point.rho)
        hessian = weight_hessian(self.problem, point.matrix, point.rho, images)
        return hessian / point.alpha**2


@dataclass(frozen=True)
class WeightSolver(ABC):
    """A solver that searches for kernel weights, and runs a machine at each of them."""

    tol: float = 1e-3  # relative duality gap at which to stop
    max_iter: int = 500
    cache_bytes: int = CACHE_BYTES  # limit for combined kernels that are not arrays

    sparse_only: ClassVar[bool] = False
    """Whether the method only supports p = 1."""

    patience: ClassVar[int] = Patience.limit
    """Number of iterations without progress after which the solver stops."""

    progress: ClassVar[float] = Patience.share
    """Smallest relative decrease of the gap that counts as progress."""

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this solver cannot solve the problem, or None if it can."""
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
        penalties = [problem.regularizer]
        incumbent = next(incumbents(self, problem, penalties, callback, *patience))
        expansion = incumbent.start(init)
        oracle = WeightOracle(incumbent, self.cache_bytes)
        step = self._make_step(oracle, init, expansion)
        return incumbent.run(step, self.tol, self.max_iter)

    @abstractmethod
    def _make_step(
        self, oracle: WeightOracle, init: Solution | None, expansion: Expansion | None
    ) -> Step:
        """Return the function that takes a step; `expansion` is that of `init.dual`."""


def reason_against_p(problem: Problem, name: str) -> str | None:
    """Return an error message, or None if the problem has p = 1."""
    p = exponent_of(problem.regularizer)
    return None if p == 1.0 else f"{name} needs p = 1, got p = {p:g}."


def first_weights(oracle: WeightOracle, init: Solution | None) -> Array:
    """Return the weights of a solution, or equal weights, scaled to a sum of one."""
    if init is not None and init.kernel_weights.any():
        return np.asarray(init.kernel_weights / init.kernel_weights.sum())
    n_kernels = oracle.problem.gram.shape[0]
    return np.full(n_kernels, 1.0 / n_kernels)


def moved_weights(weights: Array, move: Array) -> Array:
    """Return the weights after a move, clipped at zero and scaled to a sum of one."""
    moved = np.maximum(weights + move, 0.0)
    # Steps that end at the boundary leave small weights, because of rounding.
    moved[moved <= 1e-12 * moved.max()] = 0.0
    return np.asarray(moved / moved.sum())
