"""Times to an event: mean concordance on held-out folds, beside other packages.

``python -m benchmarks.survival.run [SETS] [--repeats 10] [--methods ...]``: the sets
that come with scikit-survival, as every method but ours does, or a generated one that
needs no other package. Columns are coded and standardized on the training side; every
method chooses its strength there by five folds of its own, or has defaults. Concordance
is Harrell's, seconds are those of the process: run it with one BLAS thread.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold
from sklearn.preprocessing import StandardScaler

from multikernel import SpicyMKLSurvivalCV
from multikernel.estimators.survival.likelihood import concordance
from multikernel.estimators.survival.times import read_times
from multikernel.kernels import LinearKernel

SETS = "veterans_lung_cancer", "whas500", "breast_cancer", "gbsg2"
OUTPUT = Path(__file__).parent / "results.json"
MOST_ROWS = 2000
"""Rows of flchain that count, drawn once: all 7874 take an hour."""

FIRST_DAY = 0.5
"""What a time of 0 days becomes, as nothing here models a logarithm of it."""


def data_of(name: str) -> tuple[Any, Any]:
    """Return a table of numbers, and times as scikit-survival has them."""
    if name == "generated":
        return generated()
    from sksurv import datasets

    X, y = getattr(datasets, f"load_{name}")()
    if name == "flchain":
        X = X.drop(columns="chapter")  # the cause of death, which is known after it
    event, days = y.dtype.names
    table = pd.get_dummies(X, drop_first=True, dtype=float)
    table = table.fillna(table.median()).to_numpy()
    times = times_of(y[event], np.maximum(y[days], FIRST_DAY))
    rows = np.random.default_rng(0).permutation(len(times))[:MOST_ROWS]
    return table[rows], times[rows]


def generated(n: int = 120) -> tuple[Any, Any]:
    """Return a table and times of which two columns of six say something."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6))
    days = np.exp(np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.4 * rng.logistic(size=n))
    end = rng.exponential(4.0, n)
    return X, times_of(days <= end, np.minimum(days, end))


def times_of(event: Any, days: Any) -> Any:
    """Return a structured array."""
    y = np.empty(len(days), dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = event, days
    return y


def coxnet() -> Any:
    """Return the elastic net of Cox's model, its strength by five folds."""
    from sksurv.linear_model import CoxnetSurvivalAnalysis

    grid = {"alphas": [[alpha] for alpha in np.geomspace(1.0, 1e-3, 16)]}
    model = CoxnetSurvivalAnalysis(l1_ratio=0.9, fit_baseline_model=False)
    return GridSearchCV(model, grid, cv=5, error_score=0.5)


def kernel_machine() -> Any:
    """Return the kernel survival machine with a Gaussian, its strength by folds.

    Three folds, four strengths and 20 steps: one fit to 400 samples takes 10 seconds.
    """
    from sksurv.svm import FastKernelSurvivalSVM

    machine = FastKernelSurvivalSVM(kernel="rbf", max_iter=20, random_state=0)
    return GridSearchCV(machine, {"alpha": np.geomspace(2.0**-12, 2.0**-3, 4)}, cv=3)


def forest() -> Any:
    """Return a random survival forest."""
    from sksurv.ensemble import RandomSurvivalForest

    return RandomSurvivalForest(
        200, min_samples_leaf=10, random_state=0, low_memory=True
    )


class Store:
    """Scores and seconds by set and method, in a file that a later run goes on with.

    Parameters
    ----------
    path : Path
        The file, JSON.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[dict[str, Any]] = []
        if path.exists():
            self.rows = json.loads(path.read_text(encoding="utf-8"))

    def row(self, name: str, method: str) -> dict[str, Any]:
        """Return the row of a method on a set, a new one if there is none."""
        for row in self.rows:
            if (row["set"], row["method"]) == (name, method):
                return row
        new = {"set": name, "method": method, "scores": [], "seconds": []}
        self.rows.append(new)
        return new

    def write(self) -> None:
        """Write all rows."""
        text = json.dumps(self.rows, indent=1)
        self.path.write_text(text + "\n", encoding="utf-8")


METHODS: dict[str, Callable[[], Any]] = {
    "SpicyMKLSurvivalCV": SpicyMKLSurvivalCV,
    "SpicyMKLSurvivalCV, linear": lambda: SpicyMKLSurvivalCV(LinearKernel()),
    "Coxnet": coxnet,
    "FastKernelSurvivalSVM": kernel_machine,
    "RandomSurvivalForest": forest,
}


def measure(name: str, methods: list[str], repeats: int, store: Store) -> None:
    """Measure every method on every fold of a set that has no score yet."""
    X, y = data_of(name)
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=repeats, random_state=0)
    splits = list(folds.split(X, y["event"]))
    for method in methods:
        row = store.row(name, method)
        for train, test in splits[len(row["scores"]) :]:
            begin = time.process_time()
            scaler = StandardScaler().fit(X[train])
            model = METHODS[method]().fit(scaler.transform(X[train]), y[train])
            risk = model.predict(scaler.transform(X[test]))
            row["seconds"].append(time.process_time() - begin)
            times = read_times(method, y[test])
            row["scores"].append(concordance(times.lower, times.upper, risk))
            store.write()
        print(row_of(row), flush=True)


def row_of(row: dict[str, Any]) -> str:
    """Return a line of the table; the error is that of folds as if independent."""
    scores = np.array(row["scores"])
    error = scores.std(ddof=1) / np.sqrt(scores.size)
    return (
        f"| {row['set']} | {row['method']} | {scores.mean():.3f} +- {error:.3f} "
        f"| {np.mean(row['seconds']):.1f} | {scores.size // 5} |"
    )


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", choices=[*SETS, "flchain", "generated", []])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--methods", nargs="*", choices=METHODS)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    others = find_spec("sksurv") is not None
    ours = [name for name in METHODS if name.startswith("Spicy")]
    methods = options.methods or (list(METHODS) if others else ours)
    store = Store(options.output)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # A repeat of everything before the next: what is cut off is even.
        for repeats in range(1, options.repeats + 1):
            for name in options.sets or (SETS if others else ["generated"]):
                measure(name, methods, repeats, store)


if __name__ == "__main__":
    main()
