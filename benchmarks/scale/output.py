"""Processes that measure, and where their findings are kept."""

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from problems import Split

HERE = Path(__file__).parent
OTHER_PYTHON = os.environ.get("MULTIKERNEL_RIVALS", sys.executable)
"""The interpreter of an environment that has himalaya and scMKL."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Options:
    """What a script was asked for."""

    quick: bool
    again: bool
    repeat: int
    limit: float
    most: float
    threads: int
    only: tuple[str, ...]
    output: Path


def options(description: str, parts: Sequence[str]) -> Options:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rows, seconds")
    parser.add_argument("--again", action="store_true", help="what is known as well")
    parser.add_argument("--repeat", type=int, default=1, help="runs, for a median")
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds a run")
    parser.add_argument("--most", type=float, default=np.inf, help="rows at most")
    parser.add_argument("--threads", type=int, default=2, help="of BLAS and ours")
    parser.add_argument("--only", nargs="+", choices=parts, default=list(parts))
    parser.add_argument("--output", type=Path, default=HERE)
    found = vars(parser.parse_args())
    return Options(**found | {"only": tuple(found["only"])})


class Results:
    """Rows by name in ``results/NAME.json``, written after each of them.

    Parameters
    ----------
    options : Options
        Where, and whether rows that are known are measured again.
    name : str
        The file.
    """

    def __init__(self, options: Options, name: str) -> None:
        self.options = options
        self.path = options.output / "results" / f"{name}.json"
        self.rows: dict[str, Row] = read(self.path)

    def measure(self, key: str, line: Sequence[str], facts: Mapping[str, Any]) -> None:
        """Run a command as often as asked for, and keep the median run."""
        # What took too long is not tried again; a program that failed may be mended.
        known = key in self.rows and "exit code" not in self.rows[key].get("failed", "")
        if known and not self.options.again:
            return
        limit, threads = self.options.limit, self.options.threads
        runs = [run(line, limit, threads) for _ in range(self.options.repeat)]
        runs.sort(key=lambda row: row.get("seconds", np.inf))
        stamp = {"date": datetime.date.today().isoformat(), "commit": commit()}
        used = {"repeat": len(runs), "threads": threads}
        row = {**facts, **runs[len(runs) // 2], **used, **stamp}
        print(key, *(f"{k}={v}" for k, v in row.items() if k != "report"), flush=True)
        # Others may have written to it meanwhile, of other parts.
        self.rows = read(self.path) | {key: row}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.rows, indent=1, default=float)
        self.path.write_text(f"{text}\n", encoding="utf-8")


def read(path: Path) -> dict[str, Row]:
    """Return what a file holds, nothing where there is none."""
    if not path.exists():
        return {}
    found: dict[str, Row] = json.loads(path.read_text(encoding="utf-8"))
    return found


def child(command: str, **task: Any) -> list[str]:
    """Return the line that runs a command of child.py."""
    return [sys.executable, str(HERE / "child.py"), command, json.dumps(task)]


def rival(method: str, split: Split, kernels: Any, folder: str) -> list[str]:
    """Return the line that runs a rival, its data written to a folder."""
    place = Path(folder) / "split.npz"
    np.savez(place, **vars(split))
    other = OTHER_PYTHON if method in ("himalaya", "scmkl") else sys.executable
    script = str(HERE / "rivals.py")
    return [other, script, method, str(place), json.dumps(kernels)]


def run(line: Sequence[str], limit: float, n_threads: int) -> Row:
    """Run a command in a process of its own; return what its last line says."""
    names = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"
    threads = dict.fromkeys(names, str(n_threads))
    with tempfile.TemporaryFile("w+") as errors:
        try:
            done = subprocess.run(
                line,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                timeout=limit,
                env=os.environ | threads,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"failed": f"stopped after {limit:.0f} s"}
        if done.returncode:
            errors.seek(0)
            last = errors.read().strip().splitlines()[-1:]
            return {"failed": f"exit code {done.returncode}: {' '.join(last)}"}
    found: Row = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def commit() -> str:
    """Return the commit that is measured."""
    line = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(line, capture_output=True, text=True, cwd=HERE, check=False)
    return done.stdout.strip() or "unknown"
