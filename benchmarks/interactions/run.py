"""All interactions of columns: accuracy, cost, and planted pairs among others.

Run ``python benchmarks/interactions/run.py`` with MULTIKERNEL_DATA set, some parts with
--kinds (without any for the page alone). Rows of other parts stay in results.json, and
RESULTS.md is written from it. Times are seconds of the processor, on one BLAS thread.
"""

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import argparse
import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from benchmarks.interactions.child import SEARCHES, product_seconds
from benchmarks.interactions.peers import PEERS
from benchmarks.interactions.planted import (
    MAINS,
    PLANTED,
    planted,
    planted_model,
)
from benchmarks.interactions.report import page
from benchmarks.measure import Results, Row, cpu
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestRegressor

from multikernel import SpicyMKLRegressorCV
from multikernel.datasets import available, load
from multikernel.gram import DenseStack, ProductStack
from multikernel.kernels import Interactions, median_dictionary

Array = NDArray[Any]
HERE = Path(__file__).parent
KEY = ("kind", "name", "n", "d", "draw")

SETS = ("delve_pumadyn_32nm", "delve_pumadyn_32nh")
TEST = 2000
MODELS: dict[str, Callable[[Array], Any]] = {
    "SpicyMKL, no pairs": lambda X: SpicyMKLRegressorCV(median_dictionary(X)),
    "SpicyMKL": lambda X: SpicyMKLRegressorCV(),
    "SpicyMKL, weight 1": lambda X: SpicyMKLRegressorCV(Interactions(weight=1.0)),
    "random forest": lambda X: RandomForestRegressor(random_state=0),
}


def draws(smoke: bool) -> Iterator[Row]:
    """Yield the scores of default searches and of a forest on both pumadyn sets."""
    for name in SETS:
        if name not in available():
            print(f"{name} is not here", flush=True)
            continue
        for draw in range(1 if smoke else 5):
            for method in MODELS:
                short = name.removeprefix("delve_")
                found = scored(name, method, draw, *((60, 6) if smoke else (300, 32)))
                yield {"name": f"{short}: {method}", "draw": draw} | found


def scored(name: str, method: str, draw: int, n: int, d: int) -> Row:
    """Return the score of a model on other rows of a set."""
    data = load(name)
    X, y = np.asarray(data.X, dtype=float)[:, :d], np.asarray(data.y, dtype=float)
    order = np.random.default_rng(draw).permutation(y.size)
    train, test = order[:n], order[n : n + TEST]
    model, seconds = cpu(lambda: MODELS[method](X[train]).fit(X[train], y[train]))
    score = float(model.score(X[test], y[test]))
    return {"n": n, "d": d, "score": score, "seconds": seconds}


def in_child(command: str, **task: Any) -> dict[str, Any]:
    """Return what a process of its own measures; of one that ended early the start."""
    line = [sys.executable, str(HERE / "child.py"), command, json.dumps(task)]
    done = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=False)
    spoken = done.stdout.splitlines()
    # Below zero is the signal that a process ended by, as one does at its limit.
    if done.returncode > 0 or not spoken:
        raise RuntimeError(f"{line} ended with {done.returncode}.")
    found: dict[str, Any] = json.loads(spoken[-1])
    return found


def sizes(smoke: bool) -> Iterator[Row]:
    """Yield what fits of all pairs take, three of each size."""
    n, columns = (60, (8,)) if smoke else (400, (100, 300, 1000))
    for d in columns:
        for draw in range(1 if smoke else 3):
            found = in_child("size", n=n, d=d)
            yield {"name": "all pairs", "n": n, "d": d, "draw": draw} | found


def passes(smoke: bool) -> Iterator[Row]:
    """Yield what forms of all pairs take, rough and in double precision."""
    shapes = ((60, 8),) if smoke else ((400, 100), (400, 300), (2000, 50))
    for n, d in shapes:
        for name, dtype in (("rough_forms", "float32"), ("quadratic_forms", "float64")):
            seconds = pass_seconds(name, n, d)
            beside = product_seconds(n, d, dtype, REPEATS)
            where = {"name": name, "n": n, "d": d, "draw": 0}
            yield where | {"seconds": seconds, "product": beside}


