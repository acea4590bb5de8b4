"""Table 1: regression, ten random halves, variance 100, best of each method's path.

Run ``python benchmarks/papers/hkl/table1.py``; it goes on where it was stopped.
``--cv`` adds lambda by five folds of the training half (HKL only), with monomials that
go on beyond the values seen, and with such that stay constant there; ``--quick`` is for
tests. Half of the data train, with rbf at most 1024 samples (``--largest``). Methods
are run on inputs as they are and on scaled ones (``--scales`` names some factors).
"""

from functools import partial
from typing import Any

import numpy as np
from methods import GRIDS, METHODS, Task, path, runs
from numpy.typing import NDArray
from records import Records, arguments

from multikernel.datasets import load
from multikernel.estimators import HKLRegressorCV
from multikernel.kernels.graph import PolynomialGrid

Array = NDArray[np.float64]

SETS = {
    "boston": "delve_boston",
    "abalone": "delve_abalone",
    "pumadyn-32nm": "delve_pumadyn_32nm",
    "pumadyn-32nh": "delve_pumadyn_32nh",
    "pumadyn-32fm": "delve_pumadyn_32fm",
    "pumadyn-32fh": "delve_pumadyn_32fh",
    "bank-32fh": "delve_bank_32fh",
    "bank-32fm": "delve_bank_32fm",
    "bank-32nh": "delve_bank_32nh",
    "bank-32nm": "delve_bank_32nm",
}
# L2, greedy, lasso-alpha, MKL, HKL: mean and deviation as printed.
PRINTED = {
    ("abalone", "pol4"): "44.2±1.3 43.9±1.4 47.9±0.7 44.5±1.1 43.3±1.0",
    ("abalone", "rbf"): "43.0±0.9 45.0±1.7 49.0±1.7 43.7±1.0 43.0±1.1",
    ("boston", "pol4"): "17.1±3.6 24.7±10.8 29.3±2.3 22.2±2.2 18.1±3.8",
    ("boston", "rbf"): "16.4±4.0 32.4±8.2 29.4±1.6 20.7±2.1 17.1±4.7",
    ("pumadyn-32fh", "pol4"): "57.3±0.7 56.4±0.8 57.5±0.4 56.4±0.7 56.4±0.8",
    ("pumadyn-32fh", "rbf"): "57.7±0.6 72.2±22.5 89.3±2.0 56.5±0.8 55.7±0.7",
    ("pumadyn-32fm", "pol4"): "6.9±0.1 6.4±1.6 7.5±0.2 7.0±0.1 3.1±0.0",
    ("pumadyn-32fm", "rbf"): "5.0±0.1 46.2±51.6 44.7±5.7 7.1±0.1 3.4±0.0",
    ("pumadyn-32nh", "pol4"): "84.2±1.3 73.3±25.4 84.8±0.5 83.6±1.3 36.7±0.4",
    ("pumadyn-32nh", "rbf"): "56.5±1.1 81.3±25.0 98.1±0.7 83.7±1.3 35.5±0.5",
    ("pumadyn-32nm", "pol4"): "60.1±1.9 69.9±32.8 78.5±1.1 77.5±0.9 5.5±0.1",
    ("pumadyn-32nm", "rbf"): "15.7±0.4 67.3±42.4 95.9±1.9 77.6±0.9 7.2±0.1",
    ("bank-32fh", "pol4"): "40.1±0.7 39.2±0.8 41.3±0.7 38.7±0.7 38.9±0.7",
    ("bank-32fm", "pol4"): "6.0±0.1 5.0±0.2 7.0±0.2 6.1±0.3 5.1±0.1",
    ("bank-32nh", "pol4"): "44.3±1.2 46.3±1.4 45.8±0.8 46.0±1.2 43.6±1.1",
    ("bank-32nm", "pol4"): "17.2±0.6 18.2±0.8 19.5±0.4 21.0±0.7 16.8±0.6",
    ("bank-32fh", "rbf"): "39.0±0.7 39.7±0.7 66.1±6.9 38.4±0.7 38.4±0.7",
    ("bank-32fm", "rbf"): "5.7±0.2 5.8±0.4 36.3±4.1 5.9±0.2 4.6±0.2",
    ("bank-32nh", "rbf"): "44.3±1.2 49.4±1.6 93.0±2.8 46.1±1.1 43.5±1.0",
    ("bank-32nm", "rbf"): "16.9±0.6 21.0±0.6 62.3±2.5 20.9±0.7 16.4±0.6",
}
CHOSEN: dict[str, dict[str, Any]] = {
    "HKL by CV": GRIDS,
    "HKL by CV, constant": {"pol4": PolynomialGrid(4)},
}


