"""Numeric tables in memory, in files or in Dask, and functions on their rows."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices

Numbers = TypeVar("Numbers", bound=NDArray[np.generic])


def is_dask(X: object) -> bool:
    """Return whether an object is a Dask collection, without importing Dask."""
    return callable(getattr(X, "__dask_graph__", None))


def find_memmap(
    array: object,
) -> "np.memmap[tuple[int, ...], np.dtype[np.generic]] | None":
    """Return the memory-mapped file behind an array, or None."""
    file = None
    while array is not None:
        file = array if isinstance(array, np.memmap) else file
        array = getattr(array, "base", None)
    return file


def read_only(array: Numbers) -> Numbers:
    """Return a read-only view, so that numba compiles one version for all arrays."""
    view = array.view()
    view.flags.writeable = False
    return view


def write_block(matrix: Numbers, rows: Indices, cols: Indices, out: Numbers) -> None:
    """Write matrix[rows, cols] to `out`, twice as fast as with `np.ix_`."""
    # mode="clip" avoids a buffer but checks no index, so this line checks them.
    column_indices = np.arange(matrix.shape[1])[cols]
    np.take(matrix[rows], column_indices, axis=1, out=out, mode="clip")


def row_norms(v: Array) -> Array:
    """Return the absolute values of a vector, or the norm of each row of a matrix."""
    return np.abs(v) if v.ndim == 1 else np.asarray(np.linalg.norm(v, axis=1))


def per_kernel(factors: Array, values: Array) -> Array:
    """Return values of shape (n_kernels, ...), multiplied by each kernel's factor."""
    return np.asarray(factors.reshape((-1,) + (1,) * (values.ndim - 1)) * values)


def evenly_spaced(n_rows: int, max_rows: int) -> Indices:
    """Return the indices of at most `max_rows` evenly spaced rows."""
    if n_rows <= max_rows:
        return np.arange(n_rows)
    return np.unique(np.linspace(0, n_rows - 1, max_rows).astype(np.intp))


def equal_shares(n_samples: int, weights: Array | None = None) -> Array:
    """Return sample weights that sum to one; equal by default."""
    values = np.ones(n_samples) if weights is None else weights
    return np.asarray(values / values.sum())


def row_keys(table: Array) -> NDArray[np.void]:
    """Return one sortable value per row, equal for equal rows."""
    # Sorting by these values makes results independent of the order of rows.
    table = np.add(table, 0.0, dtype=np.float64, order="C")  # -0.0 becomes 0.0
    # The dtype is text, because NumPy loses interrupts while it parses dtype objects.
    return table.view(f"V{table.itemsize * table.shape[1]}")[:, 0]


def row_hashes(table: NDArray[np.generic]) -> NDArray[np.uint64]:
    """Return one integer per row, equal for equal rows, rarely for different rows."""
    n_rows, n_cols = table.shape
    multipliers = np.random.default_rng(0).integers(2**63, size=n_cols, dtype=np.uint64)
    multipliers = 2 * multipliers + 1
    hashes = np.empty(n_rows, dtype=np.uint64)
    n_rows_in_block = max(1, HASHED_BYTES // (8 * max(1, n_cols)))
    for start in range(0, n_rows, n_rows_in_block):
        rows = slice(start, start + n_rows_in_block)
        bits = np.add(table[rows], 0.0, dtype=np.float64, order="C").view(np.uint64)
        bits ^= bits >> np.uint64(32)  # floats of integers differ in high bits only
        hashes[rows] = (bits * multipliers).sum(axis=1, dtype=np.uint64)
    return hashes


SAMPLE_ROWS = 200
"""Number of rows that `distinct_rows` checks first, which rejects most tables."""


def distinct_rows(table: Array, max_groups: int) -> tuple[Indices, Indices] | None:
    """Return the index of each group's first row, and each row's group number.

    Rows of a group are equal. Return None if there are more than `max_groups` groups.
    """
    sample_keys = row_keys(table[evenly_spaced(len(table), SAMPLE_ROWS)])
    if np.unique(sample_keys).size > max_groups:
        return None
    _, first_rows, groups = np.unique(
        row_keys(table), return_index=True, return_inverse=True
    )
    return None if first_rows.size > max_groups else (first_rows, groups.reshape(-1))


HASHED_BYTES = 2**21
"""Bytes of the rows that `row_hashes` processes at a time."""

CHUNK_BYTES = 2**26
"""Maximum bytes of temporary arrays, such as blocks of rows of a matrix."""


def row_chunks(n_rows: int, n_cols: int) -> list[slice]:
    """Return slices of rows of at most `CHUNK_BYTES` each."""
    size = max(1, CHUNK_BYTES // (8 * max(1, n_cols)))
    return [slice(start, start + size) for start in range(0, n_rows, size)]
