"""Compiled sums of products of factors over the upper triangle.

Rows are processed in chunks that fit into the cache.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices
from multikernel.linalg import CHUNK
from multikernel.linalg.jit import loop, part

Single = NDArray[np.float32]

SMALLEST = np.float32(1e-6)
"""Smallest absolute factor of a product, so that nodes can divide by factors. It is the
rounding error of single precision for unit diagonals."""


ZERO: Any = np.intp(0)
"""Numba would compile functions once more for a literal zero."""


@part(fastmath=True)
def _factor(  # noqa: PLR0913 - compiled code takes arrays, not objects
    out: Single,
    row_of_out: int,
    behind: int,
    units: Single,
    segment: tuple[int, int, int],
    first: int,
    shares: Single,
    which: int,
    n_columns: int,
) -> None:
    """Write sum_c shares[which, c] u_c[row] u_c[b] for a segment of a row."""
    # Unsigned indices and no views avoid reference counting and wraparound checks.
    row, start, length = segment
    k, begin, size = np.uint64(row_of_out), np.uint64(start), np.uint64(length)
    to = np.uint64(behind)
    c = 0
    while c < n_columns and shares[which, c] == np.float32(0.0):
        c += 1
    for b in range(size):
        out[k, to + b] = np.float32(0.0)
    while c < n_columns:
        weight = shares[which, c] * units[first + c, row]
        column = np.uint64(first + c)
        for b in range(size):
            out[k, to + b] += weight * units[column, begin + b]
        c += 1


@loop(fastmath=True)
def product_rows(
    rows: Indices,
    units: Single,
    firsts: Indices,
    shares: Single,
    sizes: Indices,
    triangle: Single,
) -> None:
    """Write the product over inputs of their sums to rows of the upper triangle.

    `triangle` contains the rows of the upper triangle one after the other.
    """
    n = units.shape[1]
    factor = np.empty((1, n), np.float32)
    for row in range(rows[0], rows[1]):
        offset, length = row * n - row * (row - 1) // 2, n - row
        out = triangle[offset : offset + length]
        out[:] = np.float32(1.0)
        for i in range(firsts.shape[0]):
            segment = (row, row, length)
            _factor(factor, ZERO, ZERO, units, segment, firsts[i], shares, i, sizes[i])
            for b in range(length):
                small = abs(factor[0, b]) < SMALLEST
                out[b] *= SMALLEST if small else factor[0, b]


@part(fastmath=True)
def _ratios(  # noqa: PLR0913 - compiled code takes arrays, not objects
    out: Single,
    behind: int,
    units: Single,
    segment: tuple[int, int, int],
    inputs: tuple[Indices, Indices, Single, Indices],
    factors: Single,
    inverse: Single,
) -> None:
    """Write the ratios R_{i,l} of a segment of a row to out[:, behind:]."""
    firsts, sizes, below, begins = inputs
    size, to = np.uint64(segment[2]), np.uint64(behind)
    for i in range(firsts.shape[0]):
        if begins[i] == begins[i + 1]:
            continue
        first, n_columns = firsts[i], sizes[i]
        _factor(inverse, ZERO, ZERO, units, segment, first, below, i, n_columns)
        for b in range(size):
            small = abs(inverse[0, b]) < SMALLEST
            inverse[0, b] = np.float32(1.0) / (SMALLEST if small else inverse[0, b])
        for k in range(begins[i], begins[i + 1]):
            _factor(out, k, behind, units, segment, first, factors, k, n_columns)
            ratio = np.uint64(k)
            for b in range(size):
                out[ratio, to + b] *= inverse[0, b]


@loop(fastmath=True)
def descendant_rows(  # noqa: PLR0913 - one loop, one triangle
    rows: Indices,
    triangle: Single,
    vector: Single,
    units: Single,
    inputs: tuple[Indices, Indices, Single, Indices],
    factors: Single,
    prefixes: Indices,
    pairs: Indices,
) -> Array:
    """Return the contributions of some rows of the triangle to the sum of every node.

    `inputs` is (firsts, sizes, shares of F_{i,0}, first factor of each input).
    `factors` are the factors' shares, sorted by input. `prefixes` has (shorter prefix
    or -1, factor), and `pairs` (prefix or -1, factor) of every node.
    """
    n, n_nodes, n_prefixes = units.shape[1], pairs.shape[0], prefixes.shape[0]
    total = np.zeros(n_nodes)
    ratios = np.empty((factors.shape[0], CHUNK), np.float32)
    inverse = np.empty((1, CHUNK), np.float32)
    # The empty prefix, at -1, is the last one.
    weighted = np.empty((n_prefixes + 1, CHUNK), np.float32)
    none = np.uint64(n_prefixes)
    row, start = rows[0], rows[0]
    while row < rows[1]:
        filled = ZERO
        entry = row * n - row * (row - 1) // 2 - row + start
        # A chunk may contain several short rows.
        while filled < CHUNK and row < rows[1]:
            length = min(CHUNK - filled, n - start)
            at, begin = np.uint64(entry + filled), np.uint64(start)
            size, behind = np.uint64(length), np.uint64(filled)
            twice = np.float32(2.0) * vector[row]
            for b in range(size):
                product = vector[begin + b] * triangle[at + b]
                weighted[none, behind + b] = twice * product
            if start == row:
                weighted[none, behind] *= np.float32(0.5)
            segment = (row, start, length)
            _ratios(ratios, filled, units, segment, inputs, factors, inverse)
            filled, start = filled + length, start + length
            if start == n:
                row += 1
                start = row
        size = np.uint64(filled)
        for k in range(n_prefixes):
            shorter = prefixes[k, 0]
            prefix = none if shorter < 0 else np.uint64(shorter)
            right, to = np.uint64(prefixes[k, 1]), np.uint64(k)
            for b in range(size):
                weighted[to, b] = weighted[prefix, b] * ratios[right, b]
        for k in range(n_nodes):
            shorter = pairs[k, 0]
            prefix = none if shorter < 0 else np.uint64(shorter)
            right, chunk_sum = np.uint64(pairs[k, 1]), np.float32(0.0)
            for b in range(size):
                chunk_sum += weighted[prefix, b] * ratios[right, b]
            total[k] += chunk_sum
    return total
