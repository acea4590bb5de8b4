"""Solvers beside one another: processor seconds to a certified distance.

``python -m benchmarks.solvers.run`` in the environment that ``make bench-peers`` makes;
``--only DATASET`` takes some data, and ``--only`` none: it writes the page. The folder
has benchopt's layout, and ``benchopt run benchmarks/solvers`` does as well; that has a
clock where this counts processor time, as machines are shared. Every solver is given
tighter tolerances of its own (or more draws, or steps), each from the start, until it
is provably within 1e-4 of the optimum or has used up its time. Known rows of
``results/solvers.json`` are not measured again; the page is made from them.
"""

import argparse
import itertools
import runpy
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.measure import Results, Row, cpu, measured, read, write_csv

from multikernel.datasets import available

HERE = Path(__file__).parent
sys.path.append(str(HERE))  # where benchopt looks for what solvers share
PAGES = HERE.parents[1] / "docs" / "comparison"

TARGET = 1e-4
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
EFFORTS = (5, 20, 100)
"""Draws or steps of those that have no tolerance."""
DATASETS: dict[str, dict[str, Any]] = {
    "ringnorm 50": {"n_kernels": 50, "n_samples": 200},
    "ringnorm 500": {"n_kernels": 500, "n_samples": 200},
    "ringnorm 3000": {"n_kernels": 3000, "n_samples": 200},
    "ringnorm 6000": {"n_kernels": 6000, "n_samples": 200},
    "ringnorm 20, n = 2000": {"n_kernels": 20, "n_samples": 2000},
    "cancer 837": {"n_columns": 30},
    "digits 50": {},
    "views 18, n = 1000": {"source": "mfeat_digits_6views"},
    "views 15": {"source": "msrc_v5_5views"},
    "given 9, channels": {"source": "dti_ic_proteins_kernels", "targets": False},
    "given 9, enzymes": {"source": "dti_e_drugs_kernels", "targets": True},
    "bands 5": {"n_targets": 20, "n_samples": 200},
    "products 64": {"n_columns": 3, "n_samples": 100},
    "products 65536": {"n_columns": 8, "n_samples": 100},
}
QUICK: dict[str, dict[str, Any]] = {
    "ringnorm 5": {"n_kernels": 5, "n_samples": 40},
    "bands 5": {"n_targets": 2, "n_samples": 30},
    "products 16": {"n_columns": 2, "n_samples": 40},
}
OURS = "multikernel"


def loaded(kind: str, name: str) -> Any:
    """Return the class of a file of benchopt's layout."""
    path = HERE / f"{kind}s" / f"{name}.py" if name else HERE / f"{kind}.py"
    return runpy.run_path(str(path))[kind.capitalize()]


def instances(kind: str, name: str) -> Iterator[Any]:
    """Yield what benchopt makes of a class: one for each choice of parameters."""
    made = loaded(kind, name)
    choices = getattr(made, "parameters", {})
    names = [part for key in choices for part in key.split(", ")]
    for values in itertools.product(*choices.values()):
        flat = [v for x in values for v in (x if isinstance(x, tuple) else (x,))]
        one = made()
        vars(one).update(zip(names, flat, strict=True))
        one.label = " ".join([made.name, *(str(value) for value in flat)])
        yield one


def solvers() -> list[Any]:
    """Return all solvers."""
    names = sorted(path.stem for path in (HERE / "solvers").glob("*.py"))
    return [solver for name in names for solver in instances("solver", name)]


def curve(solver: Any, objective: Any, patience: float) -> Iterator[Row]:
    """Yield the seconds and the distance for one tolerance after the other."""
    posed = objective.get_objective()
    few = posed["kernels"].few(posed["y"], posed["K_test"])
    solver.set_objective(**posed | few)  # compiled code is loaded before the clock
    solver.run(3 if strategy(solver) == "iteration" else 1e-2)
    _, prepared = cpu(lambda: solver.set_objective(**posed))
    if hasattr(solver, "features"):  # shared, but everybody would have to make them
        prepared = max(prepared, solver.features.seconds)
    efforts: dict[str, tuple[float, ...]] = {"run_once": (1.0,), "iteration": EFFORTS}
    chosen, spent = efforts.get(strategy(solver), TOLERANCES), 0.0
    for effort in chosen:
        _, seconds = cpu(lambda t=effort: solver.run(t))  # type: ignore[misc]
        found = objective.evaluate_result(**solver.get_result())
        spent += seconds
        done = effort == chosen[-1] or found["value"] <= TARGET or spent > patience
        row = {"tolerance": effort, "prepared": prepared, "seconds": seconds}
        yield row | found | {"last": bool(done)}
        if done:
            return


