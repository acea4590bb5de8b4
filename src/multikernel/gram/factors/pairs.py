"""Products of two kernels, in an order in which passes need little memory."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from multikernel._typing import Indices
from multikernel.gram.products import main_places


@dataclass(frozen=True, eq=False)
class PairOrder:
    """Products of two kernels in a stack, ordered by the first, then by the second."""

    mains: Indices  # (n_mains,), the main kernels that occur in a product, ascending
    products: Indices  # (n_products,), indices of the products in their stack
    starts: Indices  # (n_mains + 1,), start of each main's products in `products`
    # (n_products,), the position in `mains` of each product's second kernel.
    partners: Indices

    def part(self, start: int, stop: int) -> Indices:
        """Return indices of products whose first kernel is in mains[start:stop]."""
        return self.products[self.starts[start] : self.starts[stop]]


def pair_order(terms: Indices) -> PairOrder:
    """Return the products among the terms of a stack, ordered by their main kernels."""
    products = np.flatnonzero(terms[:, 1] >= 0)
    mains, positions = main_places(terms[products])
    first, second = positions.min(axis=1), positions.max(axis=1)
    order = np.argsort(first * mains.size + second, kind="stable")
    products, first, second = products[order], first[order], second[order]
    starts = np.searchsorted(first, np.arange(mains.size + 1))
    return PairOrder(mains, products, starts, second)


def main_runs(offsets: Indices, max_columns: int) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of runs of kernels, of at most `max_columns` columns each."""
    # A kernel with more columns is a run of its own.
    start = 0
    while start < offsets.size - 1:
        stop = int(np.searchsorted(offsets, offsets[start] + max_columns, "right")) - 1
        yield start, max(start + 1, stop)
        start = max(start + 1, stop)
