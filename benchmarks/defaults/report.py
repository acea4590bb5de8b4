"""Write RESULTS.md from what run.py measured."""

import argparse
import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
REGRESSION = ("delve", "diabetes")
Row = dict[str, Any]

HEAD = """# Defaults, measured

What `kernels=None`, `normalize` and the grid of C stand for was chosen here, on
random splits of real sets: at most 150 training samples with standardised columns, at
most 1000 test samples, strengths chosen by three folds. `sum` is lp-norm MKL with
p = inf, the unweighted sum of all kernels. One thread.

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

Gaussians on all columns together and on each column, widths in multiples of the median
distance there, and a linear kernel; `normalize="variance"`.

"""
    return text + scores(rows, ["dictionary"])


def normalize(rows: Sequence[Row]) -> str:
    """Return the section on normalisation."""
    text = """## Trace or variance

`two widths` are Gaussians of widths 1 and 5 on all columns and on each.

"""
    return text + scores(rows, ["dictionary", "normalize"])


def sums(rows: Sequence[Row]) -> str:
    """Return the section on the normalisation of the unweighted sum."""
    text = """## Unweighted sums

`FixedWeightsMKL`: the mean AUC of the 20 most frequent labels over three folds for
precomputed matrices, the held-out score at the default C for the default dictionary.

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

Every method at its defaults, the best single kernel chosen by three folds: the mean AUC
of the 20 most frequent labels, each a problem of its own, over three folds.

"""
    return text + by_set(rows, ["n_samples", "n_kernels", "splits"])


def targets(rows: Sequence[Row]) -> str:
    """Return the section on many targets."""
    n_splits = len({row["split"] for row in rows})
    text = f"""## Many targets

Targets that are predicted from several views, with a Gaussian as wide as samples are
apart and a linear kernel on each: the mean R^2 of standardised targets on other
samples, strengths chosen by three folds, {n_splits} random splits of each set. Kernels
are chosen for all targets at once, or for each where it says "separate".

"""
    return text + by_set(rows, ["n_targets", "n_train", "n_kernels"])


def grids(rows: Sequence[Row]) -> str:
    """Return the section on C."""
    text = """## The grid of C

`fixed` is that of Kloft et al. (2009), 1/32 to 128 in nine values. `anchored` is
`Cs=None`: 1/32 to 128 in seven, divided by M^(1 - 1/p), the size of M kernels of unit
variance with equal weights of p-norm one; times the targets' standard deviation for the
epsilon-insensitive loss. An end of the grid counts where it scored better than its
neighbor. For the logistic loss the anchored grid is four times as large: with that of
the others, at commit 56dfecb, 5, 5, 4 and 2 of its 18 splits chose the high end.

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
    """Return the section on kernels that memorise."""
    text = """## Kernels that memorise

One Gaussian on all columns, by the sum's machine. `ratio` is `off_diagonal_ratio`,
`outside` the median of the standard deviation of the contribution on test samples over
that on training samples, `gain` the accuracy over that of the larger class. Below a
ratio of 0.25 nothing is learnt that holds elsewhere.

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

Held-out score (accuracy or R^2) of single fits less that of the search of the same
method on the same samples: the median over sets and the worst one. Strengths of
LpMKL are divided by M^(1 - 1/p), for M kernels of unit variance. 200 training samples,
two splits of each set (one for HKL). The first table has fits at the default strength
and tolerance. Chosen are 0.02 for SpicyMKL's regressions (0.01 loses less in the median
and more on the worst set), 2 for LpMKL's, 0.01 with a tolerance of 1e-2 for MKL-GOMP's,
and 1e-3 for HKL; what classifiers had loses less than 0.03.

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

The default search of SpicyMKL on at most 300 samples, five folds, two random splits of
each set; ends are shares of the strengths that paths begin with. Times are over those
of the first line, medians over splits; `smallest` counts the choices that lie at the
end, with the warning that says so.

"""
    return text + compared(rows, ["ratio", "strengths"])


def columns(rows: Sequence[Row]) -> str:
    """Return the section on how far out standardised columns reach."""
    text = """## How far out HKL's columns reach

The default search of HKL on at most 300 samples, one random split of each set, columns
shrunk until their farthest value is so many deviations out.

"""
    for row in rows:
        if row["set"].startswith("48 columns"):
            row["kind"] = "48 columns, 40 of them nearly constant"
    return text + compared(rows, ["farthest"])


def pairs(rows: Sequence[Row]) -> str:
    """Return the section on the weight of interactions."""
    text = """## Interactions

The default search of SpicyMKL on at most 300 samples, five folds, random splits of
each set: scores with the default kernels alone, and what all interactions of a weight
beside them change, with standard errors over splits. Times are over those without.

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

`LpMKL` with p = 2 and the default kernels, 240 training samples, five splits of each
set: means over sets, and in brackets how much less than the best C of the same set in
the median and at worst. Strengths are multiples of one over the variance of the
combined kernel; `C = 1` was the default of classifiers until version 1.0, `SVC` is
scikit-learn's as it comes. The default is 2: smaller ones rank as well, and their
probabilities are worse.

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
            parts.append(section(content["rows"]) + measured)
    (folder / "RESULTS.md").write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
