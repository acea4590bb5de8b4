"""Features and targets from data files."""

import io
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from multikernel.cli._columns import (
    COLUMN,
    PLAIN,
    ColumnChoice,
    NamedColumns,
    parted,
    read_fasta_frames,
    say_ignored,
)
from multikernel.cli._doubts import caution_ids
from multikernel.cli._frames import (
    NUMBERS,
    check_reach,
    dropping,
    first_repeated,
    naming_damage,
    read_frame,
)
from multikernel.cli._targets import (
    date_names,
    read_offset,
    read_targets,
    refuse_odd_cells,
)
from multikernel.datasets.files import SUFFIXES as FASTA, check_columns
from multikernel.estimators import NamedGrams, stack_grams
from multikernel.estimators.read.kinds import (
    ADVICE,
    DATES,
    TEXTS,
    Sheet,
    default_texts,
    kinds_of,
    refuse_kinds,
)
from multikernel.kernels.sequence.tables import CATEGORIES, SEQUENCES

FORMATS = (".csv", ".parquet", ".npz")
READABLE = (*FORMATS, ".tsv", *FASTA)
STDIN = "standard input"
SHAPES = {"X": "(n_rows, n_features)", "K": "(n_kernels, n_rows, n_samples)"}
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


def read_table(
    path: Path, choice: ColumnChoice = PLAIN, others: Sequence[Path] = ()
) -> Table:
    """Read a CSV, TSV, Parquet, FASTA or npz file; ``-`` is CSV on standard input.

    An npz file is a `scipy.sparse.save_npz` file, or has the array ``X`` (and
    ``feature_names``) or ``K``, Gram matrices of shape (n_kernels, n_rows, n_samples).
    Sequences of FASTA files form one column. Columns that a saved model does not use
    are ignored with a note. `others` are further FASTA files, one per class.
    """
    source = None
    if str(path) == "-":
        if sys.stdin is None:
            raise ValueError("Standard input is closed: pass a file instead of -.")
        source, path = io.BytesIO(sys.stdin.buffer.read()), Path(STDIN)
    else:
        _require_readable(path, others)
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return _read_npz(path, choice)
    if suffix in FASTA:
        frame = read_fasta_frames([path, *others])
        letters = dict.fromkeys([*choice.sequences, COLUMN])
        choice = replace(choice, sequences=tuple(letters))
    else:
        frame = read_frame(path, source, choice)
    return _table_of(path, frame, choice)


def _table_of(path: Path, frame: pd.DataFrame, choice: ColumnChoice) -> Table:
    """Return the features, targets and other columns of a data frame."""
    columns = choice.named(frame.columns)
    check_columns(path, frame.columns, columns.lists)
    y = read_targets(path, columns.target, frame, len(frame), choice)
    groups = frame[choice.group].to_numpy() if choice.group else None
    offset = None if choice.offset is None else read_offset(path, frame, choice.offset)
    features, views = _features(path, frame, choice, columns)
    dates, free, strings, words = (
        [name for name in names if name in features]
        for names in (
            columns.dates,
            columns.unpenalized,
            columns.sequences,
            columns.categories,
        )
    )
    named, all_words = (*strings, *words, *dates), free if not views else [*features]
    texts = _texts_of(features, named, all_words, known=columns.is_known)
    strings, words, doubts = strings + texts[0], words + texts[1], texts[2]
    skip = (*strings, *words, *dates)
    X = features_of(path, features, skip, doubts, known=columns.is_known)
    # This type makes numeric columns categories for estimators.
    if words:
        X = X.astype(dict.fromkeys(words, "category"))
    if not columns.is_known:
        caution_ids(X, (*words, *free))
    return Table(
        X,
        y,
        tuple(strings),
        tuple(words),
        views,
        groups,
        offset,
        frame[list(columns.ids)] if columns.ids else None,
        {name: date_names(path, X[name], choice.periods) for name in dates},
        choice.periods,
        tuple(free),
    )


