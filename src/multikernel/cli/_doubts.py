"""Columns of a CSV file that can be read in two ways: settled by rule, and said once.

A column is numbers where all its cells are, words for missing numbers apart. A decimal
comma counts where commas do not separate fields, and not beside decimal points in
another column. Row numbers are no feature. Every note names a column, a cell and the
option that changes the reading.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from multikernel._typing import Array
from multikernel.cli._columns import ColumnChoice, parted
from multikernel.cli._messages import say
from multikernel.datasets.csv_form import MISSING, CsvForm, decimal_mark, mixed_marks
from multikernel.estimators.read.kinds import row_numbers

TRUTH = {"true": 1.0, "false": 0.0}

ZERO = re.compile(r"\s*[-+]?0\d[\d.]*\s*")
"""01234, a postal code, would lose its zero."""

PLATE = re.compile(r"\s*\d+[eE]\d+\s*")
"""12E3, the name of a well, would become 12000; programs write 1.2e+04."""

LONG = re.compile(r"\s*[-+]?\d{16,}\s*")
"""Whole numbers of which float64 may lose the last digits."""

LEAST_IDS = 10
"""Fewer rows in order are no hint that a column numbers them."""

Texts = Callable[[Sequence[str]], pd.DataFrame]
"""Returns columns of a file as they are written."""


@dataclass(frozen=True)
class Wanted:
    """What a command says about the columns of a file.

    Parameters
    ----------
    ignored : frozenset of str
        Columns that are not used, or whose text has no second reading.
    named : frozenset of str
        Columns that an option names.
    categories : frozenset of str
        Columns that keep their text where numbers would lose a part of it.
    texts : frozenset of str
        Columns that a model knows as text.
    targets : frozenset of str
        Columns of targets.
    is_known : bool
        Whether a saved model says what the columns are.
    """

    ignored: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    categories: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    targets: frozenset[str] = frozenset()
    is_known: bool = False


def find_wanted(
    names: Iterable[Any],
    drop: Sequence[str],
    target: Sequence[str],
    choice: ColumnChoice,
    only: Sequence[str] | None,
) -> Wanted:
    """Return what options, and the model behind `only`, say about columns."""
    names = [str(name) for name in names]
    dropped, targets, categories, sequences = (
        frozenset(parted(given, names))
        for given in (drop, target, choice.categories, choice.sequences)
    )
    group = frozenset([] if choice.group is None else [choice.group])
    others = set(names) - set(only) - targets if only is not None else set()
    named = dropped | targets | categories | sequences | group
    labels = targets if choice.labels else frozenset()
    return Wanted(
        dropped | sequences | group | others,
        named | set(only or ()),
        categories | labels,
        frozenset(choice.texts),
        targets,
        only is not None,
    )


def note(text: str, columns: Sequence[Any]) -> None:
    """Say something about a column on standard error, and how many are like it."""
    count = len(columns) - 1
    others = f"{count} other columns" if count > 1 else "another column"
    more = f" The same applies to {others}." if count > 0 else ""
    say(text + more, "Note:", stderr=True)


def settle(
    path: Path, form: CsvForm, frame: pd.DataFrame, wanted: Wanted, texts: Texts
) -> pd.DataFrame:
    """Return a table in which every column of numbers is one."""
    frame = frame.copy(deep=False)
    commas = _settle_words(form, frame, wanted)
    if commas:
        _refuse_points(path, frame, wanted, commas, texts)
        row, cell = _first(texts(commas[:1])[commas[0]], lambda text: "," in text)
        note(
            f"Commas are read as decimal points: column {commas[0]!r} holds {cell!r} "
            f"at row {row}.",
            commas,
        )
    return frame


def _first(cells: pd.Series, fits: Callable[[str], bool]) -> tuple[int, str]:
    """Return the row and the text of the first cell that fits."""
    return next(
        (row, cell)
        for row, cell in enumerate(cells.tolist())
        if isinstance(cell, str) and fits(cell)
    )


def _settle_words(form: CsvForm, frame: pd.DataFrame, wanted: Wanted) -> list[str]:
    """Make numbers of columns of text, where they are; return those with commas."""
    commas: list[str] = []
    gaps: dict[str, tuple[int, str]] = {}
    words: dict[str, tuple[int, str]] = {}
    for name in _text_columns(frame, wanted.texts | wanted.ignored):
        column = frame[name]
        cells = column.dropna()
        missing = cells.isin(MISSING)
        mark = decimal_mark(cells, form.separator)
        if mark == "," and name in wanted.categories:
            continue
        numbers = _numbers(cells[~missing], mark)
        if missing.any():
            kind = words if numbers is None else gaps
            kind[name] = _first(column, MISSING.__contains__)
        if numbers is None:
            continue
        if mark == ",":
            commas.append(name)
        frame[name] = numbers.reindex(frame.index)
    if gaps:
        name, (row, word) = next(iter(gaps.items()))
        note(f"Column {name!r} holds {word!r} at row {row}, read as missing.", [*gaps])
    if words and not wanted.is_known:
        name, (row, word) = next(iter(words.items()))
        note(
            f"Column {name!r} holds {word!r} at row {row}, a word like its others: "
            "empty cells are missing.",
            [*words],
        )
    return commas


def _text_columns(frame: pd.DataFrame, others: frozenset[str]) -> list[Any]:
    """Return the columns whose first cell that is not empty is text."""
    kinds = zip(frame.columns, frame.dtypes, strict=True)
    names = [n for n, kind in kinds if kind.kind not in "biuf" and n not in others]
    starts = {name: frame[name].first_valid_index() for name in names}
    return [
        name
        for name, row in starts.items()
        if row is not None and isinstance(frame[name][row], str)
    ]


def _numbers(cells: pd.Series, mark: str | None) -> pd.Series | None:
    """Return cells as numbers, those of truth values too, or None for other text."""
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
    wanted: Wanted,
    commas: Sequence[str],
    texts: Texts,
) -> None:
    """Raise for a column with points beside those with decimal commas."""
    floats = [
        str(name)
        for name, kind in frame.dtypes.items()
        if kind.kind == "f" and name not in {*commas, *wanted.ignored}
    ]
    written = texts([*floats, commas[0]])
    for name in floats:
        pointed = written[name].str.contains(".", regex=False, na=False)
        if pointed.any():
            point = _first(written[name], lambda text: "." in text)
            comma = _first(written[commas[0]], lambda text: "," in text)
            raise ValueError(mixed_marks(path, (commas[0], *comma), (name, *point)))


def may_lose_text(chunks: Iterable[bytes], separator: str) -> bool:
    """Return whether bytes may hold a number that loses a part of its text."""
    begins = rb'(?:^|[\r\n"' + re.escape(separator.encode()) + rb"])[ ]*[-+]?"
    codes = re.compile(begins + rb"(?:0\d|\d+[eE]\d|\d{16})", re.MULTILINE)
    return any(codes.search(chunk) for chunk in chunks)


def keep_codes(frame: pd.DataFrame, wanted: Wanted, written: pd.DataFrame) -> None:
    """Keep the text of categories where numbers lose a part of it; note others.

    `written` are columns of numbers as they are in the file: with categories all rows.
    """
    features, targets = {}, {}
    # All columns together: pandas takes half a millisecond for a single one.
    columns = zip(written.columns, written.to_numpy(object).T, strict=True)
    for name, column in columns:
        lost = _lost([cell for cell in set(column.tolist()) if isinstance(cell, str)])
        if lost is None:
            continue
        if name in wanted.categories:
            frame[name] = written[name]
        elif name not in wanted.targets:
            features[name] = lost
        elif " and " not in lost:  # a measured 1.50 is no class
            targets[name] = lost
    options = ((features, "--category '{0}'"), (targets, "--task classification"))
    for found, option in options:
        if found:
            name, lost = next(iter(found.items()))
            keeps = f"{option.format(name)} keeps the text."
            note(f"Column {name!r} holds {lost}: {keeps}", [*found])


def _lost(cells: Sequence[str]) -> str | None:
    """Return the cells of a column of numbers that lose a part of their text, or None.

    They are quoted, with the number that they are read as.
    """
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


def leave_out(path: Path, frame: pd.DataFrame, wanted: Wanted) -> pd.DataFrame:
    """Return a table without row numbers and without columns that hold nothing.

    These are left out only where they have no name, and no option names them.
    """
    while len(frame.columns) and (name := frame.columns[0]) not in wanted.named:
        if not row_numbers(None if name == "" else name, frame.iloc[:, 0]):
            break
        _say_left_out(path, name, "row numbers")
        frame = frame.iloc[:, 1:]
    for name in [
        n for n in frame.columns if str(n).startswith("Unnamed: ") or not str(n)
    ]:
        if name not in wanted.named and frame[name].isna().all() and len(frame):
            _say_left_out(path, name, "nothing")
            frame = frame.drop(columns=[name])
    return frame


def _say_left_out(path: Path, name: Any, content: str) -> None:
    note(
        f"Ignored a column of {path} without a name ({name!r}): it holds {content}.", []
    )


def caution_ids(features: pd.DataFrame, categories: Sequence[str]) -> None:
    """Say of columns of different whole numbers in order that they may be ids."""
    numbers = [kind.kind in "iuf" for kind in features.dtypes]
    head = features.loc[:, numbers].iloc[:LEAST_IDS]
    if len(head) < LEAST_IDS:
        return
    first = _counts(head.to_numpy(np.float64))
    ids = [
        name
        for name in head.columns[first]
        if name not in categories and _counts(features[[name]].to_numpy())[0]
    ]
    if ids:
        note(
            f"Column {ids[0]!r} holds a different whole number in every row, in order: "
            f"if it only numbers the rows, leave it out with --drop '{ids[0]}'.",
            ids,
        )


def _counts(columns: Array) -> Any:
    """Return which columns hold whole numbers that all grow, or all fall, by row."""
    steps = np.sign(np.diff(columns, axis=0))
    in_order = (steps != 0).all(axis=0) & (steps == steps[0]).all(axis=0)
    return in_order & (columns == np.round(columns)).all(axis=0)
