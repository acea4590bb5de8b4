"""Tables with text as tables of numbers: sequences, and categories by their numbers."""

from collections.abc import Collection, Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from multikernel._typing import Array
from multikernel.estimators.read.kinds import (
    TEXTS,
    column_values,
    features_of,
    is_missing,
    kinds_of,
    names_of,
    numbers_of,
    refuse_kinds,
    table_of,
)
from multikernel.kernels.sequence.tables import Layout

UNKNOWN = -1.0
"""Stands for a category that was not met in the fit."""


def read_mixed(
    estimator: BaseEstimator,
    owner: str,
    X: Any,
    categories: Collection[int] | None,
    samples: Mapping[int, Array] | None = None,
) -> tuple[Array, Layout]:
    """Return text and numbers as a table of numbers, and which columns hold what.

    The table is what `Layout.packed` makes of them, not checked for missing values. In
    a fit `categories` are the columns of categories, by position, and all other columns
    of text are sequences: the `estimator` gets number and names of the columns, places
    of sequences and of categories, and the categories; these are there already of
    columns that name `samples`. Without it has them, and columns of another kind are
    refused.
    """
    samples = {} if samples is None else samples
    names = names_of(X)
    X = table_of(X) if names is None else X
    columns = list(X.T) if names is None else [X[name] for name in names]
    fitting = categories is not None
    validate_data(estimator, X, reset=fitting, skip_check_array=True)
    if not columns or not len(X):
        raise ValueError(f"Found array with 0 sample(s) while {owner} needs some.")
    asked_for = tuple(sorted(categories or ()))
    if not fitting:
        asked_for = known(estimator, "category_features_")
    kinds = kinds_of(X)
    refuse_kinds(names or range(len(columns)), kinds)
    texts = (number for number, kind in enumerate(kinds) if kind in TEXTS)
    layout = Layout(
        features_of(X), tuple(c for c in texts if c not in asked_for), asked_for
    )
    strings = layout.sequences
    if fitting:
        if strings:
            estimator.sequence_features_ = np.array(strings, dtype=np.intp)
        if asked_for:
            estimator.category_features_ = np.array(asked_for, dtype=np.intp)
            estimator.categories_ = [
                _found_categories(column_values(columns[c]), layout.label(c))
                if c not in samples
                else samples[c]
                for c in asked_for
            ]
    else:
        _check_kinds(known(estimator, "sequence_features_"), layout)
    numeric = layout.numeric
    numbers = np.empty((len(X), len(numeric)))
    for number, column in enumerate(numeric):
        if column in asked_for:
            values = estimator.categories_[asked_for.index(column)]
            entries = column_values(columns[column])
            numbers[:, number] = _codes(entries, values, layout.label(column))
        else:
            numbers[:, number] = numbers_of(columns[column], layout.label(column))
    return layout.packed(numbers, [column_values(columns[c]) for c in strings]), layout


def known(estimator: BaseEstimator, name: str) -> tuple[int, ...]:
    """Return the columns of a kind that an estimator was fitted on."""
    return tuple(int(column) for column in vars(estimator).get(name, ()))


def _check_kinds(known: Sequence[int], layout: Layout) -> None:
    """Raise unless sequences are in the columns where the fit had them."""
    for column in sorted({*known} ^ {*layout.sequences}):
        then, now = ("sequences", "none")
        if column not in known:
            then, now = ("numbers", "strings")
        raise ValueError(
            f"Column {layout.label(column)} held {then} in fit, and holds {now} now."
        )


def _found_categories(column: Array, label: str) -> Array:
    """Return the different values of a column, in their order."""
    values = {value for value in _category_values(column) if not is_missing(value)}
    texts = {isinstance(value, str) for value in values}
    if len(texts) != 1:
        content = "nothing" if not values else "text and numbers"
        raise ValueError(f"Column {label} of categories holds {content}.")
    try:
        ordered = sorted(values)
    except TypeError as error:
        raise ValueError(
            f"Column {label} of categories holds values that cannot be sorted "
            f"({error}): convert them to text."
        ) from error
    if all(isinstance(value, str | bytes | Number) for value in ordered):
        return np.array(ordered)
    return np.fromiter(ordered, dtype=object, count=len(ordered))  # tuples stay tuples


def _category_values(column: Array) -> list[Any]:
    """Return the values of a column; dates are the same in every unit of time."""
    if column.dtype.kind in "mM":
        column = column.astype(f"{column.dtype.kind}8[us]")
    return list(column.tolist())


def _codes(column: Array, values: Array, label: str) -> Array:
    """Return the places of a column's values among the categories."""
    places = {value: float(number) for number, value in enumerate(values.tolist())}
    values_of_column = _category_values(column)
    text = values.dtype.kind == "U"
    if any(
        isinstance(v, str) is not text for v in values_of_column if not is_missing(v)
    ):
        # The text '1' is no number, and all would be new categories.
        then, now = ("text", "numbers") if text else ("numbers", "text")
        raise ValueError(
            f"Column {label} holds {now}, and its categories in fit, or the names of "
            f"samples in Grams, are {then}."
        )
    return np.array(
        [np.nan if is_missing(v) else places.get(v, UNKNOWN) for v in values_of_column]
    )
