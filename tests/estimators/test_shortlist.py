"""Folds over a short list of all interactions: near the exact paths, and honest."""

from dataclasses import replace

import numpy as np
import pytest

from multikernel import (
    GroupOMPRegressorCV,
    SpicyMKLClassifierCV,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
)
from multikernel.estimators.grams import shortlist
from multikernel.gram import DenseStack, costs
from multikernel.kernels import Interactions
from multikernel.losses import SquaredLoss
from multikernel.problem import Problem
from multikernel.regularizers import BlockL1
from multikernel.solvers import SpicyMKL

PAIRS = Interactions(weight=1.0)


@pytest.fixture(autouse=True)
def _products_are_not_written_down(monkeypatch):
    monkeypatch.setattr(costs, "WRITTEN", 0)


def product_of_columns(n=120, d=15):
    """Targets of one column and one product among many columns."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n, d))
    return X, X[:, 1] + X[:, 2] * X[:, 3] + 0.3 * random.normal(size=n)


@pytest.mark.filterwarnings("ignore:.*smallest value in the grid")  # scores are flat
@pytest.mark.parametrize("kind", ["regression", "two classes", "three classes"])
def test_paths_are_near_those_over_all_kernels(kind, monkeypatch):
    X, y = product_of_columns()
    search = SpicyMKLRegressorCV(PAIRS, cv=3, n_alphas=8)
    if kind != "regression":
        search = SpicyMKLClassifierCV(PAIRS, cv=3, n_alphas=8)
        y = np.digitize(y, [0.0] if kind == "two classes" else [-0.7, 0.7])
    listed = search.fit(X, y)
    assert np.max(listed.duality_gap_) <= listed.tol
    scores, best = listed.cv_results_["mean_test_score"], listed.best_score_
    monkeypatch.setattr(shortlist, "N_LISTED", 10_000)
    exact = search.fit(X, y)
    known = np.isfinite(scores) & np.isfinite(exact.cv_results_["mean_test_score"])
    assert known.sum() >= 4
    np.testing.assert_allclose(
        scores[known], exact.cv_results_["mean_test_score"][known], atol=0.05
    )
    assert best == pytest.approx(exact.best_score_, abs=0.03)


def test_the_model_is_proved_over_all_interactions():
    X, y = product_of_columns()
    search = SpicyMKLRegressorCV(PAIRS, cv=3, n_alphas=8).fit(X, y)
    alone = SpicyMKLRegressor(PAIRS, alpha=search.alpha_, tol=1e-6).fit(X, y)
    assert len(search.kernel_weights_) == len(alone.kernel_weights_) > 100
    assert search.objective_ <= alone.objective_ * (1.0 + search.tol)
    assert "x2 × x3" in list(search.summary()["kernel"][:2])
    *way, last = search.path_.duality_gaps[0]
    assert np.isnan(way).all()
    assert last == search.duality_gap_ <= search.tol


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))]
)
def test_noise_among_two_thousand_pairs_scores_at_chance(seed):
    """The list is made from each fold's training samples alone."""
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(80, 64)), random.normal(size=80)
    search = SpicyMKLRegressorCV(PAIRS, cv=4, n_alphas=8).fit(X, y)
    assert len(search.kernel_weights_) > 2000
    assert search.best_score_ < 0.1
    labels = random.permutation(np.repeat([0, 1], 40))
    classified = SpicyMKLClassifierCV(PAIRS, cv=4, n_alphas=8).fit(X, labels)
    assert classified.best_score_ < 0.66


def test_the_list_has_the_kernels_in_use():
    stack = DenseStack(np.arange(100.0)[:, None, None] * np.ones((100, 2, 2)))
    problem = Problem(stack, np.array([1.0, -3.0]), SquaredLoss(), BlockL1(1.0))
    model = replace(SpicyMKL().solve(problem), active=np.array([0, 3]))
    listed = shortlist.shortlist(stack, np.ones(2), [model, None], 20)
    assert listed.tolist() == [0, 3, *range(80, 100)]
    first = shortlist.shortlist(stack, np.ones(2), [], 20)
    assert first.tolist() == [*range(80, 100)]


@pytest.mark.filterwarnings("ignore:.*the largest value in the grid:UserWarning")
def test_greedy_folds_select_from_a_list_and_the_model_from_all(monkeypatch):
    X, y = product_of_columns()
    search = GroupOMPRegressorCV(PAIRS, cv=3, max_kernels=3).fit(X, y)
    scores, best = search.cv_results_["mean_test_score"], search.best_params_
    assert len(search.kernel_weights_) > 100
    names = [search.kernel_names_[m] for m in search.active_kernels_]
    assert "x2 × x3" in names
    monkeypatch.setattr(shortlist, "N_GREEDY", 10_000)
    exact = search.fit(X, y)
    np.testing.assert_allclose(scores, exact.cv_results_["mean_test_score"], atol=1e-6)
    assert best == exact.best_params_


def test_classes_share_one_list_and_one_pass(monkeypatch):
    X, y = product_of_columns()
    classes = np.digitize(y, [-1.5, -0.5, 0.5, 1.5])
    sizes = []
    listed_of = shortlist.shortlist

    def counted(stack, dual, models, most):
        sizes.append((dual.shape[1], len(models)))
        return listed_of(stack, dual, models, most)

    monkeypatch.setattr(shortlist, "shortlist", counted)
    search = SpicyMKLClassifierCV(PAIRS, cv=2, n_alphas=6)
    together = search.fit(X, classes).cv_results_["mean_test_score"]
    assert set(sizes) == {(5, 5)}
    passes = len(sizes)
    sizes.clear()
    monkeypatch.setattr(shortlist, "MAX_SHARING", 2)
    apart = search.fit(X, classes).cv_results_["mean_test_score"]
    assert set(sizes) == {(2, 2), (1, 1)}
    assert len(sizes) == 3 * passes
    known = np.isfinite(together) & np.isfinite(apart)
    np.testing.assert_allclose(together[known], apart[known], atol=0.05)
