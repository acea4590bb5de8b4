"""Ordered classes as such, as numbers and as classes without an order.

``python -m benchmarks.ordinal.run [SETS] [--repeats 2]``: five grades of equal size of
a measured target, columns standardized on the training side, every method with its own
search. Numbers are rounded to the nearest grade. Errors are the mean distance in grades
of the prediction (of ordered classes the median, which is made for it); the error of a
mean is that of folds as if independent. Run it with one BLAS thread.
"""

import argparse
import time
import warnings
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.metrics import accuracy_score
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.preprocessing import StandardScaler

from multikernel import SpicyMKLClassifierCV, SpicyMKLOrdinalCV, SpicyMKLRegressorCV
from multikernel.datasets import available, load

SETS = {"diabetes": "", "boston": "delve_boston", "abalone": "delve_abalone"}
GRADES = 5
MOST_ROWS = 600
"""Rows that count, drawn once."""

METHODS = {
    "ordered classes": SpicyMKLOrdinalCV,
    "numbers": SpicyMKLRegressorCV,
    "classes": SpicyMKLClassifierCV,
}


def data_of(name: str, n_rows: int) -> tuple[Any, Any]:
    """Return a table of numbers, and grades from 0 to 4."""
    if name == "diabetes":
        X, y = load_diabetes(return_X_y=True)
    else:
        loaded = load(SETS[name])
        X, y = loaded.X, loaded.y
    rows = np.random.default_rng(0).permutation(len(y))[:n_rows]
    X, y = X[rows], y[rows]
    return X, np.searchsorted(np.quantile(y, np.arange(1, GRADES) / GRADES), y)


def grades_by(model: Any, X: Any) -> tuple[Any, Any]:
    """Return the likeliest grades, and those of least distance."""
    predicted = model.predict(X)
    if isinstance(model, SpicyMKLOrdinalCV):
        return predicted, model.predict_median(X)
    if isinstance(model, SpicyMKLRegressorCV):
        predicted = np.clip(np.rint(predicted), 0, GRADES - 1)
    return predicted, predicted


def measure(name: str, repeats: int, n_rows: int) -> None:
    """Print a row for each method."""
    X, y = data_of(name, n_rows)
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=repeats, random_state=0)
    splits = list(folds.split(X, y))
    for method, kind in METHODS.items():
        right, wide, begin = [], [], time.process_time()
        for train, test in splits:
            scaler = StandardScaler().fit(X[train])
            model = kind().fit(scaler.transform(X[train]), y[train])
            likeliest, nearest = grades_by(model, scaler.transform(X[test]))
            right.append(accuracy_score(y[test], likeliest))
            wide.append(np.abs(nearest - y[test]).mean())
        seconds = (time.process_time() - begin) / len(splits)
        cells = [
            f"{np.mean(each):.3f} +- {np.std(each, ddof=1) / np.sqrt(len(each)):.3f}"
            for each in (right, wide)
        ]
        print(
            f"| {name} | {method} | {' | '.join(cells)} | {seconds:.1f} |", flush=True
        )


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", choices=[*SETS, []])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--rows", type=int, default=MOST_ROWS)
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in options.sets or SETS:
            if name == "diabetes" or SETS[name] in available():
                measure(name, options.repeats, options.rows)


if __name__ == "__main__":
    main()
