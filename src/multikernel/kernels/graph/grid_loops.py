"""Compiled sums over the upper triangle of products of small factors.

Chunks of a row stay in the cache: some hundred vectors of `CHUNK` single precision
numbers. Every entry of a ratio is formed once, for all vectors where they are kept, and
entries of a prefix are read once per four nodes.
"""

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices
from multikernel.linalg.jit import loop

Single = NDArray[np.float32]

CHUNK = 512
"""Entries that are worked on at a time. 256 to 2048 take as long within a tenth, with
300 to 500 nodes on 320 and on 2000 samples; the smaller, the less memory."""

SMALLEST = np.float32(1e-6)
"""Factors of a product are at least that large in absolute value, so that nodes can
divide by them. With a unit diagonal that is the rounding of single precision."""


@loop(fastmath=True)
def _factor(  # noqa: PLR0913 - compiled code takes arrays, not objects
    out: Single,
    place: int,
    behind: int,
    units: Single,
    segment: tuple[int, int, int],
    first: int,
    shares: Single,
    which: int,
    n_columns: int,
) -> None:
    """Write sum_c shares[which, c] u_c[row] u_c[b] for the entries b of a row.

    `segment` is (row, first entry, entries), and they go to out[place, behind:].
    """
    # Places without a sign, and no views: searches spent most of their time in counting
    # references to these, and in wrapping negative places around.
    row, start, length = segment
    k, begin, size = np.uint64(place), np.uint64(start), np.uint64(length)
    to, one = np.uint64(behind), np.uint64(1)
    c = 0
    while c < n_columns and shares[which, c] == np.float32(0.0):
        c += 1
    for b in range(size):
        out[k, to + b] = np.float32(0.0)
    # Four columns at a time: an entry is read and written once for all.
    while c + 4 <= n_columns:
        w0 = shares[which, c] * units[first + c, row]
        w1 = shares[which, c + 1] * units[first + c + 1, row]
        w2 = shares[which, c + 2] * units[first + c + 2, row]
        w3 = shares[which, c + 3] * units[first + c + 3, row]
        u0 = np.uint64(first + c)
        u1, u2, u3 = u0 + one, u0 + one + one, u0 + one + one + one
        for b in range(size):
            at = begin + b
            out[k, to + b] += (
                w0 * units[u0, at]
                + w1 * units[u1, at]
                + w2 * units[u2, at]
                + w3 * units[u3, at]
            )
        c += 4
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
    """Write the product of the sums of all inputs.

    `triangle` holds the rows of the upper triangle one after the other.
    """
    n = units.shape[1]
    factor = np.empty((1, n), np.float32)
    for row in range(rows[0], rows[1]):
        offset, length = row * n - row * (row - 1) // 2, n - row
        out = triangle[offset : offset + length]
        out[:] = np.float32(1.0)
        for i in range(firsts.shape[0]):
            segment = (row, row, length)
            _factor(factor, 0, 0, units, segment, firsts[i], shares, i, sizes[i])
            for b in range(length):
                small = abs(factor[0, b]) < SMALLEST
                out[b] *= SMALLEST if small else factor[0, b]


@loop(fastmath=True)
def _ratios(  # noqa: PLR0913 - compiled code takes arrays, not objects
    out: Single,
    slots: Indices,
    behind: int,
    units: Single,
    segment: tuple[int, int, int],
    inputs: tuple[Indices, Indices, Single, Indices],
    factors: Single,
    inverse: Single,
) -> None:
    """Write the ratios R_{i,l} of a part of a row, to out[slots, behind:]."""
    firsts, sizes, below, begins = inputs
    size, to = np.uint64(segment[2]), np.uint64(behind)
    for i in range(firsts.shape[0]):
        if begins[i] == begins[i + 1]:
            continue
        first, n_columns = firsts[i], sizes[i]
        _factor(inverse, 0, 0, units, segment, first, below, i, n_columns)
        for b in range(size):
            small = abs(inverse[0, b]) < SMALLEST
            inverse[0, b] = np.float32(1.0) / (SMALLEST if small else inverse[0, b])
        for k in range(begins[i], begins[i + 1]):
            _factor(out, slots[k], behind, units, segment, first, factors, k, n_columns)
            ratio = np.uint64(slots[k])
            for b in range(size):
                out[ratio, to + b] *= inverse[0, b]


