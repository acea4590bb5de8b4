"""Roots of shifted matrices: halves of solutions, whatever the matrix is made of."""

import numpy as np
import pytest

from multikernel.linalg.shifted import (
    OMITTED_TRACE,
    DiagonalRoot,
    FactorRoot,
    ShiftedRoot,
    factor_root,
    shifted_root,
)


@pytest.mark.parametrize(
    ("n", "rank", "kind"), [(30, 7, FactorRoot), (8, 20, ShiftedRoot)]
)
@pytest.mark.parametrize("seed", range(3))
def test_halves_of_factors_are_those_of_the_whole_matrix(n, rank, kind, seed):
    rng = np.random.default_rng(seed)
    Z, shift = rng.normal(size=(n, rank)), 10.0 ** rng.uniform(-2, 2, n)
    weights = rng.uniform(0.5, 2.0, rank)
    weights[2] = 0.0
    K, sides = Z * weights @ Z.T, rng.normal(size=(n, 3))
    root, whole = factor_root(Z, weights, shift), shifted_root(K, shift)
    assert isinstance(root, kind)
    solved = np.linalg.solve(K + np.diag(shift), sides)
    size = np.abs(solved).max()
    for each in (root, whole):
        halves = each.half(sides)
        np.testing.assert_allclose(each.rest(halves), solved, atol=1e-9 * size)
        form = sides.T @ solved
        np.testing.assert_allclose(halves.T @ halves, form, atol=1e-9 * form.max())


def test_columns_that_hardly_count_are_left_out():
    rng = np.random.default_rng(0)
    Z, weights, shift = rng.normal(size=(40, 6)), np.ones(6), np.full(40, 2.0)
    traces = (Z**2).sum(axis=0) / 2.0
    weights[[1, 4]] = 0.4 * OMITTED_TRACE / traces[[1, 4]]
    root = factor_root(Z, weights, shift)
    assert root.columns.shape == (40, 4)
    exact = np.linalg.solve(Z * weights @ Z.T + np.diag(shift), np.ones(40))
    found = root.rest(root.half(np.ones((40, 1))))[:, 0]
    np.testing.assert_allclose(found, exact, atol=OMITTED_TRACE * np.abs(exact).max())


def test_no_root_of_what_is_not_definite():
    assert shifted_root(-2.0 * np.eye(5), np.ones(5)) is None


def test_a_diagonal_root_equals_the_root_of_a_matrix_of_zeros():
    shift, sides = np.array([0.25, 1.0, 9.0]), np.arange(6.0).reshape(3, 2)
    root, whole = DiagonalRoot(1.0 / np.sqrt(shift)), shifted_root(0 * np.eye(3), shift)
    np.testing.assert_allclose(root.half(sides), whole.half(sides), rtol=1e-15)
    np.testing.assert_allclose(root.rest(sides), whole.rest(sides), rtol=1e-15)
