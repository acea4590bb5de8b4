"""The best single kernel, against a loop over kernels and folds."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

from multikernel.estimators import (
    FixedWeightsMKLClassifier,
    FixedWeightsMKLClassifierCV,
    FixedWeightsMKLRegressor,
    FixedWeightsMKLRegressorCV,
)
from multikernel.kernels import GaussianKernel, LinearKernel, ParameterGrid

KERNELS = ParameterGrid([GaussianKernel(1.0), LinearKernel()], range(3))


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.DictionaryWarning")
@pytest.mark.parametrize("storage", ["dense", "low_rank"])
@pytest.mark.parametrize("classify", [False, True])
def test_scores_are_those_of_every_kernel_alone(classify, storage):
    random = np.random.default_rng(0)
    X = random.standard_normal((60, 3))
    y = np.sin(2.0 * X[:, 1]) + 0.3 * random.standard_normal(60)
    search, alone = FixedWeightsMKLRegressorCV, FixedWeightsMKLRegressor
    cv = KFold(3)
    if classify:
        y = np.where(y > 0, "high", "low")
        search, alone = FixedWeightsMKLClassifierCV, FixedWeightsMKLClassifier
        cv = StratifiedKFold(3)
    settings = {"tol": 1e-7, "storage": storage, "normalize": "variance"}
    model = search(KERNELS, kernel_weights="single", Cs=[2.0], cv=cv, **settings)
    model.fit(X, y)
    expected = [
        cross_val_score(alone([kernel], 2.0, **settings), X, y, cv=cv).mean()
        for kernel in KERNELS
    ]
    np.testing.assert_allclose(
        model.cv_results_["mean_test_score"], expected, atol=2e-3
    )
    best = int(np.argmax(model.cv_results_["mean_test_score"]))
    assert model.kernel_ == best == model.best_params_["kernel"]
    np.testing.assert_array_equal(model.active_kernels_, [best])
    whole = alone([KERNELS[best]], 2.0, **settings).fit(X, y)
    for found, other in zip(
        model.contributions(X).T, whole.contributions(X).T, strict=True
    ):
        np.testing.assert_allclose(found, other, atol=1e-3)
    assert model.duality_gap_ <= 1e-7


def test_a_search_may_stop_at_the_choice():
    X = np.random.default_rng(0).standard_normal((40, 3))
    model = FixedWeightsMKLRegressorCV(
        KERNELS, kernel_weights="single", cv=2, refit=False
    ).fit(X, X[:, 0])
    assert model.best_params_["kernel"] in (0, 1)
    assert not hasattr(model, "kernel_weights_")
