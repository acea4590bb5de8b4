"""Gram matrices as others have published them: interactions of drugs, protein folds."""

import numpy as np
from benchmark_utils import Kernels
from benchopt import BaseDataset
from sklearn.model_selection import train_test_split

from multikernel.datasets import load


def clipped(K):
    """Return a similarity without its negative eigenvalues."""
    eigenvalues, vectors = np.linalg.eigh(0.5 * (K + K.T))
    return (vectors * np.maximum(eigenvalues, 0.0)) @ vectors.T


class Dataset(BaseDataset):
    """All labels are targets, or the most frequent one makes two classes.

    Matrices that are no kernels are made ones by all samples together.
    """

    name = "given"
    parameters = {
        "source": ["dti_ic_proteins_kernels", "dti_e_drugs_kernels"],
        "targets": [False, True],
    }

    def get_data(self):
        data = load(self.source)
        K = np.array([clipped(matrix) for matrix in data.K.astype(float)])
        labels = np.where(np.asarray(data.Y) > 0, 1.0, -1.0)
        y = labels if self.targets else labels[:, 0]
        train, test = train_test_split(
            np.arange(len(y)), test_size=0.3, random_state=0, stratify=labels[:, 0]
        )
        learnt = np.ascontiguousarray(K[:, train][:, :, train])
        scales = np.trace(learnt, axis1=1, axis2=2) / len(train)
        return {
            "kernels": Kernels(learnt / scales[:, None, None]),
            "y": y[train],
            "K_test": K[:, test][:, :, train] / scales[:, None, None],
            "y_test": y[test],
        }
