"""Fits of ordinary data, which must all reach their tolerance.

Columns are standard normal, targets depend on one of them, and no number is extreme:
whatever ends above its tolerance here is a fault of a solver. Strengths are spread over
decades, and a third of them are near the one at which the first kernel enters, where
solutions change from none to one. Quantiles are often such that a whole number of
samples is below them, where the best constant is not unique.
"""

import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from multikernel import estimators
from multikernel.exceptions import ConvergenceWarning
from multikernel.kernels import GaussianKernel, LinearKernel, per_column

REGRESSION = (
    "squared_error",
    "epsilon_insensitive",
    "quantile",
    "huber",
    "poisson",
    "gamma",
)
CLASSIFICATION = ("hinge", "log_loss", "squared_hinge", "squared_error")
KINDS = (
    "SpicyMKLRegressor",
    "SpicyMKLRegressor",
    "SpicyMKLRegressor",
    "SpicyMKLClassifier",
    "SpicyMKLClassifier",
    "SpicyMKLOrdinal",
    "SpicyMKLSurvival",
    "LpMKLRegressor",
    "LpMKLClassifier",
    "GroupOMPRegressor",
    "GroupOMPClassifier",
    "LocalRademacherMKLRegressor",
    "LocalRademacherMKLClassifier",
    "FixedWeightsMKLRegressor",
    "FixedWeightsMKLClassifier",
)
JOINT = ("squared_error", "epsilon_insensitive", "quantile", "huber")
"""Losses with several targets, which share a selection."""

GREEDY = {
    "GroupOMPRegressor": ("squared_error", "epsilon_insensitive"),
    "GroupOMPClassifier": ("squared_error", "log_loss", "hinge"),
}
SECONDS = 10.0
"""Seconds of processor time that a fit of 100 samples may take."""


@dataclass(frozen=True, eq=False)
class BenignCase:
    """An estimator by name, its parameters, and the data."""

    seed: int
    kind: str
    settings: dict[str, Any]
    kernels: Any
    X: np.ndarray
    y: Any
    weights: np.ndarray | None
    near: float | None = field(default=None)

    def estimator(self):
        """The estimator, not fitted; `near` is a share of the strength of entry."""
        kind = getattr(estimators, self.kind)
        model = kind(self.kernels, **self.settings)
        if self.near is not None:
            model.set_params(alpha=self.near * self.entry(model))
        return model

    def entry(self, model):
        """About the strength at which the first kernel enters, by halving."""
        low, high = -6.0, 1.0
        for _ in range(10):
            middle = (low + high) / 2.0
            model = clone(model).set_params(alpha=10.0**middle)
            empty = not model.fit(self.X, self.y, self.weights).active_kernels_.size
            low, high = (low, middle) if empty else (middle, high)
        return 10.0**high

    def __str__(self):
        settings = ", ".join(f"{k}={v!r}" for k, v in self.settings.items())
        near = "" if self.near is None else f", {self.near:.6g} of that of entry"
        weights = "" if self.weights is None else ", weights"
        return (
            f"seed {self.seed}: {self.kind}({self.kernels}, {settings}), "
            f"{self.X.shape}{weights}{near}"
        )


def make_benign_case(seed):
    """The problem of a seed."""
    random = np.random.default_rng([seed, 49])
    kind = str(random.choice(KINDS))
    n, size = int(random.integers(15, 101)), int(random.integers(1, 7))
    n = n // 10 * 10 if random.random() < 0.5 and n >= 20 else n
    X = random.standard_normal((n, size))
    settings = {}
    loss = ""
    if not kind.endswith(("Ordinal", "Survival")):
        names = REGRESSION if kind.endswith("Regressor") else CLASSIFICATION
        names = GREEDY.get(kind, names)
        loss = settings["loss"] = str(random.choice(names))
    if loss == "quantile" and kind.startswith(("Spicy", "Lp")):
        settings["quantile"] = float(random.choice([0.1, 0.25, 0.5, 0.75, 0.8, 0.9]))
    if kind.startswith("FixedWeights") or loss in ("poisson", "gamma"):
        settings = {k: v for k, v in settings.items() if k != "quantile"}
    near = strength(random, kind, settings)
    if random.random() < 0.2 and not kind.startswith("GroupOMP"):
        settings["tol"] = float(random.choice([1e-2, 1e-4, 1e-5]))
    y = make_targets(random, kind, loss, X, settings)
    weights = None if random.random() < 0.8 else random.uniform(0.3, 3.0, n)
    # Kernels of rank one have no tail of eigenvalues.
    linear = not kind.startswith("LocalRademacher")
    kernels = make_kernels(random, size, linear=linear)
    return BenignCase(seed, kind, settings, kernels, X, y, weights, near)


