"""Table 1: accuracy of every norm on multi-source data, by the paper's protocol.

For each norm the best average MCC over a grid of C, one class against the rest, on the
test halves of random splits. Run ``python benchmarks/papers/lp_norm/table1.py`` with
MULTIKERNEL_DATA set to a folder of data sets, with --smoke for a small one of them and
--sets for some. A set that has its splits is not measured again.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from common import Array, Options, options, provenance
from matplotlib.figure import Figure
from sklearn.metrics import matthews_corrcoef
from sklearn.model_selection import StratifiedShuffleSplit
from sources import SOURCES
from threadpoolctl import threadpool_limits

from multikernel import LpMKLClassifierCV, stack_grams

mpl.use("Agg")

NORMS: Mapping[str, float] = {
    "1": 1.0,
    "32/31": 32 / 31,
    "16/15": 16 / 15,
    "8/7": 8 / 7,
    "4/3": 4 / 3,
    "2": 2.0,
    "4": 4.0,
    "inf": np.inf,
}
CS = (1 / 32, 1 / 8, 1 / 2, 1.0, 2.0, 4.0, 8.0, 32.0, 128.0)
PAPER = (9.13, 9.12, 9.64, 9.84, 9.56, 10.18, 10.08, 10.41)
"""1 - MCC in per cent on the data set plant: table 1 of the paper."""

N_SPLITS = 20
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
TOL = 1e-3

Rows = Sequence[dict[str, Any]]


def run(task: Options) -> None:
    """Measure, save, print and plot."""
    threadpool_limits(1)  # several threads slow small matrices down
    names = ["ion channels"] if task.smoke else [*(task.sets or SOURCES)]
    content = task.load("table1")
    rows = content["rows"] if content else []
    for name in names:
        if splits_of(rows, name) < (2 if task.smoke else N_SPLITS):
            others = [row for row in rows if row["set"] != name]
            rows = [*others, *measure(name, task.smoke)]
            task.save("table1", rows)
    print("\n".join(table(rows)))
    plot(task, rows)


def splits_of(rows: Rows, name: str) -> int:
    """Return how many splits of a set there are."""
    return len({row["split"] for row in rows if row["set"] == name})


def measure(name: str, smoke: bool) -> Iterator[dict[str, Any]]:
    """Yield the MCC of every norm, C and split, averaged over classes or labels."""
    source = SOURCES[name]()
    X = stack_grams(source.grams)
    tasks = source.tasks[:1] if smoke else source.tasks
    n_splits = 2 if smoke else N_SPLITS
    settings: dict[str, Any] = {"Cs": CS[3:5], "ps": [1.0, 2.0, np.inf]}
    if not smoke:
        settings = {"Cs": CS, "ps": list(NORMS.values())}
    scores = []
    for y in tasks:
        splitter = StratifiedShuffleSplit(n_splits, test_size=0.5, random_state=0)
        search = LpMKLClassifierCV(
            "precomputed",
            cv=splitter,
            scoring=mean_mcc,
            refit=False,
            tol=TOL,
            **settings,
        ).fit(X, y)
        found = search.cv_results_
        scores.append([found[f"split{k}_test_score"] for k in range(n_splits)])
    mean = np.mean(scores, axis=0)
    names = {p: norm for norm, p in NORMS.items()}
    for split, row in enumerate(mean):
        for C, p, mcc in zip(found["param_C"], found["param_p"], row, strict=True):
            row = {"set": name, "split": split, "p": names[p], "C": C, "mcc": mcc}
            yield row | provenance("lp_norm")


def mean_mcc(model: Any, X: Array, y: Array) -> float:
    """Return the MCC of every class against the rest, averaged."""
    predicted = model.predict(X)
    classes = np.unique(y)
    chosen = classes if classes.size > 2 else classes[1:]
    found = [matthews_corrcoef(y == label, predicted == label) for label in chosen]
    return float(np.mean(found))


def best(rows: Rows, name: str, norm: str) -> tuple[float, Array]:
    """Return the C of the best average MCC of a norm, and 1 - MCC per split in %."""
    mine = [row for row in rows if (row["set"], row["p"]) == (name, norm)]
    errors = {
        C: np.array([100.0 * (1.0 - row["mcc"]) for row in mine if row["C"] == C])
        for C in sorted({row["C"] for row in mine})
    }
    chosen = min(errors, key=lambda C: float(errors[C].mean()))
    return chosen, errors[chosen]


def measured(rows: Rows) -> tuple[list[str], list[str]]:
    """Return the sets and the norms that were measured."""
    norms = {row["p"] for row in rows}
    found = {row["set"] for row in rows}
    known = [name for name in SOURCES if name in found]
    return known + sorted(found.difference(known)), [
        norm for norm in NORMS if norm in norms
    ]


def table(rows: Rows) -> list[str]:
    """Return a Markdown table: 1 - MCC in per cent, a line per set."""
    sets, norms = measured(rows)
    lines = [
        "| 1 - MCC [%] | " + " | ".join(f"p = {norm}" for norm in norms) + " |",
        "|" + " --- |" * (1 + len(norms)),
    ]
    if len(norms) == len(PAPER):
        printed = [f"{value:.2f}" for value in PAPER]
        lines.append("| paper: plant | " + " | ".join(printed) + " |")
    for name in sets:
        means = [best(rows, name, norm)[1].mean() for norm in norms]
        cells = [f"{v:.2f}" if v > min(means) else f"**{v:.2f}**" for v in means]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += ["", "| minus p = inf | " + " | ".join(norms[:-1]) + " |"]
    lines.append("|" + " --- |" * len(norms))
    for name in sets:
        limit = best(rows, name, norms[-1])[1]
        cells = [difference(best(rows, name, norm)[1] - limit) for norm in norms[:-1]]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def difference(values: Array) -> str:
    """Return the mean over splits, with its standard error."""
    error = values.std(ddof=1) / np.sqrt(values.size)
    return f"{values.mean():+.2f} ± {error:.2f}"


def plot(task: Options, rows: Rows) -> None:
    """Draw 1 - MCC over that of the unweighted sum against the norm."""
    figure = Figure(figsize=(6.2, 3.8), layout="constrained", dpi=120)
    ax = figure.subplots()
    sets, norms = measured(rows)
    places = np.arange(len(norms))
    for name, color in zip(sets, COLORS, strict=False):
        means = np.array([best(rows, name, norm)[1].mean() for norm in norms])
        ax.plot(places, means / means[-1], color=color, marker="o", label=name)
    if len(norms) == len(PAPER):
        given = np.array(PAPER) / PAPER[-1]
        ax.plot(places, given, color="black", linestyle="--", label="paper: plant")
    ax.axhline(1.0, color="#999999", linewidth=0.8)
    ax.set_xticks(places, norms)
    ax.set_xlabel("p")
    ax.set_ylabel("1 - MCC, over that of p = inf")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    folder = task.output / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "table1.png")


if __name__ == "__main__":
    run(options(__doc__))
