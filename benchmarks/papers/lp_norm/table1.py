"""Table 1: accuracy of every norm on multi-source data, by the paper's protocol.

For each norm the best average MCC over a grid of C, one class against the rest, on the
test halves of random splits. Run ``python benchmarks/papers/lp_norm/table1.py`` with
MULTIKERNEL_DATA set to a folder of data sets, with --smoke for a small one of them and
--sets for some. A split that is there is not measured again.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from common import Array, Options, options, provenance
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.metrics import matthews_corrcoef
from sklearn.model_selection import StratifiedShuffleSplit
from sources import SOURCES
from threadpoolctl import threadpool_limits

from multikernel.gram import DenseStack
from multikernel.losses import HingeLoss
from multikernel.problem import Problem, Solution
from multikernel.regularizers import SquaredBlockNorm
from multikernel.solvers import InterleavedNewton

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
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")
TOL = 1e-3

Indices = NDArray[np.intp]
Rows = Sequence[dict[str, Any]]


def run(task: Options) -> None:
    """Measure, save, print and plot."""
    threadpool_limits(1)  # several threads slow small matrices down
    rows = task.lines("table1")
    for name in ["ion channels"] if task.smoke else [*(task.sets or SOURCES)]:
        known = {row["split"] for row in rows if row["set"] == name}
        wanted = set(range(2 if task.smoke else N_SPLITS)) - known
        for row in measure(name, sorted(wanted), task.smoke) if wanted else ():
            rows.append(task.append("table1", row))
            print(name, row["split"], f"{row['cpu']:.0f} s", flush=True)
    print("\n".join(table(rows)))
    plot(task, rows)


def splits_of(rows: Rows, name: str) -> int:
    """Return how many splits of a set there are."""
    return len({row["split"] for row in rows if row["set"] == name})


def measure(name: str, wanted: Sequence[int], smoke: bool) -> Iterator[dict[str, Any]]:
    """Yield the MCC of every norm and C per split, averaged over classes or labels."""
    source = SOURCES[name]()
    tasks = source.tasks[:1] if smoke else source.tasks
    splitter = StratifiedShuffleSplit(N_SPLITS, test_size=0.5, random_state=0)
    halves = [list(splitter.split(y, y)) for y in tasks]
    Cs = CS[3:5] if smoke else CS
    norms = [p for p in NORMS if not smoke or p in ("1", "2", "inf")]
    for split in wanted:
        start = time.process_time()
        scores = [
            grid(source.grams, y, *mine[split], norms, Cs)
            for y, mine in zip(tasks, halves, strict=True)
        ]
        mean = np.mean(scores, axis=0).round(6).tolist()
        row = {"set": name, "split": split, "Cs": Cs, "smoke": smoke}
        row |= {"mcc": dict(zip(norms, mean, strict=True))}
        row |= {"cpu": round(time.process_time() - start, 1)}
        yield row | provenance("lp_norm")


def grid(
    grams: Array,
    y: Array,
    train: Indices,
    test: Indices,
    norms: Sequence[str],
    Cs: Sequence[float],
) -> Array:
    """Return the MCC of every norm and C: of all, where a search would leave some out.

    Kernels are scaled to unit variance in the feature space of the training samples.
    """
    K = grams[:, train][:, :, train]
    spread = np.trace(K, axis1=1, axis2=2) / train.size - K.mean(axis=(1, 2))
    scales = (1.0 / spread)[:, None, None]
    stack = DenseStack(np.ascontiguousarray(K * scales))
    new = grams[:, test][:, :, train] * scales
    classes = np.unique(y)
    shown = classes if classes.size > 2 else classes[1:]
    values = np.stack([decisions(stack, y[train] == c, new, norms, Cs) for c in shown])
    scores = np.empty((len(norms), len(Cs)))
    for place in np.ndindex(scores.shape):
        mine = values[:, *place]
        best = mine.argmax(axis=0) if shown.size > 1 else (mine[0] > 0.0).astype(int)
        pairs = [(y[test] == label, classes[best] == label) for label in shown]
        scores[place] = np.mean([matthews_corrcoef(*pair) for pair in pairs])
    return scores


def decisions(
    stack: DenseStack,
    positive: Array,
    new: Array,
    norms: Sequence[str],
    Cs: Sequence[float],
) -> Array:
    """Return decision values of one class, shape (norms, Cs, new samples).

    Every C starts from the next smaller one.
    """
    y, solver = np.where(positive, 1.0, -1.0), InterleavedNewton(tol=TOL)
    values = np.empty((len(norms), len(Cs), new.shape[1]))
    for i, p in enumerate(norms):
        found: Solution | None = None
        for j, C in enumerate(Cs):
            penalty = SquaredBlockNorm(1.0 / C, NORMS[p])
            found = solver.solve(Problem(stack, y, HingeLoss(), penalty), found)
            values[i, j] = found.intercept[0]
            for m, coefs in zip(found.active, found.coefs, strict=True):
                values[i, j] += new[m] @ coefs
    return values


def best(rows: Rows, name: str, norm: str) -> tuple[float, Array]:
    """Return the C of the best average MCC of a norm, and 1 - MCC per split in %."""
    mine = [row for row in rows if row["set"] == name]
    errors = 100.0 * (1.0 - np.array([row["mcc"][norm] for row in mine]))
    place = int(np.argmin(errors.mean(axis=0)))
    return mine[0]["Cs"][place], errors[:, place]


def measured(rows: Rows) -> tuple[list[str], list[str]]:
    """Return the sets and the norms that were measured."""
    found = {row["set"] for row in rows}
    return [name for name in SOURCES if name in found], [*rows[0]["mcc"]]


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
