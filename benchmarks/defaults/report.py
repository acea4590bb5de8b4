"""Write RESULTS.md from what run.py measured."""

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))

from again import again

HERE = Path(__file__).parent
REGRESSION = ("delve", "diabetes")
Row = dict[str, Any]

HEAD = """# Defaults, measured

This page measures the defaults of `kernels`, `normalize` and the regularization
strengths on random splits of real data sets. Unless a section says otherwise, models
learn from at most 150 samples with standardized columns, strengths are chosen by three
folds, and scores are on at most 1000 test samples. `sum` is lp-norm MKL with p = inf,
the unweighted sum of all kernels. All fits use one thread.

```
export MULTIKERNEL_DATA=...      # folder of data sets
cd benchmarks/defaults
python run.py dictionaries       # 8 minutes
python run.py sums               # 2 minutes
python run.py normalize          # 5 minutes
python run.py grids              # 8 minutes
python run.py memory             # 1 minute
python run.py precomputed        # 5 minutes
python run.py targets            # 10 minutes
python run.py strengths          # 20 minutes
python searches.py paths         # 10 minutes
python searches.py columns       # 10 minutes
python searches.py pairs         # half an hour
python margins.py                # ten minutes
python report.py                 # writes this page
```
"""


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines) + "\n"


def mean(rows: Iterable[Row]) -> str:
    """Return the mean score."""
    return f"{np.mean([max(row['score'], -1.0) for row in rows]):.3f}"


def is_regression(row: Row) -> bool:
    """Return whether the score is R^2."""
    return str(row["set"]).startswith(REGRESSION)


def scores(rows: Sequence[Row], keys: Sequence[str]) -> str:
    """Return mean scores of every method, for classification and regression."""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    labels = list(dict.fromkeys(tuple(row[key] for key in keys) for row in rows))
    parts = []
    for regression, title in ((False, "accuracy"), (True, "R^2")):
        some = [row for row in rows if is_regression(row) == regression]
        lines = []
        for label in labels:
            own = [row for row in some if tuple(row[key] for key in keys) == label]
            if own:
                each = [mean(r for r in own if r["method"] == m) for m in methods]
                seconds = sum(row["seconds"] for row in own)
                lines.append([*label, *each, mean(own), f"{seconds:.0f}"])
        n_sets = len({row["set"] for row in some})
        if lines:
            head = [*keys, *methods, "mean", "seconds"]
            parts.append(f"Mean {title}, {n_sets} sets:\n\n{table(head, lines)}")
    return "\n".join(parts)


def dictionaries(rows: Sequence[Row]) -> str:
    """Return the section on widths."""
    text = """## Dictionaries

A dictionary has a linear kernel, and Gaussians on all columns together and on each
column, with widths in multiples of the median distance; `normalize="variance"`.

"""
    return text + scores(rows, ["dictionary"])


def normalize(rows: Sequence[Row]) -> str:
    """Return the section on normalization."""
    text = """## Trace or variance

`two widths` are Gaussians of widths 1 and 5 on all columns and on each column.

"""
    return text + scores(rows, ["dictionary", "normalize"])


def sums(rows: Sequence[Row]) -> str:
    """Return the section on the normalization of the unweighted sum."""
    text = """## Unweighted sums

The method is `FixedWeightsMKL`. For precomputed matrices the score is the mean AUC of
the 20 most frequent labels over three folds, for the default dictionary the held-out
score at the default C.

"""
    lines = []
    for key in dict.fromkeys((row["set"], row["measure"], row["C"]) for row in rows):
        own = [r for r in rows if (r["set"], r["measure"], r["C"]) == key]
        steps = dict.fromkeys(row["normalize"] for row in rows)
        lines.append(
            [*key, *(mean(r for r in own if r["normalize"] == s) for s in steps)]
        )
    return text + table(["set", "measure", "C", *steps], lines)


