"""Machines on sums of kernels whose weights are given, or computed by a rule."""

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import SVC

from multikernel import load, save
from multikernel.estimators import (
    FixedWeightsMKLClassifier,
    FixedWeightsMKLClassifierCV,
    FixedWeightsMKLRegressor,
)
from multikernel.gram import build_stack
from multikernel.kernels import GaussianKernel, LinearKernel, ParameterGrid
from multikernel.solvers import alignment_weights

KERNELS = ParameterGrid([GaussianKernel(1.0), LinearKernel()], range(2))
WEIGHTS = [0.0, 2.0, 0.5, 1.0]


def problem(n=40):
    random = np.random.default_rng(0)
    X = random.standard_normal((n, 2))
    return X, np.where(X[:, 0] + 0.5 * random.standard_normal(n) > 0, "yes", "no")


def greedy(gram, y, sample_weight, most=1):
    return alignment_weights(gram, y, sample_weight, method="greedy", max_kernels=most)


def test_given_weights_are_those_of_the_machine():
    X, y = problem()
    settings = {"C": 1.0, "normalize": None, "tol": 1e-8}
    model = FixedWeightsMKLClassifier(KERNELS, kernel_weights=WEIGHTS, **settings)
    model.fit(X, y)
    K = np.tensordot(WEIGHTS, build_stack(KERNELS, X, storage="dense").stack.array, 1)
    machine = SVC(kernel="precomputed", tol=1e-6).fit(K, y)
    np.testing.assert_allclose(
        model.decision_function(X), machine.decision_function(K), atol=1e-3
    )
    np.testing.assert_array_equal(model.kernel_weights_, WEIGHTS)
    assert model.duality_gap_ <= 1e-8
    assert not hasattr(model, "machine_gap_")


def test_equal_weights_that_are_given_are_the_uniform_ones():
    X, _ = problem()
    y = np.sin(2.0 * X[:, 0])
    uniform = FixedWeightsMKLRegressor(KERNELS, tol=1e-8).fit(X, y)
    given = FixedWeightsMKLRegressor(KERNELS, kernel_weights=np.ones(4), tol=1e-8)
    given.fit(X, y)
    assert pytest.approx(uniform.C_) == given.C_
    np.testing.assert_allclose(given.predict(X), uniform.predict(X), atol=1e-4)


def test_a_larger_sum_of_weights_has_a_smaller_standard_strength():
    X, _ = problem()
    one, ten = (
        FixedWeightsMKLRegressor(
            KERNELS, kernel_weights=size * np.array(WEIGHTS), normalize="variance"
        ).fit(X, X[:, 0])
        for size in (1.0, 10.0)
    )
    assert one.C_ / X[:, 0].std() == pytest.approx(2.0 / sum(WEIGHTS))
    assert pytest.approx(one.C_ / 10.0) == ten.C_
    np.testing.assert_allclose(ten.predict(X), one.predict(X), atol=5e-3)


def test_a_function_gets_its_parameters():
    X, y = problem()
    for most in (1, 2):
        own = FixedWeightsMKLClassifier(
            KERNELS, kernel_weights=greedy, weight_params={"most": most}
        ).fit(X, y)
        named = FixedWeightsMKLClassifier(
            KERNELS,
            kernel_weights="alignment",
            weight_params={"method": "greedy", "max_kernels": most},
        ).fit(X, y)
        np.testing.assert_allclose(own.kernel_weights_, named.kernel_weights_)
        assert own.active_kernels_.size == most
        assert np.isnan(own.duality_gap_)


@pytest.mark.parametrize("weights", ["alignment", "easy", WEIGHTS])
def test_a_search_chooses_the_strength_for_any_weights(weights):
    X, y = problem()
    grid = [0.01, 0.1, 1e3, 1e4]
    search = FixedWeightsMKLClassifierCV(KERNELS, kernel_weights=weights, Cs=grid, cv=3)
    search.fit(X, y)
    single = FixedWeightsMKLClassifier(KERNELS, search.C_, kernel_weights=weights)
    single.fit(X, y)
    np.testing.assert_allclose(
        search.decision_function(X), single.decision_function(X), atol=2e-2
    )
    np.testing.assert_allclose(search.kernel_weights_, single.kernel_weights_)


def test_single_kernels_have_all_strengths():
    X, y = problem()
    settings = {"kernel_weights": "single", "Cs": [0.01, 0.1, 1.0], "cv": 3}
    model = FixedWeightsMKLClassifierCV(KERNELS, **settings).fit(X, y)
    results = model.cv_results_
    assert len(results["params"]) == 12
    assert model.best_params_ == {"kernel": model.kernel_, "C": model.C_}
    assert model.path_.objectives.size <= 3
    assert model.kernel_weights_[model.kernel_] == 1.0
    assert model.kernel_weights_.sum() == 1.0


def test_a_saved_model_has_its_weights(tmp_path):
    X, y = problem()
    model = FixedWeightsMKLClassifier(KERNELS, kernel_weights=np.array(WEIGHTS))
    save(model.fit(X, y), tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.kernel_weights, WEIGHTS)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"kernel_weights": "best"},
            "must be one of 'uniform', 'alignment', 'easy', a",
        ),
        ({"kernel_weights": [1.0, -1.0, 0.0, 0.0]}, "numbers of at least 0"),
        ({"kernel_weights": np.zeros(4)}, "not all of them 0"),
        ({"kernel_weights": pd.Series(WEIGHTS, list("abcd"))}, "labels of a Series"),
        ({"kernel_weights": [1.0, 2.0]}, r"per kernel \(n_kernels=4\)"),
        ({"kernel_weights": lambda *_: "no"}, "must be finite, nonnegative"),
        ({"weight_params": {"method": "joint"}}, "'uniform' is not a rule"),
        ({"weight_params": 0.2}, "weight_params must be None or a dict"),
        (
            {"kernel_weights": len},
            "must be callable as rule.gram, y, sample_weight., but",
        ),
        (
            {"kernel_weights": int},
            "must be callable as rule.gram, y, sample_weight., but",
        ),
        (
            {"kernel_weights": lambda gram, y, weights, power: [1.0] * 4},
            "missing a required argument: 'power'.*a value for each required argument",
        ),
        (
            {"kernel_weights": "easy", "weight_params": {"lam": 0.1}},
            "got an unexpected keyword argument 'lam'",
        ),
        (
            {"kernel_weights": "easy", "weight_params": {"regularization": 2.0}},
            "regularization must be a finite number in",
        ),
        (
            {"kernel_weights": "alignment", "weight_params": {"method": "best"}},
            "method must be one of 'independent', 'joint', 'greedy'",
        ),
    ],
)
def test_wrong_weights_are_a_sentence(settings, said):
    X, y = problem()
    with pytest.raises(ValueError, match=said):
        FixedWeightsMKLClassifier(KERNELS, **settings).fit(X, y)


def test_a_regressor_has_no_rule_for_classes():
    X, _ = problem()
    model = FixedWeightsMKLRegressor(KERNELS, kernel_weights="easy")
    with pytest.raises(ValueError, match="one of 'uniform', 'alignment', a function"):
        model.fit(X, X[:, 0])