REPEATS = 5


def pass_seconds(name: str, n: int, d: int) -> float:
    """Return what a storage of all pairs takes for their forms."""
    rng = np.random.default_rng(0)
    features, v = rng.standard_normal((d, n, 4)), rng.standard_normal(n)
    mains = DenseStack(features @ np.swapaxes(features, 1, 2))
    stack = ProductStack(mains, np.column_stack(np.triu_indices(d, 1)))
    forms = getattr(stack, name)
    forms(v)  # what is compiled
    return float(np.median([cpu(lambda: forms(v))[1] for _ in range(REPEATS)]))


def recovery(smoke: bool) -> Iterator[Row]:
    """Yield which planted pairs are found, and how many others."""
    n_samples, columns = ((60,), (6,)) if smoke else ((200, 400), (50, 300, 1000))
    for d in columns:
        for n in n_samples:
            for strength in (0.05, 0.1):
                for draw in range(draws_of(d, smoke=smoke)):
                    found = recovered(*planted(n, d, draw), strength)
                    name = f"alpha = {strength}"
                    yield {"name": name, "n": n, "d": d, "draw": draw} | found


def draws_of(d: int, *, smoke: bool) -> int:
    """Return how many draws there are of so many columns."""
    if smoke:
        return 1
    return 10 if d <= 300 else 3


def recovered(X: Any, y: Any, strength: float) -> dict[str, Any]:
    """Return what a model has found of what was planted."""
    model = planted_model(X.shape[1], strength).fit(X, y)
    # The pairs come after the mains, in the order of the upper triangle.
    pairs = np.column_stack(np.triu_indices(X.shape[1], 1))
    mains, weights = np.split(model.kernel_weights_, [X.shape[1]])
    order = [tuple(pairs[p].tolist()) for p in np.argsort(-weights) if weights[p] > 0.0]
    others = [place for place, pair in enumerate(order) if pair not in PLANTED]
    return {
        "found": len(PLANTED & set(order)),
        "in_front": set(order[: len(PLANTED)]) == PLANTED,
        "false_pairs": len(others),
        "false_mains": sum(m not in MAINS for m in np.flatnonzero(mains).tolist()),
        "false_share": float(np.sort(weights)[::-1][others].sum() / weights.sum()),
        "gap": float(model.duality_gap_),
    }


PEER_LIMIT = 120
"""Processor seconds that a model beside others has."""


def peers(smoke: bool) -> Iterator[Row]:
    """Yield what models of others take for the planted pairs, and which they name."""
    n, columns = (60, (6,)) if smoke else (400, (50, 100, 300, 1000))
    for d in columns:
        for name in PEERS:
            if name.startswith("EBM") and find_spec("interpret") is None:
                print(f"{name} is left out: make bench-peers installs it", flush=True)
                continue
            task = {"name": name, "n": n, "d": d, "draw": 0, "limit": PEER_LIMIT}
            yield task | in_child("peer", **task)


LIMIT = 300


def searches(smoke: bool) -> Iterator[Row]:
    """Yield what default searches with interactions take, up to a limit."""
    rows, columns = (60, 4) if smoke else (400, 30)
    for method in SEARCHES:
        task = {"method": method, "rows": rows, "columns": columns, "limit": LIMIT}
        where = {"name": method, "n": rows, "d": columns, "draw": 0, "limit": LIMIT}
        yield where | in_child("search", **task)


KINDS: dict[str, Callable[[bool], Iterator[Row]]] = {
    "pumadyn": draws,
    "sizes": sizes,
    "pass": passes,
    "recovery": recovery,
    "peers": peers,
    "searches": searches,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="*", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--output", type=Path, default=HERE)
    parser.add_argument("--smoke", action="store_true", help="tiny sizes")
    options = parser.parse_args()
    # Warnings are left out: the same ones that a user would see.
    warnings.simplefilter("ignore")
    results = Results(options.output / "results.json", KEY)
    for kind in options.kinds:
        for row in KINDS[kind](options.smoke):
            machine = {"load": os.getloadavg()[0], "cores": os.cpu_count()}
            results.add(kind=kind, **row, **machine)
    text = page(results.path)
    (options.output / "RESULTS.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
