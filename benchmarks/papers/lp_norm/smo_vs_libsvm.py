"""Our SMO against LIBSVM (scikit-learn's SVC) on the same Gram matrix and tolerance.

Run ``python benchmarks/papers/lp_norm/smo_vs_libsvm.py``. Every fit starts cold. Both
take turns, so that a slow moment of the machine meets both; what counts is the median
ratio. Compilation happens before the clock starts, and is reported on its own.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from multikernel.datasets import available, load
from multikernel.gram import DenseMatrix
from multikernel.losses import HingeLoss, weighted
from multikernel.machines import SMO

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Task:
    """One Gram matrix with labels."""

    name: str
    K: Array
    y: Array


def gaussian_mixture(X: Array, n_kernels: int = 50) -> Array:
    """Return the mean of Gaussian kernels, widths about the median squared distance."""
    squared = euclidean_distances(X, squared=True)
    middle = float(np.median(squared))
    total = np.zeros_like(squared)
    for factor in np.geomspace(0.1, 10.0, n_kernels):
        total += np.exp(-squared / (factor * middle))
    return total / n_kernels


def tasks(n_digits: int) -> Iterator[Task]:
    """Yield odd against even digits, and breast cancer."""
    name = "mnist" if "mnist" in available() else "digits"
    digits = load(name)
    rows = np.random.default_rng(0).permutation(len(digits.y))[:n_digits]
    odd = np.where(np.asarray(digits.y)[rows].astype(int) % 2 == 1, 1.0, -1.0)
    X = np.asarray(digits.X, dtype=np.float64).reshape(len(digits.y), -1)[rows]
    yield Task(f"{name}, odd or even", gaussian_mixture(X), odd)
    cancer = load("breast_cancer")
    X = StandardScaler().fit_transform(cancer.X)
    yield Task("breast cancer", gaussian_mixture(X), cancer.y.astype(np.float64))


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def compare(task: Task, C: float, tol: float, repeats: int) -> float:
    """Print one line; return the median ratio of the times."""
    machine, gram = SMO(tol=tol), DenseMatrix(task.K)
    loss = weighted(HingeLoss(), np.full(len(task.y), C))
    svc = SVC(C=C, kernel="precomputed", tol=tol, cache_size=1000)
    times = np.array(
        [
            (
                seconds(lambda: machine.fit(gram, task.y, loss, fit_intercept=True)),
                seconds(lambda: svc.fit(task.K, task.y)),
            )
            for _ in range(repeats)
        ]
    )
    ratio = float(np.median(times[:, 0] / times[:, 1]))
    fit = machine.fit(gram, task.y, loss, fit_intercept=True)
    dual = np.zeros(len(task.y))
    dual[svc.support_] = svc.dual_coef_[0]
    theirs = float(dual @ task.y - 0.5 * dual @ task.K @ dual)
    ours, peer = np.median(times, axis=0) * 1e3
    print(
        f"{task.name:20} {len(task.y):6} {C:8g} {ours:10.2f} {peer:10.2f} {ratio:7.2f}"
        f" {fit.n_steps:9} {int(svc.n_iter_[0]):9} {fit.objective / theirs - 1.0:12.1e}"
    )
    return ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n-digits", type=int, default=2000)
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--C", type=float, nargs="+", default=[0.1, 1, 10, 100])
    options = parser.parse_args()
    tiny = Task("", np.eye(2), np.array([1.0, -1.0]))
    first = seconds(
        lambda: SMO().fit(DenseMatrix(tiny.K), tiny.y, HingeLoss(), fit_intercept=True)
    )
    print(f"first fit (compiles, or loads what was compiled): {first:.2f} s\n")
    print(
        f"{'data':20} {'n':>6} {'C':>8} {'SMO [ms]':>10} {'SVC [ms]':>10} {'ratio':>7}"
        f" {'steps':>9} {'of SVC':>9} {'obj. / SVC-1':>12}"
    )
    with threadpool_limits(1):
        for task in tasks(options.n_digits):
            ratios = [compare(task, C, options.tol, options.repeats) for C in options.C]
            print(f"{task.name:20} median ratio {np.median(ratios):.2f}\n")


if __name__ == "__main__":
    main()
