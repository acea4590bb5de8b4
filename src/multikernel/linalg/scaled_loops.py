"""Compiled steps of shifted systems."""

from numba import njit

from multikernel._typing import Array


@njit(cache=True, nogil=True)
def scale_triangle(K: Array, scale: Array, out: Array) -> None:
    """Write the entries on and above the diagonal, scaled on both sides.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        The matrix.
    scale : ndarray of shape (n,)
        What rows and columns are multiplied by.
    out : ndarray of shape (n, n)
        Its other triangle is left as it is.
    """
    for i in range(scale.size):
        row, source, factor = out[i], K[i], scale[i]
        for j in range(i, scale.size):
            row[j] = source[j] * scale[j] * factor
