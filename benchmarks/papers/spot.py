"""Measure a random part of stored rows again, and say how many still hold.

``python benchmarks/papers/spot.py hkl/table1 [--share 0.1] [--seed 20261126]`` draws
rows of a result file, leaves them out of a copy, and lets the paper's own script fill
it. The copy has rows for repeats that were never stored, so that only drawn rows are
measured. A row agrees if every result has the same three digits; times, passes and
commits do not count, because faster solvers are meant to change them. ``spot.json``
beside the results stores what was drawn and what agreed, and ``claims.py`` reports it
for rows that are older than the solvers.
Without names all parts are measured, about an hour of one core; a part that was
measured with today's solvers is left out, so that it can be stopped and goes on.
"""

import argparse
import itertools
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from provenance import commit, is_current, lines, sources

HERE = Path(__file__).parent
Row = dict[str, Any]

NOT_RESULTS = {
    *("seconds", "cpu", "cpu_seconds", "kernel_seconds", "ratio", "passes"),
    *("gap", "curve"),
    *("commit", "sources"),
}
"""What a faster solver may change: only that a tolerance is met is a result of it."""

DIGITS = 5e-3
"""Numbers agree to this share of the larger, three digits."""

MOST_REPEATS = 100
"""No paper's script repeats a setting more often."""

EXAMPLES = 50
"""At most so many pairs that differ are stored."""


@dataclass(frozen=True)
class Part:
    """A result file whose script goes on where it was stopped.

    Parameters
    ----------
    script : str
        What measures it, with its arguments; a row that is there is not measured again.
    by : tuple of str
        Facts that name a row, or some rows that the script measures together.
    names : tuple of str
        Facts that the script takes as options of these names, in the plural.
    inside : str
        The list inside a row whose entries are counted: the fits of a split, say. Of
        lists by name, the entries of all.
    """

    script: tuple[str, ...]
    by: tuple[str, ...]
    names: tuple[str, ...] = ()
    inside: str = ""

    def key(self, row: Row) -> tuple[Any, ...]:
        """Return what names a row."""
        return tuple(row.get(name, ASSUMED.get(name)) for name in self.by)

    def counted(self, row: Row, other: Row) -> list[tuple[Any, Any]]:
        """Return what is compared of two rows, in pairs."""
        if not self.inside:
            return [(row, other)]
        here, there = row[self.inside], other[self.inside]
        if not isinstance(here, dict):
            return list(zip(here, there, strict=True))
        names = [name for name in here if name in there]
        return [each for n in names for each in zip(here[n], there[n], strict=True)]

    def commands(self, drawn: Sequence[tuple[Any, ...]]) -> Iterator[list[str]]:
        """Yield the command lines that measure some rows."""
        places = [self.by.index(name) for name in self.names]
        wanted = dict.fromkeys(tuple(key[place] for place in places) for key in drawn)
        for values in wanted:
            words = [*self.script]
            for name, value in zip(self.names, values, strict=True):
                words += [OPTIONS[name], CHOSEN_WITH.get(value, str(value))]
                words += ["--cv"] if value in CHOSEN_WITH else []
            yield words


ASSUMED = {"scale": 1.0, "largest": 1024}
"""What rows of before a fact was written down were measured with."""

OPTIONS = {
    "set": "--sets",
    "kernel": "--kernels",
    "method": "--methods",
    "scale": "--scales",
    "largest": "--largest",
    "kind": "--kind",
}
CHOSEN_WITH = {"HKL by CV": "HKL", "HKL by CV, constant": "HKL"}
"""Methods that are measured beside another one, with ``--cv``."""

RUN = ("set", "kernel", "method", "scale")
FIGURE2 = ("figure2.py", "measure", "--splits", "100", "--set")
TABLE1 = ("table1.py", "measure", "--splits", "10", "--set")
PARTS = {
    "spicymkl/rivals": Part(("run.py", "--only", "rivals"), ("data", "split")),
    "lp_norm/table1": Part(("table1.py",), ("set", "split"), inside="mcc"),
    "lp_norm/published": Part(("published.py",), ("n", "M", "seed")),
    "lp_norm/figure2": Part(("figure2.py",), ("task", "n", "repeat", "p")),
    "group_omp/figure2": Part(("figure2.py",), ("data", "split", "method")),
    "hkl/table1": Part(("table1.py",), (*RUN, "largest", "repeat"), (*RUN, "largest")),
    "hkl/table2": Part(("table2.py",), (*RUN, "scaling", "repeat"), RUN),
    "hkl/figure2": Part(
        ("figure2.py",),
        ("method", "scale", "n_inputs", "rotated", "repeat"),
        ("method", "scale"),
    ),
    "hkl/recovery": Part(("recovery.py",), ("n", "correlated", "repeat")),
    **{
        f"local_rademacher/figure2_{name}": Part(
            (*FIGURE2, name), ("n", "split"), inside="rows"
        )
        for name in ("generated", "ecoli", "acceptor")
    },
    **{
        f"local_rademacher/table1_{name}": Part(
            (*TABLE1, name), ("kind", "split"), ("kind",)
        )
        for name in ("multiloc", "proteinfold")
    },
}


