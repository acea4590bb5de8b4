"""Factors of kernel matrices from a few of their columns."""

from collections.abc import Callable

import numpy as np

from multikernel._typing import Array


def landmark_factor(
    columns: Callable[[int], Array],
    diagonal: Array,
    tol: float,
    max_rank: int | None = None,
) -> tuple[Array, Array]:
    """Return a pivoted Cholesky factor Z, (n_samples, rank), and the pivot indices."""
    n_samples = diagonal.shape[0]
    # Diagonal of K - Z Z^T; the method stops if no entry exceeds `tol`.
    residuals = np.array(diagonal, dtype=np.float64)
    rows_of_factor = np.empty((min(64, n_samples), n_samples))
    pivots: list[int] = []
    while len(pivots) < (n_samples if max_rank is None else max_rank):
        pivot = int(residuals.argmax())
        if not residuals[pivot] > tol:
            break
        rank = len(pivots)
        if rank == len(rows_of_factor):
            rows_of_factor = np.concatenate(
                [rows_of_factor, np.empty_like(rows_of_factor)]
            )
        rows = rows_of_factor[:rank]
        column = (columns(pivot) - rows[:, pivot] @ rows) / np.sqrt(residuals[pivot])
        residuals -= column * column
        residuals[pivot] = 0.0
        rows_of_factor[rank] = column
        pivots.append(pivot)
    factor = np.ascontiguousarray(rows_of_factor[: len(pivots)].T)
    return factor, np.asarray(pivots, dtype=np.intp)
