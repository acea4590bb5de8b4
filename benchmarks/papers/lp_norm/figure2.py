"""Figure 2: AUC against training size, and kernel weights, from raw DNA.

Acceptor splice sites of C. elegans and promoters of E. coli in place of the paper's
transcription starts, which are not available. Five kernels as there: weighted degree
with shifts on the whole window, spectra of the two sides of the signal, and linear
ones on twist angles and stacking energies, all with unit diagonal. C is chosen on
hold-out samples up to 2000 training samples; larger sets take the choice of 2000. Run
``python benchmarks/papers/lp_norm/figure2.py`` with MULTIKERNEL_DATA set; a run that
was stopped goes on where it was. --smoke is a tiny one.
"""

import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from common import Array, Options, options, provenance
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from multikernel import LpMKLClassifier
from multikernel.datasets import load
from multikernel.exceptions import DictionaryWarning
from multikernel.kernels.sequence import (
    ProfileKernel,
    SequenceKernel,
    SpectrumKernel,
    WeightedDegreeKernel,
    WindowKernel,
)

mpl.use("Agg")

NORMS: Mapping[str, float] = {"1": 1.0, "4/3": 4 / 3, "2": 2.0, "4": 4.0, "inf": np.inf}
CS = (0.01, 0.1, 1.0, 10.0, 100.0)
CHOSEN_TO = 2000
"""Training samples up to which C is chosen anew."""
TOL = 1e-3
COLORS = {
    "1": "#0072B2",
    "4/3": "#D55E00",
    "2": "#009E73",
    "4": "#CC79A7",
    "inf": "black",
}

Rows = list[dict[str, Any]]
Indices = NDArray[np.intp]
Single = NDArray[np.float32]


@dataclass(frozen=True)
class Task:
    """A data set and how it is cut.

    Parameters
    ----------
    data : str
        Its name.
    split : int
        The place that divides the two spectra.
    names : tuple of str
        What the two sides are.
    repeats : mapping from int to int
        Training sizes, and how many disjoint sets of each are drawn.
    n_holdout, n_test : int
        Samples that choose C, and that AUC is measured on.
    """

    data: str
    split: int
    names: tuple[str, str]
    repeats: Mapping[int, int]
    n_holdout: int
    n_test: int

    @property
    def kernels(self) -> list[SequenceKernel]:
        """Return the five kernels."""
        before, after = self.names
        return [
            WeightedDegreeKernel(20, 32),
            WindowKernel(SpectrumKernel(4), 0, self.split, before),
            WindowKernel(SpectrumKernel(4), self.split, None, after),
            ProfileKernel("twist", smooth=5),
            ProfileKernel("stacking", smooth=5),
        ]


TASKS: Mapping[str, Task] = {
    "promoters": Task(
        "dna_ecoli_promoter_81",
        60,
        ("promoter", "transcribed"),
        {100: 10, 250: 8, 500: 4, 1000: 2, 2000: 1},
        500,
        1339,
    ),
    "acceptors": Task(
        "dna_celegans_acceptor_141",
        60,
        ("intron", "exon"),
        {250: 10, 500: 10, 1000: 5, 2000: 3, 5000: 2, 10000: 1},
        1500,
        3000,
    ),
}
SMOKE = Task("dna_ecoli_promoter_81", 60, ("promoter", "transcribed"), {60: 1}, 50, 80)


@dataclass(frozen=True, eq=False)
class Grams:
    """Kernels of the training pool, then of all other samples, with the pool."""

    files: Sequence[Single]
    y: Array
    y_others: Array

    def part(self, rows: Indices, columns: Indices) -> Single:
        """Return some rows and columns of all kernels, samples first."""
        parts = [np.asarray(file[np.ix_(rows, columns)]) for file in self.files]
        return np.stack(parts, axis=-1)


def run(task: Options) -> None:
    """Measure, save and plot; what is saved already is not measured again."""
    saved = task.load("figure2")
    rows: Rows = [] if saved is None else list(saved["rows"])
    chosen = {"promoters": SMOKE} if task.smoke else TASKS
    for name, setting in chosen.items():
        cache = task.output / "cache" / name
        for row in measure(name, setting, rows, cache):
            rows.append(row)
            task.save("figure2", rows)
            print_row(row)
    print("\n".join(table(rows)))
    folder = task.output / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    figure(rows).savefig(folder / "figure2.png", dpi=120)


