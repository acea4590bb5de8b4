"""How long a curve of figure 2 takes in all, from raw sequences to AUC.

Acceptor splice sites, one training set of every size up to 10 000, five norms, C chosen
anew up to 2000 samples: the kernels, every fit and every prediction on the clock. The
limit is 30 minutes. Run ``python benchmarks/papers/lp_norm/curve_speed.py`` with
MULTIKERNEL_DATA set; --smoke is a tiny one.
"""

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import figure2
from common import Options, commit, options

LIMIT_MINUTES = 30.0


def run(task: Options) -> None:
    """Measure and print every part and the sum, and save them."""
    setting = figure2.SMOKE if task.smoke else figure2.TASKS["acceptors"]
    setting = replace(setting, repeats=dict.fromkeys(setting.repeats, 1))
    known: figure2.Rows = []
    parts: dict[str, float] = {}
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as cache:
        for row in figure2.measure("acceptors", setting, known, Path(cache)):
            part = f"n = {row['n']}" if "n" in row else "kernels"
            now = time.perf_counter()
            parts[part] = parts.get(part, 0.0) + now - start
            start = now
            figure2.print_row(row)
    rows: list[dict[str, Any]] = [{"part": k, "seconds": v} for k, v in parts.items()]
    for row in rows:
        print(f"{row['part']:10} {row['seconds']:7.1f} s")
    total = sum(parts.values()) / 60.0
    verdict = "met" if total <= LIMIT_MINUTES else "missed"
    print(f"{total:.1f} minutes in all (limit {LIMIT_MINUTES:g}: {verdict})")
    task.save("curve_speed", [{**row, "commit": commit()} for row in rows])


if __name__ == "__main__":
    run(options(__doc__))
