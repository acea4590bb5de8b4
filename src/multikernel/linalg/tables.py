"""Tables of numbers: whether they are in memory, in a file or elsewhere; their rows."""

from typing import Any

import numpy as np

from multikernel._typing import Array


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


def row_keys(table: Array) -> Any:
    """Return one value for each row of a table, the same for the same numbers.

    In their order rows stand as their numbers say, however they came in: landmarks, of
    which the first is the first of many that are as good, are the same then.
    """
    table = table.astype(np.float64) + 0.0  # there is one zero
    # By name: a type NumPy looks at in Python code, where it swallows an interrupt.
    return table.view(f"V{table.itemsize * table.shape[1]}")[:, 0]
