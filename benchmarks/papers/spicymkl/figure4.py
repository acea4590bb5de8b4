"""Figure 4: time against the sample size, ringnorm and splice, 20 kernels.

Gaussian kernels on random feature subsets; relative duality gap 0.01. Seconds are those
of the processor on one thread.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from figure3 import medians
from matplotlib.figure import Figure
from measure import fix_threads, solve
from output import COLORS, STYLES, Options, Table, options
from problems import STRENGTHS, dense, ida_split, problem, subset_dictionary

TOL = 0.01
N_KERNELS = 20
LOSSES = ("log_loss", "hinge")
SETS = ("ringnorm", "splice")
COLUMNS = {
    "data": "s",
    "split": "d",
    "n": "d",
    "C": "g",
    "loss": "s",
    "seconds": ".4f",
    "n_active": "d",
    "passes": ".1f",
    "newton": "d",
}


def run(task: Options) -> None:
    """Measure, save and plot."""
    fix_threads(1)
    sizes = (30, 60) if task.smoke else (50, 100, 200, 500, 1000, 2000)
    table = Table(COLUMNS)
    for name in SETS:
        for split in range(1 if task.smoke else 10):
            for n_samples in sizes:
                for row in one_size(name, split, n_samples):
                    table.add(data=name, split=split, **row)
    task.save("figure4", table.rows)
    task.save_figure("figure4", figure(table.rows))


def one_size(name: str, seed: int, n_samples: int) -> Iterator[dict[str, Any]]:
    """Solve for every strength and loss on one training set."""
    split = ida_split(name, n_samples, seed)
    stack = dense(subset_dictionary(N_KERNELS, split.X, seed), split.X).stack
    for loss in LOSSES:
        solve(problem(stack, split.y, loss, 0.5), 0.5)  # loads compiled code
    for C in STRENGTHS:
        for loss in LOSSES:
            done = solve(problem(stack, split.y, loss, C), TOL)
            yield {
                "n": n_samples,
                "C": C,
                "loss": loss,
                "seconds": done.cpu_seconds,
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
        sizes = sorted({row["n"] for row in mine})
        for loss in LOSSES:
            for C in STRENGTHS:
                times = [medians(mine, "seconds", n=n, C=C, loss=loss) for n in sizes]
                style = {"color": COLORS[loss], "linestyle": STYLES[C], "marker": "."}
                axes.plot(sizes, times, label=f"{loss}, C = {C:g}", **style)
        axes.set(xscale="log", yscale="log", xlabel="training samples", title=name)
    panels[0].set_ylabel("CPU seconds")
    page.legend(*panels[0].get_legend_handles_labels(), loc="outside right center")
    return page


if __name__ == "__main__":
    run(options(__doc__))
