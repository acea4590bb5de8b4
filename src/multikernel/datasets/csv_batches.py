"""CSV files batch by batch, in the form that readers of whole files find as well."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from multikernel.datasets.csv_form import (
    MISSING,
    CsvForm,
    decimal_mark,
    find_form,
    mixed_marks,
)

BLOCK_BYTES = 2**23
"""Bytes that are read together; the first of them decide the types of columns."""

CONVERSION = re.compile(
    r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to [^:]+: "
    r"invalid value '(.*)'",
    re.DOTALL,
)
"""What pyarrow says of a cell that has not the type of those before."""


def csv_batches(
    path: Path,
    choose: Callable[[Sequence[str]], list[str]],
    text: Sequence[str] = (),
) -> Iterator[tuple[Any, float]]:
    """Yield batches of rows, and the share of the file that has been read.

    The function `choose` returns the columns to read, of all; those named `text` stay
    as they are written.
    """
    import pyarrow as pa
    from pyarrow import compute

    with path.open("rb") as file:
        form = find_form(file, path)
        file.seek(form.start)
        if not any(line.strip() for line in file):
            return
    columns_to_read = choose(form.names)
    types, mark = number_types(path, form, columns_to_read)
    types |= dict.fromkeys(text, pa.string())
    size = max(path.stat().st_size, 1)
    with (
        pa.OSFile(str(path)) as file,
        _naming_cell(path, form),
        _opened_csv(file, form, columns_to_read, types, mark) as batches,
    ):
        for batch in batches:
            # An empty field is missing among words as well.
            read = [
                compute.replace_with_mask(
                    c, compute.equal(c, ""), pa.scalar(None, c.type)
                )
                if pa.types.is_string(c.type)
                else c
                for c in batch.columns
            ]
            cleared = pa.RecordBatch.from_arrays(read, names=columns_to_read)
            yield cleared, min(file.tell() / size, 1.0)


def _opened_csv(
    file: Any,
    form: CsvForm,
    columns: Sequence[str],
    types: Mapping[str, Any],
    mark: str = ".",
) -> Any:
    """Return a reader of the rows of an open file."""
    from pyarrow import csv

    def judge(row: Any) -> str:
        return "skip" if form.is_comment(row.text, row.actual_columns) else "error"

    file.seek(form.start)
    return csv.open_csv(
        file,
        csv.ReadOptions(
            block_size=BLOCK_BYTES, use_threads=False, column_names=form.names
        ),
        csv.ParseOptions(
            delimiter=form.separator,
            newlines_in_values=True,
            invalid_row_handler=judge,
        ),
        csv.ConvertOptions(
            column_types=types,
            include_columns=columns,
            null_values=["", *MISSING],
            decimal_point=mark,
        ),
    )


def number_types(
    path: Path, form: CsvForm, columns: Sequence[str]
) -> tuple[dict[str, Any], str]:
    """Return the type of the columns of numbers, by the first rows, and their mark."""
    import pyarrow as pa

    def first(names: Sequence[str], types: Mapping[str, Any]) -> Any:
        with (
            pa.OSFile(str(path)) as file,
            _naming_cell(path, form),
            _opened_csv(file, form, names, types) as batches,
        ):
            return next(iter(batches))

    numeric = (pa.types.is_integer, pa.types.is_floating, pa.types.is_null)
    commas: list[str] = []
    points: list[str] = []
    batch = first(columns, {})
    for name, column in zip(columns, batch.columns, strict=True):
        kind = column.type
        if pa.types.is_string(kind):
            cells = (cell for cell in column.to_pylist() if cell)
            if decimal_mark(cells, form.separator) == ",":
                commas.append(name)
        elif any(of_kind(kind) for of_kind in numeric):
            points.append(name)
    if commas:
        written = first([commas[0], *points], dict.fromkeys(form.names, pa.string()))
        marks = zip([commas[0], *points], written.columns, strict=True)
        texts = {name: column.to_pylist() for name, column in marks}
        comma = _first_with(",", texts.pop(commas[0]))
        for name in points:
            if (point := _first_with(".", texts[name])) is not None:
                raise ValueError(mixed_marks(path, (commas[0], *comma), (name, *point)))
    # What is a whole number in the first block may be none in the next.
    types = dict.fromkeys([*points, *commas], pa.float64())
    return types, "," if commas else "."


def _first_with(mark: str, cells: Sequence[str]) -> Any:
    """Return the row and the text of the first cell with a mark, or None."""
    return next(((row, cell) for row, cell in enumerate(cells) if mark in cell), None)


@contextmanager
def _naming_cell(path: Path, form: CsvForm) -> Iterator[None]:
    """Name the column and the cell that does not read as those before it."""
    from pyarrow import ArrowInvalid

    try:
        yield
    except ArrowInvalid as error:
        found = CONVERSION.search(str(error))
        if found is None:
            raise
        column, row, cell = found.groups()
        where = "" if row is None else f" at row {int(row) - 1}"
        raise ValueError(
            f"Column {form.names[int(column)]!r} of {path} holds {cell!r}{where}, and "
            "only numbers before: correct the cell, or drop the column."
        ) from error
