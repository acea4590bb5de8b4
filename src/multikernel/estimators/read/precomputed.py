"""Read precomputed Gram matrices: names, axes, checks, and the stack of a fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from multikernel._typing import Array
from multikernel._validation import (
    ASYMMETRY,
    LARGEST_VALUE,
    check_symmetric,
    listed,
    refuse_distances,
    shown,
)
from multikernel.estimators.read import numbers
from multikernel.exceptions import IndefiniteKernelError, warn_user
from multikernel.gram import BuiltStack, DenseStack
from multikernel.gram.checks import ROUNDING, take_census
from multikernel.gram.memory import check_size
from multikernel.gram.normalization import Steps, empty_normalization
from multikernel.gram.part import normalize_in_place
from multikernel.gram.steps import CosineStep
from multikernel.linalg import EPS, TINY
from multikernel.linalg.tables import equal_shares


@dataclass(frozen=True, eq=False, repr=False)
class NamedGrams:
    """Gram matrices with names, as returned by `stack_grams` for a mapping.

    scikit-learn slices them like any pairwise data and keeps the names, which become
    ``kernel_names_`` of a model. `array` has shape (n_samples, n_fit_samples,
    n_kernels). `names` are different texts, one per matrix. `labels` name the samples
    of the second axis; None if unknown. ``K[name]`` is one matrix, and
    ``numpy.asarray(K)`` is `array`.
    """

    array: Array
    names: tuple[str, ...]
    labels: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if np.ndim(self.array) != 3:
            raise ValueError(
                "Named Gram matrices must have shape (n_samples, n_fit_samples, "
                f"n_kernels), got shape {np.shape(self.array)}."
            )
        check_gram_names(self.names, self.array.shape[2])

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape (n_samples, n_fit_samples, n_kernels)."""
        return self.array.shape

    @property
    def ndim(self) -> int:
        """The number of axes, 3."""
        return self.array.ndim

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The type of the numbers."""
        return self.array.dtype

    def __len__(self) -> int:
        return len(self.array)

    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> Array:
        return np.array(self.array, dtype=dtype, copy=copy)

    def __getitem__(self, key: Any) -> Any:
        """Return a matrix by its name, or a slice; slices of samples keep the names."""
        if isinstance(key, str):
            if key not in self.names:
                raise KeyError(
                    f"There is no Gram matrix {key!r}: use one of the names "
                    f"{listed(self.names)}."
                )
            return self.array[:, :, self.names.index(key)]
        part = self.array[key]
        axes = list(key) if isinstance(key, tuple) else [key]
        if axes and axes[-1] is Ellipsis:
            axes.pop()
        is_stack = len(axes) <= 2 and not any(a is None or a is ... for a in axes)
        # An integer index removes an axis of samples.
        if not is_stack or part.ndim != 3:
            return part
        labels = self.labels
        if labels is not None and len(axes) == 2:
            labels = tuple(np.array(labels)[axes[1]].ravel().tolist())
        return NamedGrams(part, self.names, labels)

    def __repr__(self) -> str:
        return f"Gram matrices {self.shape}: {', '.join(map(repr, self.names))}"


class MatrixError(ValueError):
    """An error about an invalid precomputed matrix, with its number as `kernel`."""

    def __init__(self, message: str, kernel: int | None) -> None:
        super().__init__(message)
        self.kernel = kernel


KernelError = TypeVar("KernelError", bound=IndefiniteKernelError | MatrixError)


@contextmanager
def prefix_matrix_names(names: Sequence[str] | None) -> Iterator[None]:
    """Prefix errors about precomputed matrices with the names of the matrices."""
    try:
        yield
    except (IndefiniteKernelError, MatrixError) as error:
        if names is None or error.kernel is None:
            raise
        raise by_name(error, names[error.kernel]) from error


def by_name(error: KernelError, name: str) -> KernelError:
    """Return the error, prefixed with its kernel's name unless it has this prefix."""
    prefix = f"{name}: "
    return type(error)(prefix + str(error).removeprefix(prefix), error.kernel)


def check_gram_names(names: tuple[str, ...], n_kernels: int) -> None:
    """Raise unless there is one name per matrix and the names are different texts."""
    bad = [name for name in names if not isinstance(name, str)]
    if bad:
        raise ValueError(f"Names of Gram matrices must be text, got {shown(bad[0])}.")
    if len(names) != n_kernels:
        raise ValueError(
            f"names has length {len(names)}, but the number of Gram matrices is "
            f"{n_kernels}: pass one name for each matrix."
        )
    same = [name for index, name in enumerate(names) if name in names[:index]]
    if same:
        raise ValueError(f"Two Gram matrices have the name {same[0]!r}: rename one.")


