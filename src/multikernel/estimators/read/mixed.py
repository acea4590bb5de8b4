"""Tables with columns of text: sequences, or categories with their numbers."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from multikernel._typing import Array
from multikernel.estimators.read.kinds import (
    TEXT,
    column_values,
    is_frame,
    is_missing,
    kinds_of,
    names_of,
    numbers_of,
    refuse_kinds,
)
from multikernel.estimators.read.numbers import is_text
from multikernel.kernels.columns import Features
from multikernel.kernels.sequence.builders import LEAST_LETTERS, why_no_sequences
from multikernel.kernels.sequence.letters import from_texts
from multikernel.kernels.sequence.tables import CATEGORIES, SEQUENCES, Layout

UNKNOWN = -1.0
"""Stands for a category that was not met in the fit."""

TEXTS = (TEXT, CATEGORIES)
"""What columns hold that kernels may take for sequences or categories."""


def text_columns(X: Any) -> tuple[int, ...]:
    """Return the columns of text, or of pandas categories, by position.

    A list, array or series of strings is one column.
    """
    if not is_frame(X):
        if is_text(X):
            return (0,)
        array = X if isinstance(X, np.ndarray) else None
        if array is None or array.dtype.kind not in "OUS" or array.ndim != 2:
            return ()
    return tuple(column for column, kind in enumerate(kinds_of(X)) if kind in TEXTS)


def default_texts(X: Any) -> tuple[dict[int, str], dict[int, str]]:
    """Return what ``kernels=None`` takes columns of text for.

    For columns, by position, "sequences" or "categories", the latter in data frames
    only, as arrays of text hold numbers as well; and for all other columns of text why
    neither is sure.
    """
    texts, names = text_columns(X), names_of(X)
    table = _as_table(X) if texts and names is None else X
    kind_of_column = dict(enumerate(kinds_of(table))) if texts else {}
    kinds, doubts = {}, {}
    for text_column in texts:
        column = table[:, text_column] if names is None else X[names[text_column]]
        if kind_of_column[text_column] == CATEGORIES:
            kinds[text_column] = CATEGORIES
            continue
        values = column_values(column).tolist()
        no_sequences = _why_no_sequences(values)
        no_categories = "X is an array" if names is None else _why_no_categories(values)
        if no_sequences is None:
            kinds[text_column] = SEQUENCES
        elif no_categories is None:
            kinds[text_column] = CATEGORIES
        else:
            doubts[text_column] = (
                f"no sequences, as {no_sequences}, and no categories, as "
                f"{no_categories}"
            )
    return kinds, doubts


def settled_texts(X: Any) -> dict[int, str]:
    """Return what ``kernels=None`` takes columns of text for, all of them.

    It is nothing for an array without sequences. A column that surely holds neither
    sequences nor categories is refused.
    """
    kinds, doubts = default_texts(X)
    if not doubts or not (kinds or is_frame(X)):
        return kinds
    column, doubt = next(iter(doubts.items()))
    name = (names_of(X) or range(column + 1))[column]
    raise ValueError(
        "kernels=None takes text for sequences or for categories only where it is "
        f"sure; column {name!r} holds for sure {doubt}. Name its kernels: a "
        "CategoryKernel, or views, which compare text as categories, kernels of "
        f"multikernel.kernels.sequence, each as ColumnKernel(kernel, {name!r}); or "
        "leave it out."
    )


def _why_no_sequences(values: list[Any]) -> str | None:
    """Return why a column of text is not surely one of sequences, or None."""
    if not all(isinstance(value, str | bytes) for value in values):
        return "some values are no text"
    try:
        return why_no_sequences(from_texts(values))
    except ValueError:  # letters beyond Latin-1
        return "not all letters are capitals of DNA, RNA or proteins"


def _why_no_categories(values: list[Any]) -> str | None:
    """Return why a column of text is not surely one of categories, or None."""
    values = [value for value in values if not is_missing(value)]
    if not all(isinstance(value, str) for value in values):
        return "some values are no text"
    different = set(values)
    if 2 * len(different) > len(values):
        return "more than half of the values differ"
    if all(len(v) >= LEAST_LETTERS and len(v.split()) == 1 for v in different):
        return "all values are as long as sequences"
    quantity = next(filter(_reads_as_quantity, sorted(different)), None)
    if quantity is not None:
        return f"{quantity!r} reads as a number or a date"
    return None


def _reads_as_quantity(text: str) -> bool:
    """Return whether a text can be read as a number, or as a date (ISO 8601).

    A comma may be the decimal point. Digits without a letter are taken for a quantity
    as well: 31/01/2024, 1,000,000 and 50 %.
    """
    for read in (float, datetime.fromisoformat):
        try:
            read(text.replace(",", "."))
        except ValueError:
            continue
        # These are words for what is not there.
        return text.strip().lower() not in ("nan", "inf", "infinity")
    return any(map(str.isdigit, text)) and not any(map(str.isalpha, text))


def features_of(X: Any, names: Sequence[object] | None = None) -> Features:
    """Return the columns of data with their names, where it has them or they come."""
    if names is not None:
        return Features(len(names), tuple(str(name) for name in names))
    if (column_names := names_of(X)) is not None:
        return Features(len(column_names), tuple(map(str, column_names)))
    shape = np.shape(X)
    return Features(int(shape[1]) if len(shape) > 1 else 1)


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
    X = _as_table(X) if names is None else X
    columns = list(X.T) if names is None else [X[name] for name in names]
    fitting = categories is not None
    validate_data(estimator, X, reset=fitting, skip_check_array=True)
    if not columns or not len(X):
        raise ValueError(f"Found array with 0 sample(s) while {owner} needs some.")
    asked_for = (
        tuple(sorted(categories))
        if categories is not None
        else known(estimator, "category_features_")
    )
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
    values = {value for value in column.tolist() if not is_missing(value)}
    texts = {isinstance(value, str) for value in values}
    if len(texts) != 1:
        content = "nothing" if not values else "text and numbers"
        raise ValueError(f"Column {label} of categories holds {content}.")
    return np.array(sorted(values))


def _codes(column: Array, values: Array, label: str) -> Array:
    """Return the places of a column's values among the categories."""
    places = {value: float(number) for number, value in enumerate(values.tolist())}
    values_of_column = column.tolist()
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
