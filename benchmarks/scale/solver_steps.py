"""What SpicyMKL's steps cost on kernels in factors and on dense kernels.

Factors: n rows of 20 columns, labels alternating, standard normal, positive rows times
two and negative ones shifted by 2 / sqrt(20), then standardized; Gaussians of several
widths on each column, by pivoted Cholesky to 1e-8 of the trace. Dense: ringnorm, 20
kernels on random subsets of the columns. Processor time is measured: on several threads
it is the sum over them.
"""

import argparse
import datetime
import json
import resource
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from output import commit
from problems import WIDTHS, generated

from multikernel.datasets import make_ringnorm
from multikernel.gram import GramStack, LowRankStack, build_stack
from multikernel.kernels import random_subset_gaussians
from multikernel.losses import HingeLoss, LogisticLoss, SquaredLoss
from multikernel.problem import Problem
from multikernel.regularizers import BlockL1
from multikernel.solvers import SpicyMKL

Array = NDArray[np.float64]
HERE = Path(__file__).parent
LOSSES = {"hinge": HingeLoss(), "log_loss": LogisticLoss(), "squared": SquaredLoss()}


def pivoted(x: Array, width: float) -> Array:
    """Return rows whose products are a Gaussian kernel of one column, of trace n."""
    rows: list[Array] = []
    rest = np.ones(x.size)
    while rest.sum() > 1e-8 * x.size:
        pivot = int(np.argmax(rest))
        row = np.exp(-0.5 * ((x - x[pivot]) / width) ** 2)
        for earlier in rows:
            row -= earlier[pivot] * earlier
        row /= np.sqrt(rest[pivot])
        rows.append(row)
        rest = np.maximum(rest - row**2, 0.0)
        rest[pivot] = 0.0
    found = np.array(rows)
    return np.asarray(found * np.sqrt(x.size / np.sum(found**2)))


def factors(X: Array, widths: Sequence[float]) -> LowRankStack:
    """Return the kernels of every column and width, in factors."""
    parts = [pivoted(column, width) for column in X.T for width in widths]
    offsets = np.cumsum([0, *(len(part) for part in parts)])
    Z = np.concatenate(parts).T
    return LowRankStack(Z, offsets)


def ringnorm(n_samples: int) -> tuple[GramStack, Array]:
    """Return 20 dense kernels of trace n, and labels."""
    X, y = make_ringnorm(n_samples, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    kernels = random_subset_gaussians(20, X.shape[1], random_state=0)
    built = build_stack(kernels, X, normalize="trace", storage="dense")
    return built.stack, np.where(y > 0, 1.0, -1.0)


def measure(
    gram: GramStack, y: Array, loss: str, alpha: float, tol: float
) -> dict[str, Any]:
    """Solve, and return what it took."""
    problem = Problem(gram, y, LOSSES[loss], BlockL1(alpha))
    start, wall = time.process_time(), time.perf_counter()
    solution = SpicyMKL(tol=tol).solve(problem)
    last = solution.history[-1]
    row = {
        "n": y.size,
        "loss": loss,
        "alpha": alpha / y.size,
        "processor_seconds": time.process_time() - start,
        "seconds": time.perf_counter() - wall,
        "passes": solution.n_iter,
        "newton_steps": last.inner_steps,
        "gap": solution.duality_gap,
        "n_active": int(solution.active.size),
        "peak_gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }
    if isinstance(gram, LowRankStack):
        row["active_rank"] = int(gram.ranks[solution.active].sum())
    return row


def thin(sizes: Sequence[int], widths: Sequence[float]) -> Iterator[dict[str, Any]]:
    """Measure kernels in factors."""
    for n_samples in sizes:
        X, y = generated(n_samples)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        start = time.process_time()
        gram = factors(X, widths)
        built = time.process_time() - start
        for alpha in (0.02, 0.005):
            for loss in LOSSES:
                row = measure(gram, y, loss, alpha * n_samples, 1e-3)
                yield {"storage": "factors", "build_seconds": built, **row}


def dense(sizes: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Measure dense kernels; 0.05 is for kernels of unit trace."""
    for n_samples in sizes:
        gram, y = ringnorm(n_samples)
        for loss in LOSSES:
            row = measure(gram, y, loss, 0.05 * np.sqrt(n_samples), 1e-4)
            yield {"storage": "dense", **row}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rows, seconds")
    parser.add_argument("--large", action="store_true", help="100 000 rows as well")
    parser.add_argument("--output", type=Path, default=HERE)
    options = parser.parse_args()
    sizes = [300] if options.quick else [20_000]
    sizes += [100_000] if options.large else []
    rows = []
    widths = WIDTHS[2:3] if options.quick else WIDTHS
    for part in (thin(sizes, widths), dense([200] if options.quick else [500, 2000])):
        for row in part:
            print(*(f"{key}={value}" for key, value in row.items()), flush=True)
            rows.append(row)
    folder = options.output / "results"
    folder.mkdir(parents=True, exist_ok=True)
    content = {
        "commit": commit(),
        "date": datetime.date.today().isoformat(),
        "rows": rows,
    }
    path = folder / "solver_steps.json"
    path.write_text(json.dumps(content, indent=0), encoding="utf-8")


if __name__ == "__main__":
    main()
