"""Adaptability to sparsity: lp-norm MKL with the hinge loss on simulated data.

Two Gaussian classes in 50 dimensions differ in 50, 28, 17, 9, 4 or 1 of them, with a
linear kernel per dimension, scaled to unit variance; 50 training samples. C has the
smallest error on 10 000 validation samples, ties go to the smallest; errors are those
on 10 000 further ones. The setting is that of section 5.1 of Sindhwani and Lozano
(2011), where the loss is the squared one. Run ``python
benchmarks/papers/lp_norm/sparsity.py``, with --smoke for tiny sizes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from common import Array, Options, options
from matplotlib.figure import Figure
from scipy.stats import norm as gaussian
from threadpoolctl import threadpool_limits

from multikernel import LpMKLClassifier
from multikernel.datasets import make_sparse_means
from multikernel.kernels import LinearKernel, ParameterGrid

mpl.use("Agg")

N_FEATURES = 50
N_TRAIN = 50
DISTANCE = 1.75
INFORMATIVE = (50, 28, 17, 9, 4, 1)
NORMS = {"1": 1.0, "4/3": 4.0 / 3.0, "2": 2.0, "4": 4.0, "inf": np.inf}
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")
BAYES = float(gaussian.cdf(-DISTANCE))
TOL = 1e-3

Rows = Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Sizes:
    """How much to do."""

    n_repeats: int = 10
    n_held_out: int = 10_000
    Cs: tuple[float, ...] = tuple(np.geomspace(1e-4, 1e2, 13))


def run(task: Options) -> None:
    """Measure, save, print and plot."""
    sizes = Sizes(2, 500, (0.01, 1.0)) if task.smoke else Sizes()
    threadpool_limits(1)  # several threads slow small matrices down
    rows = [
        row
        for informative in INFORMATIVE
        for repeat in range(sizes.n_repeats)
        for row in one_repeat(informative, repeat, sizes)
    ]
    task.save("sparsity", rows)
    print("\n".join(table(rows)))
    print(f"Bayes error {100.0 * BAYES:.2f}")
    print(f"Fits above the tolerance: {sum(row['unsolved'] for row in rows)}")
    plot(task, rows)


def one_repeat(informative: int, repeat: int, sizes: Sizes) -> Iterator[dict[str, Any]]:
    """Train, choose and test all norms on one draw."""
    # One generator for the three samples of a draw; draws differ in their seeds.
    random = np.random.RandomState(1000 * informative + repeat)

    def draw(n_samples: int) -> tuple[Array, Array]:
        return make_sparse_means(
            n_samples,
            n_informative=informative,
            n_features=N_FEATURES,
            distance=DISTANCE,
            random_state=random,
        )

    train, validation, test = (
        draw(N_TRAIN),
        draw(sizes.n_held_out),
        draw(sizes.n_held_out),
    )
    for name, p in NORMS.items():
        models = [fitted(*train, C, p) for C in sizes.Cs]
        weights = np.array([input_weights(model) for model in models])
        chosen = int(np.argmin(errors(weights, *validation)))
        yield {
            "noise": round(1.0 - informative / N_FEATURES, 2),
            "repeat": repeat,
            "p": name,
            "error": float(errors(weights[[chosen]], *test)[0]),
            "n_kernels": models[chosen].active_kernels_.size,
            "C": sizes.Cs[chosen],
            "unsolved": sum(not model.duality_gap_ <= TOL for model in models),
        }


def fitted(X: Array, y: Array, C: float, p: float) -> LpMKLClassifier:
    """Return a model of one norm; there is no intercept, as the classes mirror."""
    kernels = ParameterGrid([LinearKernel()], range(N_FEATURES))
    return LpMKLClassifier(kernels, C, p, fit_intercept=False, tol=TOL).fit(X, y)


def input_weights(model: LpMKLClassifier) -> Array:
    """Return the weights of the inputs: the model is linear, without intercept."""
    return np.asarray(model.decision_function(np.eye(N_FEATURES)))


def errors(weights: Array, X: Array, y: Array) -> Array:
    """Return the share of wrong signs of every linear model."""
    wrong = np.sign(X @ weights.T) != y[:, None]
    return np.asarray(wrong.mean(axis=0))


def select(rows: Rows, name: str, noise: float, key: str) -> Array:
    """Return a column over the repetitions."""
    return np.array([r[key] for r in rows if (r["p"], r["noise"]) == (name, noise)])


def levels(rows: Rows) -> list[float]:
    """Return the shares of noise kernels."""
    return sorted({row["noise"] for row in rows})


def table(rows: Rows) -> list[str]:
    """Return a Markdown table: errors in per cent, a line per level of sparsity."""
    heads = ["noise kernels", *(f"p = {name}" for name in NORMS), "kernels p = 1"]
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    for noise in levels(rows):
        cells = [f"{noise:.0%}"]
        for name in NORMS:
            found = 100.0 * select(rows, name, noise, "error")
            spread = found.std(ddof=1) / np.sqrt(found.size)
            cells.append(f"{found.mean():.2f} ± {spread:.2f}")
        cells.append(f"{select(rows, '1', noise, 'n_kernels').mean():.1f}")
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def plot(task: Options, rows: Rows) -> None:
    """Draw test errors against the share of noise kernels."""
    figure = Figure(figsize=(6.2, 3.8), layout="constrained", dpi=120)
    ax = figure.subplots()
    noise = levels(rows)
    places = np.arange(len(noise))
    for name, color in zip(NORMS, COLORS, strict=True):
        mean = [100.0 * select(rows, name, level, "error").mean() for level in noise]
        ax.plot(places, mean, color=color, marker="o", label=f"p = {name}")
    ax.axhline(100.0 * BAYES, color="black", linestyle=":", label="Bayes error")
    ax.set_xticks(places, [f"{level:.0%}" for level in noise])
    ax.set_xlabel("noise kernels")
    ax.set_ylabel("test error [%]")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    folder = task.output / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "sparsity.png")


if __name__ == "__main__":
    run(options(__doc__))
