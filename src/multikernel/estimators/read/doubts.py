"""Doubts about data: one warning names the place, a value, and what settles it."""

import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from multikernel._validation import listed
from multikernel.estimators.read.kinds import (
    column_kind,
    first_name,
    is_frame,
    is_unnamed,
    odd_cells,
    reads_as_number,
    row_numbers,
)
from multikernel.exceptions import DataWarning, warn_user
from multikernel.kernels.sequence.tables import CATEGORIES


def warn_doubts(owner: str, sentences: Sequence[str]) -> None:
    """Warn once of all doubts about the data of an estimator."""
    if sentences:
        warn_user(f"{owner}: {'; '.join(sentences)}.", DataWarning)


def label_doubts(where: str, column: Any, labels: Collection[Any]) -> list[str]:
    """Return what is doubtful about a column of text with some different labels.

    A column of numbers may have one cell of text, unless it is categorical, and two
    labels may be one in two spellings.
    """
    texts = [label for label in labels if isinstance(label, str)]
    sentences = []
    some = any(reads_as_number(text, comma=True) for text in texts)
    odd = None
    if some and column_kind(column) != CATEGORIES:
        odd = odd_cells(column)
    if odd is not None:
        sentences.append(
            f"{where} holds {odd[1]!r} at row {odd[0]} and otherwise numbers, and is "
            "read as text: correct this cell and give numbers, or give "
            "pandas' astype('category') if they are categories"
        )
    if same := spellings(texts):
        pairs = [" and ".join(map(repr, sorted(labels))) for labels in same[:5]]
        more = f" and {len(same) - 5} more" if len(same) > 5 else ""
        sentences.append(
            f"{where} holds {', '.join(pairs)}{more}, which are one label but for "
            "blanks, capitals or zeros: replace one by the other if they are the same"
        )
    return sentences


def spellings(labels: Iterable[str]) -> list[list[str]]:
    """Return the labels that differ in blanks or capitals only, or are one number."""
    same: dict[str, list[str]] = {}
    for label in labels:
        plain = " ".join(unicodedata.normalize("NFKC", label).split()).casefold()
        plain = str(float(plain)) if reads_as_number(plain) else plain
        same.setdefault(plain, []).append(label)
    return [several for several in same.values() if len(several) > 1]


def warn_unseen(
    owner: str,
    n_rows: int,
    unseen: Mapping[str, Sequence[Any]],
    effect: str = "which equal no other",
) -> None:
    """Warn of values of categories that the fit has not met, by column.

    The `effect` says how the values are treated.
    """
    columns = []
    for name, values in unseen.items():
        different = list(dict.fromkeys(values))
        examples = listed(different[:3], len(different))
        columns.append(f"column {name} in {len(values)} of {n_rows} rows ({examples})")
    if columns:
        warn_user(
            f"{owner}: X holds categories that the fit has not met, {effect}: "
            f"{', '.join(columns)}. Compare their spelling with the data of the fit.",
            DataWarning,
        )


def row_number_doubts(X: Any) -> list[str]:
    """Return what to say of a frame whose first column holds row numbers."""
    name = first_name(X)
    if not (is_unnamed(name) and is_frame(X) and row_numbers(name, X[name])):
        return []
    return [
        f"the first column of X, {name!r}, holds row numbers, as to_csv writes "
        "them: leave it out, for example by pandas.read_csv(..., index_col=0)"
    ]


def warn_order(owner: str, X: Any, **others: Any) -> None:
    """Warn where targets or weights have the row labels of X in another order."""
    index = _row_labels(X)
    if index is None:
        return
    wrong = [name for name, given in others.items() if _moved(index, given)]
    if wrong:
        names = " and ".join(wrong)
        warn_user(
            f"{owner}: {names} and X have the same row labels in another order, and "
            f"rows are matched by position: give {wrong[0]}.loc[X.index] if labels "
            "count, or .to_numpy() if positions do.",
            DataWarning,
        )


def _row_labels(values: Any) -> Any:
    """Return the index of a frame or series of pandas, None of other data."""
    index = getattr(values, "index", None)
    return index if hasattr(index, "get_indexer_for") else None


def _moved(index: Any, given: Any) -> bool:
    """Return whether most row labels of an index are those of data, in another order.

    Fresh numbers from 0 on, which pandas gives by itself, count only as a whole.
    """
    labels = _row_labels(given)
    if labels is None or len(labels) != len(index) or index.equals(labels):
        return False
    if index.nlevels != labels.nlevels:
        return False
    common = labels.isin(index)
    if common.all():
        return bool(index.isin(labels).all())
    fresh = "RangeIndex" in (type(index).__name__, type(labels).__name__)
    mostly = 2 * np.count_nonzero(common) > len(index)
    return bool(not fresh and mostly and not index[common].equals(labels[common]))
