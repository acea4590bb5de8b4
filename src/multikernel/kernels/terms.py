"""Factors of each kernel: one main-effect kernel, or two for an interaction."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from multikernel._typing import Array, Indices

INDEX_TYPE: Any = np.int32
"""Type of the indices of main-effect kernels: 32 bits, for millions of pairs."""

MANY = 10**6
"""Number of kernels above which `FactorIndices` are computed on access, not stored."""


Rows = TypeVar("Rows", bound=NDArray[np.generic])


class ComputedRows(ABC, Generic[Rows]):
    """An array whose rows are computed when they are accessed."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def rows(self, indices: Indices) -> Rows:
        """Return the rows with the given indices, shape (n_chosen, ...)."""

    def __getitem__(self, key: Any) -> Any:
        """Return rows by index, array or slice; other keys compute the entire array."""
        if isinstance(key, slice):
            key = np.arange(*key.indices(len(self)))
        is_mask = isinstance(key, tuple) or np.asarray(key).dtype == bool
        if is_mask or "whole" in vars(self):
            return self.whole[key]
        rows = self.rows(np.atleast_1d(key))
        return rows if np.ndim(key) else rows[0]

    @cached_property
    def whole(self) -> Rows:
        """The entire array."""
        return self.rows(np.arange(len(self)))

    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> NDArray[Any]:
        """Return the entire array; see `numpy.asarray`."""
        return np.array(self.whole, dtype=dtype, copy=bool(copy) or None)


@dataclass(frozen=True, eq=False)
class EveryPair(ComputedRows[Indices]):
    """Factors of each kernel if every pair of main-effect kernels has a product."""

    alone: Indices  # main-effect kernels that are in the dictionary as they are
    members: Indices  # main-effect kernels that are multiplied in pairs, ascending

    @cached_property
    def starts(self) -> Indices:
        """Return the index of the first pair of each of `members`, and `len(self)`."""
        # Pairs follow the kernels in `alone`, ordered by their first and second member.
        sizes = np.arange(self.members.size)[::-1]
        return self.alone.size + np.concatenate([[0], np.cumsum(sizes)])

    def __len__(self) -> int:
        return int(self.starts[-1])

    def rows(self, indices: Indices) -> Indices:
        """Return the factors of chosen kernels, (n, 2); -1 means no second factor."""
        terms = np.full((indices.size, 2), -1, dtype=INDEX_TYPE)
        is_pair = indices >= self.alone.size
        terms[~is_pair, 0] = self.alone[indices[~is_pair]]
        # Pairs of positions in `members` are in the order (0, 1), (0, 2), ..., (1, 2).
        pairs = indices[is_pair]
        first = np.searchsorted(self.starts, pairs, side="right") - 1
        second = first + 1 + pairs - self.starts[first]
        terms[is_pair] = self.members[np.stack([first, second], axis=1)]
        return terms


FactorIndices = Indices | EveryPair
"""Factors of every kernel: main-effect indices, (n_kernels, 2), or an `EveryPair`."""


def paired_mains(terms: FactorIndices) -> Indices:
    """Return the indices of main-effect kernels in at least one product, ascending."""
    if isinstance(terms, EveryPair):
        return terms.members if terms.members.size > 1 else terms.members[:0]
    return np.unique(terms[terms[:, 1] >= 0])


@dataclass(frozen=True, eq=False)
class TermWeights(ComputedRows[Array]):
    """Weights of kernels: 1 for main-effect kernels, and `weight` for products."""

    terms: FactorIndices
    weight: float

    def __len__(self) -> int:
        return len(self.terms)

    def rows(self, indices: Indices) -> Array:
        """Return the weights of the chosen kernels, shape (n,)."""
        return np.where(self.terms[indices][:, 1] < 0, 1.0, self.weight)
