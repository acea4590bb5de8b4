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
        limit = R2[name.partition(":")[0]] if name.endswith("interactions") else None
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
        f"{rows[0]['n']} training rows, R2 on 2000 others; "
        f"draws: {len({row['draw'] for row in rows})}.",
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
        "`SpicyMKLRegressor(Interactions(per_column(GaussianKernel('median'), d), "
        "weight=1.0), alpha=0.05)`, its fit and its summary, on targets "
        "x0 x1 + sin(2 x2)|x3| + x4 with noise of 0.3; a process for each fit, "
        f"medians of all ({len({row['draw'] for row in rows})} of each size). The gap "
        "is over all kernels, and at most 1e-3 by the tolerance. Beside it in the same "
        "process numpy's product `(V * w) @ V.T` in single precision, V of d x n^2. "
        "The peak includes Python and all libraries, some 0.34 GB.",
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
        "The quadratic forms of all pairs, of mains in double precision, beside "
        "numpy's product of the same shapes in the precision of the pass: single for "
        "`rough_forms`, double for `quadratic_forms`.",
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
        "The same targets: x0 × x1 and x2 × x3 are planted, x2 and x4 are mains (|x3| "
        "has a mean). The last column is the share of the sum of all weights, a mean.",
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
        "## Beside others",
        "",
        "The planted pairs once more, a process and a draw for each fit, at most "
        f"{rows[0]['limit']} s of the processor. SpicyMKL is the fit above at alpha = "
        "0.05; interpret's boosting machine has ten pairs, two bags and 5000 "
        "rounds, and HKL its defaults. Pairs of the boosting machine are ten whatever "
        "the data say; products of HKL are of two columns or more. R2 is of 1000 other "
        "samples.",
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
        f"Breast cancer, {rows[0]['n']} rows x {rows[0]['d']} columns, "
        "`...ClassifierCV()` beside the grid search of a support vector machine (5 x 5 "
        "candidates, five folds) in the same process; accuracy on the other rows. "
        "By default SpicyMKL has the interactions of all pairs, the others none.",
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
        "Seconds of the processor on one thread of BLAS, and ratios within one "
        "process. A machine that is shared makes seconds longer, and ratios less so: "
        f"the load was {min(loads):.1f} to {max(loads):.1f} processes on "
        f"{rows[0]['cores']} cores. `python benchmarks/interactions/run.py`.",
        "",
    ]
    for kind, part in PARTS.items():
        some = [row for row in rows if row["kind"] == kind]
        lines += part(some) if some else []
    return "\n".join([*lines, measured(path)])
