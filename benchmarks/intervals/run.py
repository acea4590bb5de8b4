"""How sure is a prediction: coverage, widths and calibration, measured.

Run ``python benchmarks/intervals/run.py``, or some parts by ``--part NAME`` (coverage,
scaled, bands, mapie, calibration). Rows of other parts stay in results.json, and
RESULTS.md is written from it. The part "mapie" needs the peers (``make bench-peers``
has their environment); it is left out where MAPIE is not installed. Times are seconds
of the processor on one BLAS thread.
"""

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import argparse
import importlib.util
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from benchmarks.intervals.report import page
from benchmarks.measure import Results, Row, cpu
from numpy.typing import NDArray
from scipy.special import logit
from scipy.stats import spearmanr
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_friedman1, make_friedman2, make_friedman3
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from multikernel import (
    FixedWeightsMKLRegressor,
    FixedWeightsMKLRegressorCV,
    GroupOMPRegressorCV,
    LpMKLRegressorCV,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
)
from multikernel.datasets import load
from multikernel.inspection import scaled_intervals, term_posterior
from multikernel.kernels import GaussianKernel, per_column

Array = NDArray[Any]
HERE = Path(__file__).parent
COLUMN_KERNELS = per_column(GaussianKernel(1.0), 8)
N_TERMS, N_BANDS, NOISE = 3, 100, 0.5
KEY = ("part", "case")
COVERAGE, N_TRAIN, N_TEST = 0.9, 200, 1000
FRIEDMAN = {"friedman1": 1.0, "friedman2": 125.0, "friedman3": 0.1}
"""Generated sets, and the deviations of their noise, as in Friedman (1991)."""
REGRESSIONS = (
    *("delve_boston", "delve_abalone", "delve_bank_32fm", "delve_bank_32nh"),
    *("delve_bank_32nm", "delve_pumadyn_32fm", "delve_pumadyn_32nh", "diabetes"),
    *("wine: alcohol", *FRIEDMAN),
)
CLASSES = (
    *("liver", "sonar", "ionosphere", "wpbc", "ida_thyroid", "pima", "ida_titanic"),
    *("ida_banana", "ida_ringnorm", "uci_spambase", "uci_magic04", "breast_cancer"),
)
MAPIE_SETS = ("delve_boston", "delve_abalone", "diabetes", "wine: alcohol", *FRIEDMAN)


def regression(name: str, seed: int) -> tuple[Array, Array]:
    """Return a set for a regression; generated ones differ from seed to seed."""
    size = N_TRAIN + N_TEST
    if name == "friedman1":
        return make_friedman1(size, noise=FRIEDMAN[name], random_state=seed)  # type: ignore[no-any-return]
    if name in FRIEDMAN:
        make = {"friedman2": make_friedman2, "friedman3": make_friedman3}[name]
        return make(size, noise=FRIEDMAN[name], random_state=seed)  # type: ignore[no-any-return]
    if name == "wine: alcohol":
        X = np.asarray(load("wine").X, dtype=float)
        return X[:, 1:], X[:, 0]
    data = load(name)
    return np.asarray(data.X, dtype=float), np.asarray(data.y, dtype=float)


