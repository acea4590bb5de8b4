"""Views of the data, categories and groups of samples on the command line."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from multikernel.cli._console import say
from multikernel.kernels import CategoryKernel, ColumnKernel, Kernel


@dataclass(frozen=True)
class ColumnChoice:
    """What the command line says about columns.

    Parameters
    ----------
    views : mapping from str to tuple of str, default={}
        Patterns of the columns of each view.
    categories : tuple of str, default=()
        Columns to compare as categories.
    group : str or None, default=None
        Column of the groups that cross-validation keeps together.
    """

    views: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    categories: tuple[str, ...] = ()
    group: str | None = None

    def find(self, columns: Sequence[str]) -> dict[str, list[str]]:
        """Return the columns of every view, and note those that are in none.

        Parameters
        ----------
        columns : sequence of str
            Those of the features.

        Returns
        -------
        views : dict of list of str
            Empty where no view is asked for.

        Raises
        ------
        ValueError
            If a pattern fits no column.
        """
        found: dict[str, list[str]] = {}
        for view, patterns in self.views.items():
            for pattern in patterns:
                if not any(fnmatchcase(column, pattern) for column in columns):
                    raise ValueError(
                        f"--view {view}: no column fits {pattern!r}; there are "
                        f"{', '.join(columns[:12])}{', ...' * (len(columns) > 12)}."
                    )
            found[view] = [
                c for c in columns if any(fnmatchcase(c, p) for p in patterns)
            ]
        used = {column for own in found.values() for column in own}
        say_ignored("in no view", [c for c in columns if found and c not in used])
        return found


def say_ignored(why: str, columns: Sequence[str]) -> None:
    """Note columns that are not used, on standard error."""
    if columns:
        more = f" and {len(columns) - 5} more" if len(columns) > 5 else ""
        names = ", ".join(columns[:5])
        say(f"Ignored columns {why}: {names}{more}.", "Note:", stderr=True)


Chosen = tuple[Sequence[Kernel], bool]
"""Kernels, and whether each column gets its own."""

PLAIN = ColumnChoice()
"""What holds where the command line says nothing."""


def parse_columns(
    views: Iterable[str] | None, categories: Iterable[str] | None, group: str | None
) -> ColumnChoice:
    """Return what the options about columns say.

    Parameters
    ----------
    views : iterable of str or None
        ``name=pattern``, several patterns parted by commas.
    categories : iterable of str or None
        Columns.
    group : str or None
        A column.

    Returns
    -------
    choice : ColumnChoice

    Raises
    ------
    ValueError
        If a view has no name or no pattern, or two have the same name.

    Examples
    --------
    >>> from multikernel.cli._views import parse_columns
    >>> parse_columns(["clinic=age,stage*"], None, None).views
    {'clinic': ('age', 'stage*')}
    """
    found: dict[str, tuple[str, ...]] = {}
    for text in views or ():
        name, _, given = text.partition("=")
        patterns = tuple(p.strip() for p in given.split(",") if p.strip())
        if not name.strip() or not patterns or name.strip() in found:
            raise ValueError(
                "--view takes name=column, a name once, several columns or patterns "
                f"parted by commas, such as expression=expr_*; got {text!r}."
            )
        found[name.strip()] = patterns
    return ColumnChoice(found, tuple(categories or ()), group)


def kernels_on(numbers: Sequence[str], chosen: Chosen) -> list[Kernel]:
    """Return kernels on columns of numbers, on each or on all: none without columns."""
    kernels, per_column = chosen
    sets: Sequence[Any] = numbers if per_column else [list(numbers)] if numbers else []
    return [ColumnKernel(kernel, each) for each in sets for kernel in kernels]


def view_kernels(
    views: Mapping[str, list[str]],
    categories: Sequence[str],
    chosen: Chosen | None,
) -> dict[str, Any]:
    """Return the ``kernels`` parameter for views.

    Parameters
    ----------
    views : mapping from str to list of str
        Their columns.
    categories : sequence of str
        Those that hold categories.
    chosen : (kernels, per column) or None
        None stands for the default ones.

    Returns
    -------
    kernels : dict
    """
    if chosen is None:
        return dict(views)
    kernels, per_column = chosen
    found: dict[str, Any] = {}
    for view, columns in views.items():
        words = [c for c in columns if c in categories]
        own = kernels_on([c for c in columns if c not in categories], chosen)
        if words:
            own.append(ColumnKernel(CategoryKernel(), words))
        # One set of all columns needs no name of its own.
        alone = not per_column and not words
        found[view] = (columns, list(kernels) if alone else own)
    return found
