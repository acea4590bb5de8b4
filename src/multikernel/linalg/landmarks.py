"""Factors of kernel matrices from few of their columns."""

from collections.abc import Callable

import numpy as np

from multikernel._typing import Array


def landmark_factor(
    columns: Callable[[int], Array],
    diagonal: Array,
    tol: float,
    most: int | None = None,
) -> tuple[Array, Array]:
    """Return a factor of a kernel matrix by pivoted Cholesky.

    Parameters
    ----------
    columns : callable
        From the index of a sample to its column of the matrix.
    diagonal : ndarray of shape (n_samples,)
        The diagonal.
    tol : float
        Stop where no entry of the diagonal of the rest exceeds this.
    most : int, default=None
        Landmarks at most; as many as there are samples when None.

    Returns
    -------
    factor : ndarray of shape (n_samples, rank)
        K = factor factor^T + rest.
    pivots : ndarray of shape (rank,)
        The samples taken.
    """
    n_samples = diagonal.shape[0]
    rest = np.array(diagonal, dtype=np.float64)
    found = np.empty((min(64, n_samples), n_samples))
    pivots: list[int] = []
    while len(pivots) < (n_samples if most is None else most):
        pivot = int(np.argmax(rest))
        if not rest[pivot] > tol:
            break
        rank = len(pivots)
        if rank == len(found):
            found = np.concatenate([found, np.empty_like(found)])
        known = found[:rank]
        column = (columns(pivot) - known[:, pivot] @ known) / np.sqrt(rest[pivot])
        rest -= column * column
        rest[pivot] = 0.0
        found[rank] = column
        pivots.append(pivot)
    factor = np.ascontiguousarray(found[: len(pivots)].T)
    return factor, np.asarray(pivots, dtype=np.intp)
