"""Fits on an accelerator: time beside the CPU and beside himalaya, and the gap.

``python benchmarks/device/run.py`` needs PyTorch and a card, and takes ten minutes at
most: every case is a process with a limit of its own. It prints one line of JSON for
each. ``--dry`` runs the same code in seconds, on small data and with NumPy in place of
PyTorch. Seconds are of the clock, since a card does not use the processor.

gaussians: 200 Gaussian kernels on 5000 rows. genotypes: all pairs of 20 000 markers of
2000 people; a pass over all pairs is compared with the CPU at 2000 markers. targets:
2000 targets, five spaces and 3000 rows, beside himalaya on the same card. Every fit is
repeated on the CPU where ``--dry`` or its size allows it, and the models are compared.
"""

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from benchmarks.interactions.genome import genotypes
from benchmarks.outputs.targets import DRAWS, SPACES, problem
from numpy.typing import NDArray

from multikernel import SpicyMKLRegressor, SpicyMKLRegressorCV
from multikernel.gram import Device, build_stack
from multikernel.kernels import (
    GaussianKernel,
    Interactions,
    LinearKernel,
    ListDictionary,
    ParameterGrid,
    per_column,
)
from multikernel.kernels.columns import Features
from multikernel.kernels.interactions import with_interactions

Array = NDArray[Any]
Row = dict[str, Any]


