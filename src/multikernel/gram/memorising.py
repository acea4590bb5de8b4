"""Finding the kernels of a stack that can only memorise."""

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramStack
from multikernel.gram.dense import DenseStack
from multikernel.gram.scaled import ScaledStack
from multikernel.kernels.memorising import MEMORISES, off_diagonal_ratio

SAMPLED_ROWS = 16
"""Rows of every matrix that are looked at. With 150 samples their ratio lay on the same
side of `MEMORISES` as that of the whole matrix in 212 of 216 cases, the Gaussians of
``benchmarks/defaults`` (memory)."""

NUMBERS_AT_ONCE = 2**20
"""Numbers that are read before they are summed up, 8 MB."""


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
    step = max(1, NUMBERS_AT_ONCE // (n_samples * rows.size))
    found = [np.empty(0, dtype=np.intp)]
    for start in range(0, n_kernels, step):
        chosen = np.arange(start, min(start + step, n_kernels))
        ratios = _ratios(_read(stack.take(chosen), rows), rows)
        found.append(chosen[ratios < MEMORISES])
    return np.concatenate(found)


def _read(stack: GramStack, rows: Indices) -> Array:
    """Return some rows of every matrix, shape (n_kernels, n_rows, n_samples)."""
    if isinstance(stack, DenseStack):
        # A row is contiguous; a column touches every part of the memory.
        return np.asarray(stack.array[:, rows], dtype=np.float64)
    return np.ascontiguousarray(np.moveaxis(stack.columns(rows), 1, 2))


def _ratios(values: Array, rows: Indices) -> Array:
    """Return the ratio of every kernel, from some of its rows."""
    n_rows, n_samples = values.shape[1:]
    # No scale changes the ratio, and squares of values in this one are finite.
    sizes = np.abs(values).max(axis=(1, 2), keepdims=True)
    values = values / np.where(sizes > 0.0, sizes, 1.0)
    places = np.arange(n_rows)
    diagonals = values[:, places, rows].mean(axis=1)
    # Distances from the diagonal: near-constant kernels do not cancel.
    below = diagonals[:, None, None] - values
    below[:, places, rows] = 0.0
    below = below.reshape(values.shape[0], -1)
    n_pairs = n_rows * (n_samples - 1)
    means = below.sum(axis=1) / n_pairs
    squares = np.einsum("mi,mi->m", below, below) / n_pairs
    spreads = np.sqrt(np.maximum(squares - means**2, 0.0))
    return np.asarray(off_diagonal_ratio(means, spreads, n_samples))
