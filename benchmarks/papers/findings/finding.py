"""A finding, and the results it is computed from."""

import json
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Row = dict[str, Any]
Rows = Sequence[Row]
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Results:
    """The result files of one paper.

    Parameters
    ----------
    folder : Path
        Where they are.
    """

    folder: Path

    def __call__(self, name: str) -> list[Row]:
        """Return the rows of a file, named without its suffix."""
        return list(self.content(name)["rows"])

    def content(self, name: str) -> Row:
        """Return a file with what stands around its rows."""
        return _content(self.folder / name)


@cache
def _content(place: Path) -> Row:
    """Return a file, read once: many claims rest on the same rows."""
    lines = place.with_name(f"{place.name}.jsonl")
    if lines.exists():
        text = lines.read_text(encoding="utf-8")
        return {"rows": [json.loads(line) for line in text.splitlines()]}
    text = place.with_name(f"{place.name}.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


@dataclass(frozen=True)
class Finding:
    """What was found of a claim.

    Parameters
    ----------
    text : str
        The figures, in a sentence.
    held, cases : int
        In how many cases the claim holds, and of how many.
    """

    text: str
    held: int
    cases: int


Find = Callable[[Results], Finding]


def finding(text: str, holds: Iterable[bool]) -> Finding:
    """Return a finding from its cases."""
    cases = list(holds)
    return Finding(text, sum(map(bool, cases)), len(cases))


def groups(rows: Rows, *keys: str) -> dict[tuple[Hashable, ...], list[Row]]:
    """Return rows by their values of some keys, in the order of the file."""
    found: dict[tuple[Hashable, ...], list[Row]] = {}
    for row in rows:
        if all(key in row for key in keys):
            found.setdefault(tuple(row[key] for key in keys), []).append(row)
    return found


def means(rows: Rows, value: str, *keys: str) -> dict[tuple[Hashable, ...], float]:
    """Return the mean of a value for every combination of keys."""
    return {
        key: float(np.mean([row[value] for row in part]))
        for key, part in groups(rows, *keys).items()
    }


def span(values: Iterable[float], form: str = ".1f") -> str:
    """Return the smallest and the largest value as text."""
    found = list(values)
    return f"{min(found):{form}} to {max(found):{form}}"


def exponents(
    rows: Rows, size: str, low: int, *keys: str
) -> dict[tuple[Hashable, ...], float]:
    """Return the power of a size that median seconds grow with, from `low` upwards.

    A straight line through the logarithms; a range that begins with small sizes is
    mostly overhead, and flatters. What has one size has no power.
    """
    found = {}
    for key, part in groups(rows, *keys).items():
        medians = {
            n: float(np.median([row["seconds"] for row in mine]))
            for (n,), mine in groups(part, size).items()
            if isinstance(n, int) and n >= low
        }
        if len(medians) > 1:
            places = np.log(list(medians))
            heights = np.log(list(medians.values()))
            found[key] = float(np.polyfit(places, heights, 1)[0])
    return found
