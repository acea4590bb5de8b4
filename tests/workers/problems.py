"""Data and models that are fitted in memory and on workers."""

import dask.array as da
import numpy as np

from multikernel.estimators import SpicyMKLClassifier, SpicyMKLRegressor
from multikernel.gram import LowRank
from multikernel.kernels import ColumnKernel, GaussianKernel, LinearKernel

KERNELS = [
    LinearKernel(),
    *(ColumnKernel(GaussianKernel(2.0), column) for column in range(3)),
]


def table(n_samples=400):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples, 3))
    f = X[:, 0] + np.cos(2.0 * X[:, 1]) - 0.5
    return X, f + 0.3 * rng.standard_normal(n_samples)


def partitioned(X, y, rows=90):
    return da.from_array(X, chunks=(rows, 2)), da.from_array(y, chunks=150)


def classifier(**settings):
    given = {"alpha": 0.02, "tol": 1e-10, "storage": LowRank(tol=1e-12)}
    return SpicyMKLClassifier(KERNELS, **given | settings)


def regressor(**settings):
    given = {"alpha": 0.02, "tol": 1e-10, "storage": LowRank(tol=1e-12)}
    return SpicyMKLRegressor(KERNELS, **given | settings)
