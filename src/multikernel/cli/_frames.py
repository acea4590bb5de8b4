"""CSV, TSV, Parquet and FASTA files as data frames, without silent repairs."""

import errno
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.errors import ParserWarning

from multikernel._typing import Array
from multikernel.cli._columns import PLAIN, ColumnChoice
from multikernel.cli._messages import note
from multikernel.datasets import csv_form, read_fasta
from multikernel.datasets.csv_form import MISSING, CsvForm
from multikernel.estimators.read.kinds import row_numbers

NUMBERS = "biuf"
"""NumPy dtype kinds of booleans and real numbers."""

EXTRA = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")
"""The error message of pandas for a row with too many fields."""

QUOTE = re.compile(r"EOF inside string starting at row (\d+)")
"""The error message of pandas for a missing closing quote."""

TRUTH = {"true": True, "false": False}
TRUTH_WORDS = ("True", "TRUE", "true", "False", "FALSE", "false")
"""Truth values that pandas reads as numbers."""

# As numbers, 01234 would lose its zero, and 12E3 would become 12000.
CODE = re.compile(r"\s*([-+]?0\d[\d.]*|\d+[eE]\d+)\s*")
"""Pattern of codes, such as 01234 or 12E3, that conversion to numbers would change."""

THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2}\.\d{3}\s*", re.ASCII)
"""Numbers whose point may separate thousands."""

LONG = re.compile(r"\s*[-+]?\d{16,}\s*")
"""Whole numbers whose last digits float64 may lose."""

Cells = NDArray[np.object_]
"""The cells of a column as text, or NaN."""

Cell = tuple[int, str]
"""The row and the text of a cell."""


class CellError(ValueError):
    """A cell of a partition cannot be read; the message names its column and file."""


@contextmanager
def explain_damage(path: Path, kind: str) -> Iterator[None]:
    """Turn the errors that readers raise for a damaged file into one sentence."""
    try:
        yield
    except (MemoryError, CellError):
        raise
    except ParserWarning as error:
        raise ValueError(
            f"{path} has rows with more fields than its header: name all columns in "
            "the header, or remove the additional fields."
        ) from error
    except UnicodeDecodeError as error:
        raise ValueError(csv_form.not_utf8(path, error)) from error
    except Exception as error:
        if getattr(error, "filename", None) is not None:
            raise  # the operating system's message names the file and the reason
        if isinstance(error, FileNotFoundError):  # Arrow does not set `filename`
            code = errno.ENOENT
            raise FileNotFoundError(code, os.strerror(code), str(path)) from error
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
        raise ValueError(
            f"{path} is not a valid {kind} ({reason}): correct or replace the file."
        ) from error


def read_frame(
    path: Path,
    source: BinaryIO | None = None,
    choice: ColumnChoice = PLAIN,
    n_rows: int | None = None,
) -> pd.DataFrame:
    """Return the table in a file; `source` is the same CSV file, already open."""
    # `n_rows` is the number of first rows of a file that is read in partitions.
    if path.suffix.lower() == ".parquet":
        with explain_damage(path, "Parquet file"):
            frame = pd.read_parquet(path)
        return without_row_numbers(path, frame, choice.split_lists(frame.columns))
    with source or path.open("rb") as file:
        form = csv_form.find_form(file, path)
        _say_form(path, form)
        repeated = first_repeated(form.names)
        if repeated is not None:
            raise ValueError(
                f"{path} has several columns named {repeated!r}: rename them."
            )
        with explain_damage(path, "CSV file with a header"):
            skipped = csv_form.comment_rows(file, form)
            cells = _read_cells(choice, file, form, skipped or None, n_rows)
    if skipped and n_rows is not None:
        raise ValueError(
            f"{path} has comment lines between its rows, so it cannot be read in "
            "partitions: remove these lines, or read the whole file: use --no-stream, "
            "and omit --dask."
        )
    if skipped:
        note(f"Skipped comment lines between rows of {path}.")
    columns = choice.split_lists(form.names)
    frame = _with_numbers(path, form, cells, columns)
    if form.separator == ";":
        is_head = n_rows is not None and len(cells) >= n_rows
        _doubt_points(path, frame, cells, columns, only_note=is_head)
    return without_row_numbers(path, frame, columns)