def split(X: Array, y: Array, seed: int, **given: Any) -> tuple[Array, ...]:
    """Return standardized samples to learn from and to predict, and their targets."""
    train = min(N_TRAIN, 2 * len(y) // 3)
    test = min(N_TEST, len(y) - train)
    parts = train_test_split(
        X, y, train_size=train, test_size=test, random_state=seed, **given
    )
    scaler = StandardScaler().fit(parts[0])
    return scaler.transform(parts[0]), scaler.transform(parts[1]), *parts[2:]


def met(ends: tuple[Array, Array], y: Array, unit: float) -> tuple[float, float]:
    """Return the share of targets inside, and the mean width in some unit."""
    low, high = ends
    return float(np.mean((low <= y) & (y <= high))), float(np.mean(high - low) / unit)


def coverage(draws: int) -> Iterator[Row]:
    """Yield coverage of 0.9 on twelve sets, and what intervals cost."""
    for name in REGRESSIONS:
        rows = []
        for seed in range(draws):
            X, X_new, y, y_new = split(*regression(name, seed), seed)
            model, kept = cpu(
                lambda X=X, y=y: SpicyMKLRegressorCV(intervals=True).fit(X, y)
            )
            ends = model.predict_interval(X_new, COVERAGE)
            rows.append(met(ends, y_new, np.std(y_new)))
        # Of the last split: what is compiled has been by then.
        _, plain = cpu(lambda X=X, y=y: SpicyMKLRegressorCV().fit(X, y))
        each = np.array(rows)
        yield {
            "part": "coverage",
            "case": name,
            "splits": draws,
            "coverage": float(each[:, 0].mean()),
            "error": float(each[:, 0].std() / np.sqrt(max(draws - 1, 1))),
            "width": float(each[:, 1].mean()),
            "cost": kept / plain,
        }


def growing_noise(seed: int) -> tuple[Array, Array]:
    """Return samples whose noise grows with their distance from zero."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(N_TRAIN + N_TEST, 3))
    noise = 0.1 + 0.15 * np.sum(X**2, axis=1)
    return X, np.sin(X[:, 0]) + X[:, 1] + noise * random.standard_normal(len(X))


def scaled(draws: int) -> Iterator[Row]:
    """Yield the coverage of scaled intervals, and how widths follow errors."""
    for name in ("growing noise", *REGRESSIONS):
        rows = []
        for seed in range(draws):
            generated = name == "growing noise"
            data = growing_noise(seed) if generated else regression(name, seed)
            X, X_new, y, y_new = split(*data, seed)
            model = SpicyMKLRegressorCV(intervals=True).fit(X, y)
            errors = np.abs(y_new - model.predict(X_new))
            both = []
            for intervals in (model, scaled_intervals(model, X, y)):
                low, high = intervals.predict_interval(X_new, coverage=COVERAGE)
                rank = spearmanr(high - low, errors).statistic
                both.append((*met((low, high), y_new, np.std(y_new)), rank))
            rows.append(both)
        each = np.array(rows)
        row: Row = {"part": "scaled", "case": name, "splits": draws}
        row["error"] = float(each[:, 1, 0].std() / np.sqrt(max(draws - 1, 1)))
        for number, value in enumerate(("coverage", "width", "rank")):
            row[value] = each[:, :, number].mean(axis=0).tolist()
        yield row


def drawn_functions(seed: int) -> tuple[Array, Array, Array]:
    """Return samples, the true terms of all columns, and targets with noise of 0.5.

    Terms are draws of Gaussian processes, and zero but for the first columns.
    """
    random = np.random.default_rng(seed)
    X = random.uniform(-2.0, 2.0, size=(2 * N_BANDS, len(COLUMN_KERNELS)))
    terms = np.zeros(X.shape)
    for m in range(N_TERMS):
        K = COLUMN_KERNELS[m](X, X)
        roots = np.linalg.cholesky(K + 1e-8 * np.eye(len(K)))
        terms[:, m] = roots @ random.standard_normal(len(K))
    return X, terms, terms.sum(axis=1) + random.normal(0.0, NOISE, len(X))


def bands(draws: int) -> Iterator[Row]:
    """Yield how often bands of 0.9 hold the true terms, weights known or learnt."""
    squared = "squared_error"
    # With C over the variance of the noise the prior is the one drawn from.
    true = [COLUMN_KERNELS[m] for m in range(N_TERMS)]
    exact = {"kernel_weights": np.ones(N_TERMS), "normalize": None, "C": NOISE**-2}
    models = {
        "weights known": FixedWeightsMKLRegressor(true, loss=squared, **exact),
        "equal weights, C searched": FixedWeightsMKLRegressorCV(
            COLUMN_KERNELS, loss=squared
        ),
        "lp-norm": LpMKLRegressorCV(COLUMN_KERNELS, loss=squared),
        "SpicyMKL": SpicyMKLRegressorCV(COLUMN_KERNELS),
        "Group-OMP": GroupOMPRegressorCV(COLUMN_KERNELS),
    }
    for name, model in models.items():
        rows = []
        for seed in range(draws):
            X, terms, y = drawn_functions(seed)
            X, X_new, y = X[:N_BANDS], X[N_BANDS:], y[:N_BANDS]
            truth = terms[N_BANDS:] - terms[:N_BANDS].mean(axis=0)
            posterior = term_posterior(model.fit(X, y), X, y)
            for m in range(N_TERMS):
                low, high = (e[:, 0] for e in posterior.band(X_new, [m], COVERAGE, X))
                row = (
                    seed,
                    m in model.active_kernels_,
                    *met((low, high), truth[:, m], 1),
                )
                rows.append(row)
        each = np.array(rows)
        per_draw = [each[each[:, 0] == seed, 2].mean() for seed in range(draws)]
        used = each[:, 1] == 1.0
        yield {
            "part": "bands",
            "case": name,
            "splits": draws,
            "coverage": float(each[:, 2].mean()),
            "error": float(np.std(per_draw) / np.sqrt(max(draws - 1, 1))),
            "in_use": float(each[used, 2].mean()),
            "share_in_use": float(used.mean()),
            "width": float(each[used, 3].mean()),
        }


def beside_mapie(draws: int) -> Iterator[Row]:
    """Yield coverage and widths beside MAPIE's CV+ around two regressors."""
    if importlib.util.find_spec("mapie") is None:
        return
    from mapie.regression import CrossConformalRegressor
    from sklearn.ensemble import RandomForestRegressor

    for name in MAPIE_SETS:
        rows = []
        for seed in range(draws):
            X, X_new, y, y_new = split(*regression(name, seed), seed)
            search = SpicyMKLRegressorCV(intervals=True).fit(X, y)
            values = met(search.predict_interval(X_new, COVERAGE), y_new, np.std(y_new))
            row = [*values]
            others = (
                SpicyMKLRegressor(alpha=search.best_params_["alpha"], tol=1e-2),
                RandomForestRegressor(100, random_state=seed),
            )
            for other in others:
                mapie = CrossConformalRegressor(other, confidence_level=COVERAGE, cv=5)
                _, ends = mapie.fit_conformalize(X, y).predict_interval(X_new)
                row += met((ends[:, 0, 0], ends[:, 1, 0]), y_new, np.std(y_new))
            rows.append(row)
        each = np.mean(rows, axis=0).reshape(3, 2)
        yield {
            "part": "mapie",
            "case": name,
            "splits": draws,
            "coverage": each[:, 0].tolist(),
            "width": each[:, 1].tolist(),
        }


def calibration(draws: int) -> Iterator[Row]:
    """Yield how probabilities are calibrated, as they are and by folds."""
    for name in CLASSES:
        data = load(name)
        X, y = (
            np.asarray(data.X, dtype=float),
            np.unique(data.y, return_inverse=True)[1],
        )
        X = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)  # four of wpbc's
        pooled: list[list[Array]] = []
        for seed in range(draws):
            parts = split(X, y, seed, stratify=y)
            rows, new, labels, seen = parts
            search = SpicyMKLClassifierCV().fit(rows, labels)
            inner = SpicyMKLClassifier(alpha=search.alpha_)
            folds = CalibratedClassifierCV(inner, cv=5, ensemble=False)
            models = search, folds.fit(rows, labels)
            pooled.append([seen, *(m.predict_proba(new)[:, 1] for m in models)])
        seen, *each = (np.concatenate(values) for values in zip(*pooled, strict=True))
        yield {
            "part": "calibration",
            "case": name,
            "splits": draws,
            "loss": [log_loss(seen, p) for p in each],
            "error": [expected_error(seen, p) for p in each],
            "slope": [slope(seen, p) for p in each],
        }


def expected_error(y: Array, p: Array, n_bins: int = 10) -> float:
    """Return the expected calibration error, over bins of equal width."""
    bins = np.minimum((p * n_bins).astype(int), n_bins - 1)
    gaps = np.bincount(bins, y - p, minlength=n_bins)
    return float(np.abs(gaps).sum() / len(y))


def slope(y: Array, p: Array) -> float:
    """Return the slope of a logistic regression on the log odds: 1 is calibrated."""
    odds = logit(np.clip(p, 1e-6, 1.0 - 1e-6))[:, None]
    return float(LogisticRegression(C=np.inf).fit(odds, y).coef_[0, 0])


PARTS = {
    "coverage": coverage,
    "scaled": scaled,
    "bands": bands,
    "mapie": beside_mapie,
    "calibration": calibration,
}
DRAWS = {"coverage": 20, "scaled": 10, "bands": 50, "mapie": 3, "calibration": 4}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--draws", type=int, help="Splits, in place of each part's own")
    parser.add_argument("--output", type=Path, default=HERE)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results = Results(options.output / "results.json", KEY)
    for name in options.part or PARTS:
        for row in PARTS[name](options.draws or DRAWS[name]):
            results.add(**row)
    text = page(results.path)
    (options.output / "RESULTS.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
