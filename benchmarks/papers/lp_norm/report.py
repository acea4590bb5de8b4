"""Write RESULTS.md from what the other scripts have measured.

Run ``python benchmarks/papers/lp_norm/report.py`` after speed.py, search_speed.py,
smo_vs_libsvm.py, on_the_fly.py, figure1.py, table1.py and sparsity.py.
"""

from collections.abc import Sequence
from textwrap import fill
from typing import Any

import numpy as np
import report_accuracy
import report_sequences
from common import Options, conditions, options
from figure1 import LIMIT, METHODS, SVM

Rows = Sequence[dict[str, Any]]

INTRODUCTION = """# lp-norm MKL, measured

Kloft, Brefeld, Sonnenburg, Laskov, Müller, Zien: Efficient and accurate lp-norm
multiple kernel learning. NIPS 2009. Figures here are this library's; what the paper
states or shows is said in words, as its machine was another one. Every method is this
library's own implementation, on the same machines for one kernel, and stops at the
same certificate: a relative duality gap of 1e-4.

`newton` is the interleaved Newton method with the response of the dual variables kept
in its Hessian (the paper's diagonal one leaves it out), `cutting_plane` the interleaved
cutting planes of the paper; `silp`, `hessian` and `simple` run the machine to precision
for every evaluation, as published.

```
export MULTIKERNEL_DATA=...      # folder of data sets: MNIST, and those of table 1
cd benchmarks/papers/lp_norm
python speed.py                  # 2 minutes, 4 GB of memory
python search_speed.py           # 2 minutes
python smo_vs_libsvm.py
python on_the_fly.py             # 1 minute
python figure1.py                # 12 minutes, 8 GB of memory
python published.py              # goes on where it was stopped
python table1.py                 # goes on where it was stopped; 20 minutes
python sparsity.py               # 2 minutes
python figure2.py                # 3 GB of memory; goes on where it was stopped
python curve_speed.py            # 5 minutes
python report.py                 # writes this page
```

<!-- claims -->
<!-- end of claims -->
"""


def run(task: Options) -> None:
    """Assemble the sections that have been measured."""
    parts = [INTRODUCTION]
    sections = {
        "figure1": figure_section,
        "published": published_section,
        "table1": report_accuracy.table1_section,
        "sparsity": report_accuracy.sparsity_section,
        "figure2": report_sequences.figure2_section,
        "curve_speed": report_sequences.curve_section,
        "speed": speed_section,
        "search_speed": search_section,
        "smo_vs_libsvm": machine_section,
        "on_the_fly": memory_section,
    }
    for name, section in sections.items():
        content = task.load(name)
        if content:
            parts.append(section(content))
    (task.output / "RESULTS.md").write_text("\n".join(parts), encoding="utf-8")


def speed_section(content: dict[str, Any]) -> str:
    """Return the table of the speed targets."""
    lines = [
        "## Speed targets",
        "",
        "Odd against even digits, C = 1. The limit is 3 fits of scikit-learn's SVC",
        "on the unweighted sum plus 25 passes (p = 1: 6 fits plus 40 passes; 2000",
        "kernels: 10 fits plus 30 passes); a pass is all quadratic forms of one",
        "vector by BLAS. Medians, ratios within one run.",
        "",
        "| n | M | p | seconds | limit | share | SVC [s] | pass [s] | steps | passes"
        " | SMO steps | gap |",
        "|" + " --- |" * 12,
    ]
    lines += [
        f"| {row['n']} | {row['M']} | {row['p']:.3g} | {row['seconds']:.3f} |"
        f" {row['limit']:.3f} | {row['share']:.2f} | {row['svc']:.4f} |"
        f" {row['pass']:.4f} | {row['steps']} | {row['passes']:.1f} |"
        f" {row['smo_steps']} | {row['gap']:.1e} |"
        for row in content["rows"]
    ]
    return "\n".join([*lines, "", conditions(content)])


