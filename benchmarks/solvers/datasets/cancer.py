"""Breast cancer, 837 kernels on all columns and on each."""

import numpy as np
from benchmark_utils import Kernels
from benchopt import BaseDataset
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from multikernel.datasets import load
from multikernel.gram import build_stack, cross_gram
from multikernel.kernels import spicy_dictionary


class Dataset(BaseDataset):
    name = "cancer"
    parameters = {"n_columns": [30]}

    def get_data(self):
        data = load("breast_cancer")
        y = np.where(data.y == np.max(data.y), 1.0, -1.0)
        X, X_test, y, y_test = train_test_split(
            np.asarray(data.X, dtype=float)[:, : self.n_columns],
            y,
            test_size=114,
            random_state=0,
            stratify=y,
        )
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
        kernels = spicy_dictionary(self.n_columns)
        built = build_stack(
            kernels, X, normalize="trace", storage="dense", max_bytes=2**50
        )
        test = [
            cross_gram(kernel, X_test, X, built.normalization, m)
            for m, kernel in enumerate(kernels)
        ]
        K = np.ascontiguousarray(built.stack.array)
        return {
            "kernels": Kernels(K),
            "y": y,
            "K_test": np.array(test),
            "y_test": y_test,
        }
