"""Data with columns of strings, for estimators whose kernels take sequences."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from multikernel._typing import Array
from multikernel.estimators.data.finite import check_finite_table
from multikernel.kernels.columns import Features
from multikernel.kernels.sequence.tables import Layout


def read_mixed(
    estimator: BaseEstimator, owner: str, X: Any, *, reset: bool
) -> tuple[Array, Layout]:
    """Return strings and numbers as a table of numbers.

    Parameters
    ----------
    estimator : estimator
        Receives ``n_features_in_``, ``feature_names_in_`` and ``sequence_features_``,
        the columns of strings, or has them.
    owner : str
        What to call the estimator in a message.
    X : array-like or data frame of shape (n_samples, n_features), or sequence of str
        Numbers and strings; a list, array or series of strings is one column.
    reset : bool
        Whether this is the data of a fit.

    Returns
    -------
    table : ndarray of shape (n_samples, n_packed)
        What `Layout.packed` makes of it.
    layout : Layout
        Which columns hold strings.

    Raises
    ------
    ValueError
        If columns are missing, or of another kind than in the fit, or values are.
    """
    names: tuple[str, ...] | None = None
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        names = tuple(str(name) for name in X.columns)
        columns = [np.asarray(X[name]) for name in X.columns]
    else:
        X = _as_table(X)
        columns = list(X.T)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    if not columns or columns[0].shape[0] == 0:
        raise ValueError(f"Found array with 0 sample(s) while {owner} needs some.")
    strings = tuple(c for c, column in enumerate(columns) if _holds_strings(column))
    layout = Layout(Features(len(columns), names), strings)
    _check_kinds(estimator, layout, reset)
    numeric = layout.numeric
    numbers = np.empty((columns[0].shape[0], len(numeric)))
    for place, column in enumerate(numeric):
        numbers[:, place] = _numbers(columns[column], layout.label(column))
    if numeric:
        check_finite_table(numbers, [layout.name(c) for c in numeric])
    return layout.packed(numbers, [columns[c] for c in strings]), layout


def is_text(X: Any) -> bool:
    """Return whether an array-like of one axis begins with a string."""
    one_axis = isinstance(X, list | tuple) or getattr(X, "ndim", 2) == 1
    return one_axis and len(X) > 0 and isinstance(next(iter(X)), str | bytes)


def _as_table(X: Any) -> Any:
    """Return an array-like as an array of objects with two axes."""
    table = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2:
        raise ValueError(
            f"X must be a sequence of strings or a table, got {table.ndim} dimensions."
        )
    return table


def _holds_strings(column: Array) -> bool:
    """Return whether a column is one of strings."""
    if column.dtype.kind != "O":
        return column.dtype.kind in "UST"
    return any(isinstance(value, str | bytes) for value in column)


def _check_kinds(estimator: BaseEstimator, layout: Layout, reset: bool) -> None:
    """Raise unless there are sequences, in the columns where the fit had them."""
    if reset:
        if not layout.sequences:
            raise ValueError(
                "A kernel takes sequences, but X has no strings: give a list of "
                "strings, or a data frame with a column of them."
            )
        estimator.sequence_features_ = np.array(layout.sequences)
        return
    known: Sequence[int] = estimator.sequence_features_.tolist()
    for column in sorted({*known} ^ {*layout.sequences}):
        then, now = ("sequences", "none")
        if column not in known:
            then, now = ("numbers", "strings")
        raise ValueError(
            f"Column {layout.label(column)} held {then} in fit, and holds {now} now."
        )


def _numbers(column: Array, label: str) -> Array:
    """Return a column as floats."""
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"Column {label} holds neither numbers nor strings."
        ) from error
