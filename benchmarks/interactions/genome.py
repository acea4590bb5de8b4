"""Every pair of a genome: time and memory of fits, and what defaults find.

Run ``python benchmarks/interactions/genome.py``, some lines with --lines. Each runs
in a process of its own, one BLAS thread, in seconds of the processor. It writes
genome.json and GENOME.md beside this file; lines that are not run stay.
"""

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import argparse
import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from benchmarks.again import again
from benchmarks.interactions.planted import peak_bytes
from benchmarks.measure import cpu
from benchmarks.papers.provenance import commit
from numpy.typing import NDArray
from scipy.stats import chi2

from multikernel import SpicyMKLClassifier, SpicyMKLClassifierCV, SpicyMKLRegressor
from multikernel.datasets import make_epistasis
from multikernel.gram import build_stack
from multikernel.inspection import association, kernel_tests
from multikernel.kernels import (
    CategoryKernel,
    GaussianKernel,
    Interactions,
    Kernel,
    ListDictionary,
    per_column,
)
from multikernel.kernels.columns import Features
from multikernel.kernels.interactions import InteractionDictionary, with_interactions

Array = NDArray[Any]
Row = dict[str, Any]
HERE = Path(__file__).parent
SEEDS, TRAIN = 10, 1100

ABOUT = """This page measures fits with all pairs of simulated genotypes. In a name such
as "2000 x 1000" the first number is that of genotypes, the second that of people.
*seconds* are CPU seconds on one thread, *products* is the time relative to NumPy's
product of the shapes of a pass over all kernels, *gap* is over all kernels, and
*in_use* are the active kernels. `genome.py` repeats it."""
"""The first lines of the page."""


def genotypes(n: int, d: int) -> tuple[Array, Array]:
    """Return genotypes, and targets in which a pair and a marker have a part."""
    rng = np.random.default_rng(0)
    X = rng.binomial(2, rng.uniform(0.1, 0.5, d), (n, d)).astype(float)
    Z = (X[:, :3] - X[:, :3].mean(axis=0)) / X[:, :3].std(axis=0)
    return X, Z[:, 0] * Z[:, 1] + 0.7 * Z[:, 2] + 0.5 * rng.standard_normal(n)


def product_seconds(n: int, d: int) -> float:
    """Return the seconds of numpy's product of the shapes of a pass.

    Of more than 4000 rows, which take gigabytes, a part is made.
    """
    rng = np.random.default_rng(0)
    Z, v = rng.standard_normal((2 * d, n)), rng.standard_normal(n)
    part = Z[:4000]
    seconds = np.median([cpu(lambda: (part * v) @ Z.T)[1] for _ in range(3)])
    return float(seconds) * len(Z) / len(part)


def size(d: int, n: int) -> Row:
    """Fit all pairs of genotypes at alpha 0.1, and sum the model up."""

    def fitted(d: int, X: Array, y: Array) -> SpicyMKLRegressor:
        kernels = Interactions(per_column(GaussianKernel("median"), d))
        model = SpicyMKLRegressor(kernels, alpha=0.1).fit(X, y)
        model.summary()
        return model

    fitted(30, *genotypes(100, 30))  # what is compiled is compiled before
    X, y = genotypes(n, d)
    model, seconds = cpu(lambda: fitted(d, X, y))
    peak = peak_bytes()
    return {
        "seconds": seconds,
        "gigabytes": peak / 1e9,
        "products": seconds / product_seconds(n, d),
        "kernels": model.n_kernels_,
        "gap": float(model.duality_gap_),
        "in_use": model.summary()["kernel"].tolist(),
    }


def one_pass(d: int, n: int) -> Row:
    """Return the seconds of a pass over all pairs, without scales."""
    X, y = genotypes(n, d)
    dictionary = all_pairs(GaussianKernel(1.0), X, Interactions())
    stack = build_stack(dictionary, X, storage="low_rank").stack
    v = y - y.mean()
    stack.quadratic_forms(v)
    seconds = np.median([cpu(lambda: stack.quadratic_forms(v))[1] for _ in range(5)])
    return {"seconds": seconds, "products": seconds / product_seconds(n, d)}


MODELS: dict[str, Callable[[], Any]] = {
    "default": SpicyMKLClassifier,
    "search": SpicyMKLClassifierCV,
    "null": lambda: SpicyMKLClassifier(alpha="null"),
}


