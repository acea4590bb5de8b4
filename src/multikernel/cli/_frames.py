"""Tables as they are in CSV, TSV and Parquet files, without repairs in silence."""

import csv
import io
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd
from pandas.errors import ParserWarning

from multikernel.cli._messages import say

NUMBERS = "biuf"
"""Kinds of arrays that hold real numbers, as numpy writes them."""


@contextmanager
def naming_damage(path: Path, kind: str) -> Iterator[None]:
    """Turn the errors that readers raise for a damaged file into one sentence."""
    try:
        yield
    except MemoryError:
        raise
    except ParserWarning as error:
        raise ValueError(
            f"{path} has rows with more fields than its header."
        ) from error
    except Exception as error:
        if getattr(error, "filename", None) is not None:
            raise  # the system says that it cannot be opened, and why
        reason = " ".join(str(error).split())
        raise ValueError(f"{path} is no {kind} ({reason}).") from error


def read_frame(path: Path, source: BinaryIO | None = None) -> pd.DataFrame:
    """Return the table in a file, or in an open one that stands for it."""
    if path.suffix == ".parquet":
        with naming_damage(path, "Parquet file"):
            return pd.read_parquet(path)
    # Without the repairs that pandas makes in silence.
    with (
        naming_damage(path, "CSV file with a header"),
        source or path.open("rb") as file,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error", ParserWarning)  # rows beyond the header
        separator = _separator(path, file)
        header = _header(file, separator)
        frame = _parsed(file, separator)
        if separator == ";":
            # Where semicolons part fields, commas are often decimal points.
            other = _parsed(file, separator, decimal=",")
            frame = max(
                frame, other, key=lambda f: sum(k.kind in NUMBERS for k in f.dtypes)
            )
    doubled = first_repeated(name for name in header if name)
    if doubled is not None:
        raise ValueError(f"{path} has several columns named {doubled!r}.")
    return frame


def _header(file: BinaryIO, separator: str) -> list[str]:
    """Return the names in the first line that is not blank, as they are.

    pandas would make names that are there twice different.
    """
    file.seek(0)
    lines = io.TextIOWrapper(file, "utf-8-sig", newline="")
    records = csv.reader(lines, delimiter=separator)
    header = next((r for r in records if len(r) > 1 or "".join(r).strip()), [])
    lines.detach()  # which would be closed with it
    return header


def _parsed(file: BinaryIO, separator: str, **settings: Any) -> pd.DataFrame:
    """Return the table of text in a file."""
    file.seek(0)
    frame: pd.DataFrame = pd.read_csv(
        file, sep=separator, index_col=False, low_memory=False, **settings
    )
    return frame


def _separator(path: Path, file: BinaryIO) -> str:
    """Return the separator of a header's fields; tell the user if it is no comma."""
    if path.suffix == ".tsv":
        return "\t"
    line = file.readline()
    separator = max(",;\t", key=lambda mark: line.count(mark.encode()))
    if separator != ",":
        name = "semicolons" if separator == ";" else "tabs"
        say(f"Fields of {path} are parted by {name}.", "Note:", stderr=True)
    return separator


def first_repeated(names: Iterable[str]) -> str | None:
    """Return the first name that is there more than once."""
    return next((name for name, n in Counter(names).items() if n > 1), None)