def strength(random, kind, settings):
    """Choose a strength, or a share of that of entry, which is returned."""
    if kind.startswith("Spicy"):
        settings["l1_ratio"] = float(random.choice([1.0, 1.0, 1.0, 0.9, 0.5, 0.1]))
        draw = random.random()
        if draw < 0.35:
            return float(random.choice([0.6, 0.9, 0.98, 0.999, 1.0, 1.02]))
        if draw < 0.85:
            settings["alpha"] = float(10.0 ** random.uniform(-3.5, 0.0))
        return None
    if kind.startswith("GroupOMP"):
        if random.random() < 0.5:
            settings["alpha"] = float(10.0 ** random.uniform(-4.0, 0.0))
        return None
    if random.random() < 0.7:
        settings["C"] = float(10.0 ** random.uniform(-2.0, 3.0))
    if not kind.startswith("FixedWeights"):
        settings["p"] = float(random.choice([1.0, 4 / 3, 2.0, 2.0, 4.0]))
    return None


def make_targets(random, kind, loss, X, settings):
    """Targets of the kind, with some noise."""
    n = len(X)
    score = np.sin(X[:, 0]) + random.choice([0.1, 0.5, 1.0]) * random.standard_normal(n)
    if kind.endswith("Classifier"):
        several = random.random() < 0.25
        cuts = [0.33, 0.66] if several else [random.choice([0.3, 0.5])]
        return np.digitize(score, np.quantile(score, cuts))
    if kind.endswith("Ordinal"):
        size = int(random.integers(3, 6))
        return np.digitize(score, np.quantile(score, np.arange(1, size) / size))
    if kind.endswith("Survival"):
        times, ends = np.exp(score), random.exponential(4.0, n)
        seen = (times <= ends) | (np.arange(n) == 0)
        upper = np.where(seen, times, np.inf)
        return pd.DataFrame({"lower": np.where(seen, times, ends), "upper": upper})
    if loss == "poisson":
        counts = random.poisson(np.exp(score + 1.0)).astype(float)
        counts[0] = max(counts[0], 1.0)
        return counts
    if loss == "gamma":
        return np.exp(score)
    if random.random() < 0.15 and loss in JOINT and kind.startswith(("Spicy", "Lp")):
        settings["selection"] = str(random.choice(["shared", "separate"]))
        return np.column_stack([score, score + X[:, -1], random.standard_normal(n)])
    return score * float(random.choice([1.0, 1.0, 1.0, 100.0]))


def make_kernels(random, size, *, linear):
    """Linear kernels, Gaussians or the default kernels of some columns."""
    draw = random.random()
    if draw < 0.3:
        return None
    if draw < 0.7 and linear:
        return per_column(LinearKernel(), size)
    width = float(random.choice([0.3, 1.0, 3.0]))
    return per_column(GaussianKernel(width), size)


def run_one(seed):
    """Return the findings of one fit, as pairs of a category and a sentence."""
    case = make_benign_case(seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = case.estimator()
            start = time.process_time()
            model.fit(case.X, case.y, case.weights)
            seconds = time.process_time() - start
        except Exception as error:
            return [("exceptions", f"{type(error).__name__}: {error}")]
    found = []
    # The refit of a greedy model publishes no gap, but warns.
    gap = float(np.max(getattr(model, "duality_gap_", 0.0)))
    warned = [w for w in caught if issubclass(w.category, ConvergenceWarning)]
    if gap > model.tol or warned:
        found.append(("unsolved", f"gap {gap:.3g} for a tolerance of {model.tol:g}"))
    if seconds > SECONDS:
        found.append(("hangs", f"took {seconds:.1f} s of processor time"))
    strays = {w for w in map(stray, caught) if w}
    return found + [("warnings", text) for text in sorted(strays)]


def stray(warning):
    """The text of a warning of NumPy or SciPy, else nothing."""
    if issubclass(warning.category, RuntimeWarning):
        return f"{warning.message} ({warning.filename}:{warning.lineno})"
    return ""
