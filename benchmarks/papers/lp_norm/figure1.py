"""Figure 1: execution times on digits, against the sample size and the kernels.

Odd against even digits, C = 1. Left: 50 Gaussian kernels, 100 to 4000 samples. Right:
500 samples, 5 to 2000 kernels. The SVM on the unweighted sum; lp-norm learning for p =
1, 4/3, 2, 4 by Newton steps and by cutting planes; and, for p = 1, the SILP, SimpleMKL
and HessianMKL; all to a relative duality gap of 1e-4. Seconds are those of the
processor on one thread. Run ``python benchmarks/papers/lp_norm/figure1.py``, with
--smoke for tiny sizes; report.py writes the tables.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from common import (
    TOL,
    Digits,
    Options,
    digits,
    lp_problem,
    options,
    seconds,
    solve_within,
    svc_seconds,
)
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from multikernel.problem import Solution, Status
from multikernel.solvers.lp_choice import LP_SOLVERS

mpl.use("Agg")
mpl.rcParams.update(
    {
        "axes.axisbelow": True,
        "axes.grid": True,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "figure.dpi": 120,
        "font.size": 9,
        "grid.color": "#E3E6E8",
        "legend.frameon": False,
    }
)

NORMS = {"1": 1.0, "4/3": 4 / 3, "2": 2.0, "4": 4.0}
RIVALS = ("silp", "hessian", "simple")
SVM = "SVM, unweighted sum"
METHODS = (
    *((name, norm) for norm in NORMS for name in ("newton", "cutting_plane")),
    *((name, "1") for name in RIVALS),
)
COLORS = {"1": "#0072B2", "4/3": "#D55E00", "2": "#009E73", "4": "#CC79A7"}
STYLES = {"newton": "-", "cutting_plane": "--", "silp": ":", "hessian": "-."}
LIMIT = 60.0
"""Processor seconds after which a solver is stopped, and runs no larger problems."""


def run(task: Options) -> None:
    """Measure, save and plot."""
    threadpool_limits(1)
    repeats = 1 if task.smoke else 5
    samples = (30, 60) if task.smoke else (100, 200, 500, 1000, 2000, 4000)
    kernels = (5, 20) if task.smoke else (5, 10, 20, 50, 100, 200, 500, 1000, 2000)
    left = [(n, 6 if task.smoke else 50) for n in samples]
    right = [(60 if task.smoke else 500, m) for m in kernels]
    rows: list[dict[str, Any]] = []
    for panel, sizes in (("samples", left), ("kernels", right)):
        slow: set[tuple[str, str]] = set()
        for n_samples, n_kernels in sizes:
            for seed in range(repeats):
                found = list(one_size(n_samples, n_kernels, seed, slow))
                rows += [{"panel": panel, **row} for row in found]
                print_rows(found)
                task.save("figure1", rows)
    folder = task.output / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    figure(rows).savefig(folder / "figure1.png", bbox_inches="tight")


def one_size(
    n_samples: int, n_kernels: int, seed: int, slow: set[tuple[str, str]]
) -> Iterator[dict[str, Any]]:
    """Measure every method once on one draw of samples; note those that are slow."""
    task = digits(n_samples, n_kernels, seed)
    size = {"n": n_samples, "M": n_kernels, "seed": seed}
    total = task.stack.array.sum(axis=0)
    alone = svc_seconds(total, task.y, 1, time.process_time)
    yield {**size, "method": SVM, "p": "inf", "seconds": alone}
    for name, norm in METHODS:
        if (name, norm) in slow:
            continue
        row = one_method(task, name, norm)
        if not row["reached"] and row["seconds"] > LIMIT:
            slow.add((name, norm))
        yield {**size, **row}


def one_method(task: Digits, name: str, norm: str) -> dict[str, Any]:
    """Solve once, after a first step that loads compiled code."""
    problem, kind = lp_problem(task, NORMS[norm]), LP_SOLVERS[name]
    kind(tol=TOL, max_iter=1).solve(problem)
    solved: list[Solution] = []
    solver = kind(tol=TOL)
    elapsed = seconds(
        lambda: solved.append(solve_within(solver, problem, LIMIT)), time.process_time
    )
    line = solved[0].history[-1]
    return {
        "method": name,
        "p": norm,
        "seconds": elapsed,
        "iterations": solved[0].n_iter,
        "passes": line.passes,
        "smo_steps": line.inner_steps,
        "gap": solved[0].duality_gap,
        "n_active": solved[0].active.size,
        "reached": solved[0].status is Status.CONVERGED,
    }


def print_rows(rows: Sequence[dict[str, Any]]) -> None:
    """Print a line per method."""
    for row in rows:
        passes = f"{row['passes']:8.1f} passes" if "passes" in row else ""
        end = "" if row.get("reached", True) else f"  stopped at gap {row['gap']:.1e}"
        print(
            f"n {row['n']:5} M {row['M']:5} {row['method']:20} p {row['p']:>4}"
            f" {row['seconds']:9.3f} s {passes}{end}",
            flush=True,
        )


def figure(rows: Sequence[dict[str, Any]]) -> Figure:
    """Draw both panels: medians over draws."""
    page = Figure(figsize=(11.5, 4.2), layout="constrained")
    left, right = page.subplots(1, 2, sharey=True)
    draw(left, [row for row in rows if row["panel"] == "samples"], "n")
    draw(right, [row for row in rows if row["panel"] == "kernels"], "M")
    left.set(xlabel="training samples (50 kernels)", ylabel="CPU seconds")
    right.set(xlabel="kernels (500 training samples)")
    page.legend(*left.get_legend_handles_labels(), loc="outside right center")
    return page


def draw(axes: Axes, rows: Sequence[dict[str, Any]], key: str) -> None:
    """Draw a line per method; where the limit was reached, it ends."""
    for method, norm in ((SVM, "inf"), *METHODS):
        mine = [row for row in rows if (row["method"], row["p"]) == (method, norm)]
        mine = [row for row in mine if row.get("reached", True)]
        sizes = sorted({row[key] for row in mine})
        times = [
            np.median([row["seconds"] for row in mine if row[key] == size])
            for size in sizes
        ]
        label = method if method == SVM else f"{method}, p = {norm}"
        style = STYLES.get(method, (0, (1, 3)))
        color = COLORS.get(norm, "black")
        axes.plot(sizes, times, label=label, linestyle=style, color=color, marker=".")
    axes.set(xscale="log", yscale="log")


if __name__ == "__main__":
    run(options(__doc__))