def agrees(row: Any, other: Any) -> bool:
    """Return whether all results of two rows have the same first digits."""
    if isinstance(row, dict) and isinstance(other, dict):
        shared = (row.keys() & other.keys()) - NOT_RESULTS
        return all(agrees(row[name], other[name]) for name in shared)
    if isinstance(row, list) and isinstance(other, list):
        return len(row) == len(other) and all(map(agrees, row, other))
    if isinstance(row, float) and isinstance(other, int | float):
        return math.isclose(row, other, rel_tol=DIGITS, abs_tol=DIGITS)
    return bool(row == other)


def measured_again(name: str, share: float, seed: int) -> Row:
    """Return how many rows of a part were drawn, and which of them hold."""
    paper, file = name.split("/")
    part, folder = PARTS[name], HERE / paper
    stored = _stored(folder, file)
    rows = _rows(stored)
    keys = [key for key in dict.fromkeys(map(part.key, rows)) if None not in key]
    size = math.ceil(share * len(keys))
    chosen = np.random.default_rng(seed).choice(len(keys), size, replace=False)
    drawn = {keys[place] for place in chosen}
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "results" / stored.name
        path.parent.mkdir()
        others = [row for row in rows if part.key(row) not in drawn]
        others += _never_stored(part, rows, drawn)
        _write(path, others)
        where = ["--results", str(path)] if paper == "hkl" else ["--output", scratch]
        for words in part.commands(sorted(drawn, key=str)):
            subprocess.run([sys.executable, *words, *where], cwd=folder, check=True)
        news = _rows(path)[len(others) :]
    wanted = [row for row in rows if part.key(row) in drawn]
    pairs = [(row, new) for row in wanted for new in news if _same(part, row, new)]
    pairs = [each for row, new in pairs for each in part.counted(row, new)]
    return {
        "seed": seed,
        "rows": len(rows),
        "drawn": sum(len(part.counted(row, row)) for row in wanted),
        "measured": len(pairs),
        "agree": sum(itertools.starmap(agrees, pairs)),
        "differ": [list(pair) for pair in pairs if not agrees(*pair)][:EXAMPLES],
        "commit": commit(),
        "sources": sources(paper),
    }


def _never_stored(part: Part, rows: Sequence[Row], drawn: set[Any]) -> list[Row]:
    """Return copies of drawn rows for the repeats of them that were never measured."""
    names = [name for name in ("repeat", "split") if name in part.by]
    stored = {part.key(row) for row in rows}
    copies = [
        {**row, name: number}
        for name in names
        for row in rows
        if part.key(row) in drawn
        for number in range(MOST_REPEATS)
    ]
    return [copy for copy in copies if part.key(copy) not in stored]


def _stored(folder: Path, file: str) -> Path:
    """Return the path of a result file, of a row a line where there is such a one."""
    grown = folder / "results" / f"{file}.jsonl"
    return grown if grown.exists() else grown.with_suffix(".json")


def _rows(path: Path) -> list[Row]:
    """Return the rows of a result file of either format."""
    if path.suffix == ".jsonl":
        return lines(path)
    return list(json.loads(path.read_text(encoding="utf-8"))["rows"])


def _write(path: Path, rows: Sequence[Row]) -> None:
    """Write rows as the paper's script will read them."""
    each = "".join(json.dumps(row) + "\n" for row in rows)
    whole = json.dumps({"rows": list(rows)})
    path.write_text(each if path.suffix == ".jsonl" else whole, encoding="utf-8")


def _same(part: Part, row: Row, other: Row) -> bool:
    """Return whether two rows are of the same run."""
    return part.key(row) == part.key(other) and all(
        row.get(name) == other.get(name) for name in ("method", "C", "loss")
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=20261126)
    options = parser.parse_args()
    for name in options.parts or PARTS:
        paper, file = name.split("/")
        path = HERE / paper / "results" / "spot.json"
        known = json.loads(path.read_text()) if path.exists() else {}
        if is_current(known.get(file, {}).get("sources"), paper):
            print(f"{name}: known, {known[file]['agree']} of {known[file]['drawn']}")
            continue
        found = measured_again(name, options.share, options.seed)
        known = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(known | {file: found}, indent=1) + "\n")
        print(f"{name}: {found['agree']} of {found['drawn']} rows agree", flush=True)


if __name__ == "__main__":
    main()
