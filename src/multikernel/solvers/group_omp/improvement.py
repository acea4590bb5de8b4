"""The question which kernel improves the fit of a residual most, and its answer.

The improvement that kernel m offers is

    I_m = 1/2 sum_k r_k^T K_m (K_m + c I)^{-1} r_k

over the outputs k, in the geometry of `_whitening`.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices

TIE = 1e-10
"""Relative difference below which improvements count as equal, besides rounding."""


@dataclass(frozen=True, eq=False)
class Query:
    """Residuals to be fitted, one group of rows for every path that is being grown.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_samples)
        Whitened residuals; the outputs of one group are neighbors.
    starts : ndarray of shape (n_groups,)
        First row of every group.
    shifts : ndarray of shape (n_groups,)
        The ridge c of every group.
    candidates : ndarray of shape (n_groups, n_kernels)
        Kernels that may be chosen.
    """

    rows: Array
    starts: Indices
    shifts: Array
    candidates: NDArray[np.bool_]

    def row_shifts(self) -> Array:
        """Return the ridge of every row."""
        sizes = np.diff(np.append(self.starts, self.rows.shape[0]))
        return np.repeat(self.shifts, sizes)

    def by_group(self, values: Array) -> Array:
        """Sum values of shape (..., n_rows) over the rows of every group."""
        return np.add.reduceat(values, self.starts, axis=-1)


@dataclass(frozen=True, eq=False)
class Choice:
    """The best kernel of every group.

    Parameters
    ----------
    kernels : ndarray of shape (n_groups,)
        Its index; of tied kernels the first in the dictionary.
    improvements : ndarray of shape (n_groups,)
        What it offers.
    passes : float
        Products with one Gram matrix and one row, over the number of kernels.
    """

    kernels: Indices
    improvements: Array
    passes: float


class Selector(Protocol):
    """Answers queries on one stack."""

    @property
    def prepared(self) -> float:
        """Return the passes that were made before the first query."""
        ...

    def best(self, query: Query) -> Choice:
        """Return the best candidate of every group."""
        ...


def choose(query: Query, values: Array, ties: Array | float, passes: float) -> Choice:
    """Pick the largest value of every group; ties go to the first kernel.

    Parameters
    ----------
    query : Query
        What was asked.
    values : ndarray of shape (n_groups, n_kernels)
        Twice the improvements.
    ties : ndarray of shape (n_groups, n_kernels) or float
        Relative difference up to which values are tied.
    passes : float
        What the answer cost per row.

    Returns
    -------
    choice : Choice
    """
    values = np.where(query.candidates, values, -np.inf)
    largest = values.max(axis=1, keepdims=True)
    # argmax of booleans is the first True: the tie goes to the dictionary's order.
    kernels = np.argmax(query.candidates & (values * (1.0 + ties) >= largest), axis=1)
    return Choice(kernels, 0.5 * values[np.arange(kernels.size), kernels], passes)
