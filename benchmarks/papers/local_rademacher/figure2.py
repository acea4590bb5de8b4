"""Figure 2: AUC of l1, l2, unif, conv and dc; weights; tail sums.

    python figure2.py measure --set generated --n 100 --splits 10
    python figure2.py report

The report prints the tables and draws the paper's three panels, a row per set. Each
line of results/figure2_SET.jsonl is one split: all models of all methods with
their AUC on the validation and on the test half. A split that is there is not run
again. Parameters are chosen as in the paper, once for all splits, by the mean
validation AUC.
"""

import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sets import SETS, KernelSet
from sklearn.metrics import roc_auc_score

from multikernel.exceptions import ConvergenceWarning
from multikernel.gram import DenseStack, tail_sums
from multikernel.losses import HingeLoss
from multikernel.problem import Problem, Solution
from multikernel.regularizers import SquaredBlockNorm
from multikernel.solvers import InterleavedNewton, TailConv, TailDC

sys.path.append(str(Path(__file__).parents[1]))

from provenance import provenance

mpl.use("Agg")

HERE = Path(__file__).parent

CS = (1e-2, 1e-1, 1.0, 1e1, 1e2)
THETAS = (1, 2, 4, 8, 16)
METHODS = ("l1", "l2", "unif", "conv", "dc")
SIZES = (100, 250, 1000)
SHOWN = (0, 1, 2, 4, 8, 16, 32, 64)
"""The cut-offs of which tails are kept."""
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#333333")
PRINTED_AUC = (85.2, 80.9, 85.8, 55.6, 72.1)
"""Of the five kernels alone, on the paper's set of transcription starts, n = 100."""
TOL = 1e-3


def models(
    problem: Problem, Cs: tuple[float, ...], thetas: tuple[int, ...]
) -> Iterator[tuple[str, float, int, float, Solution]]:
    """Yield method, p, theta, C and solution, each from its neighbour's solution."""
    lp = InterleavedNewton(tol=TOL)
    sums = tail_sums(problem.gram, max(thetas))
    for method, p in (("l1", 1.0), ("l2", 2.0), ("unif", np.inf)):
        start = None
        for C in Cs:
            penalty = SquaredBlockNorm(1.0 / C, p)
            step = Problem(problem.gram, problem.y, problem.loss, penalty)
            start = lp.solve(step, start)
            yield method, p, 0, C, start
    for method in ("conv", "dc"):
        for p in (1.0, 2.0):
            for theta in thetas:
                tails, start = sums.bounded(theta), None
                solver = (
                    TailConv(lp, theta, tails)
                    if method == "conv"
                    else TailDC(lp, theta, tol=TOL, n_starts=1, tails=tails)
                )
                for C in Cs:
                    penalty = SquaredBlockNorm(1.0 / C, p)
                    step = Problem(problem.gram, problem.y, problem.loss, penalty)
                    start = solver.solve(step, start)
                    yield method, p, theta, C, start


