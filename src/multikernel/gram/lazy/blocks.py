"""Operations on a stack that can only be shown block by block."""

from collections.abc import Callable
from threading import Lock
from typing import Protocol

import numpy as np

from multikernel._typing import Array, Indices

Visit = Callable[[Indices, slice, Array], None]
"""Takes positions of kernels, rows, and these rows, (n_chosen, n_rows, n_cols)."""


class VisitedStack(Protocol):
    """A stack that computes its matrices and forgets them."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (n_kernels, n_rows, n_cols)."""
        ...

    def diagonals(self) -> Array:
        """Return every diagonal, shape (n_kernels, n_rows)."""
        ...

    def row_length(self, wanted: int) -> int:
        """Return how many entries of a row are computed where so many are wanted."""
        ...

    def between(self, rows: Indices, cols: Indices) -> "VisitedStack":
        """Return the matrices between some samples and others."""
        ...

    def visit_blocks(self, visit: Visit) -> None:
        """Compute every kernel once, and show it block by block, on several threads.

        Parameters
        ----------
        visit : callable
            Takes positions of kernels, a slice of rows, and an array of shape
            (n_chosen_kernels, n_chosen_rows, n_cols), which it must neither change
            nor keep. It is called by several threads, never twice for the same
            kernel and row.
        """
        ...


def visited_forms(visit_blocks: Callable[[Visit], None], v: Array, out: Array) -> None:
    """Add the quadratic forms v^T K_m v, summed over outputs, to `out`.

    Parameters
    ----------
    visit_blocks : callable
        Shows the blocks of all kernels, or of some.
    v : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        The vectors.
    out : ndarray of shape (n_kernels,)
        Added to, for the kernels shown.
    """
    vectors = v[:, None] if v.ndim == 1 else v
    lock = Lock()

    def visit(kernels: Indices, rows: slice, block: Array) -> None:
        part = np.einsum("ik,mik->m", vectors[rows], block @ vectors)
        with lock:
            out[kernels] += part

    visit_blocks(visit)


def visited_matvec(stack: VisitedStack, v: Array) -> Array:
    """Return K_m v for every m, shape (n_kernels, n_rows[, n_outputs])."""
    images = np.empty((*stack.shape[:2], *v.shape[1:]))

    def visit(kernels: Indices, rows: slice, block: Array) -> None:
        images[kernels, rows] = block @ v

    stack.visit_blocks(visit)
    return images


def visited_block_matvec(stack: VisitedStack, coefs: Array) -> Array:
    """Return K_m coefs[m] for every m, shape (n_kernels, n_rows[, n_outputs])."""
    vectors = coefs[:, :, None] if coefs.ndim == 2 else coefs
    images = np.empty((*stack.shape[:2], vectors.shape[2]))

    def visit(kernels: Indices, rows: slice, block: Array) -> None:
        images[kernels, rows] = np.matmul(block, vectors[kernels])

    stack.visit_blocks(visit)
    return images.reshape((*stack.shape[:2], *coefs.shape[2:]))


def visited_array(stack: VisitedStack) -> Array:
    """Return every matrix in one array, shape (n_kernels, n_rows, n_cols)."""
    array = np.empty(stack.shape)

    def visit(kernels: Indices, rows: slice, block: Array) -> None:
        array[kernels, rows] = block

    stack.visit_blocks(visit)
    return array
