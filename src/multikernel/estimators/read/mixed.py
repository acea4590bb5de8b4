"""Encode tables with text as numbers: sequences and codes of categories."""

from collections.abc import Collection, Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from multikernel._typing import Array
from multikernel.estimators.read.kinds import (
    ADVICE,
    OTHER,
    TEXT,
    Sheet,
    column_kind,
    has_large_floats,
    is_missing,
    reads_as_quantity,
    refuse_kinds,
)
from multikernel.estimators.read.targets import read_quantity
from multikernel.kernels.sequence.tables import NUMBERS, Layout

UNKNOWN = -1.0
"""Code of a category not seen in fit."""


def read_mixed(
    estimator: BaseEstimator,
    owner: str,
    sheet: Sheet,
    categories: Collection[int] | None = None,
    sample_names: Mapping[int, Array] | None = None,
) -> tuple[Array, Layout]:
    """Return a table of numbers from a frame with text, and its columns' layout."""
    # In a fit, `categories` are the positions of category columns; other text columns
    # are sequences. `sample_names` contains the sample names of `Grams`, by the
    # position of their column. The fit stores columns and categories on the
    # `estimator`, and a prediction compares new data with them. Missing values are not
    # checked.
    fitting, known = categories is not None, sample_names or {}
    validate_data(estimator, sheet.table, reset=fitting, skip_check_array=True)
    n_rows, n_columns = len(sheet.table), sheet.features.number
    if not n_rows:
        raise ValueError(
            f"Found array with 0 sample(s), but {owner} requires at least one: pass a "
            "table with rows."
        )
    refuse_kinds(sheet.names or range(n_columns), sheet.kinds)
    category_columns = fitted_columns(estimator, "category_features_")
    if categories is not None:
        category_columns = tuple(sorted(categories))
    sequence_columns = tuple(c for c in sheet.texts if c not in category_columns)
    layout = Layout(sheet.features, sequence_columns, category_columns)
    if not fitting:
        _check_sequence_columns(fitted_columns(estimator, "sequence_features_"), layout)
    elif sequence_columns:
        estimator.sequence_features_ = np.array(sequence_columns, dtype=np.intp)
    if fitting and category_columns:
        estimator.category_features_ = np.array(category_columns, dtype=np.intp)
        estimator.categories_ = [
            # If a column holds the sample names of a view of `Grams`, its categories
            # are all sample names of the view's Gram matrix.
            known[c] if c in known else _sorted_values(sheet.values(c), layout.label(c))
            for c in category_columns
        ]
    table = np.empty((n_rows, len(layout.numeric)))
    for index, column in enumerate(layout.numeric):
        values, label = sheet.values(column), layout.label(column)
        if column in category_columns:
            levels = estimator.categories_[category_columns.index(column)]
            # In a fit, only sample names of `Grams` can differ in type from the column.
            source = "the sample names of its Gram matrices" if fitting else "fit"
            table[:, index] = _category_codes(values, levels, label, source)
        else:
            table[:, index] = read_quantity(values, f"Column {label}")
    return layout.packed(table, [sheet.values(c) for c in sequence_columns]), layout


def fitted_columns(estimator: BaseEstimator, name: str) -> tuple[int, ...]:
    """Return the columns of one kind, stored on a fitted estimator as `name`."""
    return tuple(int(column) for column in vars(estimator).get(name, ()))


def _check_sequence_columns(fitted: Sequence[int], layout: Layout) -> None:
    """Raise unless the columns of sequences are the same as in fit."""
    for column in sorted({*fitted} ^ {*layout.sequences}):
        kind_in_fit, kind_now = ("text", "no text")
        if column not in fitted:
            kind_in_fit, kind_now = ("numbers", "text")
        raise ValueError(
            f"Column {layout.label(column)} holds {kind_now}, but held {kind_in_fit} "
            f"in fit: convert the column to {kind_in_fit}."
        )