def converted_cells(
    path: Path, cells: pd.DataFrame, choice: ColumnChoice
) -> pd.DataFrame:
    """Return text cells of a CSV file, converted to numbers as `read_frame` does."""
    with path.open("rb") as file:
        form = csv_form.find_form(file, path)
    form = replace(form, names=tuple(map(str, cells.columns)))
    text_frame = cells.astype(object).where(cells.notna(), np.nan)
    return _with_numbers(path, form, text_frame, choice.split_lists(form.names))


def _read_cells(
    choice: ColumnChoice,
    file: BinaryIO,
    form: CsvForm,
    skipped: list[int] | None,
    n_rows: int | None,
) -> pd.DataFrame:
    """Return CSV cells as text, or as floats where a saved model expects numbers."""
    # `choice.only` names the columns on which a saved model was fitted. Those that are
    # not categories, sequences or dates are read as numbers, because pandas reads
    # numbers several times faster than text. If one of their cells is not a plain
    # number, all cells are read as text. So are files with semicolons, whose points may
    # separate thousands, and files with truth values, which pandas would read as
    # numbers.
    texts = {*choice.category, *choice.sequence, *choice.date}
    numeric_names = {*(choice.only or ())} - texts
    if not numeric_names or form.separator == ";":
        return cells_of(file, form, str, skipped, n_rows)
    head = cells_of(file, form, str, skipped, csv_form.HEAD_ROWS)
    if head.isin(TRUTH_WORDS).any(axis=None):
        return cells_of(file, form, str, skipped, n_rows)
    kinds = {name: float if name in numeric_names else str for name in form.names}
    try:
        return cells_of(file, form, kinds, skipped, n_rows)
    except ValueError:  # a cell is not a plain number
        return cells_of(file, form, str, skipped, n_rows)


def cells_of(
    file: BinaryIO,
    form: CsvForm,
    dtype: type | Mapping[str, type] = str,
    skipped: list[int] | None = None,
    n_rows: int | None = None,
) -> pd.DataFrame:
    """Return the cells of a CSV file, text by default; only empty cells are missing."""
    file.seek(form.start)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ParserWarning)  # rows longer than the header
        frame: pd.DataFrame = pd.read_csv(
            file,
            dtype=dtype,
            na_values=[""],
            skiprows=skipped,
            nrows=n_rows,
            **pandas_settings(form),
        )
    return frame


def pandas_settings(form: CsvForm) -> dict[str, Any]:
    """Return the settings with which pandas reads the rows below the header."""
    return {
        "sep": form.separator,
        "header": None,
        "names": list(form.names),
        "index_col": False,
        "keep_default_na": False,
    }


def _say_form(path: Path, form: CsvForm) -> None:
    """Print notes on separators other than commas, and on comment lines."""
    if form.separator != "," and not form.is_named and path.suffix.lower() != ".tsv":
        marks = {**csv_form.SEPARATORS, csv_form.BLANK: "blanks"}
        name = marks[form.separator]
        note(f"Fields of {path} are separated by {name}.")
    if form.n_comments:
        lines = "a comment line" if form.n_comments == 1 else "comment lines"
        note(f"Skipped {lines} above the header of {path}.")


def _with_numbers(
    path: Path, form: CsvForm, text_frame: pd.DataFrame, choice: ColumnChoice
) -> pd.DataFrame:
    """Return the cells of a CSV file with numeric columns converted to numbers."""
    ignored, texts = choice.ignored(form.names), choice.always_text
    exact = choice.exact
    # pandas takes half a millisecond to select a single column.
    cells = dict(zip(form.names, text_frame.to_numpy(object).T, strict=True))
    numeric, doubtful = {}, {}
    for name in [name for name in form.names if name not in texts]:
        numbers = _plain_numbers(cells[name])
        if numbers is not None:
            numeric[name] = numbers
        elif name not in ignored:
            doubtful[name] = cells[name]
    converted, commas = _converted(form, doubtful, exact, from_model=choice.is_known)
    if commas:
        floats = [n for n, v in (numeric | converted).items() if v.dtype.kind == "f"]
        float_texts = {n: cells[n] for n in floats if n not in {*commas, *ignored}}
        _refuse_points(path, commas, float_texts)
    if not choice.is_known:
        checked = {name: cells[name] for name in numeric if name not in ignored}
        for name in _text_codes(checked, exact, choice):
            del numeric[name]
    frame = pd.DataFrame(numeric | converted, index=text_frame.index)
    text_names = [name for name in form.names if name not in frame]
    if not choice.is_known:
        _note_blanks({name: cells[name] for name in text_names if name not in ignored})
    return pd.concat([frame, text_frame[text_names]], axis=1)[list(form.names)]


