"""Products of a tall matrix with itself under weights of its rows, on all threads."""

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.linalg.threads import available_threads, run_blocks

BLOCK_BYTES = 2**24
"""Bytes of rows that a thread scales and multiplies at a time. The product of a block
is added to a matrix of rank^2 entries, which takes under a tenth of the time of the
product at rank 829 (2500 rows at a time) and less at lower ranks."""

SCATTERED = 8
"""Columns of a run: in a matrix held by rows shorter ones on average are gathered one
by one, as a loop would run over few numbers at a time."""


def weighted_gram(
    Z: Array, weights: Array, columns: Indices, sides: Array
) -> tuple[Array, Array]:
    """Return A^T diag(w) A and A^T diag(w) B, where A is some columns of Z.

    Rows without a weight are not looked at. The rows are split over as many threads as
    BLAS may use, so that with the same number of threads results are the same bits.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_columns)
        The matrix, in any order.
    weights : ndarray of shape (n_rows,)
        The weights w, not negative.
    columns : ndarray of shape (n_chosen,)
        The columns of A, ascending.
    sides : ndarray of shape (n_rows, n_sides)
        The matrix B.

    Returns
    -------
    gram : ndarray of shape (n_chosen, n_chosen)
    inner : ndarray of shape (n_chosen, n_sides)
    """
    rows = np.flatnonzero(weights)
    rows = rows if rows.size < weights.size else np.arange(0)
    n_rows = rows.size or weights.size
    most = max(1, BLOCK_BYTES // (8 * max(columns.size, 1)))
    n_lanes = min(available_threads(), max(1, n_rows // most))
    ends = np.linspace(0, n_rows, n_lanes + 1).astype(int)
    totals: list[tuple[Array, Array] | None] = [None] * n_lanes
    roots, runs = np.sqrt(weights), runs_of(columns)

    def add(lane: int) -> None:
        gram = np.zeros((columns.size, columns.size))
        inner = np.zeros((columns.size, sides.shape[1]))
        for start in range(ends[lane], ends[lane + 1], most):
            part = slice(start, min(start + most, ends[lane + 1]))
            chosen = rows[part] if rows.size else part
            block = _scaled(Z[chosen], roots[chosen], columns, runs)
            gram += block.T @ block
            inner += block.T @ (roots[chosen, None] * sides[chosen])
        totals[lane] = gram, inner

    run_blocks(add, range(n_lanes))
    first, *others = (total for total in totals if total is not None)
    for gram, inner in others:
        first[0][:] += gram
        first[1][:] += inner
    return first


def gathered(Z: Array, columns: Indices) -> Array:
    """Return some columns of a matrix in its own order; a view where they are a run.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_columns)
        The matrix.
    columns : ndarray of shape (n_chosen,)
        The columns, ascending or not.

    Returns
    -------
    chosen : ndarray of shape (n_rows, n_chosen)
    """
    runs = runs_of(columns)
    if len(runs) == 1:
        return Z[:, runs[0]]
    if _by_rows(Z) and columns.size < SCATTERED * len(runs):
        return np.asarray(np.take(Z, columns, axis=1))
    chosen = _empty(Z, columns.size)
    place = 0
    for run in runs:
        width = run.stop - run.start
        chosen[:, place : place + width] = Z[:, run]
        place += width
    return chosen


def _scaled(Z: Array, roots: Array, columns: Indices, runs: list[slice]) -> Array:
    """Return some columns, their rows multiplied by the roots of the weights."""
    if _by_rows(Z) and columns.size < SCATTERED * len(runs):
        return np.asarray(np.take(Z, columns, axis=1) * roots[:, None])
    scaled = _empty(Z, columns.size)
    place = 0
    for run in runs:
        width = run.stop - run.start
        np.multiply(Z[:, run], roots[:, None], out=scaled[:, place : place + width])
        place += width
    return scaled


def _empty(Z: Array, n_columns: int) -> Array:
    """Return room for so many columns, in the order in which Z is held."""
    shape = Z.shape[0], n_columns
    return np.empty(shape) if _by_rows(Z) else np.empty(shape[::-1]).T


def _by_rows(Z: Array) -> bool:
    """Return whether the entries of a row are neighbors."""
    return Z.strides[1] <= Z.strides[0]


def runs_of(columns: Indices) -> list[slice]:
    """Return the runs of neighbors that the columns are."""
    if not columns.size:
        return []
    breaks = np.flatnonzero(np.diff(columns) != 1) + 1
    starts = columns[np.concatenate([[0], breaks])]
    ends = columns[np.concatenate([breaks - 1, [columns.size - 1]])] + 1
    return [slice(a, b) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]


def covariances_with_sum(values: Array, weights: Array) -> Array:
    """Return the weighted covariances of terms with their sum, times all weight.

    Parameters
    ----------
    values : ndarray of shape (n_samples[, n_outputs], n_terms)
        The terms.
    weights : ndarray of shape (n_samples,)
        Weights of the samples.

    Returns
    -------
    covariances : ndarray of shape ([n_outputs, ]n_terms)
    """
    centred = values - np.tensordot(weights / weights.sum(), values, axes=1)
    total = (centred.sum(axis=-1).T * weights).T
    return np.asarray(np.einsum("i...,i...m->...m", total, centred))
