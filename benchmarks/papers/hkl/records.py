"""Results as lines of JSON, one per run, so that a table can be resumed."""

import argparse
import json
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent


def arguments(description: str | None, name: str) -> argparse.Namespace:
    """Return the options that all tables share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="tiny sizes")
    parser.add_argument("--sets", nargs="*", help="data sets; all by default")
    parser.add_argument("--kernels", nargs="*", default=["pol4", "rbf"])
    parser.add_argument("--methods", nargs="*", help="methods; all by default")
    parser.add_argument("--repeats", type=int, help="random halves or draws")
    parser.add_argument("--cv", action="store_true", help="choose lambda as well")
    parser.add_argument(
        "--results", type=Path, default=HERE / "results" / f"{name}.jsonl"
    )
    return parser.parse_args()


def commit() -> str:
    """Return the commit that is measured."""
    line = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(line, capture_output=True, text=True, cwd=HERE, check=False)
    return done.stdout.strip() or "unknown"


class Records:
    """What was measured, in a file that only grows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.commit = commit()
        lines = path.read_text().splitlines() if path.exists() else []
        self.rows: list[dict[str, Any]] = [json.loads(line) for line in lines]

    def once(self, key: dict[str, Any], measure: Callable[[], dict[str, Any]]) -> None:
        """Measure and write, unless it was done before."""
        if any(all(row.get(k) == v for k, v in key.items()) for row in self.rows):
            return
        start = time.process_time()
        found = measure()
        row = key | found | {"cpu": round(time.process_time() - start, 2)}
        row["commit"] = self.commit
        self.rows.append(row)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(json.dumps(row), flush=True)

    def cells(self, by: Iterable[str], value: str) -> dict[tuple[Any, ...], str]:
        """Return mean, deviation and number of a value for every combination."""
        groups: dict[tuple[Any, ...], list[float]] = {}
        for row in self.rows:
            if row.get(value) is not None:
                groups.setdefault(tuple(row[k] for k in by), []).append(row[value])
        return {
            key: f"{np.mean(values):.2f} ± {np.std(values):.2f} ({len(values)})"
            for key, values in groups.items()
        }