def measure(name: str, setting: Task, rows: Rows, cache: Path) -> Iterator[Any]:
    """Yield a row per training set and norm that is not there yet."""
    done = {(r["task"], r["n"], r["repeat"], r["p"]) for r in rows if "auc" in r}
    wanted = [
        (n, repeat, p)
        for repeat in range(max(setting.repeats.values()))
        for n, repeats in sorted(setting.repeats.items())
        for p in NORMS
        if repeat < repeats and (name, n, repeat, p) not in done
    ]
    if not wanted:
        return
    start = time.perf_counter()
    grams = compute(setting, cache)
    yield {"task": name, "kernel_seconds": time.perf_counter() - start}
    mine = [r for r in rows if r["task"] == name and "auc" in r]
    tree = provenance("lp_norm")
    for n, repeat, p in wanted:
        Cs: Sequence[float] = CS[2:3] if setting is SMOKE else CS
        if n > CHOSEN_TO:
            counts = Counter(r["C"] for r in mine if (r["n"], r["p"]) == (CHOSEN_TO, p))
            Cs = [counts.most_common(1)[0][0]]
        # Training sets of one size are disjoint.
        train = np.arange(repeat * n, (repeat + 1) * n)
        row = {"task": name, "n": n, "repeat": repeat, "p": p} | tree
        row |= best_of(grams, train, NORMS[p], Cs, setting.n_holdout)
        mine.append(row)
        yield row


def compute(setting: Task, cache: Path) -> Grams:
    """Draw the samples and compute all kernels, in single precision, into files."""
    data = load(setting.data)
    n_others = setting.n_holdout + setting.n_test
    n_pool = max(n * repeats for n, repeats in setting.repeats.items())
    order = np.random.default_rng(0).permutation(len(data.y))
    texts = np.array(data.sequences)[order]
    y = np.asarray(data.y, dtype=np.float64)[order]
    new, pool = texts[:n_others], texts[n_others : n_others + n_pool]
    cache.mkdir(parents=True, exist_ok=True)
    grams = []
    for m, kernel in enumerate(setting.kernels):
        path = cache / f"{m}.npy"
        if not path.exists():
            start = time.perf_counter()
            inner = kernel(pool).astype(np.float32)
            np.save(
                path.with_suffix(".part.npy"),
                np.vstack([inner, kernel(new, pool)], dtype=np.float32),
            )
            path.with_suffix(".part.npy").rename(path)
            print(f"{kernel.name:45} {time.perf_counter() - start:6.1f} s", flush=True)
        grams.append(np.load(path, mmap_mode="r"))
    return Grams(grams, y[n_others : n_others + n_pool], y[:n_others])


def best_of(
    grams: Grams, train: Indices, p: float, Cs: Sequence[float], n_holdout: int
) -> dict[str, Any]:
    """Fit for every C; return what the best one on hold-out samples does on others."""
    X, y = grams.part(train, train), grams.y[train]
    new = grams.part(grams.y.size + np.arange(grams.y_others.size), train)
    found = []
    for C in Cs:
        start = time.perf_counter()
        model = LpMKLClassifier("precomputed", C=C, p=p, tol=TOL, normalize=None)
        with warnings.catch_warnings():
            # Few sequences are close to one another in words of twenty letters.
            warnings.simplefilter("ignore", DictionaryWarning)
            model.fit(X, y)
        seconds = time.perf_counter() - start
        values = model.decision_function(new)
        found.append(
            {
                "C": C,
                "holdout": auc(grams.y_others[:n_holdout], values[:n_holdout]),
                "auc": auc(grams.y_others[n_holdout:], values[n_holdout:]),
                "weights": model.kernel_weights_.tolist(),
                "gap": float(model.duality_gap_),
                "seconds": seconds,
            }
        )
    return max(found, key=lambda row: row["holdout"])


def auc(y: Array, values: Array) -> float:
    """Return the area under the ROC curve."""
    return float(roc_auc_score(y, values))


