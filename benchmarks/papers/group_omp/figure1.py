"""Figure 1: adaptability to the sparsity of the data, simulated.

Run ``python benchmarks/papers/group_omp/figure1.py`` (``--smoke`` for tiny sizes).

Two Gaussian classes in 50 dimensions differ in 50, 28, 17, 9, 4 or 1 of them; every
feature is a linear kernel of unit variance. MKL-GOMP and lp-norm MKL, both with the
squared loss and without an intercept, are trained on 50 samples. Lambda, and for
MKL-GOMP the number of kernels, have the smallest error on 10 000 validation samples;
errors are those on 10 000 further samples. Ties go to fewer kernels, then to the
larger lambda; the smallest one that ties is stored too. Beside them stands what the
paper says in words alone: MKL with the elastic net and with the sum of norms, both with
the hinge loss.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from output import PALETTE, Options, options, print_markdown
from scipy.stats import norm

from multikernel.datasets import make_sparse_means
from multikernel.gram import BuiltStack, LowRankStack, build_stack
from multikernel.kernels import LinearKernel, ParameterGrid
from multikernel.losses import HingeLoss, Loss, SquaredLoss
from multikernel.problem import Problem
from multikernel.regularizers import (
    BlockElasticNet,
    BlockL1,
    BlockRegularizer,
    SquaredBlockNorm,
)
from multikernel.solvers import GroupOMP, SpicyMKL
from multikernel.solvers.base import Solver
from multikernel.solvers.lp.newton import InterleavedNewton

Array = NDArray[np.float64]
Penalty = Callable[[float], BlockRegularizer]

N_FEATURES = 50
INFORMATIVE = (50, 28, 17, 9, 4, 1)
NORMS = {"1": 1.0, "4/3": 4.0 / 3.0, "2": 2.0, "4": 4.0, "inf": np.inf}
BAYES = float(norm.cdf(-1.75))
GOMP = "MKL-GOMP"
HINGE: dict[str, Penalty] = {
    "elastic net, hinge": BlockElasticNet,
    "1, hinge": BlockL1,
}
SHARES = tuple(np.geomspace(0.9, 1e-3, 19))
"""Strengths with the hinge loss, in shares of the one that leaves every kernel out."""
TOL = 1e-3


@dataclass(frozen=True)
class Sizes:
    """How much to do."""

    n_repeats: int = 10
    n_held_out: int = 10_000
    lambdas: tuple[float, ...] = tuple(np.geomspace(1e6, 1e-3, 28))
    shares: tuple[float, ...] = SHARES


@dataclass(frozen=True, eq=False)
class Candidates:
    """Linear models to choose from, the simplest first.

    Parameters
    ----------
    weights : ndarray of shape (n_models, n_features)
        Their weights.
    lambdas : ndarray of shape (n_models,)
        Their strengths.
    unsolved : int
        Fits that ended above the tolerance.
    """

    weights: Array
    lambdas: Array
    unsolved: int = 0


def main() -> None:
    """Measure, save, print and plot."""
    task = options(__doc__)
    sizes = Sizes(2, 500, (1.0, 0.01), SHARES[::9]) if task.smoke else Sizes()
    rows = [
        row
        for informative in INFORMATIVE
        for repeat in range(sizes.n_repeats)
        for row in one_repeat(informative, repeat, sizes)
    ]
    task.save("figure1", rows)
    print_markdown(list(table(rows)))
    print(f"Bayes error {BAYES:.4f}")
    print(f"Fits above tolerance: {sum(row['unsolved'] for row in rows)}")
    plot(task, rows)


def one_repeat(informative: int, repeat: int, sizes: Sizes) -> Iterator[dict[str, Any]]:
    """Train, choose and test all methods on one draw."""
    # One generator for the three samples of a draw; draws differ in their seeds.
    random = np.random.RandomState(1000 * informative + repeat)

    def draw(n_samples: int) -> tuple[Array, Array]:
        return make_sparse_means(
            n_samples, n_informative=informative, random_state=random
        )

    (X, y), validation, test = draw(50), draw(sizes.n_held_out), draw(sizes.n_held_out)
    dictionary = ParameterGrid([LinearKernel()], range(N_FEATURES))
    built = build_stack(dictionary, X, normalize="variance", storage="low_rank")
    models = {GOMP: greedy_models(built, y, sizes)}
    for name, p in NORMS.items():
        models[name] = norm_models(built, y, p, sizes)
    for name, penalty in HINGE.items():
        models[name] = hinge_models(built, y, penalty, sizes)
    for name, candidates in models.items():
        wrong = errors(candidates.weights, *validation)
        chosen = int(np.argmin(wrong))
        weights = candidates.weights[chosen]
        alike = (candidates.weights != 0.0).sum(axis=1) == np.count_nonzero(weights)
        ties = candidates.lambdas[(wrong == wrong[chosen]) & alike]
        yield {
            "noise": round(1.0 - informative / N_FEATURES, 2),
            "repeat": repeat,
            "method": name,
            "error": float(errors(weights[None], *test)[0]),
            "n_kernels": int(np.count_nonzero(weights)),
            "lambda": float(candidates.lambdas[chosen]),
            "smallest_lambda": float(ties.min()),
            "unsolved": candidates.unsolved,
        }


def errors(weights: Array, X: Array, y: Array) -> Array:
    """Return the share of wrong signs of every linear model."""
    wrong = np.sign(X @ weights.T) != y[:, None]
    return np.asarray(wrong.mean(axis=0))


def features(built: BuiltStack) -> Array:
    """Return the factors of the kernels, shape (n_samples, n_features)."""
    assert isinstance(built.stack, LowRankStack)
    return built.stack.factors


def input_weights(built: BuiltStack, coefs: Array) -> Array:
    """Return weights of the raw inputs from one expansion per kernel.

    The factor of kernel m is z_m = s_m x_m, so f_m(x) = s_m x (z_m^T a_m).
    """
    (step,) = built.normalization.steps
    scales = np.sqrt(step.factors)
    return np.asarray(scales * np.einsum("im,mi->m", features(built), coefs))


def greedy_models(built: BuiltStack, y: Array, sizes: Sizes) -> Candidates:
    """Return every prefix of the greedy path for every lambda, fewest kernels first."""
    ridge = BlockElasticNet(1.0, l1_ratio=0.0)
    problem = Problem(built.stack, y, SquaredLoss(), ridge, fit_intercept=False)
    strengths = y.size * np.array(sizes.lambdas)
    paths = GroupOMP(tol=0.0).paths(problem, strengths)
    weights, lambdas = [], []
    for k in range(1, max(len(path) for path in paths) + 1):
        for path, strength in zip(paths, sizes.lambdas, strict=True):
            if k <= len(path):
                coefs = np.zeros((N_FEATURES, y.size))
                coefs[path.order[:k]] = path.coefs[k]
                weights.append(input_weights(built, coefs))
                lambdas.append(strength)
    return Candidates(np.array(weights), np.array(lambdas))


def norm_models(built: BuiltStack, y: Array, p: float, sizes: Sizes) -> Candidates:
    """Return the solutions of lp-norm MKL for every lambda."""
    penalties = [SquaredBlockNorm(y.size * strength, p) for strength in sizes.lambdas]
    solver = InterleavedNewton(tol=TOL)
    return solutions(built, y, SquaredLoss(), penalties, solver, sizes.lambdas)


def hinge_models(
    built: BuiltStack, y: Array, penalty: Penalty, sizes: Sizes
) -> Candidates:
    """Return the solutions with the hinge loss for every strength."""
    # At zero every sample has a slope of one: no kernel enters above this strength.
    largest = float(np.abs(features(built).T @ y).max())
    penalties = [penalty(share * largest) for share in sizes.shares]
    solver = SpicyMKL(tol=TOL)
    return solutions(built, y, HingeLoss(), penalties, solver, sizes.shares)


def solutions(
    built: BuiltStack,
    y: Array,
    loss: Loss,
    penalties: Sequence[BlockRegularizer],
    solver: Solver,
    strengths: Sequence[float],
) -> Candidates:
    """Return the solutions without an intercept, each penalty with its strength."""
    weights, unsolved = [], 0
    for penalty in penalties:
        problem = Problem(built.stack, y, loss, penalty, fit_intercept=False)
        solution = solver.solve(problem)
        unsolved += not solution.duality_gap <= TOL
        coefs = np.zeros((N_FEATURES, y.size))
        coefs[solution.active] = solution.coefs
        weights.append(input_weights(built, coefs))
    return Candidates(np.array(weights), np.array(strengths), unsolved)


def select(rows: list[dict[str, Any]], method: str, noise: float, key: str) -> Array:
    """Return a column over the repetitions."""
    return np.array(
        [r[key] for r in rows if r["method"] == method and r["noise"] == noise]
    )


def levels(rows: list[dict[str, Any]]) -> list[float]:
    """Return the fractions of noise kernels."""
    return sorted({row["noise"] for row in rows})


def envelope(rows: list[dict[str, Any]], noise: float) -> str:
    """Return the lp-norm with the lowest mean error."""
    means = {name: select(rows, name, noise, "error").mean() for name in NORMS}
    return min(means, key=lambda name: means[name])


def table(rows: list[dict[str, Any]]) -> Iterator[dict[str, str]]:
    """Yield one line per level of sparsity: errors in per cent, kernels, lambda."""
    for noise in levels(rows):
        line = {"noise kernels": f"{noise:.0%}"}
        for name in (GOMP, *NORMS):
            found = 100.0 * select(rows, name, noise, "error")
            label = name if name == GOMP else f"p = {name}"
            line[label] = f"{found.mean():.2f}"
        best = envelope(rows, noise)
        difference = 100.0 * (
            select(rows, GOMP, noise, "error") - select(rows, best, noise, "error")
        )
        spread = difference.std(ddof=1) / np.sqrt(difference.size)
        line["GOMP - envelope"] = f"{difference.mean():+.2f} ± {spread:.2f}"
        for name, label in ((GOMP, "kernels GOMP"), ("1", "kernels p = 1")):
            line[label] = f"{select(rows, name, noise, 'n_kernels').mean():.1f}"
        line["lambda GOMP"] = f"{geometric(select(rows, GOMP, noise, 'lambda')):.2g}"
        yield line


def geometric(values: Array) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.log(values).mean()))


def plot(task: Options, rows: list[dict[str, Any]]) -> None:
    """Draw test errors on the left, kernels selected and lambda on the right."""
    figure = Figure(figsize=(9.0, 4.2), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=(1.5, 1.0))
    noise = levels(rows)
    places = np.arange(len(noise))
    left = figure.add_subplot(grid[:, 0])
    for number, name in enumerate((*NORMS, GOMP)):
        found = [select(rows, name, level, "error") for level in noise]
        mean = [errors.mean() for errors in found]
        spread = [errors.std(ddof=1) / np.sqrt(errors.size) for errors in found]
        label = name if name == GOMP else f"p = {name}"
        style = {"color": PALETTE[number % len(PALETTE)], "label": label}
        style |= {"marker": "o", "markersize": 3.5}
        if name == GOMP:
            style |= {"color": "black", "linewidth": 2.2, "zorder": 3}
        left.errorbar(places, mean, yerr=spread, elinewidth=0.8, **style)
    left.axhline(BAYES, color="black", linestyle=":", label="Bayes error")
    left.set_ylabel("test error")
    left.legend(fontsize="small")
    upper, lower = figure.add_subplot(grid[0, 1]), figure.add_subplot(grid[1, 1])
    for name, color in ((GOMP, "black"), ("1", PALETTE[0])):
        share = [
            100.0 * select(rows, name, level, "n_kernels").mean() / N_FEATURES
            for level in noise
        ]
        label = name if name == GOMP else f"p = {name}"
        upper.plot(places, share, color=color, marker="o", markersize=3.5, label=label)
    upper.plot(
        places, [100.0 * (1.0 - v) for v in noise], color="#999999", linestyle="--",
        label="informative",
    )  # fmt: skip
    upper.set_ylabel("kernels selected [%]")
    upper.legend(fontsize="small")
    strengths = [geometric(select(rows, GOMP, level, "lambda")) for level in noise]
    lower.semilogy(places, strengths, color="black", marker="o", markersize=3.5)
    lower.set_ylabel("lambda of MKL-GOMP")
    for panel in (left, upper, lower):
        panel.set_xticks(places, [f"{100 * level:.0f}" for level in noise])
        panel.set_xlabel("noise kernels [%]")
    task.save_figure("figure1", figure)


if __name__ == "__main__":
    main()
