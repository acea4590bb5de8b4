"""Tables at the shapes of real ones that are not in the folder of data sets."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[Any]
LEVELS = {
    **{"work": 8, "marital": 7, "occupation": 14, "relation": 6},
    **{"race": 5, "sex": 2, "country": 30, "school": 5},
}


def adult(n_rows: int) -> tuple[pd.DataFrame, Array]:
    """Return 14 columns, eight of them categories, and labels (24 % positive)."""
    random, fixed = np.random.default_rng(0), np.random.default_rng(123)
    normal = random.standard_normal
    numbers = {
        "age": np.clip(np.round(38 + 13 * normal(n_rows)), 17, 90),
        "education": random.integers(1, 17, n_rows).astype(float),
        "hours": np.clip(np.round(40 + 12 * normal(n_rows)), 1, 99),
        "gain": np.round(np.exp(8.5 + normal(n_rows))) * (random.random(n_rows) < 0.08),
        "loss": np.round(1900 + 300 * normal(n_rows)) * (random.random(n_rows) < 0.05),
        "weight": np.round(np.exp(12 + 0.5 * normal(n_rows))),
    }
    f = -0.9 * ((numbers["age"] - 48) / 14) ** 2 + 0.35 * (numbers["education"] - 9)
    f += 0.04 * (numbers["hours"] - 40) + 2.5 * (numbers["gain"] > 6000)
    f += 0.9 * (numbers["loss"] > 1800)
    columns: dict[str, Any] = dict(numbers)
    for name, levels in LEVELS.items():
        drawn = random.choice(levels, n_rows, p=fixed.dirichlet(np.full(levels, 1.5)))
        f += 0.7 * fixed.standard_normal(levels)[drawn]
        columns[name] = pd.Categorical([f"{name}{level}" for level in drawn])
    f = 1.5 * (f - np.quantile(f, 0.76))
    labels = random.random(n_rows) < 1.0 / (1.0 + np.exp(-f))
    return pd.DataFrame(columns), np.where(labels, "more", "less")


def piecewise(n_rows: int) -> tuple[Array, Array]:
    """Return ten uniform columns, and targets piecewise linear in them, with noise."""
    random, fixed = np.random.default_rng(0), np.random.default_rng(5)
    X = random.uniform(-1.0, 1.0, (n_rows, 10))
    slopes, bends = fixed.standard_normal((2, 10)), fixed.uniform(-1.0, 1.0, (2, 10))
    f = 2.0 * sum(
        np.maximum(X - b, 0.0) @ a for a, b in zip(slopes, bends, strict=True)
    )
    f += 1.5 * np.maximum(X[:, 0] * X[:, 1], 0.0) + 1.5 * np.maximum(
        X[:, 2] - X[:, 3], 0
    )
    return X, (f - f.mean()) / f.std() + 0.8 * random.standard_normal(n_rows)


def counts(n_rows: int) -> tuple[Array, Array]:
    """Return ten normal columns, and Poisson counts of mean about 0.7."""
    random = np.random.default_rng(0)
    X = random.standard_normal((n_rows, 10))
    f = 0.5 * np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1] + 0.2 * (X[:, 2] ** 2 - 1.0)
    return X, random.poisson(np.exp(f + 0.3 * X[:, 3] * X[:, 4] - 0.5)).astype(float)


def coded(
    n_rows: int, levels: tuple[int, ...], cuts: list[float]
) -> tuple[Array, Array]:
    """Return columns of integer codes, and classes of a sum of their effects."""
    random, fixed = np.random.default_rng(0), np.random.default_rng(7)
    X = np.column_stack([random.integers(0, k, n_rows) for k in levels]).astype(float)
    f = sum(fixed.standard_normal(k)[X[:, j].astype(int)] for j, k in enumerate(levels))
    f = f + np.where(X[:, 0] == 0, X[:, 1], 0.0) + 0.3 * random.standard_normal(n_rows)
    return X, np.digitize(f, np.quantile(f, cuts))


def signals(n_rows: int) -> tuple[Array, Array]:
    """Return 13 correlated normal columns, and five overlapping classes."""
    random, fixed = np.random.default_rng(0), np.random.default_rng(3)
    X = random.standard_normal((n_rows, 13)) @ fixed.standard_normal((13, 13))
    X /= X.std(axis=0)
    f = np.sin(X[:, :5]) + X[:, 5:10] ** 2 / 2.0 - 0.5 + X[:, [10, 11, 12, 10, 11]]
    return X, np.argmax(f + random.gumbel(size=f.shape) * 0.5, axis=1)


def letters(n_rows: int) -> tuple[Array, Array]:
    """Return 60 letters as 180 columns of zeros and ones, and three classes."""
    random = np.random.default_rng(0)
    letter = random.integers(0, 4, (n_rows, 60))
    near = letter[:, 28:32]
    kind = np.where((near[:, 0] == 2) & (near[:, 1] != 3), 1, 0)
    kind = np.where((near[:, 2] == 0) & (near[:, 3] != 1) & (kind == 0), 2, kind)
    wrong = random.random(n_rows) < 0.05
    kind[wrong] = random.integers(0, 3, int(wrong.sum()))
    X = (letter[:, :, None] == np.arange(3)).reshape(n_rows, 180)
    return X.astype(float), kind
