"""What estimators do where nothing is said: their kernels, and the grid of C."""

import warnings

import numpy as np
import pytest
from reference.own_losses import QuarterSquare
from sklearn.preprocessing import StandardScaler

from multikernel.datasets import load
from multikernel.estimators import (
    FixedWeightsMKLRegressor,
    LpMKLClassifierCV,
    LpMKLRegressorCV,
    SpicyMKLClassifier,
    SpicyMKLRegressor,
)
from multikernel.exceptions import DictionaryWarning
from multikernel.kernels import GaussianKernel, kernel_names, median_dictionary
from multikernel.losses import (
    EpsilonInsensitiveLoss,
    SquaredLoss,
)

C_MULTIPLES = (1 / 32, 1 / 8, 1 / 2, 2.0, 8.0, 32.0, 128.0)
"""The default grid for a kernel of unit variance."""

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))
Y = np.sin(2.0 * X[:, 1]) + 0.1 * RNG.standard_normal(40)


def parts(name):
    """Return 138 training samples of a set, and all others."""
    data = load(name)
    Z = np.where(np.isnan(data.X), np.nanmean(data.X, axis=0), data.X)
    order = np.random.default_rng(0).permutation(len(Z))
    Z = StandardScaler().fit(Z[order[:138]]).transform(Z)[order]
    y = data.y[order]
    return Z[:138], y[:138], Z[138:], y[138:]


@pytest.mark.parametrize(
    "name",
    [
        "breast_cancer",
        pytest.param("wpbc", marks=pytest.mark.data("wpbc")),
        pytest.param("liver", marks=pytest.mark.data("liver")),
    ],
)
def test_the_default_kernels_do_not_memorize(name):
    Z, y, Z_new, _ = parts(name)
    model = SpicyMKLClassifier().fit(Z, y)
    mains = [name for name in model.kernel_names_ if " × " not in name]
    assert 0 < model.active_kernels_.size < len(mains) < 60
    inside = model.contributions(Z).std(axis=0)
    outside = model.contributions(Z_new).std(axis=0)
    # With the paper's dictionary on wpbc the smallest share is below 0.001.
    assert (outside / inside).min() > 0.5


def test_kernels_that_memorize_are_named():
    message = (
        r"FixedWeightsMKLRegressor: 1 of 2 kernels can only memorize.*'gaussian\(sig"
    )
    kernels = [GaussianKernel(1e-3), GaussianKernel(1.0)]
    with pytest.warns(DictionaryWarning, match=message):
        FixedWeightsMKLRegressor(kernels, tol=0.1).fit(X, Y)
    grams = np.stack([np.eye(40), X @ X.T], axis=-1)
    with pytest.warns(DictionaryWarning, match="1 of 2 kernels.*'gram 0'"):
        FixedWeightsMKLRegressor("precomputed", tol=0.1).fit(grams, Y)
    with pytest.warns(DictionaryWarning, match="1 of 2 kernels"):
        LpMKLRegressorCV(kernels, Cs=[1.0], ps=[2.0], cv=2, tol=0.1).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DictionaryWarning)
        FixedWeightsMKLRegressor(kernels[1:], tol=0.1).fit(X, Y)
        FixedWeightsMKLRegressor(tol=0.1).fit(X, Y)


def test_widths_come_from_the_training_samples_alone():
    model = SpicyMKLRegressor(tol=0.1).fit(X[:30], Y[:30])
    names = kernel_names(median_dictionary(X[:30]))
    assert [name for name in model.kernel_names_ if " × " not in name] == names
    assert names != kernel_names(median_dictionary(X))
    # One row is predicted by the widths of the fit.
    both = model.predict(X[30:])
    np.testing.assert_allclose(model.predict(X[30:31]), both[:1], rtol=1e-10)


def test_widths_do_not_come_from_labels():
    y = X[:, 0] > 0.8
    names = kernel_names(median_dictionary(X))
    for labels, class_weight in ((y, None), (y, "balanced"), (~y, {True: 9.0})):
        model = SpicyMKLClassifier(class_weight=class_weight, tol=0.1)
        assert model.fit(X, labels).kernel_names_[: len(names)] == names


def test_a_search_learns_widths_once():
    search = LpMKLRegressorCV(Cs=[1.0], ps=[2.0], cv=2, tol=0.1).fit(X, Y)
    assert search.kernel_names_ == kernel_names(median_dictionary(X))


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_error"])
def test_the_grid_of_c_is_free_of_the_unit_of_targets(loss):
    kernels = [GaussianKernel(1.0), GaussianKernel(2.0)]
    settings = {"ps": [1.0, 2.0, np.inf], "cv": 2, "loss": loss, "tol": 0.1}
    ones = LpMKLRegressorCV(kernels, **settings).fit(X, Y)
    tens = LpMKLRegressorCV(kernels, **settings).fit(X, 10.0 * Y)
    grids = [search.cv_results_["param_C"].astype(float) for search in (ones, tens)]
    np.testing.assert_allclose(grids[1], grids[0])
    expected = np.outer(C_MULTIPLES, 1.0 / 2.0 ** np.array([0.0, 0.5, 1.0]))
    np.testing.assert_allclose(np.sort(grids[0]), np.sort(expected.ravel()))


@pytest.mark.parametrize("normalize", ["variance", None])
def test_the_grid_of_c_follows_the_size_of_kernels(normalize):
    kernels = [GaussianKernel(1.0)] * 3
    labels = Y > 0
    settings = {"ps": [2.0], "cv": 2, "normalize": normalize, "tol": 0.1}
    search = LpMKLClassifierCV(kernels, **settings).fit(X, labels)
    K = kernels[0](X)
    size = 1.0 if normalize == "variance" else 1.0 - K.mean()
    expected = np.array(C_MULTIPLES) / (size * np.sqrt(3.0))
    np.testing.assert_allclose(search.Cs_, expected)
    logistic = LpMKLClassifierCV(kernels, loss="log_loss", **settings).fit(X, labels)
    np.testing.assert_allclose(logistic.Cs_, 4.0 * expected)


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_the_grid_of_c_is_in_units_of_a_loss_of_ones_own():
    squared, insensitive, quarter = (
        LpMKLRegressorCV([GaussianKernel(1.0)], loss=loss, ps=[2.0], cv=2, tol=0.1).fit(
            X, Y
        )
        for loss in (SquaredLoss(), EpsilonInsensitiveLoss(0.1), QuarterSquare())
    )
    np.testing.assert_allclose(insensitive.Cs_, squared.Cs_)
    np.testing.assert_allclose(quarter.Cs_, 2.0 * squared.Cs_)


def test_integers_that_may_be_codes_are_compared_as_well():
    rng = np.random.default_rng(0)
    sizes = (2, 3, 16, 17)
    codes = np.column_stack([rng.integers(0, size, 300) for size in sizes])
    X = np.column_stack([codes, rng.integers(0, 5, 300) + 0.5, rng.normal(size=300)])
    y = rng.normal(size=16)[codes[:, 2]] + 0.1 * rng.normal(size=300)
    model = SpicyMKLRegressor().fit(X, y)
    compared = [name for name in model.kernel_names_ if "category" in name]
    assert compared == ["category()[x1]", "category()[x2]"]
    assert "x1 × x2" in model.kernel_names_
    assert model.score(X, y) > 0.9
    assert model.summary()["kernel"][0] == "category()[x2]"
    assert "category()[x1]" not in FixedWeightsMKLRegressor().fit(X, y).kernel_names_
