"""Default fits and searches from 1000 to 50 000 rows, beside SVC and boosting.

Run ``python benchmarks/middle/run.py``, some parts with --methods and --rows (without
any row for the page alone). Rows of other parts stay in results.json, and RESULTS.md is
written from it. Times are seconds of the processor, on one BLAS thread; a fit that has
taken LIMIT of them is ended.
"""

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import argparse
import json
import resource
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from benchmarks.interactions.report import table
from benchmarks.measure import Results, Row, cpu, in_child, limit_cpu, measured, read
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

import multikernel as mk

Array = NDArray[Any]
HERE = Path(__file__).parent
KEY = ("method", "rows")
ROWS = (1000, 2000, 5000, 9000, 20_000, 50_000)
COLUMNS, TEST = 20, 4000
LIMIT = 300
BESIDE, LEAST, MOST_BESIDE = 10.0, 1.5, 9000
"""Seconds may be so many times SVC's, or the least number if that is more, up to so
many rows."""
SEARCHED, BESIDE_GRID = (2000, 5000), 2.0
"""Searches may take so many times the seconds of SVC's grid, at these rows."""
LARGEST, MOST_SECONDS = 50_000, 60.0
POWER = 2.2
"""Of the ratio of two sizes next to each other: the ratio of their times at most."""
TOL = 1e-3
MEMORY_ROWS, MOST_BYTES = 20_000, 2e9
GRID = {"C": np.logspace(-2.0, 2.0, 5), "gamma": np.logspace(-3.0, 1.0, 5)}

METHODS: dict[str, Callable[[], Any]] = {
    "SVC": SVC,
    "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "SpicyMKL": mk.SpicyMKLClassifier,
    "SpicyMKL, hinge": lambda: mk.SpicyMKLClassifier(loss="hinge"),
    "SpicyMKL, targets": mk.SpicyMKLRegressor,
    "uniform": mk.FixedWeightsMKLClassifier,
    "uniform, targets": mk.FixedWeightsMKLRegressor,
    "LpMKL": mk.LpMKLClassifier,
    "LpMKL, targets": mk.LpMKLRegressor,
    "Group-OMP": mk.GroupOMPClassifier,
    "SVC, grid": lambda: GridSearchCV(SVC(), GRID, cv=5),
    "SpicyMKL, search": mk.SpicyMKLClassifierCV,
    "uniform, search": mk.FixedWeightsMKLClassifierCV,
    "LpMKL, search": mk.LpMKLClassifierCV,
}


