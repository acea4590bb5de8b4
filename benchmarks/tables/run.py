"""Default fits and searches of many classes, columns or rows, beside SVC and boosting.

Run ``python benchmarks/tables/run.py`` with MULTIKERNEL_DATA naming the folder of data
sets, some tables with --tables (without any for the page alone), some models with
--models, --share for a share of the rows. Each fit has a process of its own, on one
BLAS thread, that is ended after LIMIT seconds of the processor; seconds are medians
over --repeats processes. The fits of FIRST_USE find no compiled functions.
"""

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import argparse
import json
import resource
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from benchmarks.interactions.report import table
from benchmarks.measure import Results, Row, cpu, in_child, limit_cpu, measured, read
from benchmarks.tables import generated
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

import multikernel as mk
from multikernel.datasets import load

HERE = Path(__file__).parent
KEY = ("table", "model")
LIMIT = 150
FULL_LIMIT = 900
GRID = {"C": np.logspace(-2.0, 2.0, 5), "gamma": np.logspace(-3.0, 1.0, 5)}


@dataclass(frozen=True)
class Table:
    """A table: how it is made, its rows for training and test, and its models.

    `limits` are the most seconds of models, or the most times SVC's grid if negative.
    """

    make: Callable[[int], tuple[Any, Any]]
    train: int
    test: int
    models: tuple[str, ...]
    limits: dict[str, float]


def stored(name: str) -> Callable[[int], tuple[Any, Any]]:
    """Return a function that loads some rows of a data set, in random order."""

    def make(n_rows: int) -> tuple[Any, Any]:
        data = load_digits() if name == "digits" else load(name)
        X, y = (data.data, data.target) if name == "digits" else (data.X, data.y)
        rows = np.random.default_rng(0).permutation(len(y))[:n_rows]
        return np.asarray(X, dtype=float)[rows], np.asarray(y)[rows]

    return make


def nursery(n_rows: int) -> tuple[Any, Any]:
    return generated.coded(n_rows, (3, 5, 4, 4, 3, 2, 3, 3), [0.33, 0.66, 0.98])


def insurance(n_rows: int) -> tuple[Any, Any]:
    return generated.coded(n_rows, (6,) * 85, [0.94])


BOTH = ("search", "boosting")
SAMPLED = ("search", "full search", "boosting")
"""Models of a table whose search may score on a sample, beside a search on all rows."""
FIRST_USE = "first use, 100 x 3"
"""The table whose fits compile what they need, as after an installation."""
FAMILIES = {
    "lp search": "LpMKL",
    "Group-OMP search": "GroupOMP",
    "HKL search": "HKL",
    "local Rademacher search": "LocalRademacherMKL",
}
"""First parts of the class names of models other than SpicyMKL."""
TABLES: dict[str, Table] = {
    FIRST_USE: Table(
        stored("uci_liver_bupa"),
        *(100, 200, ("fit", "search", *FAMILIES)),
        {"fit": 4.0, **dict.fromkeys(("search", *FAMILIES), 8.0)},
    ),
    "tiny 100 x 3": Table(stored("uci_liver_bupa"), 100, 200, ("fit", "SVC"), {}),
    "digits 1500 x 64, 10 classes": Table(
        stored("digits"), 1500, 297, ("search", "SVC grid"), {"search": -3.0}
    ),
    "handwriting 2000 x 784, 10 classes": Table(
        stored("mnist_t10k"), 2000, 4000, ("fit", "boosting"), {"fit": 10.0}
    ),
    "letters 400 x 180, 3 classes": Table(
        generated.letters, 400, 4000, ("search", "lp search", "SVC grid"), {}
    ),
    "segment 400 x 19, 7 classes": Table(
        stored("uci_segment"),
        *(400, 1800, ("search", "HKL search", "SVC grid", "boosting")),
        {"search": -3.0, "HKL search": -6.0},
    ),
    "adult 2000 x 14": Table(
        generated.adult, 2000, 20_000, ("search", "SVC grid", "boosting"), {}
    ),
    "adult 10 000 x 14": Table(
        generated.adult, 10_000, 20_000, ("fit", *SAMPLED), {"search": 25.0}
    ),
    "adult 40 000 x 14": Table(
        generated.adult, 40_000, 20_000, ("fit", "boosting"), {}
    ),
    "adult 100 000 x 14": Table(
        generated.adult, 100_000, 20_000, BOTH, {"search": 90.0}
    ),
    "magic04 6000 x 10": Table(stored("uci_magic04"), 6000, 13_000, SAMPLED, {}),
    "signals 20 000 x 13, 5 classes": Table(
        generated.signals, 20_000, 20_000, ("fit", "boosting"), {}
    ),
    "insurance 5000 x 85": Table(insurance, 5000, 5000, SAMPLED, {}),
    "nursery 5000 x 8, 4 classes": Table(nursery, 5000, 5000, SAMPLED, {}),
    "piecewise 20 000 x 10": Table(generated.piecewise, 20_000, 20_000, SAMPLED, {}),
    "piecewise 100 000 x 10": Table(
        generated.piecewise, 100_000, 20_000, ("fit", "boosting"), {}
    ),
    "counts 50 000 x 10": Table(
        generated.counts, 50_000, 20_000, BOTH, {"search": 80.0}
    ),
}


