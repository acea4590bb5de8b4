"""What an estimator costs around its solver on precomputed kernels, in passes."""

import argparse
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from output import HERE, commit, write
from threadpoolctl import threadpool_limits

from multikernel.estimators import SpicyMKLClassifier, stack_grams
from multikernel.estimators.grams import method as fit_sequence
from multikernel.gram import DenseStack

Array = NDArray[np.float64]


def problem(n_kernels: int, n_samples: int) -> tuple[Array, NDArray[np.intp]]:
    """Return Gaussian matrices on three random columns each, and labels."""
    random = np.random.default_rng(0)
    X = random.standard_normal((n_samples, 40))
    K = np.empty((n_kernels, n_samples, n_samples))
    for m in range(n_kernels):
        Z = X[:, random.integers(0, 40, 3)]
        squares = (Z**2).sum(axis=1)
        K[m] = np.exp(-np.maximum(squares[:, None] + squares - 2.0 * Z @ Z.T, 0.0) / 6)
        K[m] = 0.5 * (K[m] + K[m].T)
    return K, (X[:, 0] + X[:, 1] > 0.0).astype(np.intp)


@contextmanager
def clocked() -> Iterator[list[float]]:
    """Note how long each call of the solver takes."""
    spent: list[float] = []
    solve = fit_sequence.solve_outputs

    def timed(*arguments: Any) -> Any:
        start = time.perf_counter()
        solutions = solve(*arguments)
        spent.append(time.perf_counter() - start)
        return solutions

    fit_sequence.solve_outputs = timed  # type: ignore[assignment]
    try:
        yield spent
    finally:
        fit_sequence.solve_outputs = solve


def seconds(work: Callable[[], object]) -> float:
    """Return the wall time of a call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def own_part(X: Array, y: Any, stack: DenseStack, repeat: int) -> tuple[float, float]:
    """Return the seconds of a fit beyond its solver, and of a pass."""
    v = np.random.default_rng(1).standard_normal(stack.shape[1])
    model = SpicyMKLClassifier("precomputed", alpha=0.1)
    own, passes = [], []
    for _ in range(repeat + 1):
        passes.append(seconds(lambda: stack.quadratic_forms(v)))
        with clocked() as spent:
            whole = seconds(lambda: model.fit(X, y))
        own.append(whole - sum(spent))
        passes.append(seconds(lambda: stack.quadratic_forms(v)))
    # The first fit loads compiled functions.
    return float(np.median(own[1:])), float(np.median(passes))


def copied_bytes(X: Array, y: Any) -> int:
    """Return the bytes that a fit holds at most beside X."""
    tracemalloc.start()
    SpicyMKLClassifier("precomputed", alpha=0.1).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def main() -> None:
    """Measure, and write results/precomputed.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few kernels")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--output", type=Path, default=HERE)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    n_kernels, n_samples = (100, 100) if options.quick else (3000, 200)
    K, y = problem(n_kernels, n_samples)
    stacked, stack = stack_grams(K), DenseStack(K)
    found: dict[str, Any] = {"n_kernels": n_kernels, "n_samples": n_samples}
    found |= {"repeat": options.repeat, "commit": commit()}
    for name, threads in {"stacked": 2, "stacked_alone": 1}.items():
        with threadpool_limits(threads):
            own, one_pass = own_part(stacked, y, stack, options.repeat)
            found[name] = own / one_pass
            if threads == 2:
                together = own
    plain = np.ascontiguousarray(stacked)
    copy = seconds(lambda: np.ascontiguousarray(np.moveaxis(plain, -1, 0)))
    with threadpool_limits(2):
        own, _ = own_part(plain, y, stack, options.repeat)
    found["copy"] = (own - together) / copy
    found["copied"] = copied_bytes(plain, y) / K.nbytes
    for name, value in found.items():
        print(
            f"{name}: {value:.2f}" if isinstance(value, float) else f"{name}: {value}"
        )
    write(options.output, "precomputed", found)


if __name__ == "__main__":
    main()
