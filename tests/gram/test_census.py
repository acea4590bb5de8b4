"""One reading of given matrices says what three passes would."""

import numpy as np
import pytest

from multikernel.gram import DenseStack
from multikernel.gram.checks import take_census


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_every_matrix(dtype):
    rng = np.random.default_rng(0)
    array = rng.normal(size=(37, 9, 9)).astype(dtype)
    weights = rng.random(9)
    stack = DenseStack(array)
    largest, asymmetry, forms = take_census(stack, weights, np.random.RandomState(3))
    np.testing.assert_array_equal(stack.diagonals(), np.einsum("mii->mi", array))
    assert stack.diagonals() is stack.diagonals()
    u, v = np.random.RandomState(3).standard_normal((2, 9))
    exact = array.astype(np.float64)
    np.testing.assert_allclose(asymmetry, exact @ v @ u - exact @ u @ v)
    np.testing.assert_allclose(forms, exact @ weights @ weights)
    images = np.abs(np.vstack([u, v]) @ exact)
    np.testing.assert_allclose(largest, images.max(axis=(1, 2)))


def test_every_pair_that_differs_is_seen():
    rows, columns = np.triu_indices(6, 1)
    array = np.zeros((rows.size, 6, 6))
    array[np.arange(rows.size), rows, columns] = 1.0
    random = np.random.RandomState(0)
    asymmetry = take_census(DenseStack(array), np.ones(6), random).asymmetry
    assert np.abs(asymmetry).min() > 1e-3


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e200])
def test_an_entry_that_is_not_finite_or_too_large_shows(value):
    array = np.ones((3, 6, 6))
    array[1, 2, 4] = value
    largest = take_census(
        DenseStack(array), np.ones(6), np.random.RandomState(0)
    ).largest
    np.testing.assert_array_equal(largest < 1e100, [True, False, True])
