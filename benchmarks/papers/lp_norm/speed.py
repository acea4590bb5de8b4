"""The speed targets of lp-norm learning: in fits of an SVC, and passes over the stack.

Odd against even digits, C = 1, relative duality gap 1e-4. The limits:

- 2000 samples, 50 kernels: for p = 4/3, 2, 4 three fits of scikit-learn's SVC on the
  unweighted sum plus 25 passes; for p = 1 six fits plus 40 passes;
- 500 samples, 2000 kernels: ten fits plus 30 passes.

Times are medians; the solver, the fits and the passes take turns in one process. Run
``python benchmarks/papers/lp_norm/speed.py``, with --smoke for tiny sizes.
"""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from common import (
    TOL,
    Options,
    digits,
    lp_problem,
    options,
    pass_seconds,
    svc_seconds,
)

from multikernel.solvers.lp_choice import LP_SOLVERS, choose_lp_solver

P_VALUES = (1.0, 4 / 3, 2.0, 4.0)
HEADER = (
    f"{'n':>6} {'M':>6} {'p':>6} {'seconds':>9} {'limit':>8} {'share':>6}"
    f" {'SVC [s]':>8} {'pass [s]':>8} {'steps':>6} {'passes':>7} {'SMO':>8} {'gap':>8}"
)


def budget(n_kernels: int, p: float) -> tuple[int, int]:
    """Return how many fits and how many passes a solve may take."""
    if n_kernels > 1000:
        return 10, 30
    return (6, 40) if p == 1.0 else (3, 25)


def one_size(n_samples: int, n_kernels: int, repeats: int) -> Iterator[dict[str, Any]]:
    """Measure all norms on one stack."""
    task = digits(n_samples, n_kernels)
    total = task.stack.array.sum(axis=0)
    for p in P_VALUES:
        name = choose_lp_solver(p, n_samples, n_kernels)
        solver, problem = LP_SOLVERS[name](tol=TOL), lp_problem(task, p)
        solution = solver.solve(problem)  # compiles, or loads what was compiled
        times, passes, fits = [], [], []
        for _ in range(repeats):
            passes.append(pass_seconds(task.stack, 3))
            fits.append(svc_seconds(total, task.y, 3))
            start = time.perf_counter()
            solution = solver.solve(problem)
            times.append(time.perf_counter() - start)
        n_fits, n_passes = budget(n_kernels, p)
        limits = n_fits * np.array(fits) + n_passes * np.array(passes)
        line = solution.history[-1]
        yield {
            "n": n_samples,
            "M": n_kernels,
            "p": p,
            "solver": name,
            "seconds": float(np.median(times)),
            "limit": float(np.median(limits)),
            "share": float(np.median(np.array(times) / limits)),
            "svc": float(np.median(fits)),
            "pass": float(np.median(passes)),
            "steps": solution.n_iter,
            "passes": line.passes,
            "smo_steps": line.inner_steps,
            "gap": solution.duality_gap,
        }


def run(task: Options) -> None:
    """Measure, print and save."""
    sizes = ((100, 10), (50, 40)) if task.smoke else ((2000, 50), (500, 2000))
    print(HEADER)
    rows = []
    for n_samples, n_kernels in sizes:
        for row in one_size(n_samples, n_kernels, 2 if task.smoke else 7):
            rows.append(row)
            print(
                f"{row['n']:6} {row['M']:6} {row['p']:6.3g} {row['seconds']:9.4f}"
                f" {row['limit']:8.4f} {row['share']:6.2f} {row['svc']:8.4f}"
                f" {row['pass']:8.4f} {row['steps']:6} {row['passes']:7.1f}"
                f" {row['smo_steps']:8} {row['gap']:8.1e}",
                flush=True,
            )
    task.save("speed", rows)


if __name__ == "__main__":
    run(options(__doc__))
