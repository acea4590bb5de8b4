"""Measurements beside other packages: processor time, and rows that are kept.

All packages run in one process, in turn, so that a busy machine slows them alike; run
it with one BLAS thread.
"""

import csv
import datetime
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Hashable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.again import again
from benchmarks.papers.provenance import commit, processor

Row = dict[str, Any]
Found = TypeVar("Found")

PEERS = (
    *("numpy", "scipy", "scikit-learn", "himalaya", "celer", "skglm", "MKLpy"),
    *("scmkl", "torch", "cvxpy", "benchopt", "interpret-core", "pygam", "mapie"),
    *("catboost", "lightgbm"),
)


def cpu(work: Callable[[], Found]) -> tuple[Found, float]:
    """Return the result of a call, and its processor seconds.

    Seconds are at least the resolution of the clock, so that ratios exist.
    """
    start = time.process_time()
    found = work()
    least = time.get_clock_info("process_time").resolution
    return found, max(time.process_time() - start, least)


def limit_cpu(seconds: int) -> None:
    """End this process, by the system, after so many more seconds of the processor."""
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    resource.setrlimit(resource.RLIMIT_CPU, (int(used) + seconds,) * 2)


def in_child(script: str, *arguments: Any, **variables: str) -> dict[str, Any]:
    """Return what ``script --child`` prints; nothing of a process that was ended.

    `variables` are further variables of the environment.
    """
    line = [sys.executable, script, "--child", json.dumps(arguments)]
    done = subprocess.run(
        line,
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    # Below zero is the signal that a process ended by, as one does at its limit.
    if done.returncode > 0:
        raise RuntimeError(f"{line} ended with {done.returncode}.")
    found: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {}
    return found


def installed() -> dict[str, str]:
    """Return the versions of the peers that are here."""
    found = {}
    for name in PEERS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


class Results:
    """Rows in a JSON file, written after each of them; known ones are not made again.

    Parameters
    ----------
    path : Path
        The file.
    key : sequence of str
        The columns that tell rows apart.
    """

    def __init__(self, path: Path, key: Sequence[str]) -> None:
        self.path, self.key = path, tuple(key)
        self.rows: list[Row] = read(path) if path.exists() else []
        print(self._forecast(), flush=True)

    def _forecast(self) -> str:
        """Say before the work what is there, how long it took, and how to go on."""
        fits = [row.get("seconds") for row in self.rows]
        minutes = sum(each for each in fits if isinstance(each, int | float)) / 60
        return (
            f"{self.path}: {len(self.rows)} rows are kept, their fits alone took "
            f"{minutes:.1f} minutes. This can be stopped, and goes on where it was; "
            "remove a row, or the file, to measure it anew."
        )

    def known(self, **facts: Hashable) -> bool:
        """Return whether there is a row of these facts."""
        return any(facts.items() <= row.items() for row in self.rows)

    def add(self, **row: Any) -> None:
        """Keep a row, in place of one of the same key."""
        print(*(f"{name}={value}" for name, value in row.items()), flush=True)
        where = {name: row[name] for name in self.key}
        here = {"commit": commit(), "processor": processor()}
        # Another process may have written to it meanwhile, of other parts.
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        known = json.loads(text) if text else here | {"rows": []}
        # Rows of before this version have the processor of their file.
        rows = [{"processor": known["processor"]} | old for old in known["rows"]]
        self.rows = [old for old in rows if not where.items() <= old.items()]
        self.rows.append(row | here)
        content = {
            "date": datetime.date.today().isoformat(),
            "processor": processor(),
            "versions": installed(),
            "rows": self.rows,
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(content, indent=1, default=float)
        self.path.write_text(f"{text}\n", encoding="utf-8")


def read(path: Path) -> list[Row]:
    """Return the rows of a file of results."""
    found: list[Row] = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return found


def measured(path: Path) -> str:
    """Return when, where and by which versions rows were measured, and again."""
    content = json.loads(path.read_text(encoding="utf-8"))
    commits = sorted({row["commit"] for row in content["rows"]})
    processors = {row.get("processor", content["processor"]) for row in content["rows"]}
    packages = ", ".join(f"{name} {text}" for name, text in content["versions"].items())
    return (
        f"Measured on {content['date']} at commit {', '.join(commits)}, one thread of "
        f"{' or '.join(sorted(processors))}, with {packages}.\n{again(path)}"
    )


def write_csv(path: Path, lines: Sequence[Sequence[str]]) -> None:
    """Write a table for the site, its first line the columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)
