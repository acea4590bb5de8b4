"""Reading data files into features and targets, and writing predictions."""

import io
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from multikernel._validation import LARGEST_VALUE
from multikernel.cli._columns import (
    COLUMN,
    PLAIN,
    ColumnChoice,
    parted,
    read_fasta_frames,
    say_ignored,
)
from multikernel.cli._doubts import caution_ids, find_wanted
from multikernel.cli._frames import NUMBERS, first_repeated, naming_damage, read_frame
from multikernel.cli._outputs import ending
from multikernel.cli._targets import read_targets, refuse_odd_cells
from multikernel.datasets.files import SUFFIXES as FASTA, check_columns
from multikernel.estimators import NamedGrams, stack_grams
from multikernel.estimators.read.kinds import (
    ADVICE,
    TEXTS,
    Sheet,
    default_texts,
    kinds_of,
    refuse_kinds,
)
from multikernel.kernels.sequence.tables import CATEGORIES, SEQUENCES
from multikernel.persistence.places import Place, filled, written

FORMATS = (".csv", ".parquet", ".npz")
READABLE = (*FORMATS, ".tsv", *FASTA)
STDIN = "standard input"
SHAPES = {"X": "(n_rows, n_features)", "K": "(n_kernels, n_rows, n_samples)"}
EMPTY: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class Table:
    """Features and, where the file has them, targets.

    Parameters
    ----------
    X : DataFrame or ndarray of shape (n_samples, n_samples, n_kernels)
        The features as a data frame, or precomputed Gram matrices, samples first.
    y : ndarray of shape (n_samples,), DataFrame or None
        The targets; several as a data frame with their names.
    sequences : tuple of str
        Columns of `X` that hold sequences.
    categories : tuple of str
        Columns of `X` that hold categories.
    views : mapping from str to list of str
        The columns of each view, where there are any.
    groups : ndarray of shape (n_samples,) or None
        The groups of the samples.
    """

    X: Any
    y: Any
    sequences: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    views: Mapping[str, list[str]] = field(default_factory=dict)
    groups: Any = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.X)

    @property
    def numbers(self) -> list[str]:
        """Return the columns of numbers."""
        texts = {*self.sequences, *self.categories}
        return [str(name) for name in self.X if name not in texts]

    @property
    def precomputed(self) -> bool:
        """Return whether `X` holds Gram matrices."""
        return np.ndim(self.X) == 3


def read_table(
    path: Path,
    target: list[str],
    drop: list[str],
    choice: ColumnChoice = PLAIN,
    only: Sequence[str] | None = None,
    others: Sequence[Path] = (),
) -> Table:
    """Read a CSV, TSV, Parquet, FASTA or npz file; refuse what is not whole.

    In an npz file ``X`` holds the features (and ``feature_names`` their names) or ``K``
    the Gram matrices, of shape (n_kernels, n_rows, n_samples). The letters of a FASTA
    file are always a column of sequences; columns of text in a view are categories,
    other text is what estimators take it for. `only` are the features where they are
    known: others are left out, with a note. `others` are the FASTA files of other
    classes. The path ``-`` is CSV on standard input.
    """
    source = None
    if str(path) == "-":
        if sys.stdin is None:
            raise ValueError("Standard input is closed: pass a file instead of -.")
        source, path = io.BytesIO(sys.stdin.buffer.read()), Path(STDIN)
    else:
        _require_readable(path, others)
    suffix, letters = path.suffix.lower(), []
    if suffix == ".npz":
        return _read_npz(path, target, drop, choice)
    if suffix in FASTA:
        frame = read_fasta_frames([path, *others])
        letters = [COLUMN] if COLUMN not in choice.sequences else []
    else:
        plan = partial(find_wanted, drop=drop, target=target, choice=choice, only=only)
        frame = read_frame(path, source, plan)
    drop, target, sequences, categories = (
        parted(given, frame.columns)
        for given in (drop, target, [*choice.sequences, *letters], choice.categories)
    )
    group = [choice.group] if choice.group else []
    named = [*drop, *target, *group]
    check_columns(path, frame.columns, [*sequences, *categories, *named])
    y = read_targets(path, target, frame, len(frame), choice)
    groups = frame[choice.group].to_numpy() if choice.group else None
    features = frame.drop(columns=list(dict.fromkeys(named)))
    features = known_part(path, features, only)
    views = choice.find([str(name) for name in features])
    if views:
        features = features[list(dict.fromkeys(chain.from_iterable(views.values())))]
    strings = [name for name in sequences if name in features]
    words = [name for name in categories if name in features]
    kinds = dict(zip(map(str, features), kinds_of(features), strict=True))
    texts = [name for name, kind in kinds.items() if kind in TEXTS]
    texts = [name for name in texts if name not in (*strings, *words)]
    doubts: Mapping[str, str] = {}
    if views:
        words += texts
    elif only is None:
        sure, unsure = default_texts(Sheet(features[texts]))
        strings += [texts[at] for at, kind in sure.items() if kind == SEQUENCES]
        words += [texts[at] for at, kind in sure.items() if kind == CATEGORIES]
        doubts = {texts[at]: doubt for at, doubt in unsure.items()}
    X = features_of(path, features, (*strings, *words), doubts, known=only is not None)
    # The type by which estimators know categories, numbers among them.
    if words:
        X = X.astype(dict.fromkeys(words, "category"))
    if only is None:
        caution_ids(X, (*strings, *words))
    return Table(X, y, tuple(strings), tuple(words), views, groups)


