"""Rules for ambiguous columns of a CSV file, with one note for each rule.

A column is numeric if all its cells are numbers or words for missing values. Commas are
decimal marks if they do not separate fields and no other column has decimal points. Row
numbers are not a feature. Every note names a column, a cell and the option that
changes the interpretation.
"""

import re
from collections.abc import Callable, Mapping, Sequence, Set
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from multikernel._typing import Array
from multikernel.cli._columns import NamedColumns
from multikernel.cli._messages import say
from multikernel.datasets.csv_form import (
    MISSING,
    NUMBER,
    CsvForm,
    decimal_mark,
    mixed_marks,
)
from multikernel.estimators.read.kinds import row_numbers

TRUTH = {"true": 1.0, "false": 0.0}

ZERO = re.compile(r"\s*[-+]?0\d[\d.]*\s*")
"""Codes with a leading zero, such as the postal code 01234; numbers lose the zero."""

PLATE = re.compile(r"\s*\d+[eE]\d+\s*")
"""Names such as the well 12E3, which must not become 12000. Numbers that programs
write, such as 1.2e+04, do not match."""

LONG = re.compile(r"\s*[-+]?\d{16,}\s*")
"""Whole numbers whose last digits float64 may lose."""

Cell = tuple[int, str]
"""The row and the text of a cell."""

Texts = Callable[[Sequence[str]], pd.DataFrame]
"""Reads the named columns of a file as text, without conversion."""


def note(text: str, columns: Sequence[Any]) -> None:
    """Print a note on `columns` to standard error; `text` names the first one."""
    count = len(columns) - 1
    others = f"{count} other columns" if count > 1 else "another column"
    more = f" The same applies to {others}." if count > 0 else ""
    say(text + more, "Note:", stderr=True)


def settle(
    path: Path, form: CsvForm, frame: pd.DataFrame, columns: NamedColumns, texts: Texts
) -> pd.DataFrame:
    """Return a copy of `frame` with numeric text columns converted to numbers."""
    frame = frame.copy(deep=False)
    commas: dict[str, Cell] = {}
    gaps: dict[str, Cell] = {}
    words: dict[str, Cell] = {}
    for name in _text_columns(frame, {*columns.texts, *columns.ignored}):
        column = frame[name]
        cells = column.dropna()
        missing = cells.isin(MISSING)
        mark = decimal_mark(cells, form.separator)
        if mark == "," and name in columns.exact:
            continue
        numbers = _numbers(cells[~missing], mark)
        if missing.any():
            kind = words if numbers is None else gaps
            kind[name] = _first(column, MISSING.__contains__)
        if numbers is None:
            continue
        if mark == ",":
            commas[name] = _first(column, _is_grouped)
        frame[name] = numbers.reindex(frame.index)
    if commas:
        _refuse_points(path, frame, columns, commas, texts)
    cell = "olumn {!r} holds {!r} at row {}"
    _note_cells(f"C{cell}, read as missing.", gaps)
    if not columns.is_known:
        rule = "only empty cells are missing"
        _note_cells(f"C{cell}, read as a category: {rule}.", words)
    rule = "Commas are read as decimal points, and points as thousands separators"
    _note_cells(f"{rule}: c{cell}.", commas)
    return frame


def _note_cells(text: str, cells: Mapping[str, Cell]) -> None:
    """Print one note on all columns; `text` formats the first name, cell and row."""
    for name, (row, cell) in islice(cells.items(), 1):
        note(text.format(name, cell, row), [*cells])


def _is_grouped(cell: str) -> bool:
    """Return whether a cell is a number only by the rules for decimal commas."""
    return cell not in MISSING and not NUMBER.fullmatch(cell)


def _first(cells: pd.Series, fits: Callable[[str], bool]) -> Cell:
    """Return the row and the text of the first cell for which `fits` is true."""
    return next(
        (row, cell)
        for row, cell in enumerate(cells.tolist())
        if isinstance(cell, str) and fits(cell)
    )


def _text_columns(frame: pd.DataFrame, others: Set[Any]) -> list[Any]:
    """Return the columns whose first nonempty cell is text."""
    kinds = zip(frame.columns, frame.dtypes, strict=True)
    names = [n for n, kind in kinds if kind.kind not in "biuf" and n not in others]
    starts = {name: frame[name].first_valid_index() for name in names}
    return [
        name
        for name, row in starts.items()
        if row is not None and isinstance(frame[name][row], str)
    ]


def _numbers(cells: pd.Series, mark: str | None) -> pd.Series | None:
    """Return cells as numbers or booleans, or None if some cell is other text."""
    if mark == ",":
        cells = cells.str.replace(".", "", regex=False)
        cells = cells.str.replace(",", ".", regex=False)
    if mark is not None or not len(cells):
        return pd.to_numeric(cells).astype(np.float64)
    if cells.iloc[0].lower() not in TRUTH:
        return None
    truths = cells.str.lower().map(TRUTH)
    return None if truths.isna().any() else truths


