"""Errors about precomputed Gram matrices, with their numbers and names."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

from multikernel._typing import Array
from multikernel._validation import ASYMMETRY
from multikernel.estimators.read import numbers
from multikernel.exceptions import IndefiniteKernelError
from multikernel.gram import DenseStack
from multikernel.gram.checks import ROUNDING
from multikernel.linalg import TINY


class MatrixError(ValueError):
    """A precomputed matrix is invalid; `kernel` is its number."""

    def __init__(self, message: str, kernel: int | None) -> None:
        super().__init__(message)
        self.kernel = kernel


KernelError = TypeVar("KernelError", bound=IndefiniteKernelError | MatrixError)


@contextmanager
def naming_matrices(names: Sequence[str] | None) -> Iterator[None]:
    """Prefix errors about precomputed matrices with the names of the matrices."""
    try:
        yield
    except (IndefiniteKernelError, MatrixError) as error:
        if names is None or error.kernel is None:
            raise
        raise by_name(error, names[error.kernel]) from error


def by_name(error: KernelError, name: str) -> KernelError:
    """Return the error with the name of its kernel as a prefix, added once."""
    start = f"{name}: "
    text = start + str(error).removeprefix(start)
    return type(error)(text, error.kernel)


def check_finite_grams(X: Array) -> None:
    """Raise for a value of X, (n_samples, n_samples, n_kernels), that is invalid."""
    # Iterate in memory order, without copies: the matrices may fill the memory.
    slowest = int(np.argmax(X.strides))
    for number, part in enumerate(np.moveaxis(X, slowest, 0)):
        if numbers.within_reach(part):
            continue
        wrong = numbers.worst_place(part)
        i, j, m = np.insert(wrong, slowest, number).tolist()
        where = f"[{i}, {j}] of Gram matrix {m}"
        if np.isfinite(part[wrong]):
            divide = (
                "Divide this matrix, and those of new samples, by the same constant."
            )
            raise MatrixError(numbers.too_large(part[wrong], where, divide), m)
        try:
            numbers.refuse_not_finite("Input X", part, wrong, where, numbers.LEAVE_OUT)
        except ValueError as error:
            raise MatrixError(str(error), m) from None


def check_diagonals(stack: DenseStack) -> None:
    """Raise `IndefiniteKernelError` if a diagonal has an entry clearly below zero."""
    diagonals = stack.diagonals()
    allowed = ROUNDING * np.abs(diagonals).sum(axis=1)
    depth = diagonals + allowed[:, None]
    m, i = np.unravel_index(int(np.argmin(depth)), depth.shape)
    if depth[m, i] < 0.0:
        raise IndefiniteKernelError(
            f"Gram matrix {m} is not positive semidefinite: its value at [{i}, {i}] "
            f"is {diagonals[m, i]:.6g}, and a kernel's diagonal is never negative.",
            kernel=int(m),
        )


def check_symmetric(stack: DenseStack, asymmetry: Array) -> None:
    """Raise if a matrix is not symmetric, naming it and the pair that differs most.

    The `asymmetry` of each, (n_kernels,), comes from a `Census`.
    """
    traces = np.abs(stack.diagonals()).sum(axis=1)
    wrong = np.abs(asymmetry) > ASYMMETRY * np.maximum(traces, TINY)
    for m in np.flatnonzero(wrong):
        K = stack.array[m]
        largest = float(np.abs(K).max())
        difference = np.abs(K - K.T)
        i, j = np.unravel_index(int(np.argmax(difference)), K.shape)
        if difference[i, j] <= ASYMMETRY * largest:
            continue  # its trace says nothing of its size
        raise MatrixError(
            f"Gram matrix {m} is not symmetric: its values at [{i}, {j}] and [{j}, "
            f"{i}] are {K[i, j]:.6g} and {K[j, i]:.6g}. If the difference is rounding, "
            "use (K + K.T) / 2; otherwise check how the matrix was computed.",
            int(m),
        )
