"""Compiled loops over elementwise products of symmetric matrices in memory."""

import numpy as np
from numba import njit

from multikernel._typing import Array, Indices
from multikernel.gram.dense import Stored


@njit(cache=True, nogil=True)
def write_scaled_entries(
    matrices: Stored,
    kernels: Indices,
    sizes: Array,
    places: Indices,
    factors: Array,
    out: Stored,
) -> None:
    """Write some entries of some matrices, each multiplied by the factor of its place.

    The matrices are rows, (n_matrices, n * n), and `places` are entries of them; `out`
    is of shape (n_kernels, n_places). What a matrix has is divided by its size first.
    """
    for c in range(kernels.size):
        row, inverse = matrices[kernels[c]], 1.0 / sizes[c]
        for k in range(places.size):
            out[c, k] = row[places[k]] * inverse * factors[k]


@njit(cache=True, nogil=True)
def write_products(
    array: Stored,
    terms: Indices,
    rows: Indices,
    cols: Indices,
    out: Array,
) -> None:
    """Write the products of two matrices each on some rows and columns.

    Of `terms`, (n_terms, 2), the second is -1 where a matrix stands alone; `out` is of
    shape (n_terms, n_rows, n_cols).
    """
    for t in range(len(terms)):
        A = array[terms[t, 0]]
        alone = terms[t, 1] < 0
        B = array[max(terms[t, 1], 0)]
        for p in range(rows.size):
            a, b, line = A[rows[p]], B[rows[p]], out[t, p]
            if alone:
                for q in range(cols.size):
                    line[q] = a[cols[q]]
            else:
                for q in range(cols.size):
                    line[q] = np.float64(a[cols[q]]) * np.float64(b[cols[q]])
