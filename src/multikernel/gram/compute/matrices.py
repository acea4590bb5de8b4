"""Compute the kernels of a plan: Gaussian kernels in batches, others one by one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, pairwise

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.compute.plan import Plan, RadialPlan, make_plan
from multikernel.gram.matrix import ENTRIES_PER_TASK, Stored
from multikernel.gram.normalization import Normalization
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

BLOCK_NUMBERS = 2**17
"""Number of float64 entries in a block, which takes one megabyte."""

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
    row_features: Array  # `rows` transposed, so that each feature is contiguous
    col_features: Array  # `cols` transposed
    # A row and a column with equal numbers are the same sample, not only equal values.
    row_numbers: Indices
    col_numbers: Indices

    @property
    def symmetric(self) -> bool:
        """Return whether rows and columns are the same samples."""
        return self.rows is self.cols

    @property
    def others(self) -> Array | None:
        """Return the samples of the columns, None if they equal those of the rows."""
        return None if self.symmetric else self.cols

    def restrict(self, rows: Indices, cols: Indices) -> "BlockSamples":
        """Return the samples at the given positions among rows and columns."""
        samples = make_samples(self.rows[rows])
        row_numbers = self.row_numbers[rows]
        if self.symmetric and np.array_equal(rows, cols):
            return replace(samples, row_numbers=row_numbers, col_numbers=row_numbers)
        others = self.cols[cols]
        return BlockSamples(
            samples.rows,
            others,
            samples.row_features,
            np.ascontiguousarray(others.T),
            row_numbers,
            self.col_numbers[cols],
        )


def make_samples(X: Array) -> BlockSamples:
    """Return the samples of a square block, as X and as its transpose."""
    features, numbers = np.ascontiguousarray(X.T), np.arange(X.shape[0])
    return BlockSamples(X, X, features, features, numbers, numbers)


def write_exponents(
    plan: RadialPlan,
    samples: BlockSamples,
    rows: slice,
    stops: Indices,
    offsets: Indices,
    out: Array,
) -> None:
    """Write the exponents of some rows of a few Gaussian kernels to `out`."""
    # Row i has the first stops[i] columns; the values of each kernel start at its
    # offset, row after row. Callers compute the exponentials, in as few calls as
    # possible.
    layout = plan.layout
    width = min(CHUNK, int(stops.max(initial=1)))
    compiled("multikernel.gram.compute.loops", "fill_exponents")(
        samples.row_features,
        samples.col_features,
        layout,
        plan.exponents,
        rows.start,
        stops,
        offsets,
        np.empty((layout.used.size, width)),
        np.empty(width),
        out,
    )


def row_blocks(n_rows: int, n_cols: int, n_kernels: int) -> Iterator[slice]:
    """Cut rows into blocks that stay in a core's cache for all kernels of a batch."""
    step = max(1, BLOCK_NUMBERS // (n_kernels * max(1, n_cols)))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def write_matrices(
    array: Stored, plan: Plan, samples: BlockSamples, normalization: Normalization
) -> None:
    """Write every normalized Gram matrix to an array, on several threads."""
    # The array is C-contiguous, float64 or float32. Each thread allocates a few more
    # matrices. Steps require the same samples in rows and columns.
    n_rows, n_cols = array.shape[1:]
    double, entries = array.dtype == np.float64, max(1, n_rows * n_cols)
    size = BATCH if double else max(1, min(BATCH, ENTRIES_PER_TASK // entries))
    together = max(1, BLOCK_NUMBERS // entries)

    def radial(batch: RadialPlan) -> None:
        """Write the matrices of the kernels of a plan."""
        # In double precision kernels are computed in place; otherwise they are rounded.
        shape = (batch.kernels.size, n_rows, n_cols)
        target = np.asarray(array, np.float64) if double else np.empty(shape)
        places = batch.kernels if double else np.arange(batch.kernels.size)
        write_radial(batch, samples, target, places)
        for run in _runs(batch.kernels, together):
            m, position = int(batch.kernels[run.start]), int(places[run.start])
            matrices = target[position : position + run.stop - run.start]
            normalization.learn(m, matrices)
            for number, K in () if double else enumerate(matrices, m):
                store(number, K)

    def other(index: int) -> None:
        m = int(plan.others[index])
        K = np.array(evaluate_other(plan, index, samples))
        normalization.learn(m, K[None])
        store(m, K)

    def store(m: int, K: Array) -> None:
        if not double:
            largest = max(float(K.max()), -float(K.min()))
            check_single_range(largest, m, plan.dictionary)
        array[m] = K

    batches = (partial(radial, batch) for batch in plan.radial.batches(size))
    singles = (partial(other, index) for index in range(plan.others.size))
    run_blocks(lambda write: write(), chain(batches, singles))


def check_single_range(largest: float, m: int, dictionary: KernelDictionary) -> None:
    """Raise if a kernel with this largest value overflows in single precision."""
    if largest > LARGEST or 0.0 < largest < SMALLEST:
        raise ValueError(
            f"Kernel {m} ({kernel_name(dictionary[m])}) has values of up to "
            f"{largest:.3g}, which is too {'large' if largest > 1.0 else 'small'} for "
            "single precision: scale the features, or choose storage='dense'."
        )


def _runs(numbers: Indices, most: int) -> Iterator[slice]:
    """Yield slices of consecutive `numbers`, each at most `most` long."""
    ends = [*(np.flatnonzero(np.diff(numbers) != 1) + 1).tolist(), numbers.size]
    for begin, end in pairwise([0, *ends]):
        for start in range(begin, end, most):
            yield slice(start, min(start + most, end))


def write_radial(
    batch: RadialPlan, samples: BlockSamples, array: Array, places: Indices
) -> None:
    """Write the Gaussian kernels of a batch to `array[places]` in C order."""
    _, n_rows, n_cols = array.shape
    flat = array.reshape(-1)
    runs = [places[run] for run in _runs(places, places.size)]
    for rows in row_blocks(n_rows, n_cols, places.size):
        stops = np.full(rows.stop - rows.start, n_cols)
        offsets = (places * n_rows + rows.start) * n_cols
        write_exponents(batch, samples, rows, stops, offsets, flat)
        for run in runs:
            block = array[run[0] : run[-1] + 1, rows]
            np.exp(block, out=block)


def radial_matrices(kernels: Sequence[Kernel], X: Array, Y_features: Array) -> Array:
    """Return Gaussian kernels on samples, (n_kernels, n_samples_X, n_samples_Y)."""
    samples = BlockSamples(
        X,
        Y_features.T,
        np.ascontiguousarray(X.T),
        Y_features,
        np.arange(len(X)),
        np.arange(Y_features.shape[1]),
    )
    array = np.empty((len(kernels), len(X), Y_features.shape[1]))
    plan = make_plan(ListDictionary(kernels), X.shape[1])
    for batch in plan.radial.batches(BATCH):
        write_radial(batch, samples, array, batch.kernels)
    return array


def evaluate_other(
    plan: Plan, index: int, samples: BlockSamples, part: slice = ALL_ROWS
) -> Array:
    """Return checked rows of a kernel, `plan.others[index]`; callers must not write."""
    # A precomputed kernel returns its own array.
    source = int(plan.sources[index])
    kernel = plan.dictionary[source]
    rows, numbers = samples.rows[part], samples.row_numbers[part]
    has_all_rows = rows.shape[0] == samples.rows.shape[0]
    cols = samples.others if has_all_rows else samples.cols
    expected = (rows.shape[0], samples.cols.shape[0])
    text = f"Kernel {source} ({{}})"
    K = checked_values(lambda: kernel(rows, cols), expected, kernel, text)
    if cols is None or is_built_in(kernel):
        return K
    # Kernels such as scikit-learn's WhiteKernel distinguish a sample compared with
    # itself from two equal samples, but only in kernel(X) or diag.
    same = np.nonzero(numbers[:, None] == samples.col_numbers)
    if same[0].size:
        K = K.copy()
        K[same] = evaluate_diagonal(plan, index, rows)[same[0]]
    return K


def evaluate_diagonal(plan: Plan, index: int, rows: Array) -> Array:
    """Return k(x, x) of a kernel that is not Gaussian, checked, shape (n_rows,)."""
    source = int(plan.sources[index])
    kernel = plan.dictionary[source]
    text, shape = f"The diag of kernel {source} ({{}})", rows.shape[:1]
    return checked_values(lambda: kernel_diagonal(kernel, rows), shape, kernel, text)
