"""Separate selections for many targets, beside banded ridge regression.

``python -m benchmarks.outputs.targets 20 200 [--rival PYTHON]``: five feature spaces of
80 columns, 200 samples, targets that depend on two spaces each, and R^2 on as many
other samples. `SpicyMKLRegressorCV` and `LpMKLRegressorCV` with separate selections and
everything else at its default, and himalaya's random search with 20 draws by another
interpreter that has it. ``50 2000 --columns 800 --samples 600 --only spicy`` are the
sizes of voxels under wide spaces. Times are those of the process: run it with one BLAS
thread. Memory is what the process has held at most, so far.
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

SPACES, NOISE, DRAWS = 5, 0.8, 20


def problem(
    n_targets: int, columns: int, n_samples: int, seed: int = 0
) -> dict[str, Array]:
    """Return training and test samples, and targets that depend on two spaces each.

    Every space has so many columns, and both halves have so many samples.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * n_samples, SPACES * columns))
    Y = NOISE * rng.normal(size=(2 * n_samples, n_targets))
    for target in range(n_targets):
        for space in rng.choice(SPACES, 2, replace=False).tolist():
            own = X[:, space * columns : (space + 1) * columns]
            Y[:, target] += own @ rng.normal(size=columns) / np.sqrt(columns)
    return {
        "X": X[:n_samples],
        "Y": Y[:n_samples],
        "X_test": X[n_samples:],
        "Y_test": Y[n_samples:],
    }


def peak() -> float:
    """Return the MB that this process has held at most.

    What `getrusage` says counts its parent as well, up to where it became another.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1024.0 for line in lines if "VmHWM" in line)


def searched(kind: Any, data: dict[str, Array]) -> dict[str, float]:
    """Return the seconds of one of our searches, and its mean R^2."""
    from multikernel.kernels import LinearKernel

    columns = data["X"].shape[1] // SPACES
    views = {
        f"space {k}": (list(range(k * columns, (k + 1) * columns)), LinearKernel())
        for k in range(SPACES)
    }
    model = kind(views, loss="squared_error", selection="separate")
    start = time.process_time()
    model.fit(data["X"], data["Y"])
    seconds = time.process_time() - start
    score = model.score(data["X_test"], data["Y_test"])
    return {"seconds": seconds, "R2": score, "MB": peak()}


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
    return {"seconds": seconds, "R2": float(scores.mean()), "MB": peak()}


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
    parser.add_argument("--columns", type=int, default=80, help="of every space")
    parser.add_argument("--samples", type=int, default=200, help="to learn from")
    parser.add_argument("--only", choices=["spicy", "lp"], help="one of our searches")
    parser.add_argument("--rival", help="a Python that has himalaya")
    parser.add_argument("--file", help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.file:
        with np.load(options.file) as data:
            json.dump(rival(dict(data)), sys.stdout)
        return
    from multikernel.estimators import LpMKLRegressorCV, SpicyMKLRegressorCV

    kinds = {"spicy": SpicyMKLRegressorCV, "lp": LpMKLRegressorCV}
    if options.only:
        kinds = {options.only: kinds[options.only]}
    # Compiled loops are loaded once.
    searched(SpicyMKLRegressorCV, problem(3, 10, 60))
    for n_targets in options.targets:
        data = problem(n_targets, options.columns, options.samples)
        found = {kind.__name__: searched(kind, data) for kind in kinds.values()}
        if options.rival:
            found["himalaya"] = by(options.rival, data)
        for name, values in found.items():
            print(
                f"{n_targets:4d} targets  {name:20} {values['seconds']:7.2f} s  "
                f"R2 {values['R2']:.4f}  {values['MB']:6.0f} MB",
                flush=True,
            )


if __name__ == "__main__":
    main()