def search_section(content: dict[str, Any]) -> str:
    """Return the table of searches over C and p."""
    rows = content["rows"]
    columns = list(rows[0]["milliseconds"])
    lines = [
        "## A search over C and p",
        "",
        "`LpMKLClassifierCV`, 155 training samples and 70 kernels in each of five",
        "folds, nine values of C and five of p, then each p alone; milliseconds of",
        "processor time per candidate and fold, one thread (target 8).",
        "",
        "| data | " + " | ".join(f"p {p}" for p in columns) + " | commit |",
        "|" + " --- |" * (len(columns) + 2),
    ]
    for row in rows:
        cells = [f"{row['milliseconds'][p]:.1f}" for p in columns]
        lines.append(f"| {row['data']} | {' | '.join(cells)} | {row['commit']} |")
    return "\n".join([*lines, "", conditions(content)])


def machine_section(content: dict[str, Any]) -> str:
    """Return the table of the machine beside LIBSVM."""
    rows = content["rows"]
    lines = [
        "## The machine: SMO beside LIBSVM",
        "",
        "One Gram matrix, cold starts, the same tolerance 1e-3, one thread. `SVC` is",
        'scikit-learn\'s, with ``kernel="precomputed"`` and a cache of 1000 MB.',
        "",
        "| data | n | C | SMO [ms] | SVC [ms] | ratio | SMO steps | SVC steps |",
        "|" + " --- |" * 8,
    ]
    lines += [
        f"| {row['data']} | {row['n']} | {row['C']:g} | {row['smo_ms']:.2f} |"
        f" {row['svc_ms']:.2f} | {row['ratio']:.2f} | {row['smo_steps']} |"
        f" {row['svc_steps']} |"
        for row in rows
    ]
    medians = [
        f"{np.median([row['ratio'] for row in rows if row['data'] == name]):.2f} on"
        f" {name}"
        for name in dict.fromkeys(row["data"] for row in rows)
    ]
    lines += ["", f"Median ratio: {', '.join(medians)} (limit 1).", ""]
    return "\n".join([*lines, conditions(content)])


def memory_section(content: dict[str, Any]) -> str:
    """Return what the fit with kernels on the fly took."""
    (row,) = content["rows"]
    return (
        "## Kernels on the fly\n\n"
        f"Ringnorm with {row['n']} samples and {row['M']} Gaussian kernels, p = 2,"
        f" computed whenever needed: a relative gap of {row['gap']:.1e} in"
        f" {row['seconds']:.0f} s, {row['passes']:.0f} passes (of {row['pass']:.1f} s"
        f" for quadratic forms) and {row['smo_steps']} SMO steps, with a peak of"
        f" {row['peak_mb']:.0f} MB for the whole process. {row['support_vectors']}"
        " samples are support vectors.\n\n" + conditions(content)
    )


def figure_section(content: dict[str, Any]) -> str:
    """Return the tables of figure 1, and how they compare with the paper."""
    rows = content["rows"]
    draws = len({row["seed"] for row in rows})
    lines = [
        "## Figure 1: execution times",
        "",
        "![Seconds against samples and kernels](figures/figure1.png)",
        "",
        f"Medians over {draws} draws (the paper: 5), in seconds; a dash where a method",
        f"took {LIMIT:.0f} s or more on one of them.",
        "",
        "### 50 kernels, against the number of samples",
        "",
        *table([row for row in rows if row["panel"] == "samples"], "n"),
        "",
        "### 500 samples, against the number of kernels",
        "",
        *table([row for row in rows if row["panel"] == "kernels"], "M"),
        "",
        "### Beside the paper",
        "",
        *findings(rows),
        "",
    ]
    return "\n".join([*lines, conditions(content)])


def table(rows: Rows, key: str) -> list[str]:
    """Return a table of seconds: a line per method, a column per size."""
    sizes = sorted({row[key] for row in rows})
    lines = [
        "| method | p | " + " | ".join(str(size) for size in sizes) + " |",
        "|" + " --- |" * (2 + len(sizes)),
    ]
    for method, norm in ((SVM, "inf"), *METHODS):
        cells = [median(rows, method, norm, key, size) for size in sizes]
        text = ["–" if np.isnan(value) else f"{value:.3f}" for value in cells]
        lines.append(f"| {method} | {norm} | " + " | ".join(text) + " |")
    return lines


