"""Compute the kernels of a plan: Gaussian kernels in batches, others one by one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, pairwise

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.compute.plan import Plan, RadialPlan, make_plan
from multikernel.gram.matrix import ENTRIES_PER_TASK, Stored
from multikernel.kernels.base import (
    Kernel,
    KernelDictionary,
    checked_values,
    kernel_diagonal,
    kernel_name,
)
from multikernel.kernels.built_in import is_built_in
from multikernel.kernels.dictionary import ListDictionary
from multikernel.linalg import CHUNK
from multikernel.linalg.threads import compiled, run_blocks

LOOPS = "multikernel.gram.compute.loops"

BLOCK_NUMBERS = 2**17
"""Number of float64 entries in a block, which takes one megabyte."""

ROWS = 8
"""Rows that are processed together, so that four columns of the samples are read from
a core's cache: with one row at a time, 784 columns take 1.4 times longer."""

BATCH = 32
"""Number of Gaussian kernels that are computed together."""

ALL_ROWS = slice(None)

SMALLEST = float(np.finfo(np.float32).tiny)
LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, eq=False)
class BlockSamples:
    """The samples of the rows and of the columns of a block of matrices."""

    rows: Array  # (n_rows, n_features)
    # (n_cols, n_features); the same object as `rows` for symmetric matrices.
    cols: Array
    # A row and a column with equal ids are the same sample, not only equal values.
    row_ids: Indices
    col_ids: Indices

    @property
    def symmetric(self) -> bool:
        """Return whether rows and columns are the same samples."""
        return self.rows is self.cols

    @cached_property
    def row_features(self) -> Array:
        """Return `rows` transposed, so that each feature is contiguous."""
        return np.ascontiguousarray(self.rows.T)

    @cached_property
    def col_features(self) -> Array:
        """Return `cols` transposed, so that each feature is contiguous."""
        if self.symmetric:
            return self.row_features
        return np.ascontiguousarray(self.cols.T)

    def restrict(self, rows: Indices, cols: Indices) -> "BlockSamples":
        """Return the samples at the given positions among rows and columns."""
        chosen, row_ids = self.rows[rows], self.row_ids[rows]
        if self.symmetric and np.array_equal(rows, cols):
            return BlockSamples(chosen, chosen, row_ids, row_ids)
        return BlockSamples(chosen, self.cols[cols], row_ids, self.col_ids[cols])


def make_samples(X: Array) -> BlockSamples:
    """Return the samples of a square block."""
    ids = np.arange(X.shape[0])
    return BlockSamples(X, X, ids, ids)


def write_exponents(
    plan: RadialPlan,
    samples: BlockSamples,
    rows: slice,
    stops: Indices,
    offsets: Indices,
    out: Array,
) -> None:
    """Write the exponents of some Gaussian kernels to chosen entries of `out`."""
    # The entries are the first stops[i] columns of row rows.start + i, for each i. The
    # array `out` is flat: the exponents of the k-th kernel of `plan` start at
    # out[offsets[k]], row after row.
    # The caller then computes the exponentials, with as few calls as possible.
    longest = int(stops.max(initial=1))
    width = min(CHUNK, longest)
    block_starts = np.arange(0, longest, width)[:, None]
    compiled(LOOPS, "fill_exponents")(
        samples.row_features,
        samples.col_features,
        plan.layout,
        plan.exponents,
        rows.start,
        np.clip(stops - block_starts, 0, width),
        np.cumsum(stops) - stops,
        offsets,
        np.empty((ROWS, width)),
        out,
    )


