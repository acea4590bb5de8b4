"""The form of a CSV file, for all readers: separator, header, and start of the rows."""

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "pipes"}
"""Separators of fields, and their names in messages."""

BLANK = " "
"""Separator that is tried last, because names often contain blanks."""

HEAD_ROWS = 100
"""Number of rows at the start of a file that determine its form."""

MISSING = frozenset(
    [
        *("NA", "N/A", "n/a", "<NA>", "#NA", "#N/A", "#N/A N/A", "NULL", "null"),
        *("None", "NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN"),
        "-1.#QNAN",
    ]
)
"""Words for a missing number. In text columns they are ordinary text."""

NUMBER = re.compile(
    r"\s*[-+]?((\d+\.?\d*|\.\d+)(e[-+]?\d+)?|inf|infinity)\s*", re.IGNORECASE | re.ASCII
)
WITH_COMMA = re.compile(
    r"\s*[-+]?(\d+(,\d*)?|\d{1,3}(\.\d{3})+(,\d*)?|,\d+)([eE][-+]?\d+)?\s*", re.ASCII
)
"""Number with a decimal comma; points may separate thousands."""
DECIMALS = {".": NUMBER, ",": WITH_COMMA}

_SEPARATOR_LINE = re.compile(r'\s*"?sep=([^\w"])"?\s*', re.IGNORECASE)
_MARKS = {
    "UTF-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "UTF-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}


@dataclass(frozen=True)
class CsvForm:
    """Separator, header, and start of the rows of a CSV file."""

    separator: str
    # Column names; a column without a name is ``Unnamed: 2``.
    names: tuple[str, ...]
    # Byte offset of the first row.
    start: int
    # Number of lines above the first row: header, comments, ``sep=;``.
    n_lines: int
    # Whether a line such as ``sep=;`` defines the separator.
    is_named: bool = False
    # Number of comment lines before the header.
    n_comments: int = 0

    def is_comment(self, text: str, n_fields: int) -> bool:
        """Return whether a row is a comment, from its first field and `n_fields`."""
        # Comments start with #. A row that starts with # is data, however, if it has as
        # many fields as the header, or if the header starts with # as well.
        begins = text.startswith("#") and not self.names[0].startswith("#")
        return begins and n_fields != len(self.names)


def find_form(file: BinaryIO, path: Path) -> CsvForm:
    """Return the form of an open CSV file; `path` is its name in messages."""
    file.seek(0)
    head = file.read(2**20)
    head += file.readline()
    lines = list(io.StringIO(_decode(head, path), newline=""))
    bom_length = len(codecs.BOM_UTF8) if head.startswith(codecs.BOM_UTF8) else 0
    text_lines = [k for k, line in enumerate(lines) if line.strip()]
    if not text_lines:
        raise ValueError(
            f"{path} is not a valid CSV file with a header: it is empty. Add a line of "
            "column names, and rows."
        )
    match = _SEPARATOR_LINE.fullmatch(lines[text_lines[0]])
    separator = match[1] if match else ("\t" if path.suffix.lower() == ".tsv" else None)
    first_line = text_lines[0] + 1 if match else text_lines[0]
    # The header usually follows ``sep=`` and comments; see `_header_line`.
    header, separator = _header_line(lines, first_line, separator, path)
    reader = csv.reader(lines[header:], delimiter=separator)
    # A name in quotes may contain line breaks, so the header may have several lines.
    names = _column_names(next(reader, []))
    if not names:
        raise ValueError(
            f"{path} is not a valid CSV file with a header: it ends before the header. "
            "Add a line of column names, and rows."
        )
    end = header + max(reader.line_num, 1)
    start = bom_length + len("".join(lines[:end]).encode())
    n_comments = sum(line.startswith("#") for line in lines[first_line:header])
    return CsvForm(separator, names, start, end, bool(match), n_comments)


def _decode(head: bytes, path: Path) -> str:
    """Return the first bytes of a file as text; raise if they are not UTF-8."""
    for name, marks in _MARKS.items():
        if head.startswith(marks):
            raise ValueError(f"{path} is {name} text: save it as UTF-8.")
    if b"\0" in head:
        raise ValueError(
            f"{path} is not a valid CSV file with a header: it contains a zero byte. "
            "Save it as UTF-8 text."
        )
    try:
        return head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(not_utf8(path, error)) from error


def not_utf8(path: Path, error: UnicodeDecodeError) -> str:
    """Return the error message for a file in another encoding."""
    byte = error.object[error.start]
    before = error.object[: error.start][-20:].decode(errors="replace")
    after = f" after {before!r}" if before else ""
    return f"{path} is not UTF-8 text (byte 0x{byte:02X}{after}): save it as UTF-8."


