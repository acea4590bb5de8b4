"""Figure 3: time against the number of kernels, ringnorm and splice, n = 200.

Gaussian kernels on random feature subsets; relative duality gap 0.01. A stack of the
largest size is computed per split, and its first kernels are the smaller problems.
Seconds are those of the processor on one thread.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from measure import PassClock, fix_threads, solve
from output import COLORS, STYLES, Options, Table, options
from problems import (
    STRENGTHS,
    dense,
    first_kernels,
    ida_split,
    problem,
    subset_dictionary,
)

TOL = 0.01
N_TRAIN = 200
LOSSES = ("log_loss", "hinge")
SETS = ("ringnorm", "splice")
COLUMNS = {
    "data": "s",
    "split": "d",
    "M": "d",
    "C": "g",
    "loss": "s",
    "seconds": ".4f",
    "pass_seconds": ".4f",
    "n_active": "d",
    "passes": ".1f",
    "newton": "d",
}


def run(task: Options) -> None:
    """Measure, save and plot."""
    fix_threads(1)
    sizes = (20, 40) if task.smoke else (50, 100, 200, 500, 1000, 2000, 3000, 6000)
    table = Table(COLUMNS)
    for name in SETS:
        for split in range(1 if task.smoke else 10):
            for row in one_split(name, split, sizes):
                table.add(data=name, split=split, **row)
    task.save("figure3", table.rows)
    task.save_figure("figure3", figure(table.rows))


def one_split(name: str, seed: int, sizes: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Solve for every size, strength and loss on one split."""
    split = ida_split(name, N_TRAIN, seed)
    whole = dense(subset_dictionary(sizes[-1], split.X, seed), split.X).stack
    for loss in LOSSES:
        solve(problem(whole, split.y, loss, 0.5), 0.5)  # loads compiled code
    for n_kernels in sizes:
        stack = first_kernels(whole, n_kernels)
        clock = PassClock(stack, time.process_time)
        clock()
        runs = {
            (C, loss): solve(problem(stack, split.y, loss, C), TOL)
            for C in STRENGTHS
            for loss in LOSSES
        }
        clock()
        for (C, loss), done in runs.items():
            yield {
                "M": n_kernels,
                "C": C,
                "loss": loss,
                "seconds": done.cpu_seconds,
                "pass_seconds": clock.median(),
                "n_active": done.solution.active.size,
                "passes": done.passes,
                "newton": done.newton_steps,
            }


def figure(rows: Sequence[dict[str, Any]]) -> Figure:
    """Draw a panel per set: medians over splits."""
    page = Figure(figsize=(10.5, 3.8), layout="constrained")
    panels = page.subplots(1, len(SETS), sharey=True)
    for axes, name in zip(panels, SETS, strict=True):
        mine = [row for row in rows if row["data"] == name]
        sizes = sorted({row["M"] for row in mine})
        for loss in LOSSES:
            for C in STRENGTHS:
                times = [medians(mine, "seconds", M=M, C=C, loss=loss) for M in sizes]
                style = {"color": COLORS[loss], "linestyle": STYLES[C], "marker": "."}
                axes.plot(sizes, times, label=f"{loss}, C = {C:g}", **style)
        passes = [medians(mine, "pass_seconds", M=M) for M in sizes]
        axes.plot(sizes, passes, color="#999999", linewidth=2.5, label="one pass")
        axes.set(xscale="log", yscale="log", xlabel="kernels", title=name)
    panels[0].set_ylabel("CPU seconds")
    page.legend(*panels[0].get_legend_handles_labels(), loc="outside right center")
    return page


def medians(rows: Sequence[dict[str, Any]], key: str, **facts: object) -> float:
    """Return the median of a measure over the rows of which some facts hold."""
    return float(np.median([r[key] for r in rows if facts.items() <= r.items()]))


if __name__ == "__main__":
    run(options(__doc__))
