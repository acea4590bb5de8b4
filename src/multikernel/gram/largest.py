"""Select the largest of many numbers that are computed in blocks."""

import numpy as np

from multikernel._typing import Array, Indices


class Largest:
    """A selection of at most `most` numbers, the largest ones above a level."""

    def __init__(self, level: float, most: int) -> None:
        self._level, self._most = level, most
        self._kept: list[tuple[Indices, Array]] = []
        self._rest = -np.inf

    def add(self, numbers: Indices, values: Array) -> None:
        """Add the values of some kernels, given by their indices."""
        above = np.flatnonzero(values > self._level)
        if above.size < values.size:
            below = np.where(values > self._level, -np.inf, values)
            self._rest = max(self._rest, float(below.max()))
        self._kept.append((numbers[above], values[above]))
        if sum(each.size for each, _ in self._kept) > 4 * self._most:
            self._cut()

    def _cut(self) -> None:
        """Keep the largest numbers; raise the level to the largest dropped number."""
        numbers, values = map(np.concatenate, zip(*self._kept, strict=True))
        if values.size > self._most:
            order = np.argpartition(-values, self._most - 1)
            largest, others = np.split(order, [self._most])
            self._rest = max(self._rest, float(values[others].max()))
            numbers, values = numbers[largest], values[largest]
            self._level = max(self._level, self._rest)
        self._kept = [(numbers, values)]

    def result(self) -> tuple[Indices, Array, float]:
        """Return kept indices (ascending) and values, and the largest dropped value."""
        if not self._kept:
            return np.empty(0, dtype=np.intp), np.empty(0), self._rest
        self._cut()
        numbers, values = self._kept[0]
        order = np.argsort(numbers)
        return numbers[order], values[order], self._rest
