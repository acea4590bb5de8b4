"""Tables that come in batches: read once, in order, into a file."""

from collections.abc import Iterable, Sequence
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel.estimators.read.kinds import (
    column_values,
    kinds_of,
    names_of,
    refuse_kinds,
)
from multikernel.estimators.read.numbers import ENCODE, Spooled, refuse_shared_names
from multikernel.estimators.read.targets import read_quantity
from multikernel.gram.temporary import PathLike, TemporaryFolder
from multikernel.kernels.sequence.tables import NUMBERS


def spool(source: Any, target: Any = None, folder: PathLike | None = None) -> Spooled:
    """Read batches into a file, in a folder or among the system's temporary ones.

    The `source` is an iterator of batches (record batches or tables of pyarrow, data
    frames, pairs (X, y) of arrays, or arrays) or a dataset of pyarrow, and `target` the
    column of the targets; or the targets themselves, or None where batches are pairs or
    have none. Batches that differ in their columns, or hold no numbers, are refused.
    """
    if isinstance(source, Spooled):
        return source
    batches = source.to_batches() if hasattr(source, "to_batches") else source
    column = target if isinstance(target, str) else None
    made = TemporaryFolder(folder)
    try:
        table = _written(batches, column, made.path / "table.bin")
        made.hold_for(table.X.base)
    except BaseException:
        made.remove()
        raise
    if column is None and target is not None:
        return Spooled(table.X, target, table.names)
    return table


def _written(batches: Iterable[Any], column: str | None, path: Path) -> Spooled:
    """Write batches to a file one after another, and return it as a table."""
    n_rows, names, targets = 0, None, []
    width: int | None = None
    with FileIO(path, "wb") as file:
        for number, batch in enumerate(batches):
            batch_names, X, y = unpacked(batch, column, n_rows)
            if width is not None and (batch_names, X.shape[1]) != (names, width):
                raise ValueError(
                    f"Batch {number} has other columns than those before: "
                    f"{batch_names or X.shape[1]} in place of {names or width}."
                )
            names, width = batch_names, X.shape[1]
            _append(file, X)
            n_rows += X.shape[0]
            targets += [] if y is None else [y]
    if not n_rows or not width:
        raise ValueError("There is no row in any batch.")
    mapped = np.memmap(path, np.float64, "r+", shape=(n_rows, width))
    y = np.concatenate(targets) if targets else None
    return Spooled(np.asarray(mapped), y, names)


def _append(file: FileIO, X: Array) -> None:
    """Write rows at the end of a file without a buffer: all of them, or raise."""
    remaining = X.reshape(-1).view(np.uint8)
    try:
        while remaining.size:
            remaining = remaining[file.write(remaining.data) :]
    except OSError as error:
        text = f"the rows of the batches cannot be written ({error.strerror})"
        raise OSError(error.errno, text, str(file.name)) from error


def unpacked(
    batch: Any, target: str | None, first_row: int = 0
) -> tuple[tuple[str, ...] | None, Array, Array | None]:
    """Return the names of a batch's columns, its numbers, and its targets.

    A batch is one of those that `spool` takes, `target` the column of the targets, and
    `first_row` the number of its first row, for messages.
    """
    columns = names_of(batch)
    where = f"the batch from row {first_row} on"
    if isinstance(batch, tuple):
        X, y = batch
        return *unpacked(X, None, first_row)[:2], None if y is None else np.asarray(y)
    if columns is None:
        return None, _matrix(batch, where), None
    refuse_shared_names(columns, "a batch")
    names = {str(column): column for column in columns}
    if target is not None and target not in names:
        raise ValueError(f"A batch has no column {target!r}; it has {[*names][:12]}.")
    kinds = dict(zip(names, kinds_of(batch), strict=True))
    features = tuple(name for name in names if name != target)
    refuse_kinds(features, [kinds[name] for name in features], where)
    X = np.empty((len(batch), len(features)))
    for number, name in enumerate(features):
        if kinds[name] != NUMBERS:
            raise ValueError(
                f"Column {name!r} holds no numbers but {kinds[name]} (rows from "
                f"{first_row} on): {ENCODE}"
            )
        X[:, number] = read_quantity(batch[names[name]], f"Column {name!r}")
    y = None if target is None else column_values(batch[names[target]])
    return features, X, y if y is None or y.dtype.kind != "O" else _labels(y)


def _matrix(X: Any, where: str) -> Array:
    """Return a batch without names as numbers, rows and columns."""
    values = np.asarray(X)
    if values.ndim != 2:
        raise ValueError(
            f"A batch must have two dimensions, got {values.ndim}: rows and columns."
        )
    refuse_kinds(range(values.shape[1]), kinds_of(values), where)
    return np.ascontiguousarray(values, dtype=np.float64)


def _labels(y: Array) -> Array:
    """Return words as an array of words; a missing one stays None."""
    words: Sequence[Any] = y.tolist()
    return np.array(words) if all(isinstance(w, str) for w in words) else y
