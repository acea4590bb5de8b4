"""Compiled loops over matrices of single precision, with sums in double precision."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from multikernel._typing import Array, Indices

Single = NDArray[np.float32]


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def write_products(rows: Single, v: Array, out: Array) -> None:
    """Write the products of some rows with a vector.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_cols)
        The rows.
    v : ndarray of shape (n_cols,)
        The vector.
    out : ndarray of shape (n_rows,)
        Overwritten.
    """
    for i in range(len(rows)):
        row, total = rows[i], 0.0
        for j in range(v.size):
            total += row[j] * v[j]
        out[i] = total


@njit(cache=True, nogil=True)
def write_sums(
    array: Single, kernels: Indices, weights: Array, first: int, out: Array
) -> None:
    """Write some rows of a weighted sum of matrices.

    Parameters
    ----------
    array : ndarray of shape (n_matrices, n_rows, n_cols)
        The matrices.
    kernels : ndarray of shape (n_chosen,)
        The matrices wanted.
    weights : ndarray of shape (n_chosen,)
        Their weights.
    first : int
        The first of the rows.
    out : ndarray of shape (n_wanted_rows, n_cols)
        Overwritten.
    """
    for i in range(len(out)):
        total = out[i]
        total[:] = 0.0
        for c in range(kernels.size):
            row, weight = array[kernels[c], first + i], weights[c]
            for j in range(total.size):
                total[j] += weight * row[j]
