"""Quadratic forms of factored kernels and their products, on an accelerator."""

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.device.space import DeviceArray, Space
from multikernel.gram.factors.centered import CenteredMains
from multikernel.gram.factors.low_rank import LowRankStack
from multikernel.gram.factors.pairs import PairOrder, main_runs
from multikernel.gram.factors.product_build import LearntScales
from multikernel.gram.factors.products import FactoredProducts
from multikernel.gram.normalization import BuiltStack
from multikernel.gram.refine import Refinement, refined
from multikernel.linalg.tall import as_slice

COLUMNS = 2048
"""Number of factor columns that are multiplied by others in one matrix product."""


@dataclass(frozen=True, eq=False)
class DeviceMains(CenteredMains):
    """`CenteredMains` whose method `add_forms` computes on a device."""

    space: Space = field(kw_only=True)

    @cached_property
    def _device_factors(self) -> DeviceArray:
        """Return the centered factors of all main kernels, (total_rank, n_samples)."""
        with self.space.memory_guard("the factors of the main kernels"):
            factors = self.space.put(self.stack.factors.T)
            return factors - self.space.put(self.shifts)[:, None]

    def add_forms(
        self,
        order: PairOrder,
        offsets: Indices,
        main_range: tuple[int, int],
        v: Array,
        forms: Array,
    ) -> None:
        """Add quadratic forms of some products; see `CenteredMains.add_forms`."""
        first, end = main_range
        with self.space.memory_guard("a pass over interactions"):
            vectors = self.space.put(v.reshape(len(v), -1).T)
            factors, later = self._masked(order.mains[first:end]), order.mains[first:]
            blocks = [
                self._forms(factors, self._masked(later[start:stop]), vectors)
                for start, stop in main_runs(offsets[first:] - offsets[first], COLUMNS)
            ]
            products = np.hstack([self.space.get(block) for block in blocks])
        starts = order.starts[first : end + 1]
        for row, (start, stop) in zip(products, pairwise(starts.tolist()), strict=True):
            partners = as_slice(order.partners[start:stop] - first)
            forms[start - starts[0] : stop - starts[0]] += row[partners]

    def _masked(self, mains: Indices) -> tuple[DeviceArray, DeviceArray]:
        """Return factors of `mains` in one array, and a mask of each factor's rows."""
        # `mains` are indices of main kernels. Their factors are stacked in an array of
        # shape (total_rank, n_samples). The mask has shape (total_rank, n_mains): its
        # column k is one in the rows of the k-th factor, and else zero.
        space, ranks = self.space, self.stack.ranks[mains]
        rows = space.put_indices(self.stack.columns_of(mains))
        factors = space.xp.take(self._device_factors, rows, axis=0)
        owner_indices = space.put_indices(np.repeat(np.arange(mains.size), ranks))
        all_mains = space.put_indices(np.arange(mains.size))
        return factors, space.to_float64(owner_indices[:, None] == all_mains[None, :])

    def _forms(
        self,
        first: tuple[DeviceArray, DeviceArray],
        second: tuple[DeviceArray, DeviceArray],
        vectors: DeviceArray,
    ) -> DeviceArray:
        """Return v^T K v for each product K of a `first` and a `second` main kernel."""
        # `first` and `second` have stacked factors, and masks of each factor's rows
        # (`_masked`). The form of the product of kernels with factors Z and W is the
        # sum of the squares of Z diag(v) W^T, a block of G; the masks sum over blocks.
        # Forms are summed over the rows v of `vectors`; shape (n_first, n_second).
        (A, first_masks), (B, second_masks) = first, second
        total = self.space.zeros((first_masks.shape[1], second_masks.shape[1]))
        for k in range(vectors.shape[0]):
            G = (A * vectors[k, :]) @ B.T
            total = total + first_masks.T @ (G * G) @ second_masks
        return total


@dataclass(frozen=True, eq=False)
class DeviceFactors(LowRankStack):
    """A stack of low-rank factors whose quadratic forms are computed on a device."""

    space: Space = field(kw_only=True)

    @cached_property
    def _device_factors(self) -> DeviceArray:
        """Return all factors, transposed, on the device, (total_rank, n_samples)."""
        with self.space.memory_guard("the factors of the kernels"):
            return self.space.put(self.factors.T)

    def quadratic_forms(self, v: Array) -> Array:
        """Return v^T K_m v (summed over outputs) for every m, shape (n_kernels,)."""
        with self.space.memory_guard("products with factors"):
            products = self._device_factors @ self.space.put(v.reshape(len(v), -1))
            squares = self.space.get(self.space.xp.sum(products**2, axis=1))
        return np.asarray(np.add.reduceat(squares, self.offsets[:-1]))

    def refine(
        self, refinement: Refinement, max_bytes: int | None = None
    ) -> "DeviceFactors | None":
        """Return factors with more landmarks; None if no kernel gets any."""
        finer = refined.dispatch(LowRankStack)(self, refinement, max_bytes)
        if finer is None:
            return None
        assert isinstance(finer, LowRankStack)
        return DeviceFactors(**_fields(finer), space=self.space)


refined.register(DeviceFactors, DeviceFactors.refine)


def _fields(instance: LowRankStack | CenteredMains) -> dict[str, Any]:
    """Return the fields of a dataclass instance, as arguments of its constructor."""
    return {each.name: getattr(instance, each.name) for each in fields(instance)}


def with_device(built: BuiltStack, space: Space) -> BuiltStack:
    """Return a built stack whose quadratic forms are computed on a device."""
    stack = built.stack
    if isinstance(stack, LowRankStack):
        return replace(built, stack=DeviceFactors(**_fields(stack), space=space))
    assert isinstance(stack, FactoredProducts)
    mains = DeviceMains(**_fields(stack.mains), space=space)
    scales = stack.scales
    if isinstance(scales, LearntScales):
        scales = replace(scales, mains=mains)
    return replace(built, stack=replace(stack, mains=mains, scales=scales))
