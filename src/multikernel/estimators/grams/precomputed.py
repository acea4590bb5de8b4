"""Matrices that were given: what is checked of them, and the stack that they are."""

import numpy as np
from sklearn.utils import check_random_state

from multikernel._typing import Array
from multikernel._validation import ASYMMETRY
from multikernel.estimators.grams.storage import GramOptions
from multikernel.estimators.read.finite import check_finite_grams
from multikernel.exceptions import IndefiniteKernelError
from multikernel.gram import BuiltStack, DenseStack, GramStack, MemoryMapped
from multikernel.gram.checks import ROUNDING, take_census
from multikernel.gram.files import scratch
from multikernel.gram.memory import check_size
from multikernel.gram.normalization import empty_normalization
from multikernel.gram.part import normalize_in_place
from multikernel.gram.steps import CosineStep
from multikernel.linalg.tables import backing
from multikernel.linalg.threads import run_blocks

NO_COPY = (
    "stack_grams and normalize='trace', 'variance' or None, which need no copy of "
    "them, single precision,"
)
"""What to use where a copy of given matrices does not fit."""

TINY = float(np.finfo(np.float64).tiny)

COPIED_TOGETHER = 64
"""Matrices that a thread copies at a time from an array that has samples first."""


def precomputed_stack(
    X: Array,
    weights: Array | None,
    options: GramOptions,
) -> BuiltStack:
    """Return the normalised stack of a samples-first block of Gram matrices.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_samples, n_kernels)
        The matrices, float64 or float32; kept in that type.
    weights : ndarray of shape (n_samples,) or None
        Weights of the normalisation's statistics.
    options : GramOptions
        Its steps may not hold "cosine"; its ``max_bytes`` limits a copy, where one is
        needed.

    Returns
    -------
    built : BuiltStack
        A view of X where kernels are at most scaled and X has the layout of
        `stack_grams`.

    Raises
    ------
    ValueError
        If a matrix is not symmetric.
    multikernel.exceptions.IndefiniteKernelError
        If a diagonal has a negative entry.
    """
    array = np.moveaxis(X, -1, 0)
    n_kernels, n_samples, _ = array.shape
    normalization = empty_normalization(
        options.normalize, n_kernels, n_samples, weights
    )
    if any(isinstance(step, CosineStep) for step in normalization.steps):
        raise ValueError(
            "normalize='cosine' needs k(x, x) of new samples, which precomputed "
            "kernels do not have: divide them beforehand, or use PrecomputedKernel."
        )
    if not (normalization.only_scales and array.flags.c_contiguous):
        array = kernels_first(X, _room(array, options))
    held = DenseStack(array)
    stack: GramStack
    census = take_census(
        held,
        np.ones(n_samples) / n_samples if weights is None else weights / weights.sum(),
        check_random_state(0 if options.random_state is None else options.random_state),
    )
    if not np.isfinite(census.asymmetry).all():
        check_finite_grams(X)
    check_diagonals(held)
    check_symmetric(held, census.asymmetry)
    if normalization.only_scales:
        stack = normalization.learn_scales(held, census.forms)
    else:
        normalize_in_place(array, normalization)
        stack = DenseStack(array)
    return BuiltStack(stack, normalization, stack.zero_kernels())


def _room(array: Array, options: GramOptions) -> Array:
    """Return room for a copy of matrices: in a temporary file where they are mapped."""
    storage = options.storage
    if (
        isinstance(storage, MemoryMapped)
        or storage == "memmap"
        or backing(array) is not None
    ):
        folder = storage.folder if isinstance(storage, MemoryMapped) else None
        return scratch(folder, array.shape, array.dtype.name)
    check_size(array.shape, array.itemsize, options.max_bytes, NO_COPY)
    return np.empty(array.shape, array.dtype)


def kernels_first(X: Array, array: Array) -> Array:
    """Copy a samples-first block into an array of whole matrices, on all cores.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_fit_samples, n_kernels)
        The matrices.
    array : ndarray of shape (n_kernels, n_samples, n_fit_samples)
        Overwritten.

    Returns
    -------
    array : ndarray of shape (n_kernels, n_samples, n_fit_samples)
        C-contiguous.
    """
    n_samples, _, n_kernels = X.shape

    def copy(kernels: slice) -> None:
        for i in range(n_samples):
            array[kernels, i] = X[i, :, kernels].T

    starts = range(0, n_kernels, COPIED_TOGETHER)
    run_blocks(copy, (slice(k, k + COPIED_TOGETHER) for k in starts))
    return array


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
    """Raise if a matrix is not symmetric.

    Parameters
    ----------
    stack : DenseStack
        Square matrices.
    asymmetry : ndarray of shape (n_kernels,)
        As a `Census` holds it.

    Raises
    ------
    ValueError
        Naming the matrix and the pair of entries that differ most.
    """
    traces = np.abs(stack.diagonals()).sum(axis=1)
    wrong = ~(np.abs(asymmetry) <= ASYMMETRY * np.maximum(traces, TINY))
    for m in np.flatnonzero(wrong):
        K = stack.array[m]
        largest = float(np.abs(K).max())
        if not np.isfinite(asymmetry[m]):
            raise ValueError(
                f"Gram matrix {m} is too large for sums over it: its largest value is "
                f"{largest:.3g}. Divide it by a constant."
            )
        difference = np.abs(K - K.T)
        i, j = np.unravel_index(int(np.argmax(difference)), K.shape)
        if difference[i, j] <= ASYMMETRY * largest:
            continue  # its trace says nothing of its size
        raise ValueError(
            f"Gram matrix {m} is not symmetric: its values at [{i}, {j}] and [{j}, "
            f"{i}] are {K[i, j]:.6g} and {K[j, i]:.6g}. Use "
            "(K + K.T) / 2 if that is rounding, and check how it was computed if not."
        )
