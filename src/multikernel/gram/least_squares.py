"""Weighted least squares in a few columns, and the projection that takes them out."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import qr, solve_triangular

from multikernel._typing import Array, Indices
from multikernel.gram.projected import Projection

COLLINEAR = 1e-9
"""A column is a combination of others where so small a share of it is left without
them. Coefficients of columns this near to one another have six digits."""


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
        used: Indices = np.asarray(order[:rank], dtype=np.intp)
        return basis, triangle, used, sizes

    @cached_property
    def projection(self) -> Projection:
        """Return what takes the columns and the intercept out."""
        Q, roots = self._factors[0], self._roots[:, None]
        if self.fit_intercept:
            Q = np.column_stack([self._roots / np.linalg.norm(self._roots), Q])
        return Projection(Q / roots, Q * roots)

    def coefficients(self, residuals: Array) -> tuple[Array, Array]:
        """Return intercepts, (n_outputs,), and coefficients, (n_columns, n_outputs).

        They fit residuals of shape (n_samples, n_outputs) best.
        """
        Q, R, order, sizes = self._factors
        effects = np.zeros((len(sizes), residuals.shape[1]))
        inner = Q.T @ (self._roots[:, None] * residuals)
        effects[order] = solve_triangular(R, inner) / sizes[order, None]
        if not self.fit_intercept:
            return np.zeros(residuals.shape[1]), effects
        rest = residuals - self.columns @ effects
        return np.average(rest, axis=0, weights=self.weights), effects


def standardised(
    columns: Array, weights: Array | None, *, fit_intercept: bool
) -> tuple[Array, Array]:
    """Return columns about their means with an intercept, of length one, and sizes.

    Rows are multiplied by the roots of their weights. What is nothing but rounding of a
    column has size zero, and is zero.
    """
    w = np.ones(len(columns)) if weights is None else weights
    means = np.average(columns, axis=0, weights=w) if fit_intercept else 0.0
    rooted = np.sqrt(w)[:, None] * (columns - means)
    sizes = np.linalg.norm(rooted, axis=0)
    whole = np.linalg.norm(np.sqrt(w)[:, None] * columns, axis=0)
    sizes[sizes <= COLLINEAR * whole] = 0.0
    return np.divide(rooted, sizes, out=np.zeros_like(rooted), where=sizes > 0.0), sizes


def rank_of(R: Array) -> int:
    """Return how many pivots of a triangular factor are more than rounding."""
    return int(np.count_nonzero(np.abs(np.diagonal(R)) > COLLINEAR))
