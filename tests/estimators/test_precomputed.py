"""Precomputed Gram matrices: samples first, views, shared copies, checks."""

import copy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.gaussian_process.kernels import PairwiseKernel
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from multikernel.estimators import (
    LpMKLRegressor,
    SpicyMKLClassifier,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
    stack_grams,
)
from multikernel.exceptions import IndefiniteKernelError
from multikernel.gram import build_stack
from multikernel.kernels import (
    FunctionKernel,
    GaussianKernel,
    Grams,
    LinearKernel,
    ListDictionary,
    PolynomialKernel,
)
from multikernel.solvers import SpicyMKL

KERNELS = [GaussianKernel(0.7), GaussianKernel(3.0), PolynomialKernel(2)]


def data(n=60, seed=0):
    X, y = make_classification(
        n, 4, n_informative=3, n_redundant=0, random_state=seed, flip_y=0.05
    )
    return X, y


def grams(X, Y=None):
    return [kernel(X, X if Y is None else Y) for kernel in KERNELS]


def test_stacking_an_array_is_a_view_and_a_list_one_copy():
    K = np.array(grams(data()[0]))
    X = stack_grams(K)
    assert np.shares_memory(X, K)
    assert X.shape == (60, 60, 3)
    np.testing.assert_array_equal(stack_grams(list(K)), X)
    np.testing.assert_array_equal(X[:, :, 1], K[1])


@pytest.mark.parametrize("normalize", [None, "trace", "variance"])
def test_a_fit_on_scaled_matrices_copies_nothing(monkeypatch, normalize):
    X, y = data()
    K = np.array(grams(X))
    seen = []
    solver = "multikernel.solvers.SpicyMKL.solve"
    original = SpicyMKL.solve

    def spy(self, problem, init=None, callback=None):
        gram = problem.gram
        seen.append(gram.array if normalize is None else gram.stack.array)
        return original(self, problem, init, callback)

    monkeypatch.setattr(solver, spy)
    SpicyMKLClassifier("precomputed", normalize=normalize).fit(stack_grams(K), y)
    assert np.shares_memory(seen[0], K)


@pytest.mark.parametrize("normalize", [None, "trace", "variance", "center"])
def test_precomputed_equals_kernels_on_data(normalize):
    X, y = data(90)
    train, test = np.arange(60), np.arange(60, 90)
    weights = np.arange(60) % 4
    on_data = SpicyMKLClassifier(KERNELS, normalize=normalize, tol=1e-6)
    on_data.fit(X[train], y[train], weights)
    on_grams = SpicyMKLClassifier("precomputed", normalize=normalize, tol=1e-6)
    on_grams.fit(stack_grams(grams(X[train])), y[train], weights)
    cross = stack_grams(grams(X[test], X[train]))
    np.testing.assert_allclose(
        on_grams.decision_function(cross),
        on_data.decision_function(X[test]),
        atol=1e-6,
    )
    np.testing.assert_allclose(
        on_grams.contributions(cross), on_data.contributions(X[test]), atol=1e-6
    )
    assert on_grams.n_features_in_ == 60
    assert on_grams.kernel_names_ == ["gram 0", "gram 1", "gram 2"]


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.DictionaryWarning")
def test_scikit_learn_slices_samples_on_two_axes():
    X, y = data()
    blocks = stack_grams(grams(X))
    model = SpicyMKLClassifier("precomputed", tol=1e-8)
    assert get_tags(model).input_tags.pairwise
    assert not get_tags(SpicyMKLClassifier()).input_tags.pairwise
    on_data = SpicyMKLClassifier(KERNELS, tol=1e-8)
    np.testing.assert_allclose(
        cross_val_predict(model, blocks, y, cv=3, method="decision_function"),
        cross_val_predict(on_data, X, y, cv=3, method="decision_function"),
        atol=1e-4,
    )
    pipeline = Pipeline([("model", model)])
    search = GridSearchCV(pipeline, {"model__alpha": [0.01, 0.1]}, cv=3)
    search.fit(blocks, y)
    by_hand = cross_val_score(
        on_data.set_params(alpha=search.best_params_["model__alpha"]), X, y, cv=3
    )
    assert search.best_score_ == pytest.approx(by_hand.mean())


def test_views_of_grams_share_one_matrix_across_folds_and_clones():
    X, y = data()
    kernels = {f"view {k}": Grams(K, 0) for k, K in enumerate(grams(X))}
    model = SpicyMKLClassifier(kernels, tol=1e-8)
    copied = clone(model).kernels
    assert all(copied[name].K is kernels[name].K for name in kernels)
    scores = cross_val_score(model, np.arange(60)[:, None], y, cv=3)
    expected = cross_val_score(SpicyMKLClassifier(KERNELS, tol=1e-8), X, y, cv=3)
    np.testing.assert_allclose(scores, expected)
    fitted = model.fit(np.arange(60)[:, None], y)
    np.testing.assert_allclose(
        copy.copy(fitted).decision_function(np.arange(60)[:, None]),
        SpicyMKLClassifier(KERNELS, tol=1e-8).fit(X, y).decision_function(X),
        atol=1e-4,
    )


def test_single_precision_matrices_are_kept_as_they_come():
    X, y = data()
    single = stack_grams(np.array(grams(X), dtype=np.float32))
    model = SpicyMKLClassifier("precomputed").fit(single, y)
    double = SpicyMKLClassifier("precomputed").fit(stack_grams(grams(X)), y)
    np.testing.assert_allclose(
        model.decision_function(single), double.decision_function(single), atol=1e-2
    )


def wrong(change, K):
    K = np.array(K)
    change(K)
    return stack_grams(K)


