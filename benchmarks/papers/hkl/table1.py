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
from printed import TABLE1
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
    elif kernel != "pol4":
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
    # The task has the paper's columns, of deviation one however far out a value lies.
    search = HKLRegressorCV(grid, alphas=task.lambdas, cv=5, standardize=False)
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
                if kernel != "pol4":
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
        printed = TABLE1.get((name, kernel), "")
        lines.append(f"| {name} | {kernel} | {' | '.join(row)} | {printed} |")
    return [*lines, "", *records.scales(("set", "kernel"))]


if __name__ == "__main__":
    main()
