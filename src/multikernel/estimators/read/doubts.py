"""Warnings about ambiguous data, with position, value and advice."""

import unicodedata
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel._validation import listed
from multikernel.datasets.csv_form import NUMBER
from multikernel.estimators.read import kinds
from multikernel.exceptions import DataWarning, warn_user
from multikernel.kernels.sequence.tables import CATEGORIES


def warn_doubts(owner: str, sentences: Sequence[str]) -> None:
    """Emit all sentences as one `DataWarning` of `owner`, the name of an estimator."""
    if sentences:
        warn_user(f"{owner}: {'; '.join(sentences)}.", DataWarning)


def label_doubts(where: str, column: object, labels: Collection[object]) -> list[str]:
    """Return a sentence for each sign of errors in a column of text, named `where`."""
    texts = [label for label in labels if isinstance(label, str)]
    sentences = []
    categorical = kinds.column_kind(column) == CATEGORIES
    odd_cell = None if categorical else kinds.first_odd_cell(column)
    if odd_cell is not None:
        sentences.append(
            f"{where} is read as text because it holds {odd_cell[1]!r} at row "
            f"{odd_cell[0]}, and numbers in most other rows: correct this cell and "
            "pass numbers, or use pandas' astype('category') if the column holds "
            "categories"
        )
    unusual = [text for text in texts if kinds.OTHER_NUMBERS.fullmatch(text.strip())]
    if len(unusual) > 1 and not categorical:
        sentences.append(
            f"{where} is read as text, although {min(unusual)!r} may be a "
            "hexadecimal number or a number in Fortran notation: convert the column to "
            "numbers, or use pandas' astype('category') if it holds categories"
        )
    if gaps := sorted({"nan", "NaT", "<NA>"} & {*texts}):
        sentences.append(
            f"{where} holds the text {gaps[0]!r}, which astype(str) writes for missing "
            "values: remove the rows with it, or rename it if it is a label"
        )
    if groups := similar_labels(texts):
        quoted = [" and ".join(map(repr, sorted(labels))) for labels in groups[:5]]
        suffix = f" and {len(groups) - 5} more" if len(groups) > 5 else ""
        sentences.append(
            f"{where} holds {', '.join(quoted)}{suffix} as different labels, "
            "although they differ only in blanks, invisible characters, capitals or "
            "the notation of a number: make them equal if they mean the same"
        )
    return sentences


def similar_labels(labels: Iterable[str]) -> list[list[str]]:
    """Return groups of labels that differ only in writing, such as "1" and " 01"."""
    groups: dict[str, list[str]] = {}
    for label in labels:
        plain = " ".join(unicodedata.normalize("NFKC", label).split()).casefold()
        # Category Cf contains invisible characters.
        plain = "".join(c for c in plain if unicodedata.category(c) != "Cf")
        plain = str(float(plain)) if NUMBER.fullmatch(plain) else plain
        groups.setdefault(plain, []).append(label)
    return [group for group in groups.values() if len(group) > 1]


def warn_unseen(
    owner: str,
    n_rows: int,
    unseen: Mapping[str, Sequence[Hashable]],
    effect: str = "which match no training sample",
) -> None:
    """Warn of category values not seen in `fit`; `effect` says how they are treated."""
    parts = []
    for name, values in unseen.items():
        distinct = list(dict.fromkeys(values))
        examples = listed(distinct[:3], len(distinct))
        parts.append(f"column {name} in {len(values)} of {n_rows} rows ({examples})")
    if parts:
        warn_user(
            f"{owner}: X holds categories not seen in fit, {effect}: "
            f"{', '.join(parts)}. Check their spelling against the training "
            "data.",
            DataWarning,
        )


def row_number_doubts(sheet: kinds.Sheet) -> list[str]:
    """Return a sentence if the first column of a frame holds row numbers."""
    names = sheet.names
    if not (names and kinds.row_numbers(names[0], sheet.column(0))):
        return []
    return [
        f"the first column of X, {names[0]!r}, holds row numbers, as to_csv writes "
        "them: drop it, for example with pandas.read_csv(..., index_col=0)"
    ]


