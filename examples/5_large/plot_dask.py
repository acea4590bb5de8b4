"""
Fit on the workers of a Dask cluster
====================================

If the rows do not fit on one machine, pass Dask collections to `SpicyMKLClassifier`.
Every partition becomes a block of kernel factors on its worker, and only sums are
transferred. This example starts two workers on this machine; for an existing scheduler,
change one line. It requires ``pip install '.[dask]'``.
"""

# %%
# The data, in four partitions
# ----------------------------

from importlib.util import find_spec

import numpy as np

from multikernel import SpicyMKLClassifier
from multikernel.display import ConvergenceDisplay
from multikernel.kernels import GaussianKernel, ParameterGrid

rng = np.random.default_rng(0)
rows = rng.standard_normal((4000, 5))
labels = rows[:, 0] ** 2 + np.sin(2 * rows[:, 1]) > 1.0
kernels = ParameterGrid([GaussianKernel(1.0), GaussianKernel(2.0)], range(5))
model = SpicyMKLClassifier(kernels, alpha=0.02)

# %%
# On a cluster
# ------------


def fit_on_a_cluster():
    import dask.array as da
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        X = da.from_array(rows, chunks=(1000, 5))
        y = da.from_array(labels, chunks=1000)
        model.fit(X, y)
        print(f"duality gap {model.duality_gap_:.1e}, tolerance {model.tol:.0e}")
        print(f"predictions are computed on demand: {model.predict(X)}")


if find_spec("dask") and find_spec("distributed"):
    fit_on_a_cluster()
else:
    print("Skipped: this example needs Dask, pip install '.[dask]'.")

# %%
# The fit in memory gives the same model
# --------------------------------------

if hasattr(model, "duality_gap_"):
    whole = SpicyMKLClassifier(kernels, alpha=0.02, storage="low_rank")
    whole.fit(rows, labels)
    apart = abs(whole.objective_ - model.objective_) / whole.objective_
    print(f"relative difference of the objectives: {apart:.0e}")
    ConvergenceDisplay.from_estimator(model)
