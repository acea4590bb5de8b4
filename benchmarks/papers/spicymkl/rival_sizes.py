"""SimpleMKL and HessianMKL over the sizes of figures 3 and 4: kernels, and samples.

The same problems as in the figures, with the hinge loss, and in the form that the
rivals solve; relative duality gap 0.01. Nothing is stopped before its gap. Seconds are
those of the processor on one thread: rivals use one, and a machine is seldom quiet for
hours. A size that is there is not measured again, so that a run may be ended at any
time.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from figure3 import N_TRAIN, SETS, TOL, medians
from figure4 import N_KERNELS
from matplotlib.figure import Figure
from measure import fix_threads, provenance
from output import Options, Table, options
from problems import (
    STRENGTHS,
    dense,
    first_kernels,
    ida_split,
    subset_dictionary,
)
from rivals import one_stack

from multikernel.solvers import HessianMKL, SimpleMKL

SPLITS = 1
KERNELS = (50, 200, 1000, 3000, 6000)
SAMPLES = (100, 200, 500, 1000, 2000)
COLUMNS = {
    "data": "s",
    "split": "d",
    "C": "g",
    "method": "<12s",
    "n": "d",
    "M": "d",
    "cpu_seconds": ".3f",
    "gap": ".1e",
    "n_active": "d",
    "ratio": ".1f",
}
BOTH = {"SimpleMKL": SimpleMKL, "HessianMKL": HessianMKL}
METHODS = {"SpicyMKL": "#0072B2", "SimpleMKL": "#D55E00", "HessianMKL": "#009E73"}
MOST_FOR_SIMPLE = 1000
"""SimpleMKL takes 43 s of CPU here where SpicyMKL takes 0.2."""


def run(task: Options) -> None:
    """Measure what is missing, save after every size, and plot."""
    fix_threads(1)
    table = Table(COLUMNS, measured_before(task))
    for split in range(1 if task.smoke else SPLITS):
        for name in SETS[:1] if task.smoke else SETS:
            here = {"data": name, "split": split}
            mine = [row for row in table.rows if here.items() <= row.items()]
            for size in one_split(name, split, sizes(mine), task.smoke):
                for row in size:
                    table.add(**here, **row, **provenance("spicymkl"))
                task.save("rival_sizes", table.rows)
    task.save_figure("rival_sizes", figure(table.rows))


def measured_before(task: Options) -> list[dict[str, Any]]:
    """Return the rows that are there, each with the tree that it was measured with."""
    content = task.load("rival_sizes")
    if content is None:
        return []
    tree = {key: content["environment"][key] for key in ("commit", "sources")}
    return [tree | row for row in content["rows"]]


def sizes(rows: Sequence[dict[str, Any]]) -> set[tuple[int, int]]:
    """Return the figures of some rows, each with a number of kernels or samples."""
    return {(row["figure"], row["M" if row["figure"] == 3 else "n"]) for row in rows}


def one_split(
    name: str, seed: int, done: set[tuple[int, int]], smoke: bool
) -> Iterator[list[dict[str, Any]]]:
    """Solve by all methods; yield the rows of each number that is not done."""
    kernels, samples = ((20, 40), (30, 60)) if smoke else (KERNELS, SAMPLES)
    strengths = STRENGTHS[-1:] if smoke else STRENGTHS
    if wanted := [number for number in kernels if (3, number) not in done]:
        split = ida_split(name, 40 if smoke else N_TRAIN, seed)
        whole = dense(subset_dictionary(kernels[-1], split.X, seed), split.X).stack
    for n_kernels in wanted:
        stack = first_kernels(whole, n_kernels)
        few = n_kernels <= MOST_FOR_SIMPLE
        methods = BOTH if few else {"HessianMKL": HessianMKL}
        rows = one_stack(stack, split.y, strengths, TOL, methods)
        yield [{"figure": 3, **row} for row in rows]
    for n_samples in samples:
        if (4, n_samples) not in done:
            split = ida_split(name, n_samples, seed)
            stack = dense(subset_dictionary(N_KERNELS, split.X, seed), split.X).stack
            rows = one_stack(stack, split.y, strengths, TOL, BOTH)
            yield [{"figure": 4, **row} for row in rows]


def figure(rows: Sequence[dict[str, Any]]) -> Figure:
    """Draw time against either size: medians over splits, the middle strength."""
    page = Figure(figsize=(10.5, 3.4), layout="constrained")
    parts = [(3, "M", "kernels"), (4, "n", "training samples")]
    panels = page.subplots(1, len(parts) * len(SETS), sharey=True)
    middle = sorted({row["C"] for row in rows})[-2:][0]
    cells = ((part, name) for part in parts for name in SETS)
    for axes, ((number, key, label), name) in zip(panels, cells, strict=True):
        facts = {"figure": number, "data": name, "C": middle}
        mine = [row for row in rows if facts.items() <= row.items()]
        for method, color in METHODS.items():
            theirs = [row for row in mine if row["method"] == method]
            tried = sorted({row[key] for row in theirs})
            times = [medians(theirs, "cpu_seconds", **{key: size}) for size in tried]
            axes.plot(tried, times, label=method, color=color, marker=".")
        axes.set(xscale="log", yscale="log", xlabel=label, title=name)
    panels[0].set_ylabel("CPU seconds")
    page.legend(*panels[0].get_legend_handles_labels(), loc="outside right center")
    return page


if __name__ == "__main__":
    run(options(__doc__))
