"""Finding the kernels of a stack that can only memorise."""

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramStack
from multikernel.kernels.memory import MEMORISES, off_diagonal_ratio

SAMPLED_COLUMNS = 16
"""Columns of every matrix that are looked at. With 150 rows the ratio of these columns lay on
the same side of `MEMORISES` as that of the whole matrix in 212 of 216 cases, the
Gaussians of ``benchmarks/defaults`` (memory), and beside it in the other four."""

NUMBERS_AT_ONCE = 2**22


def memorising_kernels(stack: GramStack) -> Indices:
    """Return the kernels under which samples say next to nothing about one another.

    Of every matrix a few columns are read, evenly spaced.

    Parameters
    ----------
    stack : GramStack
        Training Gram matrices, normalised or not.

    Returns
    -------
    kernels : ndarray of shape (n_memorising,)
        Those whose `off_diagonal_ratio` is below `MEMORISES`.
    """
    n_kernels, n_rows, _ = stack.shape
    columns = np.unique(np.linspace(0, n_rows - 1, SAMPLED_COLUMNS).astype(np.intp))
    step = max(1, NUMBERS_AT_ONCE // (n_rows * columns.size))
    found = [np.empty(0, dtype=np.intp)]
    for start in range(0, n_kernels, step):
        chosen = np.arange(start, min(start + step, n_kernels))
        ratios = _ratios(stack.take(chosen).columns(columns), columns)
        found.append(chosen[ratios < MEMORISES])
    return np.concatenate(found)


def _ratios(values: Array, columns: Indices) -> Array:
    """Return the ratio of every kernel, from some of its columns."""
    n_rows, n_columns = values.shape[1:]
    places = np.arange(n_columns)
    diagonals = values[:, columns, places].mean(axis=1)
    # Distances from the diagonal: near-constant kernels do not cancel.
    below = diagonals[:, None, None] - values
    below[:, columns, places] = 0.0
    below = below.reshape(values.shape[0], -1)
    n_pairs = (n_rows - 1) * n_columns
    means = below.sum(axis=1) / n_pairs
    squares = np.einsum("mi,mi->m", below, below) / n_pairs
    spreads = np.sqrt(np.maximum(squares - means**2, 0.0))
    return np.asarray(off_diagonal_ratio(means, spreads, n_rows))
