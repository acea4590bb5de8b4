"""Output files: validated before a command starts, and tables written to them."""

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from multikernel.persistence.places import (
    Place,
    filled,
    find_place,
    standard_output,
    written,
)

DASH = "-"
"""Name of standard input or standard output in place of a file."""


def find_output(
    output: Path | None,
    inputs: Iterable[Path] = (),
    formats: Sequence[str] = (),
    *,
    json: bool = False,
) -> Place:
    """Return the output place; raise if it cannot be written.

    None and ``-`` are standard output, which cannot be combined with JSON. File names
    must end in one of the `formats`.
    """
    files = ["/dev/stdin" if str(path) == DASH else path for path in inputs]
    if output is None:
        return standard_output(files)
    target = (
        standard_output(files) if str(output) == DASH else find_place(output, files)
    )
    if target.is_standard_output and json:
        raise ValueError(
            f"--json and --output {output} both write to standard output: remove "
            "--json, or write the output to a file."
        )
    if formats and target.file is not None and output.suffix.lower() not in formats:
        raise ValueError(
            f"Cannot write {output}: the name must end in one of "
            f"{', '.join(filter(None, formats))}."
        )
    return target


def ending(place: Place, formats: Sequence[str]) -> str:
    """Return the suffix of the output format: of the file, or the first format."""
    suffix = place.path.suffix.lower()
    return suffix if suffix in formats else formats[0]


def file_name(output: Path | None, place: Place) -> str | None:
    """Return the name of the output file, None for standard output."""
    return None if place.is_standard_output else str(output)


def beside(place: Place, output: Path | None) -> AbstractContextManager[object]:
    """Redirect tables to standard error if standard output receives a file."""
    if output is not None and place.is_standard_output:
        return contextlib.redirect_stdout(sys.stderr)
    return contextlib.nullcontext()


Write = Callable[[pd.DataFrame], None]
"""Function that appends rows to a table."""


@contextmanager
def table_writer(place: Place, formats: Sequence[str]) -> Iterator[Write]:
    """Yield a function that appends the rows of a data frame to a file.

    Standard output gets CSV. An npz file takes one data frame.
    """
    headers = chain([True], repeat(False))
    if place.is_standard_output:
        yield lambda frame: frame.to_csv(sys.stdout, index=False, header=next(headers))
        return
    kind, parquet = ending(place, formats), None

    def append(frame: pd.DataFrame) -> None:
        """Append the rows of a data frame to the file."""
        nonlocal parquet
        if kind == ".csv":
            frame.to_csv(file, mode="wb", index=False, header=next(headers))
        elif kind == ".npz":
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
        with written(place.path):
            append(frame)

    with filled(place) as file:
        try:
            yield write
        finally:
            if parquet is not None:
                with written(place.path):
                    parquet.close()
