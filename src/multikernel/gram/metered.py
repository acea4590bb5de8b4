"""Wrappers of any stack, and stacks that count how often a solver reads matrices."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramStack
from multikernel.gram.factors.low_rank import low_rank_form
from multikernel.gram.matrix import BlockMultiplier, GramMatrix, TermProducts
from multikernel.gram.refine import refined
from multikernel.linalg.shifted import Root

if TYPE_CHECKING:
    Base = GramStack
else:
    # `__getattr__` passes other methods to the wrapped stack; a base class that defines
    # them would prevent this.
    Base = object


@dataclass
class Meter:
    """A counter of multiplications of Gram matrix entries by numbers."""

    entries: int  # of all matrices, M n^2
    read: float = 0.0

    @property
    def passes(self) -> float:
        """Return the number of passes: multiplications divided by `entries`."""
        return self.read / max(self.entries, 1)

    def add(self, n_multiplied: float) -> None:
        """Add a number of multiplications of matrix entries to the count."""
        self.read += n_multiplied


@dataclass(frozen=True, eq=False)
class TransparentStack(Base):
    """A wrapper of a stack, which has the methods that the wrapper does not define."""

    stack: GramStack

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            if name.startswith("__") or name == "stack":
                raise AttributeError(name)
            return getattr(self.stack, name)

    def _part(self, stack: GramStack, kernels: Indices | slice) -> "TransparentStack":
        """Return the same wrapper around `stack`, which has the chosen kernels."""
        raise NotImplementedError

    def take(self, kernels: Indices) -> "TransparentStack":
        """Return the stack of the chosen kernels."""
        return self._part(self.stack.take(kernels), kernels)

    def once(self, kernels: Indices) -> "TransparentStack":
        """Return the chosen kernels for a single pass; see `GramStack.once`."""
        return self._part(self.stack.once(kernels), kernels)

    def restrict(self, samples: Indices) -> "TransparentStack":
        """Return the stack on the chosen samples."""
        return self._part(self.stack.restrict(samples), slice(None))


GramStack.register(TransparentStack)  # type: ignore[type-abstract]
low_rank_form.register(TransparentStack, lambda stack: low_rank_form(stack.stack))
refined.register(
    TransparentStack, lambda stack, *options: refined(stack.stack, *options)
)


@dataclass(frozen=True, eq=False)
class MeteredStack(TransparentStack):
    """A wrapper of a stack that counts products with it and with its parts."""

    # A pass is one multiplication for every entry of every matrix. A product with
    # several vectors counts once per vector, and a weighted sum once for each kernel of
    # nonzero weight. Diagonals and copies by `take` are not counted.
    meter: Meter

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (n_kernels, n_samples, n_samples)."""
        return self.stack.shape

    def count(self, kernels: int, rows: int, vectors: int = 1) -> None:
        """Count products that a caller computes, also in the wrapped stack's meter."""
        self._count(kernels, rows, vectors)
        self.stack.count(kernels, rows, vectors)

    def _count(self, kernels: int, rows: int, vectors: int = 1) -> None:
        """Count products of `rows` rows of each of `kernels` kernels with vectors."""
        self.meter.add(float(kernels) * rows * self.shape[2] * vectors)

    @cached_property
    def _traces(self) -> Array:
        return self.stack.traces()

    def traces(self, shares: Array | None = None) -> Array:
        """Return every trace, computed once unless weighted; shape (n_kernels,)."""
        return self._traces if shares is None else self.stack.traces(shares)

    @cached_property
    def _rounded_traces(self) -> Array:
        return self.stack.rounded_traces()

    def rounded_traces(self) -> Array:
        """Return the cached `GramStack.rounded_traces`, shape (n_kernels,)."""
        return self._rounded_traces

    def _part(self, stack: GramStack, kernels: Indices | slice) -> "MeteredStack":
        """Return a stack of chosen kernels that counts with the same meter."""
        return MeteredStack(stack, self.meter)

    def quadratic_forms(self, v: Array) -> Array:
        """Return v^T K_m v (summed over outputs) for every m, shape (n_kernels,)."""
        self._count(*self.shape[:2], _n_vectors(v, 1))
        return self.stack.quadratic_forms(v)

    def rough_forms(self, v: Array) -> tuple[Array, Array]:
        """Return quadratic forms and error bounds; see `GramStack.rough_forms`."""
        self._count(*self.shape[:2], _n_vectors(v, 1))
        return self.stack.rough_forms(v)

    def matvec(self, v: Array) -> Array:
        """Return K_m v for every m, shape (n_kernels, n_samples[, n_outputs])."""
        self._count(*self.shape[:2], _n_vectors(v, 1))
        return self.stack.matvec(v)

    def block_matvec(self, coefs: Array) -> Array:
        """Return K_m coefs[m] for every m, (n_kernels, n_samples[, n_outputs])."""
        self._count(*self.shape[:2], _n_vectors(coefs, 2))
        return self.stack.block_matvec(coefs)

    def term_products(self, coefs: Array) -> TermProducts:
        """Return the images of one vector per kernel; see `GramStack.term_products`."""
        self._count(*self.shape[:2], _n_vectors(coefs, 2))
        return self.stack.term_products(coefs)

    def combine(self, weights: Array) -> GramMatrix:
        """Return sum_m weights[m] K_m as one matrix."""
        self._count(int(np.count_nonzero(weights)), self.shape[1])
        return self.stack.combine(weights)

    def root(self, weights: Array, shift: Array) -> Root | None:
        """Return a root of a sum of matrices plus a diagonal; see `GramStack.root`."""
        self._count(int(np.count_nonzero(weights)), self.shape[1])
        return self.stack.root(weights, shift)

    def combined_rows(self, weights: Array, rows: Indices) -> Array:
        """Return some rows of sum_m weights[m] K_m, shape (n_rows, n_samples)."""
        self._count(int(np.count_nonzero(weights)), rows.size)
        return self.stack.combined_rows(weights, rows)

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_kernels, n_samples, n_indices)."""
        n_kernels, n_rows, _ = self.shape
        self.meter.add(float(n_kernels) * n_rows * indices.size)
        return self.stack.columns(indices)

    def entries(self, kernel: int, rows: Indices, cols: Indices) -> Array:
        """Return some entries of one kernel, shape (n_rows, n_cols)."""
        self.meter.add(float(rows.size) * cols.size)
        return self.stack.entries(kernel, rows, cols)

    def full_forms(self, kernels: Indices, v: Array) -> Array:
        """Return v^T K_m v of full kernels, not of their factors; nan if unknown."""
        self._count(kernels.size, self.shape[1], _n_vectors(v, 1))
        return self.stack.full_forms(kernels, v)

    def resident_products(self, kernels: Indices) -> BlockMultiplier:
        """Return a counting `BlockMultiplier`; see `GramStack.resident_products`."""
        multiply = self.stack.resident_products(kernels)

        def products(positions: Indices, rows: Array) -> Array:
            self._count(len(positions), self.shape[1], rows.shape[1])
            return multiply(positions, rows)

        return products


def _n_vectors(v: Array, n_axes: int) -> int:
    """Return the number of vectors in v: the length of the axis after `n_axes` axes."""
    return 1 if v.ndim == n_axes else int(v.shape[n_axes])
