"""Refits on the sum of the selected kernels, each started from the previous one."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular

from multikernel._typing import Array
from multikernel.certificates import relative_gap
from multikernel.exceptions import ConvergenceWarning, warn_user
from multikernel.gram.factors.low_rank import LowRankStack, low_rank_form
from multikernel.gram.matrix import GramMatrix
from multikernel.losses.base import Loss
from multikernel.losses.weighted import (
    WeightedLoss,
    is_squared,
    weighted,
    weights_of,
    without_weights,
)
from multikernel.machines import SMO, KernelMachine, MachineFit
from multikernel.problem import Problem, half_range


@dataclass(frozen=True, eq=False)
class Whitening:
    """Map that removes sample weights and intercept from a least-squares fit."""

    # Let S = diag(w)^(1/2), and P the projection orthogonal to the unit vector u along
    # S 1. Minimizing sum_i w_i (r_i - g(x_i) - b)^2 + c |g|^2 over g and b is
    # equivalent to a ridge regression without weights and intercept, with the targets
    # P S r and the kernel P S K S P. Without weights S = I and P centers, so the
    # selection uses centered kernels. Vectors are rows.

    scale: Array | None  # diagonal of S; None means ones
    direction: Array | None  # the unit vector u; None without an intercept

    def project(self, rows: Array) -> Array:
        """Project rows, (..., n_samples), orthogonally to `direction`, in place."""
        if self.direction is not None:
            rows -= (rows @ self.direction)[..., None] * self.direction
        return rows

    def scaled(self, rows: Array) -> Array:
        """Return the rows times the square roots of the sample weights."""
        return rows if self.scale is None else rows * self.scale

    def residual_rows(self, rho: Array) -> Array:
        """Return the whitened residual, one row for each output, from a dual point."""
        # With weights the dual point is W r = S (S r); r is y - f for the squared loss.
        rows = np.array(rho.T if rho.ndim == 2 else rho[None], order="C")
        if self.scale is not None:
            rows /= self.scale
        return self.project(rows)


def whitening(problem: Problem) -> Whitening:
    """Return the `Whitening` for the sample weights and the intercept of a problem."""
    n_samples = problem.y.shape[0]
    loss = problem.loss
    scale = np.sqrt(loss.weights) if isinstance(loss, WeightedLoss) else None
    direction = None
    if problem.fit_intercept:
        direction = np.ones(n_samples) if scale is None else scale
        direction = direction / np.linalg.norm(direction)
    return Whitening(scale, direction)


REFIT_GAP = 1e-4
"""Largest relative gap of a refit. With SMO's default tolerance, 23 of the first 800
problems of `make attack` (SMO refits about 60) had gaps above 2e-3, up to 1."""


@dataclass(frozen=True, eq=False)
class Fit:
    """Model of a refit, with the same expansion for all selected kernels."""

    coefs: Array  # alpha times this is the dual point
    intercept: Array
    objective: float  # primal, with the summed loss of `Problem`


def refit_for(problem: Problem, machine: KernelMachine) -> "FactorRefit | MachineRefit":
    """Return a `FactorRefit` for the squared loss on factors, else a `MachineRefit`."""
    # The ``alpha`` of the problem's regularizer is the ridge.
    factors = low_rank_form(problem.gram)
    if factors is not None and is_squared(problem.loss):
        return FactorRefit(problem, factors)
    return MachineRefit(problem, machine)


class MachineRefit:
    """Refits by a warm-started machine on the sum of the selected kernels."""

    # Adding a kernel of full rank changes the whole factorization, so a closed-form
    # machine factorizes again, O(n^3 / 3). An iterative machine starts at the old dual
    # variable, whose decision values change by one product with the new kernel.

    def __init__(self, problem: Problem, machine: KernelMachine) -> None:
        if isinstance(machine, SMO):
            # SMO's tolerance is in the unit of the targets, so it scales with these.
            machine = replace(machine, tol=machine.tol * half_range(problem.y))
        self.problem, self.machine = problem, machine
        # Machines solve problems of strength one, so the loss is divided by alpha.
        self.loss = _scaled(problem.loss, 1.0 / problem.regularizer.alpha, problem.y)
        self.weights = np.zeros(problem.gram.shape[0])
        self.total = problem.gram.combine(self.weights)
        self.fit: MachineFit | None = None

    def add(self, kernel: int) -> Fit:
        """Add a kernel to the sum, and return the new fit."""
        problem = self.problem
        new = self._grow(kernel)
        start = self.fit
        if start is not None:
            start = replace(start, f=start.f + new.matvec(start.dual))
        self.fit = self._exact_fit(start)
        smooth = self.fit.f - _like(self.fit.intercept, problem.y)  # K dual
        penalty = (
            0.5 * problem.regularizer.alpha * float(np.sum(self.fit.dual * smooth))
        )
        losses = problem.loss.value(problem.y, self.fit.f)
        return Fit(self.fit.dual, self.fit.intercept, float(losses.sum()) + penalty)

    def _exact_fit(self, start: MachineFit | None) -> MachineFit:
        """Return a fit with a small duality gap; warn if the gap stays large."""
        # The tolerance of SMO limits margins, not the gap, so kernels and strengths far
        # from one may need a smaller tolerance.
        machine = self.machine
        fit, gap = self._run(machine, start)
        for _ in range(8):
            if gap <= REFIT_GAP or not isinstance(machine, SMO) or not fit.converged:
                break
            machine = replace(machine, tol=0.1 * machine.tol)
            fit, gap = self._run(machine, fit)
        if not fit.converged or gap > REFIT_GAP:
            warn_user(
                f"The refit on {int(self.weights.sum())} kernels stopped at a "
                f"relative duality gap of {gap:.2g}. Increase alpha, or scale the "
                "kernels to comparable size.",
                ConvergenceWarning,
            )
        return fit

    def _run(
        self, machine: KernelMachine, start: MachineFit | None
    ) -> tuple[MachineFit, float]:
        """Return a fit on the sum of the kernels, and its relative duality gap."""
        y, free = self.problem.y, self.problem.fit_intercept
        fit = machine.fit(self.total, y, self.loss, fit_intercept=free, init=start)
        # Rounding errors of steps accumulate in f; the objective must belong to the
        # model.
        smooth = self.total.matvec(fit.dual)
        fit = replace(fit, f=smooth + _like(fit.intercept, y))
        primal = float(self.loss.value(y, fit.f).sum())
        primal += 0.5 * float(np.sum(fit.dual * smooth))
        return fit, relative_gap(primal, fit.objective)

    def _grow(self, kernel: int) -> GramMatrix:
        """Add a kernel to the running sum; return the matrix of the kernel."""
        only = np.zeros(self.weights.size)
        only[kernel] = self.weights[kernel] = 1.0
        new = self.problem.gram.combine(only)
        if self.total.array is not None and new.array is not None:
            total = self.total.array  # changed in place
            total += new.array
        else:
            self.total = self.problem.gram.combine(self.weights)
        return new


class FactorRefit:
    """Ridge refits on kernels of low rank, by adding rows to a Cholesky factor."""

    # Let V be the whitened factors of the selected kernels side by side, c the ridge
    # and z the whitened targets. The fitted values are V t with
    # (V^T V + c I) t = V^T z. A new kernel only adds rows to the Cholesky factor L and
    # to L^-1 V^T z. The cost is O(n R r) for R old columns and r new ones.

    def __init__(self, problem: Problem, stack: LowRankStack) -> None:
        self.problem, self.stack = problem, stack
        self.whitening = whitening(problem)
        y = problem.y.T if problem.y.ndim == 2 else problem.y[None]
        self.scaled_y = np.array(self.whitening.scaled(y))
        self.targets = self.whitening.project(self.scaled_y.copy())
        n_outputs, n_samples = self.targets.shape
        # V^T, the products of unprojected columns of V with the unit vector u (see
        # `Whitening`), L, and L^-1 V^T z.
        self.factors = np.empty((0, n_samples))
        self.means = np.empty(0)
        self.cholesky = np.empty((0, 0))
        self.half_solution = np.empty((0, n_outputs))

    def add(self, kernel: int) -> Fit:
        """Add a kernel to the sum, and return the new fit."""
        self._append(kernel)
        alpha = self.problem.regularizer.alpha
        # t of the class's formulas, one column for each output.
        inner = solve_triangular(
            self.cholesky, self.half_solution, lower=True, trans="T"
        )
        residual = self.targets - inner.T @ self.factors
        # The squared norm of the function V t is t^T t, with t = `inner`.
        objective = 0.5 * float(np.sum(residual**2)) + 0.5 * alpha * float(
            np.sum(inner**2)
        )
        coefs = self.whitening.scaled(residual) / alpha
        shape = self.problem.y.T.shape
        return Fit(coefs.reshape(shape).T.copy(), self._intercept(inner), objective)

    def _append(self, kernel: int) -> None:
        """Append a kernel to the stored factors and to their Cholesky factor."""
        part = slice(self.stack.offsets[kernel], self.stack.offsets[kernel + 1])
        raw = np.array(self.whitening.scaled(self.stack.factors[:, part].T))
        new = self.whitening.project(raw.copy())
        size, rank = len(self.factors), len(new)
        # The Cholesky factor of [[A, B], [B^T, C]] is [[L, 0], [below^T, root]] with A
        # = L L^T, below = L^-1 B and root root^T = C - below^T below.
        below = solve_triangular(self.cholesky, self.factors @ new.T, lower=True)
        corner = new @ new.T - below.T @ below
        corner.reshape(-1)[:: rank + 1] += self.problem.regularizer.alpha
        root = np.linalg.cholesky(corner)
        half_solution = solve_triangular(
            root, new @ self.targets.T - below.T @ self.half_solution, lower=True
        )
        self.factors = np.vstack([self.factors, new])
        self.cholesky = np.block(
            [[self.cholesky, np.zeros((size, rank))], [below.T, root]]
        )
        self.half_solution = np.vstack([self.half_solution, half_solution])
        if self.whitening.direction is not None:
            self.means = np.append(self.means, raw @ self.whitening.direction)

    def _intercept(self, inner: Array) -> Array:
        """Return the intercept: the weighted mean of targets minus kernel terms."""
        direction = self.whitening.direction
        if direction is None:
            return np.zeros(self.scaled_y.shape[0])
        # As u = S 1 / |S 1|, a weighted mean is the product with u, divided by |S 1|.
        length = np.sqrt(direction.size)
        if self.whitening.scale is not None:
            length = np.linalg.norm(self.whitening.scale)
        return np.asarray((self.scaled_y @ direction - self.means @ inner) / length)


def _scaled(loss: Loss, factor: float, y: Array) -> Loss:
    """Return the loss multiplied by a constant."""
    # Only the length of `y` is used: a loss without weights gets one for each sample.
    return weighted(without_weights(loss), factor * weights_of(loss, len(y)))


def _like(intercept: Array, y: Array) -> Array | float:
    """Return the intercept as a float or an array that broadcasts against y."""
    return float(intercept[0]) if y.ndim == 1 else intercept
