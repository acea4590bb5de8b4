"""The quadratic model of the smooth part of SpicyMKL's inner problem."""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from multikernel._typing import Array, Indices


class Hessian(Protocol):
    """A positive semidefinite matrix over the samples, however it is held."""

    @property
    def cost(self) -> float:
        """Return about as many flops as a solution takes."""
        ...

    def solve(self, rhs: Array, shift: Array) -> Array:
        """Solve (H + diag(shift)) x = rhs.

        Raises
        ------
        numpy.linalg.LinAlgError
            If the matrix is not positive definite.
        """
        ...

    def rows(self, indices: Indices) -> Array:
        """Return some rows, shape (n_indices, n_samples)."""
        ...


@dataclass(eq=False)
class QuadraticModel:
    """Gradient and Hessian at a dual point.

    Parameters
    ----------
    hessian : Hessian
        The matrix H.
    gradient : ndarray of shape (n_samples,)
        Decision values of the model, intercept included.
    excess : float or None
        By what the entries of the dual point add up to too much; None where their sum
        is free, without an intercept.
    """

    hessian: Hessian
    gradient: Array
    excess: float | None
    _rows: Array = field(init=False)
    _places: Indices = field(init=False)  # of samples among these rows, or -1

    def __post_init__(self) -> None:
        self._rows = np.empty((0, self.gradient.size))
        self._places = np.full(self.gradient.size, -1)

    def rows(self, indices: Indices) -> Array:
        """Return rows of H; each is computed once."""
        new = indices[self._places[indices] < 0]
        if new.size:
            self._places[new] = self._rows.shape[0] + np.arange(new.size)
            self._rows = np.concatenate([self._rows, self.hessian.rows(new)])
        return np.asarray(self._rows[self._places[indices]])
