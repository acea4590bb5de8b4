"""What people call most: default searches on small sets, and fits of a few samples.

Every estimator has its defaults. Beside it, on the same split, stands the grid search
of a support vector machine that a user of scikit-learn would write. Times are those of
the processor, on one thread of BLAS, and what counts are their ratios within one run.
"""

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import argparse
import datetime
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from multikernel.datasets import available, load, make_ringnorm
from multikernel.estimators import (
    GroupOMPClassifierCV,
    GroupOMPRegressorCV,
    HKLClassifierCV,
    HKLRegressorCV,
    LpMKLClassifierCV,
    LpMKLRegressorCV,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
    SpicyMKLRegressorCV,
)
from multikernel.gram import build_stack
from multikernel.kernels import random_subset_gaussians
from multikernel.losses import HingeLoss
from multikernel.problem import Problem
from multikernel.regularizers import BlockL1, SquaredBlockNorm
from multikernel.solvers import InterleavedNewton, SpicyMKL

sys.path.append(str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[1] / "papers"))

from again import again
from provenance import commit, processor

Array = NDArray[Any]
HERE = Path(__file__).parent
TRAIN = 400
TEST = 1000
TINY = (100, 3)

SETS: dict[str, tuple[str, ...]] = {
    "two classes": (
        "breast_cancer",
        "ionosphere",
        "sonar",
        "liver",
        "pima",
        "ida_thyroid",
        "ida_titanic",
        "ida_banana",
        "ida_ringnorm",
        "splice",
        "uci_spambase",
        "uci_magic04",
    ),
    "six classes": ("digits", "uci_segment"),
    "regression": (
        "diabetes",
        "delve_boston",
        "delve_abalone",
        "delve_pumadyn_32nh",
        "delve_pumadyn_32fm",
        "delve_bank_32nm",
    ),
}
"""Of every set TRAIN samples at most are learnt from, of several classes the first
six."""

ANCHOR = "SVM grid"
GRID = {"C": [0.1, 1.0, 10.0, 100.0, 1000.0], "gamma": [0.001, 0.01, 0.1, 1.0, 10.0]}


def searches(regression: bool) -> dict[str, Callable[[], Any]]:
    """Return what makes every search, with its defaults."""
    if regression:
        return {
            "SpicyMKL": SpicyMKLRegressorCV,
            "LpMKL": LpMKLRegressorCV,
            "Group-OMP": GroupOMPRegressorCV,
            "HKL": HKLRegressorCV,
        }
    return {
        "SpicyMKL": SpicyMKLClassifierCV,
        "LpMKL": LpMKLClassifierCV,
        "Group-OMP": GroupOMPClassifierCV,
        "HKL": HKLClassifierCV,
    }


def machine_grid(regression: bool) -> GridSearchCV:
    """Return the search of a machine with one kernel, five times five candidates."""
    machine = SVR() if regression else SVC()
    name = type(machine).__name__.lower()
    grid = {f"{name}__{key}": values for key, values in GRID.items()}
    return GridSearchCV(make_pipeline(StandardScaler(), machine), grid, cv=5)


@dataclass(frozen=True)
class Split:
    """Training and test samples of one set."""

    kind: str
    name: str
    number: int
    X: Array
    y: Array
    X_test: Array
    y_test: Array


def splits(kind: str, name: str, numbers: Sequence[int]) -> Iterator[Split]:
    """Yield random splits of a set; missing values become the column's mean."""
    data = load(name)
    X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y)
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    if kind == "six classes":
        kept = np.isin(y, np.unique(y)[:6])
        X, y = X[kept], y[kept]
    for number in numbers:
        order = np.random.default_rng(number).permutation(y.size)
        n = min(TRAIN, int(0.7 * y.size))
        train, test = order[:n], order[n : n + TEST]
        # Columns of zeros say nothing, and every estimator warns of them.
        varied = np.ptp(X[train], axis=0) > 0.0
        yield Split(
            kind,
            name,
            number,
            X[train][:, varied],
            y[train].astype(np.float64) if kind == "regression" else y[train],
            X[test][:, varied],
            y[test],
        )


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a function returns, and the seconds of the processor it takes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        found = work()
        return found, time.process_time() - start


