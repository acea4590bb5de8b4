"""Unpenalized columns with any smooth loss: Newton steps of weighted least squares.

With the derivatives l'_i and l''_i of the loss at the decision value F_i of sample i, a
step approximates the loss by squares around targets F_i - l'_i / l''_i, with weights
l''_i. The columns are projected out of the least-squares problem.
`multikernel.solvers.squares` has the Newton steps.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from multikernel._typing import Array
from multikernel.certificates import (
    DualCertificate,
    constant_model,
    dual_norms,
    rounding_safe,
)
from multikernel.certificates.columns import (
    fit_columns_alone,
    orthogonal_dual,
    orthonormal_basis,
    weighted_targets,
)
from multikernel.certificates.progress import metered
from multikernel.gram.projected import LeastSquares
from multikernel.losses import SquaredLoss, is_coupled
from multikernel.losses.base import is_smooth
from multikernel.problem import Callback, Problem, Solution, center_targets
from multikernel.solvers.squares import BySquares, Point, Squares, SquaresSearch


@dataclass(frozen=True)
class FreeColumns(BySquares):
    r"""Solver for unpenalized columns, around a `solver` for problems without these.

    Minimizes :math:`\sum_i \ell(y_i, f(x_i) + z_i^\top \beta + b)` plus the penalty on
    f, for a smooth loss and columns z, by the proximal Newton method of
    `multikernel.solvers.squares`. `solver`, a dataclass with a field ``tol`` that
    supports the squared loss, solves the weighted least-squares problem of each step.
    The duality gap is for the true loss, at a dual point orthogonal to the columns.
    """

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this solver cannot solve the problem, or None if it can."""
        if problem.columns is None:
            return self.solver.unsupported(problem)
        loss = problem.loss
        if is_coupled(loss) or problem.y.ndim > 1:
            return (
                f"{type(loss).__name__} supports columns without a penalty for one "
                f"output only, got {problem.y[0].size} outputs: use "
                "selection='separate', or remove these columns."
            )
        if not is_smooth(loss):
            inner = getattr(loss, "loss", loss)
            return (
                "Columns without a penalty require a smooth loss, got "
                f"{type(inner).__name__}. Use loss='squared_error' or 'huber' for "
                "regression, loss='log_loss' or 'squared_hinge' for classification, or "
                "remove these columns."
            )
        if not hasattr(self.solver, "tol"):
            # Solvers without `tol`, such as TailConv, wrap another solver and change
            # the penalty. They are not supported, because `evaluate` would compute the
            # objective with the penalty of the problem.
            return (
                "With local Rademacher complexity, columns without a penalty require "
                f"loss='squared_error', got {type(loss).__name__}. Use this loss, or "
                "remove these columns."
            )
        squares = replace(problem, loss=SquaredLoss(), columns=None)
        return self.solver.unsupported(squares)

    def solve(
        self,
        problem: Problem,
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Solution:
        """Solve the problem, from the warm start `init` if given."""
        if problem.columns is None:
            return self.solver.solve(problem, init, callback)
        metered_problem, recorder = metered(center_targets(problem), callback)
        return SquaresSearch(self, _Columns(metered_problem), recorder).run(init)


@dataclass(frozen=True, eq=False)
class _Columns:
    """`FreeParameters` for an intercept and the coefficients of columns."""

    problem: Problem

    @cached_property
    def _columns(self) -> Array:
        """The unpenalized columns, shape (n_samples, n_columns)."""
        assert self.problem.columns is not None
        return self.problem.columns

    @cached_property
    def _basis(self) -> Array:
        """An orthonormal basis of the columns and the constant."""
        return orthonormal_basis(self.problem)

    def null_parameters(self) -> Array:
        """Return the best parameters of a model without kernels."""
        # Parameters exclude the offset of centered targets, which the intercept of
        # `constant_model` includes.
        constant = constant_model(replace(self.problem, columns=None)).intercept
        constant = constant - self.problem.offset
        model = fit_columns_alone(self.problem, float(constant[0]))
        return np.concatenate([[model.intercept], model.effects])

    def warm_parameters(self, init: Solution, f: Array) -> Array | None:
        """Return the parameters of a warm start; None if `init.effects` is None."""
        if init.effects is None:
            return None
        b = float(init.intercept[0] - np.ravel(self.problem.offset)[0])
        return np.concatenate([[b], init.effects])

    def problem_at(self, parameters: Array) -> Problem:
        """Return the problem, whose loss does not depend on `parameters`."""
        return self.problem

    def linear(self, parameters: Array) -> Array:
        """Return the intercept plus the columns times their coefficients."""
        return np.asarray(parameters[0] + self._columns @ parameters[1:])

    def sizes(self, parameters: Array) -> Array:
        """Return each sample's sum of absolute terms of `linear`, to bound rounding."""
        sizes = np.abs(parameters)
        return np.asarray(sizes[0] + np.abs(self._columns) @ sizes[1:])

    def squares(self, f: Array, parameters: Array, linear_factor: float) -> Squares:
        """Return the least-squares model of the loss, with columns projected out."""
        # `linear_factor` multiplies the weights of samples where the loss is linear.
        # `parameters` are the intercept and the coefficients of the columns.
        loss, y = self.problem.loss, self.problem.y
        assert is_smooth(loss)
        values = f + self.linear(parameters)
        targets, weights, slopes = weighted_targets(loss, y, values, linear_factor)
        projection = self._fit(weights).projection
        return Squares(projection, targets, weights, slopes)

    def _fit(self, weights: Array) -> LeastSquares:
        """Return the operator that fits targets by the columns, for sample weights."""
        return LeastSquares(self._columns, weights, self.problem.fit_intercept)

    def after_full_step(self, squares: Squares, f: Array, parameters: Array) -> Array:
        """Return the intercept and the column coefficients after a full step to f."""
        # They are the least-squares fit of the columns to `squares.targets` - f, where
        # f are the decision values of the kernels. `parameters` are not needed.
        fit = self._fit(squares.weights)
        b, effects = fit.coefficients((squares.targets - f)[:, None])
        return np.concatenate([b, effects[:, 0]])

    def after_short_step(self, f: Array, parameters: Array) -> Array:
        """Return `parameters` unchanged: the caller has interpolated them."""
        return parameters

    def proofs(self, point: Point, inner: Array | None) -> Iterator[DualCertificate]:
        """Yield certificates from minus the loss slopes and, if given, from `inner`."""
        # `inner` is the dual point of the last least-squares problem. A dual point is
        # feasible if it is orthogonal to the columns and the constant (`_basis`).
        problem = self.problem
        f = point.terms.f + self.linear(point.parameters)
        slopes = -problem.loss.gradient(problem.y, f)
        for candidate in (slopes,) if inner is None else (slopes, inner):
            rho = orthogonal_dual(problem, candidate, self._basis)
            sizes = dual_norms(problem.gram, rho)
            yield rounding_safe(problem, rho, point.worth.norms, sizes)

    def solution_fields(self, parameters: Array) -> dict[str, Array]:
        """Return the fields `intercept` and `effects` of a `Solution`."""
        intercept = parameters[:1] + self.problem.offset
        return {"intercept": intercept, "effects": parameters[1:]}
