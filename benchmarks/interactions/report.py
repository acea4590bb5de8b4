"""The page of what was measured of interactions."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.measure import Row, measured

R2 = {"pumadyn_32nm": 0.9, "pumadyn_32nh": 0.6}
"""What the median R2 of the search with interactions is to reach."""

SIZE = {300: (5.0, 12.0, 1.5e9), 1000: (None, 15.0, 3e9)}
"""Seconds, ratio to numpy's product, and bytes that a number of columns may take."""

PASS = 1.5
"""Times numpy's product that a pass may take."""

SEARCH = {"HKL": 5.0}
"""Times the grid search of a machine that a default search may take, 2 otherwise."""


def table(columns: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """Return a table."""
    every = [columns, ["---"] * len(columns), *lines]
    return ["| " + " | ".join(line) + " |" for line in every] + [""]


def groups(rows: Sequence[Row], *keys: str) -> Iterator[tuple[Any, list[Row]]]:
    """Yield the rows that agree in some columns."""
    for value in dict.fromkeys(tuple(row[key] for key in keys) for row in rows):
        yield value, [r for r in rows if tuple(r[key] for key in keys) == value]


def median(rows: Sequence[Row], key: str) -> float:
    return float(np.median([row[key] for row in rows]))


def against(value: float, limit: float | None, text: str, *, least: bool) -> str:
    """Return a value with what it was to be, and a word where it is not."""
    if limit is None:
        return text.format(value)
    holds = value >= limit if least else value <= limit
    bound = ("at least " if least else "at most ") + text.format(limit)
    return f"{text.format(value)} ({bound}{'' if holds else ': missed'})"


def draws(rows: Sequence[Row]) -> list[str]:
    lines = []
    for (name,), some in groups(rows, "name"):
        limit = R2[name.partition(":")[0]] if name.endswith(": SpicyMKL") else None
        scores = [row["score"] for row in some]
        lines.append(
            [
                name,
                against(median(some, "score"), limit, "{:.3f}", least=True),
                f"{min(scores):.3f} to {max(scores):.3f}",
                f"{median(some, 'seconds'):.1f}",
            ]
        )
    return [
        "## Default searches on pumadyn",
        "",
        f"Models learn from {rows[0]['n']} rows, in "
        f"{len({row['draw'] for row in rows})} draws; R2 is on 2000 other rows.",
        "",
        *table(("set: model", "median R2", "R2", "seconds"), lines),
    ]


def sizes(rows: Sequence[Row]) -> list[str]:
    lines = []
    for (n, d), some in groups(rows, "n", "d"):
        seconds, ratio, memory = SIZE.get(d, (None, None, None))
        times = float(np.median([row["seconds"] / row["product"] for row in some]))
        peak = max(row["peak_bytes"] for row in some)
        lines.append(
            [
                f"{n} x {d}",
                str(some[0]["kernels"]),
                against(median(some, "seconds"), seconds, "{:.2f}", least=False),
                f"{median(some, 'product'):.2f}",
                against(times, ratio, "{:.1f}", least=False),
                against(peak / 1e9, memory and memory / 1e9, "{:.2f} GB", least=False),
                f"{max(row['gap'] for row in some):.1e}",
                str(some[0]["active"]),
                ", ".join(some[0]["largest"]),
            ]
        )
    columns = "samples", "kernels", "seconds", "numpy's product", "ratio"
    columns += "peak of the process", "gap", "in use", "four largest"
    return [
        "## All pairs of many columns",
        "",
        "The calls are the fit and the summary of "
        "`SpicyMKLRegressor(Interactions(per_column(GaussianKernel('median'), d), "
        "weight=1.0), alpha=0.05)` on targets x0 x1 + sin(2 x2)|x3| + x4 with noise of "
        "standard deviation 0.3. Figures are medians of "
        f"{len({row['draw'] for row in rows})} fits, each in its own process. The gap "
        "is over all kernels; the tolerance is 1e-3. *numpy's product* is "
        "`(V * w) @ V.T` in single precision, with V of d x n^2, in the same process. "
        "The peak includes Python and all libraries, about 0.34 GB.",
        "",
        *table(columns, lines),
    ]


def passes(rows: Sequence[Row]) -> list[str]:
    lines = [
        [
            f"{row['n']} x {row['d']}",
            row["name"],
            f"{1e3 * row['seconds']:.0f}",
            f"{1e3 * row['product']:.0f}",
            against(row["seconds"] / row["product"], PASS, "{:.2f}", least=False),
        ]
        for row in rows
    ]
    columns = "samples", "pass", "milliseconds", "numpy's product", "ratio"
    return [
        "## One pass over all pairs",
        "",
        "A pass computes the quadratic forms of all pairs from the matrices of the "
        "columns in double precision. It is compared with NumPy's product of the same "
        "shapes in the precision of the pass: single for `rough_forms`, double for "
        "`quadratic_forms`.",
        "",
        *table(columns, lines),
    ]


def recovery(rows: Sequence[Row]) -> list[str]:
    lines = [
        [
            f"{n} x {d}",
            name,
            f"{sum(row['found'] == 2 for row in some)} of {len(some)}",
            f"{sum(row['in_front'] for row in some)} of {len(some)}",
            f"{median(some, 'false_pairs'):.0f} "
            f"({max(row['false_pairs'] for row in some)})",
            f"{median(some, 'false_mains'):.0f} "
            f"({max(row['false_mains'] for row in some)})",
            f"{np.mean([row['false_share'] for row in some]):.3f}",
        ]
        for (n, d, name), some in groups(rows, "n", "d", "name")
    ]
    columns = "samples", "strength", "both found", "both in front of other pairs"
    columns += "other pairs in use: median (most)", "other mains: median (most)"
    columns += ("weight of other pairs",)
    return [
        "## Planted pairs",
        "",
        "The targets are the same. The planted pairs are x0 × x1 and x2 × x3; x2 and "
        "x4 have main effects. The last column is the mean share of other pairs in the "
        "sum of all weights.",
        "",
        *table(columns, lines),
    ]


def peers(rows: Sequence[Row]) -> list[str]:
    lines = []
    for row in rows:
        cells = [f"more than {row['limit']}", "", "", "", ""]
        if "seconds" in row:
            cells = [
                f"{row['seconds']:.1f}",
                f"{row['peak_bytes'] / 1e9:.2f} GB",
                f"{row['found']} of 2",
                str(row["false_pairs"]),
                f"{row['score']:.3f}",
            ]
        lines.append([f"{row['n']} x {row['d']}", row["name"], *cells])
    columns = "samples", "model", "seconds", "peak of the process"
    columns += "planted pairs", "other products", "R2"
    return [
        "## Compared with other methods",
        "",
        "The data have the same planted pairs. Every fit has its own process, its own "
        f"draw, and at most {rows[0]['limit']} CPU seconds. SpicyMKL is the fit above "
        "with alpha = 0.05; interpret's boosting machine has ten pairs for any data, "
        "two bags and 5000 rounds; HKL has its defaults and products of two or more "
        "columns. R2 is on 1000 other samples.",
        "",
        *table(columns, lines),
    ]


def searches(rows: Sequence[Row]) -> list[str]:
    lines = []
    for row in rows:
        beside, most = row["beside"], SEARCH.get(row["name"], 2.0)
        if "seconds" in row:
            times = against(row["seconds"] / beside, most, "{:.1f}", least=False)
            cells = [f"{row['seconds']:.1f}", times, f"{row['score']:.3f}"]
            cells.append(f"{row['active']} of {row['kernels']}")
        else:
            limit = row["limit"]
            ratio = f"more than {limit / beside:.0f} (at most {most}: missed)"
            cells = [f"ended at the limit of {limit}", ratio, "", ""]
        score = f"{row['beside_score']:.3f}" if "beside_score" in row else ""
        lines.append([row["name"], *cells, f"{beside:.2f}", score])
    columns = "search", "seconds", "ratio", "accuracy", "kernels in use"
    return [
        "## Default searches of two classes",
        "",
        f"The data are {rows[0]['n']} rows and {rows[0]['d']} columns of breast "
        "cancer. The searches are `...ClassifierCV()`, compared with the grid search "
        "of a support vector machine (5 x 5 candidates, five folds) in the same "
        "process; accuracy is on the other rows. By default SpicyMKL has the "
        "interactions of all pairs, the others have none.",
        "",
        *table((*columns, "grid search", "its accuracy"), lines),
    ]


PARTS: dict[str, Callable[[Sequence[Row]], list[str]]] = {
    "pumadyn": draws,
    "sizes": sizes,
    "pass": passes,
    "recovery": recovery,
    "peers": peers,
    "searches": searches,
}


def page(path: Path) -> str:
    """Return the results of a file as a page."""
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    loads = [row["load"] for row in rows]
    lines = [
        "# All interactions of columns, measured",
        "",
        "This page measures fits and searches with interactions of all pairs of "
        "columns. Seconds are CPU seconds with one BLAS thread, and ratios are within "
        f"one process. The machine was shared ({min(loads):.1f} to {max(loads):.1f} "
        f"processes on {rows[0]['cores']} cores), which affects seconds more than "
        "ratios. `python benchmarks/interactions/run.py` repeats it.",
        "",
    ]
    for kind, part in PARTS.items():
        some = [row for row in rows if row["kind"] == kind]
        lines += part(some) if some else []
    return "\n".join([*lines, measured(path)])