def identifier_doubts(
    sheet: kinds.Sheet, table: Array, positions: Sequence[int]
) -> list[str]:
    """Return a sentence if named columns beside others hold the rows' numbers."""
    # The first columns of `table` are the columns of `sheet` at the given positions.
    names, n_rows = sheet.names or [], len(table)
    # A few values may be row numbers by chance, as in the command line.
    if len(names) < 2 or n_rows < 10:
        return []
    ends = table[0] + (n_rows - 1.0)
    counts_rows = ((table[0] == 0.0) | (table[0] == 1.0)) & (table[-1] == ends)
    identifiers = [
        names[position]
        for index, position in enumerate(positions)
        if counts_rows[index]
        and position not in sheet.texts
        and (np.diff(table[:, index]) == 1.0).all()
        and not (position == 0 and kinds.row_numbers(names[0], sheet.column(0)))
    ]
    if not identifiers:
        return []
    return [
        f"these columns of X number the rows: {listed(identifiers)}; drop them, unless "
        "they are features, such as times"
    ]


def integer_doubts(
    sheet: kinds.Sheet, table: Array, positions: Sequence[int]
) -> list[str]:
    """Return a list: one sentence if large integers merge in `table`, else empty."""
    # Different integers of `sheet` merge if they are equal as float64.
    if getattr(sheet.table, "dtype", np.dtype(object)).kind in "bf":
        return []
    # The first columns of `table` are the columns of `sheet` at the given positions.
    columns = table[:, : len(positions)]
    largest = np.fmax(np.fmax.reduce(columns), -np.fmin.reduce(columns))
    merged_columns = []
    for position in np.flatnonzero(largest >= kinds.LARGEST_INTEGER).tolist():
        cells = sheet.column(positions[position])
        if merges_integers(cells, columns[:, position]):
            merged_columns.append(sheet.name(positions[position]))
    if not merged_columns:
        return []
    return [
        f"column {listed(merged_columns)} of X holds different integers above 2**53 "
        "that are equal as float64: subtract a constant from them, or drop "
        "columns of identifiers"
    ]


def merges_integers(cells: Iterable[Hashable], values: Array) -> bool:
    """Return whether different cells of a column are equal in its float64 values."""
    exact_values = {None if kinds.is_missing(cell) else cell for cell in cells}
    return len(exact_values) > np.unique(values).size


def warn_order(
    owner: str, X: object, labels: tuple[str, ...] | None = None, **arguments: object
) -> None:
    """Warn if `arguments`, such as y, have the row labels of X in another order."""
    # `labels` are those of the rows of Gram matrices in a fit.
    index = getattr(X, "index", None)
    moved = []
    for name, values in arguments.items():
        rows: Any = getattr(values, "index", None)
        if not hasattr(rows, "get_indexer_for"):
            continue
        if labels is not None:
            is_moved = {*rows} == {*labels} and tuple(rows) != labels
        else:  # only pandas objects have such an index
            is_moved = hasattr(index, "get_indexer_for") and _is_moved(index, rows)
        if is_moved:
            moved.append(name)
    if moved:
        names = " and ".join(moved)
        order = "X.index" if labels is None else "list(X.labels)"
        sorted_rows = " and ".join(f"{name}.loc[{order}]" for name in moved)
        arrays = " and ".join(f"{name}.to_numpy()" for name in moved)
        warn_user(
            f"{owner}: {names} and X have the same row labels in different orders, but "
            f"rows are matched by position: pass {sorted_rows} to match by label, or "
            f"{arrays} if the positions are correct.",
            DataWarning,
        )


def _is_moved(index: Any, labels: Any) -> bool:
    """Return whether `labels` are mostly those of `index`, in another order."""
    # Default labels of pandas (0, 1, ...) are compared only if `index` and `labels`
    # contain the same labels.
    if len(labels) != len(index):
        return False
    if index.equals(labels) or index.nlevels != labels.nlevels:
        return False
    shared = labels.isin(index)
    if shared.all():
        return bool(index.isin(labels).all())
    is_default = "RangeIndex" in (type(index).__name__, type(labels).__name__)
    mostly = 2 * np.count_nonzero(shared) > len(index)
    return bool(not is_default and mostly and not index[shared].equals(labels[shared]))
