"""A Gram matrix plus a low-rank term equals the dense sum, whatever its storage."""

import numpy as np
import pytest

from multikernel.gram import DenseMatrix, GramMatrix, lazy_stack
from multikernel.gram.matrix import MatrixPlusFactor
from multikernel.kernels import random_subset_gaussians

rng = np.random.default_rng(0)
X, FACTOR, EXTRA = (rng.normal(size=(12, k)) for k in (20, 3, 2))


def make(storage):
    stack = lazy_stack(random_subset_gaussians(4, 20, random_state=0), X, 0)
    weights = np.array([1.0, 0.5, 0.0, 2.0])
    lazy = stack.combine(weights)
    K = np.tensordot(weights, stack.columns(np.arange(12)), axes=1)
    base = lazy if storage == "lazy" else DenseMatrix(K)
    return base, K + FACTOR @ FACTOR.T


@pytest.mark.parametrize("storage", ["dense", "lazy"])
@pytest.mark.parametrize(
    "build", [lambda base, U: base.plus(U), GramMatrix.plus, MatrixPlusFactor]
)
@pytest.mark.parametrize("low_rank", [None, EXTRA])
def test_all_of_the_protocol(storage, build, low_rank):
    base, dense = make(storage)
    updated = build(base, FACTOR)
    assert updated.shape == (12, 12)
    V = rng.normal(size=(12, 2))
    chosen = np.array([3, 7])
    np.testing.assert_allclose(updated.matvec(V), dense @ V, atol=1e-12)
    np.testing.assert_allclose(updated.matvec(V[:, 0]), dense @ V[:, 0], atol=1e-12)
    np.testing.assert_allclose(updated.columns(chosen), dense[:, chosen], atol=1e-12)
    np.testing.assert_allclose(updated.diagonal(), dense.diagonal(), atol=1e-12)
    shift = rng.exponential(size=12) + 0.1
    system = dense + np.diag(shift) + (0.0 if low_rank is None else EXTRA @ EXTRA.T)
    x = updated.solve(V, shift=shift, low_rank=low_rank)
    np.testing.assert_allclose(system @ x, V, atol=1e-8)


def test_nothing_is_added_without_columns():
    base, _ = make("lazy")
    assert base.plus(np.empty((12, 0))) is base


def test_the_matrix_itself_is_not_changed():
    base, _ = make("dense")
    before = base.array.copy()
    base.plus(FACTOR)
    np.testing.assert_array_equal(base.array, before)
