"""Fit tables of few values in every storage: objectives agree within their gaps."""

import warnings

import numpy as np

from multikernel import SpicyMKLRegressor
from multikernel.kernels import (
    CategoryKernel,
    ColumnKernel,
    GaussianKernel,
    Interactions,
)

STORAGES = ("auto", "dense", "low_rank")
SLACK = 1e-9


def make_problem(seed):
    """Kernels on columns of 2 to 60 values, and targets."""
    random = np.random.default_rng([seed, 49])
    n, d = int(random.integers(60, 200)), int(random.integers(2, 6))
    # More than half as many values as samples are refused as categories.
    most = np.minimum(random.integers(2, [32, 60][seed % 2], d), n // 2)
    X = np.column_stack([random.integers(0, k, n) for k in most]).astype(float)
    inner = [CategoryKernel(), GaussianKernel(1.0), GaussianKernel(5.0)]
    kernels = [ColumnKernel(inner[random.integers(3)], c) for c in range(d)]
    y = np.sin(X[:, 0]) + (X[:, 0] > 1) * X[:, 1] + random.standard_normal(n)
    return Interactions(kernels), X, y


def run_one(seed):
    """Return what is wrong with the fits of one problem."""
    kernels, X, y = make_problem(seed)
    fits = {}
    for storage in STORAGES:
        model = SpicyMKLRegressor(kernels, 0.02, storage=storage, max_bytes=10**8)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fits[storage] = model.fit(X, y)
    dense = fits["dense"]
    for storage, model in fits.items():
        allowed = model.duality_gap_ + dense.duality_gap_ + SLACK
        apart = abs(model.objective_ / dense.objective_ - 1.0)
        if not apart <= allowed:
            return [("objectives", f"{storage}: {apart:.1e} apart, not {allowed:.1e}")]
        if not model.duality_gap_ <= model.tol:
            return [("gaps", f"{storage}: {model.duality_gap_:.1e}")]
    return []
