"""Gram matrices stored as thin factors, all side by side in one array."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, singledispatch
from typing import TYPE_CHECKING

import numpy as np

from multikernel._typing import Array, Indices, Mask
from multikernel._validation import shown
from multikernel.gram.base import GramStack
from multikernel.gram.matrix import DenseMatrix, GramMatrix
from multikernel.gram.refine import Refinement
from multikernel.gram.views import ScaledStack
from multikernel.linalg.shifted import Root, factor_root, solve_shifted
from multikernel.linalg.tables import row_norms
from multikernel.linalg.tall import TallArray, TallMatrix, slices_between, take_columns

if TYPE_CHECKING:
    from multikernel.gram.factors.landmarks import Landmarks


@dataclass(frozen=True, eq=False)
class FactorMatrix(GramMatrix):
    """A Gram matrix K = Z diag(w) Z^T, never formed; rows of Z may be distributed."""

    Z: TallMatrix
    weights: Array

    # K v takes n_samples * rank steps, the same as a column of K.
    quick_products = True

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n_rows, n_cols)."""
        return self.Z.shape[0], self.Z.shape[0]

    def matvec(self, v: Array) -> Array:
        """Return K v, shape (n_rows,) or (n_rows, n_outputs)."""
        return self.Z.times((self.Z.inner(v).T * self.weights).T)

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_rows, n_indices)."""
        return self.Z.times((self.Z.rows(indices) * self.weights).T)

    def within(self, indices: Indices) -> Array:
        """Return the entries among chosen samples, shape (n_indices, n_indices)."""
        if np.any(self.weights < 0.0):
            return self.between(indices, indices)
        rows = self.Z.rows(indices) * np.sqrt(self.weights)
        return rows @ rows.T

    def between(self, rows: Indices, columns: Indices) -> Array:
        """Return the entries of some rows and columns, shape (n_rows, n_columns)."""
        return (self.Z.rows(rows) * self.weights) @ self.Z.rows(columns).T

    def diagonal(self) -> Array:
        """Return the diagonal, shape (n_rows,)."""
        return self.Z.row_squares(self.weights)

    def solve(
        self, rhs: Array, *, shift: Array, low_rank: Array | None = None
    ) -> Array:
        """Solve (K + diag(shift) + U U^T) x = rhs, by Woodbury's identity if valid."""
        # U is `low_rank`. Woodbury's identity takes O(n rank^2) steps; it requires
        # positive shifts, nonnegative weights, and fewer columns of factors than
        # samples.
        n, rank = self.Z.shape
        U = np.zeros((n, 0)) if low_rank is None else low_rank
        k = U.shape[1]
        positive = np.all(shift > 0.0) and np.all(self.weights >= 0.0)
        if rank + k >= n or not positive:
            return solve_shifted(self.columns(np.arange(n)), rhs, shift, low_rank)
        inverse, roots = 1.0 / shift, np.sqrt(self.weights)
        sides = np.column_stack([U, rhs])
        G, inner = self.Z.gram(inverse, np.arange(rank), sides)
        # With V = [Z diag(w)^(1/2), U], the matrix is diag(shift) + V V^T.
        scaled = roots[:, None] * inner
        inner_of_U = U.T @ (inverse[:, None] * sides)
        system = np.empty((rank + k, rank + k))
        system[:rank, :rank] = roots[:, None] * G * roots
        system[:rank, rank:], system[rank:, :rank] = scaled[:, :k], scaled[:, :k].T
        system[rank:, rank:] = inner_of_U[:, :k]
        right = np.vstack([scaled[:, k:], inner_of_U[:, k:]])
        c = solve_shifted(system, right, np.ones(rank + k), None)
        x = sides[:, k:] - self.Z.times(roots[:, None] * c[:rank]) - U @ c[rank:]
        return np.asarray((inverse[:, None] * x).reshape(rhs.shape))


