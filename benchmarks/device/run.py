"""Passes over a genome on an accelerator: time beside the CPU, and the same numbers.

Run ``python benchmarks/device/run.py`` where torch sees a card; at most ten minutes. A
dry run on the CPU is ``--dry``. The library has no storage on a device yet: this is the
arithmetic that such a storage would do, block by block as `gram/factors/centred.py`
does, with the largest forms compared with those of the library.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2]))

import numpy as np
from benchmarks.interactions.genome import genotypes
from numpy.typing import NDArray

from multikernel.gram import build_stack
from multikernel.gram.capabilities import largest_forms
from multikernel.kernels import GaussianKernel, Interactions, ListDictionary, per_column
from multikernel.kernels.columns import Features
from multikernel.kernels.interactions import with_interactions

Array = NDArray[Any]
BLOCK = 4096
"""Columns of a block on the device: its products with all others are 2.6 GB at most."""


def exact_factors(X: Array) -> Array:
    """Return the centred factors of Gaussians on genotypes, (n_markers, 2, n)."""
    kernel = np.exp(-0.5 * np.subtract.outer(np.arange(3.0), np.arange(3.0)) ** 2)
    factors = np.zeros((X.shape[1], 2, len(X)))
    for marker, column in enumerate(X.T.astype(int)):
        shares = np.bincount(column, minlength=3) / len(X)
        means = kernel @ shares
        table = kernel - means[:, None] - means + shares @ means
        eigenvalues, vectors = np.linalg.eigh(table)
        roots = vectors[:, 1:] * np.sqrt(np.maximum(eigenvalues[1:], 0.0))
        factors[marker] = roots[column].T
    return factors


def largest_on(device: str, dtype: str, Z: Array, v: Array) -> tuple[float, float]:
    """Return the largest form of all pairs, and the seconds of a pass on a device."""
    d, rank, n = Z.shape
    flat, vector = Z.reshape(d * rank, n).astype(dtype), v.astype(dtype)
    xp: Any = np
    wait: Callable[[], Any] = bool
    if device != "cpu":
        import torch

        xp, wait = torch, torch.cuda.synchronize
        flat, vector = (torch.as_tensor(a).to(device) for a in (flat, vector))
    step = BLOCK // rank
    for _ in range(2):  # the first call loads kernels
        wait()
        start, largest = time.perf_counter(), 0.0
        for first in range(0, d, step):
            left = flat[first * rank : (first + step) * rank]
            G = (left * vector) @ flat[first * rank :].T
            forms = (G**2).reshape(len(left) // rank, rank, -1, rank).sum((1, 3))
            largest = max(largest, float(xp.triu(forms, 1).max()))
        wait()
        seconds = time.perf_counter() - start
    return largest, seconds


def on_cpu(X: Array, v: Array) -> tuple[float, float]:
    """Return the same by the library, on one core."""
    d = X.shape[1]
    grid = per_column(GaussianKernel(1.0), d)
    mains = ListDictionary([grid[m] for m in range(d)])
    spec = Interactions(mains=False)
    dictionary = with_interactions(spec, mains, X, None, Features(d))
    stack = build_stack(dictionary, X, storage="low_rank").stack
    largest_forms(stack, v, 0.0, 1)  # loads compiled code
    start = time.perf_counter()
    _, forms, _ = largest_forms(stack, v, 0.0, 1)
    return float(forms[0]), time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dry", action="store_true", help="small, on the CPU")
    dry = parser.parse_args().dry
    device = "cpu" if dry else "cuda"
    sizes = [(200, 300)] if dry else [(2000, 1000), (20_000, 2000)]
    for d, n in sizes:
        X, y = genotypes(n, d)
        Z, v = exact_factors(X), y - y.mean()
        row: dict[str, Any] = {"markers": d, "people": n}
        for dtype in ("float64", "float32"):
            largest, seconds = largest_on(device, dtype, Z, v)
            row |= {f"seconds {dtype}": seconds, f"largest {dtype}": largest}
        if d <= 2000:
            row["largest, library"], row["seconds, library"] = on_cpu(X, v)
            apart = row["largest float64"] / row["largest, library"] - 1.0
            assert abs(apart) < 1e-10, apart
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
