"""Models as they come, on small sets: scores, processor time, mean ranks.

``python -m benchmarks.choosing.run [--only SET ...] [--splits 3]`` in the environment
that ``make bench-peers`` makes. Rows are told apart by set, split and model, and known
ones are not measured again, so that a long measurement can be made in pieces. The page
``RESULTS.md`` and its diagram are made from all rows that there are.
"""

import argparse
import itertools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.measure import Results, Row, cpu, measured, read
from scipy.stats import rankdata, studentized_range
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from multikernel.datasets import load

HERE = Path(__file__).parent
N_TRAIN, N_TEST = 300, 1000
"""Samples to learn from and to predict, at most."""

TABLES = (
    *("liver", "sonar", "ionosphere", "wpbc", "ida_thyroid", "pima", "ida_titanic"),
    *("ida_banana", "diabetes", "delve_boston", "delve_abalone"),
    *("delve_pumadyn_32nh", "delve_bank_32fm"),
)
VIEWS = ("omics_tcga_brca_3views", "msrc_v5_5views", "threesources_3views")
CLASSES = "classification"

Model = Callable[[Any], Any]
"""Makes a model for a split, of which it may look at the views."""


def ours(name: str, **settings: Any) -> Model:
    """Return what makes one of our estimators, with its defaults."""

    def make(split: Row) -> Any:
        from multikernel import estimators

        kind = "Classifier" if split["task"] == CLASSES else "Regressor"
        made = getattr(estimators, name.replace("*", kind))
        return made(split["views"], **settings)

    return make


def machine(split: Row) -> Any:
    """Return a support vector machine with a grid, on all columns."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC, SVR

    grid = {"C": [0.1, 1, 10, 100], "gamma": ["scale", 1e-3, 1e-2, 1e-1]}
    kind = SVC if split["task"] == CLASSES else SVR
    return GridSearchCV(kind(), grid, cv=5)


def trees(name: str) -> Model:
    """Return what makes an ensemble of scikit-learn, with its defaults."""

    def make(split: Row) -> Any:
        from sklearn import ensemble

        kind = "Classifier" if split["task"] == CLASSES else "Regressor"
        return getattr(ensemble, f"{name}{kind}")(random_state=0)

    return make


def processes(split: Row) -> Any:
    """Return a Gaussian process with a width for each column."""
    from sklearn import gaussian_process as gp

    widths = np.ones(split["X"].shape[1])
    if split["task"] == CLASSES:
        return gp.GaussianProcessClassifier(gp.kernels.RBF(widths), random_state=0)
    kernel = 1.0 * gp.kernels.RBF(widths) + gp.kernels.WhiteKernel()
    return gp.GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)


MODELS: dict[str, Model] = {
    "SpicyMKL CV": ours("SpicyMKL*CV"),
    "LpMKL CV": ours("LpMKL*CV"),
    "LpMKL": ours("LpMKL*"),
    "MKL-GOMP CV": ours("GroupOMP*CV"),
    "SVM grid": machine,
    "random forest": trees("RandomForest"),
    "boosting": trees("HistGradientBoosting"),
    "Gaussian process": processes,
}


def split_of(name: str, number: int) -> Row:
    """Return standardised samples of a set; missing values are the column's mean."""
    data = load(name)
    X, y = np.asarray(data.X, dtype=float), np.asarray(data.y)
    if name.startswith("omics"):  # a third of its samples lacks a whole view
        whole = ~np.isnan(X).any(axis=1)
        X, y = X[whole], y[whole]
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    classes = np.unique(y).size <= 10
    n_train = min(N_TRAIN, int(0.7 * len(y)))
    train, test = train_test_split(
        np.arange(len(y)),
        train_size=n_train,
        test_size=min(N_TEST, len(y) - n_train),
        random_state=number,
        stratify=y if classes else None,
    )
    scaler = StandardScaler().fit(X[train])
    views = None
    if "views" in data:
        ends = np.cumsum([0, *(view.shape[1] for view in data.views.values())])
        places = itertools.starmap(range, itertools.pairwise(ends.tolist()))
        views = dict(zip(data.views, map(list, places), strict=True))
    return {
        "task": CLASSES if classes else "regression",
        "views": views,
        "X": scaler.transform(X[train]),
        "y": y[train],
        "X_test": scaler.transform(X[test]),
        "y_test": y[test],
    }


def measure(results: Results, name: str, number: int, models: list[str]) -> None:
    """Fit every model on a split, in turn; time counts the predictions as well."""
    facts: Row = {"set": name, "split": number}
    wanted = [one for one in models if not results.known(model=one, **facts)]
    split = split_of(name, number) if wanted else {}
    for one in wanted:

        def score(one: str = one) -> tuple[Any, float]:
            model = MODELS[one](split).fit(split["X"], split["y"])
            return model, model.score(split["X_test"], split["y_test"])

        try:
            (model, value), seconds = cpu(score)
        except ImportError as error:
            print(f"{one} is left out: {error}")
            continue
        row = {"model": one, "task": split["task"], "views": bool(split["views"])}
        active = getattr(model, "active_kernels_", None)
        if isinstance(active, np.ndarray):
            row["kernels"] = len(active)
        results.add(**facts, **row, score=float(value), seconds=seconds)


