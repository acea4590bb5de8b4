"""The path of an estimator equals its fits, one strength at a time."""

from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from multikernel.estimators import (
    SpicyMKLClassifier,
    SpicyMKLRegressor,
    regularization_path,
)
from multikernel.exceptions import DictionaryWarning
from multikernel.kernels import GaussianKernel, ParameterGrid

KERNELS = ParameterGrid([GaussianKernel(0.7), GaussianKernel(2.0)], [slice(None), 0, 1])


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
def test_every_point_is_the_fit_at_its_alpha(l1_ratio):
    X = np.random.default_rng(0).standard_normal((50, 2))
    y = np.sin(2 * X[:, 0])
    model = SpicyMKLRegressor(KERNELS, 1.0, l1_ratio=l1_ratio, tol=1e-8)
    found = regularization_path(model, X, y, n_alphas=5, alpha_min_ratio=0.05)
    assert not hasattr(model, "kernel_weights_")
    assert not found.norms()[0].any()
    empty = pytest.warns(DictionaryWarning, match="no active kernel")
    for k, alpha in enumerate(found.path.alphas):
        with nullcontext() if k else empty:
            fit = clone(model).set_params(alpha=alpha).fit(X, y)
        assert found.path.objectives[0, k] == pytest.approx(fit.objective_, rel=1e-7)
        norms = found.norms()[k]
        share = norms / norms.sum() if norms.any() else norms
        np.testing.assert_allclose(share, fit.kernel_weights_, atol=1e-3)
    assert found.kernel_names == fit.kernel_names_


def test_norms_of_several_classes_are_joined():
    X, y = load_iris(return_X_y=True)
    found = regularization_path(SpicyMKLClassifier(KERNELS), X, y, n_alphas=4)
    assert found.path.norms.shape[:2] == (3, 4)
    joined = np.sqrt((found.path.norms**2).sum(axis=0))
    np.testing.assert_array_equal(found.norms()[:, found.path.kernels], joined)


def test_a_callback_ends_the_path():
    X = np.random.default_rng(0).standard_normal((50, 2))
    lines = []

    def watch(line):
        lines.append(line)
        return len(lines) >= 4

    model = SpicyMKLRegressor(KERNELS, tol=1e-8)
    found = regularization_path(model, X, X[:, 0] ** 2, n_alphas=9, callback=watch)
    assert 0 < len(found.path.alphas) < 9


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_alphas": 1}, "n_alphas must be an integer of at least 2, got 1"),
        ({"alpha_min_ratio": 1.0}, r"alpha_min_ratio must be a .* in \(0, 1\), got 1"),
    ],
)
def test_bad_settings_get_a_sentence(settings, message):
    X = np.random.default_rng(0).standard_normal((50, 2))
    with pytest.raises(ValueError, match=message):
        regularization_path(SpicyMKLRegressor(KERNELS), X, X[:, 0], **settings)


def test_constant_targets_have_a_path_without_kernels():
    X = np.random.default_rng(0).standard_normal((50, 2))
    found = regularization_path(SpicyMKLRegressor(KERNELS), X, np.ones(50), n_alphas=3)
    np.testing.assert_array_equal(found.norms(), np.zeros((3, len(KERNELS))))