def _features(
    path: Path, frame: pd.DataFrame, choice: ColumnChoice, columns: NamedColumns
) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """Return the columns that are features, and the columns of each view."""
    ids = [name for name in columns.ids if name not in (choice.only or ())]
    aside = [*columns.drop, *columns.target, *columns.single, *ids]
    features = frame.drop(columns=list(dict.fromkeys(aside)))
    features = known_part(path, features, choice)
    free = columns.unpenalized
    views = choice.find([str(name) for name in features if name not in free])
    if views:
        in_views = [*chain.from_iterable(views.values()), *free]
        features = features[list(dict.fromkeys(in_views))]
    return features, views


def _texts_of(
    features: pd.DataFrame, taken: Sequence[str], words: Sequence[str], *, known: bool
) -> tuple[list[str], list[str], Mapping[str, str]]:
    """Return further sequence and category columns, and doubts about others."""
    kinds = zip(map(str, features), kinds_of(features), strict=True)
    texts = [name for name, kind in kinds if kind in TEXTS and name not in taken]
    names = [name for name in texts if name in words]
    texts = [name for name in texts if name not in words]
    if known:
        return [], names, {}
    sure, unsure = default_texts(Sheet(features[texts]))
    strings = [texts[at] for at, kind in sure.items() if kind == SEQUENCES]
    names += [texts[at] for at, kind in sure.items() if kind == CATEGORIES]
    return strings, names, {texts[at]: doubt for at, doubt in unsure.items()}


def as_times(table: Table, event: str | None) -> Table:
    """Return a table whose targets have the columns event and time."""
    if event is None:
        return table
    named = [name for name in table.y if name != event]
    if len(named) != 1:
        raise ValueError(
            f"--event {event} requires one --target, the event or censoring time; got "
            f"{', '.join(named)}."
        )
    times = pd.DataFrame({"event": table.y[event], "time": table.y[named[0]]})
    odd = times["event"][~times["event"].isin((0, 1))]
    if len(odd):
        raise ValueError(
            f"--event {event} must hold 1 (observed) or 0 (censored) in every row, but "
            f"it holds {odd.iloc[0]!r} at row {odd.index[0]}."
        )
    if not pd.api.types.is_numeric_dtype(times["time"]):
        raise ValueError(
            f"--target {named[0]} must hold times as numbers, but it holds "
            f"{times['time'].iloc[0]!r} at row 0."
        )
    return replace(table, y=times)


def known_part(
    path: Path, frame: pd.DataFrame, choice: ColumnChoice, *, tell: bool = True
) -> pd.DataFrame:
    """Return the columns of a saved model, and note ignored columns.

    Without a saved model, return all columns. Absent unused columns become zeros.
    """
    only = choice.only
    if only is None:
        return frame
    absent = [name for name in choice.unused if name not in frame]
    frame = frame.assign(**dict.fromkeys(absent, 0.0)) if absent else frame
    check_columns(path, frame.columns, list(only))
    others = [str(column) for column in frame if column not in set(only)]
    if tell:
        say_ignored("that the model does not use", others)
    return frame[list(only)]


def _require_readable(path: Path, others: Sequence[Path]) -> None:
    if path.suffix.lower() not in READABLE:
        raise ValueError(
            f"Cannot read {path}: the name must end in one of {', '.join(READABLE)}. "
            "Unpack compressed files, and save spreadsheets as CSV."
        )
    if others and not all(each.suffix.lower() in FASTA for each in (path, *others)):
        raise ValueError(
            "Several files are accepted only as FASTA files, one for each class."
        )


