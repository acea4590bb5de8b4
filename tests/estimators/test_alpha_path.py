"""The path of an estimator equals its fits, one by one."""

import numpy as np
import pytest
from sklearn.base import clone

from multikernel.datasets import make_additive_regression
from multikernel.estimators import (
    SpicyMKLClassifier,
    SpicyMKLRegressor,
    regularization_path,
)
from multikernel.kernels import GaussianKernel, per_column


@pytest.fixture
def data():
    return make_additive_regression(50, n_features=5, random_state=0)


@pytest.fixture
def regressor():
    return SpicyMKLRegressor(per_column(GaussianKernel(0.5), 5), tol=1e-8)


def test_every_point_is_a_fit(regressor, data):
    found = regularization_path(regressor, *data, n_alphas=5, ratio=0.05)
    alphas = found.path.alphas
    np.testing.assert_allclose(alphas, np.geomspace(alphas[0], 0.05 * alphas[0], 5))
    for step, alpha in enumerate(alphas):
        fit = clone(regressor).set_params(alpha=alpha).fit(*data)
        assert found.path.objectives[0, step] == pytest.approx(fit.objective_, rel=1e-7)
        norms = found.norms()[step]
        if step == 0:
            assert not norms.any()
            continue
        weights = norms / norms.sum()
        np.testing.assert_allclose(weights, fit.kernel_weights_, atol=1e-3)
    assert found.kernel_names == fit.kernel_names_


def test_just_below_the_first_alpha_one_kernel_enters(regressor, data):
    found = regularization_path(regressor, *data, n_alphas=2, ratio=0.99)
    np.testing.assert_array_equal((found.norms() > 0).sum(axis=1), [0, 1])


def test_classes_share_the_grid_and_their_norms_add_up(data):
    X, y = data
    labels = np.digitize(y, [-0.5, 0.5])
    model = SpicyMKLClassifier(per_column(GaussianKernel(0.5), 5))
    found = regularization_path(model, X, labels, n_alphas=4)
    assert found.path.norms.shape[:2] == (3, 4)
    squares = (found.path.norms**2).sum(axis=0)
    np.testing.assert_allclose(found.norms()[:, found.path.kernels] ** 2, squares)


def test_the_estimator_stays_as_it_was(regressor, data):
    before = regressor.get_params()
    regularization_path(regressor, *data, n_alphas=2)
    assert regressor.get_params() == before
    assert not hasattr(regressor, "kernel_weights_")
    assert not hasattr(regressor, "n_features_in_")


def test_a_callback_ends_the_path(regressor, data):
    calls = []

    def stop(line):
        calls.append(line)
        return len(calls) > 3

    found = regularization_path(regressor, *data, n_alphas=20, callback=stop)
    assert len(found.path.alphas) == len(found.norms()) < 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_alphas": 1}, "n_alphas must be at least 2, got 1"),
        ({"ratio": 0.0}, "ratio must lie between 0 and 1, got 0"),
        ({"ratio": 1.0}, "ratio must lie between 0 and 1, got 1"),
    ],
)
def test_bad_grids(regressor, data, arguments, message):
    with pytest.raises(ValueError, match=message):
        regularization_path(regressor, *data, **arguments)


def test_constant_targets_have_no_path(regressor, data):
    with pytest.raises(ValueError, match="No kernel can enter at any alpha"):
        regularization_path(regressor, data[0], np.ones(50))