def names_of_grams(X: object) -> tuple[str, ...] | None:
    """Return the names of Gram matrices; None if they have no names."""
    return X.names if isinstance(X, NamedGrams) else None


def labels_of_grams(X: object) -> tuple[str, ...] | None:
    """Return the column labels of Gram matrices; None if they have no labels."""
    return X.labels if isinstance(X, NamedGrams) else None


def check_same_samples(owner: str, X: object, labels: tuple[str, ...] | None) -> None:
    """Raise if the columns of matrices have other labels than the fit's samples."""
    columns = labels_of_grams(X)
    if columns is None or labels is None or columns == labels:
        return
    number = next(i for i, label in enumerate(labels) if columns[i] != label)
    raise ValueError(
        f"Column {number} of the Gram matrices has the label {columns[number]!r}, but "
        f"training sample {number} of {owner} has the label {labels[number]!r}: "
        "the columns of each matrix must be the training samples in the order of fit. "
        "Reorder each matrix K by K.loc[:, labels] with the labels of these samples."
    )


def check_same_grams(
    owner: str, X: object, fitted_names: tuple[str, ...] | None
) -> None:
    """Raise if names of X differ from the fit's; warn if only one of them has names."""
    names = names_of_grams(X)
    if names == fitted_names:
        return
    if names is None:
        warn_user(
            f"X has no names of Gram matrices, but {owner} was fitted with the names "
            f"{listed(fitted_names or ())}: matrices are matched by position. Pass "
            "stack_grams of a mapping with these names.",
            UserWarning,
        )
        return
    if fitted_names is None:
        warn_user(
            f"X has names of Gram matrices, but {owner} was fitted without names: "
            "matrices are matched by position. Check their order.",
            UserWarning,
        )
        return
    raise ValueError(
        f"X holds the Gram matrices {listed(names)}, but {owner} was fitted on "
        f"{listed(fitted_names)}: pass the matrices of the fit in the same order, for "
        "example stack_grams({name: grams[name] for name in names}) with the names of "
        "the fit."
    )


def stack_grams(
    grams: Mapping[str, ArrayLike] | Sequence[ArrayLike] | NDArray[np.generic],
) -> Any:
    """Return Gram matrices as one X for ``kernels="precomputed"``.

    Samples are the first axis, so that scikit-learn slices X like any pairwise data.

    Parameters
    ----------
    grams : ndarray of shape (n_kernels, n_samples, n_fit_samples), sequence or mapping
        The Gram matrices, (n_samples, n_fit_samples) each: square for a fit; for a
        prediction, with a row for each new sample and a column for each sample of the
        fit. Keys of a mapping become ``kernel_names_``; a prediction needs the same.

    Returns
    -------
    X : ndarray of shape (n_samples, n_fit_samples, n_kernels), or NamedGrams
        NamedGrams for a mapping. If its matrices are data frames with text as column
        labels, `predict` requires the labels of the fit in the same order. X is a view
        of an array, and a copy of a sequence or mapping. `fit` copies X unless
        `normalize` only scales kernels.

    Raises
    ------
    ValueError
        If there is no matrix, if shapes differ, if a name is not text, or if data
        frames have the same labels in different orders.

    See Also
    --------
    multikernel.kernels.Grams : Matrices of all samples, beside kernels on columns.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import stack_grams
    >>> stack_grams([np.eye(4), np.ones((4, 4))]).shape
    (4, 4, 2)
    >>> stack_grams({"tanimoto": np.eye(4), "pathways": np.ones((4, 4))}).names
    ('tanimoto', 'pathways')
    """
    if isinstance(grams, Mapping):
        array = stack_grams(list(grams.values()))
        return NamedGrams(array, tuple(grams), _column_labels(grams.values()))
    if isinstance(grams, np.ndarray) and grams.ndim == 3:
        return np.moveaxis(grams, 0, -1)
    return np.moveaxis(np.stack(_as_matrices(grams)), 0, -1)


