"""Finding the kernels of a stack that can only memorise."""

import numpy as np

from multikernel._typing import Indices
from multikernel.gram.base import GramStack
from multikernel.gram.dense import DenseStack, Stored
from multikernel.gram.scaled import ScaledStack
from multikernel.kernels.memorising import MEMORISES, off_diagonal_ratio
from multikernel.linalg.interrupts import compiled
from multikernel.linalg.threads import run_blocks

SAMPLED_ROWS = 16
"""Rows of every matrix that are looked at. With 150 samples their ratio lay on the same
side of `MEMORISES` as that of the whole matrix in 212 of 216 cases, the Gaussians of
``benchmarks/defaults`` (memory)."""

KERNELS_PER_TASK = 64


def memorising_kernels(stack: GramStack) -> Indices:
    """Return the kernels under which samples say next to nothing about one another.

    Of every matrix a few rows are read, evenly spaced.

    Parameters
    ----------
    stack : GramStack
        Training Gram matrices, normalised or not.

    Returns
    -------
    kernels : ndarray of shape (n_memorising,)
        Those whose `off_diagonal_ratio` is below `MEMORISES`.
    """
    n_kernels, n_samples, _ = stack.shape
    if isinstance(stack, ScaledStack) and stack.scales.all():
        # No scale changes the ratio.
        stack = stack.stack
    rows = np.unique(np.linspace(0, n_samples - 1, SAMPLED_ROWS).astype(np.intp))
    sums = np.empty((n_kernels, 2))
    write = compiled("multikernel.gram.part_loops", "write_off_diagonal_sums")

    def work(start: int) -> None:
        chosen = np.arange(start, min(start + KERNELS_PER_TASK, n_kernels))
        array, places = _read(stack.take(chosen), rows)
        write(array, places, rows, sums[chosen[0] : chosen[-1] + 1])

    run_blocks(work, range(0, n_kernels, KERNELS_PER_TASK))
    means, squares = sums.T / (rows.size * (n_samples - 1))
    spreads = np.sqrt(np.maximum(squares - means**2, 0.0))
    ratios = off_diagonal_ratio(means, spreads, n_samples)
    return np.flatnonzero(ratios < MEMORISES)


def _read(stack: GramStack, rows: Indices) -> tuple[Stored, Indices]:
    """Return an array that holds some rows of every matrix, and their places in it."""
    if isinstance(stack, DenseStack):
        return stack.array, rows
    values = np.ascontiguousarray(np.moveaxis(stack.columns(rows), 1, 2))
    return values, np.arange(rows.size)