def _sorted_values(column: Array, label: str) -> Array:
    """Return the sorted unique values of a column; raise if they cannot be sorted."""
    values = {
        value for value in _category_values(column, label) if not is_missing(value)
    }
    if not values:
        raise ValueError(
            f"Column {label} is read as categories, but holds no values: remove the "
            "column."
        )
    try:
        ordered = sorted(values)
    except TypeError as error:
        raise ValueError(
            f"Column {label} is read as categories, but holds values that cannot be "
            f"sorted ({error}): convert them to text."
        ) from error
    if all(isinstance(value, str | bytes | Number) for value in ordered):
        levels = np.array(ordered)
        pairs = zip(ordered, levels.tolist(), strict=True)
        changed = next((pair for pair in pairs if pair[0] != pair[1]), None)
        if changed is None:
            return levels
        raise ValueError(
            f"Column {label} is read as categories, but NumPy stores {changed[0]!r} as "
            f"{changed[1]!r}: convert large integers to text, or remove NUL "
            "characters at the end of text."
        )
    # `np.array` would make a second axis of tuples.
    return np.fromiter(ordered, dtype=object, count=len(ordered))


def _category_values(column: Array, label: str) -> list[Any]:
    """Return the values of a column as a list; dates get one unit, to be comparable."""
    if has_large_floats(column):
        raise ValueError(
            f"Column {label} is read as categories, but holds "
            f"{column[np.nanargmax(np.abs(column))]}. Floating-point categories must "
            "be finite and below 2**53: convert integers to text before they become "
            "floats."
        )
    if column.dtype.kind in "mM":
        column = column.astype(f"{column.dtype.kind}8[us]")
    return list(column.tolist())


def _type_word(value: object) -> str:
    """Return "text", "bytes" or "numbers", the type by which categories differ."""
    if isinstance(value, str):
        return "text"
    return "bytes" if isinstance(value, bytes) else "numbers"


def _kind_word(value: object) -> str:
    """Return the kind of a category in messages, such as "dates" or "truth values"."""
    if isinstance(value, bool):
        return "truth values"
    kind = column_kind(np.array([value], dtype=object))
    return _type_word(value) if kind in (NUMBERS, TEXT, OTHER) else kind


def _category_codes(column: Array, levels: Array, label: str, source: str) -> Array:
    """Return each value's index in `levels`; -1 for other values, nan if missing."""
    # `source` names the origin of the levels in the error message.
    codes_by_value = {value: float(code) for code, value in enumerate(levels.tolist())}
    values = _category_values(column, label)
    is_gap = [is_missing(value) for value in values]
    required = _type_word(levels.tolist()[0])
    wrong = [
        (row, value)
        for row, value in enumerate(values)
        if not is_gap[row] and _type_word(value) != required
    ]
    # Text '1' differs from the number 1, so every value would be unseen. One word in a
    # file makes a column of numbers text: the message names this word.
    texts = {str(level).lower() for level in levels.tolist()}
    words = [
        (row, value)
        for row, value in wrong
        if isinstance(value, str)
        and not (reads_as_quantity(value) or value.lower() in texts)
    ]
    # In a prediction, a word in a column of numbers is a category not seen in fit.
    accepts_words = required == "numbers" and source == "fit"
    if len(words) < len(wrong) or (words and not accepts_words):
        row, value = (words or wrong)[0]
        expected = _kind_word(levels.tolist()[0])
        # Plain columns of these kinds are refused.
        how = " as pandas categories" if expected in ADVICE else ""
        raise ValueError(
            f"Column {label} holds {_kind_word(value)}, but must hold "
            f"{expected}, as in {source}: convert the column to {expected}"
            f"{how}, or correct {value!r} at row {row}."
        )
    codes = np.array([codes_by_value.get(value, UNKNOWN) for value in values])
    codes[is_gap] = np.nan
    return codes