def median(rows: Rows, method: str, norm: str, key: str, size: int) -> float:
    """Return the median time of a method, nan where it was stopped."""
    mine = [
        row
        for row in rows
        if (row["method"], row["p"], row[key]) == (method, norm, size)
    ]
    if not mine or not all(row.get("reached", True) for row in mine):
        return np.nan
    return float(np.median([row["seconds"] for row in mine]))


def published_section(content: dict[str, Any]) -> str:
    """Return the table of the paper's own optimizers beside ours."""
    rows = content["rows"]
    sizes = list(dict.fromkeys((row["n"], row["M"]) for row in rows))
    times: dict[tuple[str, str, tuple[int, int]], list[dict[str, Any]]] = {}
    for row in rows:
        for found in row["found"]:
            key = (found["method"], found["p"], (row["n"], row["M"]))
            times.setdefault(key, []).append(found)
    lines = [
        "| method | p | " + " | ".join(f"n {n}, M {M}" for n, M in sizes) + " |",
        "|" + " --- |" * (2 + len(sizes)),
    ]
    for method, p in dict.fromkeys(key[:2] for key in times):
        cells = []
        for size in sizes:
            mine = times[method, p, size]
            seconds = np.median([found["cpu"] for found in mine])
            passes = np.median([found["passes"] for found in mine])
            cells.append(f"{seconds:.3f} ({passes:.0f})")
        lines.append(f"| {method} | {p} | " + " | ".join(cells) + " |")
    draws = len({row["seed"] for row in rows})
    text = (
        "The Newton steps and the cutting planes as the paper prints them "
        "(`published.py`), and ours, which differ in how they move the weights. "
        f"Processor seconds of one thread and passes over all kernels, medians over "
        f"{draws} draws (the paper: 5), gap 1e-4, measured at "
        f"{', '.join(sorted({row['commit'] for row in rows}))}."
    )
    heading = "### The paper's own steps"
    return "\n".join([heading, "", fill(text, 88), "", *lines, ""])


def findings(rows: Rows) -> list[str]:
    """Return the paper's statements with the ratios measured here."""
    norms = ("1", "4/3", "2", "4")
    planes: dict[str, list[float]] = {norm: [] for norm in norms}
    simple, many = [], 0.0
    for panel, key in (("samples", "n"), ("kernels", "M")):
        mine = [row for row in rows if row["panel"] == panel]
        for size in sorted({row[key] for row in mine}):
            for norm in norms:
                newton = median(mine, "newton", norm, key, size)
                other = median(mine, "cutting_plane", norm, key, size)
                planes[norm].append(other / newton)
            sparse = median(mine, "newton", "1", key, size)
            simple.append(median(mine, "simple", "1", key, size) / sparse)
            chunking = median(mine, "cutting_plane", "1", key, size)
            many = chunking / median(mine, "newton", "2", key, size)
    ratios = ", ".join(f"{spread(planes[norm])} at p = {norm}" for norm in norms)
    return [
        "- *Newton is slightly faster than cutting planes.* Here cutting planes take"
        f" {ratios} times as long as Newton steps.",
        "- *Both are often more than ten times as fast as SimpleMKL.* Here SimpleMKL"
        f" takes {spread(simple)} times as long as Newton steps at p = 1.",
        "- *With many kernels chunking at p = 1 is the fastest MKL method.* Here it is"
        f" not: with the most kernels it takes {many:.1f} times as long as Newton steps"
        " at p = 2.",
        "- *The SVM on the unweighted sum is the fastest.* It solves one problem of one"
        " kernel, and its time does not count the sum.",
    ]


def spread(ratios: Sequence[float]) -> str:
    """Return the median of ratios, with their range."""
    found = np.array(ratios)
    found = found[np.isfinite(found)]
    return f"{np.median(found):.1f} (from {found.min():.1f} to {found.max():.1f})"


if __name__ == "__main__":
    run(options(__doc__))
