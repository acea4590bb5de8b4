"""Tables of features, and checks of their columns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multikernel._typing import Array, Mask
from multikernel._validation import LARGEST_VALUE
from multikernel.cli._messages import note
from multikernel.cli._targets import (
    refuse_odd_cell,
    refuse_odd_cells,
    refuse_text,
)
from multikernel.estimators.read import kinds


@dataclass(frozen=True, eq=False)
class Table:
    """Features, and targets if the file has them."""

    # A data frame, or Gram matrices with samples on the first axis.
    X: Any
    # A vector, or a data frame if there are several targets.
    y: Any
    # Sequence and category columns of `X`.
    sequences: Sequence[str] = ()
    categories: Sequence[str] = ()
    # Columns of each view.
    views: Mapping[str, list[str]] = field(default_factory=dict)
    groups: NDArray[np.generic] | None = None
    # Offsets, which are added to the decision values.
    offset: Array | None = None
    ids: pd.DataFrame | None = None
    # Encoded columns of each date column.
    dates: Mapping[str, list[str]] = field(default_factory=dict)
    periods: tuple[str, ...] = ()
    unpenalized: Sequence[str] = ()
    # Classes of the only target, lowest first, if its column has ordered categories.
    order: Sequence[object] | None = None

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def numeric(self) -> list[str]:
        """The numeric columns, including encoded dates."""
        texts = {*self.sequences, *self.categories}
        return self.encoded([str(name) for name in self.X if name not in texts])

    def encoded(self, columns: Iterable[str]) -> list[str]:
        """Return column names with dates replaced by the columns that encode them."""
        return [name for column in columns for name in self.dates.get(column, [column])]

    @property
    def precomputed(self) -> bool:
        """Whether `X` contains Gram matrices."""
        return np.ndim(self.X) == 3


def text_columns(frame: pd.DataFrame, *, look: bool = True) -> list[str]:
    """Return the text and category columns; objects count as numbers if not `look`."""
    # Without `look`, columns of Python objects are not read.
    pairs = zip(map(str, frame.columns), kinds.kinds_of(frame, look=look), strict=True)
    return [name for name, kind in pairs if kind in kinds.TEXTS]


def numeric_features(
    path: Path,
    frame: pd.DataFrame,
    skip: Sequence[str] = (),
    doubts: Mapping[str, str] = {},
    *,
    from_model: bool = False,
) -> pd.DataFrame:
    """Return the features as float64; the columns in `skip` remain unchanged."""
    # Raise for text. `doubts` are reasons why the kind of a text column is uncertain;
    # `from_model` is True if a saved model determines the columns.
    if not len(frame):
        raise ValueError(f"{path} has no rows: pass a file with rows.")
    if frame.columns.empty:
        raise ValueError(
            f"{path} has no features, because every column is the target, is named by "
            "another option, or is ignored: ignore fewer columns, or add columns to "
            "the file."
        )
    kind_of = dict(zip(frame, kinds.kinds_of(frame), strict=True))
    # Date columns are not checked if --date names them.
    checked = {n: k for n, k in kind_of.items() if n not in skip or k != kinds.DATES}
    odd_kinds = [name for name, kind in checked.items() if kind in kinds.ADVICE]
    numeric_names = [name for name in kind_of if name not in skip]
    texts = [name for name in numeric_names if kind_of[name] in kinds.TEXTS]
    if from_model and (refused := [*odd_kinds, *texts]):
        for name in texts:
            subject = f"Column {name!r} of {path}"
            refuse_odd_cell(subject, frame[name])
            refuse_text(subject, frame[name])
        raise ValueError(
            f"{path} holds {kind_of[refused[0]]} in column {refused[0]!r}, which the "
            "model does not accept: convert the column to the type that it had in the "
            "training data."
        )
    dates = [name for name in odd_kinds if kind_of[name] == kinds.DATES]
    if dates:
        raise ValueError(
            f"Column {dates[0]!r} of {path} holds dates: use them with --date "
            f"'{dates[0]}', or ignore the column with --drop '{dates[0]}'."
        )
    kinds.refuse_kinds([*checked], checked.values(), str(path), drop_options(odd_kinds))
    if texts:
        refuse_odd_cells(frame[texts])
        content = doubts.get(str(texts[0]), kind_of[texts[0]])
        raise ValueError(
            f"{path} has non-numeric columns: {', '.join(map(str, texts))} ({texts[0]} "
            f"holds {content}). Copy a column of names of rows to predictions with "
            f"--id '{texts[0]}', name categories with --category and sequences with "
            f"--sequence, or ignore the columns{drop_options(texts)}."
        )
    # All columns are converted together, because pandas needs half a millisecond for
    # each conversion.
    numeric = frame[numeric_names]
    array = numeric.to_numpy(np.float64, na_value=np.nan)
    values = pd.DataFrame(array, numeric.index, numeric.columns, copy=False)
    check_limits(path, values)
    return pd.concat([values, frame.drop(columns=numeric_names)], axis=1)[list(frame)]


def refuse_empty(numeric: pd.DataFrame) -> None:
    """Raise if a column has no number."""
    # The conversion to an array makes Dask compute the counts.
    empty = [*numeric.columns[np.asarray(numeric.count()) == 0]]
    if empty:
        raise ValueError(
            f"The data has columns without any number: {', '.join(map(repr, empty))}. "
            f"Ignore these columns{drop_options(empty)}."
        )


def check_limits(path: Path, numeric: pd.DataFrame) -> None:
    """Raise for numbers too large to square, which scaling would turn into NaN."""
    values = numeric.to_numpy()
    is_too_large = np.abs(values) > LARGEST_VALUE  # False for NaN
    if is_too_large.any():
        column = int(np.argmax(is_too_large.any(axis=0)))
        row, name = int(np.argmax(is_too_large[:, column])), numeric.columns[column]
        raise ValueError(
            f"Column {name!r} of {path} holds {values[row, column]:g}, but absolute "
            f"values must be at most {LARGEST_VALUE:g}: correct the value, or remove "
            "the row."
        )


def drop_options(names: Iterable[object]) -> str:
    """Return the end of a sentence: " with " and a --drop option for each column."""
    return " with " + " ".join(f"--drop '{name}'" for name in names)


def note_ids(features: pd.DataFrame, no_ids: Sequence[str]) -> None:
    """Print a note about columns of increasing whole numbers, which may be row ids."""
    # `no_ids` are columns that cannot be row ids: categories and unpenalized columns.
    is_numeric = [kind.kind in "iuf" for kind in features.dtypes]
    head = features.loc[:, is_numeric].iloc[:10]
    if len(head) < 10:
        return  # a few values may increase by chance
    are_counts = _are_row_numbers(head.to_numpy(np.float64))
    ids = [
        name
        for name in head.columns[are_counts]
        if name not in no_ids and _are_row_numbers(features[[name]].to_numpy())[0]
    ]
    if ids:
        note(
            f"Column {ids[0]!r} holds increasing whole numbers, one per row. If they "
            f"only number the rows, use --id '{ids[0]}' to copy them to predictions, "
            f"or --drop '{ids[0]}' to ignore them.",
            ids,
        )


def _are_row_numbers(columns: Array) -> Mask:
    """Return a mask of columns of strictly increasing or decreasing whole numbers."""
    steps = np.sign(np.diff(columns, axis=0))
    in_order: Mask = (steps != 0).all(axis=0) & (steps == steps[0]).all(axis=0)
    are_whole: Mask = (columns == np.round(columns)).all(axis=0)
    return in_order & are_whole
