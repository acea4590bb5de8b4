"""CSV, TSV, Parquet and FASTA files as data frames, without silent repairs."""

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
from pandas.errors import ParserWarning

from multikernel._validation import LARGEST_VALUE
from multikernel.cli._columns import PLAIN, ColumnChoice, NamedColumns
from multikernel.cli._doubts import keep_codes, leave_out, settle
from multikernel.cli._messages import say
from multikernel.datasets import read_fasta
from multikernel.datasets.csv_form import (
    BLANK,
    SEPARATORS,
    CsvForm,
    comment_rows,
    find_form,
    not_utf8,
)

NUMBERS = "biuf"
"""NumPy kinds of real numbers."""

EXTRA = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")
"""The error message of pandas for a row with too many fields."""


QUOTE = re.compile(r"EOF inside string starting at row (\d+)")
"""The error message of pandas for a missing closing quote."""


@contextmanager
def naming_damage(path: Path, kind: str) -> Iterator[None]:
    """Turn the errors that readers raise for a damaged file into one sentence."""
    try:
        yield
    except MemoryError:
        raise
    except ParserWarning as error:
        raise ValueError(
            f"{path} has rows with more fields than its header: correct these rows."
        ) from error
    except UnicodeDecodeError as error:
        raise ValueError(not_utf8(path, error)) from error
    except Exception as error:
        if getattr(error, "filename", None) is not None:
            raise  # the operating system's message names the file and the reason
        reason = " ".join(str(error).split())
        if "allow_pickle" in reason:  # NumPy's advice is unsafe
            reason = (
                "it is damaged or holds Python objects: write arrays of numbers or "
                "text with numpy.savez"
            )
        if match := QUOTE.search(reason):
            reason = f"a quote in row {match[1]} is not closed"
        if match := EXTRA.search(reason):
            expected, line, seen = match.groups()
            raise ValueError(
                f"{path} has more fields in row {int(line) - 1} ({seen}) than in its "
                f"header ({expected}): correct the row."
            ) from error
        raise ValueError(f"{path} is not a valid {kind} ({reason}).") from error


def read_frame(
    path: Path,
    source: BinaryIO | None = None,
    choice: ColumnChoice = PLAIN,
    n_rows: int | None = None,
) -> pd.DataFrame:
    """Return the table in the file `path`.

    A CSV file is read from `source` if it is given: the same file, already open.
    `n_rows` limits the rows read from a CSV file; the default reads all.
    """
    if path.suffix.lower() == ".parquet":
        with naming_damage(path, "Parquet file"):
            frame = pd.read_parquet(path)
        return leave_out(path, frame, choice.named(frame.columns))
    with source or path.open("rb") as file:
        form = find_form(file, path)
        say_form(path, form)
        doubled = first_repeated(form.names)
        if doubled is not None:
            raise ValueError(
                f"{path} has several columns named {doubled!r}: rename them."
            )
        return _read_csv(path, file, form, choice.named(form.names), n_rows)


def _read_csv(
    path: Path, file: BinaryIO, form: CsvForm, columns: NamedColumns, n_rows: int | None
) -> pd.DataFrame:
    """Return the table of an open CSV file, its columns converted by the rules."""
    with naming_damage(path, "CSV file with a header"):
        skipped = comment_rows(file, form)
    if skipped:
        say(f"Skipped comment lines between rows of {path}.", "Note:", stderr=True)
    settings = {"skiprows": skipped or None, "nrows": n_rows}

    def texts(names: Sequence[str]) -> pd.DataFrame:
        with naming_damage(path, "CSV file with a header"):
            return parsed(file, form, dtype=str, usecols=names, **settings)

    text_types = {name: str for name in columns.texts if name in form.names}
    with naming_damage(path, "CSV file with a header"):
        frame = parsed(file, form, dtype=text_types, **settings)
    numbers = [str(name) for name, kind in frame.dtypes.items() if kind.kind in "iuf"]
    frame = settle(path, form, frame, columns, texts)
    numbers = [name for name in numbers if name not in columns.ignored]
    if numbers and not columns.is_known:
        keep_codes(frame, columns, texts(numbers))
    return leave_out(path, frame, columns)


