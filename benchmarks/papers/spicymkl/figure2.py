"""Figure 2: relative duality gap and active kernels against time on ionosphere.

The solver's own history; it goes on to a gap of 1e-6 to show the rate at the end. The
paper stops at 0.01.
"""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from measure import solve
from output import COLORS, STYLES, Options, Table, options
from problems import STRENGTHS, dense, problem, uci_dictionary, uci_split

TOL = 1e-6
LOSSES = ("hinge", "log_loss")
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
    split = uci_split(name, 0, 60 if task.smoke else None)
    stack = dense(uci_dictionary(split.X), split.X).stack
    solve(problem(stack, split.y, "log_loss", 0.5), 0.5)  # loads compiled code
    table = Table(COLUMNS)
    for loss in LOSSES:
        for C in STRENGTHS:
            done = solve(problem(stack, split.y, loss, C), TOL)
            for line in done.solution.history:
                table.add(
                    loss=loss,
                    C=C,
                    seconds=line.seconds,
                    gap=line.duality_gap,
                    n_active=line.n_active,
                    passes=line.passes,
                    newton=line.inner_steps,
                )
    task.save("figure2", table.rows)
    task.save_figure("figure2", figure(table.rows, name))


def figure(rows: Sequence[dict[str, Any]], name: str) -> Figure:
    """Draw both panels."""
    page = Figure(figsize=(10.5, 3.6), layout="constrained")
    page.suptitle(name)
    gaps, counts = page.subplots(1, 2)
    for loss in LOSSES:
        for C in STRENGTHS:
            curve = [row for row in rows if row["loss"] == loss and row["C"] == C]
            times = [row["seconds"] for row in curve]
            style = {"color": COLORS[loss], "linestyle": STYLES[C], "marker": "."}
            label = f"{loss}, C = {C:g}"
            gaps.plot(times, [row["gap"] for row in curve], label=label, **style)
            counts.plot(times, [row["n_active"] for row in curve], **style)
    gaps.axhline(0.01, color="#333333", linewidth=0.8)
    gaps.annotate("the paper's 0.01", (1.0, 0.01), **_ABOVE)
    gaps.set(yscale="log", xlabel="seconds", ylabel="relative duality gap")
    counts.set(xlabel="seconds", ylabel="kernels with a non-zero norm")
    page.legend(loc="outside right center")
    return page


_ABOVE = {
    "xycoords": ("axes fraction", "data"),
    "textcoords": "offset points",
    "xytext": (0, 2),
    "ha": "right",
    "fontsize": 7,
}


if __name__ == "__main__":
    run(options(__doc__))
