"""Results as lines of JSON, one per run, so that a table can be resumed."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))

from provenance import provenance

HERE = Path(__file__).parent

ASSUMED = {"scale": 1.0, "largest": 1024}
"""What rows of before a key was there were measured with."""


def arguments(description: str | None, name: str) -> argparse.Namespace:
    """Return the options that all tables share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="tiny sizes")
    parser.add_argument("--sets", nargs="*", help="data sets; all by default")
    parser.add_argument("--kernels", nargs="*", default=["pol4", "rbf"])
    parser.add_argument("--methods", nargs="*", help="methods; all by default")
    parser.add_argument("--repeats", type=int, help="random halves or draws")
    parser.add_argument("--scales", nargs="*", type=float, help="scales of the inputs")
    parser.add_argument("--cv", action="store_true", help="choose lambda as well")
    parser.add_argument(
        "--largest", type=int, default=1024, help="training samples with rbf, at most"
    )
    parser.add_argument(
        "--results", type=Path, default=HERE / "results" / f"{name}.jsonl"
    )
    return parser.parse_args()


class Records:
    """What was measured, in a file that only grows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self.rows: list[dict[str, Any]] = [json.loads(line) for line in lines]

    def once(self, key: dict[str, Any], measure: Callable[[], dict[str, Any]]) -> None:
        """Measure and write, unless it was done before."""
        if any(_is(row, key) for row in self.rows):
            return
        start = time.process_time()
        found = measure()
        row = key | found | {"cpu": round(time.process_time() - start, 2)}
        row |= provenance("hkl")
        self.rows.append(row)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(json.dumps(row), flush=True)

    @property
    def plain(self) -> list[dict[str, Any]]:
        """Return the rows whose inputs were not scaled."""
        return [row for row in self.rows if _is(row, ASSUMED)]

    def scales(self, by: Sequence[str]) -> list[str]:
        """Return a table of the methods whose inputs were scaled.

        The last column is the smallest error over the scales, on the halves or draws
        that have all of them.
        """
        groups: dict[tuple[Any, ...], dict[float, dict[int, float]]] = {}
        for row in self.rows:
            if "method" in row:
                key = (*(row[k] for k in by), row["method"] + _samples(row))
                mine = groups.setdefault(key, {})
                scale = row.get("scale", ASSUMED["scale"])
                mine.setdefault(scale, {})[row["repeat"]] = row["error"]
        tried = sorted({scale for mine in groups.values() for scale in mine})
        heads = [*by, "method", *(f"scale {scale:g}" for scale in tried), "best"]
        lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
        for key, mine in groups.items():
            if set(mine) != {ASSUMED["scale"]}:
                cells = [summary(mine[s].values()) if s in mine else "" for s in tried]
                cells.append(summary(smallest(mine)))
                lines.append("| " + " | ".join([*map(str, key), *cells]) + " |")
        return lines if len(lines) > 2 else []

    def cells(self, by: Iterable[str], value: str) -> dict[tuple[Any, ...], str]:
        """Return mean, deviation and number of a value for every combination.

        Of inputs as they are; scaled ones have a table of their own.
        """
        groups: dict[tuple[Any, ...], list[float]] = {}
        for row in self.plain:
            if row.get(value) is not None:
                groups.setdefault(tuple(row[k] for k in by), []).append(row[value])
        return {key: summary(values) for key, values in groups.items()}


def smallest(errors: dict[float, dict[int, float]]) -> list[float]:
    """Return the smallest error over the scales, of every repeat that has all."""
    shared = set.intersection(*(set(found) for found in errors.values()))
    return [min(found[k] for found in errors.values()) for k in sorted(shared)]


def summary(values: Iterable[float]) -> str:
    """Return mean, deviation and number of values."""
    found = list(values)
    return f"{np.mean(found):.2f} ± {np.std(found):.2f} ({len(found)})"


def _samples(row: dict[str, Any]) -> str:
    """Say how many samples there were, where more than usual."""
    many = row.get("largest", ASSUMED["largest"]) > ASSUMED["largest"]
    return f", {row['n_train']} rows" if many else ""


def _is(row: dict[str, Any], key: dict[str, Any]) -> bool:
    """Return whether a row was measured with this."""
    return all(row.get(name, ASSUMED.get(name)) == key[name] for name in key)
