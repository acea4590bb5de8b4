"""Where measurements go: options, JSON files, Markdown tables, plots."""

import argparse
import json
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import scipy
import sklearn
from matplotlib.figure import Figure

import multikernel

sys.path.append(str(Path(__file__).parents[1]))

from provenance import provenance

HERE = Path(__file__).parent

START = time.perf_counter()

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
    }
)

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")


@dataclass(frozen=True)
class Options:
    """What a script was asked for."""

    smoke: bool
    output: Path
    draw: bool = False

    def save(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write rows, and what they were measured with, to results/NAME.json."""
        folder = self.output / "results"
        folder.mkdir(parents=True, exist_ok=True)
        content = {
            "environment": {
                "multikernel": multikernel.__version__,
                "numpy": np.__version__,
                "scipy": scipy.__version__,
                "scikit-learn": sklearn.__version__,
                "python": platform.python_version(),
                **provenance("group_omp"),
            },
            "smoke": self.smoke,
            "seconds": time.perf_counter() - START,
            "rows": rows,
        }
        text = json.dumps(content, indent=1, default=float) + "\n"
        (folder / f"{name}.json").write_text(text, encoding="utf-8")

    def load(self, name: str) -> list[dict[str, Any]]:
        """Return the rows that `save` wrote, none where there is no file."""
        path = self.output / "results" / f"{name}.json"
        if not path.exists():
            return []
        return list(json.loads(path.read_text(encoding="utf-8"))["rows"])

    def save_figure(self, name: str, figure: Figure) -> None:
        """Write figures/NAME.png."""
        folder = self.output / "figures"
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(folder / f"{name}.png", bbox_inches="tight")


def options(description: str) -> Options:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, seconds")
    parser.add_argument("--output", type=Path, help="folder for results and figures")
    parser.add_argument("--draw", action="store_true", help="only what is saved")
    found = parser.parse_args()
    # Smoke figures must not overwrite measurements.
    default = HERE / "smoke" if found.smoke else HERE
    return Options(found.smoke, found.output or default, found.draw)


def print_markdown(rows: Sequence[Mapping[str, str]]) -> None:
    """Print rows as a Markdown table; the keys of the first are the headings."""
    print("| " + " | ".join(rows[0]) + " |")
    print("|" + " --- |" * len(rows[0]))
    for row in rows:
        print("| " + " | ".join(row.values()) + " |", flush=True)
