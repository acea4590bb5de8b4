"""Where measurements go: lines on the screen, JSON files, Markdown tables, plots."""

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from measure import THREADS, environment, fix_threads
from provenance import append, lines

HERE = Path(__file__).parent

mpl.use("Agg")
mpl.rcParams.update(
    {
        "axes.axisbelow": True,
        "axes.grid": True,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "figure.dpi": 120,
        "font.size": 9,
        "grid.color": "#E3E6E8",
        "legend.frameon": False,
        "legend.handlelength": 3.0,
    }
)

COLORS = {
    "log_loss": "#0072B2",
    "hinge": "#D55E00",
    "squared_error": "#009E73",
    "epsilon_insensitive": "#CC79A7",
}
STYLES = {0.005: ":", 0.05: "--", 0.5: "-"}


@dataclass(frozen=True)
class Options:
    """What a script was asked for."""

    smoke: bool
    output: Path
    only: tuple[str, ...] = ()

    @property
    def results(self) -> Path:
        return self.output / "results"

    def save(self, name: str, rows: Sequence[dict[str, Any]]) -> None:
        """Write rows and the environment to results/NAME.json."""
        self.results.mkdir(parents=True, exist_ok=True)
        content = {"environment": environment(), "smoke": self.smoke, "rows": rows}
        text = json.dumps(content, indent=1, default=float) + "\n"
        (self.results / f"{name}.json").write_text(text, encoding="utf-8")

    def append(self, name: str, row: dict[str, Any]) -> None:
        """Print a row, and write it to results/NAME.jsonl, which only grows."""
        print(*(f"{key} {value}" for key, value in row.items()), flush=True)
        append(self.results / f"{name}.jsonl", row)

    def lines(self, name: str) -> list[dict[str, Any]]:
        """Return the rows that `append` wrote."""
        return lines(self.results / f"{name}.jsonl")

    def load(self, name: str) -> dict[str, Any] | None:
        """Return what `save` or `append` wrote, or None."""
        if rows := self.lines(name):
            return {"rows": rows}
        path = self.results / f"{name}.json"
        if not path.exists():
            return None
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return content

    def save_figure(self, name: str, figure: Figure) -> None:
        """Write figures/NAME.png."""
        folder = self.output / "figures"
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(folder / f"{name}.png", bbox_inches="tight")


def options(description: str, parts: Sequence[str] = ()) -> Options:
    """Read the command line, and fix the number of threads."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, seconds")
    parser.add_argument("--output", type=Path, help="folder for results and figures")
    if parts:
        parser.add_argument("--only", nargs="+", choices=parts, default=list(parts))
    found = parser.parse_args()
    # Threads that wait for each other make a test on a busy machine crawl.
    fix_threads(1 if found.smoke else THREADS)
    # Smoke figures must not overwrite measurements.
    default = HERE / "smoke" if found.smoke else HERE
    only = tuple(found.only) if parts else ()
    return Options(found.smoke, found.output or default, only)


@dataclass
class Table:
    """Rows that are printed as they come.

    Parameters
    ----------
    formats : dict
        Format of each column by its name.
    """

    formats: dict[str, str]
    rows: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        print("  ".join(f"{name:>{self._width(name)}}" for name in self.formats))

    def add(self, **row: Any) -> None:
        """Print a row and keep it."""
        cells = (f"{cell(row.get(n), f):>{self._width(n)}}" for n, f in self._columns())
        print("  ".join(cells), flush=True)
        self.rows.append(row)

    def _columns(self) -> Iterable[tuple[str, str]]:
        return self.formats.items()

    def _width(self, name: str) -> int:
        return max(len(name), 8)


def cell(value: Any, form: str) -> str:
    """Return a value as text."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "NO"
    return format(value, form)


def markdown(
    rows: Sequence[dict[str, Any]], columns: dict[str, tuple[str, str]]
) -> str:
    """Return a table in Markdown; `columns` gives heading and format by key."""
    lines = ["| " + " | ".join(heading for heading, _ in columns.values()) + " |"]
    lines.append("|" + " --- |" * len(columns))
    for row in rows:
        cells = (cell(row.get(key), form) for key, (_, form) in columns.items())
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
