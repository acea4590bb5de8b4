"""The simulation of SKIM-FA: two main effects and one product among 100 columns.

``python -m benchmarks.interactions.skim_fa [--seeds 5]``: y = x0 + x1 + x2 x3 + noise
of deviation 0.5, columns independent and normal, 500 training and 2000 test rows. The
default fit and its searches see no names. A planted term is found if its kernel is
active, and leads if it is among the three terms with the largest norms. Run it with one
BLAS thread.
"""

import argparse
import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.again import again
from benchmarks.measure import cpu
from benchmarks.papers.provenance import commit

from multikernel import SpicyMKLRegressor, SpicyMKLRegressorCV

HERE = Path(__file__).parent
N_TRAIN, N_TEST, N_COLUMNS, NOISE = 500, 2000, 100, 0.5
PLANTED = ("x0", "x1", "x2 × x3")
MODELS = {
    "`SpicyMKLRegressor()`": SpicyMKLRegressor(),
    "`SpicyMKLRegressorCV()`": SpicyMKLRegressorCV(),
    '`SpicyMKLRegressorCV(refit="one_standard_error")`': SpicyMKLRegressorCV(
        refit="one_standard_error"
    ),
}


def simulated(seed: int, n_columns: int) -> tuple[Any, Any, Any]:
    """Return training and test columns, the targets, and the targets without noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N_TRAIN + N_TEST, n_columns))
    f = X[:, 0] + X[:, 1] + X[:, 2] * X[:, 3]
    return X, f + NOISE * rng.standard_normal(len(f)), f


def simulated_small() -> tuple[Any, Any]:
    """Return a few rows with which the compiled loops are warm."""
    X, y, _ = simulated(0, 5)
    return X[:100], y[:100]


def term_of(kernel: str) -> str:
    """Return the columns of a kernel, such as x0 of gaussian(sigma=1)[x0]."""
    return kernel.split("[")[-1].rstrip("]")


def counts_of(terms: Sequence[str]) -> dict[str, int]:
    """Return how many terms are on one column, on pairs, and on all columns."""
    n_pairs = sum("×" in term for term in terms)
    n_wide = sum(not term.startswith("x") for term in terms)
    return {
        "other_columns": len(terms) - n_pairs - n_wide,
        "other_pairs": n_pairs,
        "all_columns": n_wide,
    }


def row_of(name: str, seed: int, n_columns: int) -> dict[str, Any]:
    """Fit a model to one simulation, and return its scores and terms."""
    X, y, f = simulated(seed, n_columns)
    model, seconds = cpu(lambda: MODELS[name].fit(X[:N_TRAIN], y[:N_TRAIN]))
    active = model.summary().sort_values("block_norm", ascending=False)
    terms = np.array([term_of(kernel) for kernel in active["kernel"]])
    others = ~np.isin(terms, PLANTED)
    distinct = list(dict.fromkeys(terms))
    norms = active["block_norm"].to_numpy()
    predicted, clean = model.predict(X[N_TRAIN:]), f[N_TRAIN:]
    return {
        "model": name,
        "seed": seed,
        "seconds": round(seconds, 2),
        "found": sorted(set(PLANTED) & set(terms)),
        "leading": sorted(set(PLANTED) & set(distinct[: len(PLANTED)])),
        **counts_of(terms[others]),
        "other_share": norms[others].sum() / norms.sum(),
        "r2": model.score(X[N_TRAIN:], y[N_TRAIN:]),
        "r2_without_noise": 1.0 - np.mean((predicted - clean) ** 2) / clean.var(),
        "gap": float(np.max(model.duality_gap_)),
    }


def page(rows: list[dict[str, Any]]) -> str:
    """Return the results as a page."""
    best = 1.0 - NOISE**2 / (3.0 + NOISE**2)
    lines = [
        "# The simulation of SKIM-FA",
        "",
        f"y = x0 + x1 + x2 x3 + noise of deviation {NOISE}; {N_TRAIN} training rows, "
        f"{N_COLUMNS} columns, {len({row['seed'] for row in rows})} seeds. The true "
        f"function has an R² of {best:.3f}. Planted terms are counted over all seeds, "
        "other figures are medians, seconds are CPU seconds of one thread. A planted "
        "term leads if it is among the three terms with the largest norms. The share "
        "of others is their part of the sum of all norms. "
        "`python -m benchmarks.interactions.skim_fa`.",
        "",
        "| model | seconds | planted terms found | planted terms lead "
        "| other columns | other pairs | kernels on all columns | share of others "
        "| R² | R² without noise |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in MODELS:
        own = [row for row in rows if row["model"] == name]
        n_terms = len(PLANTED) * len(own)
        cells = [
            f"{median(own, 'seconds'):.1f}",
            *(
                f"{sum(len(row[key]) for row in own)} of {n_terms}"
                for key in ("found", "leading")
            ),
            *(
                f"{median(own, key):.0f}"
                for key in ("other_columns", "other_pairs", "all_columns")
            ),
            *(
                f"{median(own, key):.3f}"
                for key in ("other_share", "r2", "r2_without_noise")
            ),
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    commits = ", ".join(dict.fromkeys(row["commit"] for row in rows))
    return "\n".join([*lines, "", f"Measured at commit {commits}.\n"])


def median(rows: list[dict[str, Any]], key: str) -> float:
    """Return the median of a column of rows."""
    return float(np.median([row[key] for row in rows]))


def main() -> None:
    """Measure, and write the rows and their page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--columns", type=int, default=N_COLUMNS)
    parser.add_argument("--output", type=Path, default=HERE)
    options = parser.parse_args()
    SpicyMKLRegressor().fit(*simulated_small())  # loops are compiled beforehand
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(options.seeds):
            for name in MODELS:
                row = row_of(name, seed, options.columns)
                rows.append(row | {"commit": commit()})
                print(json.dumps(rows[-1]), flush=True)
    text = json.dumps(rows, indent=1, ensure_ascii=False) + "\n"
    path = options.output / "skim_fa.json"
    path.write_text(text, encoding="utf-8")
    text = page(rows) + again(path)
    (options.output / "SKIM_FA.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
