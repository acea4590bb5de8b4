"""Digits below five against the others, 500 samples, fifty widths on all pixels."""

import numpy as np
from benchmark_utils import Kernels
from benchopt import BaseDataset
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import euclidean_distances

N_SAMPLES = 500


class Dataset(BaseDataset):
    name = "digits"

    def get_data(self):
        X, digits = load_digits(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(X))[: 2 * N_SAMPLES]
        X, y = X[order] / 16.0, np.where(digits[order] < 5, 1.0, -1.0)
        learnt = X[:N_SAMPLES]
        squares = euclidean_distances(X, learnt, squared=True)
        middle = np.median(squares[:N_SAMPLES])
        widths = np.geomspace(0.05, 20.0, 50)
        K = np.exp(-squares[None] / (2.0 * middle * widths[:, None, None] ** 2))
        return {
            "kernels": Kernels(np.ascontiguousarray(K[:, :N_SAMPLES])),
            "y": y[:N_SAMPLES],
            "K_test": np.ascontiguousarray(K[:, N_SAMPLES:]),
            "y_test": y[N_SAMPLES:],
        }