def model_of(name: str, table_name: str, X: Any, y: Any) -> Any:
    """Return a model with its defaults."""
    numbers, poisson = y.dtype.kind == "f", table_name.startswith("counts")
    if name == "boosting":
        loss = {"loss": "poisson"} if poisson else {}
        boosted = HistGradientBoostingRegressor(random_state=0, **loss)
        labels = HistGradientBoostingClassifier(
            random_state=0, categorical_features="from_dtype"
        )
        return boosted if numbers else labels
    if name.startswith("SVC"):
        machine = SVR() if numbers else SVC()
        if name == "SVC":
            return machine
        machine = GridSearchCV(machine, GRID, cv=5)
        if isinstance(X, np.ndarray):
            return make_pipeline(StandardScaler(), machine)
        codes = X.select_dtypes("category").columns
        encode = make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), codes), remainder=StandardScaler()
        )
        return make_pipeline(encode, machine)
    kind = "Regressor" if numbers else "Classifier"
    family = FAMILIES.get(name, "SpicyMKL")
    model = getattr(mk, family + kind + "CV" * name.endswith("search"))
    settings: dict[str, Any] = {"loss": "poisson"} if poisson else {}
    if name == "full search":
        settings["max_search_rows"] = None
    return model(**settings)


def most_seconds(name: str) -> int:
    """Return after how many seconds of the processor a model is ended."""
    return FULL_LIMIT if name == "full search" else LIMIT