class LowRankMatrix(FactorMatrix):
    """One Gram matrix K = Z diag(w) Z^T, never formed, whose factor Z is in memory."""

    def __init__(self, factor: Array | TallArray, weights: Array) -> None:
        Z = factor if isinstance(factor, TallArray) else TallArray(factor)
        super().__init__(Z, weights)

    @property
    def factor(self) -> Array:
        """Return the factor Z, shape (n_samples, rank)."""
        return self.Z.rows(np.arange(self.shape[0]))

    def root(self, shift: Array) -> Root | None:
        """Return R with R R^T = K + diag(shift), or None if rounding prevents it."""
        return factor_root(self.factor, self.weights, shift)


@dataclass(frozen=True, eq=False)
class Residual:
    """The residuals E_m = K_m - Z_m Z_m^T of factored kernels, or bounds on them."""

    roots: Array  # (n_kernels, n_samples), roots of the diagonals, or upper bounds
    means: Array  # (n_kernels,), weighted means of the roots; zero if not centered

    def bounds(self, v: Array) -> Array:
        """Return upper bounds on v^T E_m v (summed over outputs), one per kernel."""
        # E_m is positive semidefinite, so v^T E_m v <= (sum_i |v_i| sqrt((E_m)_ii))^2
        # by Cauchy-Schwarz, with the lengths of the rows of v for several outputs. The
        # residual of a centered kernel is centered as well, which adds at most
        # |sum_i v_i| times the weighted mean of the roots.
        length = float(np.linalg.norm(v.sum(axis=0)))
        return np.asarray((self.roots @ row_norms(v) + length * self.means) ** 2)

    def take(self, kernels: Indices) -> "Residual":
        """Return the residual of the chosen kernels."""
        return Residual(self.roots[kernels], self.means[kernels])

    def restrict(self, samples: Indices) -> "Residual":
        """Return the residual on the chosen samples."""
        return Residual(self.roots[:, samples], self.means)

    def scaled(self, scales: Array) -> "Residual":
        """Return the residual of the kernels scales[m] K_m."""
        factors = np.sqrt(scales)
        return Residual(self.roots * factors[:, None], self.means * factors)


