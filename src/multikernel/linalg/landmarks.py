"""Factors of kernel matrices from a few of their columns."""

from collections.abc import Callable

import numpy as np

from multikernel._typing import Array


def landmark_factor(
    columns: Callable[[int], Array],
    diagonal: Array,
    tol: float,
    most: int | None = None,
) -> tuple[Array, Array]:
    """Return a pivoted Cholesky factor of a kernel matrix, and its pivots."""
    n_samples = diagonal.shape[0]
    # Diagonal of the matrix minus factor factor^T; the method stops below `tol`.
    rest = np.array(diagonal, dtype=np.float64)
    rows_of_factor = np.empty((min(64, n_samples), n_samples))
    pivots: list[int] = []
    while len(pivots) < (n_samples if most is None else most):
        pivot = int(np.argmax(rest))
        if not rest[pivot] > tol:
            break
        rank = len(pivots)
        if rank == len(rows_of_factor):
            rows_of_factor = np.concatenate(
                [rows_of_factor, np.empty_like(rows_of_factor)]
            )
        rows_so_far = rows_of_factor[:rank]
        column = (columns(pivot) - rows_so_far[:, pivot] @ rows_so_far) / np.sqrt(
            rest[pivot]
        )
        rest -= column * column
        rest[pivot] = 0.0
        rows_of_factor[rank] = column
        pivots.append(pivot)
    factor = np.ascontiguousarray(rows_of_factor[: len(pivots)].T)
    return factor, np.asarray(pivots, dtype=np.intp)