def as_times(table: Table, event: str | None) -> Table:
    """Return a table whose targets have the names by which times are known."""
    if event is None:
        return table
    named = [name for name in table.y if name != event]
    if len(named) != 1:
        raise ValueError(
            f"--event {event} requires one --target, the event or censoring time; got "
            f"{', '.join(named)}."
        )
    times = pd.DataFrame({"event": table.y[event], "time": table.y[named[0]]})
    return replace(table, y=times)


def known_part(
    path: Path, frame: pd.DataFrame, only: Sequence[str] | None, *, tell: bool = True
) -> pd.DataFrame:
    """Return the columns that a model takes, all for None, and note the others."""
    if only is None:
        return frame
    check_columns(path, frame.columns, list(only))
    others = [str(column) for column in frame if column not in set(only)]
    if tell:
        say_ignored("that the model does not use", others)
    return frame[list(only)]


def _require_readable(path: Path, others: Sequence[Path]) -> None:
    if path.suffix.lower() not in READABLE:
        raise ValueError(
            f"Cannot read {path}: the name must end in one of {', '.join(READABLE)}."
        )
    if others and not all(each.suffix.lower() in FASTA for each in (path, *others)):
        raise ValueError(
            "Several files are accepted only as FASTA files, one for each class."
        )


def _read_npz(
    path: Path, target: list[str], drop: list[str], choice: ColumnChoice
) -> Table:
    with naming_damage(path, "npz file of plain arrays"):
        archive = np.load(path, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise ValueError("it holds a single array without a name")
        with archive:
            arrays = {key: archive[key] for key in archive.files}
    target = parted(target, arrays)
    check_columns(path, arrays, target)
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
    if key == "K":
        grams = stack_grams(array)
        return Table(NamedGrams(grams, tuple(names)) if names else grams, y)
    names = names or [f"x{index}" for index in range(array.shape[1])]
    frame = pd.DataFrame(array, columns=names)
    drop = parted(drop, names)
    check_columns(path, frame.columns, drop)
    return Table(features_of(path, frame.drop(columns=drop)), y)


def features_of(
    path: Path,
    frame: pd.DataFrame,
    sequences: Sequence[str] = (),
    doubts: Mapping[str, str] = EMPTY,
    *,
    known: bool = False,
) -> pd.DataFrame:
    """Return the features as numbers, apart from columns of text.

    `doubts` are reasons why the kind of a text column is uncertain; `known` is True if
    a model determines the columns.
    """
    if not len(frame):
        raise ValueError(f"{path} has no rows.")
    if frame.columns.empty:
        raise ValueError(f"{path} has no features: options use or ignore every column.")
    kinds = kinds_of(frame)
    out = _dropping([n for n, k in zip(frame, kinds, strict=True) if k in ADVICE])
    refuse_kinds(list(frame), kinds, str(path), out)
    pairs = [p for p in zip(frame, kinds, strict=True) if p[0] not in sequences]
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
        f"{advice}{_dropping(wrong)}."
    )


