"""Compiled loops over pairs of samples for Gaussian kernels."""

import numpy as np
from numba import njit

from multikernel._typing import Array, Indices

CHUNK = 256
"""Samples whose squared differences on every feature stay in a core's cache."""


@njit(cache=True, nogil=True)
def square_differences(
    row_features: Array, features: Array, used: Indices, row: int, span: Indices
) -> Array:
    """Return the squared differences of one sample to a span of others, per feature.

    Parameters
    ----------
    row_features : ndarray of shape (n_features, n_rows)
        Features of the samples that `row` counts.
    features : ndarray of shape (n_features, n_cols)
        Features of the others.
    used : ndarray of shape (n_used,)
        The features wanted.
    row : int
        Which sample.
    span : ndarray of shape (2,)
        First of the others, and past the last.

    Returns
    -------
    squares : ndarray of shape (n_used, n_span)
    """
    squares = np.empty((used.size, span[1] - span[0]))
    for u in range(used.size):
        others = features[used[u], span[0] : span[1]]
        x = row_features[used[u], row]
        target = squares[u]
        for j in range(target.size):
            difference = x - others[j]
            target[j] = difference * difference
    return squares


@njit(cache=True, nogil=True)
def sum_rows(table: Array, chosen: Indices, out: Array) -> None:
    """Write the sum of chosen rows of a table.

    Four rows at a time: the running sum is then read and written a fourth as often.

    Parameters
    ----------
    table : ndarray of shape (n_rows, n_cols)
        The table.
    chosen : ndarray of int
        Which rows.
    out : ndarray of shape (n_cols,)
        Overwritten.
    """
    out[:] = 0.0
    whole = chosen.size - chosen.size % 4
    for p in range(0, whole, 4):
        a, b = table[chosen[p]], table[chosen[p + 1]]
        c, d = table[chosen[p + 2]], table[chosen[p + 3]]
        for j in range(out.size):
            out[j] += (a[j] + b[j]) + (c[j] + d[j])
    for p in range(whole, chosen.size):
        a = table[chosen[p]]
        for j in range(out.size):
            out[j] += a[j]


@njit(cache=True, nogil=True)
def fill_exponents(  # noqa: PLR0913 - compiled code takes arrays, not objects
    row_features: Array,
    features: Array,
    used: Indices,
    set_starts: Indices,
    members: Indices,
    kernel_starts: Indices,
    exponents: Array,
    first_row: int,
    stops: Indices,
    offsets: Indices,
    out: Array,
) -> None:
    """Write exponent times squared distance for a batch of kernels and some rows.

    Row ``first_row + r`` is paired with the first ``stops[r]`` samples, so that a
    quadratic form needs the lower triangle only. A row's squared differences are
    computed once for all kernels of the batch.

    Parameters
    ----------
    row_features : ndarray of shape (n_features, n_rows)
        Features of the rows.
    features : ndarray of shape (n_features, n_cols)
        Features of the samples they are paired with.
    used : ndarray of shape (n_used,)
        The features that the batch uses.
    set_starts, members : ndarray of int
        Set s of columns is ``used[members[set_starts[s] : set_starts[s + 1]]]``.
    kernel_starts : ndarray of int
        The kernels ``kernel_starts[s]`` to ``kernel_starts[s + 1]`` share set s.
    exponents : ndarray of shape (n_kernels,)
        Negative factors.
    first_row : int
        Where the rows start.
    stops : ndarray of shape (n_chosen_rows,)
        Number of pairs of each row.
    offsets : ndarray of shape (n_kernels,)
        Where each kernel's values start in `out`.
    out : ndarray of shape (n_values,)
        Overwritten by the values of one row after the other.
    """
    distances = np.empty(CHUNK)
    span = np.empty(2, dtype=np.intp)
    start = 0
    for r in range(stops.size):
        for low in range(0, stops[r], CHUNK):
            span[0], span[1] = low, min(low + CHUNK, stops[r])
            squares = square_differences(
                row_features, features, used, first_row + r, span
            )
            near = distances[: span[1] - low]
            for s in range(set_starts.size - 1):
                sum_rows(squares, members[set_starts[s] : set_starts[s + 1]], near)
                for k in range(kernel_starts[s], kernel_starts[s + 1]):
                    place = offsets[k] + start + low
                    target = out[place : place + near.size]
                    exponent = exponents[k]
                    for j in range(near.size):
                        target[j] = exponent * near[j]
        start += stops[r]