def run_split(
    data: KernelSet,
    n: int,
    split: int,
    Cs: tuple[float, ...] = CS,
    thetas: tuple[int, ...] = THETAS,
) -> dict:
    """Return the figures of one split: n training samples, two halves of the rest."""
    rng = np.random.default_rng(1000 * n + split)
    order = rng.permutation(data.y.size)
    train, rest = np.sort(order[:n]), order[n:]
    sides = rest[: rest.size // 2], rest[rest.size // 2 :]
    K = data.grams[:, train][:, :, train]
    scales = n / np.trace(K, axis1=1, axis2=2)
    stack = DenseStack(np.ascontiguousarray(K * scales[:, None, None]))
    problem = Problem(stack, data.y[train], HingeLoss(), SquaredBlockNorm(1.0))
    cross = [data.grams[:, side][:, :, train] * scales[:, None, None] for side in sides]
    began, seconds, rows = time.perf_counter(), {}, []
    for method, p, theta, C, found in models(problem, Cs, thetas):
        seconds[method] = seconds.get(method, 0.0) + time.perf_counter() - began
        weights = found.kernel_weights
        scores = []
        for side, kernels in zip(sides, cross, strict=True):
            f = np.einsum("mij,mj->i", kernels[found.active], found.coefs)
            scores.append(round(float(roc_auc_score(data.y[side], f)), 5))
        share = np.round(weights / max(weights.sum(), 1e-300), 4).tolist()
        rows.append([method, None if np.isinf(p) else p, theta, C, *scores, share])
        began = time.perf_counter()
    singles = [
        float(roc_auc_score(data.y[sides[1]], alone(problem, m, cross[1])))
        for m in range(len(data.names))
    ]
    tails = tail_sums(stack, min(64, n - 1)).tails
    shown = [theta for theta in SHOWN if theta < n]
    return {
        "n": n,
        "split": split,
        "seconds": {name: round(each, 2) for name, each in seconds.items()},
        "rows": rows,
        "single_auc": np.round(singles, 4).tolist(),
        "tails": np.round(tails[:, shown], 5).tolist(),
    }


def alone(problem: Problem, m: int, cross: np.ndarray) -> np.ndarray:
    """Return decision values of the machine on one kernel, at C = 1."""
    stack = problem.gram.take(np.array([m]))
    one = Problem(stack, problem.y, problem.loss, SquaredBlockNorm(1.0, 1.0))
    found = InterleavedNewton(tol=TOL).solve(one)
    # For a kernel of noise the constant may be best.
    return cross[m] @ found.coefs.sum(axis=0)


def measure(options: argparse.Namespace) -> None:
    """Run the splits that are not there yet."""
    path = options.output / "results" / f"figure2_{options.set}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = path.read_text().splitlines() if path.exists() else []
    done = {(line["n"], line["split"]) for line in map(json.loads, lines)}
    data = SETS[options.set](options.samples)
    for n in options.n:
        for split in range(options.splits):
            if (n, split) in done:
                continue
            grid = ((0.1, 1.0), (1, 4)) if options.smoke else (CS, THETAS)
            row = run_split(data, n, split, *grid) | {"names": list(data.names)}
            row |= provenance("local_rademacher")
            with path.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(options.set, n, split, row["seconds"], flush=True)


def chosen(lines: list[dict], method: str) -> tuple[list, np.ndarray, np.ndarray]:
    """Return the parameters of the best mean validation AUC, test AUCs and weights."""
    found: dict[tuple, list] = {}
    for line in lines:
        for name, p, theta, C, valid, test, weights in line["rows"]:
            if name == method:
                found.setdefault((p, theta, C), []).append((valid, test, weights))
    best = max(found, key=lambda key: np.mean([each[0] for each in found[key]]))
    tests = np.array([each[1] for each in found[best]])
    return [*best], tests, np.mean([each[2] for each in found[best]], axis=0)


def report(options: argparse.Namespace) -> None:
    """Print the three parts of the figure as tables of Markdown, and draw them."""
    found = {}
    for name in SETS:
        path = options.output / "results" / f"figure2_{name}.jsonl"
        if not path.exists():
            continue
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        found[name] = lines
        print(f"\n### {name}\n")
        print("| n | splits | " + " | ".join(METHODS) + " |")
        print("|---" * (2 + len(METHODS)) + "|")
        for n in sorted({line["n"] for line in lines}):
            part = [line for line in lines if line["n"] == n]
            cells = []
            for method in METHODS:
                (p, theta, C), tests, _ = chosen(part, method)
                spread = tests.std(ddof=1) if tests.size > 1 else np.nan
                text = f"{100 * tests.mean():.1f} ± {100 * spread:.1f}"
                if method in ("conv", "dc"):
                    text += f" (p={p:g}, θ={theta}, C={C:g})"
                cells.append(text)
            print(f"| {n} | {len(part)} | " + " | ".join(cells) + " |")
        part = [line for line in lines if line["n"] == min(options.n)] or lines
        n, names = part[0]["n"], part[0]["names"]
        print(f"\nWeights (share of the sum), single-kernel AUC and tails, n = {n}:\n")
        print("| | " + " | ".join(names) + " |")
        print("|---" * (1 + len(names)) + "|")
        for method in METHODS:
            weights = chosen(part, method)[2]
            print(f"| {method} | " + " | ".join(f"{w:.3f}" for w in weights) + " |")
        singles = 100 * np.mean([line["single_auc"] for line in part], axis=0)
        print("| AUC alone | " + " | ".join(f"{auc:.1f}" for auc in singles) + " |")
        tails = np.mean([line["tails"] for line in part], axis=0)
        for place, theta in ((1, 1), (3, 4), (5, 16)):
            cells = " | ".join(f"{t:.3f}" for t in tails[:, place])
            print(f"| tail beyond {theta} | {cells} |")
        total: dict[str, float] = {}
        for line in lines:
            for method, each in line["seconds"].items():
                total[method] = total.get(method, 0.0) + each
        print(f"\nSeconds in all: { {m: round(s) for m, s in total.items()} }")
    folder = options.output / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    figure(found).savefig(folder / "figure2.png")


def figure(found: dict[str, list[dict]]) -> Figure:
    """Draw AUC against n, weights and tails at the least n; a row of panels per set."""
    page = Figure(figsize=(12.0, 3.0 * len(found)), layout="constrained", dpi=110)
    panels = page.subplots(len(found), 3, squeeze=False)
    for (left, center, right), (name, lines) in zip(panels, found.items(), strict=True):
        sizes = sorted({line["n"] for line in lines})
        least = [line for line in lines if line["n"] == sizes[0]]
        draw_auc(left, lines, sizes)
        draw_weights(center, least, name)
        tails = np.mean([line["tails"] for line in least], axis=0)
        for kernel, row in zip(least[0]["names"], tails, strict=True):
            right.plot(SHOWN[: row.size], np.maximum(row, 1e-5), ".-", label=kernel)
        right.set(xscale="symlog", yscale="log", xlabel="theta", ylabel="tail sum")
        right.legend(fontsize=7, frameon=False)
        left.set_title(f"{name}: test AUC over {len(least)} splits")
        center.set_title(f"kernel weights, n = {sizes[0]}")
        right.set_title(f"share of the trace beyond theta, n = {sizes[0]}")
        for axes in (left, center, right):
            axes.spines[["top", "right"]].set_visible(False)
    return page


def draw_auc(axes: Axes, lines: list[dict], sizes: list[int]) -> None:
    """Draw means and deviations over splits."""
    for shift, (method, color) in enumerate(zip(METHODS, COLORS, strict=True)):
        tests = [chosen([x for x in lines if x["n"] == n], method)[1] for n in sizes]
        axes.errorbar(
            np.arange(len(sizes)) + 0.06 * (shift - 2),
            [100.0 * each.mean() for each in tests],
            [100.0 * each.std() for each in tests],
            marker=".",
            color=color,
            label=method,
        )
    axes.set_xticks(np.arange(len(sizes)), sizes)
    axes.set(xlabel="n", ylabel="AUC [%]")
    axes.legend(fontsize=7, frameon=False)


def draw_weights(axes: Axes, lines: list[dict], name: str) -> None:
    """Draw mean weights of sum one; below each kernel its AUC alone."""
    singles = 100.0 * np.mean([line["single_auc"] for line in lines], axis=0)
    places = np.arange(singles.size)
    for shift, (method, color) in enumerate(zip(METHODS, COLORS, strict=True)):
        weights = chosen(lines, method)[2]
        axes.bar(
            places + 0.16 * (shift - 2), weights / weights.sum(), 0.15, color=color
        )
    names = [kernel.replace(", ", "\n") for kernel in lines[0]["names"]]
    texts = [f"{kernel}\n{auc:.1f}" for kernel, auc in zip(names, singles, strict=True)]
    if name != "generated":
        texts = [f"{t}\n({p})" for t, p in zip(texts, PRINTED_AUC, strict=True)]
        axes.set_xlabel("AUC alone (the paper's, on its set)", fontsize=8)
    axes.set_xticks(places, texts, fontsize=7)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("measure", "report"))
    parser.add_argument("--set", choices=tuple(SETS), default="generated")
    parser.add_argument("--n", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--samples", type=int, default=2200)
    parser.add_argument("--smoke", action="store_true", help="a small grid")
    parser.add_argument("--output", type=Path, default=HERE)
    options = parser.parse_args()
    # A path may meet a problem that no digits are left for; its gap is small anyway.
    warnings.simplefilter("ignore", ConvergenceWarning)
    {"measure": measure, "report": report}[options.action](options)


if __name__ == "__main__":
    sys.exit(main())
