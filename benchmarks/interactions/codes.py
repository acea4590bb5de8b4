"""Default kernels of SpicyMKL on integers, with and without a comparison of values.

Run ``python benchmarks/interactions/codes.py``: 14 generated tables whose columns are
codes of categories, and 10 of ordered integers, 300 rows to learn from and 1000 to
predict, two seeds, some with --tables. It writes CODES.md beside this file.
"""

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from benchmarks.again import again
from benchmarks.measure import cpu
from benchmarks.papers.provenance import commit
from numpy.typing import NDArray

from multikernel import SpicyMKLClassifier, SpicyMKLRegressor
from multikernel.datasets import make_epistasis
from multikernel.estimators.read import defaults

Array = NDArray[Any]

ABOUT = """This page measures the default kernels of SpicyMKL on columns of integers.
*plain* has no category kernels, *compared* has one on each column of few integers.
Scores are accuracies or R2 on 1000 other rows, means over two seeds; seconds are CPU
seconds of a fit on 300 rows, plain and compared. `codes.py` repeats it."""
"""The first lines of the page."""
Table = tuple[Array, Array]
Random = np.random.Generator
N_TRAIN, N_ROWS, SEEDS = 300, 1300, 2


def codes(rng: Random, sizes: tuple[int, ...]) -> Array:
    """Return columns of integers below some sizes."""
    return np.column_stack([rng.integers(0, size, N_ROWS) for size in sizes])


def renamed(rng: Random, X: Array) -> Array:
    """Return columns whose values are permuted, as codes of categories are."""
    return np.column_stack([rng.permutation(c.max() + 1)[c] for c in X.T])


def car(rng: Random, *, ordered: bool) -> Table:
    """Return whether a car is good enough in price, comfort and safety."""
    X = codes(rng, (4, 4, 4, 3, 3, 3))
    comfort = np.minimum(np.minimum(X[:, 2], X[:, 3] + 1), X[:, 4] + 1)
    worst = np.minimum(np.minimum(X[:, 0], X[:, 1]), np.minimum(comfort, X[:, 5]))
    y = (worst >= 1) & (X[:, 3] > 0)
    return X if ordered else renamed(rng, X), y


def nursery(rng: Random) -> Table:
    """Return whether a sum of eight scores is large, one value excluded."""
    X = codes(rng, (3, 5, 4, 4, 3, 2, 3, 3))
    total = X @ np.array([1.0, 0.8, 0.5, 0.5, 1.0, 1.0, 0.0, 0.0]) + 2 * (X[:, 6] == 2)
    return renamed(rng, X), (total < np.median(total)) & (X[:, 7] < 2)


def krkopt(rng: Random) -> Table:
    """Return a depth of a chess endgame of two kings and a rook."""
    X = codes(rng, (4, 4, 8, 8, 8, 8))
    kings = np.abs(X[:, :2] - X[:, 4:]).max(axis=1)
    edge = np.minimum(X[:, 4:], 7 - X[:, 4:]).min(axis=1)
    return X, kings + edge - 3.0 * (X[:, 2:4] == X[:, 4:]).any(axis=1)


def monks(rng: Random, which: int) -> Table:
    """Return one of the three monk's problems."""
    X = codes(rng, (3, 3, 2, 3, 4, 2))
    first = (X[:, 0] == X[:, 1]) | (X[:, 4] == 0)
    second = (X == 0).sum(axis=1) == 2
    third = ((X[:, 4] == 2) & (X[:, 3] == 0)) | ((X[:, 4] != 3) & (X[:, 1] != 2))
    y = (first, second, third ^ (rng.random(N_ROWS) < 0.05))[which - 1]
    return renamed(rng, X), y


def effects(rng: Random, size: int, columns: int, *, paired: bool) -> Table:
    """Return sums of normal effects of three categories, and of a pair of them."""
    X = codes(rng, (size,) * columns)
    y = 0.3 * rng.standard_normal(N_ROWS)
    for column in X.T[:3]:
        y += rng.standard_normal(size)[column]
    if paired:
        y += 1.5 * rng.standard_normal((size, size))[X[:, 0], X[:, -1]]
    return X, y


def poker(rng: Random) -> Table:
    """Return whether two of three cards have the same rank, or two the same suit."""
    X = codes(rng, (4, 13, 4, 13, 4, 13))
    same = [X[:, i] == X[:, j] for i, j in ((1, 3), (3, 5), (0, 2))]
    return X, np.any(same, axis=0)


def balance(rng: Random) -> Table:
    """Return which side of a scale goes down."""
    X = codes(rng, (5,) * 4) + 1
    return X, X[:, 0] * X[:, 1] > X[:, 2] * X[:, 3]


def friedman(rng: Random, levels: int) -> Table:
    """Return Friedman's first problem on a few levels."""
    X = codes(rng, (levels,) * 10)
    U = X / (levels - 1)
    y = 10.0 * np.sin(np.pi * U[:, 0] * U[:, 1]) + 20.0 * (U[:, 2] - 0.5) ** 2
    return X, y + 10.0 * U[:, 3] + 5.0 * U[:, 4] + rng.standard_normal(N_ROWS)


