"""Where SMO finds the rows of its Gram matrix: the array itself, or an LRU cache."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.matrix import GramMatrix
from multikernel.linalg.tables import read_only

FETCH = 8
"""Columns asked for at once: several cost little more than one where a back end
computes them by a matrix product."""


class Rows(NamedTuple):
    """The rows of K at hand."""

    data: Array
    """Of shape (n_slots, n), read-only."""
    slot: Indices
    """Where the row of each sample lies in `data`, -1 for nowhere."""
    stamp: Indices
    """When each slot was last used; written by the loops, read where rows go."""


def row_source(gram: GramMatrix, cache_bytes: int) -> "RowSource":
    """Return the cheapest source of rows for a Gram matrix.

    A contiguous float64 array is read in place; beyond the matrix itself no more than
    `cache_bytes` are held.
    """
    array = gram.array
    if array is not None and array.dtype == np.float64 and array.flags.c_contiguous:
        return DenseRows(array, array, cache_bytes)
    n = gram.shape[0]
    # Two rows at least, as a step reads two; memory is taken only as it is filled.
    size = int(np.clip(cache_bytes // 8, 2 * n, max(n, 2) * n))
    return CachedRows.empty(gram, np.arange(n), np.empty(size))


@dataclass(frozen=True, eq=False)
class DenseRows:
    """All rows, in one array."""

    array: Array
    whole: Array
    cache_bytes: int

    @property
    def rows(self) -> Rows:
        """Return the whole matrix."""
        n = self.array.shape[0]
        return Rows(read_only(self.array), np.arange(n), np.zeros(n, dtype=np.intp))

    def fetch(self, wanted: Indices, step: int) -> None:
        """Do nothing: no row is ever missing; see `CachedRows`."""

    def take(self, samples: Indices) -> Array:
        """Return the rows of some samples."""
        return self.array[samples]

    def narrowed(self, keep: Indices) -> "DenseRows | None":
        """Return the rows over `keep` (positions) only, None if that does not pay.

        A compact copy must fit, and be small enough to repay its cost.
        """
        small = 2 * keep.size <= self.array.shape[0]
        if not small or 8 * keep.size**2 > self.cache_bytes:
            return None
        part = self.array[np.ix_(keep, keep)]
        return DenseRows(part, self.whole, self.cache_bytes)

    def widened(self) -> "DenseRows":
        """Return the rows over all samples."""
        return DenseRows(self.whole, self.whole, self.cache_bytes)


@dataclass(frozen=True, eq=False)
class CachedRows:
    """Rows over the samples `active`, computed by columns when they are needed."""

    gram: GramMatrix
    active: Indices
    buffer: Array
    data: Array
    """The cache, of shape (n_slots, n_active), at the front of `buffer`."""
    owner: Indices
    """Whose row each slot holds, -1 for nobody's."""
    slot: Indices
    stamp: Indices

    @classmethod
    def empty(cls, gram: GramMatrix, active: Indices, buffer: Array) -> "CachedRows":
        """Return an empty cache for some samples, with as many slots as fit."""
        n = active.size
        count = min(buffer.size // n, max(n, 2))
        return cls(
            gram,
            active,
            buffer,
            buffer[: count * n].reshape(count, n),
            np.full(count, -1, dtype=np.intp),
            np.full(n, -1, dtype=np.intp),
            np.full(count, -1, dtype=np.intp),
        )

    @property
    def rows(self) -> Rows:
        """Return the cached rows."""
        return Rows(read_only(self.data), self.slot, self.stamp)

    def fetch(self, wanted: Indices, step: int) -> None:
        """Bring in the rows of `wanted`; the first one is needed.

        Those that are missing are computed, in place of those unused for longest.
        """
        # The row used last must survive, as the loop needs it beside the new one.
        count = min(FETCH, self.stamp.size - 1)
        missing = wanted[self.slot[wanted] < 0][:count]
        oldest = np.argpartition(self.stamp, missing.size - 1)[: missing.size]
        evicted = self.owner[oldest]
        self.slot[evicted[evicted >= 0]] = -1
        columns = self.gram.columns(self.active[missing])
        self.data[oldest] = columns[self.active].T
        self.owner[oldest] = missing
        self.slot[missing] = oldest
        # A row in use has an odd stamp, one fetched on a guess the even one below it.
        self.stamp[oldest] = 2 * step
        self.stamp[self.slot[missing[0]]] = 2 * step + 1

    def take(self, samples: Indices) -> Array:
        """Return the rows of some samples; those that are not held are computed."""
        rows = self.data[self.slot[samples]]
        missing = self.slot[samples] < 0
        columns = self.gram.columns(self.active[samples[missing]])
        rows[missing] = columns[self.active].T
        return rows

    def narrowed(self, keep: Indices) -> "CachedRows | None":
        """Return a cache of shorter, so more, rows, if this one is full.

        It takes over the memory of this one, which must not be used any more.
        """
        full = bool(np.all(self.owner >= 0)) and self.stamp.size < self.active.size
        if not full:
            return None
        cache = CachedRows.empty(self.gram, self.active[keep], self.buffer)
        position = np.full(self.active.size, -1, dtype=np.intp)
        position[keep] = np.arange(keep.size)
        used = np.flatnonzero(position[self.owner] >= 0)
        # In ascending order no row is overwritten before it has moved.
        for new, old in enumerate(used):
            cache.data[new] = self.data[old, keep]
        news = np.arange(used.size)
        cache.owner[news] = position[self.owner[used]]
        cache.slot[cache.owner[news]] = news
        cache.stamp[news] = self.stamp[used]
        return cache

    def widened(self) -> "CachedRows":
        """Return an empty cache for all samples, in the memory of this one."""
        return CachedRows.empty(self.gram, np.arange(self.gram.shape[0]), self.buffer)


RowSource = DenseRows | CachedRows
"""The rows of K over the samples in play."""
