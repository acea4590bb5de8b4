"""Options of the command line about columns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import chain
from typing import Any

from multikernel.cli._messages import note

LISTS = ("target", "drop", "category", "sequence", "id", "date", "unpenalized")
"""Fields of `ColumnChoice` whose options are comma-separated lists of columns."""


@dataclass(frozen=True)
class ColumnChoice:
    """Values of the options of a command that select or describe columns."""

    # Fields that are options have the names of the options.

    target: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    # Event indicator of survival times, which is also the last target.
    event: str | None = None
    # Comma-separated column names or patterns of each view.
    view: Mapping[str, str] = field(default_factory=dict)
    # Columns that are categories.
    category: tuple[str, ...] = ()
    # Column with the groups of rows for cross-validation.
    group: str | None = None
    sequence: tuple[str, ...] = ()
    # Whether targets are classes, and the option with which a user declares this.
    labels: bool = False
    label_option: str = ""
    # Columns that a saved model was fitted on as text.
    texts: tuple[str, ...] = ()
    # `id` and `offset` are not features.
    id: tuple[str, ...] = ()
    offset: str | None = None
    date: tuple[str, ...] = ()
    # Periods that encode `date`.
    period: tuple[str, ...] = ()
    unpenalized: tuple[str, ...] = ()
    # Numeric columns of a saved model that no active kernel uses.
    unused: tuple[str, ...] = ()
    # Columns that a saved model was fitted on; None if no saved model names them.
    only: tuple[str, ...] | None = None

    def split_lists(self, present: Iterable[object]) -> "ColumnChoice":
        """Return a copy in which comma-separated texts are split into column names."""
        # `present` are the names of all columns.
        names = [str(name) for name in present]
        lists = ((key, split_names(getattr(self, key), names)) for key in LISTS)
        split: dict[str, Any] = {key: tuple(text) for key, text in lists}
        return replace(self, **split)

    @property
    def is_known(self) -> bool:
        """Whether a saved model determines the features."""
        return self.only is not None

    @property
    def always_text(self) -> set[str]:
        """Columns always read as text: those of a saved model, ids, and groups."""
        # Ids that a model also uses as features are read as features.
        groups = () if self.group is None else (self.group,)
        return {*self.texts, *groups} | ({*self.id} - {*(self.only or ())})

    @property
    def exact(self) -> set[str]:
        """Categories and classes: text if numbers would not reproduce their text."""
        return {*self.category, *(self.target if self.labels else ())}

    @property
    def lists(self) -> list[str]:
        """All columns named in the options, except the columns of views."""
        single = [name for name in (self.group, self.offset) if name is not None]
        return [*single, *chain.from_iterable(getattr(self, key) for key in LISTS)]

    def ignored(self, present: Iterable[str]) -> set[str]:
        """Return the columns of a file that are not converted to numbers."""
        # `present` are all columns of the file. If a saved model determines the columns
        # (`only`), the others are ignored, except targets and the offset.
        names = {*self.drop, *self.sequence, *self.date, *self.id}
        if self.group is not None:
            names.add(self.group)
        if self.only is not None:
            names |= {*present} - {*self.only, *self.target, self.offset}
        return names

    def find(self, columns: Sequence[str]) -> dict[str, list[str]]:
        """Return the columns of each view; raise for a pattern without matches."""
        by_view: dict[str, list[str]] = {}
        for view, pattern_text in self.view.items():
            selected = set()
            for pattern in split_names([pattern_text], columns):
                matching = {pattern} & {*columns}
                matching.update(c for c in columns if fnmatchcase(c, pattern))
                if not matching:
                    dots = ", ..." * (len(columns) > 12)
                    raise ValueError(
                        f"--view {view}: no column matches {pattern!r}; the columns "
                        f"are {', '.join(columns[:12])}{dots}. Correct the pattern."
                    )
                selected |= matching
            by_view[view] = [column for column in columns if column in selected]
        in_views = {column for matching in by_view.values() for column in matching}
        say_ignored("in no view", [c for c in columns if by_view and c not in in_views])
        return by_view


def split_names(texts: Iterable[str], columns: Iterable[object]) -> list[str]:
    """Split comma-separated names, except at commas inside a column name."""
    column_names = {str(column) for column in columns}
    names = []
    for text in texts:
        pieces = text.split(",")
        while pieces:
            # Of several column names with which the text may begin, take the longest.
            prefixes = [",".join(pieces[:n]) for n in range(len(pieces), 0, -1)]
            # A column name may begin or end with blanks.
            candidates = chain.from_iterable((text, text.strip()) for text in prefixes)
            found_names = (c for c in candidates if c in column_names)
            name = next(found_names, pieces[0].strip())
            pieces = pieces[name.count(",") + 1 :]
            names += [name] if name else []
    return names


def say_ignored(why: str, columns: Sequence[str]) -> None:
    """Print a note that names ignored columns and the reason."""
    if columns:
        more = f" and {len(columns) - 5} more" if len(columns) > 5 else ""
        names = ", ".join(columns[:5])
        note(f"Ignored columns {why}: {names}{more}.")


PLAIN = ColumnChoice()
"""Default column options, which name no columns."""


def parse_views(views: Iterable[str]) -> dict[str, str]:
    """Return the patterns of each view from texts such as ``name=pattern,pattern``."""
    patterns: dict[str, str] = {}
    for text in views:
        name, _, columns = text.partition("=")
        if not name.strip() or not columns.strip(", ") or name.strip() in patterns:
            raise ValueError(
                f"--view requires name=columns, such as expression=expr_*, got "
                f"{text!r}: give each view a name of its own, and columns or patterns, "
                "comma-separated."
            )
        patterns[name.strip()] = columns
    return patterns
