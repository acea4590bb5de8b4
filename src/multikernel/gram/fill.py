"""Computing every Gram matrix of a plan into one array."""

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.dense import Stored
from multikernel.gram.lazy.plan import Plan, RadialPlan
from multikernel.gram.lazy.radial import BATCH, RadialBatch, Samples, row_blocks
from multikernel.gram.normalization import Normalization
from multikernel.kernels.base import checked_values, kernel_diagonal, kernel_name
from multikernel.kernels.built_in import is_built_in
from multikernel.linalg.threads import run_blocks

ALL_ROWS = slice(None)

SMALLEST = float(np.finfo(np.float32).tiny)
LARGEST = float(np.finfo(np.float32).max)

SCRATCH_NUMBERS = 2**21
"""Numbers of a thread's float64 matrices on their way to float32, 16 MB."""


def fill(
    array: Stored, plan: Plan, samples: Samples, normalization: Normalization
) -> None:
    """Write every normalised Gram matrix into an array, on several threads.

    Nothing but a few matrices per thread is held besides the array.

    Parameters
    ----------
    array : ndarray of shape (n_kernels, n_rows, n_cols)
        C-contiguous, float64 or float32; overwritten.
    plan : Plan
        The kernels.
    samples : Samples
        The samples of rows and columns; where there is something to learn, the same.
    normalization : Normalization
        Learns from each matrix, and is applied to it, before it is stored.

    Raises
    ------
    ValueError
        If a kernel returns an array of a wrong shape or values that are not finite,
        or that single precision does not hold where the array has that.
    """
    n_rows, n_cols = array.shape[1:]
    double, size = array.dtype == np.float64, BATCH
    if not double:
        size = max(1, min(BATCH, SCRATCH_NUMBERS // (n_rows * n_cols)))

    def radial(batch: RadialPlan) -> None:
        # Computed where they are stored, or in double precision and then rounded.
        shape = (batch.kernels.size, n_rows, n_cols)
        target = np.asarray(array, np.float64) if double else np.empty(shape)
        places = batch.kernels if double else np.arange(batch.kernels.size)
        fill_radial(batch, samples, target, places)
        for m, place in zip(batch.kernels.tolist(), places, strict=True):
            normalization.learn(m, target[place])
            if not double:
                _round_into(array, m, target[place], plan)

    def other(place: int) -> None:
        m = int(plan.others[place])
        K = np.array(evaluate_other(plan, place, samples))
        normalization.learn(m, K)
        if double:
            array[m] = K
        else:
            _round_into(array, m, K, plan)

    run_blocks(radial, plan.radial.batches(size))
    run_blocks(other, range(plan.others.size))


def _round_into(array: Stored, m: int, K: Array, plan: Plan) -> None:
    """Store a matrix in single precision, unless its size is beyond that."""
    largest = max(float(K.max()), -float(K.min()))
    if largest > LARGEST or 0.0 < largest < SMALLEST:
        raise ValueError(
            f"Kernel {m} ({kernel_name(plan.dictionary[m])}) has values of up to "
            f"{largest:.3g}, which is too {'large' if largest > 1.0 else 'small'} for "
            "single precision: scale the features, or choose storage='dense'."
        )
    array[m] = K


def fill_radial(
    batch: RadialPlan, samples: Samples, array: Array, places: Indices
) -> None:
    """Compute the Gaussian kernels of a batch into an array.

    Parameters
    ----------
    batch : RadialPlan
        The kernels.
    samples : Samples
        The samples.
    array : ndarray of shape (n_matrices, n_rows, n_cols)
        C-contiguous; overwritten at `places`.
    places : ndarray of shape (n_batch,)
        Where each kernel goes.
    """
    _, n_rows, n_cols = array.shape
    flat = array.reshape(-1)
    runs = np.split(places, np.flatnonzero(np.diff(places) != 1) + 1)
    radial = RadialBatch(batch, samples)
    for rows in row_blocks(n_rows, n_cols, places.size):
        stops = np.full(rows.stop - rows.start, n_cols)
        offsets = (places * n_rows + rows.start) * n_cols
        radial.exponents(rows, stops, offsets, flat)
        for run in runs:
            block = array[run[0] : run[-1] + 1, rows]
            np.exp(block, out=block)


def evaluate_other(
    plan: Plan, place: int, samples: Samples, chosen: slice = ALL_ROWS
) -> Array:
    """Compute some rows of a kernel that is no Gaussian, and check what it returns.

    A kernel may tell a sample with itself from two equal samples, as scikit-learn's
    `WhiteKernel` does, and knows it by ``kernel(X)`` or ``diag`` only.

    Parameters
    ----------
    plan : Plan
        The kernels.
    place : int
        Its place among ``plan.others``.
    samples : Samples
        The samples.
    chosen : slice
        The rows; all by default.

    Returns
    -------
    K : ndarray of shape (n_chosen, n_cols)
        Not to be written to: a precomputed kernel returns its own array.

    Raises
    ------
    ValueError
        If the shape is wrong or a value is not finite.
    """
    source = int(plan.sources[place])
    kernel = plan.dictionary[source]
    rows, numbers = samples.rows[chosen], samples.row_numbers[chosen]
    whole = rows.shape[0] == samples.rows.shape[0]
    cols = samples.others if whole else samples.cols
    expected = (rows.shape[0], samples.cols.shape[0])
    owner = f"Kernel {source} ({kernel_name(kernel)})"
    K = checked_values(lambda: kernel(rows, cols), expected, owner)
    if cols is None or is_built_in(kernel):
        return K
    own = np.nonzero(numbers[:, None] == samples.col_numbers)
    if own[0].size:
        K = K.copy()
        K[own] = evaluate_diagonal(plan, place, rows)[own[0]]
    return K


def evaluate_diagonal(plan: Plan, place: int, rows: Array) -> Array:
    """Compute k(x, x) of a kernel that is no Gaussian, and check what it returns.

    Parameters
    ----------
    plan : Plan
        The kernels.
    place : int
        Its place among ``plan.others``.
    rows : ndarray of shape (n_rows, n_features)
        Samples.

    Returns
    -------
    diagonal : ndarray of shape (n_rows,)

    Raises
    ------
    ValueError
        If the shape is wrong or a value is not finite.
    """
    source = int(plan.sources[place])
    kernel = plan.dictionary[source]
    owner = f"The diag of kernel {source} ({kernel_name(kernel)})"
    return checked_values(lambda: kernel_diagonal(kernel, rows), rows.shape[:1], owner)
