"""Stacks of low rank: everything equals the dense stack of the same kernels."""

from itertools import pairwise

import numpy as np
import pytest

from multikernel.gram import (
    DenseStack,
    LowRankStack,
    build_stack,
    cross_gram,
)
from multikernel.kernels import (
    LinearKernel,
    ListDictionary,
    ParameterGrid,
)

N_ROWS, OFFSETS = 7, np.array([0, 1, 3, 4, 8])


def pair():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((N_ROWS, OFFSETS[-1]))
    parts = [slice(a, b) for a, b in pairwise(OFFSETS)]
    array = np.stack([Z[:, p] @ Z[:, p].T for p in parts])
    return LowRankStack(Z, OFFSETS), DenseStack(array), rng


def assert_same(stack, dense, rng):
    n_kernels, _, n_cols = dense.shape
    assert stack.shape == dense.shape
    for shape in ((n_cols,), (n_cols, 3)):
        v = rng.standard_normal(shape)
        np.testing.assert_allclose(stack.matvec(v), dense.matvec(v), atol=1e-12)
        coefs = rng.standard_normal((n_kernels, *shape))
        np.testing.assert_allclose(
            stack.block_matvec(coefs), dense.block_matvec(coefs), atol=1e-12
        )
    some = np.array([n_cols - 1, 0])
    np.testing.assert_allclose(stack.columns(some), dense.columns(some), atol=1e-12)


def test_products():
    assert_same(*pair())


@pytest.mark.parametrize("kernels", [[1, 2], [3, 0], [2]])
def test_take_and_restrict(kernels):
    stack, dense, rng = pair()
    assert_same(stack.take(np.array(kernels)), dense.take(np.array(kernels)), rng)
    rows = np.array([4, 1, 2])
    assert_same(stack.restrict(rows), dense.restrict(rows), rng)


def test_take_of_neighbors_is_a_view():
    stack, _, _ = pair()
    assert np.shares_memory(stack.take(np.array([1, 2])).factors, stack.factors)


def test_forms_and_diagonals():
    stack, dense, rng = pair()
    np.testing.assert_allclose(stack.diagonals(), dense.diagonals())
    for shape in ((N_ROWS,), (N_ROWS, 2)):
        v = rng.standard_normal(shape)
        np.testing.assert_allclose(stack.quadratic_forms(v), dense.quadratic_forms(v))


@pytest.mark.parametrize("weights", [[1.0, 0.0, 2.0, 0.0], [0.5, 1.0, 1.0, 1.0]])
@pytest.mark.parametrize("extra", [None, 1, 2])
def test_combined_matrix(weights, extra):
    # The second weights make a rank of n and more: the dense branch.
    stack, dense, rng = pair()
    weights = np.array(weights)
    K, expected = stack.combine(weights), dense.combine(weights)
    v, shift = rng.standard_normal((N_ROWS, 2)), rng.uniform(0.1, 1.0, N_ROWS)
    low_rank = None if extra is None else rng.standard_normal((N_ROWS, extra))
    np.testing.assert_allclose(K.matvec(v), expected.matvec(v), atol=1e-12)
    np.testing.assert_allclose(K.diagonal(), expected.diagonal())
    np.testing.assert_allclose(
        K.columns(np.array([1])), expected.columns(np.array([1]))
    )
    for rhs in (v, v[:, 0]):
        np.testing.assert_allclose(
            K.solve(rhs, shift=shift, low_rank=low_rank),
            expected.solve(rhs, shift=shift, low_rank=low_rank),
            rtol=1e-8,
        )


def test_a_singular_system_is_refused():
    stack, _, rng = pair()
    K = stack.combine(np.array([1.0, 0.0, 0.0, 0.0]))
    with pytest.raises(np.linalg.LinAlgError):
        K.solve(rng.standard_normal(N_ROWS), shift=np.zeros(N_ROWS))


@pytest.mark.parametrize("offsets", [[0, 1, 1, 8], [1, 8], [0, 3, 9]])
def test_wrong_offsets(offsets):
    Z = np.zeros((N_ROWS, 8))
    with pytest.raises(ValueError, match="offsets"):
        LowRankStack(Z, np.array(offsets))


@pytest.mark.parametrize(
    "normalize",
    [None, "trace", "variance", "cosine", "center", ("cosine", "center", "trace")],
)
def test_building_equals_dense_building(normalize):
    rng = np.random.default_rng(1)
    X, X_new = rng.standard_normal((6, 4)) + 1.0, rng.standard_normal((3, 4))
    X[:, 3] = 0.0
    weight = rng.uniform(0.5, 2.0, 6)
    dictionary = ParameterGrid([LinearKernel()], [0, [1, 2], slice(None), 3])
    thin = build_stack(
        dictionary, X, normalize=normalize, sample_weight=weight, storage="low_rank"
    )
    full = build_stack(dictionary, X, normalize=normalize, sample_weight=weight)
    np.testing.assert_array_equal(thin.degenerate, full.degenerate)
    assert_same(thin.stack, full.stack, rng)
    for m in range(len(dictionary)):
        np.testing.assert_allclose(
            cross_gram(dictionary[m], X_new, X, thin.normalization, m),
            cross_gram(dictionary[m], X_new, X, full.normalization, m),
            atol=1e-12,
        )


def test_division_after_centering_is_refused():
    dictionary = ListDictionary([LinearKernel()])
    with pytest.raises(ValueError, match="put 'cosine' before 'center'"):
        build_stack(
            dictionary,
            np.ones((3, 2)),
            normalize=("center", "cosine"),
            storage="low_rank",
        )
