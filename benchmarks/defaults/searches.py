"""How far down the paths of default searches go, and how far out HKL's columns reach.

The sets and splits are those of ``benchmarks/typical``, with fewer samples, and the
ends of all games of tic-tac-toe, which are written down here. Times are those of the
processor, on one thread of BLAS, and their ratios within one run are what counts.
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
from sklearn.preprocessing import StandardScaler

from multikernel.datasets import available
from multikernel.estimators import (
    HKLClassifierCV,
    HKLRegressorCV,
    SpicyMKLClassifierCV,
    SpicyMKLRegressorCV,
)
from multikernel.exceptions import SearchWarning
from multikernel.kernels import Interactions, median_dictionary

sys.path.append(str(Path(__file__).parents[1] / "papers"))
sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.typical import run as typical
from provenance import commit

Array = NDArray[Any]
HERE = Path(__file__).parent
TRAIN = 300
ENDS = ((1e-2, 20), (1e-3, 20), (1e-3, 30), (1e-4, 20), (1e-4, 40))
"""Ends of paths, as shares of their beginnings, and how many strengths there are."""

FARTHEST = (np.inf, 8.0, 5.0, 4.0, 3.0, 2.0)
"""Deviations at which the farthest value of a column may lie; the column shrinks."""

WINS = (
    *((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6)),
    *((1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)),
)


def games() -> tuple[Array, Array]:
    """Return how every game of tic-tac-toe ends: the board, and whether x has won."""
    ends: dict[tuple[int, ...], bool] = {}

    def play(board: tuple[int, ...], mover: int) -> None:
        lines = [{board[k] for k in line} for line in WINS]
        won = [player for player in (1, -1) if {player} in lines]
        if won or 0 not in board:
            ends[board] = 1 in won
            return
        for k in (k for k in range(9) if board[k] == 0):
            play((*board[:k], mover, *board[k + 1 :]), -mover)

    play((0,) * 9, 1)
    boards = np.array(list(ends))
    X = np.hstack([boards == 1, boards == 0, boards == -1]).astype(np.float64)
    return X, np.array(list(ends.values()))


def near_constant(seed: int, n: int) -> tuple[Array, Array]:
    """Return 48 columns of which 40 hold zeros but for a few rows, and targets.

    Twelve groups of some fiftieth of the samples move six of these columns each.
    """
    rng = np.random.default_rng(seed)
    X = np.zeros((n, 48))
    X[:, 0], X[:, 1] = rng.integers(0, 11, n), rng.integers(40, 111, n)
    X[:, 2:5] = rng.integers(-1, 2, (n, 3))
    for _ in range(12):
        rows, columns = rng.random(n) < 0.02, rng.choice(np.arange(5, 45), 6, False)
        size = rng.lognormal(0.0, 1.0, (rows.sum(), 1))
        moved = size * rng.choice([-1, 1, 2], (rows.sum(), 6))
        X[np.ix_(rows, columns)] += moved
    y = 40.0 * np.tanh(X[:, 0] - 5.0) + 20.0 * np.sin(X[:, 1] / 15.0)
    y += 10.0 * X[:, 2] * X[:, 3] + 15.0 * (X[:, 5:10] > 0.0).sum(axis=1)
    return X, y + 5.0 * rng.standard_normal(n)


def splits(n_splits: int, quick: bool) -> Iterator[Any]:
    """Yield splits of all sets, columns standardized by the training part."""
    typical.TRAIN = 100 if quick else TRAIN
    for kind, names in typical.SETS.items():
        for name in names[: 1 if quick else None]:
            if name in available():
                yield from typical.splits(kind, name, range(n_splits))
    if not quick:
        for number in range(n_splits):
            yield cut("two classes", "tic-tac-toe", number, *games())


def cut(kind: str, name: str, number: int, X: Array, y: Array) -> Any:
    """Return a random split of samples."""
    order = np.random.default_rng(number).permutation(y.size)
    train, test = order[:TRAIN], order[TRAIN : TRAIN + 1000]
    varied = np.ptp(X[train], axis=0) > 0.0
    return typical.Split(
        kind,
        name,
        number,
        X[train][:, varied],
        y[train],
        X[test][:, varied],
        y[test],
    )


def measured(model: Any, split: Any, X: Array, X_test: Array) -> dict[str, Any]:
    """Return the score and the time of a search, and whether it warned of an end."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        start = time.process_time()
        model.fit(X, split.y)
        seconds = time.process_time() - start
    return {
        "kind": split.kind,
        "set": split.name,
        "split": split.number,
        "score": float(model.score(X_test, split.y_test)),
        "seconds": seconds,
        "smallest": any(
            issubclass(w.category, SearchWarning) and "smallest" in str(w.message)
            for w in said
        ),
    }


