"""What the lp-norm benchmarks share: options, clocks, digits, files and tables."""

import argparse
import datetime
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.svm import SVC
from threadpoolctl import threadpool_info, threadpool_limits

from multikernel.datasets import available, load
from multikernel.gram import DenseStack
from multikernel.losses import HingeLoss
from multikernel.problem import Problem, Progress, Solution
from multikernel.regularizers import SquaredBlockNorm
from multikernel.solvers import Solver

sys.path.append(str(Path(__file__).parents[1]))

from provenance import append, commit, lines, processor, provenance  # noqa: F401

HERE = Path(__file__).parent

PACKAGES = ("multikernel", "numpy", "scipy", "scikit-learn", "numba")
THREADS = 2
C = 1.0
TOL = 1e-4

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Options:
    """What a script was asked for."""

    smoke: bool
    output: Path
    sets: tuple[str, ...] = ()

    def save(self, name: str, rows: Sequence[dict[str, Any]]) -> None:
        """Write rows and the environment to results/NAME.json."""
        folder = self.output / "results"
        folder.mkdir(parents=True, exist_ok=True)
        content = {"environment": environment(), "smoke": self.smoke, "rows": rows}
        text = json.dumps(content, indent=1, default=float) + "\n"
        (folder / f"{name}.json").write_text(text, encoding="utf-8")

    def append(self, name: str, row: dict[str, Any]) -> dict[str, Any]:
        """Write a row to results/NAME.jsonl, which only grows; return it."""
        return append(self.output / "results" / f"{name}.jsonl", row)

    def lines(self, name: str) -> list[dict[str, Any]]:
        """Return the rows that `append` wrote."""
        return lines(self.output / "results" / f"{name}.jsonl")

    def load(self, name: str) -> dict[str, Any] | None:
        """Return what `save` or `append` wrote, or None."""
        if rows := self.lines(name):
            return {"rows": rows}
        path = self.output / "results" / f"{name}.json"
        if not path.exists():
            return None
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return content


def options(description: str) -> Options:
    """Read the command line, and fix the number of BLAS threads."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, seconds")
    parser.add_argument("--output", type=Path, help="folder for results and figures")
    parser.add_argument("--sets", nargs="*", default=[], help="sets of table 1")
    found = parser.parse_args()
    # Threads that wait for each other make a test on a busy machine crawl.
    threadpool_limits(1 if found.smoke else THREADS)
    default = HERE / "smoke" if found.smoke else HERE
    return Options(found.smoke, found.output or default, tuple(found.sets))


def environment() -> dict[str, Any]:
    """Return the machine, the versions and the date."""
    blas = [info for info in threadpool_info() if info["user_api"] == "blas"]
    return {
        "date": datetime.date.today().isoformat(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "BLAS threads": max(info["num_threads"] for info in blas),
        "python": platform.python_version(),
        **provenance("lp_norm"),
        **{name: version(name) for name in PACKAGES},
    }


def conditions(content: dict[str, Any]) -> str:
    """Return a line about the machine, and the commit where rows do not say it."""
    found = dict(content["environment"])
    known = found.pop("commit", "unknown")
    found.pop("sources", None)
    if not any("commit" in row for row in content["rows"]):
        found["commit"] = known
    return ", ".join(f"{name} {value}" for name, value in found.items()) + ".\n"


@dataclass(frozen=True)
class Digits:
    """Odd against even digits under Gaussian kernels of many widths."""

    stack: DenseStack
    y: Array


def digits(n_samples: int, n_kernels: int, seed: int = 0) -> Digits:
    """Return MNIST digits, or scikit-learn's small ones where MNIST is missing.

    Squared widths 2 sigma^2 are spread over a factor of 10 000 about the median squared
    distance: from almost diagonal matrices to almost constant ones.
    """
    data = load("mnist" if "mnist" in available() else "digits")
    rows = np.random.default_rng(seed).permutation(len(data.y))[:n_samples]
    X = np.asarray(data.X, dtype=np.float64).reshape(len(data.y), -1)[rows]
    odd = np.where(np.asarray(data.y)[rows].astype(int) % 2 == 1, 1.0, -1.0)
    squared = euclidean_distances(X, squared=True)
    middle = float(np.median(squared))
    grams = np.empty((n_kernels, len(odd), len(odd)))
    for gram, factor in zip(grams, np.geomspace(1e-2, 1e2, n_kernels), strict=True):
        np.exp(squared / (-2.0 * factor * middle), out=gram)
    return Digits(DenseStack(grams), odd)


def lp_problem(task: Digits, p: float) -> Problem:
    """Return the problem of one norm at C = 1."""
    return Problem(task.stack, task.y, HingeLoss(), SquaredBlockNorm(1.0 / C, p))


Timer = Callable[[], float]


def seconds(call: Callable[[], object], timer: Timer = time.perf_counter) -> float:
    """Return the time of a call, by the wall clock unless by another one."""
    start = timer()
    call()
    return timer() - start


def median_seconds(
    call: Callable[[], object], repeats: int, timer: Timer = time.perf_counter
) -> float:
    """Return the median time of several calls."""
    return float(np.median([seconds(call, timer) for _ in range(repeats)]))


def pass_seconds(stack: DenseStack, repeats: int) -> float:
    """Return the median time of a pass: all quadratic forms of one vector by BLAS.

    One product of the whole stack, as a matrix of n_kernels n_samples rows, with the
    vector, and one of the images with it: no code of the library.
    """
    n_kernels, n_rows, n_cols = stack.shape
    flat = stack.array.reshape(n_kernels * n_rows, n_cols)
    v = np.random.default_rng(0).standard_normal(n_cols)

    def once() -> None:
        (flat @ v).reshape(n_kernels, n_rows) @ v

    once()  # pays for pages and thread pools
    return median_seconds(once, repeats)


def svc_seconds(
    K: Array, y: Array, repeats: int, timer: Timer = time.perf_counter
) -> float:
    """Return the median time of scikit-learn's SVC on one Gram matrix."""
    machine = SVC(C=C, kernel="precomputed", tol=1e-3, cache_size=1000)
    return median_seconds(lambda: machine.fit(K, y), repeats, timer)


def solve_within(solver: Solver, problem: Problem, limit: float) -> Solution:
    """Solve, and give up after so many seconds of the processor."""
    start = time.process_time()

    def late(progress: Progress) -> bool:
        return time.process_time() - start > limit

    return solver.solve(problem, callback=late)
