"""Features and targets from data files."""

import io
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pandas as pd

from multikernel.cli._arrays import read_npz
from multikernel.cli._columns import PLAIN, ColumnChoice, NamedColumns, say_ignored
from multikernel.cli._doubts import caution_ids
from multikernel.cli._features import Table, features_of
from multikernel.cli._frames import COLUMN, read_fasta_frames, read_frame
from multikernel.cli._targets import date_names, read_offset, read_targets
from multikernel.datasets.files import SUFFIXES as FASTA, check_columns
from multikernel.estimators.read.kinds import TEXTS, Sheet, default_texts, kinds_of
from multikernel.kernels.sequence.tables import CATEGORIES, SEQUENCES

FORMATS = (".csv", ".parquet", ".npz")
READABLE = (*FORMATS, ".tsv", *FASTA)
STDIN = "standard input"


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
        return read_npz(path, choice)
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
    """Return the text columns that are sequences, categories, and of unclear kind."""
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
    """Raise unless the file names have supported suffixes."""
    if path.suffix.lower() not in READABLE:
        raise ValueError(
            f"Cannot read {path}: the name must end in one of {', '.join(READABLE)}. "
            "Unpack compressed files, and save spreadsheets as CSV."
        )
    tables = [each for each in (path, *others) if each.suffix.lower() not in FASTA]
    if others and tables:
        raise ValueError(
            "Several files must all be FASTA files, one for each class, but "
            f"{tables[0]} is not: pass one table, or only FASTA files "
            f"({', '.join(FASTA)})."
        )
