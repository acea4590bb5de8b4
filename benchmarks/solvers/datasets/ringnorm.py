"""Ringnorm, Gaussian kernels on random subsets of the columns."""

import numpy as np
from benchmark_utils import Kernels
from benchopt import BaseDataset

from multikernel.datasets import make_ringnorm
from multikernel.gram import build_stack, cross_gram
from multikernel.kernels import random_subset_gaussians


class Dataset(BaseDataset):
    name = "ringnorm"
    parameters = {"n_kernels": [50, 500, 3000, 6000], "n_samples": [200]}

    def get_data(self):
        n = self.n_samples
        X, y = make_ringnorm(2 * n, random_state=0)
        X, y = X / X.std(axis=0), np.where(y > 0, 1.0, -1.0)
        kernels = random_subset_gaussians(self.n_kernels, X.shape[1], random_state=0)
        built = build_stack(
            kernels, X[:n], normalize="trace", storage="dense", max_bytes=2**50
        )
        # Accuracies are compared on few kernels, matrices of many take gigabytes.
        n_test = min(n, 200) if self.n_kernels <= 500 else 0
        test = np.zeros((len(kernels), n_test, n))
        for m, kernel in enumerate(kernels if n_test else ()):
            new = X[n : n + n_test]
            test[m] = cross_gram(kernel, new, X[:n], built.normalization, m)
        return {
            "kernels": Kernels(np.ascontiguousarray(built.stack.array)),
            "y": y[:n],
            "K_test": test,
            "y_test": y[n : n + n_test],
        }
