"""Compiled loops over elementwise products of symmetric matrices in memory."""

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
