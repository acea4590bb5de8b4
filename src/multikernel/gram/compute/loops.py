"""Compiled loops over pairs of samples for Gaussian kernels."""

import math

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices
from multikernel.gram.compute.forms import TERMS
from multikernel.gram.compute.plan import BatchLayout
from multikernel.linalg import CHUNK
from multikernel.linalg.jit import loop, part

Singles = NDArray[np.float32]

C0, C1, C2, C3, C4, C5, C6, C7 = (
    np.float32(math.log(2.0) ** k / math.factorial(k)) for k in range(8)
)
"""Taylor coefficients of 2^r; the remainder is below 6e-9 for |r| <= 1/2."""

HALF, LOWEST = np.float32(0.5), np.float32(-126.0)


@part()
def sum_rows(table: Singles, positions: Indices, out: Singles) -> None:
    """Write the sum of the rows `positions` of a table to `out`."""
    for j in range(out.size):
        out[j] = 0.0
    # Four rows are added at a time, so the sum is read and written a fourth as often.
    n_in_fours = positions.size - positions.size % 4
    for p in range(0, n_in_fours, 4):
        a, b = table[positions[p]], table[positions[p + 1]]
        c, d = table[positions[p + 2]], table[positions[p + 3]]
        for j in range(out.size):
            out[j] += (a[j] + b[j]) + (c[j] + d[j])
    for p in range(n_in_fours, positions.size):
        a = table[positions[p]]
        for j in range(out.size):
            out[j] += a[j]


@part()
def sum_squares(  # noqa: PLR0913 - compiled code takes arrays, not objects
    row_features: Array,
    features: Array,
    used: Indices,
    in_set: Indices,
    first_row: int,
    start: int,
    counts: Indices,
    out: Array,
) -> None:
    """Write squared distances between row first_row + r and samples to out[r]."""
    # out[r, j] is the squared distance to sample start + j, for j < counts[r], over the
    # columns used[in_set]. Four columns of the samples serve all rows while a core's
    # cache holds them.
    n_in_fours = in_set.size - in_set.size % 4
    for r in range(counts.size):
        out[r] = 0.0
    for p in range(0, n_in_fours, 4):
        a, b = used[in_set[p]], used[in_set[p + 1]]
        c, d = used[in_set[p + 2]], used[in_set[p + 3]]
        for r in range(counts.size):
            row, stop, sums = first_row + r, start + counts[r], out[r, : counts[r]]
            x, y = row_features[a, row], row_features[b, row]
            z, w = row_features[c, row], row_features[d, row]
            xs, ys = features[a, start:stop], features[b, start:stop]
            zs, ws = features[c, start:stop], features[d, start:stop]
            for j in range(sums.size):
                e, f, g, h = x - xs[j], y - ys[j], z - zs[j], w - ws[j]
                sums[j] += (e * e + f * f) + (g * g + h * h)
    for p in range(n_in_fours, in_set.size):
        a = used[in_set[p]]
        for r in range(counts.size):
            sums = out[r, : counts[r]]
            x, xs = row_features[a, first_row + r], features[a, start:]
            for j in range(sums.size):
                e = x - xs[j]
                sums[j] += e * e


