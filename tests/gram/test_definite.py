"""Sums are proven to be kernels, and no kernel is refused for its rounding."""

import numpy as np
import pytest

from multikernel.gram import DenseMatrix, check_gram
from multikernel.gram.checks import is_semidefinite


def spectrum(eigenvalues, seed=0):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(len(eigenvalues), len(eigenvalues))))[0]
    K = (Q * eigenvalues) @ Q.T
    return 0.5 * (K + K.T)


@pytest.mark.parametrize("n", [2, 5, 33, 90])
@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
@pytest.mark.parametrize("share", [1e-5, 0.1, 0.9])
def test_a_matrix_with_a_negative_eigenvalue_is_not_proven(n, scale, share):
    eigenvalues = np.linspace(0.0, 1.0, n) ** 3
    assert is_semidefinite(DenseMatrix(scale * spectrum(eigenvalues)))
    eigenvalues[0] = -share * eigenvalues.sum()
    assert not is_semidefinite(DenseMatrix(scale * spectrum(eigenvalues)))


@pytest.mark.parametrize("seed", range(60))
def test_no_kernel_is_refused_for_its_rounding(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 90))
    rank = int(rng.integers(1, n + 1))
    Z = rng.normal(size=(n, rank)) * 10.0 ** rng.uniform(-3, 3, size=rank)
    K = (Z @ Z.T).astype(np.float32).astype(np.float64)
    assert is_semidefinite(DenseMatrix(K))
    check_gram(K)
