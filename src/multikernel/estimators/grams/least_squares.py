"""Columns without a penalty beside the squared loss: taken out, and fitted at the end.

With the best coefficients of the columns the squared loss is one of residuals, so the
rest is a problem over projected kernels, see `multikernel.gram.projected`. Its optimum,
its gap and its norms are those of the whole problem.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import qr, solve_triangular

from multikernel._typing import Array, Indices
from multikernel.estimators.publish.fitted import Expansion
from multikernel.estimators.read.unpenalized import rank_of, standardised
from multikernel.exceptions import UnsupportedProblemError
from multikernel.gram import GramStack
from multikernel.gram.projected import ProjectedStack, Projection
from multikernel.losses.weighted import is_squared
from multikernel.problem import Problem, centred


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """Weighted least squares in some columns, and an intercept.

    A column that is a combination of others on these samples, such as one for a
    category that a fold has not, gets a coefficient of zero.

    Parameters
    ----------
    columns : ndarray of shape (n_samples, n_columns)
        The columns.
    weights : ndarray of shape (n_samples,) or None
        Weights of the samples.
    fit_intercept : bool
        Whether there is an intercept.
    """

    columns: Array
    weights: Array | None
    fit_intercept: bool

    @cached_property
    def _roots(self) -> Array:
        n_samples = len(self.columns)
        return np.ones(n_samples) if self.weights is None else np.sqrt(self.weights)

    @cached_property
    def _factors(self) -> tuple[Array, Array, Indices, Array]:
        """Return Q, R and the order of the columns in use, and all sizes."""
        scaled, sizes = standardised(
            self.columns, self.weights, fit_intercept=self.fit_intercept
        )
        Q, R, order = qr(scaled, mode="economic", pivoting=True)
        rank = rank_of(np.asarray(R))
        basis: Array = np.asarray(Q[:, :rank], dtype=np.float64)
        triangle: Array = np.asarray(R[:rank, :rank], dtype=np.float64)
        chosen: Indices = np.asarray(order[:rank], dtype=np.intp)
        return basis, triangle, chosen, sizes

    @cached_property
    def projection(self) -> Projection:
        """Return what takes the columns and the intercept out."""
        Q, roots = self._factors[0], self._roots[:, None]
        if self.fit_intercept:
            Q = np.column_stack([self._roots / np.linalg.norm(self._roots), Q])
        return Projection(Q / roots, Q * roots)

    def coefficients(self, residuals: Array) -> tuple[Array, Array]:
        """Return intercepts, (n_outputs,), and coefficients, (n_columns, n_outputs).

        They are those of the best fit to residuals of shape (n_samples, n_outputs).
        """
        Q, R, order, sizes = self._factors
        effects = np.zeros((len(sizes), residuals.shape[1]))
        inner = Q.T @ (self._roots[:, None] * residuals)
        effects[order] = solve_triangular(R, inner) / sizes[order, None]
        if not self.fit_intercept:
            return np.zeros(residuals.shape[1]), effects
        rest = residuals - self.columns @ effects
        return np.average(rest, axis=0, weights=self.weights), effects

    def residual_problems(self, problems: Sequence[Problem]) -> list[Problem]:
        """Return problems over what the columns leave, on one stack of matrices.

        Raises
        ------
        UnsupportedProblemError
            If a loss is not the squared one.
        """
        gram = ProjectedStack(problems[0].gram, self.projection)
        return [self._residual(problem, gram) for problem in problems]

    def _residual(self, problem: Problem, gram: GramStack) -> Problem:
        if not is_squared(problem.loss):
            raise UnsupportedProblemError(
                "Unpenalized columns need loss='squared_error' here, got "
                f"{getattr(problem.loss, 'loss', problem.loss)!r}."
            )
        y = self.projection.residual(centred(problem).y)
        return replace(problem, gram=gram, y=y, fit_intercept=False, offset=0.0)

    def completed(
        self, expansion: Expansion, gram: GramStack, targets: Array
    ) -> Expansion:
        """Return a model over projected kernels as one over the kernels themselves.

        `gram` holds these, and the `targets` are of shape (n_outputs, n_samples).
        """
        coefs = self.projection.of_each(expansion.coefs, transposed=True)
        f = np.zeros(targets.shape[::-1])
        if expansion.active.size:
            f = gram.once(expansion.active).block_matvec(coefs).sum(axis=0)
        intercept, effects = self.fitted(targets, f)
        return replace(expansion, coefs=coefs, intercept=intercept, effects=effects)

    def fitted(self, targets: Array, f: Array) -> tuple[Array, Array]:
        """Return intercepts and coefficients beside decision values of kernels.

        Targets are of shape (n_outputs, n_samples), f of (n_samples, n_outputs).
        """
        # Targets far from zero keep their digits.
        level = np.average(targets, axis=1, weights=self.weights)
        level = np.rint(level) if self.fit_intercept else np.zeros_like(level)
        intercept, effects = self.coefficients((targets - level[:, None]).T - f)
        return intercept + level, effects
