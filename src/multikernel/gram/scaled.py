"""Gram matrices with a factor each, without a copy."""

from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramMatrix, GramStack


@dataclass(frozen=True, eq=False)
class ScaledStack:
    """The matrices scales[m] K_m of another stack.

    Parameters
    ----------
    stack : GramStack
        The matrices K_m; shared, not copied.
    scales : ndarray of shape (n_kernels,)
        Factors, not negative.

    Raises
    ------
    ValueError
        If the number of factors is not that of the kernels, or one is negative or
        not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.gram import DenseStack, ScaledStack
    >>> stack = ScaledStack(DenseStack(np.ones((2, 3, 3))), np.array([1.0, 0.5]))
    >>> stack.quadratic_forms(np.ones(3))
    array([9. , 4.5])
    """

    stack: GramStack
    scales: Array

    def __post_init__(self) -> None:
        n_kernels = self.stack.shape[0]
        if self.scales.shape != (n_kernels,):
            raise ValueError(
                f"A ScaledStack of {n_kernels} kernels needs as many scales, got an "
                f"array of shape {self.scales.shape}."
            )
        wrong = ~(np.isfinite(self.scales) & (self.scales >= 0.0))
        if wrong.any():
            m = int(np.argmax(wrong))
            raise ValueError(
                f"Scales must be finite and not negative; scale {m} is "
                f"{self.scales[m]:g}."
            )

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (n_kernels, n_rows, n_cols)."""
        return self.stack.shape

    def quadratic_forms(self, v: Array) -> Array:
        """Return v^T K_m v (summed over outputs) for every m, shape (n_kernels,)."""
        return self._scale(self.stack.quadratic_forms(v))

    def matvec(self, v: Array) -> Array:
        """Return K_m v for every m, shape (n_kernels, n_rows[, n_outputs])."""
        return self._scale(self.stack.matvec(v))

    def block_matvec(self, coefs: Array) -> Array:
        """Return K_m coefs[m] for every m, shape (n_kernels, n_rows[, n_outputs])."""
        return self._scale(self.stack.block_matvec(coefs))

    def combine(self, weights: Array) -> GramMatrix:
        """Return sum_m weights[m] K_m as one matrix."""
        return self.stack.combine(weights * self.scales)

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_kernels, n_rows, n_indices)."""
        return self._scale(self.stack.columns(indices))

    def diagonals(self) -> Array:
        """Return every diagonal, shape (n_kernels, n_rows)."""
        return self._scale(self.stack.diagonals())

    def take(self, kernels: Indices) -> GramStack:
        """Return the stack of the chosen kernels."""
        return ScaledStack(self.stack.take(kernels), self.scales[kernels])

    def restrict(self, rows: Indices, cols: Indices) -> GramStack:
        """Return the stack on the chosen samples."""
        return ScaledStack(self.stack.restrict(rows, cols), self.scales)

    def _scale(self, values: Array) -> Array:
        """Multiply the values of each kernel by its factor."""
        return values * self.scales.reshape((-1,) + (1,) * (values.ndim - 1))
