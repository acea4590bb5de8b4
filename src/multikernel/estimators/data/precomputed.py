"""Precomputed Gram matrices: samples-first blocks, and what is checked of them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from multikernel._typing import Array
from multikernel._validation import ASYMMETRY
from multikernel.estimators.data.finite import check_finite_grams
from multikernel.exceptions import IndefiniteKernelError
from multikernel.gram import BuiltStack, DenseStack, GramStack, LowRank
from multikernel.gram.build import check_size, degenerate_kernels, normalize_in_place
from multikernel.gram.census import take_census
from multikernel.gram.definite import ROUNDING
from multikernel.gram.normalization import CosineStep, Steps, empty_normalization
from multikernel.linalg.threads import run_blocks

NO_COPY = (
    "stack_grams and normalize='trace', 'variance' or None, which need no copy of "
    "them, single precision,"
)
"""What to use where a copy of given matrices does not fit."""

TINY = float(np.finfo(np.float64).tiny)

COPIED_TOGETHER = 64
"""Matrices that a thread copies at a time from an array that has samples first."""


@dataclass(frozen=True)
class GramOptions:
    """How the Gram matrices of an estimator are made.

    Parameters
    ----------
    normalize : str, sequence of str, or None
        Steps, as in `build_stack`.
    storage : str or LowRank
        Storage, as in `build_stack`.
    max_bytes : int or None
        Limit on the bytes, as in `build_stack`.
    random_state : int, RandomState or None
        Draws the vectors that show whether matrices are symmetric.
    check_psd : {"active", "all", False}
        Which kernels of a fitted model are looked at, as in `check_definite`.
    """

    normalize: Steps
    storage: str | LowRank
    max_bytes: int | None
    random_state: Any = None
    check_psd: str | bool = "active"

    def with_all_landmarks(self) -> "GramOptions":
        """Return options by which factors are at once as fine as they may be."""
        storage = LowRank() if self.storage == "low_rank" else self.storage
        if not isinstance(storage, LowRank):
            return self
        return replace(self, storage=replace(storage, first=storage.max_rank))


def stack_grams(grams: Any) -> Array:
    """Return Gram matrices as one X for ``kernels="precomputed"``.

    The samples come first, so that scikit-learn slices X as it slices any pairwise
    data: `cross_val_score`, `GridSearchCV` and pipelines work as they are.

    Parameters
    ----------
    grams : ndarray of shape (n_kernels, n_samples, n_fit_samples), or sequence of \
            array-like of shape (n_samples, n_fit_samples)
        The matrices: square for the training data, new samples in the rows for
        prediction.

    Returns
    -------
    X : ndarray of shape (n_samples, n_fit_samples, n_kernels)
        Of an array a view, without a copy; of a list a view of the one array that it
        is copied into. `fit` uses that layout without a further copy where kernels
        are at most scaled ("trace", "variance").

    Raises
    ------
    ValueError
        If there is no matrix, or if their shapes differ.

    See Also
    --------
    multikernel.kernels.PrecomputedKernel : Shares one copy across folds and clones,
        and gives kernels names.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import stack_grams
    >>> stack_grams([np.eye(4), np.ones((4, 4))]).shape
    (4, 4, 2)
    """
    if isinstance(grams, np.ndarray) and grams.ndim == 3:
        return np.moveaxis(grams, 0, -1)
    matrices = [np.asarray(gram) for gram in grams]
    if not matrices:
        raise ValueError("stack_grams needs at least one Gram matrix, got none.")
    for number, matrix in enumerate(matrices):
        if matrix.ndim != 2 or matrix.shape != matrices[0].shape:
            raise ValueError(
                f"Gram matrix {number} has shape {matrix.shape}, the first one "
                f"{matrices[0].shape}: all must be two-dimensional and alike."
            )
    return np.moveaxis(np.stack(matrices), 0, -1)


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
        check_size(array.shape, array.itemsize, options.max_bytes, NO_COPY)
        array = kernels_first(X)
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
    return BuiltStack(stack, normalization, degenerate_kernels(stack))


def kernels_first(X: Array) -> Array:
    """Return a samples-first block as a new array of whole matrices, on all cores.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_fit_samples, n_kernels)
        The matrices.

    Returns
    -------
    array : ndarray of shape (n_kernels, n_samples, n_fit_samples)
        C-contiguous.
    """
    n_samples, n_cols, n_kernels = X.shape
    array = np.empty((n_kernels, n_samples, n_cols), X.dtype)

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
