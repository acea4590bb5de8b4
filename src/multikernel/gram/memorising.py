"""Finding the kernels of a stack that can only memorise, or say the same of all."""

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramStack
from multikernel.gram.blocked.stack import BlockedStack
from multikernel.gram.dense import DenseStack, Stored
from multikernel.gram.low_rank import LowRankStack, Residual
from multikernel.gram.scaled import ScaledStack
from multikernel.kernels.memorising import off_diagonal_ratio
from multikernel.linalg.interrupts import compiled
from multikernel.linalg.threads import run_blocks

SAMPLED_ROWS = 16
"""Rows of every matrix that are looked at. With 150 samples their ratio lay on the same
side of `MEMORISES` as that of the whole matrix in 212 of 216 cases, the Gaussians of
``benchmarks/defaults`` (memory)."""

FETCHED_ROWS = 1000
"""Samples that are looked at where the factors of all are in blocks."""

KERNELS_PER_TASK = 64

NUMBERS_PER_TASK = 2**22
"""Numbers of columns that a thread holds, 32 MB, where matrices are not in memory."""

FAR = 0.01
"""Where a factor lacks more than this share of its trace, its columns are not those of
its kernel."""


def kernel_shapes(stack: GramStack) -> tuple[Array, Array]:
    """Return how far kernels are from a constant, and from the identity.

    Of every matrix a few rows are read, evenly spaced.

    Parameters
    ----------
    stack : GramStack
        Training Gram matrices, normalised or not.

    Returns
    -------
    spans : ndarray of shape (n_kernels,)
        By how much entries beside the diagonal are below it in the mean, or their
        standard deviation where that is more, over the largest entry: zero for a
        constant.
    ratios : ndarray of shape (n_kernels,)
        See `off_diagonal_ratio`: zero for the identity.
    """
    n_kernels, n_samples, _ = stack.shape
    if isinstance(stack, ScaledStack) and stack.scales.all():
        # No scale changes the ratio.
        stack = stack.stack
    if isinstance(stack, BlockedStack) and n_samples > FETCHED_ROWS:
        # Of samples that are elsewhere some stand for all: columns are not fetched.
        some = np.linspace(0, n_samples - 1, FETCHED_ROWS).astype(np.intp)
        means, ratios = kernel_shapes(stack.restrict(some))
        return means, np.sqrt(n_samples / FETCHED_ROWS) * ratios
    rows = np.unique(np.linspace(0, n_samples - 1, SAMPLED_ROWS).astype(np.intp))
    sums = np.empty((n_kernels, 2))
    write = compiled("multikernel.gram.part_loops", "write_off_diagonal_sums")

    step = KERNELS_PER_TASK
    if not isinstance(stack, DenseStack):
        step = max(1, min(step, NUMBERS_PER_TASK // (n_samples * rows.size)))

    def work(start: int) -> None:
        chosen = np.arange(start, min(start + step, n_kernels))
        array, places = _read(stack.take(chosen), rows)
        write(array, places, rows, sums[chosen[0] : chosen[-1] + 1])

    run_blocks(work, range(0, n_kernels, step))
    means, squares = sums.T / (rows.size * max(1, n_samples - 1))
    spreads = np.sqrt(np.maximum(squares - means**2, 0.0))
    spans = np.maximum(np.abs(means), spreads)
    return spans, off_diagonal_ratio(means, spreads, n_samples)


def _read(stack: GramStack, rows: Indices) -> tuple[Stored, Indices]:
    """Return an array that holds some rows of every matrix, and their places in it."""
    if isinstance(stack, DenseStack):
        return stack.array, rows
    columns = stack.columns(rows)
    if isinstance(stack, LowRankStack) and stack.residual is not None:
        _complete(stack, stack.residual, rows, columns)
    values = np.ascontiguousarray(np.moveaxis(columns, 1, 2))
    return values, np.arange(rows.size)


def _complete(
    stack: LowRankStack, residual: Residual, rows: Indices, columns: Array
) -> None:
    """Write columns of whole kernels where factors are far from them."""
    left = np.einsum("mi,mi->m", residual.roots, residual.roots)
    far = np.flatnonzero(left > FAR * stack.diagonals().sum(axis=1))
    if far.size and stack.landmarks is not None:
        computed = stack.landmarks.full_columns(stack.numbers[far], rows)
        known = np.isfinite(computed).all(axis=(1, 2))
        columns[far[known]] = computed[known]
