"""Three tasks, by what users of each package write: score, processor time, lines.

``make bench-peers`` installs the packages into an environment of their own and runs
this: ``python -m benchmarks.comparison.run [--only omics cancer bands] [--quick]``.
Rows that ``results/comparison.json`` has are not measured again; the tables of the site
are made from them.
"""

import argparse
import ast
import inspect
import itertools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.comparison import methods
from benchmarks.measure import Results, Row, cpu, measured, read, write_csv
from benchmarks.outputs.targets import SPACES, problem
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from multikernel.datasets import load

HERE = Path(__file__).parent
PAGES = HERE.parents[1] / "docs" / "comparison"
SPLITS = 5

Data = dict[str, Any]


def halves(X: Any, y: Any, split: int, n_test: int) -> Data:
    """Return standardized rows to learn from, and rows to predict."""
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=n_test, random_state=split, stratify=y
    )
    scaler = StandardScaler().fit(X)
    return {
        "X": scaler.transform(X),
        "y": y,
        "X_test": scaler.transform(X_test),
        "y_test": y_test,
    }


def omics(split: int) -> Data:
    """Return three views of breast cancers of three subtypes."""
    data = load("omics_tcga_brca_3views")
    whole = ~np.isnan(data.X).any(axis=1)  # others lack the view of proteins
    ends = np.cumsum([0, *(view.shape[1] for view in data.views.values())]).tolist()
    places = itertools.starmap(slice, itertools.pairwise(ends))
    views = dict(zip(data.views, places, strict=True))
    return halves(data.X[whole], data.y[whole], split, 50) | {"views": views}


def cancer(split: int) -> Data:
    """Return the thirty columns of breast cancer."""
    data = load("breast_cancer")
    X, y = np.asarray(data.X, dtype=float), np.asarray(data.y)
    return halves(X, (y == y.max()).astype(int), split, 114) | {"views": {}}


def bands(split: int) -> Data:
    """Return five spaces of features, and twenty targets that need two each."""
    columns = 80
    data = problem(20, columns, 200, split)
    ends = range(0, SPACES * columns, columns)
    views = {f"space {k}": slice(a, a + columns) for k, a in enumerate(ends)}
    names = {"X": "X", "Y": "y", "X_test": "X_test", "Y_test": "y_test"}
    return {names[name]: value for name, value in data.items()} | {"views": views}


TASKS: dict[str, Callable[[int], Data]] = {
    f.__name__: f for f in (omics, cancer, bands)
}

SCORES = {"omics": accuracy_score, "cancer": accuracy_score, "bands": r2_score}

SLOW = ("omics_scmkl", "cancer_himalaya", "bands_lp", "bands_celer")
"""Their first fit counts."""
SLOWEST = "cancer_himalaya"
"""Measured on one split."""

KNOW = {
    "omics_spicy": "multikernel, SpicyMKLClassifierCV|certified; which kernels of "
    "which view, in probabilities",
    "omics_lp": "multikernel, LpMKLClassifierCV|certified; p and C chosen together",
    "omics_mklpy": "MKLpy, EasyMKL and SVC|matrices, scales and the grid by hand; "
    "needs PyTorch",
    "omics_himalaya": "himalaya, MultipleKernelRidgeCV|regression: classes coded and "
    "widths chosen by hand; random search, no optimum to certify",
    "omics_scmkl": "scMKL|random features, two classes a model: the rest by hand; rows "
    "to predict are part of the training object",
    "omics_svc": "scikit-learn, SVC and a grid|one kernel on all columns: no views",
    "omics_logistic": "scikit-learn, LogisticRegressionCV|linear: no views",
    "cancer_spicy": "multikernel, SpicyMKLClassifierCV|alpha by five folds; certified",
    "cancer_lp": "multikernel, LpMKLClassifier|no search; certified; uses all kernels",
    "cancer_mklpy": "MKLpy, EasyMKL and SVC|no search; matrices by hand; uses all "
    "kernels",
    "cancer_himalaya": "himalaya, MultipleKernelRidgeCV|20 draws among weightings of "
    "837; matrices by hand; one split only",
    "cancer_scmkl": "scMKL|one width a column, 30 kernels, which need add_ones; alpha "
    "is given: its search takes minutes",
    "cancer_svc": "scikit-learn, SVC and a grid|one kernel, no selection",
    "bands_spicy": "multikernel, SpicyMKLRegressorCV|p = 1: a selection for each "
    "target; certified",
    "bands_lp": "multikernel, LpMKLRegressorCV|chooses p too, among five",
    "bands_himalaya": "himalaya, GroupRidgeCV|20 random draws",
    "bands_himalaya_kernels": "himalaya, MultipleKernelRidgeCV|20 random draws",
    "bands_himalaya_gradient": "himalaya, its hyper_gradient|no intercept, and kernels "
    "of one scale (R² 0.27 without): both by hand",
    "bands_celer": "celer, GroupLasso and a grid|a fit for each target; its own "
    "GroupLassoCV does not run with scikit-learn 1.9",
    "bands_ridge": "scikit-learn, RidgeCV|one strength for all bands",
}
"""The name of each method, and what one must know."""


