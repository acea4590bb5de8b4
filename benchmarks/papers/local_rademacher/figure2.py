"""Figure 2: AUC of l1, l2, unif, conv and dc; weights; tail sums.

    python figure2.py measure --set generated --n 100 --splits 10
    python figure2.py report

Each line of results/figure2_SET.jsonl is one split: all models of all methods with
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

import numpy as np
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

HERE = Path(__file__).parent

CS = (1e-2, 1e-1, 1.0, 1e1, 1e2)
THETAS = (1, 2, 4, 8, 16)
METHODS = ("l1", "l2", "unif", "conv", "dc")
SIZES = (100, 250, 1000)
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
    shown = [theta for theta in (0, 1, 2, 4, 8, 16, 32, 64) if theta < n]
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
    """Print the three parts of the figure as tables of Markdown."""
    for name in SETS:
        path = options.output / "results" / f"figure2_{name}.jsonl"
        if not path.exists():
            continue
        lines = [json.loads(line) for line in path.read_text().splitlines()]
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
