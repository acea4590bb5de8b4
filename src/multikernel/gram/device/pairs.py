"""Passes over all products of kernels in factors, on an accelerator."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from multikernel._typing import Array
from multikernel.gram.device.space import DeviceArray, Space
from multikernel.gram.factors.pairs import runs_of
from multikernel.gram.factors.products import FactoredProducts
from multikernel.gram.largest import Numbers

COLUMNS = 1024
"""Columns of the factors in one block of a pass: products of two blocks take 8 MB."""


@dataclass(frozen=True, eq=False)
class DevicePairs(FactoredProducts):
    """Products of two of some kernels in factors, with passes on a device.

    Factors are copied to the device for every pass. Products in use get factors in
    memory, as in `FactoredProducts`.

    Parameters
    ----------
    mains, terms, scales, landmarks, chosen
        As in `FactoredProducts`.
    space : Space
        The library and the device.
    """

    space: Space = field(kw_only=True)

    def _product_runs(self, v: Array) -> Iterator[tuple[Numbers, Array]]:
        """Yield the forms of products, not scaled, those of some mains at a time."""
        order, runs = self._order, list(runs_of(self._ends, COLUMNS))
        columns = self.space.put(v.reshape(len(v), -1).T)
        with self.space.room("a pass over interactions"):
            tiles = [self._tile(run) for run in runs]
            for place, (first, last) in enumerate(runs):
                squares = [
                    self.space.get(self._squares(tiles[place], tile, columns))
                    for tile in tiles[place:]
                ]
                starts = order.starts[first : last + 1]
                rows = np.repeat(np.arange(last - first), np.diff(starts))
                partners = order.partners[starts[0] : starts[-1]] - first
                yield order.part(first, last), np.hstack(squares)[rows, partners]

    def _tile(self, run: tuple[int, int]) -> DeviceArray:
        """Return the centered factors of some mains, (n_mains, rank, n_samples).

        Factors of a smaller rank end with zeros.
        """
        mains = self._order.mains[slice(*run)].tolist()
        factors = [self.mains.factor(main) for main in mains]
        tile = np.zeros((len(mains), max(map(len, factors)), self.shape[1]))
        for place, factor in enumerate(factors):
            tile[place, : len(factor)] = factor
        return self.space.put(tile)

    def _squares(
        self, left: DeviceArray, right: DeviceArray, columns: DeviceArray
    ) -> DeviceArray:
        """Return the forms of all products of one main of each tile."""
        xp, n = self.space.xp, self.shape[1]
        total = self.space.zeros((left.shape[0], right.shape[0]))
        for column in range(columns.shape[0]):
            rows = xp.reshape(left * columns[column, :], (-1, n))
            G = rows @ xp.reshape(right, (-1, n)).T
            blocks = xp.reshape(G**2, (*left.shape[:2], *right.shape[:2]))
            total = total + xp.sum(blocks, axis=(1, 3))
        return total


def pairs_on_device(stack: FactoredProducts, space: Space) -> DevicePairs:
    """Return the same products with passes on a device."""
    return DevicePairs(
        stack.mains,
        stack.terms,
        stack.scales,
        stack.landmarks,
        stack.chosen,
        space=space,
    )
