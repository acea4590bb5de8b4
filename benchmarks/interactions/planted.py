"""Targets in which two pairs of columns have a part, and the model of all pairs."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multikernel import SpicyMKLRegressor
from multikernel.kernels import GaussianKernel, Interactions, per_column

Array = NDArray[Any]
PLANTED = {(0, 1), (2, 3)}
MAINS = {2, 4}
STRENGTH = 0.05


def planted(n: int, d: int, draw: int = 0) -> tuple[Array, Array]:
    """Return samples, and targets in which two pairs and a column have a part."""
    rng = np.random.default_rng(draw)
    X = rng.standard_normal((n, d))
    f = X[:, 0] * X[:, 1] + np.sin(2.0 * X[:, 2]) * np.abs(X[:, 3]) + X[:, 4]
    return X, f + 0.3 * rng.standard_normal(n)


def planted_model(d: int, strength: float = STRENGTH) -> SpicyMKLRegressor:
    """Return the model of all pairs of columns."""
    kernels = Interactions(per_column(GaussianKernel("median"), d), weight=1.0)
    return SpicyMKLRegressor(kernels, alpha=strength)


def peak_bytes() -> int:
    """Return the most memory that this process has held so far."""
    # Not getrusage: its maximum includes that of the process that started this one.
    for line in Path("/proc/self/status").read_text("ascii").splitlines():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    return 0
