"""Compiled loops over entries of symmetric matrices in memory, for their products."""

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.matrix import Stored
from multikernel.gram.products import Places
from multikernel.linalg.jit import loop


@loop()
def write_entries_by_sign(  # noqa: PLR0913 - compiled code takes arrays, not objects
    v: Array,
    samples: Indices,
    n_all: int,
    first: int,
    last: int,
    places: Places,
    roots: Array,
) -> tuple[int, int]:
    """Write places of a lower triangle, and roots of their weights, by sign.

    Of rows from `first` to before `last` the entry (a, b) has the weight v_a v_b,
    summed over the columns of v, and twice that beside the diagonal. Places are those
    in a matrix of `n_all` samples. Positive weights are written from the start on,
    negative ones from the end backwards, and nothing where a weight is zero.

    Returns
    -------
    n_positive, n_negative : int
    """
    forwards, backwards = 0, places.size
    for a in range(first, last):
        row = samples[a] * n_all
        for b in range(a + 1):
            weight = 0.0
            for c in range(v.shape[1]):
                weight += v[a, c] * v[b, c]
            if b < a:
                weight *= 2.0
            if weight > 0.0:
                places[forwards] = row + samples[b]
                roots[forwards] = np.sqrt(weight)
                forwards += 1
            elif weight < 0.0:
                backwards -= 1
                places[backwards] = row + samples[b]
                roots[backwards] = np.sqrt(-weight)
    return forwards, places.size - backwards


@loop()
def write_scaled_entries(
    matrices: Stored,
    kernels: Indices,
    sizes: Array,
    places: Places,
    roots: Array,
    out: Stored,
) -> None:
    """Write some entries of some matrices, over their sizes and times some roots.

    The matrices are rows, (n_matrices, n * n), and `out` is of shape (n_kernels,
    n_places).
    """
    for c in range(kernels.size):
        row, line, inverse = matrices[kernels[c]], out[c], 1.0 / sizes[c]
        for k in range(places.size):
            line[k] = row[places[k]] * (inverse * roots[k])


@loop()
def write_shifted_rows(
    rows: Array,
    chosen: Indices,
    samples: Indices,
    shifts: Array,
    roots: Array,
    out: Array,
) -> None:
    """Write some rows at some samples, minus a shift each and times roots of samples.

    `out` is of shape (n_chosen, n_samples), and the shifts are of the chosen rows.
    """
    for k in range(chosen.size):
        row, line, shift = rows[chosen[k]], out[k], shifts[k]
        for a in range(samples.size):
            line[a] = (row[samples[a]] - shift) * roots[a]