def _header_line(
    lines: Sequence[str], first_line: int, separator: str | None, path: Path
) -> tuple[int, str]:
    """Return the line number of the header, and the separator."""
    # A line that starts with # is a comment, unless it has as many fields as the next
    # line and that line contains numbers.
    text_lines = (k for k in range(first_line, len(lines)) if lines[k].strip())
    comment, header = None, first_line
    for header in text_lines:
        if not lines[header].startswith("#"):
            break
        comment = header
    if comment == header or header >= len(lines):  # the head has only comments
        header, comment = first_line, None
    separator = separator or _separator(lines[header:], path)
    if comment is not None:
        names, row = (
            next(csv.reader([lines[k]], delimiter=separator)) for k in (comment, header)
        )
        if len(names) == len(row) > 1 and any(map(NUMBER.fullmatch, row)):
            return comment, separator
    return header, separator


def _separator(lines: Sequence[str], path: Path) -> str:
    """Return the separator for which the first rows match the header best."""
    # Separators with regular rows come first, then those whose quotes enclose whole
    # fields in the header, then those with the best score.
    scores = {mark: _score(lines, mark) for mark in SEPARATORS}
    fitting = {mark: score for mark, score in scores.items() if score[0]}
    if not fitting and all(score[2] < 2 for score in scores.values()):
        blank = _score(lines, BLANK)
        if blank[0] and 2 * BLANK not in lines[0]:
            return BLANK
        word_counts = [len(line.split()) for line in lines[:HEAD_ROWS] if line.strip()]
        if len(word_counts) > 1 and word_counts[0] > 1 and len(set(word_counts)) == 1:
            raise ValueError(
                f"The fields of {path} are separated by several blanks: use commas, "
                "semicolons, tabs or single blanks."
            )
    if not fitting:
        return max(scores, key=lambda mark: scores[mark][2])
    quoted = {mark: fitting[mark] for mark in fitting if _quotes_fit(lines[0], mark)}
    fitting = quoted or fitting
    best = max(fitting.values())
    marks = [mark for mark, score in fitting.items() if score == best]
    if len(marks) > 1:
        names = " or ".join(SEPARATORS[mark] for mark in marks)
        raise ValueError(
            f"The separator of {path} is ambiguous ({names}): add a line above the "
            "header that consists of sep= and the separator, such as 'sep=;'."
        )
    return marks[0]


def _score(lines: Sequence[str], mark: str) -> tuple[bool, float, int]:
    """Return how well a separator fits, as a tuple; larger tuples are better."""
    # The tuple contains: whether most rows have as many fields as the header, the share
    # of fields that are numbers, and the number of fields of the header.
    records = list(islice(_records(lines, mark), HEAD_ROWS))
    if not records:
        return False, 0.0, 0
    header, *rows = records
    matching = [row for row in rows if len(row) == len(header)]
    fields = [field for row in matching for field in row]
    numeric = [f for f in fields if NUMBER.fullmatch(f) or WITH_COMMA.fullmatch(f)]
    is_regular = len(header) > 1 and (2 * len(matching) > len(rows) or not rows)
    return is_regular, len(numeric) / max(len(fields), 1), len(header)


def _quotes_fit(line: str, mark: str) -> bool:
    """Return whether quotes in a line enclose whole fields."""
    end = re.escape(mark)
    return '"' not in re.sub(rf'(^|{end})"(?:[^"]|"")*"(?={end}|$)', r"\1", line)


def _records(lines: Sequence[str], mark: str) -> Iterator[list[str]]:
    """Yield the fields of each row, up to the first row with invalid quotes."""
    records = csv.reader(lines, delimiter=mark, strict=True)
    try:
        for record in records:
            if len(record) > 1 or "".join(record).strip():
                yield record
    except csv.Error:
        return


def _column_names(header: Sequence[str]) -> tuple[str, ...]:
    """Return stripped column names, with names for unnamed columns as in pandas."""
    names: list[str] = []
    for index, name in enumerate(map(str.strip, header)):
        unnamed = f"Unnamed: {index}"
        while not name and unnamed in header:
            unnamed += ".1"
        names.append(name or unnamed)
    return tuple(names)


def comment_rows(file: BinaryIO, form: CsvForm) -> list[int]:
    """Return the numbers of the rows that are comments; blank lines count as rows."""
    file.seek(form.start)
    if not any(line.startswith(b"#") for line in file):
        return []
    file.seek(form.start)
    lines = io.TextIOWrapper(file, "utf-8", newline="")
    records = csv.reader(lines, delimiter=form.separator)
    row_numbers = [
        row
        for row, record in enumerate(records)
        if record and form.is_comment(record[0], len(record))
    ]
    lines.detach()  # keeps the file open
    return row_numbers


def decimal_mark(cells: Iterable[str], separator: str) -> str | None:
    """Return the mark, "." or ",", with which all cells are numbers, or None."""
    # Words for missing numbers are skipped. Commas are decimal marks only if they do
    # not separate fields.
    values = [cell for cell in cells if cell not in MISSING]
    for mark in ["."] if separator == "," else [".", ","]:
        if values and all(map(DECIMALS[mark].fullmatch, values)):
            return mark
    return None