def strategy(solver: Any) -> str:
    """Return what a solver is given: tolerances, numbers of steps, or nothing."""
    return getattr(solver, "sampling_strategy", None) or "tolerance"


def measure(results: Results, name: str, settings: Row, options: Any) -> None:
    """Run every solver on every objective of a data set, in turn."""
    source = settings.get("source")
    if source and source not in available():
        print(f"{name} is left out: MULTIKERNEL_DATA names no folder with {source}.npz")
        return
    dataset = loaded("dataset", name.split()[0])()
    vars(dataset).update(settings)
    data = dataset.get_data()
    for objective in instances("objective", ""):
        problem = f"{objective.penalty} {objective.loss}"
        if problem not in options.problems or objective.skip(**data)[0]:
            continue
        for solver in solvers():
            facts = {"data": name, "problem": problem, "solver": solver.label}
            if results.known(last=True, **facts):
                continue
            if not hasattr(objective, "y"):
                objective.set_data(**data)
            if solver.skip(**objective.get_objective())[0]:
                continue
            try:
                for row in curve(solver, objective, options.patience):
                    results.add(**facts, **row)
            except ImportError as error:
                print(f"{solver.label} is not here: {error}")


def complete(rows: list[Row]) -> list[Row]:
    """Return the rows of curves that were measured to their end, in a fixed order."""
    names = "data", "problem", "solver"
    whole = {tuple(row[name] for name in names) for row in rows if row["last"]}
    kept = [row for row in rows if tuple(row[name] for name in names) in whole]
    order = [*DATASETS, *QUICK]
    return sorted(kept, key=lambda row: order.index(row["data"]))


