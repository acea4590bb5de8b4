"""Select the largest of many numbers that are computed in blocks."""

import numpy as np

from multikernel._typing import Array, Indices


class Largest:
    """A selection of the largest numbers above a level, at most `n_largest`."""

    def __init__(self, level: float, n_largest: int) -> None:
        self._level, self._n_largest = level, n_largest
        self._candidates: list[tuple[Indices, Array]] = []
        self._largest_dropped = -np.inf

    def add(self, indices: Indices, values: Array) -> None:
        """Add the values of some kernels, given by their indices."""
        is_above = np.flatnonzero(values > self._level)
        if is_above.size < values.size:
            below = np.where(values > self._level, -np.inf, values)
            self._largest_dropped = max(self._largest_dropped, float(below.max()))
        self._candidates.append((indices[is_above], values[is_above]))
        if sum(each.size for each, _ in self._candidates) > 4 * self._n_largest:
            self._cut()

    def _cut(self) -> None:
        """Keep the largest numbers; raise the level to the largest dropped number."""
        indices, values = map(np.concatenate, zip(*self._candidates, strict=True))
        if values.size > self._n_largest:
            order = np.argpartition(-values, self._n_largest - 1)
            largest, dropped = np.split(order, [self._n_largest])
            self._largest_dropped = max(
                self._largest_dropped, float(values[dropped].max())
            )
            indices, values = indices[largest], values[largest]
            self._level = max(self._level, self._largest_dropped)
        self._candidates = [(indices, values)]

    def result(self) -> tuple[Indices, Array, float]:
        """Return kept indices (ascending) and values, and the largest dropped value."""
        if not self._candidates:
            return np.empty(0, dtype=np.intp), np.empty(0), self._largest_dropped
        self._cut()
        indices, values = self._candidates[0]
        order = np.argsort(indices)
        return indices[order], values[order], self._largest_dropped
