"""Precomputed Gram matrices of samples that a column of X names."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import (
    ASYMMETRY,
    check_places,
    check_symmetric,
    listed,
    refuse_distances,
    shown,
)
from multikernel.exceptions import IndefiniteKernelError

OWNER = "The matrix of Grams"
"""Subject of error messages."""


@dataclass(frozen=True, eq=False, repr=False)
class Grams:
    """A precomputed Gram matrix, to be combined with kernels on columns of X.

    A column of X names the sample of each row, so folds, pipelines and searches can
    split and reorder rows. Clones share the matrix. `multikernel.with_samples` adds
    rows of new samples to a fitted model. If all kernels are precomputed, use
    `multikernel.stack_grams`.

    Parameters
    ----------
    K : array-like of shape (n_known, n_columns), or data frame
        Kernel values: one row per sample, including samples to predict, and one column
        for each of the first n_columns samples, which include all training samples.
        A data frame has sample names as index and, in any order, as columns.
    samples : str or int
        Column of X with the sample names.
    names : sequence of str or of numbers, default=None
        Names of the rows of an array. Default: 0, 1, 2, ...

    Raises
    ------
    ValueError
        If the matrix is not symmetric, finite, real and dense, or the names are not
        unique, not one per row, or not all text or all numbers below 2**53.
    multikernel.exceptions.IndefiniteKernelError
        If a diagonal entry is negative. Estimators check the eigenvalues in `fit`.

    Examples
    --------
    >>> from multikernel.kernels import GaussianKernel, Grams
    >>> drugs = Grams([[2.0, 1.0], [1.0, 2.0]], "drug", names=["aspirin", "ibuprofen"])
    >>> drugs
    Grams(2 x 2, 'drug')
    >>> kernels = {"tanimoto": drugs, "assay": (["pH", "dose"], GaussianKernel.grid(3))}
    """

    K: Any  # converted to an array
    samples: str | int
    names: Any = None  # converted to an array

    def __post_init__(self) -> None:
        is_frame = hasattr(self.K, "index") and hasattr(self.K, "columns")
        if is_frame and self.names is not None:
            raise ValueError(
                "Grams: K is a data frame, whose index contains the names of samples: "
                "do not pass names."
            )
        matrix = as_numbers(self.K)
        if matrix.ndim != 2 or not 0 < matrix.shape[1] <= matrix.shape[0]:
            raise ValueError(
                f"{OWNER} must be two-dimensional, with at least one column and no "
                f"more columns than rows, got shape {matrix.shape}: pass one row per "
                "sample and one column per training sample."
            )
        row_names = range(len(matrix)) if self.names is None else self.names
        names = validate_names(self.K.index if is_frame else row_names, len(matrix))
        check_finite(matrix)
        owner = OWNER
        if is_frame:
            order = _columns_first(names, self.K.columns)
            if not np.array_equal(order, np.arange(order.size)):
                matrix, names = matrix[order], names[order]
                owner = f"{OWNER} (its rows in the order of its columns)"
        check_symmetric(matrix[: matrix.shape[1]], owner)
        diagonal = matrix.diagonal()
        lowest = int(np.argmin(diagonal))
        if diagonal[lowest] < -ASYMMETRY * np.abs(diagonal).sum():
            refuse_distances(matrix[: matrix.shape[1]], owner)
            raise IndefiniteKernelError(
                f"{owner} is not positive semidefinite: its value at [{lowest}, "
                f"{lowest}] is {diagonal[lowest]:.6g}, but the diagonal of a kernel "
                "is never negative: correct the matrix."
            )
        object.__setattr__(self, "K", matrix)
        object.__setattr__(self, "names", names)

    def __repr__(self) -> str:
        return f"Grams({self.K.shape[0]} x {self.K.shape[1]}, {self.samples!r})"

    def __sklearn_clone__(self) -> Self:
        """Return the object itself: clones share the matrix."""
        return self

    def __deepcopy__(self, memo: object) -> Self:
        """Return the object itself: deep copies share the matrix."""
        return self

    def kernel(self, view: str, order: Array) -> "SampleKernel":
        """Return a kernel on sample numbers; number i means the name ``order[i]``."""
        # `view` is the name of the view in the kernel's error messages.
        rows = {name: row for row, name in enumerate(self.names.tolist())}
        row_indices = np.array([rows.get(name, -1) for name in order.tolist()])
        return SampleKernel(self.K, row_indices.astype(np.intp), view)


@dataclass(frozen=True, eq=False, repr=False)
class SampleKernel:
    """A Gram matrix as a kernel on one column of sample numbers."""

    K: Array  # (n_known, n_columns); the columns are the samples of the first rows
    places: Indices  # row of K for each sample number, -1 if K has no such row
    view: str  # name of the view in messages

    name = "gram"

    def __post_init__(self) -> None:
        if np.ndim(self.K) != 2 or np.ndim(self.places) != 1:
            raise ValueError(
                f"Grams {self.view!r}: K must be two-dimensional and places "
                f"one-dimensional, got {np.ndim(self.K)} and {np.ndim(self.places)} "
                "dimensions."
            )
        present = self.places[self.places != -1]
        check_places(f"Grams {self.view!r}", "places", present, len(self.K))

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the kernel values between the samples whose numbers are in X and Y."""
        # X and Y have one column. Without Y, both sets of samples are those of X.
        rows = self._rows(X)
        cols = rows if Y is None else self._rows(Y)
        n_columns = self.K.shape[1]
        if cols.max(initial=0) < n_columns:
            values = self.K[np.ix_(rows, cols)]
        elif rows.max(initial=0) < n_columns:
            values = self.K[np.ix_(cols, rows)].T
        else:
            values = np.full((rows.size, cols.size), np.nan)
        if np.isfinite(values.sum()) or np.isfinite(values).all():
            return values
        # The matrix passed to `fit` has no missing values, but rows that `with_samples`
        # added may have some. If all `cols` (or all `rows`) are among the samples that
        # have a column of K, the row of a new sample lacks a value in such a column.
        for samples, axis in ((cols, 0), (rows, 1)):
            if samples.max(initial=0) < n_columns:
                column = samples[int(np.argmin(np.isfinite(values).all(axis=axis)))]
                raise ValueError(
                    f"Grams {self.view!r}: the rows of new samples have no value in "
                    f"column {column} (counted from 0) of the matrix passed to fit. "
                    "Pass rows with this column to multikernel.with_samples."
                )
        raise ValueError(
            f"Grams {self.view!r} has no kernel values between new samples, because "
            "their rows contain the values with training samples only. To compare new "
            "samples with each other, fit with a matrix of all samples."
        )

    def diag(self, X: Array) -> Array:
        """Return k(x, x), shape (n_samples,); NaN if the matrix lacks the value."""
        rows, diagonal = self._rows(X), np.full(len(self.K), np.nan)
        diagonal[: self.K.shape[1]] = self.K.diagonal()
        return diagonal[rows]

    def rows_of(self, sample_numbers: Array) -> Indices:
        """Return the row of K for each sample number, shape (n_samples,)."""
        # Samples that have no row of K get -1.
        codes = np.where(np.isnan(sample_numbers), -1.0, sample_numbers).astype(np.intp)
        is_known = (codes >= 0) & (codes < self.places.size)
        return np.where(is_known, self.places[np.where(is_known, codes, 0)], -1)

    def _rows(self, X: Array) -> Indices:
        """Return the matrix row of each sample; raise if a sample has no row."""
        rows = self.rows_of(X[:, 0])
        n_missing = np.count_nonzero(rows < 0)
        if n_missing:
            raise ValueError(
                f"Grams {self.view!r} has no row for {n_missing} of {rows.size} "
                "samples: add their rows with multikernel.with_samples."
            )
        return rows

    def with_rows(self, values: Array, new_places: Indices) -> Self:
        """Return a copy with `values` as additional last rows of the matrix K."""
        # `new_places` replaces the field `places` and includes the new samples.
        return type(self)(np.vstack([self.K, values]), new_places, self.view)

    def __deepcopy__(self, memo: Mapping[int, Any]) -> "SampleKernel":
        """Return ``memo[CHANGE](self)``, or this object if the memo has no `CHANGE`."""
        # Copies of models share the matrix.
        change: Callable[[SampleKernel], SampleKernel] | None = memo.get(CHANGE)
        return self if change is None else change(self)


