"""Encode tables with text as numbers: sequences and codes of categories."""

from collections.abc import Collection, Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from multikernel._typing import Array
from multikernel.estimators.read.kinds import (
    TEXTS,
    Sheet,
    is_missing,
    refuse_kinds,
)
from multikernel.estimators.read.targets import read_quantity
from multikernel.kernels.sequence.tables import Layout

UNKNOWN = -1.0
"""Code of a category not seen in fit."""


def read_mixed(
    estimator: Any,
    owner: str,
    sheet: Sheet,
    categories: Collection[int] | None = None,
    samples: Mapping[int, Array] | None = None,
) -> tuple[Array, Layout]:
    """Return text and numbers as a table of numbers, and the layout of its columns."""
    # In a fit, `categories` are the positions of category columns; other text columns
    # are sequences. The fit stores columns and categories on the `estimator`; a
    # prediction compares new data with them. Missing values are not checked.
    fitting, known = categories is not None, samples or {}
    validate_data(estimator, sheet.table, reset=fitting, skip_check_array=True)
    n_rows, n_columns = len(sheet.table), sheet.features.number
    if not n_rows:
        raise ValueError(
            f"Found array with 0 sample(s) while {owner} requires at least one."
        )
    refuse_kinds(sheet.names or range(n_columns), sheet.kinds)
    coded = fitted_columns(estimator, "category_features_")
    if categories is not None:
        coded = tuple(sorted(categories))
    texts = (number for number, kind in enumerate(sheet.kinds) if kind in TEXTS)
    strings = tuple(c for c in texts if c not in coded)
    layout = Layout(sheet.features, strings, coded)
    if not fitting:
        _check_kinds(fitted_columns(estimator, "sequence_features_"), layout)
    elif strings:
        estimator.sequence_features_ = np.array(strings, dtype=np.intp)
    if fitting and coded:
        estimator.category_features_ = np.array(coded, dtype=np.intp)
        estimator.categories_ = [
            # `samples` contains the known categories of some columns.
            known[c] if c in known else _categories_of(sheet.values(c), layout.label(c))
            for c in coded
        ]
    numbers = np.empty((n_rows, len(layout.numeric)))
    for number, column in enumerate(layout.numeric):
        values, label = sheet.values(column), layout.label(column)
        if column in coded:
            levels = estimator.categories_[coded.index(column)]
            numbers[:, number] = _codes(values, levels, label)
        else:
            numbers[:, number] = read_quantity(values, f"Column {label}")
    return layout.packed(numbers, [sheet.values(c) for c in strings]), layout


def fitted_columns(estimator: BaseEstimator, name: str) -> tuple[int, ...]:
    """Return the columns of one kind, stored on a fitted estimator as `name`."""
    return tuple(int(column) for column in vars(estimator).get(name, ()))


def _check_kinds(fitted: Sequence[int], layout: Layout) -> None:
    """Raise unless the columns of sequences are the same as in fit."""
    for column in sorted({*fitted} ^ {*layout.sequences}):
        then, now = ("sequences", "other values")
        if column not in fitted:
            then, now = ("numbers", "strings")
        raise ValueError(
            f"Column {layout.label(column)} holds {now}, but held {then} in fit: "
            "convert the column."
        )


def _categories_of(column: Array, label: str) -> Array:
    """Return the sorted unique values of a column."""
    values = {value for value in _category_values(column) if not is_missing(value)}
    problem = ""
    if not values:
        problem = "no values: remove the column"
    elif len({isinstance(value, str) for value in values}) > 1:
        problem = "text and numbers: convert all values to text"
    try:
        ordered = sorted(() if problem else values)
    except TypeError as error:
        problem = f"values that cannot be sorted ({error}): convert them to text"
    if problem:
        raise ValueError(f"Column {label} of categories holds {problem}.")
    if all(isinstance(value, str | bytes | Number) for value in ordered):
        return np.array(ordered)
    # `np.array` would make a second axis of tuples.
    return np.fromiter(ordered, dtype=object, count=len(ordered))


def _category_values(column: Array) -> list[Any]:
    """Return the values of a column; equal dates in different units are equal."""
    if column.dtype.kind in "mM":
        column = column.astype(f"{column.dtype.kind}8[us]")
    return list(column.tolist())


def _codes(column: Array, levels: Array, label: str) -> Array:
    """Return the category code of each value of a column."""
    code = {value: float(number) for number, value in enumerate(levels.tolist())}
    values, is_text = _category_values(column), levels.dtype.kind == "U"
    gaps = [is_missing(value) for value in values]
    pairs = zip(values, gaps, strict=True)
    if any(not gap and isinstance(value, str) is not is_text for value, gap in pairs):
        # Text '1' differs from the number 1, so every value would be unseen.
        then, now = ("text", "numbers") if is_text else ("numbers", "text")
        raise ValueError(
            f"Column {label} holds {now}, but its categories in fit, or the sample "
            f"names of Grams, are {then}: convert the column."
        )
    codes = np.array([code.get(value, UNKNOWN) for value in values])
    codes[gaps] = np.nan
    return codes