def half(
    name: str, kernel: str, repeat: int, largest: int, quick: bool
) -> tuple[Task, Array]:
    """Return a random half to learn from, and the targets of the other."""
    found = load(SETS[name])
    X, y = np.asarray(found.X, float), np.asarray(found.y, float)
    order = np.random.default_rng(repeat).permutation(len(y))
    train, test = order[: len(y) // 2], order[len(y) // 2 :]
    if quick:
        train, test, X = train[:60], test[:60], X[:, :5]
    elif kernel == "rbf":
        train = train[:largest]
    deviation = X[train].std(axis=0)
    X = (X - X[train].mean(axis=0)) / np.where(deviation > 0.0, deviation, 1.0)
    y = 10.0 * (y - y.mean()) / y.std()
    return Task(X[train], y[train], X[test], kernel, False), y[test]


def best_of_path(
    method: str, scale: float, task: Task, target: Array
) -> dict[str, Any]:
    """Return the smallest error of a path, as the paper reports it."""
    errors = {
        k: float(np.mean((f - target) ** 2)) for k, f in path(method, task, scale)
    }
    best = min(errors, key=errors.__getitem__)
    return {"error": errors[best], "strength": best, "n_train": len(task.y)}


def by_cross_validation(grid: Any, task: Task, target: Array) -> dict[str, Any]:
    """Return the error at the lambda that five folds choose."""
    search = HKLRegressorCV(grid, alphas=task.lambdas, cv=5)
    model = search.fit(task.X, task.y)
    error = float(np.mean((model.predict(task.new) - target) ** 2))
    strength = f"{model.alpha_:.1e}"
    return {"error": error, "strength": strength, "n_train": len(task.y)}


def main() -> None:
    """Measure what is missing, and print the table."""
    options = arguments(__doc__, "table1")
    records = Records(options.results)
    repeats = options.repeats or (1 if options.quick else 10)
    names = options.sets or (["boston"] if options.quick else present())
    for repeat in range(repeats):
        for name in names:
            for kernel in options.kernels:
                task, target = half(
                    name, kernel, repeat, options.largest, options.quick
                )
                key = {"set": name, "kernel": kernel, "repeat": repeat}
                if kernel == "rbf":
                    key["largest"] = options.largest
                for method, scale in runs(options.methods or METHODS, options.scales):
                    records.once(
                        {**key, "method": method, "scale": scale},
                        partial(best_of_path, method, scale, task, target),
                    )
                for method, grids in CHOSEN.items() if options.cv else ():
                    if kernel in grids:
                        records.once(
                            {**key, "method": method},
                            partial(by_cross_validation, grids[kernel], task, target),
                        )
    print("\n".join(table(records)))


def present() -> list[str]:
    """Return the sets that the data folder holds."""
    found = []
    for name, file in SETS.items():
        try:
            load(file)
        except (ValueError, FileNotFoundError, KeyError):
            continue
        found.append(name)
    return found


def table(records: Records) -> list[str]:
    """Return mean, deviation and number of halves, beside what the paper prints."""
    cells = records.cells(("set", "kernel", "method"), "error")
    columns = [*METHODS, *CHOSEN]
    lines = [
        "| set | kernel | " + " | ".join(columns) + " | printed |",
        "|---" * (len(columns) + 3) + "|",
    ]
    for name, kernel in dict.fromkeys((s, k) for s, k, _ in cells):
        row = [cells.get((name, kernel, method), "") for method in columns]
        printed = PRINTED.get((name, kernel), "")
        lines.append(f"| {name} | {kernel} | {' | '.join(row)} | {printed} |")
    return [*lines, "", *records.scales(("set", "kernel"))]


if __name__ == "__main__":
    main()
