"""Views of the same samples, three kernels on each: linear and two Gaussian ones."""

import numpy as np
from benchmark_utils import Kernels
from benchopt import BaseDataset
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from multikernel.datasets import load

WIDTHS = 0.5, 1.0
"""Of Gaussian kernels, in medians of the distances."""


class Dataset(BaseDataset):
    name = "views"
    parameters = {"source": ["mfeat_digits_6views", "msrc_v5_5views"]}

    def get_data(self):
        data = load(self.source)
        classes = np.unique(data.y)
        y = np.where(np.asarray(data.y) < classes[len(classes) // 2], 1.0, -1.0)
        train, test = train_test_split(
            np.arange(len(y)), test_size=0.5, random_state=0, stratify=data.y
        )
        K = []
        for view in data.views.values():
            scaler = StandardScaler().fit(view[train])
            X = scaler.transform(np.asarray(view, dtype=float))
            K.append(X @ X[train].T)
            squares = euclidean_distances(X, X[train], squared=True)
            middle = np.median(squares[train])
            K += [np.exp(-squares / (2.0 * middle * width**2)) for width in WIDTHS]
        K = [matrix / (np.trace(matrix[train]) / len(train)) for matrix in K]
        return {
            "kernels": Kernels(np.array([matrix[train] for matrix in K])),
            "y": y[train],
            "K_test": np.array([matrix[test] for matrix in K]),
            "y_test": y[test],
        }
