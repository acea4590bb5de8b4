"""Measurements in processes of their own, for their memory or a limit.

Called as ``child.py COMMAND JSON``; prints what was found as JSON, last line.
"""

import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))
sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from benchmarks.interactions.peers import peer
from benchmarks.interactions.planted import peak_bytes, planted, planted_model
from benchmarks.measure import cpu, limit_cpu
from benchmarks.typical.run import machine_grid
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer

from multikernel import (
    FixedWeightsMKLClassifierCV,
    GroupOMPClassifierCV,
    HKLClassifierCV,
    LpMKLClassifierCV,
    SpicyMKLClassifierCV,
    SpicyMKLRegressor,
)

Array = NDArray[Any]
SEARCHES: dict[str, Callable[..., Any]] = {
    "SpicyMKL": SpicyMKLClassifierCV,
    "LpMKL": LpMKLClassifierCV,
    "Group-OMP": GroupOMPClassifierCV,
    "uniform": FixedWeightsMKLClassifierCV,
    "HKL": HKLClassifierCV,
}


def product_seconds(n: int, d: int, dtype: Any, repeats: int = 3) -> float:
    """Return what numpy's product of the shapes of a pass takes."""
    rng = np.random.default_rng(0)
    V = rng.standard_normal((d, n * n), dtype=dtype)
    w = rng.standard_normal(n * n, dtype=dtype)
    return float(np.median([cpu(lambda: (V * w) @ V.T)[1] for _ in range(repeats)]))


def size(n: int, d: int) -> dict[str, Any]:
    """Fit all pairs of columns, names and tables included; then numpy's product."""
    X, y = planted(50, 5)
    planted_model(5).fit(X, y).summary()  # what is compiled is compiled before
    X, y = planted(n, d)

    def fitted() -> tuple[SpicyMKLRegressor, Any]:
        model = planted_model(d).fit(X, y)
        return model, model.summary()

    (model, table), seconds = cpu(fitted)
    peak = peak_bytes()
    return {
        "kernels": len(model.kernel_weights_),
        "seconds": seconds,
        "peak_bytes": peak,
        "gap": float(model.duality_gap_),
        "active": len(model.active_kernels_),
        "largest": table.sort_values("weight", ascending=False)["kernel"][:4].tolist(),
        "product": product_seconds(n, d, np.float32),
    }


def search(method: str, rows: int, columns: int, limit: int) -> dict[str, Any]:
    """Search with all defaults, after the grid search of a machine; in seconds."""
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:rows], order[rows:]
    X = X[:, :columns]
    small = SEARCHES[method](cv=2)
    small.fit(X[train[:40], :3], y[train[:40]])  # what is compiled
    grid, beside = cpu(lambda: machine_grid(False).fit(X[train], y[train]))
    print(json.dumps({"beside": beside}), flush=True)
    limit_cpu(limit)
    model = SEARCHES[method]()
    model, seconds = cpu(lambda: model.fit(X[train], y[train]))
    terms = model.hull_ if method == "HKL" else model.kernel_weights_
    return {
        "beside": beside,
        "beside_score": float(grid.score(X[test], y[test])),
        "seconds": seconds,
        "score": float(model.score(X[test], y[test])),
        "kernels": len(terms),
        "active": len(model.active_kernels_),
    }


COMMANDS: dict[str, Callable[..., dict[str, Any]]] = {
    "size": size,
    "search": search,
    "peer": peer,
}


def main() -> None:
    warnings.simplefilter("ignore")
    command, task = sys.argv[1:]
    print(json.dumps(COMMANDS[command](**json.loads(task))))


if __name__ == "__main__":
    main()
