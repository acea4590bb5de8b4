"""One selection for all classes, by losses that take them at once."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from multikernel.certificates import decision_values
from multikernel.estimators import (
    LocalRademacherMKLClassifier,
    LpMKLClassifier,
    LpMKLClassifierCV,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
)
from multikernel.gram import DenseStack
from multikernel.kernels import ColumnKernel, GaussianKernel
from multikernel.losses import SoftmaxLoss
from multikernel.persistence import load, save
from multikernel.problem import Problem
from multikernel.regularizers import BlockL1, SquaredBlockNorm
from multikernel.solvers import Alternating, SpicyMKL

X, LABELS = load_iris(return_X_y=True)
X, LABELS = (X - X.mean(axis=0))[::5], np.array(["a", "b", "c"])[LABELS[::5]]
KERNELS = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
MANY = np.stack([LABELS != "a", LABELS == "c", X[:, 1] > 0.0], axis=1).astype(int)

each_target = pytest.mark.parametrize(
    ("loss", "y"),
    [("log_loss", LABELS), ("hinge", LABELS), ("log_loss", MANY)],
    ids=["softmax", "crammer_singer", "labels"],
)


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
@pytest.mark.parametrize(
    "model",
    [
        SpicyMKLClassifier(alpha=0.01, selection="shared"),
        LpMKLClassifier(selection="shared"),
        LocalRademacherMKLClassifier(theta=2, selection="shared"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_all_classes_share_one_choice_of_kernels(model, loss):
    model.set_params(loss=loss).fit(X, LABELS)
    assert model.kernel_weights_.shape == (len(model.kernel_names_),)
    assert model.duality_gap_ <= model.tol
    decision = model.decision_function(X)
    assert decision.shape == (len(X), 3)
    np.testing.assert_array_equal(
        model.predict(X), model.classes_[decision.argmax(axis=1)]
    )
    if loss == "log_loss":
        shares = np.exp(decision - decision.max(axis=1, keepdims=True))
        np.testing.assert_allclose(
            model.predict_proba(X), shares / shares.sum(axis=1, keepdims=True)
        )


@each_target
@pytest.mark.parametrize("kind", [SpicyMKLClassifier, LpMKLClassifier])
def test_shared_models_survive_a_file(kind, loss, y, tmp_path):
    pytest.importorskip("skops")
    model = kind(KERNELS, loss=loss, selection="shared").fit(X, y)
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.contributions(X), model.contributions(X))
    np.testing.assert_array_equal(again.dual_coef_, model.dual_coef_)
    assert again.output_names_ == model.output_names_
    assert again.duality_gap_ == model.duality_gap_
    if loss == "log_loss":
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@each_target
@pytest.mark.parametrize(
    ("search", "single"),
    [
        (SpicyMKLClassifierCV(alphas=[0.1, 0.01]), SpicyMKLClassifier),
        (LpMKLClassifierCV(Cs=[0.1, 1.0], ps=[2.0]), LpMKLClassifier),
    ],
    ids=["spicy", "lp"],
)
def test_searches_score_what_single_models_do_on_their_folds(search, single, loss, y):
    odd = np.arange(len(X)) % 2 == 1
    folds = [(np.flatnonzero(odd), np.flatnonzero(~odd))]
    search = clone(search).set_params(
        kernels=KERNELS, loss=loss, selection="shared", cv=folds, tol=1e-5
    )
    search.fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    for params, score in zip(search.cv_results_["params"], scores, strict=True):
        model = single(KERNELS, loss=loss, selection="shared", tol=1e-5, **params)
        model.fit(X[odd], y[odd])
        assert score == pytest.approx(model.score(X[~odd], y[~odd]))
    best = single(
        KERNELS, loss=loss, selection="shared", tol=1e-5, **search.best_params_
    ).fit(X, y)
    np.testing.assert_allclose(
        search.decision_function(X), best.decision_function(X), atol=0.02
    )


@pytest.mark.parametrize("selection", ["shared", "separate"])
def test_two_classes_are_those_of_the_softmax_with_matching_strength(selection):
    pair = LABELS != "c"
    y = (LABELS[pair] == "b").astype(int)
    grams = np.stack([gaussian(X[pair, k]) for k in range(4)])
    sparse = SpicyMKLClassifier(
        "precomputed",
        alpha=0.02,
        loss="log_loss",
        selection=selection,
        normalize=None,
        tol=1e-8,
    )
    dense = LpMKLClassifier(
        "precomputed",
        C=2.0,
        loss="log_loss",
        selection=selection,
        normalize=None,
        tol=1e-8,
    )
    cases = (
        (sparse, SpicyMKL(tol=1e-8), BlockL1(0.02 * np.sqrt(2.0) * len(y))),
        (dense, Alternating(tol=1e-8), SquaredBlockNorm(1.0, 2.0)),
    )
    for model, solver, penalty in cases:
        problem = Problem(DenseStack(grams), np.eye(2)[y], SoftmaxLoss(), penalty)
        both = decision_values(problem, solver.solve(problem))
        found = model.fit(grams.transpose(1, 2, 0), y).decision_function(
            grams.transpose(1, 2, 0)
        )
        np.testing.assert_allclose(found, both[:, 1] - both[:, 0], atol=2e-3)


def gaussian(x):
    return np.exp(-0.5 * (x[:, None] - x[None, :]) ** 2)
