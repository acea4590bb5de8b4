"""Compiled loops for quadratic forms of elementwise products of matrices."""

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
    start: int,
    stop: int,
    positions: Places,
    roots: Array,
) -> tuple[int, int]:
    """Write positions and root weights of entries by sign; return both counts."""
    # Entry (a, b) of a lower triangle, in rows `start` to `stop` - 1, has the weight
    # v_a v_b, summed over the columns of v, and doubled off the diagonal. `positions`
    # gets flat indices of entries in a matrix of `n_all` samples: those of positive
    # weight from the start, those of negative weight backwards from the end. `roots`
    # gets the square roots of the absolute weights.
    forwards, backwards = 0, positions.size
    for a in range(start, stop):
        row = samples[a] * n_all
        for b in range(a + 1):
            weight = 0.0
            for c in range(v.shape[1]):
                weight += v[a, c] * v[b, c]
            if b < a:
                weight *= 2.0
            if weight > 0.0:
                positions[forwards] = row + samples[b]
                roots[forwards] = np.sqrt(weight)
                forwards += 1
            elif weight < 0.0:
                backwards -= 1
                positions[backwards] = row + samples[b]
                roots[backwards] = np.sqrt(-weight)
    return forwards, positions.size - backwards


@loop()
def write_scaled_entries(
    matrices: Stored,
    kernels: Indices,
    sizes: Array,
    positions: Places,
    roots: Array,
    out: Stored,
) -> None:
    """Write the entries at `positions` of scaled matrices, times `roots`, to `out`."""
    # `matrices` has shape (n_matrices, n * n), and `out` (n_kernels, n_positions). The
    # matrix with index kernels[c] is divided by sizes[c], its largest diagonal entry.
    # Its entry at positions[k] is multiplied by roots[k]; see `write_entries_by_sign`.
    for c in range(kernels.size):
        row, out_row, inverse = matrices[kernels[c]], out[c], 1.0 / sizes[c]
        for k in range(positions.size):
            out_row[k] = row[positions[k]] * (inverse * roots[k])


@loop()
def write_block_squares(  # noqa: PLR0913 - compiled code takes arrays, not objects
    G: Array,
    firsts: tuple[int, int],
    seconds: tuple[int, int],
    ends: Indices,
    starts: Indices,
    partners: Indices,
    out: Array,
) -> None:
    """Add the sum of squares of G's block of each pair of main kernels to `out`."""
    # G has rows for the factor columns of the main kernels in the range `firsts`, and
    # columns for those in `seconds`. The block of a pair has the rows of its first main
    # kernel and the columns of its second one. Over all mains, main i has the factor
    # columns ends[i] to ends[i + 1] - 1, and is the first main of pairs starts[i] to
    # starts[i + 1] - 1. The second mains of pairs are `partners`, ascending for each i.
    # `out` has an entry for each pair, from pair starts[firsts[0]] on.
    for i in range(firsts[0], firsts[1]):
        partners_of_main = partners[starts[i] : starts[i + 1]]
        k = starts[i] + np.searchsorted(partners_of_main, seconds[0])
        top, bottom = ends[i] - ends[firsts[0]], ends[i + 1] - ends[firsts[0]]
        while k < starts[i + 1] and partners[k] < seconds[1]:
            left = ends[partners[k]] - ends[seconds[0]]
            right = ends[partners[k] + 1] - ends[seconds[0]]
            total = 0.0
            for a in range(top, bottom):
                for b in range(left, right):
                    total += G[a, b] * G[a, b]
            out[k - starts[firsts[0]]] += total
            k += 1
