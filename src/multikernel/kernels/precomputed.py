"""A Gram matrix computed elsewhere, as a kernel on sample numbers."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from multikernel._typing import Array
from multikernel._validation import check_symmetric


@dataclass(frozen=True, eq=False)
class PrecomputedKernel:
    """A Gram matrix indexed by sample numbers.

    With X a column of sample numbers, folds and clones share the one matrix: nothing
    is sliced before it is needed, and `sklearn.base.clone` does not copy it.

    Parameters
    ----------
    K : array-like of shape (n_total, n_total)
        The matrix over all samples, those of training and of testing.
    label : str, optional
        The kernel's name; a list of kernels numbers those that have none.

    Raises
    ------
    ValueError
        If `K` is not a square matrix, not finite, or not symmetric.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.kernels import PrecomputedKernel
    >>> kernel = PrecomputedKernel(np.diag([1.0, 2.0, 3.0]), label="alignment")
    >>> kernel(np.array([[0], [2]]))
    array([[1., 0.],
           [0., 3.]])
    """

    K: Array
    label: str | None = None

    def __post_init__(self) -> None:
        matrix = np.asarray(self.K, dtype=np.float64)
        check_symmetric(matrix, "The matrix of a PrecomputedKernel")
        object.__setattr__(self, "K", matrix)

    @property
    def name(self) -> str:
        """Return the label, or the shape where there is none."""
        if self.label is not None:
            return self.label
        return f"precomputed({self.K.shape[0]} samples)"

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the matrix between samples given by their numbers, in a column.

        The matrix itself, not a copy, where all samples are asked for in order. Numbers
        that are not whole or not within the matrix are refused.
        """
        rows = self._sample_numbers(X)
        cols = rows if Y is None else self._sample_numbers(Y)
        everything = np.arange(self.K.shape[0])
        if np.array_equal(rows, everything) and np.array_equal(cols, everything):
            return self.K
        return self.K[np.ix_(rows, cols)]

    def diag(self, X: Array) -> Array:
        """Return the diagonal at sample numbers, shape (n_samples,)."""
        return self.K.diagonal()[self._sample_numbers(X)]

    def __sklearn_clone__(self) -> Self:
        """Return the object itself: clones share the matrix."""
        return self

    def __deepcopy__(self, memo: object) -> Self:
        """Return the object itself: `clone` copies what holds it deeply."""
        return self

    def _sample_numbers(self, X: Array) -> "np.ndarray[tuple[int], np.dtype[np.intp]]":
        """Return sample numbers as a vector of integers."""
        values = np.asarray(X)
        if values.ndim != 2 or values.shape[1] != 1:
            raise ValueError(
                f"{self.name}: a PrecomputedKernel takes X of shape (n_samples, 1), "
                f"one column of sample numbers, got shape {values.shape}."
            )
        total = self.K.shape[0]
        column = values[:, 0]
        wrong = ~((column >= 0) & (column < total) & (column == np.floor(column)))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"{self.name}: sample numbers must be whole numbers from 0 to "
                f"{total - 1}, the rows of the matrix; row {row} of X is "
                f"{column[row]:g}."
            )
        return column.astype(np.intp)
