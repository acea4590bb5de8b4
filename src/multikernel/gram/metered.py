"""Counting what is read of the Gram matrices: the unit of cost of every solver."""

from dataclasses import dataclass, replace
from functools import cached_property, singledispatch

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramMatrix, GramStack
from multikernel.gram.chosen import Products, resident_products
from multikernel.gram.expansions import expansion_length, own_expansions
from multikernel.gram.lazy.blocks import Visit, VisitedStack
from multikernel.gram.lazy.matrix import LazyMatrix
from multikernel.gram.lazy.normalized import NormalizedStack
from multikernel.gram.part import viewed
from multikernel.gram.products import (
    TermProducts,
    asked_once,
    combined_rows,
    full_forms,
    held_numbers,
    images_of_sparse,
    residual_bounds,
    term_products,
    traces,
)
from multikernel.gram.scaled import ScaledStack


@dataclass
class Meter:
    """Adds up how many entries of Gram matrices were multiplied by a number.

    Parameters
    ----------
    entries : int
        Of all matrices, M n^2.
    """

    entries: int
    read: float = 0.0

    @property
    def passes(self) -> float:
        """Return what was read, in units of all entries."""
        return self.read / max(self.entries, 1)


@dataclass(frozen=True, eq=False)
class MeteredStack:
    """A stack that counts what is read of it, and of every part of it.

    Every entry of every matrix multiplied by one number is one *pass*. A product with
    several vectors counts for each of them; a weighted sum counts for its kernels with
    a positive weight, once where it is built and at each use where it stays lazy.
    Diagonals, and copies that `take` and `restrict` make, are free: they are no
    products.

    Parameters
    ----------
    stack : GramStack
        The matrices.
    meter : Meter
        What counts.
    """

    stack: GramStack
    meter: Meter

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (n_kernels, n_rows, n_cols)."""
        return self.stack.shape

    @cached_property
    def traces(self) -> Array:
        """Return every trace, computed once; shape (n_kernels,)."""
        return traces(self.stack)

    def count(self, kernels: int, rows: int, vectors: int = 1) -> None:
        """Count products of some rows of some kernels with vectors."""
        length = whole_rows(self.stack) or self.shape[2]
        self.meter.read += float(kernels) * rows * length * vectors

    def quadratic_forms(self, v: Array) -> Array:
        """Return v^T K_m v (summed over outputs) for every m, shape (n_kernels,)."""
        self.count(*self.shape[:2], _vectors(v, 1))
        return self.stack.quadratic_forms(v)

    def matvec(self, v: Array) -> Array:
        """Return K_m v for every m, shape (n_kernels, n_rows[, n_outputs])."""
        self.count(*self.shape[:2], _vectors(v, 1))
        return self.stack.matvec(v)

    def block_matvec(self, coefs: Array) -> Array:
        """Return K_m coefs[m] for every m, shape (n_kernels, n_rows[, n_outputs])."""
        self.count(*self.shape[:2], _vectors(coefs, 2))
        return self.stack.block_matvec(coefs)

    def combine(self, weights: Array) -> GramMatrix:
        """Return sum_m weights[m] K_m as one matrix."""
        matrix = self.stack.combine(weights)
        if isinstance(matrix, LazyMatrix):
            return replace(matrix, stack=_MeteredVisits(matrix.stack, self.meter))
        self.count(int(np.count_nonzero(weights)), self.shape[1])
        return matrix

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_kernels, n_rows, n_indices)."""
        return self.restrict(np.arange(self.shape[1]), indices)._all()

    def _all(self) -> Array:
        self.count(*self.shape[:2])
        return self.stack.columns(np.arange(self.shape[2]))

    def diagonals(self) -> Array:
        """Return every diagonal, shape (n_kernels, n_rows)."""
        return self.stack.diagonals()

    def take(self, kernels: Indices) -> "MeteredStack":
        """Return the stack of the chosen kernels."""
        return MeteredStack(self.stack.take(kernels), self.meter)

    def restrict(self, rows: Indices, cols: Indices) -> "MeteredStack":
        """Return the stack on the chosen samples."""
        return MeteredStack(self.stack.restrict(rows, cols), self.meter)


