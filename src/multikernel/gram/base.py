"""Protocol of a storage: a stack of Gram matrices with four primitives.

A storage defines products with vectors, weighted sums, columns, and the stack of some
kernels; the base class derives everything else, which storages may override.
`capabilities` has functions that only some storages implement, `refine` those that
bring matrices closer to their kernels. Arrays cross this boundary as float64 NumPy
arrays.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import InstanceOf
from multikernel.gram.matrix import (
    GramMatrix,
    RestrictedMatrix,
    column_runs,
    padded_to,
)

if TYPE_CHECKING:
    from functools import _SingleDispatchCallable

T = TypeVar("T")


def rounded_entries(n_samples: int) -> float:
    """Return the weight of an uncentered trace in `GramStack.rounded_traces`.

    Rounding of matrix products is (4 + sqrt(n)) EPS times the trace. Rounding of
    entries has random signs, so its forms are 2 EPS times the mean uncentered diagonal.
    """
    return float(2.0 / (n_samples * (4.0 + np.sqrt(n_samples))))


class GramStack(ABC):
    """A stack of square, symmetric Gram matrices K_1, ..., K_M."""

    in_memory: bool = False
    """Whether entries are stored instead of computed."""

    # The primitives.

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int, int]:
        """Return (n_kernels, n_samples, n_samples)."""

    @abstractmethod
    def matvec(self, v: Array) -> Array:
        """Return K_m v for every m, shape (n_kernels, n_samples[, n_outputs])."""

    @abstractmethod
    def combine(self, weights: Array) -> GramMatrix:
        """Return sum_m weights[m] K_m as one matrix."""

    @abstractmethod
    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_kernels, n_samples, n_indices)."""

    @abstractmethod
    def take(self, kernels: Indices) -> "GramStack":
        """Return the stack of the chosen kernels, for many products."""

    # Parts.

    def once(self, kernels: Indices) -> "GramStack":
        """Return the stack of the chosen kernels for one product, without a copy."""
        return self.take(kernels)

    def restrict(self, samples: Indices) -> "GramStack":
        """Return the stack on the chosen samples (a view where possible)."""
        return RestrictedStack(self, np.asarray(samples))

    def entries(self, kernel: int, rows: Indices, cols: Indices) -> Array:
        """Return some entries of one kernel, shape (n_rows, n_cols)."""
        return np.asarray(self.once(np.array([kernel])).columns(cols)[0][rows])

    # Products.

    def quadratic_forms(self, v: Array) -> Array:
        """Return v^T K_m v for every m, shape (n_kernels,).

        For v of shape (n_samples, n_outputs) the forms are summed over the outputs,
        tr(v^T K_m v). One call is one *pass*, the unit of cost of every solver.
        """
        images = self.matvec(v).reshape(self.shape[0], v.size)
        # Not BLAS: its second thread spins for 30 ms and slows the next operation.
        return np.asarray(np.einsum("mi,i->m", images, v.reshape(-1)))

    def block_matvec(self, coefs: Array) -> Array:
        """Return K_m coefs[m] for every m, (n_kernels, n_samples[, n_outputs])."""
        images = np.empty(coefs.shape)
        for m, vectors in enumerate(coefs):
            images[m] = self.once(np.array([m])).matvec(vectors)[0]
        return images

    def combined_rows(self, weights: Array, rows: Indices) -> Array:
        """Return some rows of sum_m weights[m] K_m, shape (n_rows, n_samples)."""
        return self.combine(weights).columns(rows).T

    # Sizes.

    def diagonals(self) -> Array:
        """Return every diagonal, shape (n_kernels, n_samples)."""
        n_kernels, n_samples, _ = self.shape
        parts = column_runs(n_samples, n_kernels * n_samples)
        return np.concatenate(
            [self.columns(part)[:, part, np.arange(part.size)] for part in parts],
            axis=1,
        )

    def traces(self, shares: Array | None = None) -> Array:
        """Return the trace of every matrix, (n_kernels,).

        With shares of the samples, (n_samples,), the trace is the sum of shares times
        diagonal entries.
        """
        diagonals = self.diagonals()
        if shares is None:
            return np.asarray(diagonals.sum(axis=1))
        return np.asarray(diagonals @ shares)

    def rounded_traces(self) -> Array:
        """Return the traces that scale bounds on rounding errors, shape (n_kernels,).

        They exceed `traces` if entries are small differences of large numbers; see
        `rounded_entries`.
        """
        return np.abs(self.traces())

    def held_numbers(self) -> Array:
        """Return the number of stored numbers per kernel, shape (n_kernels,)."""
        n_kernels, n_rows, n_cols = self.shape
        return np.full(n_kernels, float(n_rows) * n_cols)

    # Residuals: the kernels minus the stored matrices.

    def residual_bounds(self, v: Array) -> Array:
        """Return upper bounds on the quadratic forms of the kernels minus the matrices.

        The forms of the stack plus these bounds are upper bounds on the forms of the
        kernels, so a dual point that is feasible with them is feasible for the kernels.

        Parameters
        ----------
        v : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The vector; forms are summed over outputs.

        Returns
        -------
        bounds : ndarray of shape (n_kernels,)
            Zero if the matrices are the kernels themselves.
        """
        return np.zeros(self.shape[0])


@dataclass(frozen=True, eq=False)
class RestrictedStack(GramStack):
    """Some samples of any stack; the other samples have a coefficient of zero."""

    whole: GramStack
    samples: Indices

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (n_kernels, n_samples, n_samples)."""
        return self.whole.shape[0], self.samples.size, self.samples.size

    def matvec(self, v: Array) -> Array:
        """Return K_m v for every m, shape (n_kernels, n_samples[, n_outputs])."""
        return self.whole.matvec(self.padded(v))[:, self.samples]

    def combine(self, weights: Array) -> GramMatrix:
        """Return sum_m weights[m] K_m as one matrix."""
        return RestrictedMatrix(self.whole.combine(weights), self.samples)

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_kernels, n_samples, n_indices)."""
        return self.whole.columns(self.samples[indices])[:, self.samples]

    def take(self, kernels: Indices) -> GramStack:
        """Return the stack of the chosen kernels."""
        return RestrictedStack(self.whole.take(kernels), self.samples)

    def diagonals(self) -> Array:
        """Return every diagonal, shape (n_kernels, n_samples)."""
        return self.whole.diagonals()[:, self.samples]

    def residual_bounds(self, v: Array) -> Array:
        """Return bounds on the forms of residuals; see `GramStack.residual_bounds`."""
        return self.whole.residual_bounds(self.padded(v))

    def padded(self, v: Array) -> Array:
        """Return a vector over all samples, zero for those not chosen."""
        return padded_to(v, self.samples, self.whole.shape[1])


class Counts(GramStack):
    """A wrapper of a stack that counts its reads."""

    stack: GramStack

    @abstractmethod
    def count(self, kernels: int, rows: int, vectors: int = 1) -> None:
        """Count products computed elsewhere; see `capabilities.count`."""


def inside(stack: GramStack) -> GramStack:
    """Return the stack without its counter, for calls that read no entries."""
    while isinstance(stack, Counts):
        stack = stack.stack
    return stack


def capability(default: Callable[..., T]) -> "_SingleDispatchCallable[T]":
    """Return a function of a stack for which storages can register their own versions.

    A `Counts` wrapper passes the call to its wrapped stack.
    """
    function = singledispatch(default)

    def passed_on(stack: Counts, *given: object) -> T:
        return function(stack.stack, *given)

    function.register(Counts, passed_on)
    return function


STACK = InstanceOf(GramStack, "a GramStack")