def by_set(rows: Sequence[Row], sizes: Sequence[str]) -> str:
    """Return a table with a column for each set, whose sizes are in the last row."""
    firsts = {row["set"]: row for row in rows}
    lines = []
    for method in dict.fromkeys(row["method"] for row in rows):
        own = [row for row in rows if row["method"] == method]
        each = [mean(row for row in own if row["set"] == name) for name in firsts]
        lines.append([method, *each, f"{sum(row['seconds'] for row in own):.0f}"])
    lines += [[size, *(row[size] for row in firsts.values()), ""] for size in sizes]
    return table(["method", *firsts, "seconds"], lines)


def precomputed(rows: Sequence[Row]) -> str:
    """Return the section on Gram matrices from elsewhere."""
    text = """## Precomputed matrices

The score is the mean AUC of the 20 most frequent labels, each a separate problem, over
three folds. Methods have their defaults; the best single kernel is chosen by three
folds.

"""
    return text + by_set(rows, ["n_samples", "n_kernels", "splits"])


def targets(rows: Sequence[Row]) -> str:
    """Return the section on many targets."""
    n_splits = len({row["split"] for row in rows})
    text = f"""## Many targets

Several views predict the targets, each with a linear kernel and a Gaussian of the
median distance. The score is the mean R^2 of standardized targets on other samples over
{n_splits} random splits of each set; strengths are chosen by three folds. Kernels are
selected for all targets together, or for each target in rows with "separate".

"""
    return text + by_set(rows, ["n_targets", "n_train", "n_kernels"])


