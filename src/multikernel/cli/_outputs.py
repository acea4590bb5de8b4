"""Output files, which are checked before a command starts, and standard output."""

import contextlib
import io
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import chain, repeat
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd
from rich.table import Column, Table
from rich.text import Text

from multikernel.cli._messages import console
from multikernel.display._style import pyplot
from multikernel.persistence import places
from multikernel.persistence.places import Place, write_to

if TYPE_CHECKING:
    from multikernel.display.base import Display

PICTURES = (".png", ".pdf", ".svg")
"""Suffixes of plot files."""

DASH = "-"
"""Name of standard input or standard output in place of a file."""


def find_output(
    output: Path | None,
    inputs: Iterable[Path] = (),
    formats: Sequence[str] = (),
    *,
    as_json: bool = False,
    option: str = "--output",
) -> Place:
    """Return the destination of an output; raise if it cannot be written."""
    # None and ``-`` mean standard output. With the option --json (`as_json`), JSON is
    # written there, so `output` must not name standard output, as ``-`` does.
    files = ["/dev/stdin" if str(path) == DASH else path for path in inputs]
    if output is None:
        return places.standard_output(files)
    if str(output) == DASH:
        target = places.standard_output(files)
    else:
        target = places.find_place(output, files)
    if target.is_standard_output and as_json:
        raise ValueError(
            f"--json and {option} {output} both write to standard output: remove "
            f"--json, or pass a file name to {option}."
        )
    if formats and target.file is not None and output.suffix.lower() not in formats:
        raise ValueError(
            f"Cannot write {output}: the name must end in one of "
            f"{', '.join(filter(None, formats))}."
        )
    return target


def ending(place: Place, formats: Sequence[str]) -> str:
    """Return the suffix of an output file if it is in `formats`, else `formats[0]`."""
    suffix = place.path.suffix.lower()
    return suffix if suffix in formats else formats[0]


def file_name(output: Path | None, place: Place) -> str | None:
    """Return the name of the output file, None for standard output."""
    return None if place.is_standard_output else str(output)


def redirected(place: Place, output: Path | None) -> AbstractContextManager[object]:
    """Redirect printed tables to standard error if `output` is standard output."""
    if output is not None and place.is_standard_output:
        return contextlib.redirect_stdout(sys.stderr)
    return contextlib.nullcontext()


Write = Callable[[pd.DataFrame], None]
"""Function that appends rows to a table."""


@contextmanager
def table_writer(place: Place, formats: Sequence[str]) -> Iterator[Write]:
    """Yield a function that appends the rows of a data frame to a file."""
    # `formats` are the supported suffixes of the file's name; see `ending`.
    headers = chain([True], repeat(False))  # only the first rows follow a header
    if place.is_standard_output:
        yield lambda frame: frame.to_csv(sys.stdout, index=False, header=next(headers))
        return
    # For an npz file, call the function only once, with all rows.
    suffix, parquet = ending(place, formats), None

    def append(frame: pd.DataFrame) -> None:
        nonlocal parquet
        if suffix == ".csv":
            frame.to_csv(file, mode="wb", index=False, header=next(headers))
        elif suffix == ".npz":
            # Lists of text become arrays of text, which need no pickle.
            arrays: dict[str, Any] = {
                str(k): np.array(frame[k].to_list()) for k in frame
            }
            np.savez_compressed(file, **arrays)
        else:
            import pyarrow as pa
            from pyarrow.parquet import ParquetWriter

            rows = pa.Table.from_pandas(frame, preserve_index=False)
            parquet = parquet or ParquetWriter(file, rows.schema)
            parquet.write_table(rows)

    def write(frame: pd.DataFrame) -> None:
        with places.naming_file(place.path):
            append(frame)

    with places.temporary_output(place) as file:
        try:
            yield write
        finally:
            if parquet is not None:
                with places.naming_file(place.path):
                    parquet.close()


Report = dict[str, Any]
"""Facts that a command prints, by key; values may be NumPy arrays and numbers."""


def print_json(report: Mapping[str, object]) -> None:
    """Write a report as JSON: NaN becomes null, infinity becomes text."""
    print(json.dumps(_jsonable(report), indent=2, allow_nan=False))


def _jsonable(value: object) -> object:
    """Return a value converted to types that JSON supports."""
    if isinstance(value, Mapping):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, np.generic | np.ndarray):
        return _jsonable(value.tolist())
    if isinstance(value, list | tuple):
        return [_jsonable(item) for item in value]
    if isinstance(value, float) and math.isinf(value):
        return str(value)
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


def aligned(*headings: str) -> list[Column]:
    """Return right-aligned table columns with these headings."""
    return [Column(heading, justify="right") for heading in headings]


def print_table(
    title: str, columns: Sequence[str | Column], rows: Iterable[Sequence[str | Text]]
) -> None:
    """Write a table to standard output; long cells are wrapped."""
    table = Table(*columns, title=title, title_justify="left")
    for column in table.columns:
        column.overflow = "fold"
    for row in rows:
        table.add_row(*row)
    console().print(table)


def print_facts(facts: Mapping[str, object], title: str) -> None:
    """Write aligned names and values to standard output."""
    table = Table(title=title, title_justify="left", box=None, show_header=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(name, readable(value))
    console().print(table)


def readable(value: object) -> str:
    """Return a value as text for a table."""
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    if isinstance(value, np.ndarray | list | tuple):
        return ", ".join(readable(item) for item in value)
    return str(value)


def agg_pyplot() -> ModuleType:
    """Return pyplot with a backend that draws into files only."""
    plt: ModuleType = pyplot()
    plt.switch_backend("Agg")
    return plt


class Drawable(Protocol):
    """A display that can be drawn."""

    def plot(self) -> "Display": ...


def save_plot(display: Drawable, place: Place) -> None:
    """Write a plot to a file; the suffix (.png, .pdf, .svg) selects the format."""
    plt = agg_pyplot()
    figure = display.plot().figure_
    picture = io.BytesIO()
    suffix = ending(place, PICTURES)
    figure.savefig(picture, dpi=120, format=suffix.removeprefix("."))
    plt.close(figure)
    write_to(place, picture.getvalue())
