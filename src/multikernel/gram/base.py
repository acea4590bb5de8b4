"""Base class of all storages of Gram matrices."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array, Indices, Mask
from multikernel._validation import InstanceOf
from multikernel.gram.matrix import (
    HELD_BYTES,
    BlockMultiplier,
    GramMatrix,
    ImageProducts,
    RestrictedMatrix,
    TermProducts,
    column_runs,
    multiplier_of_arrays,
    zero_padded,
)
from multikernel.linalg.shifted import Root
from multikernel.linalg.tables import CHUNK_BYTES
from multikernel.linalg.tall import (
    GroupedFactor,
    TallArray,
    TallMatrix,
    covariances_with_sum,
    slices_between,
)


def uncentered_trace_weight(n_samples: int) -> float:
    """Return the share of the uncentered trace that `rounded_traces` adds to traces."""
    # `GramStack.rounded_traces` of kernels that are centered or projected exceed their
    # traces, because entries are rounded before they are centered or projected.
    # Rounding errors of matrix products are at most (4 + sqrt(n)) EPS times the trace.
    # Entries that were rounded before centering have errors of random signs, whose
    # quadratic forms are about 2 EPS times the mean uncentered diagonal entry.
    return float(2.0 / (n_samples * (4.0 + np.sqrt(n_samples))))


class GramStack(ABC):
    """A stack of square, symmetric Gram matrices K_1, ..., K_M.

    A storage implements `shape`, `matvec`, `combine`, `columns` and `take`; all other
    methods have defaults. Arrays in arguments and results are float64 NumPy arrays. One
    call of `quadratic_forms` is one *pass*, the unit of cost of every solver. If the
    matrices approximate kernels, override `residual_bounds`, `residual_traces` and
    `full_forms` too.
    """

    in_memory: bool = False
    """Whether matrices or factors are stored, not computed whenever they are needed."""

    makes_factors: bool = False
    """Whether `take` computes factors, which its result stores for later passes."""

    # Abstract methods.

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
        """Return the chosen kernels as a stack for many multiplications by vectors."""
        # Matrices may be copied or computed first, so that each multiplication is fast.

    # Stacks of some kernels or samples.

    def once(self, kernels: Indices) -> "GramStack":
        """Return the chosen kernels as a stack, without copies where possible."""
        # For a single multiplication by vectors, where the copies that `take` may make
        # would not save time.
        return self.take(kernels)

    def restrict(self, samples: Indices) -> "GramStack":
        """Return the stack on the chosen samples (a view where possible)."""
        return RestrictedStack(self, np.asarray(samples))

    def entries(self, kernel: int, rows: Indices, cols: Indices) -> Array:
        """Return some entries of one kernel, shape (n_rows, n_cols)."""
        return np.asarray(self.once(np.array([kernel])).columns(cols)[0][rows])

    # Products with vectors.

    def quadratic_forms(self, v: Array) -> Array:
        """Return v^T K_m v for every m, summed over outputs, shape (n_kernels,)."""
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

    def root(self, weights: Array, shift: Array) -> Root | None:
        """Return R with sum_m weights[m] K_m + diag(shift) = R R^T.

        Shifts are positive. The result is None if the sum is implicit or indefinite.
        """
        return self.combine(weights).root(shift)

    # Diagonals, traces, and numbers of stored entries.

    def diagonals(self) -> Array:
        """Return every diagonal, shape (n_kernels, n_samples)."""
        n_kernels, n_samples, _ = self.shape
        runs = column_runs(n_samples, n_kernels * n_samples)
        blocks = [self.columns(run)[:, run, np.arange(run.size)] for run in runs]
        return np.concatenate(blocks, axis=1)

    def traces(self, shares: Array | None = None) -> Array:
        """Return every trace, weighted by `shares` if they are given, (n_kernels,)."""
        # The shares are weights of the samples, (n_samples,). A weighted trace is the
        # sum of the shares times the diagonal entries.
        diagonals = self.diagonals()
        if shares is None:
            return np.asarray(diagonals.sum(axis=1))
        return np.asarray(diagonals @ shares)

    def rounded_traces(self) -> Array:
        """Return abs(tr K_m), or more if entries are less precise, (n_kernels,)."""
        # Bounds on rounding errors of quadratic forms are multiples of these numbers. A
        # storage whose entries are small differences of large numbers must return more
        # than |tr K_m|.
        return np.abs(self.traces())

    def held_numbers(self) -> Array:
        """Return the number of stored numbers per kernel, shape (n_kernels,)."""
        n_kernels, n_rows, n_cols = self.shape
        return np.full(n_kernels, float(n_rows) * n_cols)

    def pass_numbers(self) -> float:
        """Return the number of stored numbers that a pass over all kernels reads."""
        return float(self.held_numbers().sum())

    def shares_work(self) -> bool:
        """Return whether one pass over all kernels reads less than a pass for each."""
        # The result is True if one pass over all kernels reads at most half as many
        # numbers as passes over each kernel. A stack of products, for example, reads
        # each main kernel only once for the quadratic forms of all products.
        return bool(2.0 * self.pass_numbers() <= self.held_numbers().sum())

    def in_parts(self) -> Iterable["GramStack"]:
        """Return stacks of consecutive kernels; the stack itself by default."""
        return [self]

    def zero_kernels(self) -> Indices:
        """Return the kernels whose matrix is zero: those with a zero diagonal."""
        return np.flatnonzero(~np.any(self.diagonals() > 0.0, axis=1))

    def rough_forms(self, v: Array) -> tuple[Array, Array]:
        """Return quadratic forms, and bounds on their errors in single precision."""
        # Both arrays have shape (n_kernels,). The bounds ignore rounding errors in
        # double precision, so they are zero if a storage computes in double precision.
        return self.quadratic_forms(v), np.zeros(self.shape[0])

    def largest_forms(
        self, v: Array, level: float, n_largest: int
    ) -> tuple[Indices, Array, float]:
        """Return the `n_largest` largest quadratic forms of v that exceed a level.

        The result is the kernels of these forms, ascending; the forms; and the largest
        form of the other kernels, minus infinity if all kernels are in the result.
        """
        kernels, forms = np.empty(0, dtype=np.intp), np.empty(0)
        start, largest_other = 0, -np.inf
        for part in self.in_parts():
            stop = start + part.shape[0]
            kernels = np.concatenate([kernels, np.arange(start, stop)])
            forms = np.concatenate([forms, part.quadratic_forms(v)])
            chosen = np.flatnonzero(forms > level)
            if chosen.size > n_largest:
                order = np.argpartition(-forms[chosen], n_largest - 1)
                chosen = np.sort(chosen[order[:n_largest]])
            others = np.delete(forms, chosen)
            largest_other = max(largest_other, float(others.max(initial=-np.inf)))
            kernels, forms, start = kernels[chosen], forms[chosen], stop
        return kernels, forms, largest_other

    def resident_products(self, kernels: Indices) -> BlockMultiplier:
        """Return a function for repeated products of chosen kernels with vectors."""
        # See `BlockMultiplier`. Matrices of up to `HELD_BYTES` together are computed
        # once and kept as arrays.
        n_samples = self.shape[2]
        if 8 * kernels.size * n_samples**2 <= HELD_BYTES:
            matrices = self.take(kernels).columns(np.arange(n_samples))
            return multiplier_of_arrays(list(matrices))
        return multiplier_of_stack(self.once(kernels))

    # Factors, and functions in the spaces of kernels.

    def tall_form(self) -> tuple[TallMatrix, Indices] | None:
        """Return the factors of K_m = Z_m Z_m^T as one tall matrix, and offsets.

        Factor Z_m is in columns ``offsets[m]`` to ``offsets[m + 1] - 1``. The result is
        None if the stack has no factors.
        """
        return None

    def own_factors(self, kernels: Indices) -> list[GroupedFactor] | None:
        """Return one factor per chosen kernel; None if factors are not in memory."""
        form = self.take(kernels).tall_form()
        if form is None or not isinstance(form[0], TallArray):
            return None
        Z, offsets = form[0].Z, form[1]
        return [GroupedFactor(Z[:, columns].T) for columns in slices_between(offsets)]

    @property
    def expansion_length(self) -> int:
        """Return the number of coefficients of a function in the space of a kernel.

        It is n_samples for functions f = K_m c, and the largest rank for functions
        f = Z_m u with factors Z_m. A largest rank of n_samples counts as n_samples + 1,
        so that the number of coefficients shows which form a function has.
        """
        return self.shape[1]

    def own_expansions(self, coefs: Array) -> Array:
        """Return the coefficients that models store for the functions K_m coefs[m]."""
        # Models store `coefs`, or Z_m^T coefs[m] for factors Z_m in blocks of rows. The
        # number of coefficients per kernel is `expansion_length`.
        return coefs

    def term_products(self, coefs: Array) -> TermProducts:
        """Return the images K_m coefs[m] of all kernels as `TermProducts`."""
        # The coefficients are as in `block_matvec`, or from `own_expansions`.
        return ImageProducts(coefs, self.block_matvec(coefs), self.diagonals())

    def term_covariances(
        self, kernels: Indices, coefs: Array, weights: Array
    ) -> tuple[Array, Array]:
        """Return squared norms of terms, and covariances with the sum of terms.

        Both have shape (n_outputs, n_terms). The terms are K_m coefs[m] of the chosen
        kernels, with `coefs` of shape (n_terms, n_samples, n_outputs), and have squared
        norms coefs[m]^T K_m coefs[m]. Covariances are sums over samples, weighted by
        the sample weights `weights` and not divided by the sum of `weights`.
        """
        n_terms, n_samples, n_outputs = coefs.shape
        squares, covariances = np.empty((2, n_outputs, n_terms))
        step = max(1, CHUNK_BYTES // (8 * max(1, n_terms * n_samples)))
        # Kernels that are not stored are computed once, for all outputs.
        step = step if self.in_memory else max(1, n_outputs)
        stack = self.once(kernels)
        for start in range(0, n_outputs if n_terms else 0, step):
            outputs = slice(start, start + step)
            images = stack.block_matvec(coefs[:, :, outputs])
            squares[outputs] = np.einsum("mik,mik->km", coefs[:, :, outputs], images)
            values = np.moveaxis(images, 0, 2)
            covariances[outputs] = covariances_with_sum(values, weights)
        return squares, covariances

    def count(  # noqa: B027 - only `MeteredStack` counts
        self, kernels: int, rows: int, vectors: int = 1
    ) -> None:
        """Count products that callers of `tall_form` compute; no action by default."""
        # The arguments are the numbers of kernels, of rows per kernel and of vectors.

    # Residuals: the kernels minus the stored matrices.

    def residual_bounds(self, v: Array) -> Array:
        """Return upper bounds on the quadratic forms of the residuals, (n_kernels,).

        Residuals are the kernels minus the stored matrices. The forms of the stack plus
        these bounds are upper bounds on the forms of the kernels.
        """
        return np.zeros(self.shape[0])

    def residual_traces(self, shares: Array) -> Array:
        """Return the traces of the residuals, weighted by `shares`, (n_kernels,)."""
        # The shares are weights of the samples; see `traces`.
        return np.zeros(self.shape[0])

    def has_features(self) -> Mask:
        """Return a mask of kernels stored as explicit features, shape (n_kernels,)."""
        # Rounding errors of features are small relative to each feature. The entries of
        # factors from landmarks are differences, whose relative errors may be larger.
        return np.zeros(self.shape[0], dtype=bool)

    def full_forms(self, kernels: Indices, v: Array) -> Array:
        """Return v^T K_m v of chosen kernels without approximation; nan if unknown."""
        return np.full(kernels.size, np.nan)


def multiplier_of_stack(stack: GramStack) -> BlockMultiplier:
    """Return a function that multiplies kernels of a stack by blocks of vectors."""

    def products(positions: Indices, rows: Array) -> Array:
        vectors = np.ascontiguousarray(rows.transpose(0, 2, 1))
        images = stack.take(positions).block_matvec(vectors)
        return np.ascontiguousarray(images.transpose(0, 2, 1))

    return products


@dataclass(frozen=True, eq=False)
class RestrictedStack(GramStack):
    """Any stack restricted to some samples; `parent` is the stack of all samples."""

    parent: GramStack
    samples: Indices

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (n_kernels, n_samples, n_samples)."""
        return self.parent.shape[0], self.samples.size, self.samples.size

    def matvec(self, v: Array) -> Array:
        """Return K_m v for every m, shape (n_kernels, n_samples[, n_outputs])."""
        return self.parent.matvec(self.padded(v))[:, self.samples]

    def combine(self, weights: Array) -> GramMatrix:
        """Return sum_m weights[m] K_m as one matrix."""
        return RestrictedMatrix(self.parent.combine(weights), self.samples)

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_kernels, n_samples, n_indices)."""
        return self.parent.columns(self.samples[indices])[:, self.samples]

    def take(self, kernels: Indices) -> GramStack:
        """Return the stack of the chosen kernels."""
        return RestrictedStack(self.parent.take(kernels), self.samples)

    def diagonals(self) -> Array:
        """Return every diagonal, shape (n_kernels, n_samples)."""
        return self.parent.diagonals()[:, self.samples]

    def residual_bounds(self, v: Array) -> Array:
        """Return bounds on forms of the residuals; see `GramStack.residual_bounds`."""
        return self.parent.residual_bounds(self.padded(v))

    def residual_traces(self, shares: Array) -> Array:
        """Return weighted traces of residuals; see `GramStack.residual_traces`."""
        # Samples of `parent` that the stack lacks get weight zero.
        return self.parent.residual_traces(self.padded(shares))

    def full_forms(self, kernels: Indices, v: Array) -> Array:
        """Return v^T K_m v of chosen kernels before their approximation by factors."""
        return self.parent.full_forms(kernels, self.padded(v))

    def padded(self, v: Array) -> Array:
        """Return v with a row for each sample of `parent`; additional rows are zero."""
        return zero_padded(v, self.samples, self.parent.shape[1])


STACK = InstanceOf(GramStack, "a GramStack")
