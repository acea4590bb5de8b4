"""Kernels of low rank whose factors are stored in blocks of rows.

Most operations call a function for every block and add up its results. The factors stay
where the blocks are: only arrays with one row per sample, kernel or factor column are
sent to the blocks and back.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramStack
from multikernel.gram.factors import factor_blocks as tasks
from multikernel.gram.factors.factor_blocks import BlockedColumns
from multikernel.gram.factors.low_rank import (
    FactorMatrix,
    FactorStack,
    LowRankStack,
    Residual,
)
from multikernel.gram.factors.row_blocks import RowBlocks
from multikernel.gram.matrix import GramMatrix
from multikernel.gram.memory import byte_limit, check_memory
from multikernel.linalg.tall import TallMatrix, padded, slices, unpadded

if TYPE_CHECKING:
    from multikernel.gram.factors.blocked_build import BlockedLandmarks


@dataclass(frozen=True, eq=False)
class BlockedStack(FactorStack):
    """Kernels of low rank, K_m = Z_m Z_m^T, with factors Z_m in blocks of rows."""

    blocks: RowBlocks  # each block is a `FactorBlock`
    # (n_all + 1,), for all n_all kernels whose factors the blocks contain. Kernel m has
    # columns offsets[m] to offsets[m + 1] - 1 of every block.
    offsets: Indices
    all_traces: Array  # (n_all,), traces of the matrices Z_m Z_m^T
    # (n_all,), mean roots of the residual diagonals, as `Residual.means`; None if no
    # factor has a residual.
    means: Array | None = None
    # (n_kernels,), indices of this stack's kernels in the blocks; None for all kernels.
    chosen: Indices | None = None
    landmarks: "BlockedLandmarks | None" = None
    _cached_forms: list[tuple[Array, Array, Array]] = field(default_factory=list)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (n_kernels, n_samples, n_samples)."""
        return self.kernel_ids.size, self.blocks.n_rows, self.blocks.n_rows

    @property
    def ranks(self) -> Indices:
        """Return the number of columns of every factor, shape (n_kernels,)."""
        return np.diff(self.offsets)[self.kernel_ids]

    @cached_property
    def column_offsets(self) -> Indices:
        """Return the first column of each kernel in `factors`, then the total rank."""
        return np.concatenate([[0], np.cumsum(self.ranks)])

    @cached_property
    def column_slices(self) -> list[slice]:
        """Return a slice for each kernel of the stack: its columns in the blocks."""
        kernels = self.kernel_ids
        return slices(self.offsets[kernels], self.offsets[kernels + 1])

    @cached_property
    def block_columns(self) -> Indices:
        """Return the indices of the stack's columns in every block, (total_rank,)."""
        return self.columns_of(self.kernel_ids)

    @cached_property
    def factors(self) -> BlockedColumns:
        """Return the factors of the kernels, side by side."""
        return BlockedColumns(self.blocks, self.block_columns)

    def coordinates(self, coefs: Array) -> Array:
        """Return Z_m^T coefs[m] of all kernels, shape (total_rank[, n_outputs])."""
        # `coefs` from `own_expansions`, of length `expansion_length`, has products with
        # Z_m^T already, padded with zeros.
        if coefs.shape[1] != self.shape[1]:
            return unpadded(coefs, self.ranks)
        return super().coordinates(coefs)

    @property
    def expansion_length(self) -> int:
        """Return the number of coefficients per kernel in stored models."""
        # A function Z_m u has as many coefficients as the largest rank. If that is
        # n_samples, one is added, because n_samples coefficients mean a function K_m c.
        max_rank = int(np.diff(self.offsets).max())
        return max_rank + (max_rank == self.blocks.n_rows)

    def own_coordinates(self, m: int, coefs: Array) -> Array:
        """Return Z_m^T coefs of one kernel, shape (rank, n_outputs)."""
        return self.take(np.array([m])).coordinates(coefs[None])

    def quadratic_forms(self, v: Array) -> Array:
        """Return v^T K_m v (summed over outputs) for every m, shape (n_kernels,)."""
        return self.forms_and_bounds(v)[0]

    def forms_and_bounds(self, v: Array) -> tuple[Array, Array]:
        """Return v^T K_m v for every m, and upper bounds on the forms of residuals."""
        # Cache both results for the last v: callers ask for one, then for the other.
        for vector, forms, bounds in self._cached_forms:
            if np.array_equal(vector, v):
                return forms, bounds
        products, root_sums, total = self.blocks.sum(
            tasks.forms,
            self.blocks.split(v),
            columns=self.block_columns,
            kernels=self.kernel_ids,
        )
        squares = products**2 if v.ndim == 1 else np.sum(products**2, axis=1)
        forms = np.add.reduceat(squares, self.column_offsets[:-1])
        if self.means is not None:
            root_sums += float(np.linalg.norm(total)) * self.means[self.kernel_ids]
        bounds = root_sums**2
        self._cached_forms[:] = [(v.copy(), forms, bounds)]
        return forms, bounds

    def combine(self, weights: Array) -> GramMatrix:
        """Return sum_m weights[m] K_m as one matrix."""
        column_weights = np.repeat(np.asarray(weights, dtype=np.float64), self.ranks)
        nonzero = np.flatnonzero(column_weights)
        Z = BlockedColumns(self.blocks, self.block_columns[nonzero])
        return FactorMatrix(Z, column_weights[nonzero])

    def diagonals(self) -> Array:
        """Return every diagonal, shape (n_kernels, n_rows)."""
        slices = self.column_slices
        return self.blocks.concatenate(tasks.diagonals, parts=slices, axis=1)

    def take(self, kernels: Indices) -> "BlockedStack":
        """Return the stack of the chosen kernels, a view."""
        return replace(self, chosen=self.kernel_ids[kernels], _cached_forms=[])

    def restrict(self, samples: Indices) -> GramStack:
        """Return the stack on some samples, with factors copied to this process."""
        samples = np.asarray(samples)
        what = f"A copy of the factors of {samples.size} samples on this machine"
        needed = 8 * samples.size * self.factors.shape[1]
        check_memory(what, needed, byte_limit(None), "Use fewer samples.")
        residual = None
        if self.means is not None:
            roots = self.blocks.rows(tasks.root_rows, samples, kernels=self.kernel_ids)
            residual = Residual(roots.T, self.means[self.kernel_ids])
        return LowRankStack(self.factors.rows(samples), self.column_offsets, residual)

    def traces(self, shares: Array | None = None) -> Array:
        """Return the (weighted) trace of every matrix; see `GramStack.traces`."""
        if shares is not None:
            return super().traces(shares)
        return self.all_traces[self.kernel_ids]

    def residual_bounds(self, v: Array) -> Array:
        """Bound the residuals' quadratic forms; see `GramStack.residual_bounds`."""
        if self.means is None:
            return np.zeros(self.shape[0])
        return np.array(self.forms_and_bounds(v)[1])

    def residual_traces(self, shares: Array) -> Array:
        """Return weighted traces of residuals; see `GramStack.residual_traces`."""
        if self.means is None:
            return np.zeros(self.shape[0])
        parts = self.blocks.split(shares)
        kernels = self.kernel_ids
        (traces,) = self.blocks.sum(tasks.residual_traces, parts, kernels=kernels)
        return traces

    def own_expansions(self, coefs: Array) -> Array:
        """Return Z_m^T coefs[m] for every m, with zeros up to `expansion_length`."""
        return padded(self.coordinates(coefs), self.ranks, self.expansion_length)

    def term_products(self, coefs: Array) -> "BlockedTerms":
        """Return the images K_m coefs[m]; see `GramStack.term_products`."""
        are_expansions = coefs.shape[1] != self.shape[1]
        return BlockedTerms(self, self.coordinates(coefs), are_expansions)

    def term_covariances(
        self, kernels: Indices, coefs: Array, weights: Array
    ) -> tuple[Array, Array]:
        """Return squared norms and covariances; see `GramStack.term_covariances`."""
        # Only the sum of the terms is stored at all samples, not every term.
        if not kernels.size:
            squares, products = np.empty((2, coefs.shape[2], 0))
            return squares, products
        stack = self.take(kernels)
        coordinates, starts = stack.coordinates(coefs), stack.column_offsets[:-1]
        values = stack.factors.times(coordinates)
        centered = weights[:, None] * (values - weights @ values / weights.sum())
        squares = np.add.reduceat(coordinates**2, starts)
        products = np.add.reduceat(coordinates * stack.factors.inner(centered), starts)
        return squares.T, products.T

    def tall_form(self) -> tuple[TallMatrix, Indices]:
        """Return the factors as one tall matrix, and the kernels' column offsets."""
        return self.factors, self.column_offsets