def _note_blanks(cells_by_name: Mapping[str, Cells]) -> None:
    """Print a note on text cells that begin or end with blanks, which are kept."""
    padded: dict[str, Cell] = {}
    for name, column in cells_by_name.items():
        rows = enumerate(column.tolist())
        texts = ((row, cell) for row, cell in rows if isinstance(cell, str))
        cells = ((row, cell) for row, cell in texts if cell != cell.strip())
        padded.update((name, cell) for cell in islice(cells, 1))
    _note_cells(
        "Blanks around text are kept: column {!r} holds {!r} at row {}.", padded
    )


def _plain_numbers(cells: Cells) -> NDArray[np.generic] | None:
    """Return text cells as numbers, or None if a cell is other text."""
    try:
        numbers = pd.to_numeric(cells)
    except ValueError:
        return None
    # Integers of more than 64 bits are objects.
    return numbers.astype(np.float64) if numbers.dtype.kind == "O" else numbers


def _converted(
    form: CsvForm, doubtful: Mapping[str, Cells], exact: set[str], *, from_model: bool
) -> tuple[dict[str, NDArray[np.generic]], dict[str, Cell]]:
    """Return the numeric columns of `doubtful`, and examples of decimal commas."""
    # `doubtful` contains the columns with cells that are not plain numbers. Columns in
    # `exact` are categories or labels, so their decimal commas and words for missing
    # numbers remain text. Notes are printed on these words and on decimal commas. A
    # saved model may have been fitted on numbers (`from_model`): words are missing
    # then, and no note says that a word is a category.
    numbers: dict[str, NDArray[np.generic]] = {}
    # For each column with decimal commas, the first cell that has one.
    commas: dict[str, Cell] = {}
    gap_cells: dict[str, Cell] = {}
    word_cells: dict[str, Cell] = {}
    truth_cells: dict[str, Cell] = {}
    for name, column in doubtful.items():
        present = pd.Series(column).dropna()
        missing = present.isin(MISSING)
        mark = csv_form.decimal_mark(present, form.separator)
        has_words = missing.any() and not from_model
        remains_text = name in exact and (mark == "," or has_words)
        values = None if remains_text else marked_numbers(present[~missing], mark)
        if missing.any():
            examples = word_cells if values is None else gap_cells
            examples[name] = _first_cell(column, MISSING.__contains__)
        if values is None:
            continue
        if mark == ",":
            commas[name] = _first_cell(
                column, lambda c: c not in MISSING and not csv_form.NUMBER.fullmatch(c)
            )
        if values.dtype.kind == "b" and from_model and name not in exact:
            truth_cells[name] = _first_cell(column, lambda c: c not in MISSING)
        # Missing cells, which `values` lacks, become NaN.
        if len(values) < len(column):
            values = values.astype(float).reindex(range(len(column)))
        numbers[name] = values.to_numpy()
    cell = "olumn {!r} holds {!r} at row {}"
    _note_cells(f"C{cell}, read as missing.", gap_cells)
    if not from_model:
        rule = "only empty cells are missing"
        _note_cells(f"C{cell}, read as a category: {rule}.", word_cells)
    _note_cells(f"True is read as 1, and false as 0: c{cell}.", truth_cells)
    rule = "Commas are read as decimal points, and points as thousands separators"
    _note_cells(f"{rule}: c{cell}.", commas)
    return numbers, commas


def marked_numbers(cells: pd.Series, mark: str | None) -> pd.Series | None:
    """Return cells as floats, or as booleans if all are true or false; else None."""
    if mark == ",":
        cells = cells.str.replace(".", "", regex=False)
        cells = cells.str.replace(",", ".", regex=False)
    if mark is not None or not len(cells):
        return pd.to_numeric(cells).astype(np.float64)
    truths = [TRUTH.get(cell.lower()) for cell in cells]
    return None if None in truths else pd.Series(truths, cells.index)