def _column_labels(grams: Iterable[Any]) -> tuple[str, ...] | None:
    """Return the column labels of data frames; None unless all frames have the same."""
    # The result is also None if labels are not text, or no matrix is a data frame.
    columns = [tuple(gram.columns) for gram in grams if hasattr(gram, "iloc")]
    is_text = columns and all(isinstance(label, str) for label in columns[0])
    return columns[0] if is_text and len({*columns}) == 1 else None


def _as_matrices(grams: object) -> list[Array]:
    """Return the matrices as arrays of one shape."""
    if not isinstance(grams, Iterable) or isinstance(grams, str):
        raise ValueError(
            "Gram matrices must be an array of three axes, or a sequence or mapping of "
            f"matrices, got {shown(grams)}."
        )
    grams = list(grams)
    if not grams:
        raise ValueError("stack_grams requires at least one Gram matrix, got none.")
    _check_labels(grams)
    names = [f"Gram matrix {index}" for index in range(len(grams))]
    opened = [numbers.open_data(*pair) for pair in zip(grams, names, strict=True)]
    matrices = [np.asarray(gram) for gram in opened]
    for index, matrix in enumerate(matrices):
        if issparse(opened[index]):
            raise ValueError(f"{names[index]} is sparse: convert it with toarray().")
        if matrix.ndim != 2:
            raise ValueError(
                f"Gram matrix {index} must be two-dimensional, got shape "
                f"{matrix.shape}: pass a list of matrices, [K] for a single matrix K."
            )
        if matrix.shape != matrices[0].shape:
            raise ValueError(
                f"Gram matrix {index} has shape {matrix.shape}, but Gram matrix 0 has "
                f"shape {matrices[0].shape}: pass matrices of the same shape."
            )
    return matrices


def _check_labels(grams: Sequence[Any]) -> None:
    """Raise if data frames have the same row or column labels in different orders."""
    # Data frames of polars have no labels of rows.
    frames = {m: gram for m, gram in enumerate(grams) if hasattr(gram, "iloc")}
    first_frame: Any = next(iter(frames.values()), None)
    differs = "in another order than the first data frame"
    for m, frame in frames.items():
        for labels, expected, problem in (
            (frame.columns, frame.index, "columns in another order than its rows"),
            (frame.index, first_frame.index, f"rows {differs}"),
            (frame.columns, first_frame.columns, f"columns {differs}"),
        ):
            same_labels = len(labels) == len(expected) and labels.isin(expected).all()
            if same_labels and not labels.equals(expected):
                raise ValueError(
                    f"Gram matrix {m} has {problem}. Samples are matched by position, "
                    "so all matrices must have the same labels in the same order: "
                    "reorder each matrix K by K.loc[rows, columns], with the same "
                    "lists of labels for all matrices."
                )


def read_grams(
    estimator: BaseEstimator, owner: str, X: object, *, reset: bool
) -> Array:
    """Return Gram matrices, (n_samples, n_fit_samples, n_kernels), without a copy."""
    # In a fit (`reset`), store the number of samples; otherwise also check the values.
    kinds = [np.float64, np.float32]
    settings = {"ensure_2d": False, "allow_nd": True, "dtype": kinds, "reset": reset}
    array = numbers.open_data(X.array if isinstance(X, NamedGrams) else X, "X")
    grams: Array = np.asarray(numbers.read_array(estimator, owner, array, **settings))
    square = not reset or grams.shape[:1] == grams.shape[1:2]
    if grams.ndim != 3 or not square:
        raise ValueError(
            'With kernels="precomputed", X must have three dimensions, (n_samples, '
            "n_fit_samples, n_kernels), and in a fit the matrices must be square; got "
            f"shape {grams.shape}. Make X from a list of Gram matrices with "
            "stack_grams."
        )
    if not grams.shape[2]:
        raise ValueError(
            "X has no Gram matrix, because its last axis is empty: pass at least one "
            "Gram matrix."
        )
    # `precomputed_stack` checks the values of a fit.
    if reset:
        estimator.n_features_in_ = grams.shape[1]
        return grams
    with prefix_matrix_names(names_of_grams(X)):
        check_finite_grams(grams)
    return grams


def check_finite_grams(X: Array) -> None:
    """Raise for a nonfinite or too large value; kernels are the last axis of X."""
    if numbers.is_bounded(X):
        return
    kernel = next(m for m in range(X.shape[2]) if not numbers.is_bounded(X[:, :, m]))
    try:
        numbers.check_limits(
            "X",
            X[:, :, kernel],
            lambda index: f"[{index[0]}, {index[1]}] of Gram matrix {kernel}",
            "Divide this matrix, and those of new samples, by the same constant.",
        )
    except ValueError as error:
        raise MatrixError(str(error), kernel) from None


