"""Figure 2: relative duality gap and active kernels against time on ionosphere.

Processor seconds on one thread. SpicyMKL goes on to a gap of 1e-6 to show the rate at
the end. The paper stops at 0.01, as the rivals do: those of figure 1 with the hinge
loss, and iterative shrinkage with the logistic one; none begins an iteration after ten
seconds.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from figure1 import TOL as TOL_OF_RIVALS
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from measure import fix_threads, provenance, solve
from output import COLORS, STYLES, Options, Table, options
from problems import STRENGTHS, Array, dense, problem, uci_dictionary, uci_split
from rivals import RIVALS, squared_form

from multikernel.gram import DenseStack
from multikernel.problem import Problem, Progress, Solution
from multikernel.solvers import IterativeShrinkage, SimpleMKL, Solver, SpicyMKL

TOL = 1e-6
LOSSES = ("hinge", "log_loss")
LONGEST = 10.0
"""Processor seconds after which an iteration of a rival is its last."""
POINTS = 60
"""Of a rival's curve at most."""
FIRST = 1e-2
"""Seconds where the curves of all methods begin to be shown."""
RIVAL_COLORS = {
    "SpicyMKL": "#0072B2",
    "SimpleMKL": "#D55E00",
    "HessianMKL": "#009E73",
    "SILP": "#CC79A7",
    "IterativeShrinkage": "#333333",
}
COLUMNS = {
    "loss": "s",
    "C": "g",
    "seconds": ".4f",
    "gap": ".2e",
    "n_active": "d",
    "passes": ".2f",
    "newton": "d",
}


def run(task: Options) -> None:
    """Measure, save and plot."""
    name = "liver" if task.smoke else "ionosphere"
    fix_threads(1)
    split = uci_split(name, 0, 60 if task.smoke else None)
    stack = dense(uci_dictionary(split.X), split.X).stack
    solve(problem(stack, split.y, "log_loss", 0.5), 0.5)  # loads compiled code
    table = Table(COLUMNS)
    for loss in LOSSES:
        for C in STRENGTHS:
            posed = problem(stack, split.y, loss, C)
            for seconds, line in followed(SpicyMKL(tol=TOL), posed)[0]:
                table.add(
                    loss=loss,
                    C=C,
                    seconds=seconds,
                    gap=line.duality_gap,
                    n_active=line.n_active,
                    passes=line.passes,
                    newton=line.inner_steps,
                )
    task.save("figure2", table.rows)
    known = [row["C"] for row in task.lines("figure2_rivals")]
    for C in STRENGTHS[-1:] if task.smoke else STRENGTHS:
        if C not in known:
            for row in rivals(stack, split.y, C):
                task.append("figure2_rivals", row | provenance("spicymkl"))
    task.save_figure("figure2", figure(table.rows, name, task.lines("figure2_rivals")))


def rivals(stack: DenseStack, y: Array, C: float) -> list[dict[str, Any]]:
    """Return the curves of all methods for one strength."""
    hinge, logistic = (problem(stack, y, loss, C) for loss in LOSSES)
    squared = squared_form(hinge)
    found = [
        curve("hinge", "SpicyMKL", SpicyMKL, hinge),
        curve("log_loss", "SpicyMKL", SpicyMKL, logistic),
        curve("log_loss", "IterativeShrinkage", IterativeShrinkage, logistic),
    ]
    both = {**RIVALS, "SimpleMKL": SimpleMKL}
    found += [curve("hinge", name, kind, squared) for name, kind in both.items()]
    return [{"C": C, **row} for row in found]


def curve(
    loss: str, method: str, kind: Callable[..., Solver], posed: Problem
) -> dict[str, Any]:
    """Return processor seconds, gap and kernels after the iterations of a method."""
    lines, solution = followed(kind(tol=TOL_OF_RIVALS), posed, LONGEST)
    shown = np.unique(np.geomspace(1, len(lines), POINTS).astype(int)) - 1
    return {
        "loss": loss,
        "method": method,
        "reached": bool(solution.duality_gap <= TOL_OF_RIVALS),
        "curve": [
            [seconds, float(f"{line.duality_gap:.2e}"), int(line.n_active)]
            for seconds, line in (lines[k] for k in shown)
        ],
    }


def followed(
    solver: Solver, posed: Problem, longest: float = np.inf
) -> tuple[list[tuple[float, Progress]], Solution]:
    """Return processor seconds and state after every iteration, and the solution."""
    start, lines = time.process_time(), []

    def keep(line: Progress) -> bool:
        spent = time.process_time() - start
        lines.append((round(spent, 4), line))
        return spent > longest

    return lines, solver.solve(posed, callback=keep)


def figure(
    rows: Sequence[dict[str, Any]], name: str, others: Sequence[dict[str, Any]]
) -> Figure:
    """Draw both panels, of SpicyMKL above and of all methods below."""
    page = Figure(figsize=(10.5, 7.0), layout="constrained")
    page.suptitle(name)
    above, below = page.subplots(2, 2)
    for loss in LOSSES:
        for C in STRENGTHS:
            mine = [row for row in rows if row["loss"] == loss and row["C"] == C]
            points = [(row["seconds"], row["gap"], row["n_active"]) for row in mine]
            style = {"color": COLORS[loss], "linestyle": STYLES[C]}
            draw(above, points, label=f"SpicyMKL, {loss}, C = {C:g}", **style)
    middle = sorted({row["C"] for row in others})[-2:][0]  # a smoke run has one C
    for row in others:
        if row["C"] == middle:
            style = {"linestyle": {"hinge": "-", "log_loss": "--"}[row["loss"]]}
            label = f"{row['method']}, {row['loss']}, C = {middle:g}"
            color = RIVAL_COLORS[row["method"]]
            draw(below, row["curve"], label=label, color=color, **style)
    for panel, other in zip(above, below, strict=True):
        panel.set(xlabel="CPU seconds")
        other.set(xlabel="CPU seconds", xscale="log", xlim=(FIRST, None))
    for gaps, counts in (above, below):
        gaps.axhline(0.01, color="#333333", linewidth=0.8)
        gaps.annotate("the paper's 0.01", (1.0, 0.01), **_ABOVE)
        counts.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
        gaps.set(yscale="log", ylabel="relative duality gap")
        counts.set(ylabel="kernels with a nonzero norm")
    return page


def draw(panels: Sequence[Axes], points: Sequence[Any], **style: Any) -> None:
    """Draw gap and kernels against seconds."""
    times, gaps, counts = zip(*points, strict=True)
    panels[0].plot(times, gaps, marker=".", **style)
    panels[1].plot(times, counts, marker=".", **style)


_ABOVE = {
    "xycoords": ("axes fraction", "data"),
    "textcoords": "offset points",
    "xytext": (0, 2),
    "ha": "right",
    "fontsize": 7,
}


if __name__ == "__main__":
    run(options(__doc__))