def print_row(row: Mapping[str, Any]) -> None:
    """Print what was measured."""
    if "auc" in row:
        weights = " ".join(f"{w:.2f}" for w in row["weights"])
        print(
            f"{row['task']} n {row['n']:5} #{row['repeat']} p {row['p']:>4} C "
            f"{row['C']:5g} AUC {row['auc']:.4f} gap {row['gap']:.0e} "
            f"{row['seconds']:6.1f} s  [{weights}]",
            flush=True,
        )


def curves(rows: Rows, name: str) -> dict[str, list[tuple[int, float, float]]]:
    """Return (n, mean AUC, standard error) for every norm."""
    found: dict[str, list[tuple[int, float, float]]] = {}
    mine = [r for r in rows if r["task"] == name and "auc" in r]
    for p in NORMS:
        for n in sorted({r["n"] for r in mine}):
            values = np.array([r["auc"] for r in mine if (r["n"], r["p"]) == (n, p)])
            if values.size:
                spread = values.std(ddof=1) if values.size > 1 else np.nan
                error = float(spread / np.sqrt(values.size))
                found.setdefault(p, []).append((n, float(values.mean()), error))
    return found


def mixtures(rows: Rows, name: str) -> tuple[int, dict[str, Array]]:
    """Return the largest n, and every norm's mean weights there, of sum one."""
    mine = [r for r in rows if r["task"] == name and "auc" in r]
    n = max(r["n"] for r in mine)
    weights = {}
    for p in NORMS:
        found = [r["weights"] for r in mine if (r["n"], r["p"]) == (n, p)]
        if found:
            mean = np.mean(found, axis=0)
            weights[p] = mean / mean.sum()
    return n, weights


def labels(name: str) -> list[str]:
    """Return short names of the kernels."""
    before, after = TASKS[name].names
    return ["WD shift", before, after, "angles", "energies"]


def measured(rows: Rows) -> list[str]:
    """Return the tasks that there are results of."""
    return list(dict.fromkeys(r["task"] for r in rows if "auc" in r))


def table(rows: Rows) -> list[str]:
    """Return Markdown tables: AUC in per cent, and weights."""
    lines = []
    for name in measured(rows):
        found = curves(rows, name)
        sizes = [n for n, _, _ in found["1"]]
        lines += [
            f"| {name}, AUC [%] | " + " | ".join(f"n = {n}" for n in sizes) + " |",
            "|" + " --- |" * (1 + len(sizes)),
        ]
        for p, points in found.items():
            cells = [
                f"{100 * mean:.2f}" + f" ± {100 * error:.2f}" * bool(np.isfinite(error))
                for _, mean, error in points
            ]
            lines.append(f"| p = {p} | " + " | ".join(cells) + " |")
        n, weights = mixtures(rows, name)
        lines += [
            "",
            f"| weights at n = {n} | " + " | ".join(labels(name)) + " |",
            "|" + " --- |" * 6,
        ]
        for p, values in weights.items():
            cells = [f"{value:.3f}" for value in values]
            lines.append(f"| p = {p} | " + " | ".join(cells) + " |")
        lines.append("")
    return lines


def figure(rows: Rows) -> Figure:
    """Draw AUC against n on the left, kernel weights on the right, a row per task."""
    tasks = measured(rows)
    page = Figure(figsize=(10.5, 3.8 * len(tasks)), layout="constrained")
    panels = page.subplots(len(tasks), 2, squeeze=False)
    for (left, right), name in zip(panels, tasks, strict=True):
        for p, points in curves(rows, name).items():
            sizes, means, errors = zip(*points, strict=True)
            left.errorbar(
                sizes, means, errors, color=COLORS[p], marker=".", label=f"p = {p}"
            )
        left.set(xscale="log", xlabel="training samples", ylabel="AUC", title=name)
        n, weights = mixtures(rows, name)
        places = np.arange(5)
        for shift, (p, values) in enumerate(weights.items()):
            right.bar(places + 0.16 * (shift - 2), values, 0.15, color=COLORS[p])
        right.set_xticks(places, labels(name))
        right.set(ylabel="kernel weight (sum one)", title=f"n = {n}")
        for axes in (left, right):
            axes.spines[["top", "right"]].set_visible(False)
    page.legend(
        *panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=5
    )
    return page


if __name__ == "__main__":
    run(options(__doc__))