# To replace each `SampleKernel` in a model, pass ``{CHANGE: function}`` as the memo of
# `copy.deepcopy`. The other keys of a memo are ids of objects, which are never -1.
CHANGE = -1
"""Key in the memo of `copy.deepcopy` for a function that replaces `SampleKernel`s."""


def collect_names(
    grams: Mapping[int, Sequence[Grams]], label: Callable[[int], str]
) -> dict[int, Array]:
    """Return the distinct sample names of the matrices in `grams`, by column of X."""
    names: dict[int, Array] = {}
    for column, matrices in grams.items():
        dtype_kinds = {gram.names.dtype.kind == "U" for gram in matrices}
        if len(dtype_kinds) > 1:
            raise ValueError(
                f"Column {label(column)} holds the sample names of several Gram "
                "matrices, but the names are text in some matrices and numbers in "
                "others: use text in all matrices, or numbers in all."
            )
        lists = [gram.names.tolist() for gram in matrices]
        names[column] = np.array(list(dict.fromkeys(n for row in lists for n in row)))
    return names


def as_numbers(values: object) -> Array:
    """Return a matrix as floats; raise if it is sparse, complex or not numeric."""
    if hasattr(values, "toarray"):
        raise ValueError(f"{OWNER} is sparse: pass a dense matrix, K.toarray().")
    if np.ma.is_masked(values):
        raise ValueError(f"{OWNER} has masked values: fill them or remove the samples.")
    array = np.asarray(values)
    if np.iscomplexobj(array):
        raise ValueError(f"{OWNER} has complex values: a Gram matrix must be real.")
    try:
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{OWNER} contains values that are not numbers ({error}): convert them to "
            "numbers, or remove the samples."
        ) from error


