"""Tables as they are in CSV, TSV and Parquet files, without repairs in silence."""

import csv
import io
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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


def read_frame(path: Path, source: Any) -> pd.DataFrame:
    """Return the table in a file, or in the bytes that stand for one."""
    if path.suffix == ".parquet":
        with naming_damage(path, "Parquet file"):
            return pd.read_parquet(path)
    # Without the repairs that pandas makes in silence.
    with naming_damage(path, "CSV file with a header"), warnings.catch_warnings():
        warnings.simplefilter("error", ParserWarning)  # rows beyond the header
        separator = _separator(path, source)
        header = _header(path, source, separator)
        frame = _parsed(source, separator, index_col=False, low_memory=False)
        if separator == ";":
            # Where semicolons part fields, commas are often decimal points.
            other = _parsed(
                source, separator, decimal=",", index_col=False, low_memory=False
            )
            frame = max(
                frame, other, key=lambda f: sum(k.kind in NUMBERS for k in f.dtypes)
            )
    doubled = first_repeated(name for name in header if name)
    if doubled is not None:
        raise ValueError(f"{path} has several columns named {doubled!r}.")
    return frame


def _header(path: Path, source: Any, separator: str) -> list[str]:
    """Return the names in the first line that is not blank, as they are.

    pandas would make names that are there twice different.
    """
    given = isinstance(source, io.BytesIO)
    held = io.BytesIO(source.getvalue()) if given else path.open("rb")
    with io.TextIOWrapper(held, encoding="utf-8-sig", newline="") as lines:
        records = csv.reader(lines, delimiter=separator)
        return next((r for r in records if len(r) > 1 or "".join(r).strip()), [])


def _parsed(source: Any, separator: str, **settings: Any) -> pd.DataFrame:
    """Return a table of text from a file, or once more from bytes."""
    if isinstance(source, io.BytesIO):
        source.seek(0)
    frame: pd.DataFrame = pd.read_csv(source, sep=separator, **settings)
    return frame


def _separator(path: Path, source: Any) -> str:
    """Return the separator of a header's fields; tell the user if it is no comma."""
    if path.suffix == ".tsv":
        return "\t"
    if isinstance(source, io.BytesIO):
        line = source.readline()
    else:
        with path.open("rb") as file:
            line = file.readline()
    separator = max(",;\t", key=lambda mark: line.count(mark.encode()))
    if separator != ",":
        name = "semicolons" if separator == ";" else "tabs"
        say(f"Fields of {path} are parted by {name}.", "Note:", stderr=True)
    return separator


def first_repeated(names: Iterable[str]) -> str | None:
    """Return the first name that is there more than once."""
    return next((name for name, n in Counter(names).items() if n > 1), None)