def with_numbers(cells: pd.Series) -> pd.Series:
    """Return a column in which text cells that are numbers become numbers."""
    if pd.api.types.is_numeric_dtype(cells):
        return cells

    def read(cell: object) -> object:
        if cell in MISSING:
            return np.nan
        if isinstance(cell, str) and csv_form.NUMBER.fullmatch(cell):
            return float(cell)
        return cell

    return cells.astype(object).map(read)


def _first_cell(cells: Cells, matches: Callable[[str], bool]) -> Cell:
    """Return the row and the text of the first cell for which `matches` is true."""
    rows = enumerate(cells.tolist())
    return next((row, c) for row, c in rows if isinstance(c, str) and matches(c))


def _refuse_points(
    path: Path, comma_cells: Mapping[str, Cell], float_texts: Mapping[str, Array]
) -> None:
    """Raise if one column has decimal commas and another has decimal points."""
    # `comma_cells` has a cell of each column with decimal commas, and `float_texts` the
    # cells of each other column of floats.
    for name, column in float_texts.items():
        cells = enumerate(column.tolist())
        points = ((row, c) for row, c in cells if isinstance(c, str) and "." in c)
        for row, point in islice(points, 1):
            comma_name, (comma_row, comma) = next(iter(comma_cells.items()))
            raise ValueError(
                f"{path} mixes decimal commas and points: column {comma_name!r} "
                f"contains {comma!r} at row {comma_row}, column {name!r} contains "
                f"{point!r} at row {row}. Write all numbers with decimal points and "
                "without thousands separators, or remove one of the columns."
            )


def _doubt_points(
    path: Path,
    frame: pd.DataFrame,
    text_frame: pd.DataFrame,
    choice: ColumnChoice,
    *,
    only_note: bool,
) -> None:
    """Raise if all points of a file may separate thousands; note it for a model."""
    # With `only_note`, later rows of the file may show what points mean.
    doubtful: dict[str, Cell] = {}
    for name in frame.select_dtypes("float"):
        column = text_frame[name].dropna()
        points = column[column.str.contains(".", regex=False)]
        is_clear = not points.str.fullmatch(THOUSANDS).all()
        if is_clear or column.str.contains(",").any():
            return  # the meaning of points is known
        if len(points):
            doubtful[str(name)] = int(points.index[0]), points.iloc[0]
    for name in choice.ignored(map(str, frame)) | choice.exact:
        doubtful.pop(name, None)
    if choice.is_known or only_note:
        text = "Points are read as decimal points, not as thousands separators: column "
        _note_cells(text + "{!r} holds {!r} at row {}.", doubtful)
        return
    for name, (row, cell) in islice(doubtful.items(), 1):
        raise ValueError(
            f"Column {name!r} of {path} holds {cell!r} at row {row}, which may mean "
            f"{float(cell)} or {cell.replace('.', '')}: remove points between "
            "thousands. For decimal points, separate the fields of the file with "
            "commas, not with semicolons."
        )


def _text_codes(
    cells_by_name: Mapping[str, Cells], exact: set[str], choice: ColumnChoice
) -> list[str]:
    """Return the columns of `exact` with cells such as 007, which would become 7."""
    # Columns outside `exact` become numbers even if they have cells such as 007. A note
    # to the user then names the option that preserves the text of a column.
    feature_examples, target_examples, codes = {}, {}, []
    for name, column in cells_by_name.items():
        cells = dict.fromkeys(column.tolist())
        texts = [cell for cell in cells if isinstance(cell, str)]
        example = _changed_text(texts)
        if name in exact:
            # Different texts, such as 1 and 1.0, may be the same number.
            if example is not None or len({*map(float, texts)}) < len(texts):
                codes.append(name)
        elif example is None:
            continue
        elif name not in choice.target:
            feature_examples[name] = example
        # Targets with cells such as 1.5 and 1.50 are measurements, which need no note.
        # With other tasks and losses, no option makes targets classes.
        elif " and " not in example and choice.label_option:
            target_examples[name] = example
    by_option = {"--category '{0}'": feature_examples}
    by_option[choice.label_option] = target_examples
    for option, examples in by_option.items():
        if examples:
            name, example = next(iter(examples.items()))
            advice = f"use {option.format(name)} to keep the text."
            note(f"Column {name!r} holds {example}: {advice}", [*examples])
    return codes


