"""Pairs of mains, in an order in which a pass needs little memory."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from multikernel._typing import Indices
from multikernel.gram.largest import Numbers
from multikernel.linalg.tables import CHUNK_BYTES


@dataclass(frozen=True, eq=False)
class PairOrder:
    """All products of a stack, ordered by the first main and by the second.

    Parameters
    ----------
    mains : ndarray of shape (n_mains,)
        The mains in any product, ascending.
    numbers : ndarray of shape (n_products,) or slice
        The numbers of the products in their stack.
    starts : ndarray of shape (n_mains + 1,)
        First index of each main's products in `numbers`, and the end.
    partners : ndarray of shape (n_products,)
        Their second mains, by position in `mains`.
    """

    mains: Indices
    numbers: Numbers
    starts: Indices
    partners: Indices

    def part(self, first: int, last: int) -> Numbers:
        """Return the numbers of the products of mains from `first` to before `last`."""
        start, stop = int(self.starts[first]), int(self.starts[last])
        if isinstance(self.numbers, slice):
            return slice(self.numbers.start + start, self.numbers.start + stop)
        return self.numbers[start:stop]


def pair_order(terms: Indices) -> PairOrder:
    """Return the order of the products among the terms of a stack."""
    numbers, pairs = _products_of(terms)
    size = int(pairs.max(initial=-1)) + 1
    used = np.flatnonzero(_counts(pairs[:, 0], size) + _counts(pairs[:, 1], size))
    first, second = pairs.T
    if used.size and used.size <= used[-1]:
        places = np.zeros(used[-1] + 1, dtype=terms.dtype)
        places[used] = np.arange(used.size)
        first, second = places[first], places[second]
    if np.any(first > second):
        first, second = np.minimum(first, second), np.maximum(first, second)
    later = second[1:] > second[:-1]
    if not np.all((first[1:] > first[:-1]) | ((first[1:] == first[:-1]) & later)):
        order = np.lexsort([second, first])
        first, second = first[order], second[order]
        start = numbers.start if isinstance(numbers, slice) else 0
        numbers = order + start if isinstance(numbers, slice) else numbers[order]
    starts = np.concatenate([[0], np.cumsum(_counts(first, used.size))])
    return PairOrder(used, numbers, starts, np.ascontiguousarray(second))


def _products_of(terms: Indices) -> tuple[Numbers, Indices]:
    """Return the numbers of products and their mains, as views if consecutive."""
    is_pair = terms[:, 1] >= 0
    size = int(np.count_nonzero(is_pair))
    start = int(np.argmax(is_pair)) if size else 0
    run = slice(start, start + size)
    if is_pair[run].all():
        return run, terms[run]
    numbers = np.flatnonzero(is_pair)
    return numbers, terms[numbers]


def _counts(column: Indices, size: int) -> Indices:
    """Return how often each number below `size` occurs, a part at a time."""
    counts = np.zeros(size, dtype=np.intp)
    step = CHUNK_BYTES // 8
    for start in range(0, column.size, step):
        counts += np.bincount(column[start : start + step], minlength=size)
    return counts


def runs_of(ends: Indices, most: int) -> Iterator[tuple[int, int]]:
    """Yield runs of mains with at most `most` columns together, or one main."""
    first = 0
    while first < ends.size - 1:
        last = int(np.searchsorted(ends, ends[first] + most, "right")) - 1
        yield first, max(first + 1, last)
        first = max(first + 1, last)


def run_of(numbers: Indices) -> Numbers:
    """Return ascending numbers as a slice if they are consecutive."""
    if numbers.size and numbers[-1] - numbers[0] + 1 == numbers.size:
        return slice(int(numbers[0]), int(numbers[-1]) + 1)
    return numbers