@loop(fastmath=True)
def ratio_rows(
    rows: Indices,
    units: Single,
    inputs: tuple[Indices, Indices, Single, Indices],
    factors: Single,
    slots: Indices,
    ratios: Single,
) -> None:
    """Write the ratios of some factors, for `descendant_rows`, which names them."""
    n = units.shape[1]
    inverse = np.empty((1, n), np.float32)
    for row in range(rows[0], rows[1]):
        offset = row * n - row * (row - 1) // 2
        segment = (row, row, n - row)
        _ratios(ratios, slots, offset, units, segment, inputs, factors, inverse)


@loop(fastmath=True)
def descendant_rows(  # noqa: C901, PLR0912, PLR0913, PLR0915 - one loop, one triangle
    rows: Indices,
    triangle: Single,
    vector: Single,
    units: Single,
    inputs: tuple[Indices, Indices, Single, Indices],
    factors: Single,
    slots: Indices,
    known: Single,
    prefixes: Indices,
    pairs: Indices,
) -> Array:
    """Return what some rows of the triangle add to the sum of every node.

    `inputs` is (firsts, sizes, shares of F_{i,0}, where the factors of input i begin),
    `factors` their shares, sorted by input; `prefixes` (shorter prefix or -1, factor);
    `pairs` (prefix or -1, factor) of every node, with the nodes of a prefix side by
    side. The ratios of all factors stand in `slots` of `known`; they are computed where
    it is empty.
    """
    n, n_nodes, n_prefixes = units.shape[1], pairs.shape[0], prefixes.shape[0]
    total = np.zeros(n_nodes)
    has_ratios = known.shape[0] > 0
    ratios = known if has_ratios else np.empty((factors.shape[0], CHUNK), np.float32)
    inverse = np.empty((1, CHUNK), np.float32)
    # The empty prefix, at -1, is the last one.
    weighted = np.empty((n_prefixes + 1, CHUNK), np.float32)
    none = np.uint64(n_prefixes)
    row, start = rows[0], rows[0]
    while row < rows[1]:
        filled = 0
        entry = row * n - row * (row - 1) // 2 - row + start
        shift = np.uint64(entry if has_ratios else 0)
        # A chunk holds the ends of several rows: of few samples they are short.
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
            if not has_ratios:
                segment = (row, start, length)
                _ratios(ratios, slots, filled, units, segment, inputs, factors, inverse)
            filled, start = filled + length, start + length
            if start == n:
                row += 1
                start = row
        size = np.uint64(filled)
        for k in range(n_prefixes):
            shorter = prefixes[k, 0]
            prefix = none if shorter < 0 else np.uint64(shorter)
            right, to = np.uint64(slots[prefixes[k, 1]]), np.uint64(k)
            for b in range(size):
                weighted[to, b] = weighted[prefix, b] * ratios[right, shift + b]
        k = 0
        while k < n_nodes:
            shorter = pairs[k, 0]
            prefix = none if shorter < 0 else np.uint64(shorter)
            right = np.uint64(slots[pairs[k, 1]])
            one = np.float32(0.0)
            # What four nodes of a prefix have in common is read once.
            if k + 4 <= n_nodes and pairs[k + 3, 0] == shorter:
                second = np.uint64(slots[pairs[k + 1, 1]])
                third = np.uint64(slots[pairs[k + 2, 1]])
                fourth = np.uint64(slots[pairs[k + 3, 1]])
                two, three, four = np.float32(0.0), np.float32(0.0), np.float32(0.0)
                for b in range(size):
                    common = weighted[prefix, b]
                    one += common * ratios[right, shift + b]
                    two += common * ratios[second, shift + b]
                    three += common * ratios[third, shift + b]
                    four += common * ratios[fourth, shift + b]
                total[k] += one
                total[k + 1] += two
                total[k + 2] += three
                total[k + 3] += four
                k += 4
            else:
                for b in range(size):
                    one += weighted[prefix, b] * ratios[right, shift + b]
                total[k] += one
                k += 1
    return total
