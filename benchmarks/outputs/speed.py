"""What many outputs cost beside one: ``python -m benchmarks.outputs.speed [case]``.

``regression``: SpicyMKL for the squared loss, 100 targets, 1000 samples, 50 kernels,
at a tenth of the largest alpha, beside single targets on the same kernels.
``classes``: the softmax on 2000 digits of mfeat in 10 classes, 6 views with 10 widths
each, beside the ten fits of a class against the rest, at the same share of the largest
alpha. Both to a relative gap of 1e-3. ``ufo``: UFO-MKL on 500 of these digits beside
solvers of the same problems, lp-norm learning with the paper's exponent and the elastic
net, with the hinge of Crammer and Singer and no intercept. Times are those of the
process, so run it with one BLAS thread; --smoke is for tiny sizes.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from multikernel.certificates import alpha_max, duality_gap
from multikernel.datasets.loaders import load
from multikernel.gram import DenseStack
from multikernel.losses import (
    CrammerSingerLoss,
    LogisticLoss,
    SoftmaxLoss,
    SquaredLoss,
)
from multikernel.problem import Problem, Solution
from multikernel.regularizers import BlockElasticNet, BlockL1, SquaredBlockNorm
from multikernel.solvers import UFOMKL, Alternating, SpicyMKL, ufo_exponent

Array = NDArray[np.float64]

SHARES = 0.3, 0.1, 0.03
"""Of the largest alpha: from few kernels to many."""


def gaussians(Z: Array, widths: Array) -> Iterator[Array]:
    """Yield Gaussian kernels on some columns; widths are multiples of the median."""
    norms = (Z**2).sum(axis=1)
    squares = np.maximum(norms[:, None] + norms[None] - 2.0 * Z @ Z.T, 0.0)
    squares /= np.median(squares)
    for width in widths:
        K = np.exp(-squares / (2.0 * width**2))
        # Unit variance in feature space, as the estimators' default.
        yield K / (np.mean(K.diagonal()) - K.mean())


def regression(n_samples: int = 1000, n_outputs: int = 100) -> tuple[DenseStack, Array]:
    """Return 50 kernels and targets that depend on five of ten columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, 10))
    pairs = [[k] for k in range(10)] + [[k, (3 * k + 1) % 10] for k in range(10)]
    chosen = [(pair, width) for pair in pairs for width in (0.3, 1.0, 3.0)][:50]
    kernels = [next(gaussians(X[:, pair], np.array([w]))) for pair, w in chosen]
    signals = np.column_stack(
        [
            np.sin(2.0 * X[:, 0]),
            np.cos(X[:, 1]),
            0.5 * X[:, 2] ** 2,
            np.tanh(X[:, 3] * X[:, 0]),
        ]
    )
    Y = signals @ rng.normal(size=(4, n_outputs))
    return DenseStack(np.stack(kernels)), Y + 0.3 * rng.normal(size=Y.shape)


def digits(n_samples: int = 2000) -> tuple[DenseStack, Array]:
    """Return 60 kernels on 6 views of digits, and their classes, one-hot."""
    data = load("mfeat_digits_6views")
    rows = np.sort(np.random.default_rng(0).permutation(len(data.y))[:n_samples])
    widths = np.geomspace(0.1, 3.0, 10)
    stack = np.empty((len(data.views) * widths.size, rows.size, rows.size))
    place = 0
    for Z in data.views.values():
        for K in gaussians(StandardScaler().fit_transform(Z[rows]), widths):
            stack[place], place = K, place + 1
    codes = np.unique(data.y[rows], return_inverse=True)[1]
    return DenseStack(stack), np.eye(codes.max() + 1)[codes]


def solved(problem: Problem, share: float) -> tuple[Solution, float]:
    """Return the solution at a share of the largest alpha, and the seconds it took."""
    strength = share * alpha_max(problem)
    problem = replace(problem, regularizer=BlockL1(strength))
    start = time.process_time()
    solution = SpicyMKL(tol=1e-3).solve(problem)
    seconds = time.process_time() - start
    assert duality_gap(problem, solution) <= 1e-3
    return solution, seconds


def compare(joint: Problem, single: list[Problem], together: bool) -> None:
    """Print what all outputs take at once, and beside one or beside all others."""
    solved(joint, 0.9)  # compiled loops are loaded once
    print("share  shared s  kernels  Newton  each alone s  ratio")
    for share in SHARES:
        solution, seconds = solved(joint, share)
        alone = [solved(problem, share)[1] for problem in single]
        base = float(np.sum(alone) if together else np.mean(alone))
        print(
            f"{share:5.2f}  {seconds:8.2f}  {solution.active.size:7d}  "
            f"{solution.history[-1].inner_steps:6d}  {np.mean(alone):12.3f}  "
            f"{seconds / base:5.2f}",
            flush=True,
        )


def stochastic(n_samples: int, n_epochs: int) -> None:
    """Print what UFO-MKL and the solver of the same problem take to fall to gaps."""
    gram, y = digits(n_samples)
    norm = SquaredBlockNorm(1.0, ufo_exponent(gram.shape[0]))
    print(
        "problem      strength  solver       gap    seconds  epochs or steps  kernels"
    )
    for strength in (0.1, 1.0, 10.0):
        for label, penalty, other in (
            ("lp", norm.with_alpha(strength), Alternating),
            ("elastic net", BlockElasticNet(strength, 0.5), SpicyMKL),
        ):
            problem = Problem(gram, y, CrammerSingerLoss(), penalty, False)
            for solver in (UFOMKL(0.1, n_epochs), UFOMKL(0.01, n_epochs), other(0.01)):
                start = time.process_time()
                solution = solver.solve(problem)
                seconds = time.process_time() - start
                print(
                    f"{label:12} {strength:8.2f}  {type(solver).__name__:11} "
                    f"{duality_gap(problem, solution):6.4f} {seconds:9.2f} "
                    f"{solution.n_iter:10d} {solution.active.size:10d}",
                    flush=True,
                )


def main() -> None:
    """Measure the cases named, or all."""
    known = ["regression", "classes", "ufo"]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(known)}; all if none")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, seconds")
    options = parser.parse_args()
    cases, smoke = options.cases or known, options.smoke
    penalty = BlockL1(1.0)
    if "regression" in cases:
        gram, Y = regression(60, 10) if smoke else regression()
        joint = Problem(gram, Y, SquaredLoss(), penalty)
        single = [replace(joint, y=np.ascontiguousarray(Y[:, k])) for k in range(10)]
        print("100 targets beside one (mean of ten)")
        compare(joint, single, together=False)
    if "classes" in cases:
        gram, y = digits(60 if smoke else 2000)
        joint = Problem(gram, y, SoftmaxLoss(), penalty)
        signs = np.where(y.T > 0.0, 1.0, -1.0)
        single = [replace(joint, y=row, loss=LogisticLoss()) for row in signs]
        print("10 classes beside ten fits of one against the rest")
        compare(joint, single, together=True)
    if "ufo" in cases:
        stochastic(*((60, 20) if smoke else (500, 2000)))


if __name__ == "__main__":
    main()
