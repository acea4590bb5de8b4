"""Solvers beside one another: processor seconds to a certified distance.

``python -m benchmarks.solvers.run`` in the environment that ``make bench-peers`` makes;
``--only DATASET`` takes some data. The folder has benchopt's layout, and ``benchopt run
benchmarks/solvers`` does as well; that has a clock where this counts processor time, as
machines are shared. Every solver is given tighter tolerances of its own, each from the
start, until it is provably within 1e-4 of the optimum or has used up its time. Known
rows of ``results/solvers.json`` are not measured again; the page is made from them.
"""

import argparse
import itertools
import runpy
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.measure import Results, Row, cpu, measured, read, write_csv

HERE = Path(__file__).parent
sys.path.append(str(HERE))  # where benchopt looks for what solvers share
PAGES = HERE.parents[1] / "docs" / "comparison"

TARGET = 1e-4
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
DATASETS: dict[str, dict[str, Any]] = {
    "ringnorm 50": {"n_kernels": 50, "n_samples": 200},
    "ringnorm 500": {"n_kernels": 500, "n_samples": 200},
    "digits 50": {},
    "cancer 837": {"n_columns": 30},
    "ringnorm 3000": {"n_kernels": 3000, "n_samples": 200},
    "ringnorm 6000": {"n_kernels": 6000, "n_samples": 200},
}
QUICK: dict[str, dict[str, Any]] = {"ringnorm 5": {"n_kernels": 5, "n_samples": 40}}
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
    few = type(posed["kernels"])(posed["kernels"].K[:3, :30, :30].copy())
    small = posed | {"kernels": few, "y": posed["y"][:30]}
    small["K_test"] = posed["K_test"][:3, :, :30]
    solver.set_objective(**small)  # what is compiled is loaded before the clock starts
    solver.run(1e-2)
    _, prepared = cpu(lambda: solver.set_objective(**posed))
    if hasattr(solver, "features"):  # shared, but everybody would have to make them
        prepared = max(prepared, solver.features.seconds)
    once = getattr(solver, "sampling_strategy", None) == "run_once"
    spent = 0.0
    for tolerance in (1.0,) if once else TOLERANCES:
        _, seconds = cpu(lambda t=tolerance: solver.run(t))  # type: ignore[misc]
        found = objective.evaluate_result(**solver.get_result())
        spent += seconds
        done = once or found["value"] <= TARGET or spent > patience
        row = {"tolerance": tolerance, "prepared": prepared, "seconds": seconds}
        yield row | found | {"last": done or tolerance == TOLERANCES[-1]}
        if done:
            return


def measure(results: Results, name: str, settings: Row, options: Any) -> None:
    """Run every solver on every objective of a data set, in turn."""
    data = None
    for objective in instances("objective", ""):
        problem = f"{objective.penalty} {objective.loss}"
        for solver in solvers():
            facts = {"data": name, "problem": problem, "solver": solver.label}
            if results.known(last=True, **facts) or problem not in options.problems:
                continue
            if data is None:
                dataset = loaded("dataset", name.split()[0])()
                vars(dataset).update(settings)
                data = dataset.get_data()
            if not hasattr(objective, "bound"):
                objective.set_data(**data)
            if solver.skip(**objective.get_objective())[0]:
                continue
            try:
                for row in curve(solver, objective, options.patience):
                    results.add(**facts, **row)
            except ImportError as error:
                print(f"{solver.label} is not here: {error}")


def best(rows: list[Row]) -> Row:
    """Return the soonest row within the target, or the closest one."""
    reached = [row for row in rows if row["value"] <= TARGET]
    if reached:
        return min(reached, key=whole_seconds)
    return min(rows, key=lambda row: row["value"])


def complete(rows: list[Row]) -> list[Row]:
    """Return the rows of curves that were measured to their end."""
    names = "data", "problem", "solver"
    whole = {tuple(row[name] for name in names) for row in rows if row["last"]}
    return [row for row in rows if tuple(row[name] for name in names) in whole]


def by_problem(rows: list[Row]) -> Iterator[tuple[str, str, list[Row]]]:
    """Yield the best row of every solver, problem by problem."""
    for data, problem in dict.fromkeys((row["data"], row["problem"]) for row in rows):
        own = [r for r in rows if (r["data"], r["problem"]) == (data, problem)]
        names = dict.fromkeys(row["solver"] for row in own)
        yield data, problem, [best([r for r in own if r["solver"] == n]) for n in names]


