"""Tables of numbers: whether they are in memory, in a file or elsewhere; their rows."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices

Numbers = TypeVar("Numbers", bound=NDArray[Any])


def is_dask(X: object) -> bool:
    """Return whether something is a collection of Dask, without importing it."""
    return callable(getattr(X, "__dask_graph__", None))


def backing(array: Any) -> "np.memmap[Any, Any] | None":
    """Return the mapped file that an array is a view of, or None."""
    file = None
    while array is not None:
        file = array if isinstance(array, np.memmap) else file
        array = getattr(array, "base", None)
    return file


def read_only(array: Numbers) -> Numbers:
    """Return a read-only view: numba compiles once for every kind of source.

    Files are mapped so that they cannot be written to, and to numba what can be written
    to is another type.
    """
    view = array.view()
    view.flags.writeable = False
    return view


def write_block(matrix: Numbers, rows: Indices, cols: Indices, out: Numbers) -> None:
    """Write some rows and columns of a matrix, in 0.5 of the time of `np.ix_`."""
    # Without "clip" all goes through a buffer. Out-of-range columns raise here.
    inside = np.arange(matrix.shape[1])[cols]
    np.take(matrix[rows], inside, axis=1, out=out, mode="clip")


def sizes_of(v: Array) -> Array:
    """Return absolute values, of several outputs the lengths of rows."""
    return np.abs(v) if v.ndim == 1 else np.asarray(np.linalg.norm(v, axis=1))


def per_kernel(factors: Array, values: Array) -> Array:
    """Return values of shape (n_kernels, ...), each kernel's times its factor."""
    return np.asarray(factors.reshape((-1,) + (1,) * (values.ndim - 1)) * values)


def evenly_spaced(n_rows: int, most: int) -> Indices:
    """Return the numbers of at most `most` rows of a table, evenly spaced."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.unique(np.linspace(0, n_rows - 1, most).astype(np.intp))


def equal_shares(n_samples: int, weights: Array | None = None) -> Array:
    """Return sample weights that sum to one; equal ones where there are none."""
    given = np.ones(n_samples) if weights is None else weights
    return np.asarray(given / given.sum())


def row_keys(table: Array) -> Any:
    """Return one value for each row of a table, the same for the same numbers.

    In their order rows stand as their numbers say, however they came in: landmarks, of
    which the first is the first of many that are as good, are the same then.
    """
    table = np.add(table, 0.0, dtype=np.float64, order="C")  # there is one zero
    # By name: a type NumPy looks at in Python code, where it swallows an interrupt.
    return table.view(f"V{table.itemsize * table.shape[1]}")[:, 0]


def row_hashes(table: NDArray[Any]) -> NDArray[np.uint64]:
    """Return one whole number for each row of a table, the same for the same numbers.

    Other rows hardly ever have the same. Nothing as large as the table is held.
    """
    n_rows, n_cols = table.shape
    odd = np.random.default_rng(0).integers(2**63, size=n_cols, dtype=np.uint64)
    odd = 2 * odd + 1
    hashes = np.empty(n_rows, dtype=np.uint64)
    step = max(1, HASHED_BYTES // (8 * max(1, n_cols)))
    for start in range(0, n_rows, step):
        rows = slice(start, start + step)
        bits = np.add(table[rows], 0.0, dtype=np.float64, order="C").view(np.uint64)
        bits ^= bits >> np.uint64(32)  # whole numbers differ in their first bits alone
        hashes[rows] = (bits * odd).sum(axis=1, dtype=np.uint64)
    return hashes


LOOKED_AT = 200
"""Rows that `distinct_rows` checks first, which rejects most tables in 0.1 ms."""


def distinct_rows(table: Array, most: int) -> tuple[Indices, Indices] | None:
    """Return the first row of each group of equal rows, and the group of every row.

    None if there are more than `most` groups.
    """
    some = row_keys(table[evenly_spaced(len(table), LOOKED_AT)])
    if np.unique(some).size > most:
        return None
    _, first, groups = np.unique(
        row_keys(table), return_index=True, return_inverse=True
    )
    return None if first.size > most else (first, groups.reshape(-1))


HASHED_BYTES = 2**21
"""Bytes of the rows that `row_hashes` looks at together."""

CHUNK_BYTES = 2**26
"""Bytes of the largest kernel matrix, or of other rows, that are held at a time."""


def row_chunks(n_rows: int, n_cols: int) -> list[slice]:
    """Return slices of rows of a matrix that stay below `CHUNK_BYTES` each."""
    size = max(1, CHUNK_BYTES // (8 * max(1, n_cols)))
    return [slice(start, start + size) for start in range(0, n_rows, size)]
