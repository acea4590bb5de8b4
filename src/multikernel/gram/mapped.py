"""Gram matrices in a file: as much memory as the system has to spare, and no more."""

import mmap
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.blas import daxpy

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramMatrix, GramStack
from multikernel.gram.dense import DenseMatrix, DenseStack, Stored
from multikernel.gram.files import backing
from multikernel.gram.part import PartStack
from multikernel.linalg.threads import run_blocks, with_one_blas_thread

HELD_SHARE, HELD_BYTES = 16, 2**28
"""Of a stack's bytes, and in all, what a copy of a few kernels may take: solvers take
active ones once and multiply by them many times, also while the file does not fit
into memory. More are looked at in the file."""


@dataclass(frozen=True, eq=False)
class MappedStack(DenseStack):
    """Gram matrices in a file, read in order and never copied whole.

    Parameters
    ----------
    array : ndarray of shape (n_kernels, n_rows, n_cols)
        The matrices, mapped from a file: C-contiguous, float64 or float32.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.gram.files import joined
    >>> from multikernel.gram.mapped import MappedStack
    >>> stack = MappedStack(joined([np.eye(3), np.ones((3, 3))]))
    >>> stack.quadratic_forms(np.array([1.0, 2.0, 0.0]))
    array([5., 9.])
    """

    def combine(self, weights: Array) -> GramMatrix:
        """Return sum_m weights[m] K_m as one matrix."""
        support = np.flatnonzero(weights)
        if self.array.dtype == np.float32:
            return DenseMatrix(self._combine_single(support, weights))
        n_rows, n_cols = self.shape[1:]
        total = np.zeros(n_rows * n_cols)

        def add() -> None:
            for m in support:
                daxpy(self.array[m].reshape(-1), total, a=weights[m])

        # One product with all of them, as in memory, would read them out of order.
        with_one_blas_thread(add)
        return DenseMatrix(total.reshape(n_rows, n_cols))

    def take(self, kernels: Indices) -> GramStack:
        """Return the stack of the chosen kernels: a copy of few, a view of many."""
        indices = np.arange(self.shape[0])[kernels]
        each, whole = self.array[:1].nbytes, self.array.nbytes
        if indices.size * each <= min(HELD_BYTES, whole // HELD_SHARE):
            return DenseStack(self.array[indices])
        if np.array_equal(indices, indices[0] + np.arange(indices.size)):
            return MappedStack(self.array[indices[0] : indices[0] + indices.size])
        return PartStack(self, np.arange(self.shape[1]), indices)

    def view(self, kernels: Indices) -> GramStack:
        """Return the stack of the chosen kernels, of which few are held."""
        # Reading them in the file again costs more than a copy.
        return self.take(kernels)

    def restrict(self, samples: Indices) -> GramStack:
        """Return the stack on the chosen samples, a view where they ascend."""
        chosen = np.arange(self.shape[1])[samples]
        if not np.all(np.diff(chosen) > 0):
            return self.copied(np.arange(self.shape[0]), chosen, chosen)
        return self if chosen.size == self.shape[1] else PartStack(self, chosen)

    def _images(self, chosen: slice, v: Array) -> Array:
        """Return K_m v for a run of kernels, one after another."""
        part = self.array[chosen]
        images = np.empty((*part.shape[:2], *v.shape[1:]))

        def multiply(m: int) -> None:
            if m + 2 < len(part):
                read_ahead(part[m + 2])
            matrix = part[m].astype(np.float64, copy=False)
            np.dot(matrix, v, out=images[m])

        run_blocks(multiply, range(len(part)))
        return images

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how another process finds the file; it does not get the matrices."""
        file = backing(self.array)
        assert file is not None
        offset = address(self.array) - address(file) + file.offset
        arguments = str(file.filename), self.array.dtype.str, offset, self.array.shape
        return _mapped_again, arguments


def held_stack(array: Stored) -> DenseStack:
    """Return the stack of an array, by whether it is a file's."""
    return DenseStack(array) if backing(array) is None else MappedStack(array)


def address(array: Any) -> int:
    """Return where an array begins in memory."""
    found: int = array.__array_interface__["data"][0]
    return found


def read_ahead(array: Any) -> None:
    """Ask the system to read a part of a file, which is needed soon."""
    file = backing(array)
    held = getattr(file, "base", None)
    if file is None or not isinstance(held, mmap.mmap) or not hasattr(held, "madvise"):
        return
    start = address(array) - address(np.frombuffer(held, np.uint8, 1))
    first = start - start % mmap.PAGESIZE
    held.madvise(mmap.MADV_WILLNEED, first, start + array.nbytes - first)


def _mapped_again(
    path: str, dtype: str, offset: int, shape: tuple[int, ...]
) -> MappedStack:
    return MappedStack(np.asarray(np.memmap(path, dtype, "r", offset, shape)))