def problem(n: int, *, targets: bool) -> tuple[Array, Array]:
    """Return samples, and targets or labels with a product of two columns in them."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, COLUMNS))
    f = np.sin(2.0 * x[:, 0]) + x[:, 1] ** 2 - 1.0 + x[:, 2] * x[:, 3] + x[:, 4] / 2.0
    f += 0.5 * rng.standard_normal(n)
    return x, f if targets else f > 0.0


def fitted(method: str, rows: int) -> dict[str, Any]:
    """Fit once for what is compiled, then to be measured; needs a process alone."""
    x, y = problem(rows + TEST, targets="targets" in method)
    METHODS[method]().fit(x[:100], y[:100])
    limit_cpu(LIMIT)
    model, seconds = cpu(lambda: METHODS[method]().fit(x[:rows], y[:rows]))
    score, predict = cpu(lambda: model.score(x[rows:], y[rows:]))
    return {
        "seconds": seconds,
        "predict": predict,
        "score": float(score),
        "gap": float(getattr(model, "duality_gap_", np.nan)),
        "peak_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "kernels": len(getattr(model, "kernel_weights_", ())),
    }


def page(path: Path) -> str:
    """Return the page of results."""
    rows = read(path)
    sizes = sorted({row["rows"] for row in rows})
    names = [name for name in METHODS if any(row["method"] == name for row in rows)]
    cells = {(row["method"], row["rows"]): row for row in rows}
    parts = [
        "# Two thousand to fifty thousand rows\n",
        f"The data have {COLUMNS} normal columns. The label is f > 0 with f = sin 2 x0 "
        '+ x1^2 - 1 + x2 x3 + x4 / 2 + 0.5 noise; methods with "targets" in their '
        "name predict f. All methods have their defaults, and "
        f"scores are on {TEST} other rows. Every fit runs in its own process, which is "
        f"stopped after {LIMIT} s; seconds are CPU seconds with one BLAS thread. "
        "`python benchmarks/middle/run.py` repeats it.\n",
    ]
    titles: dict[str, Callable[[Row], str]] = {
        "Seconds": lambda row: f"{row['seconds']:.1f}",
        "Relative duality gap (tol is 1e-3)": lambda row: f"{row['gap']:.1e}",
        "Accuracy, or R2 of targets": lambda row: f"{row['score']:.3f}",
        "Seconds to predict 4000 rows": lambda row: f"{row['predict']:.2f}",
        "Peak memory of the process, GB": lambda row: f"{row['peak_bytes'] / 1e9:.2f}",
        "Commits": lambda row: row["commit"].removesuffix("-dirty"),
    }
    for title, text in titles.items():
        lines = [[name, *_cells(cells, name, sizes, text)] for name in names]
        parts += [f"## {title}\n", *table(["method", *map(str, sizes)], lines)]
    ours = [name for name in names if name not in ("SVC", "SVC, grid", "boosting")]
    parts += ["## Limits\n", LIMITS]
    for title, check in CHECKS.items():
        lines = [
            [name, *(check(cells, name, n, sizes) for n in sizes)] for name in ours
        ]
        parts += [f"### {title}\n", *table(["method", *map(str, sizes)], lines)]
    return "\n".join([*parts, measured(path)])


Cells = dict[tuple[str, int], Row]

LIMITS = (
    "Each cell has a number and, in brackets, its limit. A fit may take at most "
    f"{BESIDE:.0f} times as long as SVC, or {LEAST} s, for up to {MOST_BESIDE} rows, "
    f"and {MOST_SECONDS:.0f} s for {LARGEST} rows. A search may take at most "
    f"{BESIDE_GRID:.0f} times as long as SVC's grid for {SEARCHED[0]} and "
    f"{SEARCHED[1]} rows. From one size to the next, the time may grow by at most the "
    f"ratio of the sizes to the power {POWER}; times below {LEAST} s count as "
    f"{LEAST} s. Gaps are at most {TOL:g}, and the memory for {MEMORY_ROWS} rows is at "
    f"most {MOST_BYTES / 1e9:.0f} GB.\n"
)


def verdict(value: float, limit: float, text: str) -> str:
    """Return a number with its limit, and whether it is within."""
    word = "met" if value <= limit else "missed"
    return f"{text.format(value)} ({text.format(limit)}: {word})"


def seconds_check(cells: Cells, name: str, size: int, _: Sequence[int]) -> str:
    """Return the seconds of a fit beside their limit."""
    row, limit = cells.get((name, size)), seconds_limit(cells, name, size)
    if row is None or limit is None:
        return ""
    return verdict(row.get("seconds", np.inf), limit, "{:.1f}")


def seconds_limit(cells: Cells, name: str, size: int) -> float | None:
    """Return the most seconds that a fit may take; None where nothing is asked."""
    if name.endswith("search"):
        grid = cells.get(("SVC, grid", size), {}).get("seconds", np.nan)
        asked = size in SEARCHED and np.isfinite(grid)
        return BESIDE_GRID * grid if asked else None
    if size == LARGEST:
        return MOST_SECONDS
    beside = cells.get(("SVC", size), {}).get("seconds", np.nan)
    asked = size <= MOST_BESIDE and np.isfinite(beside)
    return max(LEAST, BESIDE * beside) if asked else None


def step_check(cells: Cells, name: str, size: int, sizes: Sequence[int]) -> str:
    """Return the ratio of times of a size and the one before beside its limit."""
    place = sizes.index(size)
    if not place:
        return ""
    before = sizes[place - 1]
    rows = cells.get((name, before)), cells.get((name, size))
    if rows[0] is None or rows[1] is None or "seconds" not in rows[0]:
        return ""
    first, second = (max(LEAST, row.get("seconds", np.inf)) for row in rows if row)
    return verdict(second / first, (size / before) ** POWER, "{:.1f}")


def gap_check(cells: Cells, name: str, size: int, _: Sequence[int]) -> str:
    """Return the gap beside the tolerance; nothing for a method without one."""
    row = cells.get((name, size))
    if row is None or not np.isfinite(row.get("gap", np.nan)):
        return ""
    return verdict(row["gap"], TOL, "{:.0e}")


def memory_check(cells: Cells, name: str, size: int, _: Sequence[int]) -> str:
    """Return the peak memory, in GB, beside its limit."""
    row = cells.get((name, size))
    if row is None or size != MEMORY_ROWS or "peak_bytes" not in row:
        return ""
    return verdict(row["peak_bytes"] / 1e9, MOST_BYTES / 1e9, "{:.1f}")


CHECKS = {
    "Seconds": seconds_check,
    "Steps": step_check,
    "Gaps": gap_check,
    "Memory": memory_check,
}


def _cells(
    rows: dict[tuple[str, int], Row],
    name: str,
    sizes: Sequence[int],
    text: Callable[[Row], str],
) -> list[str]:
    """Return the cells of a method, one for each number of rows."""
    some = [rows.get((name, size)) for size in sizes]
    ended = f"over {LIMIT} s"
    return [
        "" if row is None else text(row) if "seconds" in row else ended for row in some
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=list(METHODS))
    parser.add_argument("--rows", nargs="*", type=int, default=list(ROWS))
    parser.add_argument("--output", type=Path, default=HERE)
    parser.add_argument("--child", type=json.loads, help="one fit, by itself")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.child:
        print(json.dumps(fitted(*options.child)))
        return
    results = Results(options.output / "results.json", KEY)
    for rows in options.rows:
        for method in options.methods:
            results.add(method=method, rows=rows, **in_child(__file__, method, rows))
    text = page(results.path)
    (options.output / "RESULTS.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
