"""Kernel matrices projected on the complement of unpenalized columns.

A model has values f from kernels K_m, and B beta from unpenalized columns B. Fitted to
targets y with sample weights on the diagonal of W, it has the residuals P (y - f) for
the best beta, with P = I - B (B^T W B)^-1 B^T W. So the weighted least squares problem
depends on the kernels only through the matrices P K_m P^T. P is not symmetric unless W
is a multiple of the identity.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from scipy.linalg import qr, solve_triangular

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramStack, uncentered_trace_weight
from multikernel.gram.factors.low_rank import LowRankMatrix
from multikernel.gram.matrix import (
    BlockMultiplier,
    DenseMatrix,
    GramMatrix,
    column_runs,
)
from multikernel.gram.views import AroundOther

COLLINEAR = 1e-9
"""Share of a column or kernel below which its projection is a rounding error."""


@dataclass(frozen=True, eq=False)
class Projection:
    """The projection P = I - U V^T, which maps the span of U to zero."""

    span: Array  # (n_samples, rank), U
    weighted: Array  # (n_samples, rank), V, the weights times U; V^T U = I

    def residual(self, v: Array) -> Array:
        """Return P v, shape (n_samples[, n_outputs])."""
        return np.asarray(v - self.span @ (self.weighted.T @ v))

    def transposed(self, v: Array) -> Array:
        r"""Return :math:`P^\top v`, shape (n_samples[, n_outputs])."""
        return np.asarray(v - self.weighted @ (self.span.T @ v))

    def project_each(self, vectors: Array, *, transposed: bool = False) -> Array:
        """Return P v, or P^T v if `transposed`, for each v = vectors[m]; same shape."""
        U, V = (self.span, self.weighted)[:: -1 if transposed else 1]
        flat = vectors.reshape(*vectors.shape[:2], prod(vectors.shape[2:]))
        return np.asarray(flat - U @ (V.T @ flat)).reshape(vectors.shape)

    def matrix(self, K: Array) -> Array:
        r"""Return :math:`P K P^\top` for a symmetric matrix K."""
        images = K @ self.weighted
        half_projected = images - 0.5 * self.span @ (self.weighted.T @ images)
        correction = half_projected @ self.span.T
        return np.asarray(K - correction - correction.T)


@dataclass(frozen=True, eq=False)
class ProjectedMatrix(GramMatrix):
    r"""The matrix :math:`P K P^\top`, with a projection P and K in any storage."""

    base: GramMatrix
    projection: Projection

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n_samples, n_samples)."""
        return self.base.shape

    def matvec(self, v: Array) -> Array:
        """Return the product with a vector, (n_samples,) or (n_samples, n_outputs)."""
        return self.projection.residual(self.base.matvec(self.projection.transposed(v)))

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_samples, n_indices)."""
        return self.matvec(_unit_columns(indices, self.shape[1]))


@dataclass(frozen=True, eq=False)
class ProjectedStack(AroundOther):
    """The matrices P K_m P^T of another stack."""

    stack: GramStack
    projection: Projection

    def matvec(self, v: Array) -> Array:
        """Return P K_m P^T v for every m, (n_kernels, n_samples[, n_outputs])."""
        images = self.stack.matvec(self.projection.transposed(v))
        return self.projection.project_each(images)

    def block_matvec(self, coefs: Array) -> Array:
        """Return P K_m P^T coefs[m], shape (n_kernels, n_samples[, n_outputs])."""
        vectors = self.projection.project_each(coefs, transposed=True)
        return self.projection.project_each(self.stack.block_matvec(vectors))

    def quadratic_forms(self, v: Array) -> Array:
        """Return v^T P K_m P^T v (summed over outputs), shape (n_kernels,)."""
        return self.stack.quadratic_forms(self.projection.transposed(v))

    def in_parts(self) -> Iterator[GramStack]:
        """Yield stacks of consecutive kernels."""
        return (ProjectedStack(part, self.projection) for part in self.stack.in_parts())

    def rough_forms(self, v: Array) -> tuple[Array, Array]:
        """Return quadratic forms and error bounds; see `GramStack.rough_forms`."""
        return self.stack.rough_forms(self.projection.transposed(v))

    def combine(self, weights: Array) -> GramMatrix:
        """Return sum_m weights[m] P K_m P^T as one matrix."""
        base = self.stack.combine(weights)
        if base.array is not None:
            return DenseMatrix(self.projection.matrix(base.array))
        if isinstance(base, LowRankMatrix):
            factor = self.projection.residual(base.factor)
            return LowRankMatrix(factor, base.weights)
        return ProjectedMatrix(base, self.projection)

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_kernels, n_samples, n_indices)."""
        return self.matvec(_unit_columns(indices, self.shape[2]))

    def take(self, kernels: Indices) -> GramStack:
        """Return the stack of the chosen kernels."""
        return ProjectedStack(self.stack.take(kernels), self.projection)

    def once(self, kernels: Indices) -> GramStack:
        """Return the chosen kernels for a single pass; see `GramStack.once`."""
        return ProjectedStack(self.stack.once(kernels), self.projection)

    def resident_products(self, kernels: Indices) -> BlockMultiplier:
        """Return a `BlockMultiplier`; see `GramStack.resident_products`."""
        multiply = self.stack.resident_products(kernels)
        U, V = self.projection.span, self.projection.weighted

        def products(positions: Indices, rows: Array) -> Array:
            images = multiply(positions, rows - (rows @ U) @ V.T)
            return np.asarray(images - (images @ V) @ U.T)

        return products

    def diagonals(self) -> Array:
        """Return every diagonal, shape (n_kernels, n_samples)."""
        return self._diagonals

    @cached_property
    def _diagonals(self) -> Array:
        """Return the diagonal of P K_m P^T for every m, (n_kernels, n_samples)."""
        # With P = I - U V^T, entry i of the diagonal of P K P^T is
        # K_ii - 2 (K V U^T)_ii + (U V^T K V U^T)_ii.
        U, V = self.projection.span, self.projection.weighted
        diagonals = self.stack.diagonals().astype(np.float64)
        for kernels in column_runs(self.shape[0], U.size):
            images = self.stack.once(kernels).matvec(V)
            inner = V.T @ images
            block = diagonals[kernels]
            block -= 2.0 * np.einsum("mnr,nr->mn", images, U, optimize=True)
            block += np.einsum("nq,mqr,nr->mn", U, inner, U, optimize=True)
            smallest = COLLINEAR * np.abs(diagonals[kernels])
            diagonals[kernels] = np.maximum(block, smallest)
        return diagonals

    def rounded_traces(self) -> Array:
        """Return `GramStack.rounded_traces`, enlarged for errors before projection."""
        # The entries before projection were rounded, too, and may be far larger. Their
        # part is the excess of the stack's bound, plus one rounding of each entry.
        traces, unprojected = np.abs(self.stack.traces()), self.stack.rounded_traces()
        entries = unprojected - traces + uncentered_trace_weight(self.shape[1]) * traces
        return np.abs(self.traces()) + entries

    def residual_bounds(self, v: Array) -> Array:
        """Return bounds on forms of the residuals; see `GramStack.residual_bounds`."""
        return self.stack.residual_bounds(self.projection.transposed(v))

    def residual_traces(self, shares: Array) -> Array:
        """Return bounds on traces of residuals; see `GramStack.residual_traces`."""
        return self.stack.residual_traces(shares)

    def full_forms(self, kernels: Indices, v: Array) -> Array:
        """Return v^T K_m v of full kernels, not of their factors; nan if unknown."""
        return self.stack.full_forms(kernels, self.projection.transposed(v))