def paths(quick: bool) -> Iterator[dict[str, Any]]:
    """Yield the default search of SpicyMKL with several ends of its path."""
    for split in splits(1 if quick else 2, quick):
        scaler = StandardScaler().fit(split.X)
        X, X_test = scaler.transform(split.X), scaler.transform(split.X_test)
        regression = split.kind == "regression"
        search = SpicyMKLRegressorCV if regression else SpicyMKLClassifierCV
        for ratio, size in ENDS[: 2 if quick else None]:
            model = search(alpha_min_ratio=ratio, n_alphas=size)
            row = measured(model, split, X, X_test)
            yield row | {"ratio": ratio, "strengths": size}


PAIRED_SPLITS = 10


def pairs(quick: bool) -> Iterator[dict[str, Any]]:
    """Yield the default search of SpicyMKL with interactions, and without any."""
    for split in splits(1 if quick else PAIRED_SPLITS, quick):
        scaler = StandardScaler().fit(split.X)
        X, X_test = scaler.transform(split.X), scaler.transform(split.X_test)
        regression = split.kind == "regression"
        search = SpicyMKLRegressorCV if regression else SpicyMKLClassifierCV
        for weight in (0.0, 0.15):
            kernels = Interactions(weight=weight) if weight else median_dictionary(X)
            row = measured(search(kernels), split, X, X_test)
            yield row | {"weight": weight}


def columns(quick: bool) -> Iterator[dict[str, Any]]:
    """Yield the default search of HKL, where outlying columns shrink."""
    made = [
        cut("regression", "48 columns, 40 near-constant", seed, *near_constant(seed, n))
        for seed, n in enumerate(() if quick else (1300,) * 3)
    ]
    for split in [*made, *splits(1, quick)]:
        if split.kind == "six classes":
            continue
        regression = split.kind == "regression"
        search = HKLRegressorCV if regression else HKLClassifierCV
        mean, scale = split.X.mean(axis=0), split.X.std(axis=0)
        for most in FARTHEST[2:4] if quick else FARTHEST:
            unit = np.maximum(scale, np.abs(split.X - mean).max(axis=0) / most)
            X, X_test = (split.X - mean) / unit, (split.X_test - mean) / unit
            row = measured(search(standardize=False), split, X, X_test)
            yield row | {"farthest": most}


COMMANDS = {"paths": paths, "columns": columns, "pairs": pairs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("--quick", action="store_true", help="one set of each kind")
    parser.add_argument("--output", type=Path, default=HERE)
    options = parser.parse_args()
    typical.compile_all()
    rows = []
    for row in COMMANDS[options.command](options.quick):
        print(*row.values(), flush=True)
        rows.append(row)
    folder = options.output / "results"
    folder.mkdir(parents=True, exist_ok=True)
    today = datetime.date.today().isoformat()
    content = {"commit": commit(), "date": today, "rows": rows}
    path = folder / f"{options.command}.json"
    path.write_text(json.dumps(content, indent=0), encoding="utf-8")


if __name__ == "__main__":
    main()