def _read_npz(path: Path, choice: ColumnChoice) -> Table:
    _refuse_column_options(path, choice)
    with naming_damage(path, "npz file of plain arrays"):
        archive = np.load(path, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise ValueError("it holds a single array without a name")
        with archive:
            arrays = {key: archive[key] for key in archive.files}
    target = parted(choice.target, arrays)
    check_columns(path, arrays, target)
    if {"data", "indices", "indptr", "shape"} <= arrays.keys():
        _refuse_unused(
            path, "a sparse table", choice.drop, choice.unpenalized, choice.offset
        )
        X = _sparse_table(path, arrays)
        return Table(X, read_targets(path, target, arrays, X.shape[0], choice))
    key = "K" if "K" in arrays else "X"
    check_columns(path, arrays, [key])
    array, shape = arrays[key], SHAPES[key]
    if array.ndim != shape.count(",") + 1:
        raise ValueError(f"{key} of {path} has shape {array.shape}, expected {shape}.")
    if array.dtype.kind not in NUMBERS:
        raise ValueError(f"{key} of {path} holds {array.dtype}, expected real numbers.")
    names, names_key = None, "kernel_names" if key == "K" else "feature_names"
    if names_key in arrays:
        n_names = array.shape[0 if key == "K" else 1]
        names = _checked_names(path, names_key, arrays[names_key], n_names)
    n_rows = array.shape[1 if key == "K" else 0]
    y = read_targets(path, target, arrays, n_rows, choice)
    offset = None
    if choice.offset is not None:
        check_columns(path, arrays, [choice.offset])
        column = pd.DataFrame({choice.offset: arrays[choice.offset]})
        offset = read_offset(path, column, choice.offset)
    if key == "K":
        _refuse_unused(path, "Gram matrices", choice.drop, choice.unpenalized)
        grams = stack_grams(array)
        named = NamedGrams(grams, tuple(names)) if names else grams
        return Table(named, y, offset=offset)
    names = names or [f"x{index}" for index in range(array.shape[1])]
    frame = pd.DataFrame(array, columns=names)
    drop, free = parted(choice.drop, names), parted(choice.unpenalized, names)
    check_columns(path, frame.columns, [*drop, *free])
    features = features_of(path, frame.drop(columns=drop))
    return Table(features, y, offset=offset, unpenalized=tuple(free))


def _refuse_unused(path: Path, content: str, *values: object) -> None:
    """Raise for options of single columns, which matrices do not have."""
    options = ("--drop", "--unpenalized", "--offset")
    used = [name for name, value in zip(options, values, strict=False) if value]
    if used:
        raise ValueError(
            f"{path} holds {content}, which do not support {', '.join(used)}: remove "
            "the option."
        )


def _refuse_column_options(path: Path, choice: ColumnChoice) -> None:
    """Raise for options that need a table with named columns of any kind."""
    options = {
        "--id": choice.ids,
        "--date": choice.dates,
        "--view": choice.views,
        "--category": choice.categories,
        "--sequence": choice.sequences,
        "--group": choice.group,
    }
    used = [option for option, value in options.items() if value]
    if used:
        raise ValueError(
            f"{path} is an npz file, which does not support {', '.join(used)}: write "
            "the table as CSV or Parquet, or remove the option."
        )


def _sparse_table(path: Path, arrays: Mapping[str, Any]) -> csr_array:
    """Return the CSR table of a `scipy.sparse.save_npz` file."""
    if arrays.get("format", np.array(b"csr")).item() != b"csr":
        raise ValueError(
            f"{path} holds a sparse table that is not in CSR format: save "
            "scipy.sparse.csr_array(X)."
        )
    parts = arrays["data"], arrays["indices"], arrays["indptr"]
    table = csr_array(parts, shape=tuple(arrays["shape"].tolist()))
    table.check_format()
    return table


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


def _checked_names(path: Path, key: str, given: Any, count: int) -> list[str]:
    """Return the names; raise unless there are `count` different names."""
    if given.shape != (count,):
        raise ValueError(f"{key} of {path} holds {given.size} names, expected {count}.")
    names = [str(name) for name in given]
    doubled = first_repeated(names)
    if doubled is not None:
        raise ValueError(
            f"{key} of {path} holds {doubled!r} more than once: names must differ."
        )
    return names