def grids(rows: Sequence[Row]) -> str:
    """Return the section on C."""
    text = """## The grid of C

`fixed` is the grid of Kloft et al. (2009), nine values from 1/32 to 128. `anchored` is
`Cs=None`: seven values from 1/32 to 128, divided by M^(1 - 1/p), the variance of the
combined kernel for M kernels of unit variance with equal weights. It is multiplied by
the standard deviation of the targets for the epsilon-insensitive loss, and by four for
the logistic loss. *low* and *high* count the splits in which an end of the grid scored
better than its neighbor.

"""
    lines = []
    for loss in dict.fromkeys(row["loss"] for row in rows):
        for p in dict.fromkeys(row["p"] for row in rows):
            own = [row for row in rows if (row["loss"], row["p"]) == (loss, p)]
            line = [loss, f"{p:.3g}", len(own) // 2]
            for grid in ("fixed", "anchored"):
                some = [row for row in own if row["grid"] == grid]
                edges = [row["edge"] for row in some]
                line += [edges.count(-1), edges.count(1), mean(some)]
            lines.append(line)
    head = ["loss", "p", "splits"]
    head += [
        f"{g}: {w}" for g in ("fixed", "anchored") for w in ("low", "high", "score")
    ]
    return text + table(head, lines)


def memory(rows: Sequence[Row]) -> str:
    """Return the section on kernels that memorize."""
    text = """## Kernels that memorize

Each model has one Gaussian on all columns. `ratio` is `off_diagonal_ratio`. `outside`
is the median over kernels of the standard deviation of the term on test samples divided
by that on training samples. `gain` is the accuracy minus the share of the larger class.
Below a ratio of 0.25, models do not generalize.

"""
    steps = (0.0, 0.03, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, np.inf)
    lines = []
    for low, high in pairwise(steps):
        own = [row for row in rows if low <= row["ratio"] < high]
        if own:
            gains = [row["score"] - row["constant"] for row in own]
            outside = [row["outside"] for row in own if np.isfinite(row["outside"])]
            middle = f"{np.median(outside):.2f}" if outside else ""
            line = [f"{low:g} to {high:g}", len(own), middle]
            lines.append([*line, f"{np.mean(gains):+.3f}", f"{np.max(gains):+.3f}"])
    head = ["ratio", "kernels", "outside", "mean gain", "largest gain"]
    return text + table(head, lines)


def strengths(rows: Sequence[Row]) -> str:
    """Return the section on strengths without a search."""
    text = """## Strengths without a search

The figures are held-out scores (accuracy or R^2) of single fits minus those of the
search of the same method on the same samples: the median over sets, and the worst set.
Models learn from 200 samples in two splits of each set (one for HKL). Strengths of
LpMKL are divided by M^(1 - 1/p), for M kernels of unit variance. The first table has
fits at the default strength and tolerance. The defaults for regression were chosen
here: 0.02 for SpicyMKL (0.01 loses less in the median and more on the worst set), 2 for
LpMKL, 0.01 with a tolerance of 1e-2 for Group-OMP, and 1e-3 for HKL. The defaults of
classifiers lose less than 0.03.

"""
    parts, defaults = [], []
    for classes in (False, True):
        kind = [row for row in rows if row["classes"] == classes]
        kinds = "classification" if classes else "regression"
        for method in dict.fromkeys(row["method"] for row in kind):
            own = [row for row in kind if row["method"] == method]
            lines = lost_against_search(own)
            defaults += [[f"{method} ({kinds})", *lines.pop("default")]]
            if lines:
                n_sets = len({row["set"] for row in own})
                heads = [[strength, *lost] for strength, lost in lines.items()]
                shown = table(["strength", "median", "worst"], heads)
                parts.append(f"{method}, {n_sets} sets ({kinds}):\n\n{shown}")
    first = table(["default of", "median", "worst"], defaults)
    return text + "\n".join([first, *parts])


def lost_against_search(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Return for each strength the median over sets of what it scores more, and least.

    Than the search of the same method, in the mean of the splits of a set.
    """
    score = {(row["set"], row["split"], row["strength"]): row["score"] for row in rows}
    losses: dict[str, dict[str, list[float]]] = {}
    for (name, split, strength), own in score.items():
        if strength != "search":
            lost = own - score[name, split, "search"]
            losses.setdefault(strength, {}).setdefault(name, []).append(lost)
    found = {}
    for strength, sets in losses.items():
        each = [float(np.mean(lost)) for lost in sets.values()]
        found[strength] = [f"{np.median(each):+.3f}", f"{min(each):+.3f}"]
    return found


def paths(rows: Sequence[Row]) -> str:
    """Return the section on the ends of paths."""
    text = """## Where paths end

The default search of SpicyMKL has five folds and learns from at most 300 samples, in
two random splits of each set. *ratio* is the smallest strength of a path divided by the
largest. *time* is relative to the first line, as a median over splits. `smallest`
counts the searches that chose the smallest strength, of which a warning informs.

"""
    return text + compared(rows, ["ratio", "strengths"])


def columns(rows: Sequence[Row]) -> str:
    """Return the section on outliers of standardized columns."""
    text = """## Outliers in HKL's columns

The default search of HKL learns from at most 300 samples, in one random split of each
set. Columns are shrunk until their largest value is at most *farthest* standard
deviations from the mean.

"""
    for row in rows:
        if row["set"].startswith("48 columns"):
            row["kind"] = "48 columns, 40 of them nearly constant"
    return text + compared(rows, ["farthest"])


def pairs(rows: Sequence[Row]) -> str:
    """Return the section on the weight of interactions."""
    text = """## Interactions

The default search of SpicyMKL has five folds and learns from at most 300 samples, in
random splits of each set. *alone* is the score with the default kernels without
interactions. The other columns are the change by interactions of all pairs with a given
weight, with standard errors over splits, and the time relative to the search without.

"""
    weights = sorted({row["weight"] for row in rows} - {0.0})
    score = {(r["set"], r["split"], r["weight"]): r["score"] for r in rows}
    seconds = {(r["set"], r["split"], r["weight"]): r["seconds"] for r in rows}
    lines = []
    for name in dict.fromkeys(row["set"] for row in rows):
        splits = sorted({row["split"] for row in rows if row["set"] == name})
        alone = np.array([score[name, split, 0.0] for split in splits])
        line = [name, str(len(splits)), f"{alone.mean():.4f}"]
        for weight in weights:
            change = np.array([score[name, k, weight] for k in splits]) - alone
            error = change.std(ddof=min(1, change.size - 1)) / np.sqrt(change.size)
            times = [seconds[name, k, weight] / seconds[name, k, 0.0] for k in splits]
            line += [f"{change.mean():+.4f} ± {error:.4f}", f"{np.median(times):.1f}"]
        lines.append(line)
    head = ["set", "splits", "alone"]
    for weight in weights:
        head += [f"weight {weight:g}", "time"]
    return text + table(head, lines)


def compared(rows: Sequence[Row], keys: Sequence[str]) -> str:
    """Return mean scores, relative times and choices at the end, by kind of set."""
    labels = list(dict.fromkeys(tuple(row[key] for key in keys) for row in rows))
    first = {
        (row["set"], row["split"]): row["seconds"]
        for row in rows
        if tuple(row[key] for key in keys) == labels[0]
    }
    lines = []
    for kind in dict.fromkeys(row["kind"] for row in rows):
        for label in labels:
            some = [r for r in rows if r["kind"] == kind]
            some = [r for r in some if tuple(r[key] for key in keys) == label]
            times = [r["seconds"] / first[r["set"], r["split"]] for r in some]
            scored = f"{np.mean([r['score'] for r in some]):.4f}"
            end = f"{sum(r['smallest'] for r in some)} of {len(some)}"
            lines.append([kind, *label, scored, f"{np.median(times):.2f}", end])
    return table(["sets", *keys, "mean score", "time", "smallest"], lines)


def margins(rows: Sequence[Row]) -> str:
    """Return the section on C of lp-norm MKL."""
    text = """## The C of lp-norm MKL

`LpMKL` with p = 2 and the default kernels learns from 240 samples, in five splits of
each set. Cells have the mean over sets and, in brackets, the difference to the best C
of the same set: the median, and the worst set. Strengths are multiples of one over the
variance of the combined kernel. `C = 1` was the default of classifiers before version
1.0; `SVC` has the defaults of scikit-learn. The default is 2: smaller values rank the
samples as well, but their probabilities are worse.

"""
    parts = []
    for loss in dict.fromkeys(row["loss"] for row in rows):
        own = [row for row in rows if row["loss"] == loss]
        sets = list(dict.fromkeys(row["set"] for row in own))
        strengths = list(dict.fromkeys(row["strength"] for row in own))
        measures = [m for m in ("score", "AUC", "log loss") if m in own[0]]
        lines = [[strength] for strength in strengths]
        for measure in measures:
            for line, shown in zip(lines, over_sets(own, measure), strict=True):
                line.append(shown)
        title = f"{loss}, {len(sets)} sets:"
        parts.append(f"{title}\n\n{table(['strength', *measures], lines)}")
    return text + "\n".join(parts)


def over_sets(rows: Sequence[Row], measure: str) -> list[str]:
    """Return for each strength the mean over sets, and what it loses to the best."""
    values: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        own = values.setdefault(row["strength"], {}).setdefault(row["set"], [])
        own.append(row.get(measure, np.nan))
    means = np.array([[np.mean(own) for own in v.values()] for v in values.values()])
    sign = -1.0 if measure == "log loss" else 1.0
    lost = sign * means - np.nanmax(sign * means, axis=0)
    return [
        f"{mean:.3f} ({np.median(less):+.3f}, {less.min():+.3f})"
        for mean, less in zip(means.mean(axis=1), lost, strict=True)
    ]


SECTIONS = {
    "dictionaries": dictionaries,
    "normalize": normalize,
    "sums": sums,
    "precomputed": precomputed,
    "targets": targets,
    "grids": grids,
    "strengths": strengths,
    "margins": margins,
    "memory": memory,
    "paths": paths,
    "columns": columns,
    "pairs": pairs,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=HERE)
    folder = parser.parse_args().output
    parts = [HEAD]
    for name, section in SECTIONS.items():
        path = folder / "results" / f"{name}.json"
        if path.exists():
            content = json.loads(path.read_text(encoding="utf-8"))
            measured = f"\nMeasured at commit {content['commit']}, {content['date']}.\n"
            parts.append(section(content["rows"]) + measured + again(path))
    (folder / "RESULTS.md").write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