def _with_numbers(
    path: Path, frame: pd.DataFrame, numbers: Sequence[Any]
) -> pd.DataFrame:
    """Return a table with some columns as float64, refusing numbers out of reach.

    All are changed together: pandas takes half a millisecond for a single column.
    """
    numeric = frame if len(numbers) == frame.shape[1] else frame[list(numbers)]
    array = numeric.to_numpy(np.float64, na_value=np.nan)
    values = pd.DataFrame(array, numeric.index, numeric.columns, copy=False)
    check_reach(path, values)
    if numeric is frame:
        return values
    return pd.concat([values, frame.drop(columns=list(numbers))], axis=1)[list(frame)]


def refuse_empty(numbers: pd.DataFrame, counts: Any) -> None:
    """Raise for a column without a number, from the count of each column's numbers."""
    empty = [*numbers.columns[counts == 0]]
    if empty:
        raise ValueError(
            f"Columns contain no number: {', '.join(map(repr, empty))}. Ignore empty "
            f"columns{_dropping(empty)}."
        )


def check_reach(path: Path, numbers: pd.DataFrame) -> None:
    """Raise for a number that is too large to be squared, or infinite.

    Standardising a column would make all of it missing values.
    """
    values = numbers.to_numpy()
    beyond = np.abs(values) > LARGEST_VALUE  # not so where there is no value
    if beyond.any():
        column = int(np.argmax(beyond.any(axis=0)))
        row = int(np.argmax(beyond[:, column]))
        raise ValueError(
            f"Column {numbers.columns[column]!r} of {path} holds "
            f"{values[row, column]:g}, but the largest supported value is "
            f"{LARGEST_VALUE:g}: correct it, change the unit, or ignore the column "
            "with --drop."
        )


def _dropping(names: Iterable[Any]) -> str:
    """Return how columns are left out on the command line."""
    return " with " + " ".join(f"--drop '{name}'" for name in names)


def _checked_names(path: Path, key: str, given: Any, count: int) -> list[str]:
    """Return the names if there is one for each, all different."""
    if given.shape != (count,):
        raise ValueError(f"{key} of {path} holds {given.size} names, expected {count}.")
    names = [str(name) for name in given]
    doubled = first_repeated(names)
    if doubled is not None:
        raise ValueError(
            f"{key} of {path} holds {doubled!r} more than once: names must differ."
        )
    return names


Write = Callable[[pd.DataFrame], None]
"""Writes rows below the rows before."""


@contextmanager
def table_writer(place: Place, formats: Sequence[str]) -> Iterator[Write]:
    """Yield a function that appends the rows of a data frame to a file.

    Standard output gets CSV. An npz file takes one data frame.
    """
    headers = chain([True], repeat(False))
    if place.is_standard_output:
        yield lambda frame: frame.to_csv(sys.stdout, index=False, header=next(headers))
        return
    kind, parquet = ending(place, formats), None

    def append(frame: pd.DataFrame) -> None:
        nonlocal parquet
        if kind == ".csv":
            frame.to_csv(file, mode="wb", index=False, header=next(headers))
        elif kind == ".npz":
            # By way of lists: words become arrays of text, which need no pickle.
            arrays: dict[str, Any] = {
                str(k): np.array(frame[k].to_list()) for k in frame
            }
            np.savez_compressed(file, **arrays)
        else:
            import pyarrow as pa
            from pyarrow.parquet import ParquetWriter

            rows = pa.Table.from_pandas(frame, preserve_index=False)
            parquet = parquet or ParquetWriter(file, rows.schema)
            parquet.write_table(rows)

    def write(frame: pd.DataFrame) -> None:
        with written(place.path):
            append(frame)

    with filled(place) as file:
        try:
            yield write
        finally:
            if parquet is not None:
                with written(place.path):
                    parquet.close()
