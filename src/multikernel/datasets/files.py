"""Check data files for missing columns, and read FASTA files."""

import os
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from multikernel.datasets.csv_form import NUMBER

FORMATS = (".csv", ".parquet")

SUFFIXES = (".fasta", ".fa", ".fna", ".ffn", ".faa", ".frn")
"""Suffixes of the names of FASTA files."""

BOM = "\xef\xbb\xbf"
"""The byte order mark of UTF-8, decoded as Latin-1."""

HEADERS = (
    " Besides the sequence, the columns of a FASTA file are the fields that every "
    "header has, such as class in '>name class=promoter'."
)


NO_COLUMN = "{path} has no column {missing}: use one of its columns {names}."
"""Message of `check_columns`, with the missing and the available columns."""


def check_columns(
    path: Path,
    present: Iterable[Hashable],
    names: Sequence[str],
    message: str = NO_COLUMN,
) -> None:
    """Raise if a requested column is not in a file, and name the available columns."""
    available = dict.fromkeys(present)
    missing = [name for name in names if name not in available]
    if missing:
        hint = HEADERS * (path.suffix.lower() in SUFFIXES)
        if available and all(NUMBER.fullmatch(str(name)) for name in available):
            hint = " The first row contains numbers: add a header with names."
        shown = _first(map(repr, missing)), _first(map(_visible, available))
        text = message.format(path=path, missing=shown[0], names=shown[1])
        raise ValueError(text + hint)


def _first(names: Iterable[str]) -> str:
    """Return the first twelve names, followed by dots if there are more."""
    every = [*names]
    return ", ".join(every[:12]) + ", ..." * (len(every) > 12)


def _visible(name: object) -> str:
    """Return a name, in quotes if it has leading, trailing or repeated blanks."""
    text = str(name)
    return text if text == " ".join(text.split()) else repr(text)


PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Fasta:
    """The records of a FASTA file.

    `names` are the first words of the headers. `fields` maps each key that all headers
    have, as ``key=value``, to its values.
    """

    names: list[str]
    sequences: list[str]
    fields: dict[str, list[str]]


def read_fasta(path: PathLike) -> Fasta:
    r"""Read a FASTA file.

    A header starts with ``>`` and a name; later words ``key=value`` are fields. A ``*``
    at the end of a sequence and empty lines are ignored.

    Parameters
    ----------
    path : str or path-like
        FASTA file in ASCII or Latin-1.

    Returns
    -------
    records : Fasta
        Names, sequences, and the fields that all headers have.

    Raises
    ------
    ValueError
        If the file does not start with a header, or a record has no letters.

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
            f"Record {record} of {path}, {names[record]!r}, has no letters: remove it."
        )
    fields = [
        dict(word.split("=", 1) for word in words[1:] if word.find("=") > 0)
        for words in headers
    ]
    common = [key for key in fields[0] if all(key in words for words in fields)]
    return Fasta(names, sequences, {k: [f[k] for f in fields] for k in common})


def _records(path: Path) -> tuple[list[list[str]], list[str]]:
    """Return the words of every header, and the sequences."""
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
                    f"{path} is not a FASTA file: line {number} comes before any "
                    "header: add a line that starts with '>' and a name above it."
                )
            elif line:
                parts[-1].append("".join(line.split()))
    if not headers:
        raise ValueError(
            f"{path} is not a FASTA file: no line starts with '>'. Pass a FASTA file."
        )
    # The letter "*" marks the end of a protein.
    return headers, ["".join(lines).removesuffix("*") for lines in parts]