def table(rows: list[Row]) -> list[list[str]]:
    """Return what each solver takes to the target."""
    lines = [["data", "problem", "solver", "prepared, s", "solved, s", "within"]]
    lines[0].append("accuracy")
    for data, problem, found in by_problem(rows):
        for row in sorted(found, key=whole_seconds):
            value = "–" if np.isnan(row["value"]) else f"{row['value']:.1e}"
            right = "" if np.isnan(row["accuracy"]) else f"{row['accuracy']:.3f}"
            seconds = [f"{row['prepared']:.2f}", f"{row['seconds']:.2f}"]
            lines.append([data, problem, row["solver"], *seconds, value, right])
    return lines


def times(rows: list[Row]) -> list[list[str]]:
    """Return how many times sooner the best of ours is than the best peer."""
    lines = [["data", "problem", "best peer", "with preparation", "without"]]
    for data, problem, found in by_problem(rows):
        same = [row for row in found if not np.isnan(row["value"])]
        ours = [row for row in same if row["solver"].startswith(OURS)]
        peers = [row for row in same if not row["solver"].startswith(OURS)]
        if ours and peers:
            mine, peer = best(ours), best(peers)
            least = "" if peer["value"] <= TARGET else "over "
            name = peer["solver"] + (f" (to {peer['value']:.0e})" if least else "")
            whole = whole_seconds(peer) / whole_seconds(mine)
            alone = peer["seconds"] / mine["seconds"]
            ratios = [f"{least}{ratio:.1f}" for ratio in (whole, alone)]
            lines.append([data, problem, name, *ratios])
    return lines


def whole_seconds(row: Row) -> float:
    """Return the seconds of a row, preparation included."""
    return float(row["prepared"] + row["seconds"])


def plot(rows: list[Row], path: Path) -> None:
    """Draw distance against time, a panel a problem that a peer solves too."""
    from matplotlib import pyplot as plt

    shown = [row for row in rows if not np.isnan(row["value"])]
    problems = list(dict.fromkeys((row["data"], row["problem"]) for row in shown))
    height = -(-len(problems) // 3)
    size = (11.0, 3.0 * height)
    figure, axes = plt.subplots(
        height, 3, figsize=size, layout="constrained", squeeze=False
    )
    names = sorted({row["solver"] for row in shown})
    longest = max(whole_seconds(row) for row in shown)
    for axis in axes.flat[len(problems) :]:
        axis.set_axis_off()
    for axis, (data, problem) in zip(axes.flat, problems, strict=False):
        for k, name in enumerate(names):
            where = (data, problem, name)
            own = [r for r in shown if (r["data"], r["problem"], r["solver"]) == where]
            if own:
                seconds = [whole_seconds(row) for row in own]
                values = [max(row["value"], 1e-8) for row in own]
                style = "o-" if name.startswith(OURS) else "s--"
                axis.loglog(seconds, values, style, color=f"C{k}", label=name)
        axis.axhline(TARGET, color="0.7", linewidth=0.8)
        axis.set_xlim(1e-3, 2.0 * longest)
        axis.set_title(f"{data}, {problem}", fontsize="medium")
        axis.legend(fontsize="x-small")
    figure.supxlabel("processor seconds, preparation included")
    figure.supylabel("distance to the optimum at most")
    figure.savefig(path, dpi=100)
    plt.close(figure)


def main() -> None:
    """Measure what is not known, and write the tables and the picture."""
    every = [f"{o.penalty} {o.loss}" for o in instances("objective", "")]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=list(DATASETS))
    parser.add_argument("--problems", nargs="*", choices=every, default=every)
    parser.add_argument("--quick", action="store_true", help="five kernels")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds a solver")
    parser.add_argument("--output", type=Path, help="a folder in place of the site's")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    folder = options.output or HERE / "results"
    key = ("data", "problem", "solver", "tolerance")
    results = Results(folder / "solvers.json", key)
    chosen = QUICK if options.quick else DATASETS
    for name, settings in chosen.items():
        if name in (options.only or chosen):
            measure(results, name, settings, options)
    rows, pages = complete(read(results.path)), options.output or PAGES
    write_csv(pages / "solvers.csv", table(rows))
    write_csv(pages / "solvers_times.csv", times(rows))
    text = measured(results.path)
    (pages / "solvers_measured.txt").write_text(text, encoding="utf-8")
    plot(rows, pages / "solvers.png")


if __name__ == "__main__":
    main()