def row_blocks(n_rows: int, n_cols: int, n_kernels: int) -> Iterator[slice]:
    """Cut rows into blocks that stay in a core's cache for all kernels of a batch."""
    step = max(1, BLOCK_NUMBERS // (n_kernels * max(1, n_cols)))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def write_matrices(
    array: Stored,
    plan: Plan,
    samples: BlockSamples,
    normalize: Callable[[int, Array], None],
) -> None:
    """Write every Gram matrix, changed by `normalize`, to an array on several threads.

    `normalize` changes matrices of consecutive kernels in place; its arguments are the
    index of the first kernel, and the matrices.
    """
    # The array is C-contiguous, float64 or float32. Each thread allocates a few more
    # matrices.
    n_rows, n_cols = array.shape[1:]
    is_double, entries = array.dtype == np.float64, max(1, n_rows * n_cols)
    batch_size = BATCH if is_double else max(1, min(BATCH, ENTRIES_PER_TASK // entries))
    max_run = max(1, BLOCK_NUMBERS // entries)

    def write_batch(batch: RadialPlan) -> None:
        """Compute a batch of Gaussian kernels, and normalize consecutive ones."""
        # Kernels are computed in float64: in `array` itself if it is float64, otherwise
        # in `target`, from which `store` copies them to the float32 array.
        shape = (batch.kernels.size, n_rows, n_cols)
        target = np.asarray(array, np.float64) if is_double else np.empty(shape)
        positions = batch.kernels if is_double else np.arange(batch.kernels.size)
        write_radial(batch, samples, target, positions)
        for run in _runs(batch.kernels, max_run):
            m, position = int(batch.kernels[run.start]), int(positions[run.start])
            matrices = target[position : position + run.stop - run.start]
            normalize(m, matrices)
            if not is_double:
                for kernel, K in enumerate(matrices, m):
                    store(kernel, K)

    def write_other(index: int) -> None:
        """Compute and normalize kernel `plan.others[index]`."""
        m = int(plan.others[index])
        K = np.array(evaluate_other(plan, index, samples))
        normalize(m, K[None])
        store(m, K)

    def store(m: int, K: Array) -> None:
        """Copy a float64 matrix to `array`; raise if float32 cannot represent it."""
        if not is_double:
            largest = max(float(K.max()), -float(K.min()))
            check_single_range(largest, m, plan.dictionary)
        array[m] = K

    batches = plan.radial.batches(batch_size)
    batch_tasks = (partial(write_batch, batch) for batch in batches)
    other_tasks = (partial(write_other, index) for index in range(plan.others.size))
    run_blocks(lambda write: write(), chain(batch_tasks, other_tasks))


def check_single_range(largest: float, m: int, dictionary: KernelDictionary) -> None:
    """Raise if a kernel's largest value is outside the range of single precision."""
    if largest > LARGEST or 0.0 < largest < SMALLEST:
        raise ValueError(
            f"The largest value of kernel {m} ({kernel_name(dictionary[m])}) is "
            f"{largest:.3g}, too {'large' if largest > 1.0 else 'small'} for single "
            "precision: scale the features, or pass storage='dense'."
        )


def _runs(indices: Indices, max_length: int) -> Iterator[slice]:
    """Yield slices of consecutive `indices`, each at most `max_length` long."""
    bounds = [*(np.flatnonzero(np.diff(indices) != 1) + 1).tolist(), indices.size]
    for first, last in pairwise([0, *bounds]):
        for start in range(first, last, max_length):
            yield slice(start, min(start + max_length, last))


def write_radial(
    batch: RadialPlan, samples: BlockSamples, array: Array, positions: Indices
) -> None:
    """Write the kernels of `batch` to array[positions]; `array` is C-contiguous."""
    _, n_rows, n_cols = array.shape
    flat = array.reshape(-1)
    for rows in row_blocks(n_rows, n_cols, positions.size):
        stops = np.full(rows.stop - rows.start, n_cols)
        offsets = (positions * n_rows + rows.start) * n_cols
        write_exponents(batch, samples, rows, stops, offsets, flat)
        for position in positions:
            np.exp(array[position, rows], out=array[position, rows])


def radial_matrices(kernels: Sequence[Kernel], X: Array, Y_features: Array) -> Array:
    """Return Gaussian kernels on samples, (n_kernels, n_samples_X, n_samples_Y)."""
    n_rows, n_cols = len(X), Y_features.shape[1]
    samples = BlockSamples(X, Y_features.T, np.arange(n_rows), np.arange(n_cols))
    array = np.empty((len(kernels), n_rows, n_cols))
    plan = make_plan(ListDictionary(kernels), X.shape[1])
    for batch in plan.radial.batches(BATCH):
        write_radial(batch, samples, array, batch.kernels)
    return array


def evaluate_other(
    plan: Plan, index: int, samples: BlockSamples, rows_part: slice = ALL_ROWS
) -> Array:
    """Return validated rows of the matrix of kernel `plan.others[index]`, read-only."""
    # The rows of a precomputed kernel are a view of its own array.
    kernel_index = int(plan.sources[index])
    kernel = plan.dictionary[kernel_index]
    rows, row_ids = samples.rows[rows_part], samples.row_ids[rows_part]
    has_all = rows.shape[0] == samples.rows.shape[0]
    cols = None if has_all and samples.symmetric else samples.cols
    expected = (rows.shape[0], samples.cols.shape[0])
    message = f"Kernel {kernel_index} ({{}})"
    K = checked_values(lambda: kernel(rows, cols), expected, kernel, message)
    if cols is None or is_built_in(kernel):
        return K
    # Kernels such as scikit-learn's WhiteKernel distinguish a sample compared with
    # itself from two equal samples, but only in kernel(X) or diag.
    equal_ids = np.nonzero(row_ids[:, None] == samples.col_ids)
    if equal_ids[0].size:
        K = K.copy()
        K[equal_ids] = evaluate_diagonal(plan, index, rows)[equal_ids[0]]
    return K


def evaluate_diagonal(plan: Plan, index: int, rows: Array) -> Array:
    """Return validated k(x, x) of kernel `plan.others[index]`, shape (n_rows,)."""
    kernel_index = int(plan.sources[index])
    kernel = plan.dictionary[kernel_index]
    message, shape = f"The diag of kernel {kernel_index} ({{}})", rows.shape[:1]
    return checked_values(lambda: kernel_diagonal(kernel, rows), shape, kernel, message)
