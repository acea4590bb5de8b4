"""Targets of data files: unambiguous numbers or labels, one per row."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from multikernel._typing import Array
from multikernel._validation import shown
from multikernel.cli._columns import ColumnChoice
from multikernel.cli._frames import CLASS, NUMBERS, TRUTH, first_repeated
from multikernel.datasets.csv_form import MISSING, NUMBER
from multikernel.estimators import TableEncoder
from multikernel.estimators.read.kinds import (
    MONTH_DATE,
    OTHER_NUMBERS,
    UNIT_NUMBER,
    all_match,
    first_odd_cell,
    mostly_differ,
)

WORDS = (str, bool, int, float)

AMOUNT = re.compile(
    r"\s*\(?[-+\u2212]?[$\u20ac\u00a3]?\s*[-+\u2212]?(\d{1,3}([.,'\s]\d{3})+|\d+)([.,]\d*)?"
    r"\s*[%\u2030$\u20ac\u00a3]?\)?\s*"
)
"""Numbers with decimal commas, thousands separators, currency, percent or brackets."""

DATE = re.compile(
    r"\s*(\d{4}-\d{1,2}(?:-\d{1,2}([T ][\d:.+Z-]*)?)?"
    r"|\d{1,2}([./-])\d{1,2}\3\d{2,4})\s*"
)
"""Dates and months in ISO 8601, and dates in other common formats."""

ISO_DATE = re.compile(r"\s*\d{4}-\d\d-\d\d([T ].*)?\s*")
"""Dates that --date accepts."""

TIME = re.compile(r"\s*\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s*")
"""Times of a day."""

MEANINGS = (
    ("a date", DATE, "the number of days since a reference date"),
    ("a date", MONTH_DATE, "the number of days since a reference date"),
    ("a time of a day", TIME, "the hours as a number"),
    ("a number", AMOUNT, "it with digits and a decimal point only"),
    ("a number", OTHER_NUMBERS, "it with decimal digits, such as 1.5e3"),
    ("a number with a unit", UNIT_NUMBER, "numbers in one unit, without the unit"),
)
"""Texts that are not classes: their meaning, pattern, and what to write instead."""


Targets = NDArray[np.generic] | pd.DataFrame
"""A vector, or a data frame if there are several targets."""


def read_targets(
    path: Path,
    names: Sequence[str],
    columns: pd.DataFrame | Mapping[str, NDArray[np.generic]],
    n_rows: int,
    choice: ColumnChoice,
) -> Targets | None:
    """Return None without targets, an array for one, a data frame for several."""
    targets = {
        name: read_target(path, np.asarray(columns[name]), n_rows, name, choice)
        for name in names
    }
    if len(targets) < len(names):
        raise ValueError(
            f"--target names {first_repeated(names)!r} more than once: name every "
            "column once."
        )
    if len(targets) <= 1:
        return next(iter(targets.values()), None)
    return pd.DataFrame(targets)


def read_offset(path: Path, frame: pd.DataFrame, name: str) -> Array:
    """Return an offset column as numbers; raise unless all cells are finite numbers."""
    # pandas would convert dates to nanoseconds.
    is_time = frame[name].dtype.kind in "mM"
    column = frame[name].astype(str) if is_time else frame[name]
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(np.float64)
    if not np.isfinite(numbers).all():
        row = int(np.argmin(np.isfinite(numbers)))
        is_log_of_zero = bool(numbers[row] == -np.inf)
        reason = ", the logarithm of an exposure of zero" * is_log_of_zero
        cell = column.tolist()[row]
        raise ValueError(
            f"--offset: column {name!r} of {path} contains {cell!r} "
            f"at row {row}{reason}; every value must be a finite number. Correct "
            "the value, remove the row, or name another column."
        )
    return numbers


def read_groups(path: Path, frame: pd.DataFrame, name: str) -> NDArray[np.generic]:
    """Return the groups of the rows; raise for an empty cell."""
    rows = np.flatnonzero(frame[name].isna())
    if rows.size:
        raise ValueError(
            f"--group: column {name!r} of {path} is empty at row {rows[0]}: enter a "
            "group, or remove the row."
        )
    return frame[name].to_numpy()


def date_names(path: Path, column: pd.Series, periods: Sequence[str]) -> list[str]:
    """Return the names of the encoded columns of a column of dates."""
    encoder = TableEncoder(list(periods)).fit(column.to_frame())
    if encoder.kinds_[str(column.name)] != "dates":
        cells = column.dropna().astype(str)
        # A cell such as 2024-02-30 has the form of a date, but there is no such day.
        is_date = cells.str.fullmatch(ISO_DATE)
        is_date &= pd.to_datetime(cells, errors="coerce", format="ISO8601").notna()
        cell = next((repr(cell) for cell in (*cells[~is_date], *cells)), "no date")
        raise ValueError(
            f"--date: column {column.name!r} of {path} contains {cell}; every cell "
            "must be an ISO 8601 date, such as 2024-01-31: correct the column, or omit "
            "--date."
        )
    return [str(name) for name in encoder.get_feature_names_out()]


def default_target(paths: Sequence[Path]) -> list[str]:
    """Return the name of the class column of several FASTA files, else no name."""
    return [CLASS] if len(paths) > 1 else []


def read_target(
    path: Path, y: NDArray[np.generic], n_rows: int, name: str, choice: ColumnChoice
) -> NDArray[np.generic]:
    """Return the targets; raise unless they are numbers or text, one per row."""
    if y.shape != (n_rows,):
        raise ValueError(
            f"Target {name!r} of {path} has shape {y.shape}, expected ({n_rows},): "
            "save one target for each row."
        )
    gaps = np.flatnonzero(pd.isna(y))
    if gaps.size:
        raise ValueError(
            f"Target {name!r} of {path} is missing at row {gaps[0]}: remove rows "
            "without a target."
        )
    valid, content = y.dtype.kind in NUMBERS + "U", str(y.dtype)
    if y.dtype.kind == "O":
        invalid = [value for value in y if not isinstance(value, WORDS)]
        if invalid and all(isinstance(value, Real | Decimal) for value in y):
            return y.astype(np.float64)
        valid, content = not invalid, shown(invalid[0]) if invalid else ""
    if not valid:
        raise ValueError(
            f"The targets of {path} must be real numbers, text or booleans, but "
            f"{name!r} holds {content}: convert the targets, for example dates to days "
            "since a reference date, or name another column."
        )
    # A saved model has `texts` if its classes are text.
    has_numbers = choice.is_known and name not in choice.texts
    if has_numbers or not choice.labels:
        option = choice.label_option
        advice = f", or use {option} to read all cells as classes" if option else ""
        refuse_odd_cell(f"Target {name!r}", y, advice)
        _refuse_amounts(f"Target {name!r}", y, advice)
        _refuse_texts(name, y, advice)
        _refuse_mixed(name, y, advice)
    return y


def _refuse_mixed(target: str, y: NDArray[np.generic], advice: str) -> None:
    """Raise if some cells of a target are numbers, and others are words."""
    texts = dict.fromkeys(cell for cell in y.tolist() if isinstance(cell, str))
    numbers = [text for text in texts if NUMBER.fullmatch(text)]
    words = [text for text in texts if not NUMBER.fullmatch(text)]
    # A single number may be a class, such as the blood group 0, unless the words are
    # truth values.
    is_class = len(numbers) == 1 and any(word.lower() not in TRUTH for word in words)
    if numbers and words and not is_class:
        row = y.tolist().index(words[0])
        raise ValueError(
            f"Target {target!r} mixes numbers, such as {numbers[0]!r}, and words, such "
            f"as {words[0]!r} at row {row}: correct the cells, or remove the "
            f"rows{advice}."
        )


def _refuse_texts(target: str, y: NDArray[np.generic], advice: str) -> None:
    """Raise if a target has more distinct texts than half its number of rows."""
    # Such texts are not classes. Targets with few rows are accepted (`mostly_differ`).
    # The error message ends with `advice`.
    distinct = dict.fromkeys(cell for cell in y.tolist() if isinstance(cell, str))
    if mostly_differ(len(distinct), len(y)):
        raise ValueError(
            f"Target {target!r} must hold numbers or classes, but holds "
            f"{len(distinct)} different texts in {len(y)} rows, such as "
            f"{next(iter(distinct))!r}: write numbers without units{advice}."
        )


def refuse_odd_cells(features: pd.DataFrame) -> None:
    """Raise for text columns of mostly numbers, and for those of dates or amounts."""
    dtypes = zip(features.columns, features.dtypes, strict=True)
    for name in [name for name, dtype in dtypes if dtype.kind not in NUMBERS + "mM"]:
        advice = f", or ignore the column with --drop '{name}'"
        refuse_odd_cell(f"Column {name!r}", features[name], advice)
        as_text = f", use --category '{name}' to read all cells as categories"
        date = f"it as 2024-01-31 and name the column with --date '{name}', or "
        cells = features[name].dropna()
        _refuse_amounts(f"Column {name!r}", cells, as_text + advice, date)


def refuse_odd_cell(subject: str, column: ArrayLike, advice: str = "") -> None:
    """Raise if most cells are numbers, and name the first cell that is not."""
    values = np.asarray(column)
    if values.dtype.kind not in "OU":
        return
    is_missing = [isinstance(cell, str) and cell in MISSING for cell in values.tolist()]
    odd_cell = first_odd_cell(np.where(is_missing, np.array(None), values))
    if odd_cell is not None:
        row, cell = odd_cell
        raise ValueError(
            f"{subject} holds {cell!r} at row {row}, and numbers in most other rows: "
            f"correct the cell{advice}."
        )


def refuse_text(subject: str, column: ArrayLike) -> None:
    """Raise for a text cell in a column that a model accepts as numbers only."""
    for row, cell in enumerate(np.asarray(column).tolist()):
        if isinstance(cell, str) and not NUMBER.fullmatch(cell):
            raise ValueError(
                f"{subject} holds {cell!r} at row {row}, but it held numbers when the "
                "model was fitted: convert the cells to numbers in the same unit."
            )


def _refuse_amounts(
    subject: str, column: ArrayLike, advice: str, date: str = ""
) -> None:
    """Raise if all cells are texts that represent dates, times of a day or numbers."""
    # The error message begins with `subject` and ends with `advice`. If the cells are
    # dates, it also contains the advice `date`.
    cells = np.asarray(column).tolist()
    if not cells or not isinstance(cells[0], str):
        return
    for meaning, pattern, write in MEANINGS:
        if all_match(pattern, cells):
            unusual = (
                c for c in cells if not (NUMBER.fullmatch(c) or ISO_DATE.fullmatch(c))
            )
            cell = next(unusual, cells[0])
            replacement = date + write if pattern in (DATE, MONTH_DATE) else write
            raise ValueError(
                f"{subject} holds {cell!r}, which means {meaning}: write "
                f"{replacement}{advice}."
            )