def check_diagonals(stack: DenseStack) -> None:
    """Raise if a matrix has a clearly negative diagonal entry, or too small a trace."""
    diagonals = stack.diagonals()
    traces = np.abs(diagonals).sum(axis=1)
    # If the trace is smaller, entries may be subnormal numbers, with fewer digits.
    tiny = np.flatnonzero((traces > 0.0) & (traces < TINY / EPS))
    if tiny.size:
        raise MatrixError(
            f"Gram matrix {tiny[0]} has a trace of {traces[tiny[0]]:.3g}, which is too "
            "small for float64: multiply this matrix, and its rows for new samples, by "
            "the same large constant.",
            int(tiny[0]),
        )
    tolerance = ROUNDING * traces
    shifted = diagonals + tolerance[:, None]
    m, i = np.unravel_index(int(np.argmin(shifted)), shifted.shape)
    if shifted[m, i] < 0.0:
        refuse_distances(stack.array[m], f"Gram matrix {m}", int(m))
        raise IndefiniteKernelError(
            f"Gram matrix {m} is not positive semidefinite: its value at [{i}, {i}] "
            f"is {diagonals[m, i]:.6g}, but diagonal entries must not be negative. "
            "Check how the matrix was computed, or remove the matrix.",
            kernel=int(m),
        )


def check_symmetry(stack: DenseStack, asymmetry: Array) -> None:
    """Raise if a matrix is not symmetric, and show the two entries that differ most."""
    # `asymmetry`, (n_kernels,), comes from `take_census`.
    traces = np.abs(stack.diagonals()).sum(axis=1)
    is_asymmetric = np.abs(asymmetry) > ASYMMETRY * np.maximum(traces, TINY)
    for kernel in np.flatnonzero(is_asymmetric).tolist():
        try:
            check_symmetric(stack.array[kernel], f"Gram matrix {kernel}", kernel)
        except IndefiniteKernelError:
            raise
        except ValueError as error:
            raise MatrixError(str(error), kernel) from None


NO_COPY = (
    "stack_grams with normalize='trace', 'variance' or None, which need no copy, "
    "matrices in single precision,"
)
"""How to avoid a copy of precomputed matrices that does not fit into memory."""


def precomputed_stack(
    X: Array,
    sample_weight: Array | None,
    normalize: Steps,
    max_bytes: int | None = None,
) -> BuiltStack:
    """Return the normalized stack of the Gram matrices in `X`, (n, n, n_kernels)."""
    array = np.moveaxis(X, -1, 0)
    n_kernels, n_samples, _ = array.shape
    normalization = empty_normalization(normalize, n_kernels, n_samples, sample_weight)
    if any(isinstance(step, CosineStep) for step in normalization.steps):
        raise ValueError(
            "normalize='cosine' requires k(x, x) of new samples, which precomputed "
            "kernels do not have. Remove 'cosine' from normalize, and divide each "
            "k(x, z) by sqrt(k(x, x) * k(z, z)) before fit and predict. If one matrix "
            "contains all samples, you can pass it as a view instead, with "
            "kernels.Grams."
        )
    # The stack is a view of X if kernels are only scaled and X has the layout of
    # `stack_grams`.
    if not (normalization.only_scales and array.flags.c_contiguous):
        check_size(array.shape, array.itemsize, max_bytes, NO_COPY)
        array = np.empty(array.shape, array.dtype)
        for i in range(n_samples):  # five times as fast as copying `np.moveaxis`
            array[:, i] = X[i].T
    raw_stack = DenseStack(array)
    # Random vectors test the symmetry of matrices.
    shares, random = equal_shares(n_samples, sample_weight), np.random.RandomState(0)
    census = take_census(raw_stack, shares, random)
    # Sums with random factors are hardly ever a thousand times smaller than an entry.
    if not (census.largest <= 1e-3 * LARGEST_VALUE).all():
        check_finite_grams(X)
    check_diagonals(raw_stack)
    check_symmetry(raw_stack, census.asymmetry)
    if normalization.only_scales:
        stack = normalization.learn_scales(raw_stack, census.forms)
    else:
        normalize_in_place(array, normalization)
        stack = DenseStack(array)
    return BuiltStack(stack, normalization, stack.zero_kernels())
