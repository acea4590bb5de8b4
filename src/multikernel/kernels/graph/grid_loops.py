"""Compiled sums over the upper triangle of products of small factors.

Chunks of a row stay in the cache: some hundred vectors of `CHUNK` single precision
numbers. Every entry of the triangle is formed once per factor and read once per node.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from multikernel._typing import Array, Indices

Single = NDArray[np.float32]

CHUNK = 2048
"""Entries of a row that are worked on at a time. At n = 4096 and 528 nodes, 1024 and
4096 took 10 to 20 % longer: the one for its overheads, the other for the cache."""

SMALLEST = np.float32(1e-6)
"""Factors of a product are at least that large in absolute value, so that nodes can
divide by them. With a unit diagonal that is the rounding of single precision."""


@njit(cache=True, fastmath=True, nogil=True)
def _factor(  # noqa: PLR0913 - compiled code takes arrays, not objects
    out: Single,
    units: Single,
    row: int,
    start: int,
    length: int,
    first: int,
    shares: Single,
) -> None:
    """Write sum_c shares[c] u_c[row] u_c[b] for the entries b of a chunk."""
    # Places without a sign, and no views of columns: searches spent most of their time
    # in counting references to these, and in wrapping negative places around.
    begin, size = np.uint64(start), np.uint64(length)
    out[:length] = np.float32(0.0)
    for c in range(shares.shape[0]):
        weight = shares[c] * units[first + c, row]
        if weight != np.float32(0.0):
            column = np.uint64(first + c)
            for b in range(size):
                out[b] += weight * units[column, begin + b]


@njit(cache=True, fastmath=True, nogil=True)
def product_rows(
    rows: Indices,
    units: Single,
    firsts: Indices,
    shares: Single,
    sizes: Indices,
    triangle: Single,
) -> None:
    """Write the product of the sums of all inputs.

    `triangle` holds the rows of the upper triangle one after the other.
    """
    n = units.shape[1]
    factor = np.empty(CHUNK, np.float32)
    for row in range(rows[0], rows[1]):
        offset = row * n - row * (row - 1) // 2 - row
        for start in range(row, n, CHUNK):
            length = min(CHUNK, n - start)
            out = triangle[offset + start : offset + start + length]
            out[:] = np.float32(1.0)
            for i in range(firsts.shape[0]):
                own = shares[i, : sizes[i]]
                _factor(factor, units, row, start, length, firsts[i], own)
                for b in range(length):
                    small = abs(factor[b]) < SMALLEST
                    out[b] *= SMALLEST if small else factor[b]


@njit(cache=True, fastmath=True, nogil=True)
def descendant_rows(  # noqa: C901, PLR0912, PLR0913 - one loop over one triangle
    rows: Indices,
    triangle: Single,
    vector: Single,
    units: Single,
    inputs: tuple[Indices, Indices, Single, Indices],
    factors: Single,
    prefixes: Indices,
    pairs: Indices,
) -> Array:
    """Return what some rows of the triangle add to the sum of every node.

    `inputs` is (firsts, sizes, shares of F_{i,0}, where the factors of input i begin),
    `factors` their shares, sorted by input; `prefixes` (shorter prefix or -1, factor);
    `pairs` (prefix or -1, factor) of every node.
    """
    firsts, sizes, below, begins = inputs
    n, n_nodes = units.shape[1], pairs.shape[0]
    total = np.zeros(n_nodes)
    base = np.empty(CHUNK, np.float32)
    inverse = np.empty(CHUNK, np.float32)
    ratios = np.empty((factors.shape[0], CHUNK), np.float32)
    weighted = np.empty((prefixes.shape[0], CHUNK), np.float32)
    for row in range(rows[0], rows[1]):
        offset = row * n - row * (row - 1) // 2 - row
        for start in range(row, n, CHUNK):
            length = min(CHUNK, n - start)
            twice = np.float32(2.0) * vector[row]
            for b in range(length):
                base[b] = twice * vector[start + b] * triangle[offset + start + b]
            if start == row:
                base[0] *= np.float32(0.5)
            for i in range(firsts.shape[0]):
                if begins[i] == begins[i + 1]:
                    continue
                first, size = firsts[i], sizes[i]
                _factor(inverse, units, row, start, length, first, below[i, :size])
                for b in range(length):
                    small = abs(inverse[b]) < SMALLEST
                    inverse[b] = np.float32(1.0) / (SMALLEST if small else inverse[b])
                for k in range(begins[i], begins[i + 1]):
                    own = factors[k, :size]
                    _factor(ratios[k], units, row, start, length, first, own)
                    for b in range(length):
                        ratios[k, b] *= inverse[b]
            for k in range(prefixes.shape[0]):
                ratio = ratios[prefixes[k, 1]]
                shorter = base if prefixes[k, 0] < 0 else weighted[prefixes[k, 0]]
                for b in range(length):
                    weighted[k, b] = shorter[b] * ratio[b]
            for k in range(n_nodes):
                left = base if pairs[k, 0] < 0 else weighted[pairs[k, 0]]
                right = ratios[pairs[k, 1]]
                part = np.float32(0.0)
                for b in range(length):
                    part += left[b] * right[b]
                total[k] += part
    return total
