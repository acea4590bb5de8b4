"""Tests of association: levels under simulated nulls, power, and time.

Run ``python benchmarks/association/run.py [PARTS]`` (levels, power, times). Rows of
other parts stay in results.json, and RESULTS.md is written from it. Times are seconds
of the processor on one BLAS thread.
"""

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import argparse
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from benchmarks.interactions.report import table
from benchmarks.measure import Results, Row, cpu, measured, read
from numpy.typing import NDArray
from scipy.stats import kstest
from sklearn.datasets import load_breast_cancer

from multikernel import SpicyMKLRegressor
from multikernel.inspection import kernel_tests, stability_selection
from multikernel.kernels import (
    GaussianKernel,
    Interactions,
    per_column,
    spicy_dictionary,
)

Array = NDArray[Any]
HERE = Path(__file__).parent
KEY = ("part", "case")
NULLS = ("normal noise", "heavy tails", "8 of 60 in a class", "counts", "covariates")


def null(case: str, seed: int, n: int = 60) -> tuple[Array, Array, dict[str, Any]]:
    """Return correlated columns, and targets that depend on covariates at most."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 6)) + random.normal(size=(n, 1))
    noise, covariates = random.normal(size=n), {}
    if case == "heavy tails":
        noise = random.standard_t(2, size=n)
    elif case == "8 of 60 in a class":
        noise = random.permutation(np.arange(n) < 8)
    elif case == "counts":
        noise = random.poisson(2.0, size=n).astype(float)
    elif case == "covariates":
        age = X[:, 0] + random.standard_t(3, size=n)
        noise, covariates = noise + 2.0 * age, {"covariates": age[:, None]}
    return X, noise, covariates


def levels(draws: int) -> Iterator[Row]:
    kernels = per_column(GaussianKernel("median"), 6)
    for case in NULLS:
        model = SpicyMKLRegressor(kernels, loss="poisson") if case == "counts" else None
        rows = []
        for seed in range(draws):
            X, y, given = null(case, seed)
            tests = kernel_tests(
                model or kernels, X, y, n_permutations=199, random_state=seed, **given
            )
            entering = np.sqrt(tests.statistics.max()) / len(y)
            values = tests.p_values[0], tests.permutation_p[0]
            # The strength of level 0.05 is the 190th of 199 permutations.
            enters = float(entering > tests.strengths[189])
            rows.append([*values, tests.family_wise_p.min(), enters])
        p, permuted, family, entered = np.array(rows).T
        yield {
            "part": "levels",
            "case": case,
            "draws": draws,
            "uniform": [float(kstest(v, "uniform").pvalue) for v in (p, permuted)],
            "level": [float(np.mean(v <= 0.05)) for v in (p, permuted, family)],
            "entered": float(entered.mean()),
        }


def power(draws: int) -> Iterator[Row]:
    """Yield the shares of three planted kernels of thirty that are told."""
    kernels = per_column(GaussianKernel("median"), 30)
    rows = []
    for seed in range(draws):
        random = np.random.default_rng(seed)
        X = random.normal(size=(150, 30))
        y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 / 2 + X[:, 2] / 2
        y = y + random.normal(size=150)
        tests = kernel_tests(kernels, X, y, random_state=seed)
        model = SpicyMKLRegressor(kernels, alpha=0.1).fit(X, y)
        stable = stability_selection(model, X, y, n_resamples=50, random_state=seed)
        # As many kernels are called by either, in the order of the method.
        called = np.flatnonzero(tests.family_wise_p <= 0.05)
        order = np.argsort(-stable.frequencies, kind="stable")[: called.size]
        rows.append([np.sum(called < 3), np.sum(called >= 3), np.sum(order < 3)])
    told, false, by_stability = np.array(rows, dtype=float).T
    yield {
        "part": "power",
        "case": "3 of 30 kernels",
        "draws": draws,
        "told": float(told.mean() / 3.0),
        "false": float(np.mean(false > 0)),
        "stability": float(by_stability.mean() / 3.0),
    }


def times(draws: int) -> Iterator[Row]:
    """Yield seconds with 999 permutations, or fewer in a quick run."""
    count = 999 if draws >= 100 else 9
    X, y = load_breast_cancer(return_X_y=True)
    X = ((X - X.mean(axis=0)) / X.std(axis=0))[:455]
    _, seconds = cpu(lambda: kernel_tests(spicy_dictionary(30), X, y[:455]))
    yield {"part": "times", "case": "837 kernels of 455 samples", "seconds": seconds}
    random = np.random.default_rng(0)
    X, y = random.normal(size=(400, 100)), random.normal(size=400)
    pairs = Interactions(per_column(GaussianKernel("median"), 100), mains=False)
    _, seconds = cpu(
        lambda: kernel_tests(pairs, X, y, analytic=False, n_permutations=count)
    )
    yield {"part": "times", "case": "4950 pairs of 400 samples", "seconds": seconds}


def page(path: Path) -> str:
    rows = read(path)
    parts = [
        "# Tests of association, measured\n",
        "This page measures the error rates, the power and the time of "
        "`kernel_tests` with 999 permutations. Seconds are CPU seconds with one BLAS "
        "thread. `python benchmarks/association/run.py` repeats it.\n",
    ]
    found = [row for row in rows if row["part"] == "levels"]
    lines = [
        [
            row["case"],
            str(row["draws"]),
            *(f"{p:.2f}" for p in row["uniform"]),
            *(f"{level:.3f}" for level in row["level"]),
            f"{row['entered']:.3f}",
        ]
        for row in found
    ]
    parts += ["## Levels without association\n"]
    parts += [
        "The data are six correlated columns of 60 samples, with a Gaussian kernel "
        "on each. *uniform* is the p-value of the Kolmogorov-Smirnov test for "
        "uniform p-values. *level* is the share of p-values of at most 0.05, for "
        "analytic p-values and for p-values by permutation. *family-wise* is the "
        "share of draws whose smallest family-wise p-value is at most 0.05, and "
        "*enters* the share in which a kernel enters at `null_alpha(0.05)`. With 500 "
        "draws, two standard errors of 0.05 are 0.019.\n"
    ]
    parts += table(
        [
            "null",
            "draws",
            "uniform: analytic",
            "by permutation",
            "level: analytic",
            "by permutation",
            "family-wise",
            "enters",
        ],
        lines,
    )
    parts += ["## Power\n"]
    parts += [
        f"{row['case']} are associated with the targets, in {row['draws']} draws of "
        f"150 samples. A family-wise p-value of at most 0.05 finds "
        f"{row['told']:.2f} of them, and another kernel in {row['false']:.2f} of the "
        "draws. The same number of kernels with the highest frequencies of stability "
        f"selection (50 fits on halves) contains {row['stability']:.2f} of them.\n"
        for row in rows
        if row["part"] == "power"
    ]
    times_rows = [row for row in rows if row["part"] == "times"]
    cells = [[row["case"], f"{row['seconds']:.1f}"] for row in times_rows]
    parts += ["## Time\n", *table(["kernels", "seconds"], cells)]
    return "\n".join([*parts, measured(path)])


PARTS = {"levels": levels, "power": power, "times": times}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    # Without one, Python 3.11 looks for the empty list among the choices.
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []])
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--output", type=Path, default=HERE)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results = Results(options.output / "results.json", KEY)
    for name in options.parts or PARTS:
        for row in PARTS[name](options.draws):
            results.add(**row)
    text = page(results.path)
    (options.output / "RESULTS.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