@dataclass(frozen=True, eq=False)
class _MeteredVisits:
    """A lazy stack under a weighted sum: it counts every time it is computed."""

    stack: VisitedStack
    meter: Meter

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.stack.shape

    def diagonals(self) -> Array:
        return self.stack.diagonals()

    def restrict(self, rows: Indices, cols: Indices) -> "_MeteredVisits":
        return _MeteredVisits(self.stack.restrict(rows, cols), self.meter)

    def visit_blocks(self, visit: Visit) -> None:
        n_kernels, n_rows, n_cols = self.shape
        length = whole_rows(self.stack) or n_cols
        self.meter.read += float(n_kernels) * n_rows * length
        self.stack.visit_blocks(visit)


@singledispatch
def whole_rows(stack: object) -> int | None:
    """Return the entries of a row where a stack always computes all; None otherwise."""
    return None


@whole_rows.register
def _(stack: NormalizedStack) -> int | None:
    # Its steps need whole rows, on all training samples.
    return stack.stack.shape[2]


@whole_rows.register(ScaledStack)
@whole_rows.register(MeteredStack)
@whole_rows.register(_MeteredVisits)
def _(stack: ScaledStack | MeteredStack | _MeteredVisits) -> int | None:
    return whole_rows(stack.stack)


def _vectors(v: Array, ndim: int) -> int:
    """Return how many vectors an array holds, beyond so many axes."""
    return 1 if v.ndim == ndim else int(v.shape[ndim])


@traces.register
def _(stack: MeteredStack) -> Array:
    return stack.traces


@expansion_length.register
def _(stack: MeteredStack) -> int:
    return expansion_length(stack.stack)


@own_expansions.register
def _(stack: MeteredStack, coefs: Array) -> Array:
    return own_expansions(stack.stack, coefs)


@residual_bounds.register
def _(stack: MeteredStack, v: Array) -> Array:
    return residual_bounds(stack.stack, v)


@full_forms.register
def _(stack: MeteredStack, kernels: Indices, v: Array) -> Array:
    stack.count(kernels.size, stack.shape[1], _vectors(v, 1))
    return full_forms(stack.stack, kernels, v)


@held_numbers.register
def _(stack: MeteredStack) -> Array:
    return held_numbers(stack.stack)


@term_products.register
def _(stack: MeteredStack, kernels: Indices | None, coefs: Array) -> TermProducts:
    stack.count(len(coefs), stack.shape[1], _vectors(coefs, 2))
    return term_products(stack.stack, kernels, coefs)


@images_of_sparse.register
def _(stack: MeteredStack, support: Indices, values: Array) -> Array:
    n_kernels, n_rows, _ = stack.shape
    length = whole_rows(stack.stack) or support.size
    stack.meter.read += float(n_kernels) * n_rows * length
    return images_of_sparse(stack.stack, support, values)


@combined_rows.register
def _(stack: MeteredStack, weights: Array, rows: Indices) -> Array:
    stack.count(int(np.count_nonzero(weights)), rows.size)
    return combined_rows(stack.stack, weights, rows)


@viewed.register
def _(stack: MeteredStack, kernels: Indices) -> MeteredStack:
    return MeteredStack(viewed(stack.stack, kernels), stack.meter)


@asked_once.register
def _(stack: MeteredStack, kernels: Indices) -> MeteredStack:
    return MeteredStack(asked_once(stack.stack, kernels), stack.meter)


@resident_products.register
def _(stack: MeteredStack, kernels: Indices) -> Products:
    inner = resident_products(stack.stack, kernels)

    def products(positions: Indices, rows: Array) -> Array:
        stack.count(len(positions), stack.shape[1], rows.shape[1])
        return inner(positions, rows)

    return products
