"""Compiled projection of rows onto simplices."""

import numpy as np
from numba import njit

from multikernel._typing import Array


@njit(cache=True, nogil=True, error_model="numpy")
def simplex_shift(row: Array, total: float, sorted_row: Array) -> float:
    """Return the t with sum(max(row - t, 0)) = total; `sorted_row` is workspace.

    The numbers are sorted, O(T log T): those above t are the first of them. Rows are
    short, so that insertion is the quickest way to sort them.
    """
    n = row.size
    for k in range(n):
        x, place = row[k], k
        while place > 0 and sorted_row[place - 1] < x:
            sorted_row[place] = sorted_row[place - 1]
            place -= 1
        sorted_row[place] = x
    # Differences from the largest number, so that large numbers lose no digits.
    largest: float = sorted_row[0]
    above, shift = 0.0, -1.0 * total
    for k in range(1, n):
        x = sorted_row[k] - largest
        if x <= shift:
            break
        above += x
        shift = (above - total) / (k + 1)
    return largest + shift


@njit(cache=True, nogil=True, error_model="numpy")
def project_simplex(rows: Array, totals: Array) -> Array:
    """Return the nearest rows that are not negative and sum to given totals."""
    n, width = rows.shape
    projected, workspace = np.empty_like(rows), np.empty(width)
    for i in range(n):
        shift = simplex_shift(rows[i], totals[i], workspace)
        found = 0.0
        for k in range(width):
            x = rows[i, k] - shift
            projected[i, k] = x if x > 0.0 else 0.0
            found += projected[i, k]
        # Rounding is that of the rows, which may be large beside the totals.
        for k in range(width):
            projected[i, k] *= totals[i] / found
    return projected
