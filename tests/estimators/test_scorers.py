"""Scorers of a search see the real validation samples and a fitted model."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import KFold

from multikernel.estimators import (
    FixedWeightsMKLClassifierCV,
    GroupOMPRegressorCV,
    LpMKLClassifierCV,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
    SpicyMKLRegressorCV,
    stack_grams,
)
from multikernel.kernels import GaussianKernel, LinearKernel, ParameterGrid

KERNELS = ParameterGrid([GaussianKernel(1.0), LinearKernel()], [0, 1])
FOLDS = KFold(3)
SEARCHES = [
    SpicyMKLClassifierCV(KERNELS, alphas=[0.1, 0.01], cv=FOLDS),
    LpMKLClassifierCV(KERNELS, Cs=[0.1, 1.0], ps=[2.0], cv=FOLDS),
    FixedWeightsMKLClassifierCV(KERNELS, Cs=[0.1, 1.0], cv=FOLDS),
    SpicyMKLRegressorCV(KERNELS, alphas=[0.1, 0.01], cv=FOLDS),
    GroupOMPRegressorCV(KERNELS, alphas=[0.1, 0.01], max_kernels=2, cv=FOLDS),
]


def data(n=42):
    X = np.random.default_rng(0).standard_normal((n, 2))
    return X, (X[:, 0] ** 2 > 0.5).astype(int)


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
@pytest.mark.parametrize("search", SEARCHES, ids=lambda s: type(s).__name__)
def test_functions_see_the_samples_and_a_model_that_answers_everything(search):
    X, y = data()
    frame, seen = pd.DataFrame(X, columns=["a", "b"]), []

    def score(model, X_test, y_test):
        seen.append((X_test, y_test))
        known, anew = model.predict(X_test), model.predict(X_test.copy())
        assert np.mean(known == anew) > 0.99 or np.allclose(known, anew)
        terms = model.contributions(X_test)
        assert terms.shape == (len(X_test), model.active_kernels_.size)
        assert model.kernel_weights_.shape == (4,)
        assert model.n_features_in_ == 2
        return float(-np.count_nonzero(model.kernel_weights_))

    search = clone(search).set_params(scoring=score)
    search.fit(frame, y)
    folds = [frame.iloc[test] for _, test in FOLDS.split(X)]
    assert len(seen) == 3 * len(search.cv_results_["params"])
    for fold in folds:
        own = sum(X_test.equals(fold) for X_test, _ in seen)
        assert own == len(search.cv_results_["params"])
    for X_test, y_test in seen:
        np.testing.assert_array_equal(y_test, y[X_test.index])
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"], -search.cv_results_["mean_n_active"]
    )


def test_the_model_of_a_fold_is_that_of_a_fit_on_it():
    X, y = data()
    models = []

    def score(model, X_test, y_test):
        models.append(model)
        return 0.0

    SpicyMKLClassifierCV(
        KERNELS, alphas=[0.02], cv=FOLDS, scoring=score, tol=1e-9, refit=False
    ).fit(X, y)
    for model, (train, _) in zip(models, FOLDS.split(X), strict=True):
        alone = SpicyMKLClassifier(KERNELS, 0.02, tol=1e-9).fit(X[train], y[train])
        np.testing.assert_allclose(
            model.decision_function(X), alone.decision_function(X), atol=1e-4
        )
        assert model.objective_ == pytest.approx(alone.objective_, rel=1e-7)


def test_precomputed_matrices_are_sliced_on_both_axes():
    X, y = data()
    grams = stack_grams([KERNELS[m](X, X) for m in range(4)])
    folds = list(FOLDS.split(X))

    def score(model, X_test, y_test):
        assert X_test.shape == (14, 28, 4)
        anew = model.predict(X_test.copy())
        np.testing.assert_array_equal(anew, model.predict(X_test))
        return accuracy_score(y_test, anew)

    search = SpicyMKLClassifierCV("precomputed", alphas=[0.1, 0.01], cv=folds)
    named = clone(search).fit(grams, y)
    own = clone(search).set_params(scoring=score).fit(grams, y)
    np.testing.assert_array_equal(
        own.cv_results_["mean_test_score"], named.cv_results_["mean_test_score"]
    )


def test_made_scorers_get_sample_weights():
    X, y = data()
    weights = np.arange(1.0, 43.0)
    search = SpicyMKLClassifierCV(
        KERNELS, alphas=[0.1, 0.01], cv=FOLDS, scoring=make_scorer(accuracy_score)
    )
    named = clone(search).set_params(scoring="accuracy")
    np.testing.assert_array_equal(
        search.fit(X, y, weights).cv_results_["mean_test_score"],
        named.fit(X, y, weights).cv_results_["mean_test_score"],
    )
