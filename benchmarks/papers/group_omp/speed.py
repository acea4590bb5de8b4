"""What a greedy selection costs, in passes over the stack and in factorisations.

Run ``python benchmarks/papers/group_omp/speed.py`` (5 GB of memory; ``--smoke`` for
small sizes). A pass is every quadratic form of one vector, one product of BLAS with the
whole stack; passes and factorisations are timed before and after each run, on the same
threads, and their medians taken.

Full rank: n = 500, 2000 Gaussian kernels on random subsets (ringnorm), 20 selections.
Allowed: the time of 100 passes and 20 Cholesky factorisations; three times that for ten
strengths at once.

Rank one: n = 500, 100 000 linear kernels on one feature each, 50 selections. Allowed:
ten times one product of the n x M data matrix with a vector per selection, plus refits.
"""

import argparse
import resource
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from multikernel.datasets import make_ringnorm
from multikernel.gram import LowRankStack, build_stack
from multikernel.gram.base import GramStack
from multikernel.kernels import random_subset_gaussians
from multikernel.losses import SquaredLoss
from multikernel.problem import Problem
from multikernel.regularizers import BlockElasticNet
from multikernel.solvers import GreedyPath, GroupOMP

Array = NDArray[np.float64]


def seconds(call: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def unit_and_run(
    units: Sequence[Callable[[], object]], run: Callable[[], object], repeats: int = 7
) -> tuple[list[float], float]:
    """Time a run, and its units before and after it; medians of the units."""
    before = [[seconds(unit) for _ in range(repeats)] for unit in units]
    elapsed = seconds(run)
    after = [[seconds(unit) for _ in range(repeats)] for unit in units]
    medians = [float(np.median(b + a)) for b, a in zip(before, after, strict=True)]
    return medians, elapsed


def greedy_paths(
    stack: GramStack, y: Array, lambdas: Sequence[float], n_selections: int
) -> list[GreedyPath]:
    """Run MKL-GOMP for several strengths of the mean loss."""
    problem = Problem(stack, y, SquaredLoss(), BlockElasticNet(1.0, l1_ratio=0.0))
    solver = GroupOMP(max_kernels=n_selections, tol=0.0)
    return solver.paths(problem, len(y) * np.asarray(lambdas))


def full_rank(n_samples: int, n_kernels: int, n_selections: int) -> None:
    """Print the cost of selecting among Gaussian kernels."""
    X, y = make_ringnorm(n_samples, random_state=0)
    y = np.where(y > 0, 1.0, -1.0)
    dictionary = random_subset_gaussians(n_kernels, X.shape[1], random_state=0)
    stack = build_stack(
        dictionary, X, normalize="trace", storage="dense", max_bytes=2**40
    ).stack
    K = stack.columns(np.arange(n_samples))[0] + n_samples * np.eye(n_samples)
    units = (lambda: stack.quadratic_forms(y), lambda: np.linalg.cholesky(K))
    print(f"Full rank: n = {n_samples}, M = {n_kernels}, {n_selections} selections")
    print("lambdas              seconds   pass [s]  Cholesky [s]  passes  of allowed")
    ten = np.geomspace(1e-4, 1e-1, 10)
    for lambdas in ([1e-4], [1e-3], [1e-2], [1e-1], ten):
        found: list[GreedyPath] = []
        (one_pass, cholesky), elapsed = unit_and_run(
            units,
            lambda lambdas=lambdas, found=found: found.extend(
                greedy_paths(stack, y, lambdas, n_selections)
            ),
        )
        allowed = 5 * n_selections * one_pass + n_selections * cholesky
        allowed *= 1 if len(lambdas) == 1 else 3
        name = f"{lambdas[0]:g}" if len(lambdas) == 1 else "ten, 1e-4 to 1e-1"
        products = found[0].history[-1].passes
        print(
            f"{name:20s} {elapsed:8.2f}   {one_pass:8.4f}  {cholesky:12.4f}  "
            f"{products:6.1f}  {elapsed / allowed:8.0%}"
        )


def rank_one(n_samples: int, n_kernels: int, n_selections: int) -> None:
    """Print the cost of selecting among linear kernels on one feature each."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((n_samples, n_kernels))
    y = Z[:, :n_selections].sum(axis=1) + rng.standard_normal(n_samples)
    stack = LowRankStack(Z, np.arange(n_kernels + 1))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (product,), elapsed = unit_and_run(
        (lambda: y @ Z,), lambda: greedy_paths(stack, y, [1e-2], n_selections)
    )
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    print(f"Rank one: n = {n_samples}, M = {n_kernels}, {n_selections} selections")
    print(
        f"{elapsed:.2f} s with refits; {elapsed / n_selections / product:.2f} products "
        f"({product:.4f} s each) per selection, allowed 10; peak memory grew by "
        f"{grown / 1e6:.0f} MB beside the data's {Z.nbytes / 1e6:.0f} MB"
    )


def main() -> None:
    """Print both figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="small sizes")
    small = parser.parse_args().smoke
    rank_one(500, 2000 if small else 100_000, 50)
    full_rank(*((200, 100, 5) if small else (500, 2000, 20)))


if __name__ == "__main__":
    main()
