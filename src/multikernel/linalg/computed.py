"""Arrays that are too large for memory, with rows computed on access."""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Indices


class ComputedRows(ABC):
    """An array whose rows are computed on access.

    If it is used as a NumPy array, all rows are computed once and cached.
    """

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def rows(self, numbers: Indices) -> NDArray[Any]:
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
    def whole(self) -> NDArray[Any]:
        """The entire array."""
        return self.rows(np.arange(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the entire array; see `numpy.asarray`."""
        return np.array(self.whole, dtype=dtype, copy=bool(copy) or None)
