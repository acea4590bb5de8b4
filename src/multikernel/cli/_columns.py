"""Column options: views, categories, groups, and sequences (FASTA)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from multikernel.cli._messages import check_choice, say
from multikernel.datasets import read_fasta
from multikernel.kernels import CategoryKernel, ColumnKernel, Kernel
from multikernel.kernels.sequence import (
    Alphabet,
    SpectrumKernel,
    dna_dictionary,
    motif_dictionary,
    sequence_dictionary,
)
from multikernel.kernels.sequence.builders import ambiguous_bases, fitting_alphabet
from multikernel.kernels.sequence.letters import KNOWN, from_texts


@dataclass(frozen=True)
class ColumnChoice:
    """Options of the command line about columns, as given.

    `views` maps each view to comma-separated column names or patterns. `categories`
    and `sequences` are columns of text, and `group` is the column of cross-validation
    groups. `ids` and `offset` are no features, `dates` are columns of dates with some
    `periods`, and `unpenalized` columns have no kernels. `labels` is True if targets
    are classes, and `label_option` is the option that makes them classes. Of a saved
    model, `only` are the features, `texts` the text columns, and `unused` the columns
    of numbers that no kernel in use reads.
    """

    target: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    views: Mapping[str, str] = field(default_factory=dict)
    categories: tuple[str, ...] = ()
    group: str | None = None
    sequences: tuple[str, ...] = ()
    labels: bool = False
    label_option: str = ""
    texts: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    offset: str | None = None
    dates: tuple[str, ...] = ()
    periods: tuple[str, ...] = ()
    unpenalized: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None

    def named(self, present: Iterable[Any]) -> "NamedColumns":
        """Return what the options say on the columns that are present in a file."""
        names = [str(name) for name in present]
        parts = {each: tuple(parted(getattr(self, each), names)) for each in LISTS}
        single = tuple(name for name in (self.group, self.offset) if name is not None)
        by_text = [parts[each] for each in ("drop", "sequences", "dates", "ids")]
        ignored = {self.group, *chain.from_iterable(by_text)}
        if self.only is not None:
            ignored |= {*names} - {*self.only, *parts["target"], self.offset}
        labels = parts["target"] if self.labels else ()
        return NamedColumns(
            **parts,
            single=single,
            named=frozenset(chain(single, self.only or (), *parts.values())),
            ignored=frozenset(ignored),
            exact=frozenset(chain(parts["categories"], labels)),
            texts=frozenset(chain(self.texts, parts["ids"])),
            is_known=self.only is not None,
        )

    def find(self, columns: Sequence[str]) -> dict[str, list[str]]:
        """Return the columns of each view; raise for a pattern without matches."""
        by_view: dict[str, list[str]] = {}
        for view, text in self.views.items():
            fits: set[str] = set()
            for pattern in parted([text], columns):
                matching = {
                    c for c in columns if c == pattern or fnmatchcase(c, pattern)
                }
                if not matching:
                    raise ValueError(
                        f"--view {view}: no column matches {pattern!r}; the columns "
                        "are "
                        f"{', '.join(columns[:12])}{', ...' * (len(columns) > 12)}."
                    )
                fits |= matching
            by_view[view] = [column for column in columns if column in fits]
        used = {column for matching in by_view.values() for column in matching}
        say_ignored("in no view", [c for c in columns if by_view and c not in used])
        return by_view


LISTS = ("target", "drop", "categories", "sequences", "ids", "dates", "unpenalized")
"""Options that name several columns, comma-separated."""


@dataclass(frozen=True, kw_only=True)
class NamedColumns:
    """What the options say on the columns of one file.

    `single` are the group and the offset, and `named` all columns of options or of a
    saved model. `ignored` columns are unused or no numbers, `exact` ones stay text if
    numbers would lose a part of it, and `texts` are always text. `is_known` tells
    whether a saved model determines the columns.
    """

    target: tuple[str, ...]
    drop: tuple[str, ...]
    categories: tuple[str, ...]
    sequences: tuple[str, ...]
    ids: tuple[str, ...]
    dates: tuple[str, ...]
    unpenalized: tuple[str, ...]
    single: tuple[str, ...]
    named: frozenset[str]
    ignored: frozenset[str | None]
    exact: frozenset[str]
    texts: frozenset[str]
    is_known: bool

    @property
    def lists(self) -> list[str]:
        """Return the columns of all options."""
        parts = (getattr(self, each) for each in LISTS)
        return [*self.single, *chain.from_iterable(parts)]


def parted(given: Iterable[str], columns: Iterable[Any]) -> list[str]:
    """Split comma-separated names; a column name that contains commas stays whole.

    >>> from multikernel.cli._columns import parted
    >>> parted(["age,dose, daily", "site"], ["age", "dose, daily", "site"])
    ['age', 'dose, daily', 'site']
    >>> parted(["age, dose", " site"], ["age", "dose", " site"])
    ['age', 'dose', ' site']
    """
    column_names = {str(column) for column in columns}
    names = []
    for text in given:
        parts = text.split(",")
        while parts:
            candidates = [",".join(parts[:n]) for n in range(len(parts), 0, -1)]
            # A column name may begin or end with blanks.
            fits = (
                w
                for joined in candidates
                for w in (joined, joined.strip())
                if w in column_names
            )
            name = next(fits, parts[0].strip())
            parts = parts[name.count(",") + 1 :]
            names += [name] if name else []
    return names


def say_ignored(why: str, columns: Sequence[str]) -> None:
    """Print a note that names ignored columns and the reason."""
    if columns:
        more = f" and {len(columns) - 5} more" if len(columns) > 5 else ""
        names = ", ".join(columns[:5])
        say(f"Ignored columns {why}: {names}{more}.", "Note:", stderr=True)


KernelSet = tuple[Sequence[Kernel], bool]
"""Kernels, and whether each column gets its own."""

PLAIN = ColumnChoice()
"""Column options of a command without column options."""


def parse_views(views: Iterable[str]) -> dict[str, str]:
    """Return the patterns of each view; a view is ``name=pattern,pattern``.

    >>> from multikernel.cli._columns import parse_views
    >>> parse_views(["clinic=age,stage*"])
    {'clinic': 'age,stage*'}
    """
    patterns: dict[str, str] = {}
    for text in views:
        name, _, columns = text.partition("=")
        if not name.strip() or not columns.strip(", ") or name.strip() in patterns:
            raise ValueError(
                "--view requires name=columns with a new name, and columns or "
                "patterns separated by commas, such as expression=expr_*; got "
                f"{text!r}."
            )
        patterns[name.strip()] = columns
    return patterns


def kernels_on(numbers: Sequence[str], chosen: KernelSet) -> list[Kernel]:
    """Return kernels on each numeric column or on all of them; none without columns."""
    kernels, per_column = chosen
    sets: Sequence[Any] = numbers if per_column else [list(numbers)] if numbers else []
    return [ColumnKernel(kernel, each) for each in sets for kernel in kernels]


def view_kernels(
    views: Mapping[str, list[str]], categories: Sequence[str], chosen: KernelSet | None
) -> dict[str, Any]:
    """Return the ``kernels`` parameter for the columns of views."""
    if chosen is None:
        return dict(views)
    kernels, per_column = chosen
    kernels_of_views: dict[str, Any] = {}
    for view, columns in views.items():
        words = [c for c in columns if c in categories]
        on_numbers = kernels_on([c for c in columns if c not in categories], chosen)
        if words:
            on_numbers.append(ColumnKernel(CategoryKernel(), words))
        # Kernels on all columns of a view need no column names.
        alone = not per_column and not words
        kernels_of_views[view] = (columns, list(kernels) if alone else on_numbers)
    return kernels_of_views


COLUMN = "sequence"
"""Column name of the sequences in a FASTA file."""

NAME = "name"
"""Column name of the record names, in the output of predict."""

LONGEST: Mapping[str, int] = {"dna": 6, "rna": 6, "protein": 3}
"""Longest words of the spectra of each alphabet: a few thousand different words."""

CHOICES = ("default", "spectrum", "dna", "protein")


@dataclass(frozen=True)
class SequenceChoice:
    """Sequence options; if `alphabet` is None, the letters determine it."""

    kernels: str = "default"
    alphabet: str | None = None
    skip_letters: bool = False
    ignore_case: bool = False

    def find(self, frame: pd.DataFrame, column: str) -> list[Kernel]:
        """Return the kernels for a column of sequences."""
        check_choice("--sequence-kernels", self.kernels, CHOICES)
        name = self._alphabet(frame, column)
        alphabet = Alphabet(
            name,
            unknown="skip" if self.skip_letters else "error",
            lower="upper" if self.ignore_case else "error",
        )
        kernels: Any = []
        if self.kernels == "default":
            kernels = sequence_dictionary(frame[column], alphabet)
        elif self.kernels == "dna":
            kernels = dna_dictionary(alphabet=alphabet)
        elif self.kernels == "protein":
            kernels = motif_dictionary(alphabet=alphabet)
        else:
            sizes = range(1, LONGEST[name] + 1)
            kernels = [SpectrumKernel(k, alphabet) for k in sizes]
        return [kernels[m] for m in range(len(kernels))]

    def _alphabet(self, frame: pd.DataFrame, column: str) -> str:
        """Return the name of the alphabet of a column."""
        if self.alphabet is not None:
            check_choice("--alphabet", self.alphabet, KNOWN)
            return self.alphabet
        other = [value for value in frame[column] if not isinstance(value, str)]
        if other:
            raise ValueError(
                f"Column {column!r} holds {other[0]!r}, but sequences must be text."
            )
        texts = frame[column].tolist()
        texts = [text.upper() for text in texts] if self.ignore_case else texts
        letters, choices = set().union(*map(set, texts)), from_texts(texts)
        several = ambiguous_bases(choices)
        if several and self.skip_letters:
            return "rna" if "U" in letters and "T" not in letters else "dna"
        if several:
            raise ValueError(
                f"Column {column!r} holds {', '.join(several)} beside A, C, G and T: "
                "it may be DNA with ambiguous bases. Use --alphabet dna --skip-letters "
                "to skip these letters, or --alphabet protein."
            )
        if (name := fitting_alphabet(choices)) is not None:
            return name
        raise ValueError(
            f"The letters of column {column!r}, {''.join(sorted(letters))}, belong to "
            "no alphabet: choose --alphabet dna, rna or protein, and skip other "
            "letters with --skip-letters. If lower-case letters mark repeats, "
            "--ignore-case reads them as upper case."
        )


SPECTRA = SequenceChoice()
"""Sequence options of a command without sequence options."""


CLASS = "class"
"""Name of the target column made from the names of several FASTA files."""


def read_fasta_frames(paths: Sequence[Path]) -> pd.DataFrame:
    """Return the records of FASTA files; if there are several, each file is a class."""
    frames = [_read_fasta_frame(path) for path in paths]
    if len(frames) == 1:
        return frames[0]
    for path, frame in zip(paths, frames, strict=True):
        if CLASS in frame:
            raise ValueError(
                f"The headers of {path} contain the field class, but with several "
                "FASTA files each file name is a class: remove the field, or merge "
                "the files."
            )
        frame[CLASS] = path.stem
    if len({path.stem for path in paths}) < len(paths):
        raise ValueError(
            "Two FASTA files have the same name, which is their class: rename one of "
            "them."
        )
    # Only fields that all files have become columns.
    return pd.concat(frames, join="inner")


def _read_fasta_frame(path: Path) -> pd.DataFrame:
    """Return the records of a FASTA file, one column per field, indexed by name."""
    records = read_fasta(path)
    index = pd.Index(records.names, name=NAME)
    frame = pd.DataFrame({COLUMN: records.sequences}, index=index)
    for key, values in records.fields.items():
        numbers = pd.to_numeric(pd.Series(values, index=index), errors="coerce")
        frame[key] = values if numbers.isna().any() else numbers
    return frame
