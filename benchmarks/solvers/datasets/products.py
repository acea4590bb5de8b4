"""Products of powers of the columns, of which the target needs two: a grid."""

import numpy as np
from benchmark_utils import Graph
from benchopt import BaseDataset

from multikernel.kernels.graph import PolynomialGrid


class Dataset(BaseDataset):
    name = "products"
    parameters = {"n_columns": [3, 8], "n_samples": [100]}

    def get_data(self):
        rng = np.random.default_rng(0)
        X = rng.uniform(-1.0, 1.0, size=(self.n_samples, self.n_columns))
        y = 2.0 * X[:, 0] * X[:, 1] + X[:, 1] ** 3 + 0.3 * rng.normal(size=len(X))
        graph = PolynomialGrid(3).bind(X)
        return {
            "kernels": Graph(graph.sample(X)),
            "y": (y - y.mean()) / y.std(),
            "K_test": np.zeros((0, 0, 0)),
            "y_test": np.zeros(0),
        }