@dataclass(frozen=True, eq=False)
class BlockedTerms:
    """`TermProducts` of images K_m c_m, computed from coordinates u_m = Z_m^T c_m."""

    stack: "BlockedStack"
    coordinates: Array  # (total_rank[, n_outputs]), all u_m
    # True if a model is stored as vectors u_m, without c_m. Then the squared norm of
    # term m is |u_m|^2, and its rounding error does not depend on the trace of kernel
    # m. Callers multiply bounds on rounding by `traces`, which are ones in this case.
    are_expansions: bool

    def _split(self) -> list[Array]:
        return np.split(self.coordinates, self.stack.column_offsets[1:-1])

    @property
    def forms(self) -> Array:
        """Return |u_m|^2 = c_m^T K_m c_m for every m, shape (n_kernels,)."""
        return np.array([np.vdot(u, u) for u in self._split()])

    @property
    def lengths(self) -> Array:
        """Return |K_m c_m|^2 for every m, or |u_m|^2 if `are_expansions`."""
        if self.are_expansions:
            return self.forms
        stack = self.stack
        lengths = stack.blocks.sum(
            tasks.image_lengths, coordinates=self._split(), parts=stack.column_slices
        )
        return lengths[0]

    @property
    def traces(self) -> Array:
        """Return the traces of the kernels, or ones if `are_expansions`."""
        stack = self.stack
        return np.ones(stack.shape[0]) if self.are_expansions else stack.traces()

    def sums(self, is_used: NDArray[np.bool_], units: Array) -> tuple[Array, Array]:
        """Return sum_m K_m c_m and sum_m units[m] sqrt(diag K_m) over the used m."""
        # The mask `is_used` has an entry for each kernel; see `TermProducts.sums`.
        stack = self.stack
        column_mask = np.repeat(is_used, stack.ranks)
        Z = BlockedColumns(stack.blocks, stack.block_columns[column_mask])
        slices = [stack.column_slices[m] for m in np.flatnonzero(is_used)]
        blocks, task = stack.blocks, tasks.sum_of_roots
        roots = blocks.concatenate(task, units=units[is_used], parts=slices)
        return Z.times(self.coordinates[column_mask]), roots