def fitted(table_name: str, name: str, share: float) -> dict[str, Any]:
    """Fit once for what is compiled, then to be measured; needs a process alone."""
    chosen = TABLES[table_name]
    n_train, n_test = int(share * chosen.train), int(share * chosen.test)
    X, y = chosen.make(n_train + n_test)
    take = (lambda rows: X[rows]) if isinstance(X, np.ndarray) else X.__getitem__
    if table_name != FIRST_USE and not name.startswith(("SVC", "boosting")):
        some = slice(0, 100)
        model_of(name, table_name, X, y).fit(take(some), y[some])
    limit_cpu(most_seconds(name))
    train, test = slice(0, n_train), slice(n_train, None)
    model = model_of(name, table_name, X, y)
    _, seconds = cpu(lambda: model.fit(take(train), y[train]))
    score, predict = cpu(lambda: model.score(take(test), y[test]))
    gap = np.max(getattr(model, "duality_gap_", np.nan))
    return {
        **{"seconds": seconds, "predict": predict, "score": score, "gap": float(gap)},
        "peak_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }


def measure(table_name: str, model: str, share: float) -> dict[str, Any]:
    """Return the measurements of a fit in a process of its own."""
    call = __file__, table_name, model, share
    if table_name != FIRST_USE:
        return in_child(*call)
    with tempfile.TemporaryDirectory() as folder:
        return in_child(*call, NUMBA_CACHE_DIR=folder)


def verdict(row: Row, rows: dict[tuple[str, str], Row]) -> str:
    """Return the seconds of a row, with their limit if there is one."""
    seconds = row.get("seconds", np.inf)
    most = most_seconds(row["model"])
    text = f"{seconds:.3g}" if np.isfinite(seconds) else f"over {most}"
    limit = TABLES[row["table"]].limits.get(row["model"])
    if limit is None:
        return text
    if limit < 0.0:
        limit *= -rows.get((row["table"], "SVC grid"), {}).get("seconds", np.nan)
    return f"{text} ({limit:.3g}: {'met' if seconds <= limit else 'missed'})"


def sampling(rows: dict[tuple[str, str], Row]) -> str:
    """Return how far scores of searches on samples are from full searches."""
    pairs = {
        name: [rows.get((name, model), {}).get("score") for model in SAMPLED[:2]]
        for name in TABLES
    }
    differences = ", ".join(
        f"{name} {search - full:+.4f}"
        for name, (search, full) in pairs.items()
        if search is not None and full is not None
    )
    return (
        "A search may score its candidates on a sample of the rows "
        "(`max_search_rows`); the full search scores them on all. Score of the search "
        f"less score of the full search: {differences or 'not measured yet'}.\n"
    )


def page(path: Path) -> str:
    """Return the page of results."""
    rows = {(row["table"], row["model"]): row for row in read(path)}
    lines = [
        [
            *(row["table"], row["model"], verdict(row, rows)),
            f"{row['peak_bytes'] / 1e9:.2f}" if "seconds" in row else "",
            f"{row['score']:.3f}" if "seconds" in row else "",
            f"{row['gap']:.1e}" if np.isfinite(row.get("gap", np.nan)) else "",
            f"{row['predict']:.2g}" if "seconds" in row else "",
        ]
        for name in TABLES
        for row in rows.values()
        if row["table"] == name
    ]
    missed = sorted({line[0] for line in lines if "missed" in line[2]})
    names = ("table", "model", "seconds (limit)", "GB", "score", "gap", "predict, s")
    missing = ", ".join(missed) or "none"
    absent = [name for name in TABLES if name not in {line[0] for line in lines}]
    return "\n".join(
        [
            "# Many classes, many columns, many rows\n",
            "Everything at its default: fit and search of SpicyMKL, searches of "
            "lp-norm MKL and HKL, SVC's grid of 5 x 5 on five folds, "
            "HistGradientBoosting. Seconds of the processor on one thread of BLAS, "
            "medians over the processes of --repeats (one at least), each ended after "
            f"{LIMIT} s (full searches after {FULL_LIMIT} s); compiled functions are "
            "loaded before, except for first use, where they are compiled by the fit. "
            "Scores are each model's `score` on rows left out: accuracy, R2 of "
            "numbers, and for counts the share of deviance (boosting: R2). Adult, "
            "signals, insurance, nursery, piecewise, counts and letters are generated "
            "at the shapes of real tables (`generated.py`). HKL stops by the gap "
            "over the nodes that it examined; the gap here is over all nodes. "
            "`python benchmarks/tables/run.py`.\n",
            *table(list(names), lines),
            f"Limits missed: {missing}.\n",
            sampling(rows),
            f"Not measured yet: {', '.join(absent) or 'none'}.\n",
            measured(path),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("--models", nargs="*", default=None)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--output", type=Path, default=HERE)
    parser.add_argument("--child", type=json.loads, help="one fit, by itself")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.child:
        print(json.dumps(fitted(*options.child), default=float))
        return
    results = Results(options.output / "results.json", KEY)
    for name in options.tables:
        for model in TABLES[name].models:
            if options.models is not None and model not in options.models:
                continue
            runs = [measure(name, model, options.share) for _ in range(options.repeats)]
            row = sorted(runs, key=lambda run: run.get("seconds", np.inf))
            results.add(table=name, model=model, **row[len(row) // 2])
    text = page(results.path)
    (options.output / "RESULTS.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