def complete(rows: list[Row], models: list[str]) -> list[Row]:
    """Return the rows of those splits that all models have been measured on."""
    seen: dict[tuple[str, int], set[str]] = {}
    for row in rows:
        seen.setdefault((row["set"], row["split"]), set()).add(row["model"])
    return [r for r in rows if seen[r["set"], r["split"]] >= set(models)]


def critical_difference(n_models: int, n_sets: int) -> float:
    """Return by how much mean ranks differ by chance, at most, in 19 of 20 cases.

    Nemenyi's test, as Demsar (2006), JMLR 7, has it.
    """
    quantile = studentized_range.ppf(0.95, n_models, np.inf) / np.sqrt(2.0)
    return float(quantile * np.sqrt(n_models * (n_models + 1) / (6.0 * n_sets)))


def section(title: str, rows: list[Row], models: list[str], path: Path) -> str:
    """Return scores and mean ranks of some sets, and draw the ranks."""
    sets = list(dict.fromkeys(row["set"] for row in rows))
    if not sets:
        return ""
    table = np.zeros((len(sets), len(models)))
    for (i, name), (j, one) in itertools.product(enumerate(sets), enumerate(models)):
        own = [r["score"] for r in rows if (r["set"], r["model"]) == (name, one)]
        table[i, j] = np.mean(own)
    ranks = rankdata(-table.round(4), axis=1).mean(axis=0)
    seconds = [np.mean([r["seconds"] for r in rows if r["model"] == m]) for m in models]
    lines = [
        f"| set | splits | {' | '.join(models)} |",
        "| --- " * (len(models) + 2) + "|",
    ]
    for name, values in zip(sets, table, strict=True):
        n_splits = len({row["split"] for row in rows if row["set"] == name})
        cells = " | ".join(f"{value:.3f}" for value in values)
        lines.append(f"| {name} | {n_splits} | {cells} |")
    for label, values, text in (
        ("mean rank", ranks, ".2f"),
        ("seconds", seconds, ".1f"),
    ):
        cells = " | ".join(format(value, text) for value in values)
        lines.append(f"| **{label}** | | {cells} |")
    apart = critical_difference(len(models), len(sets))
    draw(models, ranks, apart, path)
    return (
        f"## {title}\n\n" + "\n".join(lines) + "\n\nMean ranks that differ by less "
        f"than {apart:.2f} do so by chance (Nemenyi, 95 %).\n\n"
        f"![{title}: mean ranks](figures/{path.name})\n"
    )


def draw(models: list[str], ranks: Any, apart: float, path: Path) -> None:
    """Draw mean ranks, and how far apart they would have to be."""
    from matplotlib import pyplot as plt

    order = np.argsort(ranks)
    figure, axis = plt.subplots(figsize=(6.5, 0.4 * len(models) + 1.0))
    axis.plot(ranks[order], np.arange(len(models)), "o", color="C0")
    axis.hlines(
        np.arange(len(models)),
        ranks[order],
        ranks[order] + apart,
        color="0.7",
        zorder=0,
    )
    axis.set_yticks(np.arange(len(models)), [models[k] for k in order])
    axis.invert_yaxis()
    axis.set_xlabel("mean rank, and how far another has to be to differ")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100, bbox_inches="tight")
    plt.close(figure)


def main() -> None:
    """Measure what is not known, and write the page."""
    every = [*TABLES, *VIEWS]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=every, help="sets")
    parser.add_argument(
        "--models", nargs="*", choices=list(MODELS), default=list(MODELS)
    )
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--output", type=Path, default=HERE)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    path = options.output / "results" / "choosing.json"
    results = Results(path, ("set", "split", "model"))
    for number, name in itertools.product(range(options.splits), options.only):
        measure(results, name, number, options.models)
    rows, figures = read(path), options.output / "figures"
    models = [one for one in MODELS if any(row["model"] == one for row in rows)]
    page = [f"# Models as they come\n\n{HEAD}\n{measured(path)}"]
    for title, views in (("Small tables", False), ("Views", True)):
        own = [row for row in rows if row["views"] == views]
        picture = figures / f"{title.split()[-1].lower()}.png"
        page.append(section(title, complete(own, models), models, picture))
    text = "\n".join(part for part in page if part)
    (options.output / "RESULTS.md").write_text(text, encoding="utf-8")


HEAD = f"""Accuracy, or R² of regressions, on samples held out: {N_TRAIN} samples to
learn from and {N_TEST} to predict, at most. Everything at its defaults, our searches
included; the support vector machine has a grid of four C and four widths. Seconds are
of the processor, on one thread, the first fit of a process included. Models that the
table lacks have not been measured yet, and neither have views.
"""

if __name__ == "__main__":
    main()