class FactorStack(GramStack):
    r"""Kernels :math:`K_m = Z_m Z_m^\top` stored as factors, in memory or in blocks."""

    @property
    @abstractmethod
    def ranks(self) -> Indices:
        """Return the number of columns of every factor, shape (n_kernels,)."""

    offsets: Indices
    chosen: Indices | None
    landmarks: "Landmarks | None"

    @property
    def kernel_ids(self) -> Indices:
        """Return for each kernel of this stack its index in `landmarks`."""
        return np.arange(self.offsets.size - 1) if self.chosen is None else self.chosen

    def columns_of(self, kernels: Indices) -> Indices:
        """Return the columns of `kernels`, indices in `offsets`, in this order."""
        ranks = np.diff(self.offsets)[kernels]
        shifts = np.repeat(self.offsets[kernels] - np.cumsum(ranks) + ranks, ranks)
        return shifts + np.arange(shifts.size)

    @abstractmethod
    def tall_form(self) -> tuple[TallMatrix, Indices]:
        """Return the factors as one tall matrix, and the kernels' column offsets."""

    @abstractmethod
    def own_coordinates(self, m: int, coefs: Array) -> Array:
        """Return Z_m^T coefs of one kernel, shape (rank, n_outputs)."""

    def coordinates(self, coefs: Array) -> Array:
        """Return Z_m^T coefs[m] for every m, shape (total_rank[, n_outputs])."""
        Z, offsets = self.tall_form()
        return Z.inner_of_each(coefs, slices_between(offsets))

    def images(self, u: Array) -> Array:
        """Return Z_m u_m for every m, shape (n_kernels, n_samples[, n_outputs])."""
        Z, offsets = self.tall_form()
        return Z.images(u, slices_between(offsets))

    def matvec(self, v: Array) -> Array:
        """Return K_m v for every m, shape (n_kernels, n_samples[, n_outputs])."""
        return self.images(self.tall_form()[0].inner(v))

    def block_matvec(self, coefs: Array) -> Array:
        """Return K_m coefs[m] for every m, (n_kernels, n_samples[, n_outputs])."""
        return self.images(self.coordinates(coefs))

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_kernels, n_samples, n_indices)."""
        return self.images(self.tall_form()[0].rows(indices).T)

    def held_numbers(self) -> Array:
        """Return the number of stored numbers per kernel, shape (n_kernels,)."""
        return np.asarray(float(self.shape[1]) * self.ranks)

    def refined_by(
        self,
        refine: Callable[..., "FactorStack"],
        refinement: Refinement,
        max_bytes: int | None = None,
    ) -> "FactorStack | None":
        """Return the stack that `refine` makes; None if no kernel gets landmarks."""
        if self.landmarks is None:
            return None
        kernels, max_rank = self.landmarks.kernels, self.landmarks.options.max_rank
        max_rank, goals = min(max_rank, self.shape[1]), refinement.goals
        goals = {m: g for m, g in goals.items() if kernels[m].chosen.size < max_rank}
        if not goals:
            return None
        finer = refine(self, refinement.dual, goals, max_bytes)
        return finer if np.any(finer.ranks > self.ranks) else None


@dataclass(frozen=True, eq=False)
class LowRankStack(FactorStack):
    """Kernels of low rank, K_m = Z_m Z_m^T, as factors side by side.

    Factor Z_m is ``factors[:, offsets[m] : offsets[m + 1]]``, at least one column. If
    factors are approximations, `residual` bounds the errors of quadratic forms. Factors
    with `landmarks` may be refined: kernel m of this stack is kernel ``chosen[m]`` of
    `landmarks`, or kernel m if `chosen` is None.
    """

    factors: Array
    offsets: Indices
    residual: Residual | None = None
    landmarks: "Landmarks | None" = None
    chosen: Indices | None = None

    def __post_init__(self) -> None:
        total = self.factors.shape[1]
        has_empty = np.any(np.diff(self.offsets) < 1)
        if has_empty or self.offsets[0] != 0 or self.offsets[-1] != total:
            raise ValueError(
                "LowRankStack: offsets must increase strictly from 0 to the number of "
                f"columns of the factors, {total}, got {shown(self.offsets.tolist())}: "
                "give every kernel at least one column, a zero kernel one of zeros."
            )

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (n_kernels, n_samples, n_samples)."""
        return self.offsets.size - 1, self.factors.shape[0], self.factors.shape[0]

    @property
    def ranks(self) -> Indices:
        """Return the number of columns of every factor, shape (n_kernels,)."""
        return np.diff(self.offsets)

    def quadratic_forms(self, v: Array) -> Array:
        """Return v^T K_m v (summed over outputs) for every m, shape (n_kernels,)."""
        products = (v.T @ self.factors) ** 2
        if products.ndim == 2:
            products = products.sum(axis=0)
        return np.asarray(np.add.reduceat(products, self.offsets[:-1]))

    def block_matvec(self, coefs: Array) -> Array:
        """Return K_m coefs[m] for every m, (n_kernels, n_samples[, n_outputs])."""
        images = np.empty((*self.shape[:2], *coefs.shape[2:]))
        # Compute both products of a kernel while its factor is in the cache.
        for m, part in enumerate(slices_between(self.offsets)):
            Z = self.factors[:, part]
            np.matmul(Z, Z.T @ coefs[m], out=images[m])
        return images

    def own_coordinates(self, m: int, coefs: Array) -> Array:
        """Return Z_m^T coefs of one kernel, shape (rank, n_outputs)."""
        part = slice(self.offsets[m], self.offsets[m + 1])
        return np.asarray(self.factors[:, part].T @ coefs)

    def combine(self, weights: Array) -> GramMatrix:
        """Return sum_m weights[m] K_m, as a factor if this takes less memory."""
        # If the factor has as many columns as rows, the result is a dense matrix, whose
        # rows solvers read in place.
        nonzero = np.flatnonzero(weights)
        columns = self.columns_of(nonzero)
        column_weights = np.repeat(weights[nonzero], self.ranks[nonzero])
        Z = take_columns(self.factors, columns)
        if columns.size >= self.shape[1] and np.all(column_weights >= 0.0):
            scaled = Z * np.sqrt(column_weights)
            return DenseMatrix(np.ascontiguousarray(scaled @ scaled.T))
        has_all = columns.size == self.factors.shape[1]
        return LowRankMatrix(self._tall if has_all else Z, column_weights)

    @cached_property
    def _tall(self) -> TallArray:
        """Return all factors as one matrix, which caches its products."""
        return TallArray(self.factors)

    def diagonals(self) -> Array:
        """Return every diagonal, shape (n_kernels, n_samples)."""
        Z = self.factors
        if self.offsets[-1] == self.shape[0]:  # one column for each kernel
            return np.asarray((Z * Z).T)
        diagonals = np.empty(self.shape[:2])
        for m, part in enumerate(slices_between(self.offsets)):
            np.einsum("ik,ik->i", Z[:, part], Z[:, part], out=diagonals[m])
        return diagonals

    def traces(self, shares: Array | None = None) -> Array:
        """Return the (weighted) trace of every matrix; see `GramStack.traces`."""
        if shares is not None:
            return super().traces(shares)
        # Sum the squares of each column, because `diagonals` would take as much memory
        # as one column of each factor.
        columns = np.einsum("ik,ik->k", self.factors, self.factors)
        return np.asarray(np.add.reduceat(columns, self.offsets[:-1]))

    def take(self, kernels: Indices) -> "LowRankStack":
        """Return the stack of the chosen kernels, a view if they are consecutive."""
        indices = np.arange(self.shape[0])[kernels]
        columns = self.columns_of(indices)
        offsets = np.concatenate([[0], np.cumsum(self.ranks[indices])])
        residual = None if self.residual is None else self.residual.take(indices)
        Z, chosen = take_columns(self.factors, columns), self.kernel_ids[indices]
        return LowRankStack(Z, offsets, residual, self.landmarks, chosen)

    def restrict(self, samples: Indices) -> "LowRankStack":
        """Return the stack on the chosen samples; the factors' rows are copied."""
        Z = self.factors
        rows = Z.T[:, samples].T if Z.flags.f_contiguous else Z[samples]
        residual = None if self.residual is None else self.residual.restrict(samples)
        return LowRankStack(rows, self.offsets, residual)

    def scaled(self, scales: Array) -> "LowRankStack":
        """Return the kernels scales[m] K_m, a copy."""
        factors = self.factors * np.repeat(np.sqrt(scales), self.ranks)
        residual = None if self.residual is None else self.residual.scaled(scales)
        return LowRankStack(factors, self.offsets, residual)

    def tall_form(self) -> tuple[TallMatrix, Indices]:
        """Return the factors as one tall matrix, and the kernels' column offsets."""
        return self._tall, self.offsets

    def residual_bounds(self, v: Array) -> Array:
        """Bound the residuals' quadratic forms; see `GramStack.residual_bounds`."""
        if self.residual is None:
            return np.zeros(self.shape[0])
        return self.residual.bounds(v)

    def residual_traces(self, shares: Array) -> Array:
        """Return weighted traces of residuals; see `GramStack.residual_traces`."""
        if self.residual is None:
            return np.zeros(self.shape[0])
        return np.asarray(self.residual.roots**2 @ shares)

    def has_features(self) -> Mask:
        """Return a mask of kernels stored as features; see `GramStack.has_features`."""
        # A factor without landmarks consists of features. If it is centered (`shift`),
        # its entries are differences, as in factors from landmarks.
        if self.landmarks is None:
            return np.zeros(self.shape[0], dtype=bool)
        kernels = [self.landmarks.kernels[m] for m in self.kernel_ids.tolist()]
        return np.array([not k.chosen.size and k.shift is None for k in kernels])

    def full_forms(self, kernels: Indices, v: Array) -> Array:
        """Return v^T K_m v of full kernels, not of their factors; nan if unknown."""
        if self.residual is None or self.landmarks is None:
            return np.full(kernels.size, np.nan)
        return self.landmarks.full_forms(self.kernel_ids[kernels], v)


@singledispatch
def low_rank_form(stack: GramStack) -> LowRankStack | None:
    """Return the matrices of a stack as factors in memory; None if it stores none."""
    return stack if isinstance(stack, LowRankStack) else None


@low_rank_form.register
def _scaled_factors(stack: ScaledStack) -> LowRankStack | None:
    """Return a scaled copy of the wrapped stack's factors; None if it has none."""
    factors = low_rank_form(stack.stack)
    return None if factors is None else factors.scaled(stack.scales)