def epistasis(model: str, seeds: int = SEEDS) -> Row:
    """Fit a default to 1000 markers of which two act together, for some seeds."""
    MODELS[model]().fit(*make_epistasis(200, n_markers=20, random_state=0)[:2])
    draws = []
    for seed in range(seeds):
        X, y, best = make_epistasis(TRAIN + 500, random_state=seed)
        fit = MODELS[model]().fit
        fitted, seconds = cpu(lambda fit=fit, X=X, y=y: fit(X[:TRAIN], y[:TRAIN]))
        used = fitted.summary()["kernel"].tolist()
        draws.append(
            {
                "seconds": seconds,
                "first": used[:1] == ["x0 × x1"],
                "alone": used == ["x0 × x1"],
                "lost": best - float(fitted.score(X[TRAIN:], y[TRAIN:])),
            }
        )
    each = {key: [draw[key] for draw in draws] for key in draws[0]}
    return {
        "seconds": float(np.median(each["seconds"])),
        "slowest": max(each["seconds"]),
        "gigabytes": peak_bytes() / 1e9,
        "first": sum(each["first"]),
        "alone": sum(each["alone"]),
        "within 0.03": sum(lost <= 0.03 for lost in each["lost"]),
        "seeds": seeds,
    }


def exhaustive(X: Array, y: Array) -> set[tuple[int, int]]:
    """Return the pairs whose chi-squared test is below 0.05 after Bonferroni."""
    d = X.shape[1]
    values = np.stack([value == X for value in range(3)], axis=2).reshape(len(X), -1)
    whole, share = values.astype(float), float(np.mean(y > 0))
    people, sick = whole.T @ whole, whole[y > 0].T @ whole[y > 0]
    expected = share * people
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.nan_to_num((sick - expected) ** 2 / expected / (1.0 - share))
    statistics = terms.reshape(d, 3, d, 3).sum(axis=(1, 3))
    cells = np.count_nonzero(people.reshape(d, 3, d, 3), axis=(1, 3))
    p_values = chi2.sf(statistics, np.maximum(cells - 1, 1)) * (d * (d - 1) // 2)
    i, j = np.nonzero(np.triu(p_values < 0.05, 1))
    return set(zip(i.tolist(), j.tolist(), strict=True))


KERNELS = {
    "GaussianKernel(1.0)": GaussianKernel(1.0),  # the median width of genotypes
    "GaussianKernel(0.5)": GaussianKernel(0.5),
    "CategoryKernel()": CategoryKernel(),
}


def all_pairs(kernel: Kernel, X: Array, spec: Interactions) -> InteractionDictionary:
    """Return a kernel on each column, and the interactions of all columns."""
    d = X.shape[1]
    grid = per_column(kernel, d)
    mains = ListDictionary([grid[m] for m in range(d)])
    return with_interactions(spec, mains, X, None, Features(d))


def entered(spec: Interactions, kernel: Kernel, X: Array, rho: Array) -> Array:
    """Return the mains of kernels that enter at the strength of 19 permutations."""
    dictionary = all_pairs(kernel, X, spec)
    options = {"normalize": "variance", "storage": "low_rank"}
    stack, rng = build_stack(dictionary, X, **options).stack, np.random.default_rng(0)
    noise = [stack.quadratic_forms(rng.permutation(rho)).max() for _ in range(19)]
    above = np.flatnonzero(stack.quadratic_forms(rho) > max(noise))
    return np.asarray(dictionary.terms)[above]


def named(kernel: Kernel, X: Array, y: Array) -> set[tuple[int, int]]:
    """Return the pairs that enter at the strength of noise."""
    pairs = entered(Interactions(mains=False), kernel, X, (y > 0) - np.mean(y > 0))
    return set(map(tuple, pairs.tolist()))


def power(d: int = 100, n: int = 400, draws: int = 200) -> Row:
    """Count draws in which the pair, and others, are named at the level 0.05."""
    ways = {
        **{
            name: lambda X, y, kernel=kernel: named(kernel, X, y)
            for name, kernel in KERNELS.items()
        },
        "chi-squared tests": exhaustive,
    }
    found = {name: np.zeros(3) for name in ways}
    for seed in range(draws):
        X, y, _ = make_epistasis(n, n_markers=d, heritability=0.1, random_state=seed)
        for name, way in ways.items():
            pairs, seconds = cpu(lambda way=way, X=X, y=y: way(X, y))
            found[name] += (0, 1) in pairs, bool(pairs - {(0, 1)}), seconds / draws
    return {
        name: f"{pair:.0f} named, {others:.0f} with others, {seconds:.3f} s a draw"
        for name, (pair, others, seconds) in found.items()
    } | {"draws": draws}


def level(d: int = 200, n: int = 300, draws: int = 500) -> Row:
    """Count draws of noise in which any kernel enters at the strength of noise."""
    rng, spec, count = np.random.default_rng(0), Interactions(weight=1.0), 0
    for _ in range(draws):
        X = rng.binomial(2, rng.uniform(0.1, 0.5, d), (n, d)).astype(float)
        y = rng.standard_normal(n)
        count += len(entered(spec, GaussianKernel(1.0), X, y - y.mean())) > 0
    kernels = d * (d + 1) // 2
    return {
        "entered": count,
        "share": count / draws,
        "draws": draws,
        "kernels": kernels,
    }


def level_of_tests(d: int = 30, n: int = 100, draws: int = 500) -> Row:
    """Count draws of noise with a family-wise p-value of at most 0.05 for any kernel.

    "listed" are the tests as they are above a million kernels.
    """
    rng = np.random.default_rng(0)
    kernels = Interactions(per_column(GaussianKernel("median"), d), weight=1.0)
    found = {"all": 0, "listed": 0}
    for _ in range(draws):
        X = rng.binomial(2, rng.uniform(0.1, 0.5, d), (n, d)).astype(float)
        y, seed = rng.standard_t(3, n), int(rng.integers(2**31))
        options = {"n_permutations": 19, "analytic": False, "random_state": seed}
        for name, many in ("all", 10**6), ("listed", 1):
            with patch.object(association, "MANY", many):
                tests = kernel_tests(kernels, X, y, **options)
            found[name] += bool((tests.family_wise_p <= 0.05).any())
    return {**found, "kernels": d * (d + 1) // 2, "draws": draws}


def time_of_tests(d: int = 2000, n: int = 1000) -> Row:
    """Test all pairs of genotypes by 19 permutations."""
    kernels = Interactions(per_column(GaussianKernel("median"), d))
    options = {"n_permutations": 19, "analytic": False, "random_state": 0}
    tests, seconds = cpu(lambda: kernel_tests(kernels, *genotypes(n, d), **options))
    significant = np.flatnonzero(tests.family_wise_p <= 0.05)
    return {
        "seconds": seconds,
        "gigabytes": peak_bytes() / 1e9,
        "kernels": tests.n_kernels,
        "listed": tests.kernel_index.size,
        "significant": [tests.kernel_names[m] for m in significant],
    }


LINES: dict[str, Callable[[], Row]] = {
    "1000 x 1000": lambda: size(1000, 1000),
    "2000 x 1000": lambda: size(2000, 1000),
    "5000 x 2000": lambda: size(5000, 2000),
    "20000 x 2000": lambda: size(20_000, 2000),
    "a pass, 1000 x 1000": lambda: one_pass(1000, 1000),
    "a pass, 2000 x 1000": lambda: one_pass(2000, 1000),
    "SpicyMKLClassifier()": lambda: epistasis("default"),
    "SpicyMKLClassifierCV()": lambda: epistasis("search"),
    "power": power,
    "level": level,
    "level of kernel_tests": level_of_tests,
    "kernel_tests, 2000 x 1000": time_of_tests,
    "SpicyMKLClassifier(alpha='null')": lambda: epistasis("null"),
}


def page(rows: dict[str, Row]) -> str:
    """Return the page of all lines."""
    lines = ["# All pairs of a genome", "", ABOUT, ""]
    for name in LINES:
        if name in rows:
            row = rows[name]
            found = (f"{key} {_shown(value)}" for key, value in row.items())
            lines.append(f"- **{name}**: {', '.join(found)}")
    return "\n".join(lines) + "\n"


def _shown(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", nargs="*", default=list(LINES), choices=list(LINES))
    parser.add_argument("--child", action="store_true")
    given = parser.parse_args()
    if given.child:
        print(json.dumps(LINES[given.lines[0]]()))
        return
    path = HERE / "genome.json"
    rows = json.loads(path.read_text("utf-8")) if path.exists() else {}
    for name in given.lines:
        command = [sys.executable, __file__, "--child", "--lines", name]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        rows[name] = json.loads(done.stdout.splitlines()[-1]) | {"commit": commit()}
        print(name, rows[name], flush=True)
        path.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
        (HERE / "GENOME.md").write_text(page(rows) + again(path), "utf-8")


if __name__ == "__main__":
    main()