def _refuse_points(
    path: Path,
    frame: pd.DataFrame,
    columns: NamedColumns,
    commas: Mapping[str, Cell],
    texts: Texts,
) -> None:
    """Raise if one column has decimal commas and another has decimal points."""
    floats = [
        str(name)
        for name, kind in frame.dtypes.items()
        if kind.kind == "f" and name not in {*commas, *columns.ignored}
    ]
    written = texts(floats) if floats else frame[[]]
    for name in floats:
        if written[name].str.contains(".", regex=False, na=False).any():
            point = _first(written[name], lambda text: "." in text)
            comma = next(iter(commas.items()))
            raise ValueError(mixed_marks(path, (comma[0], *comma[1]), (name, *point)))


def keep_codes(
    frame: pd.DataFrame, columns: NamedColumns, written: pd.DataFrame
) -> None:
    """Restore the text of categories that numbers do not preserve.

    Print a note for other columns with such text. `written` contains the text of the
    numeric columns.
    """
    features, targets = {}, {}
    # All columns in one loop: pandas takes half a millisecond to select a single
    # column.
    pairs = zip(written.columns, written.to_numpy(object).T, strict=True)
    for name, column in pairs:
        lost = _lost([cell for cell in set(column.tolist()) if isinstance(cell, str)])
        if lost is None:
            continue
        if name in columns.exact:
            frame[name] = written[name]
        elif name not in columns.target:
            features[name] = lost
        elif " and " not in lost:  # targets such as 1.5 and 1.50 are measurements
            targets[name] = lost
    options = ((features, "--category '{0}'"), (targets, "--task classification"))
    for columns_of_kind, option in options:
        if columns_of_kind:
            name, lost = next(iter(columns_of_kind.items()))
            advice = f"use {option.format(name)} to keep the text."
            note(f"Column {name!r} holds {lost}: {advice}", [*columns_of_kind])


def _lost(cells: Sequence[str]) -> str | None:
    """Return a description of cells whose text a number does not preserve, or None."""
    numbers: dict[float, str] = {}
    for cell in cells:
        coded = ZERO.fullmatch(cell) or PLATE.fullmatch(cell)
        if coded or (LONG.fullmatch(cell) and int(cell) != int(float(cell))):
            return f"{cell!r}, read as the number {float(cell):.17g}"
        if "." in cell and cell.endswith("0"):
            numbers[float(cell)] = cell
    if numbers:
        for cell in cells:
            other = numbers.get(float(cell), cell) if "." in cell else cell
            if other != cell:
                return f"{other!r} and {cell!r}, read as the same number"
    return None


def leave_out(path: Path, frame: pd.DataFrame, columns: NamedColumns) -> pd.DataFrame:
    """Return a table without unnamed columns that are empty or number the rows."""
    while len(frame.columns) and (name := frame.columns[0]) not in columns.named:
        if not row_numbers(name, frame.iloc[:, 0]):
            break
        _say_left_out(path, name, "row numbers")
        frame = frame.iloc[:, 1:]
    for name in [
        n for n in frame.columns if str(n).startswith("Unnamed: ") or not str(n)
    ]:
        if name not in columns.named and frame[name].isna().all() and len(frame):
            _say_left_out(path, name, "nothing")
            frame = frame.drop(columns=[name])
    return frame


def _say_left_out(path: Path, name: Any, content: str) -> None:
    """Print a note on an ignored unnamed column."""
    note(f"Ignored the unnamed column {name!r} of {path}: it holds {content}.", [])


def caution_ids(features: pd.DataFrame, categories: Sequence[str]) -> None:
    """Print a note about columns of increasing whole numbers, which may be row ids."""
    numbers = [kind.kind in "iuf" for kind in features.dtypes]
    head = features.loc[:, numbers].iloc[:10]
    if len(head) < 10:
        return  # a few values may increase by chance
    first = _counts(head.to_numpy(np.float64))
    ids = [
        name
        for name in head.columns[first]
        if name not in categories and _counts(features[[name]].to_numpy())[0]
    ]
    if ids:
        note(
            f"Column {ids[0]!r} holds increasing whole numbers, one per row. If they "
            f"only number the rows, use --id '{ids[0]}' to copy them to predictions, "
            f"or --drop '{ids[0]}' to ignore them.",
            ids,
        )


def _counts(columns: Array) -> Any:
    """Return a mask of columns of strictly increasing or decreasing whole numbers."""
    steps = np.sign(np.diff(columns, axis=0))
    in_order = (steps != 0).all(axis=0) & (steps == steps[0]).all(axis=0)
    return in_order & (columns == np.round(columns)).all(axis=0)
