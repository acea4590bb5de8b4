"""Clocks and scales: passes, medians, fresh processes, and what machine it was."""

import datetime
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from multikernel.gram import DenseStack
from multikernel.problem import Problem, Solution
from multikernel.solvers import SpicyMKL

sys.path.append(str(Path(__file__).parents[1]))

from provenance import processor, provenance

THREADS = 2
REPEATS = 7
"""Timings of a pass before, and again after, each group."""
PACKAGES = ("multikernel", "numpy", "scipy", "scikit-learn", "numba", "matplotlib")


def fix_threads(n_threads: int) -> None:
    """Hold BLAS, OpenMP and the library's own pools to so many threads."""
    threadpool_limits(n_threads)


def environment() -> dict[str, Any]:
    """Return the machine, the versions and the date."""
    blas = [info for info in threadpool_info() if info["user_api"] == "blas"]
    versions = {name: version(name) for name in PACKAGES}
    return {
        "date": datetime.date.today().isoformat(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(_memory_bytes() / 1e9, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "blas": sorted({f"{info['internal_api']} {info['version']}" for info in blas}),
        "threads": max(info["num_threads"] for info in blas),
        **provenance("spicymkl"),
        **versions,
    }


def _memory_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


Timer = Callable[[], float]


def seconds(call: Callable[[], object], timer: Timer = time.perf_counter) -> float:
    """Return the time of a call, by the wall clock unless by another one."""
    start = timer()
    call()
    return timer() - start


def median_seconds(call: Callable[[], object], repeats: int = REPEATS) -> float:
    """Return the median wall-clock time of several calls."""
    return float(np.median([seconds(call) for _ in range(repeats)]))


class PassClock:
    """Times passes: the quadratic forms of one random vector by plain BLAS.

    One product of the whole stack, as a matrix of n_kernels n_samples rows, with the
    vector, and one of the images with it: no code of the library.
    """

    def __init__(self, stack: DenseStack, timer: Timer = time.perf_counter) -> None:
        n_kernels, n_rows, n_cols = stack.shape
        self._flat = stack.array.reshape(n_kernels * n_rows, n_cols)
        self._shape = n_kernels, n_rows
        self._timer = timer
        self._v = np.random.default_rng(0).standard_normal(n_cols)
        self._times: list[float] = []
        self()  # the first call pays for pages and thread pools
        self._times.clear()

    def __call__(self) -> None:
        """Take some more timings."""
        self._times += [seconds(self._pass, self._timer) for _ in range(REPEATS)]

    def median(self) -> float:
        """Return the median of all timings so far, in seconds."""
        return float(np.median(self._times))

    def _pass(self) -> None:
        images = (self._flat @ self._v).reshape(self._shape)
        images @ self._v


@dataclass(frozen=True)
class Run:
    """A solution with its median time over repeated cold solves."""

    solution: Solution
    seconds: float
    cpu_seconds: float

    @property
    def passes(self) -> float:
        return self.solution.history[-1].passes

    @property
    def newton_steps(self) -> int:
        return self.solution.history[-1].inner_steps


def solve(problem: Problem, tol: float, repeats: int = 1) -> Run:
    """Solve from scratch, several times."""
    wall, cpu = [], []
    for _ in range(repeats):
        cpu_start, start = time.process_time(), time.perf_counter()
        solution = SpicyMKL(tol=tol).solve(problem)
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - cpu_start)
    return Run(solution, float(np.median(wall)), float(np.median(cpu)))


def child(command: str, **arguments: object) -> dict[str, Any]:
    """Run a command of child.py in a fresh process and return what it reports."""
    script = Path(__file__).with_name("child.py")
    return _json_of([sys.executable, str(script), command, json.dumps(arguments)])


def child_with_cache(cache: str, command: str, **arguments: object) -> dict[str, Any]:
    """Do as `child`, with a folder for what numba compiles."""
    script = Path(__file__).with_name("child.py")
    line = [sys.executable, str(script), command, json.dumps(arguments)]
    return _json_of(line, NUMBA_CACHE_DIR=cache)


def _json_of(line: list[str], **variables: str) -> dict[str, Any]:
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(THREADS))
    done = subprocess.run(
        line, env=os.environ | threads | variables, capture_output=True, text=True
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(line)} failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found
