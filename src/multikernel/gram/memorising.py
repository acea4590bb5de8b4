"""Finding the kernels of a stack that can only memorise."""

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramStack
from multikernel.kernels.memory import MEMORISES, off_diagonal_ratio

SAMPLED_COLUMNS = 16
"""Columns of every matrix that are looked at. On 150 rows, 27 sets and splits and
eight widths the ratio of these columns lay on the same side of `MEMORISES` as that of
the whole matrix."""

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
    diagonal = values[:, columns, places].mean(axis=1)
    values[:, columns, places] = np.nan
    beside = values.reshape(values.shape[0], -1)
    mean = np.nanmean(beside, axis=1)
    return np.asarray(
        off_diagonal_ratio(diagonal - mean, np.nanstd(beside, axis=1), n_rows)
    )
