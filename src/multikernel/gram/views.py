"""Views of any stack with scaled matrices, without a copy."""

from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import check_parameter, check_shapes
from multikernel.gram.base import STACK, GramStack
from multikernel.gram.matrix import BlockMultiplier, GramMatrix
from multikernel.linalg.shifted import Root
from multikernel.linalg.tables import per_kernel
from multikernel.linalg.tall import TallArray, TallMatrix


class AroundOther(GramStack):
    """A wrapper of a stack that reports the storage of the wrapped stack."""

    stack: GramStack

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (n_kernels, n_samples, n_samples)."""
        return self.stack.shape

    @property
    def in_memory(self) -> bool:  # type: ignore[override]
        """Return whether entries are stored instead of computed."""
        return self.stack.in_memory

    def held_numbers(self) -> Array:
        """Return the number of stored numbers per kernel, shape (n_kernels,)."""
        return self.stack.held_numbers()

    def pass_numbers(self) -> float:
        """Return how many stored numbers a pass over all kernels reads."""
        return self.stack.pass_numbers()


@dataclass(frozen=True, eq=False)
class ScaledStack(AroundOther):
    """The matrices scales[m] K_m of another stack, which is shared; scales >= 0."""

    stack: GramStack
    scales: Array

    def __post_init__(self) -> None:
        check_parameter("ScaledStack", "stack", self.stack, STACK)
        check_shapes("ScaledStack", scales=(self.scales, (self.stack.shape[0],)))
        is_invalid = ~(np.isfinite(self.scales) & (self.scales >= 0.0))
        if is_invalid.any():
            m = int(np.argmax(is_invalid))
            raise ValueError(
                "ScaledStack: scales must be finite and not negative, got "
                f"{self.scales[m]:g} for kernel {m}."
            )

    def quadratic_forms(self, v: Array) -> Array:
        """Return scales[m] v^T K_m v (summed over outputs), shape (n_kernels,)."""
        return self.scales * self.stack.quadratic_forms(v)

    def rough_forms(self, v: Array) -> tuple[Array, Array]:
        """Return quadratic forms and error bounds; see `GramStack.rough_forms`."""
        forms, errors = self.stack.rough_forms(v)
        return self.scales * forms, self.scales * errors

    def matvec(self, v: Array) -> Array:
        """Return scales[m] K_m v for every m, (n_kernels, n_rows[, n_outputs])."""
        return per_kernel(self.scales, self.stack.matvec(v))

    def block_matvec(self, coefs: Array) -> Array:
        """Return scales[m] K_m coefs[m], shape (n_kernels, n_rows[, n_outputs])."""
        return per_kernel(self.scales, self.stack.block_matvec(coefs))

    def combine(self, weights: Array) -> GramMatrix:
        """Return sum_m weights[m] scales[m] K_m as one matrix."""
        return self.stack.combine(weights * self.scales)

    def root(self, weights: Array, shift: Array) -> Root | None:
        """Return R with sum_m weights[m] scales[m] K_m + diag(shift) = R R^T."""
        return self.stack.root(weights * self.scales, shift)

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_kernels, n_rows, n_indices)."""
        return per_kernel(self.scales, self.stack.columns(indices))

    def diagonals(self) -> Array:
        """Return every diagonal, shape (n_kernels, n_rows)."""
        return per_kernel(self.scales, self.stack.diagonals())

    def take(self, kernels: Indices) -> GramStack:
        """Return the stack of the chosen kernels."""
        return ScaledStack(self.stack.take(kernels), self.scales[kernels])

    def once(self, kernels: Indices) -> GramStack:
        """Return the chosen kernels for a single pass; see `GramStack.once`."""
        return ScaledStack(self.stack.once(kernels), self.scales[kernels])

    def restrict(self, samples: Indices) -> GramStack:
        """Return the stack on the chosen samples."""
        return ScaledStack(self.stack.restrict(samples), self.scales)

    def entries(self, kernel: int, rows: Indices, cols: Indices) -> Array:
        """Return some entries of one kernel, shape (n_rows, n_cols)."""
        entries = self.stack.entries(kernel, rows, cols)
        return np.asarray(self.scales[kernel] * entries)

    def combined_rows(self, weights: Array, rows: Indices) -> Array:
        """Return some rows of sum_m weights[m] scales[m] K_m, (n_rows, n_samples)."""
        return self.stack.combined_rows(weights * self.scales, rows)

    def resident_products(self, kernels: Indices) -> BlockMultiplier:
        """Return a `BlockMultiplier` of the scaled matrices scales[m] K_m."""
        unscaled = self.stack.resident_products(kernels)
        scales = self.scales[kernels]

        def products(positions: Indices, rows: Array) -> Array:
            # `rows` is (n_positions, n_vectors, n_samples), kernels[positions[k]] is
            # the kernel that rows[k] is multiplied by.
            return unscaled(positions, rows * scales[positions, None, None])

        return products

    def traces(self, shares: Array | None = None) -> Array:
        """Return the (weighted) trace of every matrix; see `GramStack.traces`."""
        # A million lazy kernels share one diagonal in memory; their scaled diagonals
        # would not.
        return self.scales * self.stack.traces(shares)

    def rounded_traces(self) -> Array:
        """Return traces for bounds on rounding; see `GramStack.rounded_traces`."""
        return self.scales * self.stack.rounded_traces()

    def zero_kernels(self) -> Indices:
        """Return the kernels whose matrix is zero."""
        # Do not compute scales times diagonals, which may be a large array.
        zero = np.flatnonzero(self.scales == 0.0)
        return np.union1d(zero, self.stack.zero_kernels())

    def residual_bounds(self, v: Array) -> Array:
        """Return bounds on forms of the residuals; see `GramStack.residual_bounds`."""
        return self.scales * self.stack.residual_bounds(v)

    def residual_traces(self, shares: Array) -> Array:
        """Return weighted traces of residuals; see `GramStack.residual_traces`."""
        return self.scales * self.stack.residual_traces(shares)

    def full_forms(self, kernels: Indices, v: Array) -> Array:
        """Return v^T K_m v of full kernels, not of their factors; nan if unknown."""
        return self.scales[kernels] * self.stack.full_forms(kernels, v)

    def tall_form(self) -> tuple[TallMatrix, Indices] | None:
        """Return scaled factors as one tall matrix; None if they are not in memory."""
        form = self.stack.tall_form()
        if form is None or not isinstance(form[0], TallArray):
            return None
        roots = np.repeat(np.sqrt(self.scales), np.diff(form[1]))
        return TallArray(form[0].Z * roots), form[1]
