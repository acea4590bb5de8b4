"""Five spaces of 80 columns, 200 samples, targets that depend on two spaces each."""

import numpy as np
from benchmark_utils import Kernels
from benchopt import BaseDataset

SPACES, COLUMNS, NOISE = 5, 80, 0.8


class Dataset(BaseDataset):
    name = "bands"
    parameters = {"n_targets": [20], "n_samples": [200]}

    def get_data(self):
        n, rng = self.n_samples, np.random.default_rng(0)
        X = rng.normal(size=(SPACES, 2 * n, COLUMNS))
        y = NOISE * rng.normal(size=(2 * n, self.n_targets))
        for target in y.T:
            for space in rng.choice(SPACES, 2, replace=False):
                target += X[space] @ rng.normal(size=COLUMNS) / np.sqrt(COLUMNS)
        K = X @ X[:, :n].transpose(0, 2, 1)
        K /= np.trace(K[:, :n], axis1=1, axis2=2)[:, None, None] / n
        return {
            "kernels": Kernels(np.ascontiguousarray(K[:, :n])),
            "y": y[:n],
            "K_test": np.ascontiguousarray(K[:, n:]),
            "y_test": y[n:],
        }
