"""Figure 1: time, test accuracy and number of kernels on five UCI sets.

Kernels are precomputed, as in the paper; the relative duality gap is 0.01. Means and
standard deviations are over ten random splits in 80 and 20 per cent. Seconds are those
of the processor on one thread.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from measure import fix_threads, solve
from output import COLORS, Options, Table, options
from problems import (
    STRENGTHS,
    UCI,
    Split,
    accuracy,
    dense,
    problem,
    uci_dictionary,
    uci_split,
)

TOL = 0.01
LOSSES = ("log_loss", "hinge")
MEASURES = {
    "cpu_seconds": "CPU time [s]",
    "accuracy": "test accuracy",
    "n_active": "kernels selected",
}
COLUMNS = {
    "data": "s",
    "split": "d",
    "C": "g",
    "loss": "s",
    "n": "d",
    "M": "d",
    "cpu_seconds": ".3f",
    "accuracy": ".3f",
    "n_active": "d",
    "passes": ".1f",
    "newton": "d",
    "gap": ".1e",
}


def run(task: Options) -> None:
    """Measure, save and plot."""
    fix_threads(1)
    sets = ("liver",) if task.smoke else UCI
    table = Table(COLUMNS)
    for name in sets:
        for split in range(1 if task.smoke else 10):
            for row in one_split(uci_split(name, split, 60 if task.smoke else None)):
                table.add(data=name, split=split, **row)
    task.save("figure1", table.rows)
    task.save_figure("figure1", figure(table.rows, sets))


def one_split(split: Split) -> Iterator[dict[str, Any]]:
    """Solve for every loss and strength on one split."""
    dictionary = uci_dictionary(split.X)
    built = dense(dictionary, split.X)
    solve(problem(built.stack, split.y, "log_loss", 0.5), 0.5)  # loads compiled code
    for C in STRENGTHS:
        for loss in LOSSES:
            done = solve(problem(built.stack, split.y, loss, C), TOL, repeats=3)
            yield {
                "C": C,
                "loss": loss,
                "n": len(split.y),
                "M": len(dictionary),
                "cpu_seconds": done.cpu_seconds,
                "accuracy": accuracy(done.solution, built, dictionary, split),
                "n_active": done.solution.active.size,
                "passes": done.passes,
                "newton": done.newton_steps,
                "gap": done.solution.duality_gap,
            }


def values_of(rows: Sequence[dict[str, Any]], key: str, **facts: object) -> np.ndarray:
    """Return one measure of the rows of which some facts hold."""
    return np.array([row[key] for row in rows if facts.items() <= row.items()])


def figure(rows: Sequence[dict[str, Any]], sets: Sequence[str]) -> Figure:
    """Draw the paper's nine panels: a row per measure, a column per strength."""
    page = Figure(figsize=(9.0, 7.0), layout="constrained")
    panels = page.subplots(len(MEASURES), len(STRENGTHS), sharex=True, sharey="row")
    places = np.arange(len(sets))
    for line, (key, label) in zip(panels, MEASURES.items(), strict=True):
        for axes, C in zip(line, STRENGTHS, strict=True):
            for shift, loss in zip((-0.2, 0.2), LOSSES, strict=True):
                found = [values_of(rows, key, data=s, C=C, loss=loss) for s in sets]
                axes.bar(
                    places + shift,
                    [values.mean() for values in found],
                    0.38,
                    yerr=[values.std() for values in found],
                    color=COLORS[loss],
                    ecolor="#333333",
                    error_kw={"elinewidth": 0.8, "capsize": 2},
                    label=loss,
                )
            axes.set_xticks(places, sets, rotation=30)
            axes.grid(visible=False, axis="x")
        line[0].set_ylabel(label)
    for axes, C in zip(panels[0], STRENGTHS, strict=True):
        axes.set_title(f"C = {C:g}")
        axes.set_yscale("log")
    for axes in panels[1]:
        axes.set_ylim(0.4, 1.0)
    panels[0, -1].legend()
    return page


if __name__ == "__main__":
    run(options(__doc__))