def clocked(function: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a function returns, and the seconds that it takes."""
    start = time.perf_counter()
    result = function()
    return result, time.perf_counter() - start


def compared(
    build: Callable[[Any], Any], data: tuple[Array, Array], device: Device, *, cpu: bool
) -> Row:
    """Fit on a device, and on the CPU; return seconds, gap and largest difference."""
    model, seconds = clocked(lambda: build(device).fit(*data))
    row: Row = {"seconds": seconds, "gap": float(np.max(model.duality_gap_))}
    assert row["gap"] <= model.tol, row
    if cpu:
        here, row["CPU"] = clocked(lambda: build("auto").fit(*data))
        row["apart"] = float(
            np.abs(model.predict(data[0]) - here.predict(data[0])).max()
        )
    return row


def gaussians(device: Device, *, dry: bool) -> Row:
    """Fit 200 Gaussian kernels, five on each of 40 columns."""
    n, d = (200, 3) if dry else (5000, 40)
    X = np.random.default_rng(0).standard_normal((n, d))
    y = X[:, 0] ** 2 + np.sin(2.0 * X[:, 1]) + 0.5 * X[:, 2]
    widths = [GaussianKernel(width) for width in (0.3, 0.6, 1.0, 2.0, 4.0)]
    grid = ParameterGrid(widths, range(d))

    def build(storage: Any) -> Any:
        return SpicyMKLRegressor(grid, alpha=0.02, storage=storage)

    row = compared(build, (X, y), device, cpu=True)
    return {"kernels": 5 * d, "rows": n} | row


def pass_over_pairs(d: int, n: int, storage: Any) -> tuple[float, float]:
    """Return the largest form of all pairs of genotypes, and seconds of a pass."""
    X, y = genotypes(n, d)
    grid = per_column(GaussianKernel(1.0), d)
    mains = ListDictionary([grid[m] for m in range(d)])
    spec = Interactions(mains=False)
    dictionary = with_interactions(spec, mains, X, None, Features(d))
    stack, v = build_stack(dictionary, X, storage=storage).stack, y - y.mean()
    stack.largest_forms(v, 0.0, 1)  # loads compiled code
    (_, forms, _), seconds = clocked(lambda: stack.largest_forms(v, 0.0, 1))
    return float(forms[0]), seconds


def genome(device: Device, *, dry: bool) -> Row:
    """Fit all pairs of genotypes."""
    d, n = (40, 100) if dry else (20_000, 2000)
    small = (40, 100) if dry else (2000, 1000)
    largest, there = pass_over_pairs(*small, device)
    expected, here = pass_over_pairs(*small, "low_rank")
    assert abs(largest / expected - 1.0) < 1e-10, (largest, expected)

    def build(storage: Any) -> Any:
        kernels = Interactions(per_column(GaussianKernel("median"), d))
        return SpicyMKLRegressor(kernels, alpha=0.1, storage=storage)

    row = compared(build, genotypes(n, d), device, cpu=dry)
    return {"markers": d, "people": n, "pass": there, "pass, CPU": here} | row


def targets(device: Device, *, dry: bool) -> Row:
    """Search strengths for many targets, each with its own selection."""
    n_targets, columns, n = (3, 10, 60) if dry else (2000, 80, 3000)
    data = problem(n_targets, columns, n)
    spaces = [list(range(k * columns, (k + 1) * columns)) for k in range(SPACES)]
    views = {f"space {k}": (own, LinearKernel()) for k, own in enumerate(spaces)}
    model = SpicyMKLRegressorCV(
        views, loss="squared_error", selection="separate", storage=device
    )
    _, seconds = clocked(lambda: model.fit(data["X"], data["Y"]))
    return {
        "targets": n_targets,
        "rows": n,
        "seconds": seconds,
        "gap": float(np.max(model.duality_gap_)),
        "R2": float(model.score(data["X_test"], data["Y_test"])),
    }


def himalaya(device: Device, *, dry: bool) -> Row:
    """Search for the same targets by himalaya's random search, on the card."""
    from himalaya.backend import set_backend
    from himalaya.kernel_ridge import MultipleKernelRidgeCV

    backend, data = set_backend("torch_cuda"), problem(2000, 80, 3000)
    learn = np.split(data["X"], SPACES, axis=1)

    def kernels(X: Array) -> Any:
        parts = zip(np.split(X, SPACES, axis=1), learn, strict=True)
        return backend.asarray(np.stack([a @ b.T for a, b in parts]))

    alphas = backend.asarray(np.logspace(-2, 6, 17))
    search = {"n_iter": DRAWS, "alphas": alphas, "progress_bar": False}
    model = MultipleKernelRidgeCV(
        kernels="precomputed", solver="random_search", solver_params=search
    )
    Y, Y_test = backend.asarray(data["Y"]), backend.asarray(data["Y_test"])
    _, seconds = clocked(lambda: model.fit(kernels(data["X"]), Y))
    scores = backend.to_numpy(model.score(kernels(data["X_test"]), Y_test))
    return {"seconds": seconds, "R2": float(scores.mean())}


CASES = {
    "gaussians": (gaussians, 100),
    "genotypes": (genome, 240),
    "targets": (targets, 200),
    "himalaya": (himalaya, 50),
}
"""The cases, and the seconds that each may take."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dry", action="store_true", help="small data, with NumPy")
    parser.add_argument("--case", choices=CASES, help="this one alone, without a limit")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    cases = [options.case] if options.case else list(CASES)
    if options.dry:
        cases = [name for name in cases if name != "himalaya"]  # needs the card
    for name in cases if options.dry or options.case else ():
        factors = name == "genotypes"
        device = Device("numpy" if options.dry else "torch", factors=factors)
        # Libraries and compiled code are loaded before the clock starts.
        small = SpicyMKLRegressor(
            [GaussianKernel(1.0)], storage=replace(device, factors=None)
        )
        small.fit(np.arange(20.0)[:, None], np.arange(20) % 3)
        row = CASES[name][0](device, dry=options.dry)
        print(json.dumps({"case": name} | row), flush=True)
    if options.dry or options.case:
        return
    for name in cases:
        command = [sys.executable, __file__, "--case", name]
        try:
            subprocess.run(command, check=False, timeout=CASES[name][1])
        except subprocess.TimeoutExpired as late:
            print(json.dumps({"case": name, "stopped after": late.timeout}), flush=True)


if __name__ == "__main__":
    main()
