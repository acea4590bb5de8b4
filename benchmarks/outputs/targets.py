"""Separate selections for many targets, beside banded ridge regression.

``python -m benchmarks.outputs.targets 20 200 [--rival PYTHON]``: five feature spaces of
80 columns, 200 samples, targets that depend on two spaces each, and R^2 on 200 other
samples. `SpicyMKLRegressorCV` and `LpMKLRegressorCV` with ``selection="separate"`` and
everything else at its default, and himalaya's random search with 20 draws by another
interpreter that has it. Times are those of the process: run it with one BLAS thread.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SPACES, COLUMNS, SAMPLES, NOISE, DRAWS = 5, 80, 200, 0.8, 20


def problem(n_targets: int, seed: int = 0) -> dict[str, Array]:
    """Return training and test samples, and targets that depend on two spaces each."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * SAMPLES, SPACES * COLUMNS))
    Y = NOISE * rng.normal(size=(2 * SAMPLES, n_targets))
    for target in range(n_targets):
        for space in rng.choice(SPACES, 2, replace=False).tolist():
            own = X[:, space * COLUMNS : (space + 1) * COLUMNS]
            Y[:, target] += own @ rng.normal(size=COLUMNS) / np.sqrt(COLUMNS)
    return {
        "X": X[:SAMPLES],
        "Y": Y[:SAMPLES],
        "X_test": X[SAMPLES:],
        "Y_test": Y[SAMPLES:],
    }


def searched(kind: Any, data: dict[str, Array]) -> dict[str, float]:
    """Return the seconds of one of our searches, and its mean R^2."""
    from multikernel.kernels import LinearKernel

    views = {
        f"space {k}": (list(range(k * COLUMNS, (k + 1) * COLUMNS)), LinearKernel())
        for k in range(SPACES)
    }
    model = kind(views, loss="squared_error", selection="separate")
    start = time.process_time()
    model.fit(data["X"], data["Y"])
    seconds = time.process_time() - start
    return {"seconds": seconds, "R2": model.score(data["X_test"], data["Y_test"])}


def rival(data: dict[str, Array]) -> dict[str, float]:
    """Return what himalaya takes and reaches; imports nothing of ours."""
    from himalaya.kernel_ridge import MultipleKernelRidgeCV

    def kernels(X: Array) -> Array:
        spaces = np.split(X, SPACES, axis=1)
        learnt = np.split(data["X"], SPACES, axis=1)
        return np.stack([a @ b.T for a, b in zip(spaces, learnt, strict=True)])

    start = time.process_time()
    model = MultipleKernelRidgeCV(
        kernels="precomputed",
        solver="random_search",
        solver_params={
            "n_iter": DRAWS,
            "alphas": np.logspace(-2, 6, 17),
            "progress_bar": False,
        },
        fit_intercept=True,
        random_state=0,
    )
    model.fit(kernels(data["X"]), data["Y"])
    seconds = time.process_time() - start
    scores = np.asarray(model.score(kernels(data["X_test"]), data["Y_test"]))
    return {"seconds": seconds, "R2": float(scores.mean())}


def by(interpreter: str, data: dict[str, Array]) -> dict[str, float]:
    """Return what `rival` finds in a process of another interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "data.npz"
        np.savez(file, allow_pickle=False, **data)
        printed = subprocess.check_output(
            [interpreter, __file__, "--file", str(file)], text=True
        )
    found: dict[str, float] = json.loads(printed.splitlines()[-1])
    return found


def main() -> None:
    """Measure every number of targets, or be the rival on a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", type=int, nargs="*", default=[20])
    parser.add_argument("--rival", help="a Python that has himalaya")
    parser.add_argument("--file", help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.file:
        with np.load(options.file) as data:
            json.dump(rival(dict(data)), sys.stdout)
        return
    from multikernel.estimators import LpMKLRegressorCV, SpicyMKLRegressorCV

    searched(SpicyMKLRegressorCV, problem(1))  # compiled loops are loaded once
    for n_targets in options.targets:
        data = problem(n_targets)
        found = {
            kind.__name__: searched(kind, data)
            for kind in (SpicyMKLRegressorCV, LpMKLRegressorCV)
        }
        if options.rival:
            found["himalaya"] = by(options.rival, data)
        for name, values in found.items():
            print(
                f"{n_targets:4d} targets  {name:20} {values['seconds']:7.2f} s  "
                f"R2 {values['R2']:.4f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
