"""A compiled loop that sums products of factors, in blocks that fit in a CPU cache."""

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices
from multikernel.linalg import CHUNK
from multikernel.linalg.jit import loop

Single = NDArray[np.float32]


@loop(fastmath=True)
def product_sums(
    start: Single, factors: Single, prefixes: Indices, ends: Indices
) -> Array:
    """Return, for each node, the sum of `start` times the product of its factors."""
    # `start` has shape (n_entries,), `factors` (n_factors, n_entries). Prefixes are
    # products that several nodes share: prefix 0 is `start`, and prefix k is the prefix
    # prefixes[k, 0] times the factor in row prefixes[k, 1]. The product of node k is
    # the prefix ends[k, 0] times the factor in row ends[k, 1].
    sums = np.zeros(len(ends))
    products = np.empty((len(prefixes), CHUNK), np.float32)
    for begin in range(0, start.size, CHUNK):
        size = min(CHUNK, start.size - begin)
        for b in range(size):
            products[0, b] = start[begin + b]
        for k in range(1, len(prefixes)):
            left, right = products[prefixes[k, 0]], factors[prefixes[k, 1], begin:]
            out = products[k]
            for b in range(size):
                out[b] = left[b] * right[b]
        for k in range(len(ends)):
            left, right = products[ends[k, 0]], factors[ends[k, 1], begin:]
            total = np.float32(0.0)
            for b in range(size):
                total += left[b] * right[b]
            sums[k] += total
    return sums
