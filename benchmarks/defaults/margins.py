"""Which C is the default of lp-norm MKL: twenty classification sets, six regressions.

Every strength is fitted on the same samples: 240 for training, and up to 1000 others
for the score. C is a multiple of `margin_unit`, one over the variance of the combined
kernel; "1 whatever the kernels" is C = 1.
"""

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import argparse
import datetime
import json
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from multikernel.datasets import available, load
from multikernel.estimators import LpMKLClassifier, LpMKLRegressor
from multikernel.estimators.lp.method import STANDARD_C

sys.path.append(str(Path(__file__).parents[1] / "papers"))

from provenance import commit

Array = NDArray[Any]
HERE = Path(__file__).parent
TRAIN, TEST, SPLITS = 240, 1000, 5
MULTIPLES = tuple(2.0**k for k in range(-4, 8))

CLASSIFICATION = (
    *("breast_cancer", "wine", "iris", "wpbc", "liver", "ionosphere", "sonar", "pima"),
    *("ida_thyroid", "ida_titanic", "ida_banana", "ringnorm", "splice"),
    *("uci_magic04", "uci_mushroom", "uci_spambase", "uci_segment"),
    *("diabetes", "delve_abalone", "delve_bank_32nh"),
)
"""The targets of the last three are numbers: the class is the highest quarter."""

REGRESSION = (
    *("diabetes", "delve_boston", "delve_abalone"),
    *("delve_pumadyn_32nh", "delve_pumadyn_32fm", "delve_bank_32nh"),
)
QUICK = ("wine",)
"""Comes with scikit-learn."""


def samples(name: str, *, classes: bool) -> tuple[Array, Array]:
    """Return the columns of a set, gaps filled by the mean, and its targets."""
    data = load(name)
    X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y)
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    if not classes:
        return X, y.astype(np.float64)
    return X, y > np.quantile(y, 0.75) if name in CLASSIFICATION[-3:] else y


def split(X: Array, y: Array, number: int) -> tuple[Array, Array, Array, Array]:
    """Return training and test samples, numbers standardized by the training part."""
    order = np.random.default_rng(number).permutation(y.size)
    n = min(TRAIN, int(0.6 * y.size))
    train, test = order[:n], order[n : n + TEST]
    scaler = StandardScaler().fit(X[train])
    if y.dtype.kind == "f":
        y = (y - y[train].mean()) / y[train].std()
    return scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]


def scores(model: Any, X: Array, y: Array) -> dict[str, float]:
    """Return accuracy or R^2, and for classes the AUC and the logarithmic loss."""
    found = {"score": float(model.score(X, y))}
    if not hasattr(model, "classes_"):
        return found
    values = model.decision_function(X)
    if values.ndim == 1:
        found["AUC"] = float(roc_auc_score(y == model.classes_[1], values))
    else:
        each = [
            roc_auc_score(y == label, values[:, column])
            for column, label in enumerate(model.classes_)
        ]
        found["AUC"] = float(np.mean(each))
    if hasattr(model, "predict_proba"):
        shares = model.predict_proba(X)
        found["log loss"] = float(log_loss(y, shares, labels=model.classes_))
    return found


def models(kind: str, X: Array, y: Array) -> Iterator[tuple[str, Any]]:
    """Yield fitted models of a loss by their strength."""
    make: Any = LpMKLRegressor if kind == "epsilon_insensitive" else LpMKLClassifier
    first = make(C=None, loss=kind).fit(X, y)
    unit = float(np.max(first.C_)) / STANDARD_C
    for multiple in MULTIPLES:
        yield f"{multiple:g}", make(C=multiple * unit, loss=kind).fit(X, y)
    yield "C = 1", make(C=1.0, loss=kind).fit(X, y)
    if kind == "hinge":
        yield "SVC", SVC(decision_function_shape="ovr").fit(X, y)


def measured(kind: str, name: str) -> Iterator[dict[str, Any]]:
    """Yield one row for each strength and split of a set."""
    data = samples(name, classes=kind != "epsilon_insensitive")
    for number in range(SPLITS):
        X, y, X_test, y_test = split(*data, number)
        start = time.process_time()
        for strength, model in models(kind, X, y):
            row = {"set": name, "split": number, "loss": kind, "strength": strength}
            row |= scores(model, X_test, y_test)
            now = time.process_time()
            yield row | {"seconds": now - start}
            start = now


def over_splits(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for each loss, set and strength: means over splits."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        key = row["loss"], row["set"], row["strength"]
        groups.setdefault(key, []).append(row)
    means = []
    for own in groups.values():
        first = {name: own[0][name] for name in ("loss", "set", "strength")}
        numbers = [name for name in own[0] if name not in (*first, "split")]
        values = {n: float(np.mean([row[n] for row in own])) for n in numbers}
        means.append(first | {n: round(value, 5) for n, value in values.items()})
    return means


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one set, seconds")
    parser.add_argument("--output", type=Path, default=HERE)
    options = parser.parse_args()
    rows = []
    for kind in ("hinge", "log_loss", "epsilon_insensitive"):
        sets = REGRESSION if kind == "epsilon_insensitive" else CLASSIFICATION
        for name in QUICK if options.quick else sets:
            if name not in available():
                print(f"{name} is not here", flush=True)
                continue
            for row in measured(kind, name):
                print(*row.values(), flush=True)
                rows.append(row)
    rows = over_splits(rows)
    folder = options.output / "results"
    folder.mkdir(parents=True, exist_ok=True)
    content = {
        "commit": commit(),
        "date": datetime.date.today().isoformat(),
        "rows": rows,
    }
    path = folder / "margins.json"
    path.write_text(json.dumps(content, indent=0), encoding="utf-8")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
