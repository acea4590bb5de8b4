"""Default fits beside boosting on real tables of 2000 rows or more.

Run ``python benchmarks/middle/sets.py`` with MULTIKERNEL_DATA naming the folder of data
sets, some with --sets (without any for the page alone) or --models. A set is divided
once; training takes MOST_TRAIN rows at most. Nothing is tuned: every model has its
defaults.
"""

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from benchmarks.interactions.report import table
from benchmarks.measure import Results, cpu, measured, read
from numpy.typing import NDArray
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.model_selection import train_test_split

import multikernel as mk
from multikernel.datasets import load

Array = NDArray[Any]
HERE = Path(__file__).parent
KEY = ("set", "model")
MOST_TRAIN, MOST_TEST = 4000, 4000

LABELS = (
    *("ida_banana", "ida_ringnorm", "ida_titanic", "uci_magic04", "uci_mushroom"),
    *("uci_segment", "uci_spambase"),
)
NUMBERS = (
    *("delve_abalone", "delve_bank_32fh", "delve_bank_32fm", "delve_bank_32nh"),
    *("delve_bank_32nm", "delve_pumadyn_32fh", "delve_pumadyn_32fm"),
    *("delve_pumadyn_32nh", "delve_pumadyn_32nm"),
)

MODELS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "SpicyMKL": (mk.SpicyMKLClassifier, mk.SpicyMKLRegressor),
    "search": (mk.SpicyMKLClassifierCV, mk.SpicyMKLRegressorCV),
    "boosting": (
        lambda: HistGradientBoostingClassifier(random_state=0),
        lambda: HistGradientBoostingRegressor(random_state=0),
    ),
}


def divided(name: str) -> list[Array]:
    """Return training and test rows of X, and of y."""
    data = load(name)
    X, y = np.asarray(data.X, dtype=float), data.y
    n_test = min(MOST_TEST, len(X) // 3)
    n_train = min(MOST_TRAIN, len(X) - n_test)
    return list(
        train_test_split(
            X,
            y,
            train_size=n_train,
            test_size=n_test,
            random_state=0,
            stratify=y if name in LABELS else None,
        )
    )


def page(path: Path) -> str:
    """Return the page of results."""
    rows = {(row["set"], row["model"]): row for row in read(path)}
    every = [name for name in (*LABELS, *NUMBERS) if (name, "boosting") in rows]
    lines = []
    for name in every:
        each = [rows.get((name, model)) for model in MODELS]
        scores = [f"{row['score']:.3f}" if row else "" for row in each]
        seconds = [f"{row['seconds']:.1f}" if row else "" for row in each]
        first = rows[name, "SpicyMKL"]
        gap = f"{first['gap']:.0e}"
        lines.append([name, str(first["rows"]), *scores, *seconds, gap])
    head = ["set", "rows", *MODELS, *(f"{m}, s" for m in MODELS), "gap"]
    return "\n".join(
        [
            "# Real tables of 2000 rows or more\n",
            "Scores are accuracies of labels or R2 of numbers on the held-out rows of "
            "one split. Every model has its defaults; the search is that of SpicyMKL, "
            "and the gap that of the fit. `python benchmarks/middle/sets.py` repeats "
            "it.\n",
            *table(head, lines),
            beside_boosting(rows, "SpicyMKL", "The default fit"),
            beside_boosting(rows, "search", "The default search"),
            measured(path),
        ]
    )


def beside_boosting(rows: dict[Any, Any], model: str, words: str) -> str:
    """Return on how many sets a model is at or above boosting."""
    pairs = [
        (row["score"], rows[name, "boosting"]["score"])
        for (name, label), row in rows.items()
        if label == model and (name, "boosting") in rows
    ]
    better = sum(own >= other for own, other in pairs)
    word = "met" if 2 * better >= len(pairs) else "missed"
    return (
        f"{words} is at or above boosting on {better} of {len(pairs)} sets (half of "
        f"them: {word}).\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    every = (*LABELS, *NUMBERS)
    parser.add_argument("--sets", nargs="*", choices=every, default=every)
    parser.add_argument("--models", nargs="*", choices=list(MODELS), default=[*MODELS])
    parser.add_argument("--output", type=Path, default=HERE)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results = Results(options.output / "sets.json", KEY)
    for name in options.sets:
        X, X_test, y, y_test = divided(name)
        for label in options.models:
            make = MODELS[label][name in NUMBERS]
            make().fit(X[:100], y[:100])  # for what is compiled
            model, seconds = cpu(lambda make=make, X=X, y=y: make().fit(X, y))
            results.add(
                set=name,
                model=label,
                rows=len(X),
                score=float(model.score(X_test, y_test)),
                seconds=seconds,
                gap=float(np.max(getattr(model, "duality_gap_", np.nan))),
            )
    text = page(results.path)
    (options.output / "SETS.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