def _unit_columns(indices: Indices, size: int) -> Array:
    """Return some columns of the identity, shape (size, n_indices)."""
    units = np.zeros((size, len(indices)))
    units[indices, np.arange(len(indices))] = 1.0
    return units


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """Weighted least squares on given columns and an optional intercept."""

    columns: Array
    weights: Array | None
    fit_intercept: bool

    @cached_property
    def _roots(self) -> Array:
        n_samples = len(self.columns)
        return np.ones(n_samples) if self.weights is None else np.sqrt(self.weights)

    @cached_property
    def _factors(self) -> tuple[Array, Array, Indices, Array]:
        """Return Q, R, independent columns (indices), and lengths of all columns."""
        scaled, sizes = standardized(
            self.columns, self.weights, fit_intercept=self.fit_intercept
        )
        Q, R, order = qr(scaled, mode="economic", pivoting=True)
        rank = rank_of(np.asarray(R))
        basis: Array = np.asarray(Q[:, :rank], dtype=np.float64)
        triangle: Array = np.asarray(R[:rank, :rank], dtype=np.float64)
        independent: Indices = np.asarray(order[:rank], dtype=np.intp)
        return basis, triangle, independent, sizes

    @cached_property
    def projection(self) -> Projection:
        """Return the projection that removes the columns and the intercept."""
        Q, roots = self._factors[0], self._roots[:, None]
        if self.fit_intercept:
            Q = np.column_stack([self._roots / np.linalg.norm(self._roots), Q])
        return Projection(Q / roots, Q * roots)

    def coefficients(self, residuals: Array) -> tuple[Array, Array]:
        """Return intercepts, (n_outputs,), and coefficients, (n_columns, n_outputs)."""
        Q, R, order, sizes = self._factors
        # A column that is a combination of other columns on these samples has
        # coefficient zero.
        effects = np.zeros((len(sizes), residuals.shape[1]))
        inner = Q.T @ (self._roots[:, None] * residuals)
        effects[order] = solve_triangular(R, inner) / sizes[order, None]
        if not self.fit_intercept:
            return np.zeros(residuals.shape[1]), effects
        remainders = residuals - self.columns @ effects
        return np.average(remainders, axis=0, weights=self.weights), effects


def standardized(
    columns: Array, weights: Array | None, *, fit_intercept: bool
) -> tuple[Array, Array]:
    """Return columns, weighted and divided by their lengths, and these lengths."""
    # Columns are multiplied by the roots of the weights, and centered before that if
    # `fit_intercept`.
    sample_weights = np.ones(len(columns)) if weights is None else weights
    centered = columns
    # Center twice: the first mean has rounding errors if columns are far from zero.
    for _ in range(2 * fit_intercept):
        centered = centered - np.average(centered, axis=0, weights=sample_weights)
    scaled = np.sqrt(sample_weights)[:, None] * centered
    sizes = np.linalg.norm(scaled, axis=0)
    lengths = np.linalg.norm(np.sqrt(sample_weights)[:, None] * columns, axis=0)
    # A column that contains only rounding errors becomes zero, with size zero.
    sizes[sizes <= COLLINEAR * lengths] = 0.0
    return np.divide(scaled, sizes, out=np.zeros_like(scaled), where=sizes > 0.0), sizes


def rank_of(R: Array) -> int:
    """Return the rank of columns of norm one, given R of their pivoted QR factors."""
    # Diagonal entries of at most COLLINEAR are rounding errors.
    return int(np.count_nonzero(np.abs(np.diagonal(R)) > COLLINEAR))
