"""Tables in odd partitions: the same model as in memory, within both gaps.

`attack.partitions` mutates small collections; here fits are ordinary, of other losses,
strengths and storages, on up to 300 rows.
"""

import warnings
from itertools import pairwise

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd

from multikernel.estimators import SpicyMKLClassifier, SpicyMKLRegressor
from multikernel.gram import LowRank
from multikernel.kernels import GaussianKernel, LinearKernel, per_column

SLACK = 1e-7


def odd_sizes(random, n):
    """Cut n rows into parts of any size, some of one row, some of none."""
    ends = set(random.integers(1, n, int(random.integers(0, 7))).tolist())
    ends |= {1} if random.random() < 0.3 else set()
    ends |= {n - 1} if random.random() < 0.3 else set()
    sizes = np.diff([0, *sorted(ends), n]).tolist()
    if random.random() < 0.2:
        sizes.insert(int(random.integers(len(sizes) + 1)), 0)
    return tuple(sizes)


class Problem:
    """A table, targets, weights and the numbers of a fit."""

    def __init__(self, random):
        n, d = int(random.integers(30, 301)), int(random.integers(2, 5))
        self.X = random.standard_normal((n, d))
        z = np.sin(2.0 * self.X[:, 0]) + self.X[:, 1] * self.X[:, -1]
        z = z + random.choice([0.1, 1.0]) * random.standard_normal(n)
        classes = int(random.choice([0, 0, 2, 3]))
        self.kind = SpicyMKLClassifier if classes else SpicyMKLRegressor
        cuts = np.quantile(z, np.arange(1, max(classes, 2)) / max(classes, 2))
        self.y = np.digitize(z, cuts) if classes else z * random.choice([1.0, 50.0])
        self.s = random.uniform(0.2, 3.0, n) if random.random() < 0.3 else np.ones(n)
        kernels = [*per_column(GaussianKernel(1.0), d), *per_column(LinearKernel(), d)]
        losses = ("log_loss", "hinge", "squared_hinge")
        losses = losses if classes else ("squared_error", "huber", "quantile")
        # Scales that are learnt from fewer landmarks make another problem.
        exact = bool(random.random() < 0.5)
        self.settings = {
            "kernels": [*kernels, GaussianKernel(2.0)],
            "alpha": float(10.0 ** random.uniform(-3.0, -1.0)),
            "loss": str(random.choice(losses)),
            "l1_ratio": float(random.choice([1.0, 1.0, 0.5])),
            "tol": float(random.choice([1e-2, 1e-3, 1e-5])),
            "fit_intercept": bool(random.random() < 0.8),
            "normalize": "variance" if exact else None,
        }
        self.storage = LowRank(tol=1e-12) if exact else "auto"
        self.sizes = odd_sizes(random, n)
        self.framed = bool(random.random() < 0.3)
        self.lazy = bool(random.random() < 0.5)

    def partitions(self):
        """Return the collection of the samples."""
        if not self.framed:
            return da.from_array(self.X, chunks=(self.sizes, (self.X.shape[1],)))
        names = [f"x{k}" for k in range(self.X.shape[1])]
        ends = np.cumsum([0, *self.sizes])
        table = pd.DataFrame(self.X, columns=names)
        parts = [dask.delayed(table.iloc[start:end]) for start, end in pairwise(ends)]
        return dd.from_delayed(parts, meta=table.iloc[:0])

    def values(self, model, X):
        """Return decision values, (n_samples, n_outputs)."""
        classifies = self.kind is SpicyMKLClassifier
        f = (model.decision_function if classifies else model.predict)(X)
        f = f.compute() if hasattr(f, "compute") else f
        return f.reshape(len(self.X), -1)


def run_one(seed):
    """Return what is wrong with the fits of one problem."""
    random = np.random.default_rng([seed, 57])
    problem = Problem(random)
    collection = problem.partitions()
    X = collection.compute() if problem.framed else problem.X
    y = da.from_array(problem.y, chunks=37) if problem.lazy else problem.y
    with warnings.catch_warnings(), dask.config.set(scheduler="synchronous"):
        warnings.simplefilter("ignore")
        model = problem.kind(**problem.settings, storage=problem.storage)
        model.fit(collection, y, problem.s)
        twin = problem.kind(**problem.settings, storage="dense")
        twin.fit(X, problem.y, problem.s)
        f = problem.values(model, collection)
        return inspect_twins(problem, model, twin, f, X)


def inspect_twins(problem, model, twin, f, X):
    """Compare a fit in partitions with its twin in memory."""
    here, there = np.atleast_1d(model.objective_), np.atleast_1d(twin.objective_)
    gaps = np.atleast_1d(model.duality_gap_), np.atleast_1d(twin.duality_gap_)
    lefts, rights = here * gaps[0], there * gaps[1]
    found = []
    # Either optimum is within its gap below its objective, and they are the same.
    off = np.maximum(here - there - lefts, there - here - rights) / there
    if off.max() > SLACK:
        text = f"objectives {here} and {there}, gaps {gaps[0]} and {gaps[1]}"
        found.append(("inconsistent", text))
    if max(gap.max() for gap in gaps) > problem.settings["tol"]:
        found.append(("unsolved", f"gaps {gaps[0]} and {gaps[1]}"))
    if not np.allclose(f, problem.values(model, X), rtol=1e-9, atol=1e-9):
        found.append(("inconsistent", "lazy values are not those in memory"))
    if problem.settings["loss"] == "squared_error":
        # The mean loss curves by one: so far are values from those of the optimum.
        most = np.sqrt(2.0 * lefts) + np.sqrt(2.0 * rights)
        shares = problem.s / problem.s.sum()
        apart = np.sqrt(shares @ (f - problem.values(twin, X)) ** 2)
        if (apart > most * (1.0 + SLACK) + SLACK * np.abs(problem.y).max()).any():
            found.append(("inconsistent", f"values {apart} apart, not {most}"))
    return found
