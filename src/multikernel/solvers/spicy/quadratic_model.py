"""The quadratic model of the smooth part of SpicyMKL's inner problem."""

from dataclasses import dataclass, field

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramStack
from multikernel.gram.products import combined_rows


@dataclass(eq=False)
class QuadraticModel:
    r"""Gradient and Hessian at a dual point, :math:`H = \sum_m w_m K_m + U U^\top`.

    Parameters
    ----------
    gram : GramStack
        The kernels.
    weights : ndarray of shape (n_kernels,)
        The weights w.
    low_rank : ndarray of shape (n_samples, rank) or None
        The factor U.
    gradient : ndarray of shape (n_samples,)
        Decision values of the model, intercept included.
    excess : float or None
        By what the entries of the dual point add up to too much; None where their sum
        is free, without an intercept.
    """

    gram: GramStack
    weights: Array
    low_rank: Array | None
    gradient: Array
    excess: float | None
    _rows: Array = field(init=False)
    _places: Indices = field(init=False)  # of samples among these rows, or -1

    def __post_init__(self) -> None:
        self._rows = np.empty((0, self.gradient.size))
        self._places = np.full(self.gradient.size, -1)

    def solve(self, rhs: Array, shift: Array) -> Array:
        """Solve (H + diag(shift)) x = rhs."""
        matrix = self.gram.combine(self.weights)
        return matrix.solve(rhs, shift=shift, low_rank=self.low_rank)

    def rows(self, indices: Indices) -> Array:
        """Return rows of H; each is computed once."""
        new = indices[self._places[indices] < 0]
        if new.size:
            rows = combined_rows(self.gram, self.weights, new)
            if self.low_rank is not None:
                rows += self.low_rank[new] @ self.low_rank.T
            self._places[new] = self._rows.shape[0] + np.arange(new.size)
            self._rows = np.concatenate([self._rows, rows])
        return np.asarray(self._rows[self._places[indices]])