def check_finite(values: Array) -> None:
    """Raise for the first entry that is not finite."""
    if np.isfinite(values.sum()) or np.isfinite(values).all():
        return
    i, j = np.argwhere(~np.isfinite(values))[0]
    raise ValueError(
        f"{OWNER} is {values[i, j]} at [{i}, {j}], expected a finite number: impute "
        "it, or remove the sample."
    )


def validate_names(row_names: object, n_rows: int) -> Array:
    """Return sample names; raise unless unique, and all text or all numbers."""
    if isinstance(row_names, str) or not isinstance(row_names, Iterable):
        raise ValueError(
            "The names of samples must be a sequence with one name per row, got "
            f"{shown(row_names)}."
        )
    names = list(row_names)
    if len(names) != n_rows:
        raise ValueError(
            f"{OWNER} has {n_rows} rows, but there are {len(names)} names: pass one "
            "name per row."
        )
    array = np.array(names)
    are_text = {isinstance(name, str) for name in names}
    if len(are_text) > 1 or array.ndim != 1 or array.dtype.kind not in "Uiuf":
        raise ValueError(
            "The names of samples must be all text or all numbers, got "
            f"{shown(names)}: convert them to text, for example with str."
        )
    invalid = [] if array.dtype.kind == "U" else array[~(np.abs(array) < 2.0**53)]
    if len(invalid):
        raise ValueError(
            "Numeric names of samples must be finite, with absolute values below "
            f"2**53, got {invalid[0]}: use text instead, such as str(name)."
        )
    if array.tolist() != names:
        changed = next(name for name in names if name[-1:] == "\0")
        raise ValueError(
            f"The name of a sample is {changed!r}, but NumPy removes NUL characters at "
            "the end of text: rename this sample."
        )
    _check_unique(array, "row")
    return array


def _check_unique(names: Array, axis: str) -> None:
    """Raise if names of rows or columns are repeated; `axis` is "row" or "column"."""
    distinct, counts = np.unique(names, return_counts=True)
    if distinct.size < names.size:
        repeated = distinct[counts > 1].tolist()
        raise ValueError(
            f"The names of the {axis}s of Grams must be unique, but several {axis}s "
            f"are named {listed(repeated)}: pass one {axis} per sample."
        )


def _columns_first(names: Array, columns: Iterable[object]) -> Indices:
    """Return an order of the rows: those named in `columns`, then the other rows."""
    rows = {name: row for row, name in enumerate(names.tolist())}
    column_names = list(columns)
    missing = [name for name in column_names if name not in rows]
    if missing:
        raise ValueError(
            f"{OWNER} has columns for samples without a row: {listed(missing)}. Use "
            "names of samples as index and columns, and add the missing rows."
        )
    order = np.array([rows[name] for name in column_names], dtype=np.intp)
    _check_unique(names[order], "column")
    return np.concatenate([order, np.setdiff1d(np.arange(names.size), order)])
