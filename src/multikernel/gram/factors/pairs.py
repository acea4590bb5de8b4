"""Products ordered by their main kernels, so that passes need little memory."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from multikernel._typing import Indices
from multikernel.gram.products import main_places


@dataclass(frozen=True, eq=False)
class PairOrder:
    """All products of a stack, ordered by the first main and by the second."""

    mains: Indices  # (n_mains,), the mains that occur in a product, ascending
    numbers: Indices  # (n_products,), indices of the products in their stack
    starts: Indices  # (n_mains + 1,), start of each main's products in `numbers`
    # (n_products,), second main of each product, by position in `mains`.
    partners: Indices

    def part(self, first: int, last: int) -> Indices:
        """Return indices of products whose first main is in `first` to `last` - 1."""
        return self.numbers[self.starts[first] : self.starts[last]]


def pair_order(terms: Indices) -> PairOrder:
    """Return the products among the terms of a stack, ordered by their mains."""
    numbers = np.flatnonzero(terms[:, 1] >= 0)
    mains, places = main_places(terms[numbers])
    first, second = places.min(axis=1), places.max(axis=1)
    keys = first * mains.size + second
    # Products of a dictionary are in order already, and sorting a million of them takes
    # as long as a pass.
    if np.any(keys[1:] < keys[:-1]):
        order = np.argsort(keys, kind="stable")
        numbers, first, second = numbers[order], first[order], second[order]
    starts = np.searchsorted(first, np.arange(mains.size + 1))
    return PairOrder(mains, numbers, starts, second)


def runs_of(ends: Indices, most: int) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of runs of mains with up to `most` columns, or one main."""
    first = 0
    while first < ends.size - 1:
        last = int(np.searchsorted(ends, ends[first] + most, "right")) - 1
        yield first, max(first + 1, last)
        first = max(first + 1, last)


def run_of(numbers: Indices) -> Indices | slice:
    """Return ascending numbers as a slice if they are consecutive."""
    if numbers.size and numbers[-1] - numbers[0] + 1 == numbers.size:
        return slice(int(numbers[0]), int(numbers[-1]) + 1)
    return numbers