@loop()
def fill_exponents(  # noqa: PLR0913 - compiled code takes arrays, not objects
    row_features: Array,
    features: Array,
    layout: BatchLayout,
    exponents: Array,
    first_row: int,
    counts: Indices,
    row_starts: Indices,
    offsets: Indices,
    distances: Array,
    out: Array,
) -> None:
    """Write the exponents of Gaussian kernels at pairs of samples to `out`."""
    # An exponent of kernel k is its coefficient exponents[k], negative, times the
    # squared distance of two samples in the kernel's column set.
    # Features have shape (n_features, n_samples). Row first_row + r is paired with
    # counts[b, r] samples of block b, which has `width` samples: a quadratic form needs
    # the lower triangle only. The exponents of this row and kernel k start at
    # out[offsets[k] + row_starts[r]]. `distances`, (n_together, width), is workspace.
    # NumPy's functions take longer to compile.
    used, set_starts, members, kernel_starts = layout
    n_together, width = distances.shape
    for block in range(len(counts)):
        low = block * width
        for top in range(0, row_starts.size, n_together):
            row, sizes = first_row + top, counts[block, top : top + n_together]
            for s in range(set_starts.size - 1):
                in_set = members[set_starts[s] : set_starts[s + 1]]
                samples = row_features, features
                sum_squares(*samples, used, in_set, row, low, sizes, distances)
                for k in range(kernel_starts[s], kernel_starts[s + 1]):
                    exponent = exponents[k]
                    for r in range(sizes.size):
                        values = out[offsets[k] + row_starts[top + r] + low :]
                        for j in range(sizes[r]):
                            values[j] = exponent * distances[r, j]


@part(inline="always")
def power_of_two(x: np.float32) -> np.float32:
    """Return 2^x for x <= 0 in single precision, exact to 4 units in the last place."""
    # Smaller results are replaced by 2^-126, the smallest normal number.
    bounded = max(x, LOWEST)
    integer = np.floor(bounded + HALF)
    r = bounded - integer  # has no rounding error
    series = C4 + r * (C5 + r * (C6 + r * C7))
    series = C0 + r * (C1 + r * (C2 + r * (C3 + r * series)))
    # Numba adds integers in 64 bits, but the bits of a float32 are an int32.
    exponent = np.int32((np.int32(integer) + np.int32(127)) << np.int32(23))
    power: np.float32 = series * exponent.view(np.float32)
    return power


@part(fastmath={"reassoc", "contract"})
def weighted_powers(distances: Singles, factor: np.float32, weights: Singles) -> float:
    """Return the sum of weights[j] * 2^(factor * distances[j]) over CHUNK pairs."""
    total = 0.0
    for start in range(0, CHUNK, TERMS):
        partial_sum = np.float32(0.0)
        for j in range(start, start + TERMS):
            partial_sum += weights[j] * power_of_two(factor * distances[j])
        total += np.float64(partial_sum)
    return total


@loop()
def add_single_forms(
    features: Array,
    layout: BatchLayout,
    factors: Singles,
    first_row: int,
    products: Array,
    forms: Array,
) -> None:
    """Add single-precision terms v_i v_j K_k[i, j] of Gaussian kernels to forms[k]."""
    # A kernel is 2 to the power of its factor times the squared distance. `products`
    # are the numbers v_i v_j, doubled if j < i, for the pairs j <= i of all rows i of a
    # block, row after row; its first row is i = `first_row`. See `_PairProducts`.
    used, set_starts, members, kernel_starts = layout
    table = np.empty((used.size, CHUNK), dtype=np.float32)
    distances = np.empty(CHUNK, dtype=np.float32)
    weights = np.empty(CHUNK, dtype=np.float32)
    rows, cols = np.zeros(CHUNK, dtype=np.intp), np.zeros(CHUNK, dtype=np.intp)
    i, j = first_row, 0
    for start in range(0, products.size, CHUNK):
        size = min(CHUNK, products.size - start)
        weights[:size] = products[start : start + size]
        weights[size:] = 0.0  # not the previous chunk's weights
        for p in range(size):
            rows[p], cols[p] = i, j
            i, j = (i, j + 1) if j < i else (i + 1, 0)
        for u in range(used.size):
            feature, target = features[used[u]], table[u]
            for p in range(CHUNK):
                difference = feature[rows[p]] - feature[cols[p]]
                target[p] = difference * difference
        for s in range(set_starts.size - 1):
            sum_rows(table, members[set_starts[s] : set_starts[s + 1]], distances)
            for k in range(kernel_starts[s], kernel_starts[s + 1]):
                forms[k] += weighted_powers(distances, factors[k], weights)
