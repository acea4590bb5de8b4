"""Figure 2: random sparse polynomials of degree four, original and rotated.

Run ``python benchmarks/papers/hkl/figure2.py``; it goes on where it was stopped. The
paper does not print its sizes: here 512 samples train and 2048 test, inputs have a
random covariance matrix of Wishart type, and the target is a sum of ten random
monomials of degree four at most, each in up to four inputs, with noise of a tenth of
its variance. The number of inputs doubles from 4 to 64, forty draws each.
"""

from functools import partial
from typing import Any

import numpy as np
from methods import Task, path, runs
from numpy.typing import NDArray
from records import Records, arguments

Array = NDArray[np.float64]

INPUTS = (4, 8, 16, 32, 64)
COMPARED = ("L2", "greedy", "HKL")
N_TRAIN, N_TEST, N_MONOMIALS = 512, 2048, 10


def draw(n_inputs: int, rotated: bool, repeat: int, n: int) -> tuple[Task, Array]:
    """Return samples of a random polynomial, of variance 100."""
    random = np.random.default_rng([repeat, n_inputs])
    factor = random.standard_normal((n_inputs, 2 * n_inputs))
    X = random.standard_normal((n + N_TEST, 2 * n_inputs)) @ factor.T
    X /= X.std(axis=0)
    f = np.zeros(len(X))
    for _ in range(N_MONOMIALS):
        chosen = random.integers(n_inputs, size=random.integers(1, 5))
        monomial = X[:, chosen].prod(axis=1)
        f += random.standard_normal() * monomial / monomial.std()
    y = f + np.sqrt(0.1) * f.std() * random.standard_normal(len(X))
    if rotated:
        X = X @ np.linalg.qr(random.standard_normal((n_inputs, n_inputs)))[0]
    X = (X - X[:n].mean(axis=0)) / X[:n].std(axis=0)
    y = 10.0 * (y - y.mean()) / y.std()
    return Task(X[:n], y[:n], X[n:], "pol4", False), y[n:]


def best_of_path(
    method: str, scale: float, task: Task, target: Array
) -> dict[str, Any]:
    """Return the smallest error of a path."""
    errors = {
        k: float(np.mean((f - target) ** 2)) for k, f in path(method, task, scale)
    }
    best = min(errors, key=errors.__getitem__)
    return {"error": errors[best], "strength": best}


def main() -> None:
    """Measure what is missing, print, and plot."""
    options = arguments(__doc__, "figure2")
    records = Records(options.results)
    for repeat in range(options.repeats or (1 if options.quick else 40)):
        for n_inputs in INPUTS[:1] if options.quick else INPUTS:
            for rotated in (False, True):
                n = 60 if options.quick else N_TRAIN
                task, target = draw(n_inputs, rotated, repeat, n)
                key = {"n_inputs": n_inputs, "rotated": rotated, "repeat": repeat}
                for method, scale in runs(options.methods or COMPARED, options.scales):
                    records.once(
                        {**key, "method": method, "scale": scale},
                        partial(best_of_path, method, scale, task, target),
                    )
    print("\n".join(table(records)))
    if not options.quick:
        plot(records)


def table(records: Records) -> list[str]:
    """Return mean, deviation and number of draws."""
    cells = records.cells(("rotated", "n_inputs", "method"), "error")
    lines = [
        "| inputs | rotated | " + " | ".join(COMPARED) + " |",
        "|---" * (len(COMPARED) + 2) + "|",
    ]
    for rotated, n_inputs in sorted({key[:2] for key in cells}):
        row = [cells.get((rotated, n_inputs, method), "") for method in COMPARED]
        lines.append(f"| {n_inputs} | {rotated} | {' | '.join(row)} |")
    return [*lines, "", *records.scales(("n_inputs", "rotated"))]


def plot(records: Records) -> None:
    """Draw means with halved deviations, as the paper does."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 3.4), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for rotated, panel in enumerate(panels):
        for method in COMPARED:
            groups: dict[int, list[float]] = {}
            for row in records.plain:
                if row["method"] == method and row["rotated"] == bool(rotated):
                    groups.setdefault(row["n_inputs"], []).append(row["error"])
            sizes = sorted(groups)
            means = [np.mean(groups[size]) for size in sizes]
            halves = [np.std(groups[size]) / 2.0 for size in sizes]
            panel.errorbar(sizes, means, halves, marker="o", capsize=3, label=method)
        panel.set_xscale("log", base=2)
        panel.set_xlabel("inputs")
        panel.set_title("rotated" if rotated else "original", loc="left")
    panels[0].set_ylabel("mean squared error, variance 100")
    panels[1].legend(frameon=False)
    place = records.path.parent.parent / "figures"
    place.mkdir(exist_ok=True)
    figure.savefig(place / "figure2.png", dpi=120)


if __name__ == "__main__":
    main()