def parsed(file: BinaryIO, form: CsvForm, **settings: Any) -> pd.DataFrame:
    """Return the rows of a CSV file; only empty fields are missing."""
    file.seek(form.start)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ParserWarning)  # rows beyond the header
        frame: pd.DataFrame = pd.read_csv(
            file,
            sep=form.separator,
            header=None,
            names=list(form.names),
            index_col=False,
            low_memory=False,
            keep_default_na=False,
            na_values=[""],
            **settings,
        )
    return frame


def say_form(path: Path, form: CsvForm) -> None:
    """Print notes on separators other than commas, and on comment lines."""
    if form.separator != "," and not form.is_named and path.suffix.lower() != ".tsv":
        name = {**SEPARATORS, BLANK: "blanks"}[form.separator]
        say(f"Fields of {path} are separated by {name}.", "Note:", stderr=True)
    if form.n_comments:
        lines = "a comment line" if form.n_comments == 1 else "comment lines"
        say(f"Skipped {lines} above the header of {path}.", "Note:", stderr=True)


def first_repeated(names: Iterable[str]) -> str | None:
    """Return the first name that occurs more than once, or None."""
    return next((name for name, n in Counter(names).items() if n > 1), None)


def refuse_empty(numbers: pd.DataFrame, counts: Any) -> None:
    """Raise if a column has no number; `counts` are the numbers per column."""
    empty = [*numbers.columns[counts == 0]]
    if empty:
        raise ValueError(
            f"Columns contain no number: {', '.join(map(repr, empty))}. Ignore empty "
            f"columns{dropping(empty)}."
        )


def check_reach(path: Path, numbers: pd.DataFrame) -> None:
    """Raise for numbers too large to square, which scaling would turn into NaN."""
    values = numbers.to_numpy()
    beyond = np.abs(values) > LARGEST_VALUE  # False for NaN
    if beyond.any():
        column = int(np.argmax(beyond.any(axis=0)))
        row = int(np.argmax(beyond[:, column]))
        raise ValueError(
            f"Column {numbers.columns[column]!r} of {path} holds "
            f"{values[row, column]:g}, but the largest supported value is "
            f"{LARGEST_VALUE:g}: correct it, change the unit, or ignore the column "
            "with --drop."
        )


def dropping(names: Iterable[Any]) -> str:
    """Return the options that ignore columns."""
    return " with " + " ".join(f"--drop '{name}'" for name in names)


COLUMN = "sequence"
"""Column name of the sequences in a FASTA file."""


NAME = "name"
"""Column name of the record names, in the output of predict."""


CLASS = "class"
"""Name of the target column made from the names of several FASTA files."""


def read_fasta_frames(paths: Sequence[Path]) -> pd.DataFrame:
    """Return the records of FASTA files; if there are several, each file is a class."""
    frames = [_read_fasta_frame(path) for path in paths]
    if len(frames) == 1:
        return frames[0]
    for path, frame in zip(paths, frames, strict=True):
        if CLASS in frame:
            raise ValueError(
                f"The headers of {path} contain the field class, but with several "
                "FASTA files each file name is a class: remove the field, or merge "
                "the files."
            )
        frame[CLASS] = path.stem
    if len({path.stem for path in paths}) < len(paths):
        raise ValueError(
            "Two FASTA files have the same name, which is their class: rename one of "
            "them."
        )
    # Only fields that all files have become columns.
    return pd.concat(frames, join="inner")


def _read_fasta_frame(path: Path) -> pd.DataFrame:
    """Return the records of a FASTA file, one column per field, indexed by name."""
    records = read_fasta(path)
    index = pd.Index(records.names, name=NAME)
    frame = pd.DataFrame({COLUMN: records.sequences}, index=index)
    for key, values in records.fields.items():
        numbers = pd.to_numeric(pd.Series(values, index=index), errors="coerce")
        frame[key] = values if numbers.isna().any() else numbers
    return frame