def lines(method: str) -> int:
    """Return how many lines of code a user writes."""
    source = inspect.getsource(getattr(methods, method))
    body = ast.parse(source).body[0].body[0].lineno - 1  # type: ignore[attr-defined]
    return sum(bool(line.strip()) for line in source.splitlines()[body:])


def measure(results: Results, task: str, quick: bool) -> None:
    """Fit every method on every split, in turn; the first fit of each is not timed."""
    chosen = [name for name in KNOW if name.startswith(f"{task}_")]
    warm: set[str] = set()
    for split in range(1 if quick else SPLITS):
        data = TASKS[task](split)
        for method in chosen:
            known = results.known(method=method, split=split)
            if known or (quick and method in SLOW) or (method == SLOWEST and split > 0):
                continue
            values = data["X"], data["y"], data["X_test"], data["views"]
            row: Row = {"method": method, "split": split}
            try:
                if method not in {*warm, *SLOW}:
                    getattr(methods, method)(*values)
                    warm.add(method)
                found, row["seconds"] = cpu(lambda: getattr(methods, method)(*values))  # noqa: B023
                row["score"] = SCORES[task](data["y_test"], found)
            except ImportError as error:
                print(f"{method} is left out: {error}")
                continue
            except Exception as error:
                # What a peer cannot do is a result, and stands in the table.
                row["failed"] = f"{type(error).__name__}: {error}"
            results.add(**row)


def tables(rows: list[Row], folder: Path) -> None:
    """Write a table for each task."""
    for task in TASKS:
        score = "accuracy" if SCORES[task] is accuracy_score else "R²"
        kept = [["package", "lines", "seconds", score, "to know"]]
        for method, text in KNOW.items():
            own = [row for row in rows if row["method"] == method]
            if not own or not method.startswith(f"{task}_"):
                continue
            name, know = text.split("|")
            line = [name, str(lines(method))]
            if failed := [row["failed"] for row in own if "failed" in row]:
                kept.append([*line, "–", "–", failed[0]])
                continue
            seconds = np.mean([row["seconds"] for row in own])
            scores = [row["score"] for row in own]
            spread = f" ± {np.std(scores):.3f}" if len(scores) > 1 else ""
            line += [f"{seconds:.2f}", f"{np.mean(scores):.3f}{spread}"]
            kept.append([*line, know])
        if len(kept) > 1:
            write_csv(folder / f"{task}.csv", kept)


def main() -> None:
    """Measure what is not known, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--quick", action="store_true", help="one split, quick methods")
    parser.add_argument("--output", type=Path, help="a folder in place of the site's")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    folder = options.output or HERE / "results"
    results = Results(folder / "comparison.json", ("method", "split"))
    for task in options.only:
        measure(results, task, options.quick)
    pages = options.output or PAGES
    tables(read(results.path), pages)
    (pages / "measured.txt").write_text(measured(results.path), encoding="utf-8")


if __name__ == "__main__":
    main()
