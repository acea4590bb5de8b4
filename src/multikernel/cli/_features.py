"""Tables of features, with the targets and other columns of a file."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from multikernel.cli._frames import check_reach, dropping
from multikernel.cli._targets import refuse_odd_cells
from multikernel.estimators.read.kinds import (
    ADVICE,
    DATES,
    TEXTS,
    kinds_of,
    refuse_kinds,
)

EMPTY: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class Table:
    """Features, and targets if the file has them.

    Parameters
    ----------
    X : DataFrame or ndarray of shape (n_samples, n_samples, n_kernels)
        Features, or Gram matrices with samples first.
    y : ndarray of shape (n_samples,), DataFrame or None
        Targets; a data frame if there are several.
    sequences : tuple of str
        Sequence columns of `X`.
    categories : tuple of str
        Category columns of `X`.
    views : mapping from str to list of str
        Columns of each view.
    groups : ndarray of shape (n_samples,) or None
        Groups of the samples.
    offset : ndarray of shape (n_samples,) or None
        Known parts of the decision values.
    ids : DataFrame or None
        Id columns of the file.
    dates : mapping from str to list of str
        Encoded columns of each date column.
    periods : tuple of str
        Periods of all dates.
    unpenalized : tuple of str
        Columns without a penalty.
    """

    X: Any
    y: Any
    sequences: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    views: Mapping[str, list[str]] = field(default_factory=dict)
    groups: Any = None
    offset: Any = None
    ids: Any = None
    dates: Mapping[str, list[str]] = field(default_factory=dict)
    periods: tuple[str, ...] = ()
    unpenalized: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.X.shape[0])

    @property
    def numbers(self) -> list[str]:
        """Return the numeric columns, including encoded dates."""
        texts = {*self.sequences, *self.categories}
        return self.encoded([str(name) for name in self.X if name not in texts])

    def encoded(self, columns: Iterable[str]) -> list[str]:
        """Return the columns after the encoding of dates."""
        return [name for each in columns for name in self.dates.get(each, [each])]

    @property
    def precomputed(self) -> bool:
        """Return whether `X` holds Gram matrices."""
        return np.ndim(self.X) == 3


def features_of(
    path: Path,
    frame: pd.DataFrame,
    sequences: Sequence[str] = (),
    doubts: Mapping[str, str] = EMPTY,
    *,
    known: bool = False,
) -> pd.DataFrame:
    """Return the features as numbers, except text columns.

    `doubts` are reasons why the kind of a text column is uncertain; `known` is True if
    a saved model determines the columns.
    """
    if not len(frame):
        raise ValueError(f"{path} has no rows.")
    if frame.columns.empty:
        raise ValueError(f"{path} has no features: options use or ignore every column.")
    pairs = [*zip(frame, kinds_of(frame), strict=True)]
    # Columns of --date are in `sequences` but have the kind of dates.
    checked = [p for p in pairs if p[0] not in sequences or p[1] != DATES]
    out = dropping([name for name, kind in checked if kind in ADVICE])
    names, kinds = [name for name, _ in checked], [kind for _, kind in checked]
    refuse_kinds(names, kinds, str(path), out)
    pairs = [pair for pair in pairs if pair[0] not in sequences]
    wrong = [name for name, kind in pairs if kind in TEXTS]
    if wrong:
        refuse_odd_cells(frame[wrong], known=known)
        if known:
            raise ValueError(
                f"{path} holds text in {', '.join(map(str, wrong))}, but the model was "
                "fitted on numbers in these columns: convert the text to numbers."
            )
        _refuse_texts(path, frame, wrong, doubts)
    return _with_numbers(path, frame, [name for name, _ in pairs])


def _refuse_texts(
    path: Path, frame: pd.DataFrame, wrong: Sequence[Any], doubts: Mapping[str, str]
) -> None:
    """Raise for columns of text that are neither categories nor sequences."""
    first = doubts.get(str(wrong[0]))
    why = "" if first is None else f" ({wrong[0]} holds {first})"
    unique = [n for n in wrong if 10 * frame[n].nunique() > 9 * frame[n].count()]
    others = [name for name in wrong if name not in unique]
    advice = "Ignore them"
    if doubts:
        advice = "Name sequences with --sequence, or ignore the columns"
    if doubts and others:
        advice = (
            f"Use them as categories with --category '{others[0]}', as sequences with "
            "--sequence, or ignore them"
        )
    if unique:
        why += (
            f". {unique[0]} has a different value in almost every row, so it is no "
            "category"
        )
    raise ValueError(
        f"{path} has non-numeric columns: {', '.join(map(str, wrong))}{why}. "
        f"{advice}{dropping(wrong)}."
    )


def _with_numbers(
    path: Path, frame: pd.DataFrame, numbers: Sequence[Any]
) -> pd.DataFrame:
    """Return a table with numeric columns as float64; raise for values out of range."""
    # pandas needs half a millisecond per column, so convert all together.
    numeric = frame if len(numbers) == frame.shape[1] else frame[list(numbers)]
    array = numeric.to_numpy(np.float64, na_value=np.nan)
    values = pd.DataFrame(array, numeric.index, numeric.columns, copy=False)
    check_reach(path, values)
    if numeric is frame:
        return values
    return pd.concat([values, frame.drop(columns=list(numbers))], axis=1)[list(frame)]