def product(rng: Random, levels: int) -> Table:
    """Return a product of two columns plus a third."""
    X = codes(rng, (levels,) * 8)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    y = Z[:, 0] * Z[:, 1] + 0.7 * Z[:, 2] + 0.3 * rng.standard_normal(N_ROWS)
    return X, y


def answers(rng: Random) -> Table:
    """Return a trait that 12 questions of five answers measure."""
    trait = rng.standard_normal(N_ROWS)
    noise = rng.standard_normal((N_ROWS, 12))
    X = np.clip(np.rint(2.0 + 0.8 * trait[:, None] + noise), 0, 4).astype(int)
    return X, trait + 0.3 * rng.standard_normal(N_ROWS)


def counts(rng: Random) -> Table:
    """Return a function of three Poisson counts of eight."""
    X = np.minimum(rng.poisson(3.0, (N_ROWS, 8)), 15)
    y = np.log1p(X[:, 0]) * X[:, 1] + np.sqrt(X[:, 2])
    return X, y + 0.5 * rng.standard_normal(N_ROWS)


def genotypes(rng: Random) -> Table:
    """Return additive effects of two of 30 markers, and of a pair."""
    X = rng.binomial(2, rng.uniform(0.1, 0.5, 30), (N_ROWS, 30))
    noise = 0.7 * rng.standard_normal(N_ROWS)
    return X, X[:, 0] - X[:, 1] + X[:, 2] * X[:, 3] + noise


def epistasis(rng: Random) -> Table:
    """Return 40 markers of which two act together."""
    options = {"n_markers": 40, "heritability": 0.3}
    X, y, _ = make_epistasis(N_ROWS, random_state=int(rng.integers(100)), **options)
    return X, y > 0


CATEGORIES: dict[str, Callable[[Random], Table]] = {
    "car, codes in order": lambda rng: car(rng, ordered=True),
    "car": lambda rng: car(rng, ordered=False),
    "nursery": nursery,
    "krkopt": krkopt,
    **{f"monk {k}": lambda rng, k=k: monks(rng, k) for k in (1, 2, 3)},  # type: ignore[misc]
    "two raters": lambda rng: effects(rng, 12, 2, paired=True),
    "effects of 6": lambda rng: effects(rng, 6, 6, paired=False),
    "effects of 12": lambda rng: effects(rng, 12, 6, paired=False),
    "a pair of 5": lambda rng: effects(rng, 5, 6, paired=True),
    "a pair of 8": lambda rng: effects(rng, 8, 6, paired=True),
    "poker": poker,
    "balance": balance,
}
ORDERED: dict[str, Callable[[Random], Table]] = {
    **{f"friedman {k}": lambda rng, k=k: friedman(rng, k) for k in (5, 8, 16)},  # type: ignore[misc]
    **{f"product {k}": lambda rng, k=k: product(rng, k) for k in (4, 8, 16)},  # type: ignore[misc]
    "answers": answers,
    "counts": counts,
    "genotypes": genotypes,
    "epistasis": epistasis,
}


def measured(make: Callable[[Random], Table]) -> Array:
    """Return mean scores and seconds, without and with comparisons, shape (2, 2)."""
    found = np.empty((SEEDS, 2, 2))
    for seed in range(SEEDS):
        X, y = make(np.random.default_rng(seed))
        model = SpicyMKLClassifier() if y.dtype == bool else SpicyMKLRegressor()
        X = X.astype(float)
        for place, most in enumerate((0, defaults.MOST_CODES)):
            with patch.object(defaults, "MOST_CODES", most):
                fit = lambda m=model, X=X, y=y: m.fit(X[:N_TRAIN], y[:N_TRAIN])  # noqa: E731
                fitted, seconds = cpu(fit)
            score = fitted.score(X[N_TRAIN:], y[N_TRAIN:])
            found[seed, place] = float(score), seconds
    return np.asarray(found.mean(axis=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    every = list(CATEGORIES | ORDERED)
    parser.add_argument("--tables", nargs="*", default=every, choices=every)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    measured(balance)  # what is compiled is compiled before
    lines = ["# Integers that may be codes", "", ABOUT, ""]
    for title, tables in ("categories", CATEGORIES), ("ordered", ORDERED):
        lines += [f"## {title}", "", "| table | plain | compared | seconds |"]
        lines.append("| --- | --- | --- | --- |")
        chosen = [name for name in tables if name in options.tables]
        rows = {name: measured(tables[name]) for name in chosen}
        rows["mean"] = np.mean(list(rows.values()), axis=0)
        for name, ((plain, before), (compared, after)) in rows.items():
            times = f"{before:.3f}, {after:.3f}"
            lines.append(f"| {name} | {plain:.3f} | {compared:.3f} | {times} |")
        lines.append("")
    later = again(options.output / "codes.json")
    lines.append(f"Measured at commit {commit()}.\n{later}")
    (options.output / "CODES.md").write_text("\n".join(lines), "utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
