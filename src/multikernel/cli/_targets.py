"""Targets of data files: numbers or labels, one per row, and no doubt which."""

import re
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from multikernel.cli._columns import CLASS, ColumnChoice
from multikernel.cli._frames import NUMBERS, first_repeated
from multikernel.datasets.csv_form import MISSING
from multikernel.estimators.read.kinds import is_missing, odd_cells

WORDS = (str, bool, int, float)

AMOUNT = re.compile(
    r"\s*[-+\u2212]?(\d{1,3}([.,'\s]\d{3})+|\d+)([.,]\d*)?\s*[%\u2030$\u20ac\u00a3]?\s*"
)
"""Numbers with decimal commas, with marks of thousands, or with a unit sign."""

DATE = re.compile(
    r"\s*(\d{4}-\d{1,2}-\d{1,2}([T ][\d:.+Z-]*)?|\d{1,2}([./-])\d{1,2}\3\d{2,4})\s*"
)
"""Days, as ISO 8601 and people write them."""

MEANINGS = (
    ("a date", DATE, "the days since one of them as numbers"),
    ("a number", AMOUNT, "it with a decimal point and digits alone"),
)
"""Text that is no class unless an option says so: what it is, and what to write."""


def read_targets(
    path: Path, names: list[str], columns: Any, n_rows: int, choice: ColumnChoice
) -> Any:
    """Return the targets: none, one as an array, several as a data frame."""
    read = {
        name: targets_of(path, np.asarray(columns[name]), n_rows, name, choice)
        for name in names
    }
    if len(read) < len(names):
        raise ValueError(f"--target names {first_repeated(names)!r} more than once.")
    if len(read) <= 1:
        return next(iter(read.values()), None)
    return pd.DataFrame(read)


def default_target(paths: Sequence[Path]) -> list[str]:
    """Return the target where none is named: the class of several FASTA files."""
    return [CLASS] if len(paths) > 1 else []


def targets_of(path: Path, y: Any, n_rows: int, name: str, choice: ColumnChoice) -> Any:
    """Return the targets if they are real numbers or words, one per row."""
    if y.shape != (n_rows,):
        raise ValueError(
            f"The targets of {path} have the shape {y.shape}, expected ({n_rows},): "
            "one per row."
        )
    kind = y.dtype.kind
    if kind == "O":
        missing = next((row for row, each in enumerate(y) if is_missing(each)), None)
        plain = all(isinstance(label, WORDS) for label in y if not is_missing(label))
    else:
        missing = int(np.argmax(np.isnan(y))) if kind == "f" else None
        missing = missing if missing is None or np.isnan(y[missing]) else None
        plain = kind in NUMBERS + "U"
    if missing is not None and n_rows:
        raise ValueError(
            f"Target {name!r} of {path} is missing at row {missing}: leave such rows "
            "out."
        )
    if not plain:
        raise ValueError(
            f"The targets of {path} must be real numbers, words or truth values, and "
            f"{name!r} holds {y.dtype}."
        )
    if not choice.labels:
        option = choice.label_option
        advice = f", or make classes of all with {option}" if option else ""
        refuse_odd_cell(f"Target {name!r}", y, advice)
        _refuse_amounts(f"Target {name!r}", y, advice)
    return y


def refuse_odd_cells(features: pd.DataFrame, *, known: bool = False) -> None:
    """Raise for a column of text that means numbers or dates, as a few cells show.

    Columns that are `known` to a model cannot be left out.
    """
    kinds = zip(features.columns, features.dtypes, strict=True)
    for name in [name for name, kind in kinds if kind.kind not in NUMBERS + "mM"]:
        advice = "" if known else f", or leave the column out with --drop '{name}'"
        refuse_odd_cell(f"Column {name!r}", features[name], advice)
        if not known:
            words = f", make categories of all with --category '{name}'"
            _refuse_amounts(f"Column {name!r}", features[name].dropna(), words + advice)


def refuse_odd_cell(what: str, column: Any, advice: str) -> None:
    """Raise for text that would be numbers but for a few cells, naming the first."""
    values = np.asarray(column)
    if values.dtype.kind not in "OU":
        return
    cells = values.tolist()
    if not all(isinstance(cell, Hashable) for cell in cells):
        return  # lists and structures, which are refused by their type
    values = np.array([None if cell in MISSING else cell for cell in cells], object)
    odd = odd_cells(values)
    if odd is not None:
        row, cell = odd
        raise ValueError(
            f"{what} holds {cell!r} at row {row} and otherwise numbers: correct the "
            f"cell{advice}."
        )


def _refuse_amounts(what: str, column: Any, advice: str) -> None:
    """Raise for text that means dates, or numbers such as 1.200,50 and 5 %."""
    cells = np.asarray(column).tolist()
    if not cells or not isinstance(cells[0], str):
        return
    for meaning, pattern, write in MEANINGS:
        if all(isinstance(cell, str) and pattern.fullmatch(cell) for cell in cells):
            raise ValueError(
                f"{what} holds {cells[0]!r}, which means {meaning}: write "
                f"{write}{advice}."
            )
