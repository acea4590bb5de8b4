"""Files of data: tables larger than memory, batch by batch, and sequences (FASTA)."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from multikernel._install import how_to_install
from multikernel.datasets.csv_batches import csv_batches

BATCH_ROWS = 2**16
"""Rows of a batch: 10 MB of 20 columns."""

FORMATS = (".csv", ".parquet")

SUFFIXES = (".fasta", ".fa", ".fna", ".ffn", ".faa", ".frn")
"""Endings by which FASTA files are known."""

BOM = "\xef\xbb\xbf"
"""The byte order mark of UTF-8, decoded as Latin-1."""

HEADERS = (
    " Columns of a FASTA file beside the sequence are what every header has, such as "
    "class in '>name class=promoter'."
)


def read_batches(
    path: str | Path,
    columns: Sequence[str] | None = None,
    *,
    drop: Sequence[str] = (),
    text: Sequence[str] = (),
    tell: Callable[[float], None] | None = None,
) -> Iterator[Any]:
    r"""Read a CSV or Parquet file batch by batch.

    Numbers of a CSV file are read as float64. A column whose first cells are text stays
    text. Commas, semicolons, tabs, pipes or blanks may separate fields. Commas may be
    decimal marks if they do not separate fields.

    Parameters
    ----------
    path : str or Path
        The file, its name ending in .csv or .parquet.
    columns : sequence of str, optional
        Columns to read; all when left out.
    drop : sequence of str, default=()
        Columns to ignore.
    text : sequence of str, default=()
        Columns of a CSV file to read as text even if they hold numbers.
    tell : callable, optional
        Called after every batch with the share of the file that has been read.

    Yields
    ------
    batch : pyarrow.RecordBatch
        Up to 65 536 rows.

    Raises
    ------
    ImportError
        If pyarrow is not installed.
    ValueError
        If the file is of another kind, is damaged, or lacks a column.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from multikernel.datasets import read_batches
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "table.csv"
    ...     _ = path.write_text("a,b\n1,2\n3,4\n")
    ...     [batch.to_pydict() for batch in read_batches(path, drop=["b"])]
    [{'a': [1.0, 3.0]}]
    """
    place = Path(path)
    readers: Mapping[str, Any] = {
        ".csv": partial(csv_batches, text=text),
        ".parquet": _parquet_batches,
    }

    def choose(present: Sequence[str]) -> list[str]:
        return _columns_to_read(place, present, columns, drop)

    kind = place.suffix.lower()
    if kind not in readers:
        raise ValueError(
            f"Cannot read {place} by batches: the name must end in one of "
            f"{', '.join(readers)}."
        )
    with _naming_damage(place):
        from pyarrow import default_memory_pool

        try:
            for batch, share in readers[kind](place, choose):
                yield batch
                if tell is not None:
                    tell(share)
        finally:
            # The pool keeps what has been read: 250 MB after a file of 110 MB.
            default_memory_pool().release_unused()


def _parquet_batches(
    path: Path, choose: Callable[[Sequence[str]], list[str]]
) -> Iterator[tuple[Any, float]]:
    from pyarrow.parquet import ParquetFile

    # Small buffers: groups of rows, often the whole file, would be held otherwise.
    with ParquetFile(path, buffer_size=2**18, pre_buffer=False) as file:
        schema = file.schema_arrow
        # pandas stores an index as extra columns, which are no features.
        index = (schema.pandas_metadata or {}).get("index_columns", ())
        index_names = [name for name in index if isinstance(name, str)]
        names = [name for name in schema.names if name not in index_names]
        columns_to_read = choose(names)
        done, total = 0, max(file.metadata.num_rows, 1)
        # One group after another: what an iterator over all has read it keeps.
        for group in range(file.num_row_groups):
            for batch in file.iter_batches(
                BATCH_ROWS,
                row_groups=[group],
                columns=columns_to_read,
                use_threads=False,
            ):
                done += batch.num_rows
                yield batch.select(columns_to_read), done / total


def _columns_to_read(
    path: Path,
    present: Sequence[str],
    columns: Sequence[str] | None,
    drop: Sequence[str],
) -> list[str]:
    """Return the columns to read, or say which of those asked for are not there."""
    doubled = [name for name in present if present.count(name) > 1]
    if doubled:
        raise ValueError(f"{path} has several columns named {doubled[0]!r}.")
    check_columns(path, present, [*(columns or ()), *drop])
    wanted = present if columns is None else columns
    return [name for name in wanted if name not in drop]


def check_columns(path: Path, present: Iterable[Any], wanted: Sequence[str]) -> None:
    """Raise if something asked for is not in a file, and say what is."""
    given = dict.fromkeys(present)
    missing = [name for name in wanted if name not in given]
    if missing:
        some = ", ".join(map(_visible, [*given][:12])) + ", ..." * (len(given) > 12)
        about = HEADERS * (path.suffix.lower() in SUFFIXES)
        names = ", ".join(map(repr, missing))
        raise ValueError(f"{path} has no {names}; it has {some}.{about}")


def _visible(name: Any) -> str:
    """Return a name, in quotes where blanks are part of it that one may not see."""
    text = str(name)
    return text if text == " ".join(text.split()) else repr(text)


@contextmanager
def _naming_damage(path: Path) -> Iterator[None]:
    """Say what is missing or damaged in a sentence."""
    try:
        from pyarrow import ArrowException
    except ImportError as error:
        raise ImportError(
            f"Reading files by batches needs pyarrow: {how_to_install('cli')}.",
            name="pyarrow",
        ) from error
    try:
        yield
    except ArrowException as error:
        parquet = path.suffix.lower() == ".parquet"
        kind = "Parquet file" if parquet else "CSV file with a header"
        reason = " ".join(str(error).split())
        raise ValueError(f"{path} is no {kind} ({reason}).") from error


PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Fasta:
    """The records of a FASTA file.

    Parameters
    ----------
    names : list of str
        The first word of every header.
    sequences : list of str
        The letters, lines joined, as they are in the file.
    fields : dict of str to list of str
        What headers say as ``key=value``, for the keys that all of them have.
    """

    names: list[str]
    sequences: list[str]
    fields: dict[str, list[str]]


def read_fasta(path: PathLike) -> Fasta:
    r"""Read a FASTA file.

    A header starts with ``>``: a name, then any text, in which words of the form
    ``key=value`` are fields. A ``*`` at the end of a sequence, which ends translated
    proteins, is left out; empty lines say nothing.

    Parameters
    ----------
    path : str or path-like
        The file, in ASCII or Latin-1.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it does not start with a header, holds no record, or one without letters.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from multikernel.datasets import read_fasta
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "sites.fasta"
    ...     _ = path.write_text(">a label=1\nACG\nT\n>b label=-1\nAAC\n")
    ...     records = read_fasta(path)
    >>> records.names, records.sequences, records.fields
    (['a', 'b'], ['ACGT', 'AAC'], {'label': ['1', '-1']})
    """
    headers, sequences = _records(Path(path))
    names = [words[0] if words else "" for words in headers]
    if "" in sequences:
        record = sequences.index("")
        raise ValueError(
            f"Record {record} of {path}, {names[record]!r}, has no letters: leave it "
            "out."
        )
    fields = [
        dict(word.split("=", 1) for word in words[1:] if word.find("=") > 0)
        for words in headers
    ]
    common = [key for key in fields[0] if all(key in given for given in fields)]
    return Fasta(names, sequences, {k: [f[k] for f in fields] for k in common})


def _records(path: Path) -> tuple[list[list[str]], list[str]]:
    """Return the words of every header, and the letters that follow."""
    headers: list[list[str]] = []
    parts: list[list[str]] = []
    with path.open(encoding="latin-1") as file:
        for number, text in enumerate(file, start=1):
            line = text.strip()
            if number == 1:
                line = line.removeprefix(BOM)
            if line.startswith(">"):
                headers.append(line[1:].split())
                parts.append([])
            elif line and not parts:
                raise ValueError(
                    f"{path} is no FASTA file: line {number} comes before any header "
                    "(a line that starts with '>')."
                )
            elif line:
                parts[-1].append("".join(line.split()))
    if not headers:
        raise ValueError(f"{path} is no FASTA file: it has no record.")
    return headers, ["".join(lines).removesuffix("*") for lines in parts]