def _changed_text(cells: Sequence[str]) -> str | None:
    """Return a phrase about cells that change if read as numbers; None if none do."""
    text_of_number: dict[float, str] = {}
    for cell in cells:
        if CODE.fullmatch(cell) or (
            LONG.fullmatch(cell) and int(cell) != int(float(cell))
        ):
            return f"{cell!r}, read as the number {float(cell):.17g}"
        if "." in cell and cell.endswith("0"):
            text_of_number[float(cell)] = cell
    if text_of_number:
        # Find two texts of the same number, such as 1.5 and 1.50.
        for cell in cells:
            first_text = text_of_number.get(float(cell), cell) if "." in cell else cell
            if first_text != cell:
                return f"{first_text!r} and {cell!r}, read as the same number"
    return None


def _note_cells(text: str, cells: Mapping[str, Cell]) -> None:
    """Print a note on the first column in `cells`, and count the other columns."""
    # `cells` maps each column name to the row and the text of one cell. The note is
    # `text`, a format for the name, the cell and the row. If `cells` is empty, there is
    # no note.
    for name, (row, cell) in islice(cells.items(), 1):
        note(text.format(name, cell, row), [*cells])


def without_row_numbers(
    path: Path, frame: pd.DataFrame, choice: ColumnChoice
) -> pd.DataFrame:
    """Return a table without unnamed columns that are empty or contain row numbers."""
    named, prefix = {*choice.lists, *(choice.only or ())}, "Ignored the unnamed column"
    while len(frame.columns) and (name := frame.columns[0]) not in named:
        if not row_numbers(name, frame.iloc[:, 0]):
            break
        note(f"{prefix} {name!r} of {path}: it holds row numbers.")
        frame = frame.iloc[:, 1:]
    unnamed = [n for n in frame if str(n).startswith("Unnamed: ") or not str(n)]
    for empty in [n for n in unnamed if n not in named and len(frame)]:
        if frame[empty].isna().all():
            note(f"{prefix} {empty!r} of {path}: it is empty.")
            frame = frame.drop(columns=[empty])
    return frame


def first_repeated(names: Iterable[Hashable]) -> Hashable | None:
    """Return the first name that occurs more than once, or None."""
    return next((name for name, n in Counter(names).items() if n > 1), None)


COLUMN = "sequence"
"""Column name of the sequences in a FASTA file."""

NAME = "name"
"""Column with the names of FASTA records in the output of predict."""

CLASS = "class"
"""Name of the target column made from the names of several FASTA files."""


def read_fasta_frames(paths: Sequence[Path], choice: ColumnChoice) -> pd.DataFrame:
    """Return the records of FASTA files; if there are several, each file is a class."""
    reserved = (COLUMN, CLASS) if len(paths) > 1 else (COLUMN,)
    texts = [_read_fasta_frame(path, reserved) for path in paths]
    repeated = first_repeated(path.stem for path in paths)
    if repeated is not None:
        raise ValueError(
            f"Two FASTA files have the name {repeated!r}. With several FASTA files, "
            "the name of each file is its class, so names must differ: rename one file."
        )
    # Only fields present in every file become columns.
    text_frame = pd.concat(texts, join="inner")
    fields = text_frame.drop(columns=COLUMN)
    # Fields are read as those of a CSV file with commas.
    form = CsvForm(",", tuple(fields.columns), start=0, n_lines=0)
    columns = choice.split_lists(text_frame)
    numbers = _with_numbers(paths[0], form, fields, columns)
    frame = pd.concat([text_frame[[COLUMN]], numbers], axis=1)
    if len(paths) > 1:
        frame[CLASS] = np.repeat([path.stem for path in paths], [*map(len, texts)])
    return frame


def _read_fasta_frame(path: Path, reserved: Sequence[str]) -> pd.DataFrame:
    """Return a FASTA file as text, one column per field, indexed by name."""
    records = read_fasta(path)
    for name in reserved:
        if name in records.fields:
            raise ValueError(
                f"The headers of {path} contain the field {name!r}, which is the name "
                f"of the column of the {name} of each record: rename the field."
            )
    index = pd.Index(records.names, name=NAME)
    texts = {COLUMN: records.sequences, **records.fields}
    return pd.DataFrame(texts, index=index, dtype=object).replace("", np.nan)