def by_data(rows: list[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Yield the soonest row of every solver at the target, or its closest, by set.

    Of solvers of other problems, which have no distance, it is all rows.
    """
    for data in dict.fromkeys(row["data"] for row in rows):
        own = [row for row in rows if row["data"] == data]
        found = [row for row in own if np.isnan(row["value"])]
        same = [row for row in own if not np.isnan(row["value"])]
        for name in dict.fromkeys(row["solver"] for row in same):
            curve = [row for row in same if row["solver"] == name]
            found.append(first(curve, whole_seconds))
        yield data, sorted(found, key=whole_seconds)


def first(rows: list[Row], seconds: Callable[[Row], float]) -> Row:
    """Return the soonest row within the target, or the closest one."""
    reached = [row for row in rows if row["value"] <= TARGET]
    if reached:
        return min(reached, key=seconds)
    return min(rows, key=lambda row: row["value"])


def table(rows: list[Row]) -> list[list[str]]:
    """Return what each solver of a problem takes to the target."""
    lines = [["data", "solver", "prepared, s", "solved, s", "within", "score"]]
    for data, found in by_data(rows):
        for k, row in enumerate(found):
            name, value = row["solver"], f"{row['value']:.0e}"
            if np.isnan(row["value"]):
                steps, value = row["tolerance"], "–"
                name += f", {steps:g}" if steps > 1 else ""
            right = "" if np.isnan(row["score"]) else f"{row['score']:.3f}"
            seconds = [f"{row['prepared']:.2f}", f"{row['seconds']:.2f}"]
            lines.append(["" if k else data, name, *seconds, value, right])
    return lines


def times(rows: list[Row]) -> Iterator[list[str]]:
    """Yield how many times sooner the first of ours is than the first peer."""
    for data, found in by_data([row for row in rows if not np.isnan(row["value"])]):
        ours = [row for row in found if row["solver"].startswith(OURS)]
        peers = [row for row in found if not row["solver"].startswith(OURS)]
        if ours and peers:
            line = [data, ours[0]["problem"]]
            for seconds in whole_seconds, solving_seconds:
                mine, peer = first(ours, seconds), first(peers, seconds)
                least = "" if peer["value"] <= TARGET else "over "
                name = peer["solver"] + (f" (to {peer['value']:.0e})" if least else "")
                ratio = f"{least}{seconds(peer) / seconds(mine):.1f}"
                line += [ratio, f"{mine['solver'].removeprefix(OURS).strip()}, {name}"]
            yield line


def whole_seconds(row: Row) -> float:
    """Return the seconds of a row, preparation included."""
    return float(row["prepared"] + row["seconds"])


def solving_seconds(row: Row) -> float:
    """Return those without preparation."""
    return float(row["seconds"])


def plot(rows: list[Row], column: str, path: Path) -> None:
    """Draw the distance, or the score, against time, a panel a set."""
    from matplotlib import pyplot as plt

    names = sorted({row["solver"] for row in rows})

    shown = [row for row in rows if not np.isnan(row[column])]
    sets = list(dict.fromkeys(row["data"] for row in shown))
    height = -(-len(sets) // 2)
    ends = np.log10([whole_seconds(row) for row in shown])
    low, high = np.floor(ends.min()), np.ceil(ends.max())
    with plt.rc_context({"font.size": 13.0, "lines.linewidth": 2.0}):
        size = (11.0, 1.2 + 3.9 * height)
        figure, axes = plt.subplots(
            height, 2, figsize=size, layout="constrained", squeeze=False
        )
        for axis in axes.flat[len(sets) :]:
            axis.set_axis_off()
        lines = {}
        for axis, data in zip(axes.flat, sets, strict=False):
            for k, name in enumerate(names):
                facts = {"data": data, "solver": name}
                own = [row for row in shown if facts.items() <= row.items()]
                if own:
                    points = [(whole_seconds(row), row[column]) for row in own]
                    style = "o-" if name.startswith(OURS) else "s--"
                    (lines[name],) = axis.plot(
                        *zip(*points, strict=True), style, color=f"C{k}", markersize=8
                    )
            axis.set_xscale("log")
            axis.set_xlim(10.0**low, 10.0**high)
            axis.xaxis.set_major_formatter("{x:g}")
            axis.xaxis.set_minor_formatter("")
            if column == "value":
                axis.set_yscale("log")
                axis.axhline(TARGET, color="0.6", linewidth=1.0)
            axis.set_title(data)
        figure.legend(
            lines.values(), lines, loc="outside upper center", ncols=3, frameon=False
        )
        figure.supxlabel("processor seconds, preparation included")
        what = {"value": "distance to the optimum at most", "score": "score"}
        figure.supylabel(what[column])
        figure.savefig(path, dpi=90)
        plt.close(figure)


def write(rows: list[Row], pages: Path) -> None:
    """Write a table and pictures for every problem, and how many times sooner."""
    heads = ["with preparation", "of", "without", "of"]
    ratios = [["data", "problem", *heads]]
    for problem in dict.fromkeys(row["problem"] for row in rows):
        own = [row for row in rows if row["problem"] == problem]
        place = pages / f"solvers_{problem.replace(' ', '_')}"
        write_csv(place.with_suffix(".csv"), table(own))
        ratios += times(own)
        proven = [not np.isnan(row["value"]) for row in own]
        if any(proven):
            plot(own, "value", place.with_suffix(".png"))
        if not all(proven):
            plot(own, "score", place.with_name(f"{place.name}_score.png"))
    write_csv(pages / "solvers_times.csv", ratios)


def main() -> None:
    """Measure what is not known, and write the tables and the pictures."""
    every = [f"{o.penalty} {o.loss}" for o in instances("objective", "")]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=list(DATASETS))
    parser.add_argument("--problems", nargs="*", choices=every, default=every)
    parser.add_argument("--quick", action="store_true", help="few kernels")
    parser.add_argument("--patience", type=float, default=20.0, help="seconds a solver")
    parser.add_argument("--output", type=Path, help="a folder in place of the site's")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    folder = options.output or HERE / "results"
    key = ("data", "problem", "solver", "tolerance")
    results = Results(folder / "solvers.json", key)
    chosen = QUICK if options.quick else DATASETS
    for name, settings in chosen.items():
        if name in (chosen if options.only is None else options.only):
            measure(results, name, settings, options)
    pages = options.output or PAGES
    write(complete(read(results.path)), pages)
    text = measured(results.path)
    (pages / "solvers_measured.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
