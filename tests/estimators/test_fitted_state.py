"""What a fitted estimator answers depends on the fit alone."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from multikernel.estimators import (
    FixedWeightsMKLClassifierCV,
    GroupOMPClassifier,
    GroupOMPClassifierCV,
    LpMKLClassifier,
    LpMKLClassifierCV,
    MKLClassifier,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
    stack_grams,
)
from multikernel.exceptions import DictionaryWarning, SearchWarning
from multikernel.kernels import GaussianKernel, LinearKernel, ParameterGrid

KERNELS = ParameterGrid([GaussianKernel(1.0), LinearKernel()], [0, 1])


class CountedGrid(ParameterGrid):
    """Counts how often a kernel is made."""

    made = 0

    def __getitem__(self, index):
        type(self).made += 1
        return super().__getitem__(index)


def data(n=40):
    X = np.random.default_rng(0).standard_normal((n, 2))
    return X, np.where(X[:, 0] ** 2 > 0.5, "far", "near")


@pytest.mark.parametrize(
    "model",
    [
        SpicyMKLClassifier(KERNELS),
        LpMKLClassifier(KERNELS),
        GroupOMPClassifier(KERNELS),
        MKLClassifier(KERNELS),
        SpicyMKLClassifierCV(KERNELS, n_alphas=3, cv=2),
        GroupOMPClassifierCV(KERNELS, alphas=[0.1], cv=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_parameters_set_after_a_fit_change_no_answer(model):
    X, y = data()
    model = clone(model).set_params(loss="log_loss").fit(X, y)
    f, p, names = (
        model.decision_function(X),
        model.predict_proba(X),
        model.kernel_names_,
    )
    changes = {"kernels": "precomputed", "loss": "hinge", "normalize": None}
    changes |= {name: False for name in ("refit",) if name in model.get_params()}
    model.set_params(**changes)
    np.testing.assert_array_equal(model.decision_function(X), f)
    np.testing.assert_array_equal(model.predict_proba(X), p)
    assert model.kernel_names_ == names


def test_a_hinge_fit_has_no_probabilities_whatever_the_parameters_say():
    X, y = data()
    model = SpicyMKLClassifier(KERNELS, loss="hinge").fit(X, y)
    model.set_params(loss="log_loss")
    with pytest.raises(AttributeError, match="predict_proba"):
        model.predict_proba(X)


@pytest.mark.parametrize(
    "search",
    [
        SpicyMKLClassifierCV(KERNELS, n_alphas=3, cv=2),
        LpMKLClassifierCV(KERNELS, Cs=[0.1, 1.0], ps=[1.0, 2.0], cv=2),
        FixedWeightsMKLClassifierCV(KERNELS, Cs=[0.1, 1.0], cv=2),
        GroupOMPClassifierCV(KERNELS, alphas=[0.1], cv=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_search_without_refit_forgets_the_model_of_an_earlier_fit(search):
    X, y = data()
    search = clone(search).fit(X, y)
    search.set_params(refit=False).fit(X, np.where(y == "far", "near", "far"))
    search.set_params(refit=True)
    for ask in (search.predict, search.decision_function, search.contributions):
        with pytest.raises(NotFittedError, match="refit=False"):
            ask(X)
    assert not hasattr(search, "kernel_weights_")


def test_precomputed_models_stay_so():
    X, y = data()
    grams = stack_grams([X @ X.T, np.exp(-((X[:, None] - X) ** 2).sum(-1))])
    model = SpicyMKLClassifier("precomputed").fit(grams, y)
    f = model.decision_function(grams)
    model.set_params(kernels=None)
    np.testing.assert_array_equal(model.decision_function(grams), f)


def test_kernel_names_are_made_once():
    X, y = data()
    kernels = CountedGrid([GaussianKernel(1.0), LinearKernel()], [0, 1])
    model = SpicyMKLClassifier(kernels).fit(X, y)
    names = model.kernel_names_
    before = CountedGrid.made
    assert model.kernel_names_ == names
    assert CountedGrid.made == before
    names.append("mine")
    assert len(model.kernel_names_) == 4


@pytest.mark.parametrize(
    "model",
    [SpicyMKLClassifier(KERNELS, 1e6), SpicyMKLClassifierCV(KERNELS, alphas=[1e6])],
    ids=type,
)
def test_a_start_that_is_optimal_counts_as_an_iteration(model):
    X, y = data()
    with pytest.warns((DictionaryWarning, SearchWarning), match="kernel"):
        model.fit(X, y)
    assert model.active_kernels_.size == 0
    assert np.all(np.asarray(model.n_iter_) == 1)