def one_entry(K):
    K[1, 3, 7] += 1e-3


def indefinite(K):
    signs = 2.0 * data()[1] - 1.0
    K[2] = 2.0 * np.eye(60) - np.outer(signs, signs)


def huge(K):
    K[2, 3, 3] = 1e101


def huge_pair(K):
    K[2, 3, 7] = K[2, 7, 3] = -1e308


def negative(K):
    K[2][4, 4] = -0.25


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda K: K[0], "three dimensions.*Make X .*stack_grams"),
        (lambda K: stack_grams(K)[:50], r"must be square.*\(50, 60, 3\)"),
        (lambda K: stack_grams(K)[:, :, :0], "has no Gram matrix"),
        (lambda K: wrong(one_entry, K), r"Gram matrix 1 is not symmetric.*\[(3|7), "),
        (lambda K: wrong(lambda K: K.fill(np.nan), K), "contains NaN"),
        (lambda K: wrong(huge, K), r"1e\+101 at \[3, 3\] of Gram .* too large"),
        (lambda K: wrong(huge_pair, K), r"-1e\+308 at \[3, 7\] of Gram .* too large"),
    ],
)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_bad_matrices_get_a_sentence(make, message):
    X, y = data()
    with pytest.raises(ValueError, match=message):
        SpicyMKLClassifier("precomputed").fit(make(grams(X)), y)


def test_an_indefinite_matrix_is_named_when_it_is_met():
    X, y = data()
    with pytest.raises(IndefiniteKernelError, match="Gram matrix 2 is not positive"):
        SpicyMKLClassifier("precomputed", normalize=None).fit(
            wrong(indefinite, grams(X)), y
        )


def test_a_negative_diagonal_is_found_at_once():
    X, y = data()
    with pytest.raises(IndefiniteKernelError, match=r"matrix 2 .* \[4, 4\] is -0.25"):
        SpicyMKLClassifier("precomputed").fit(wrong(negative, grams(X)), y)


def test_other_matrices_at_prediction_are_refused():
    X, y = data()
    blocks = stack_grams(grams(X))
    model = SpicyMKLClassifier("precomputed").fit(blocks, y)
    for other in (blocks[:, :40], blocks[:, :, :2]):
        with pytest.raises(ValueError, match=r"shape \(n_samples, 60, 3\)"):
            model.predict(other)


def test_cosines_of_new_samples_cannot_be_known():
    X, y = data()
    with pytest.raises(ValueError, match="'cosine' requires k"):
        SpicyMKLRegressor("precomputed", normalize="cosine").fit(
            stack_grams(grams(X)), y
        )


@pytest.mark.parametrize(
    ("matrices", "message"),
    [
        ([], "at least one Gram matrix"),
        ([np.eye(3), np.eye(4)], r"Gram matrix 1 has shape \(4, 4\)"),
        ([np.ones(3)], r"0 must be two-dimensional, got shape \(3,\)"),
        ([np.eye(3), np.ones(3)], "1 must be two-dimensional"),
    ],
)
def test_stacking_refuses_what_does_not_fit(matrices, message):
    with pytest.raises(ValueError, match=message):
        stack_grams(matrices)


def test_the_built_stack_equals_the_normalized_kernels():
    X, y = data()
    model = SpicyMKLClassifier("precomputed", normalize="variance").fit(
        stack_grams(grams(X)), y
    )
    built = build_stack(ListDictionary(KERNELS), X, normalize="variance")
    m = int(model.active_kernels_[0])
    K = built.stack.columns(np.arange(60))[m]
    term = K @ model._state.model.coefs[0, :, 0]
    np.testing.assert_allclose(
        model.contributions(stack_grams(grams(X)))[:, 0], term, atol=1e-10
    )


def test_an_indefinite_kernel_of_a_dictionary_is_named():
    X = np.random.default_rng(0).standard_normal((60, 4))
    kernels = [GaussianKernel(2.0), PairwiseKernel(metric="sigmoid")]
    with pytest.raises(IndefiniteKernelError, match=r"Pairwise.*Gram matrix 1 is not"):
        SpicyMKLRegressor(kernels, alpha=0.02).fit(X, np.sin(X[:, 0]))


@pytest.mark.parametrize("kind", [SpicyMKLClassifier, SpicyMKLRegressor])
def test_a_matrix_that_is_indefinite_along_constants_is_named(kind):
    X = np.random.default_rng(0).standard_normal((60, 5))
    y = np.where(X[:, 0] + X[:, 1] > 0, 1, 0)

    def shifted(A, B):
        return A @ B.T - 5.0

    kernels = [FunctionKernel(shifted), LinearKernel()]
    message = r"shifted.*: Gram matrix 0 is not positive semidefinite: .* eigenvalue"
    with pytest.raises(IndefiniteKernelError, match=message):
        kind(kernels, normalize="trace").fit(X, y)


@pytest.mark.parametrize(
    "model",
    [
        SpicyMKLRegressor(),
        SpicyMKLRegressorCV(n_alphas=3, cv=3),
        LpMKLRegressor(C=100.0, loss="squared_error"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_matrix_that_rounding_made_indefinite_is_named(model):
    X = np.random.default_rng(0).standard_normal((60, 4))
    gaussian = GaussianKernel(0.7)(X)
    kernels = {"sound": Grams(X @ X.T, 0), "coarse": Grams(gaussian.round(), 0)}
    numbers = np.arange(60.0)[:, None]
    with pytest.raises(IndefiniteKernelError, match=r"coarse.*: Gram matrix 1 is not"):
        model.set_params(kernels=kernels).fit(numbers, X[:, 0] + X[:, 1] ** 2)