def measure(split: Split, methods: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield one row per search of a split: its score on the test samples, its time.

    Beside it stands the time of the anchor in the same run.
    """
    regression, beside = split.kind == "regression", np.nan
    made = {ANCHOR: lambda: machine_grid(regression)} | searches(regression)
    for method, make in made.items():
        if method != ANCHOR and method not in methods:
            continue
        # Warnings are left out: the same ones that a user would see.
        model, seconds = timed(lambda make=make: make().fit(split.X, split.y))
        beside = seconds if method == ANCHOR else beside
        found = {
            "kind": split.kind,
            "set": split.name,
            "split": split.number,
            "method": method,
            "score": float(model.score(split.X_test, split.y_test)),
            "seconds": seconds,
            "beside": beside,
        }
        print(*found.values(), flush=True)
        yield found


def tiny() -> Iterator[dict[str, Any]]:
    """Yield the median time of a fit and of a search on a hundred samples."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal(TINY)
    y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.standard_normal(TINY[0]) > 0.0
    fits: dict[str, tuple[Callable[[], Any], int]] = {
        "SVC fit": (SVC, 20),
        "SpicyMKL fit": (SpicyMKLClassifier, 20),
        "SpicyMKL search": (SpicyMKLClassifierCV, 3),
        "LpMKL search": (LpMKLClassifierCV, 3),
    }
    for name, (make, repeats) in fits.items():
        taken = [
            timed(lambda make=make: make().fit(X, y))[1] for _ in range(repeats + 1)
        ]
        row = {
            "kind": "tiny",
            "method": name,
            "seconds": float(np.median(taken[1:])),
        }
        print(*row.values(), flush=True)
        yield row


def hinges(quick: bool) -> Iterator[dict[str, Any]]:
    """Yield times with the hinge loss and 2000 samples, and those of lp p = 1.

    The penalties have the same minimizer: see rivals.py of the SpicyMKL benchmarks.
    """
    n = 100 if quick else 2000
    X, y = make_ringnorm(n, random_state=0)
    X, y = StandardScaler().fit_transform(X), np.where(y > 0, 1.0, -1.0)
    kernels = random_subset_gaussians(20, X.shape[1], random_state=0)
    gram = build_stack(kernels, X, normalize="trace", storage="dense").stack
    for share in (0.05, 0.2, 0.8):
        alpha = share * np.sqrt(n)
        posed = Problem(gram, y, HingeLoss(), BlockL1(alpha))
        solve = partial(SpicyMKL(tol=1e-3).solve, posed)
        ours = [timed(solve)[1] for _ in range(3)]
        strength = alpha / float(solve().norms.sum())
        squared = replace(posed, regularizer=SquaredBlockNorm(strength, p=1.0))
        solve = partial(InterleavedNewton(tol=1e-3).solve, squared)
        theirs = [timed(solve)[1] for _ in range(3)]
        label = f"SpicyMKL at alpha = {share} sqrt(n), lp at p = 1"
        yield beside("hinge", label, float(np.median(ours)), float(np.median(theirs)))


def beside(kind: str, label: str, seconds: float, other: float) -> dict[str, Any]:
    """Return a row of two times, and print it."""
    row = {"kind": kind, "method": label, "seconds": seconds, "beside": other}
    print(*row.values(), flush=True)
    return row


def compile_all() -> None:
    """Run every search once, so that compiled functions are ready."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    for y in (X[:, 0] > 0.0, np.digitize(X[:, 0], [-0.5, 0.5]), X[:, 0]):
        for make in searches(y.dtype.kind == "f").values():
            timed(lambda make=make, y=y: make(cv=2).fit(X, y))


def median_table(rows: Sequence[dict[str, Any]], kind: str) -> list[str]:
    """Return medians of seconds and ratios, mean scores and ranks, as a table."""
    chosen = [row for row in rows if row["kind"] == kind]
    places = sorted({(row["set"], row["split"]) for row in chosen})
    methods = list(dict.fromkeys(row["method"] for row in chosen))
    known = {(row["set"], row["split"], row["method"]): row for row in chosen}
    seconds, beside, scores = (
        np.array(
            [[known[*place, method][key] for method in methods] for place in places]
        )
        for key in ("seconds", "beside", "score")
    )
    ranks = np.mean([rankdata(-row) for row in scores.round(6)], axis=0)
    ratios = np.median(seconds / beside, axis=0)
    lines = [
        f"## {kind.capitalize()}: {len(places)} sets",
        "",
        "| search | seconds | ratio | score | rank |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {method} | {s:.2f} | {ratio:.2f} | {score:.4f} | {rank:.2f} |"
        for method, s, ratio, score, rank in zip(
            methods,
            np.median(seconds, axis=0),
            ratios,
            scores.mean(axis=0),
            ranks,
            strict=True,
        )
    ]
    return [*lines, ""]


def page(found: dict[str, Any]) -> str:
    """Return the results as a page."""
    rows = found["rows"]
    lines = [
        "# Default searches and tiny fits, measured",
        "",
        "This page compares default searches with the grid search of a support vector "
        "machine (5 x 5 candidates, five folds). *seconds* are medians of CPU seconds "
        "on one thread, and *ratio* is the median ratio to the grid search on the same "
        "split in the same run; seconds of different runs are not comparable. *score* "
        "is the mean accuracy or R^2 on at most 1000 other samples, *rank* the mean "
        f"rank. Models learn from at most {TRAIN} samples. `python run.py` repeats it.",
        "",
    ]
    for kind in SETS:
        if any(row["kind"] == kind for row in rows):
            lines += median_table(rows, kind)
    small = [row for row in rows if row["kind"] == "tiny"]
    if small:
        lines += [f"## {TINY[0]} samples, {TINY[1]} columns", ""]
        lines += ["| call | milliseconds |", "| --- | --- |"]
        lines += [f"| {r['method']} | {1e3 * r['seconds']:.1f} |" for r in small]
        lines += [""]
    pairs = [row for row in rows if row["kind"] in PAIRS]
    if pairs:
        lines += ["## 837 Gram matrices of 455 samples; the hinge with 2000", ""]
        lines += ["| first, second | seconds | seconds | ratio |", "|" + " --- |" * 4]
        lines += [
            f"| {r['method']} | {r['seconds']:.2f} | {r['beside']:.2f} | "
            f"{r['seconds'] / r['beside']:.2f} |"
            for r in pairs
        ]
        lines += [""]
    commits = ", ".join(dict.fromkeys(row["commit"] for row in rows))
    lines += [f"{found['processor']}; commit {commits}, {found['date']}.", ""]
    return "\n".join(lines)


def place(row: dict[str, Any]) -> tuple[Any, ...]:
    """Return what a row is about: a newer one takes the place of an older one."""
    return tuple(row.get(key) for key in ("kind", "set", "split", "method"))


PAIRS = {"hinge": hinges}
"""What is measured beside another way to the same."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="+", choices=[*SETS, "tiny", *PAIRS])
    parser.add_argument("--sets", nargs="+", help="some sets only, by name")
    parser.add_argument("--methods", nargs="+", choices=list(searches(False)))
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--output", type=Path, default=HERE)
    parser.add_argument("--quick", action="store_true", help="one set of each kind")
    options = parser.parse_args()
    methods = options.methods or list(searches(False))
    kinds = options.kinds or [*SETS, "tiny", *PAIRS]
    compile_all()
    rows: list[dict[str, Any]] = []
    for kind, names in SETS.items():
        for name in names[: 1 if options.quick else None] if kind in kinds else ():
            if options.sets and name not in options.sets:
                continue
            if name not in available():
                print(f"{name} is not here", flush=True)
                continue
            for split in splits(kind, name, range(options.splits)):
                rows += measure(split, methods)
    if "tiny" in kinds and not options.sets:
        rows += tiny()
    for name, part in PAIRS.items():
        if name in kinds and not options.sets:
            rows += part(options.quick)
    path = options.output / "results.json"
    kept = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    rows = [row | {"commit": commit()} for row in rows]
    found = {
        "date": datetime.date.today().isoformat(),
        "processor": processor(),
        "rows": list({place(row): row for row in [*kept, *rows]}.values()),
    }
    options.output.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=0), encoding="utf-8")
    text = page(found) + again(path)
    (options.output / "RESULTS.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
