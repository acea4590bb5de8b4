"""Gram matrices stored in one array."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from math import prod

import numpy as np
from scipy.linalg.blas import daxpy

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramStack
from multikernel.gram.matrix import (
    ENTRIES_PER_TASK,
    BlockMultiplier,
    DenseMatrix,
    GramMatrix,
    Stored,
    multiplier_of_arrays,
)
from multikernel.linalg.shifted import Root, root_of_scaled
from multikernel.linalg.tables import read_only, write_block
from multikernel.linalg.tall import as_slice
from multikernel.linalg.threads import Block, compiled, run_blocks, with_one_blas_thread

LOOPS = "multikernel.gram.dense_loops"

FEW = 0.5
"""If a vector has at most this share of nonzero entries, only their rows are read."""


def n_threads_for(n_entries: int) -> int | None:
    """Return the number of threads for this number of entries; None means all."""
    return 1 if n_entries <= ENTRIES_PER_TASK else None


@dataclass(frozen=True, eq=False)
class DenseStack(GramStack):
    """Gram matrices in one array, which may be mapped from a file.

    The array, of shape (n_kernels, n_rows, n_cols), is C-contiguous, float64 or
    float32, and neither copied nor changed. Sums are always computed in float64.
    """

    array: Stored
    in_memory = True
    _cached_diagonals: Array | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        if not isinstance(self.array, np.ndarray) or self.array.ndim != 3:
            received = type(self.array).__name__
            if isinstance(self.array, np.ndarray):
                received = f"shape {self.array.shape}"
            raise ValueError(
                "A DenseStack requires an array of shape (n_kernels, n_rows, "
                f"n_cols), got {received}: pass numpy.stack(matrices)."
            )
        if self.array.dtype not in (np.float64, np.float32):
            raise ValueError(
                f"A DenseStack requires float64 or float32, got {self.array.dtype}: "
                "pass array.astype(float)."
            )
        if not self.array.flags.c_contiguous:
            raise ValueError(
                "A DenseStack requires a C-contiguous array, got another memory "
                "layout: pass numpy.ascontiguousarray(array)."
            )

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (n_kernels, n_rows, n_cols)."""
        n_kernels, n_rows, n_cols = self.array.shape
        return n_kernels, n_rows, n_cols

    def quadratic_forms(self, v: Array) -> Array:
        """Return v^T K_m v (summed over outputs) for every m, shape (n_kernels,)."""
        if self.array.dtype == np.float32:
            return self.once(np.arange(self.shape[0])).quadratic_forms(v)
        if v.size > len(v):
            # tr(V^T K V) = <K, V V^T> reads each kernel once for all outputs. On 50
            # kernels of 1000 samples and 100 outputs it takes 0.06 s; the products K V
            # took 0.8 s.
            flat = self.array.reshape(self.shape[0], v.shape[0] ** 2)
            return np.asarray(flat @ (v @ v.T).reshape(-1))
        return super().quadratic_forms(v)

    def matvec(self, v: Array) -> Array:
        """Return K_m v for every m, shape (n_kernels, n_rows[, n_outputs])."""
        n_kernels, n_rows, n_cols = self.shape
        if self.array.dtype == np.float32:
            # Convert a matrix at a time to float64, instead of the whole array.
            return self.once(np.arange(n_kernels)).matvec(v)
        if v.ndim > 1 and n_rows == n_cols:
            # The matrices are symmetric. With seven vectors, products of rows took a
            # third of the time of products of columns.
            rows = np.matmul(np.ascontiguousarray(v.T), self.array)
            return np.ascontiguousarray(rows.swapaxes(1, 2))
        if v.ndim > 1:
            return np.asarray(np.matmul(self.array, v))
        support = np.flatnonzero(v)
        if n_rows == n_cols and support.size <= FEW * n_cols:
            return self.row_sums(np.arange(n_kernels), support, v[None, support])
        return np.asarray((self.array.reshape(-1, n_cols) @ v).reshape(-1, n_rows))

    def block_matvec(self, coefs: Array) -> Array:
        """Return K_m coefs[m] for every m, (n_kernels, n_samples[, n_outputs])."""
        return self.once(np.arange(self.shape[0])).block_matvec(coefs)

    def combine(self, weights: Array) -> GramMatrix:
        """Return sum_m weights[m] K_m as one matrix."""
        n_kernels, n_rows, n_cols = self.shape
        support = np.flatnonzero(weights)
        is_large = support.size > 7 and support.size * n_rows**2 > ENTRIES_PER_TASK
        if is_large or self.array.dtype == np.float32:
            # Only half of each symmetric matrix is read: 837 kernels of 455 samples
            # take 0.06 s, with BLAS 0.10 s.
            return self.once(support).combine(weights[support])
        flat = self.array.reshape(n_kernels, n_rows * n_cols)
        if support.size > 1 and 2 * support.size > n_kernels:
            return DenseMatrix((weights @ flat).reshape(n_rows, n_cols))
        flat_total = np.zeros(n_rows * n_cols)

        def add() -> None:
            for m in support:
                daxpy(flat[m], flat_total, a=weights[m])

        # Threads would have to synchronize after every kernel, so one thread is faster:
        # many times faster if other processes keep the cores busy.
        with_one_blas_thread(add)
        return DenseMatrix(flat_total.reshape(n_rows, n_cols))

    def root(self, weights: Array, shift: Array) -> Root | None:
        """Return R with sum_m weights[m] K_m + diag(shift) = R R^T, or None."""
        # Half of each matrix is read, and the sum is scaled in the same loop.
        support = np.flatnonzero(weights)
        factors = np.asarray(weights[support], dtype=np.float64)
        scale = 1.0 / np.sqrt(shift)
        write = compiled(LOOPS, "write_scaled_sum")
        array, system = read_only(self.array), np.empty(self.shape[1:])

        def work(rows: slice) -> None:
            write(array, support, factors, scale, (rows.start, rows.stop), system)

        n_entries = support.size * scale.size
        tasks = _task_slices(scale.size, n_entries)
        run_blocks(work, tasks, n_threads_for(n_entries * scale.size))
        return root_of_scaled(system, scale)

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_kernels, n_rows, n_indices)."""
        return np.asarray(self.array[:, :, indices], dtype=np.float64)

    def diagonals(self) -> Array:
        """Return every diagonal, read-only, shape (n_kernels, n_rows)."""
        if self._cached_diagonals is not None:
            return self._cached_diagonals
        # Each diagonal entry is in its own cache line: reading them takes a quarter of
        # a pass at 200 samples.
        diagonals = np.array(np.einsum("mii->mi", self.array), dtype=np.float64)
        return self.cache_diagonals(diagonals)

    def cache_diagonals(self, diagonals: Array) -> Array:
        """Store diagonals that were computed elsewhere; return them, now read-only."""
        diagonals.flags.writeable = False
        object.__setattr__(self, "_cached_diagonals", diagonals)
        return diagonals

    def take(self, kernels: Indices) -> GramStack:
        """Return the stack of the chosen kernels, a view."""
        indices = np.arange(self.shape[0])[kernels]
        run = as_slice(indices)
        if isinstance(run, slice):
            return DenseStack(self.array[run])
        return self.once(indices)

    def once(self, kernels: Indices) -> GramStack:
        """Return the stack of the chosen kernels, without a copy."""
        return PartStack(self, np.arange(self.shape[1]), np.asarray(kernels))

    def entries(self, kernel: int, rows: Indices, cols: Indices) -> Array:
        """Return some entries of one kernel, shape (n_rows, n_cols)."""
        block = np.empty((rows.size, cols.size), self.array.dtype)
        write_block(self.array[kernel], rows, cols, block)
        return block.astype(np.float64, copy=False)

    def copied(self, kernels: Indices, rows: Indices, cols: Indices) -> "DenseStack":
        """Return the stack of the chosen kernels on the chosen samples, a copy."""
        copies = np.empty((kernels.size, rows.size, cols.size), self.array.dtype)

        def copy_kernel(k: int) -> None:
            write_block(self.array[kernels[k]], rows, cols, copies[k])

        run_blocks(copy_kernel, range(kernels.size))
        return DenseStack(copies)

    def row_sums(self, kernels: Indices, rows: Indices, values: Array) -> Array:
        """Return the sums of values times rows of some kernels, (n_chosen, n_cols).

        Values have shape (n_chosen, n_rows), or (1, n_rows) if all kernels share them.
        """
        # Rows are read instead of columns: matrices are symmetric and rows contiguous.
        return self._sums(self.shape[1] * kernels, rows, values)

    def combined_rows(self, weights: Array, rows: Indices) -> Array:
        """Return some rows of sum_m weights[m] K_m, shape (n_rows, n_samples)."""
        support = np.flatnonzero(weights)
        factors = np.asarray(weights[support], dtype=np.float64)
        return self._sums(rows, self.shape[1] * support, factors)

    def _sums(self, starts: Indices, offsets: Indices, factors: Array) -> Array:
        """Return weighted sums of rows, in parallel; see `write_sums`."""
        rows = read_only(self.array).reshape(-1, self.shape[2])
        total = np.empty((starts.size, self.shape[2]))
        write = compiled(LOOPS, "write_sums")
        factors = read_only(np.ascontiguousarray(np.atleast_2d(factors)))

        def write_part(indices: slice) -> None:
            part_factors = factors if len(factors) == 1 else factors[indices]
            write(rows, starts[indices], offsets, part_factors, total[indices])

        slices = _task_slices(starts.size, offsets.size * self.shape[2])
        run_blocks(write_part, slices, n_threads_for(offsets.size * total.size))
        return total

    def resident_products(self, kernels: Indices) -> BlockMultiplier:
        """Return a `BlockMultiplier`; see `GramStack.resident_products`."""
        matrices = (np.asarray(self.array[m], dtype=np.float64) for m in kernels)
        return multiplier_of_arrays(list(matrices))


@dataclass(frozen=True, eq=False)
class PartStack(GramStack):
    """A stack of matrices of some samples, a view of the matrices of all samples.

    The folds of a cross-validation can thus share one stack, `parent`. The samples must
    ascend; `chosen` are the kernels, all by default. Only lower triangles are read.
    """

    parent: DenseStack
    samples: Indices
    chosen: Indices | None = None

    in_memory = True

    def __post_init__(self) -> None:
        descents = np.flatnonzero(np.diff(self.samples) <= 0)
        if descents.size:
            first, second = self.samples[descents[0] :][:2].tolist()
            raise ValueError(
                "PartStack: samples must ascend without repeats, got "
                f"{first} before {second}: pass numpy.unique(samples)."
            )

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (n_kernels, n_samples, n_samples)."""
        return self.kernels.size, self.samples.size, self.samples.size

    @property
    def kernels(self) -> Indices:
        """Return the index in `parent` of each kernel of this stack."""
        kernels = range(self.parent.shape[0]) if self.chosen is None else self.chosen
        return np.asarray(kernels, dtype=np.intp)

    def quadratic_forms(self, v: Array) -> Array:
        """Return v^T K_m v (summed over outputs) for every m, shape (n_kernels,)."""
        if v.size <= len(v):
            return super().quadratic_forms(v)
        # tr(v^T K_m v) = <K_m, v v^T> reads each kernel once.
        outer, forms = v @ v.T, np.empty(self.shape[0])
        kernels = self.kernels

        def evaluate(k: int) -> None:
            forms[k] = np.vdot(self._matrix(kernels[k]), outer)

        self._run(evaluate, range(kernels.size))
        return forms

    def matvec(self, v: Array) -> Array:
        """Return K_m v for every m, shape (n_kernels, n_samples[, n_outputs])."""
        return self.block_matvec(v[None])

    def block_matvec(self, coefs: Array) -> Array:
        """Return K_m coefs[m], or K_m coefs[0] if `coefs` has one row, for every m."""
        if prod(coefs.shape[2:]) > 1:
            return self._joint_images(coefs)
        images = self._images(coefs.reshape(coefs.shape[:2]))
        return images.reshape(self.shape[0], *coefs.shape[1:])

    def combine(self, weights: Array) -> GramMatrix:
        """Return sum_m weights[m] K_m as one matrix."""
        combine_rows = compiled(LOOPS, "combine_rows")
        n = self.parent.shape[1]
        all_rows = read_only(self.parent.array).reshape(-1, n)
        support = np.flatnonzero(weights)
        starts = n * self.kernels[support]
        factors = read_only(np.asarray(weights[support], dtype=np.float64))
        total = np.empty(self.shape[1:])

        def work(row_range: slice) -> None:
            out_rows = row_range.start, row_range.stop
            combine_rows(
                all_rows, starts, factors, self.samples, out_rows, np.empty(n), total
            )

        self._run(work, _task_slices(self.samples.size, starts.size * n))
        return DenseMatrix(total)

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_kernels, n_samples, n_indices)."""
        cols = self.samples[indices]
        copy = self.parent.copied(self.kernels, self.samples, cols)
        return copy.array.astype(np.float64, copy=False)

    def diagonals(self) -> Array:
        """Return every diagonal, shape (n_kernels, n_samples)."""
        return self.parent.diagonals()[self.kernels[:, None], self.samples]

    def take(self, kernels: Indices) -> GramStack:
        """Return the stack of the chosen kernels, a view."""
        return PartStack(self.parent, self.samples, self.kernels[kernels])

    def restrict(self, samples: Indices) -> GramStack:
        """Return the stack on the chosen samples, a view if they ascend."""
        rows = self.samples[samples]
        if np.all(np.diff(rows) > 0):
            return PartStack(self.parent, rows, self.chosen)
        return super().restrict(samples)

    def combined_rows(self, weights: Array, rows: Indices) -> Array:
        """Return some rows of sum_m weights[m] K_m, shape (n_rows, n_samples)."""
        # The weights of repeated kernels add up: this stack may contain a kernel of
        # `parent` twice.
        kernel_weights = np.zeros(self.parent.shape[0])
        np.add.at(kernel_weights, self.kernels, weights)
        row_sums = self.parent.combined_rows(kernel_weights, self.samples[rows])
        return row_sums[:, self.samples]

    def _run(self, work: Callable[[Block], None], tasks: Iterable[Block]) -> None:
        """Call `work` for every task, on one thread if the stack has few entries."""
        run_blocks(work, tasks, n_threads_for(prod(self.shape)))

    def _images(self, vectors: Array) -> Array:
        """Return K_m @ vectors[m]; vectors have shape (n_kernels or 1, n_samples)."""
        support = np.flatnonzero(vectors.any(axis=0))
        if support.size <= FEW * self.samples.size:
            rows, values = self.samples[support], vectors[:, support]
            return self.parent.row_sums(self.kernels, rows, values)[:, self.samples]
        write_images = compiled(LOOPS, "write_images")
        array = read_only(self.parent.array)
        padded = np.zeros((len(vectors), self.parent.shape[1]))
        padded[:, self.samples] = vectors
        images = np.empty(self.shape[:2])
        kernels = self.kernels

        def work(indices: slice) -> None:
            buffer = np.empty((indices.stop - indices.start, self.parent.shape[1]))
            part_vectors = padded if len(padded) == 1 else padded[indices]
            write_images(array, kernels[indices], self.samples, part_vectors, buffer)
            images[indices] = buffer[:, self.samples]

        self._run(work, _task_slices(kernels.size, self.samples.size**2))
        return images

    def _joint_images(self, vectors: Array) -> Array:
        """Return K_m @ vectors[m]; vectors: (n_kernels or 1, n_samples, n_outputs)."""
        kernels = self.kernels
        images = np.zeros((*self.shape[:2], vectors.shape[2]))

        def multiply(k: int) -> None:
            columns = vectors[k % len(vectors)]
            if columns.any():
                np.matmul(self._matrix(kernels[k]), columns, out=images[k])

        self._run(multiply, range(kernels.size))
        return images

    def _matrix(self, kernel: int) -> Array:
        """Return one matrix in float64, a copy unless all samples are chosen."""
        if self.samples.size == self.parent.shape[1]:
            return np.asarray(self.parent.array[kernel], dtype=np.float64)
        return self.parent.entries(kernel, self.samples, self.samples)


def _task_slices(size: int, n_entries: int) -> Iterator[slice]:
    """Yield slices of range(size), each with the indices that one task processes."""
    # For each index, the task reads `n_entries` entries of matrices.
    n_indices = max(1, ENTRIES_PER_TASK // max(1, n_entries))
    for start in range(0, size, n_indices):
        yield slice(start, min(start + n_indices, size))
