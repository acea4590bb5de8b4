"""Searches: rare classes, equal scores, and what is said of a choice."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, StratifiedKFold

from multikernel import estimators
from multikernel.estimators import (
    FixedWeightsMKLClassifierCV,
    FixedWeightsMKLRegressorCV,
    GroupOMPClassifierCV,
    GroupOMPRegressorCV,
    HKLClassifierCV,
    HKLRegressorCV,
    LocalRademacherMKLClassifierCV,
    LocalRademacherMKLRegressorCV,
    LpMKLClassifier,
    LpMKLClassifierCV,
    LpMKLRegressorCV,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
    SpicyMKLOrdinalCV,
    SpicyMKLRegressorCV,
    SpicyMKLSurvivalCV,
)
from multikernel.estimators.search.choice import best_candidate
from multikernel.estimators.search.scores import round_digits
from multikernel.estimators.search.search import loosen_tol
from multikernel.exceptions import SearchWarning
from multikernel.kernels import GaussianKernel

KERNELS = [GaussianKernel(0.7), GaussianKernel(2.0)]

SEARCHES = [
    SpicyMKLClassifierCV(KERNELS, alphas=[0.1, 0.01]),
    SpicyMKLClassifierCV(KERNELS, alphas=[0.1, 0.01], selection="shared"),
    SpicyMKLClassifierCV(KERNELS, alphas=[0.1, 0.01], loss="hinge", n_jobs=2),
    LpMKLClassifierCV(KERNELS, Cs=[0.1, 1.0], ps=[2.0], class_weight={2: 3.0}),
    FixedWeightsMKLClassifierCV(KERNELS, Cs=[0.1, 1.0], class_weight="balanced"),
    LocalRademacherMKLClassifierCV(KERNELS, Cs=[0.1], thetas=[0, 2]),
    GroupOMPClassifierCV(KERNELS, alphas=[0.1]),
    HKLClassifierCV(alphas=[0.01]),
    FixedWeightsMKLClassifierCV(KERNELS, kernel_weights="single", Cs=[1.0]),
]


def rare(members=1, n=41, seed=0):
    """Return two classes of the same size, and one with few members."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, 2))
    y = (X[:, 0] + 0.3 * random.standard_normal(n) > 0.0).astype(int)
    y[:members] = 2
    return X, y


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("search", SEARCHES, ids=lambda s: type(s).__name__)
def test_a_class_with_fewer_members_than_folds_does_not_end_a_search(search):
    X, y = rare()
    with pytest.warns(SearchWarning, match=r"training set of fold \d of cv lacks a"):
        search.fit(X, y)
    assert search.n_splits_ == 5
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert np.isfinite(search.cv_results_["mean_test_loss"]).all()
    np.testing.assert_array_equal(search.classes_, [0, 1, 2])
    assert search.decision_function(X).shape == (len(X), 3)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("selection", ["shared", "separate"])
def test_the_scores_of_a_fold_without_a_class_are_those_of_a_fit_without_it(selection):
    X, y = rare()
    # scikit-learn's log loss asks for all classes among the validation samples.
    folds = StratifiedKFold(3).split(X, y)
    splits = [(train, test) for train, test in folds if 2 not in y[train]]
    settings = {"selection": selection, "tol": 1e-6}
    search = SpicyMKLClassifierCV(
        KERNELS, alphas=[0.1, 0.01], cv=splits, scoring="neg_log_loss", **settings
    ).fit(X, y)
    train, test = splits[0]
    for place, alpha in enumerate(search.alphas_):
        model = SpicyMKLClassifier(KERNELS, alpha, **settings).fit(X[train], y[train])
        P = np.hstack([model.predict_proba(X[test]), np.zeros((len(test), 1))])
        expected = -log_loss(y[test], P, labels=[0, 1, 2])
        found = search.cv_results_["split0_test_score"][place]
        assert found == pytest.approx(expected, abs=1e-3)


@pytest.mark.filterwarnings("ignore:.*share samples")
def test_three_classes_of_four_keep_their_values():
    X, y = rare()
    y[5:20] = 3
    splits = [(np.arange(1, 41), np.arange(10)), (np.arange(41), np.arange(30, 41))]
    seen = []

    def score(model, X, y):
        seen.append((model.decision_function(X), model.predict(X), model.classes_))
        return float(np.mean(model.predict(X) == y))

    search = LpMKLClassifierCV(KERNELS, Cs=[1.0], ps=[2.0], cv=splits, scoring=score)
    with pytest.warns(SearchWarning, match="lacks a class"):
        search.fit(X, y)
    values, labels, classes = seen[0]
    alone = LpMKLClassifier(KERNELS, C=1.0, tol=search.fit_info_["cv_tol"]).fit(
        X[1:], y[1:]
    )
    np.testing.assert_array_equal(classes, [0, 1, 2, 3])
    np.testing.assert_allclose(
        values[:, [0, 1, 3]], alone.decision_function(X[:10]), atol=0.05
    )
    assert (values[:, 2] < values[:, [0, 1, 3]].min(axis=1)).all()
    assert 2 not in labels


def test_a_fold_with_one_class_to_learn_from_is_left_out():
    X, y = rare()
    y = (y == 2).astype(int)
    search = SpicyMKLClassifierCV(KERNELS, alphas=[0.1, 0.01])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X, y)
    ours = [w for w in caught if w.category is SearchWarning]
    assert {w.filename for w in ours} == {__file__}
    said = [str(w.message) for w in ours]
    left_out = "fold 0 of cv is skipped because its training set contains no sample"
    assert any(left_out in text for text in said)
    assert search.n_splits_ == 4


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("selection", ["shared", "separate"])
def test_a_rare_label_does_not_end_a_search(selection):
    X, y = rare()
    labels = np.column_stack([y == 1, np.arange(41) == 0, np.arange(41) != 3])
    search = SpicyMKLClassifierCV(
        KERNELS, alphas=[0.1, 0.01], cv=KFold(3), selection=selection
    )
    with pytest.warns(SearchWarning, match="training set of fold 0 of cv lacks"):
        search.fit(X, labels.astype(int))
    assert search.n_splits_ == 3
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    search.set_params(cv=[([1, 2, 4, 5, 6, 7], [0, 3])])
    with pytest.warns(SearchWarning, match="training set of fold 0 of cv lacks"):
        search.fit(X, labels.astype(int))


def events(seed=0, n=150):
    """Return 18 % events that hardly depend on the data."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, 3))
    risk = X[:, 0] + 2.0 * random.standard_normal(n)
    return X, (risk > np.quantile(risk, 0.82)).astype(int)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("loss", ["log_loss", "hinge", "squared_error"])
@pytest.mark.parametrize("outputs", ["two", "three", "shared", "labels"])
def test_equal_scores_go_to_the_better_loss(loss, outputs):
    X, y = events(n=40)
    if outputs == "labels":
        y = np.column_stack([y, X[:, 1] > 0.0])
    elif outputs != "two":
        y = y + (X[:, 1] > 0.0)
    search = SpicyMKLClassifierCV(
        KERNELS,
        alphas=[0.3, 0.03, 0.01],
        loss=loss,
        selection="separate" if outputs == "three" else "shared",
        scoring=lambda model, X, y: 0.5,
        cv=2,
    ).fit(X, y)
    losses = np.where(
        search.cv_results_["mean_n_active"] > 0.0,
        search.cv_results_["mean_test_loss"],
        np.inf,
    )
    assert np.unique(losses).size > 1
    assert search.best_index_ == np.argmin(losses)


def test_equal_scores_of_a_regression_go_to_the_better_loss():
    X, _ = events(n=60)
    Y = np.column_stack([np.sin(2.0 * X[:, 0]), X[:, 1] ** 2])
    for y in (Y[:, 0], Y):
        for loss in ("squared_error", "epsilon_insensitive"):
            search = SpicyMKLRegressorCV(
                KERNELS, alphas=[0.5, 0.02], loss=loss, scoring=lambda m, X, y: 1.0
            )
            assert search.fit(X, y).best_index_ == 1
            loss = search.cv_results_["mean_test_loss"]
            assert loss[1] < loss[0]


@pytest.mark.parametrize(
    ("scores", "losses", "active", "best"),
    [
        ([0.5, 0.5, 0.5], [0.3, 0.2, 0.2], [1, 1, 1], 1),
        ([0.5, 0.5, 0.5], [0.1, 0.2, 0.2], [0, 1, 1], 1),
        ([0.1 + 0.2, 0.3, 0.2], [0.2, 0.1, 0.0], [1, 1, 1], 1),
        ([0.5, np.nan, 0.5], [np.nan, 0.0, 0.4], [1, 1, 1], 2),
        ([0.5, 0.5, 0.6], [np.nan, np.nan, np.nan], [1, 1, 1], 2),
    ],
)
def test_scores_then_kernels_then_losses_then_the_simplest(
    scores, losses, active, best
):
    results = {
        "mean_test_score": np.array(scores),
        "mean_test_loss": np.array(losses),
        "mean_n_active": np.array(active, dtype=float),
    }
    assert best_candidate(results) == best


def test_a_choice_that_predicts_one_class_says_so():
    X, y = events()
    search = SpicyMKLClassifierCV(KERNELS, alphas=np.geomspace(0.05, 0.036, 6), cv=3)
    with pytest.warns(SearchWarning, match=r"predicts class 0 for all .*'roc_auc', or"):
        search.fit(X, y)
    mean = search.cv_results_["mean_test_score"]
    assert (mean == mean[0]).all()
    assert search.fit_info_["predicted_alike"] == "class 0"
    assert search.best_index_ > 0
    search.set_params(scoring="roc_auc")
    with pytest.warns(SearchWarning, match=r"samples: pass class_weight"):
        search.fit(X, y)
    search.set_params(class_weight="balanced")
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*for all validation samples", SearchWarning)
        search.fit(X, y)
    assert search.fit_info_["predicted_alike"] == ""


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_labels_that_are_the_same_for_all_are_named():
    pd = pytest.importorskip("pandas")
    X, y = events()
    labels = pd.DataFrame({"rare": y, "sign": (X[:, 1] > 0.0).astype(int)})
    search = SpicyMKLClassifierCV(alphas=[0.05, 0.04], cv=3, selection="separate")
    with pytest.warns(SearchWarning, match="predicts the same for label 'rare' for"):
        search.fit(X, labels)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("kind", "settings", "named"),
    [
        (
            "SpicyMKLRegressorCV",
            {"n_alphas": 4, "alpha_min_ratio": 0.3},
            "a smaller alpha_min_ratio, or smaller values in alphas",
        ),
        (
            "SpicyMKLRegressorCV",
            {"alphas": [3e-1, 2e-1, 1e-1]},
            "pass smaller values in alphas",
        ),
        (
            "HKLRegressorCV",
            {"alphas": [3.0, 2.0, 1.0]},
            "pass smaller values in alphas",
        ),
        (
            "LpMKLRegressorCV",
            {"Cs": [1e-5, 1e-4, 1e-3]},
            "pass larger values in Cs",
        ),
        (
            "FixedWeightsMKLRegressorCV",
            {"Cs": [1e-5, 1e-4, 1e-3]},
            "pass larger values in Cs",
        ),
        (
            "GroupOMPRegressorCV",
            {"alphas": [3.0, 2.0, 1.0]},
            "pass smaller values in alphas",
        ),
    ],
)
def test_the_end_of_a_grid_names_what_widens_it(kind, settings, named):
    X, _ = events(n=40)
    search = getattr(estimators, kind)(cv=2, **settings)
    with pytest.warns(SearchWarning, match=f"a better one, {named}|{named}"):
        search.fit(X, np.sin(2.0 * X[:, 0]))


ONE_ERROR = {"refit": "one_standard_error", "cv": 4}


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "search",
    [
        SpicyMKLRegressorCV(n_alphas=12, **ONE_ERROR),
        GroupOMPRegressorCV(alphas=[0.01, 0.1], **ONE_ERROR),
        SpicyMKLOrdinalCV(n_alphas=5, **ONE_ERROR),
        *(
            pytest.param(search, marks=pytest.mark.slow)
            for search in (
                LpMKLRegressorCV(Cs=[0.01, 0.1, 1.0, 10.0], ps=[1.0, 2.0], **ONE_ERROR),
                HKLRegressorCV(n_alphas=4, max_kernels=12, **ONE_ERROR),
                FixedWeightsMKLRegressorCV(Cs=[0.01, 0.1, 1.0, 10.0], **ONE_ERROR),
                LocalRademacherMKLRegressorCV(
                    thetas=[1, 4], Cs=[0.1, 1.0], **ONE_ERROR
                ),
                SpicyMKLSurvivalCV(n_alphas=8, **ONE_ERROR),
            )
        ),
    ],
    ids=lambda search: type(search).__name__,
)
def test_one_standard_error_chooses_the_simplest_of_the_best(search):
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 3))
    y = X[:, 0] + 0.3 * X[:, 1] + random.normal(size=80)
    if isinstance(search, SpicyMKLSurvivalCV):
        y = pd.DataFrame({"event": random.uniform(size=80) < 0.7, "time": np.exp(y)})
    if isinstance(search, SpicyMKLOrdinalCV):
        y = np.digitize(y, [-0.5, 0.5])
    results = search.fit(X, y).cv_results_
    folds = np.stack([results[f"split{k}_test_score"] for k in range(4)])
    mean, best = folds.mean(axis=0), np.nanargmax(folds.mean(axis=0))
    error = folds[:, best].std(ddof=1) / 2.0
    near = np.flatnonzero(mean >= mean[best] - error)
    simplest = near[np.argmin(results["mean_n_active"][near])]
    assert search.best_index_ == simplest
    assert search.best_params_ == results["params"][simplest]
    assert search.predict(X).shape == (80,)
    plain = clone(search).set_params(refit=True).fit(X, y)
    fewer = results["mean_n_active"][[simplest, plain.best_index_]]
    assert fewer[0] <= fewer[1]


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_targets_choose_the_simplest_of_the_best_each():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3))
    Y = np.column_stack([X[:, 0], X[:, 1]]) + random.normal(size=(60, 2))
    settings = {"alphas": [0.3, 0.1, 0.03, 0.01], **ONE_ERROR}
    apart = SpicyMKLRegressorCV(selection="separate", **settings).fit(X, Y)
    for k in range(2):
        alone = SpicyMKLRegressorCV(**settings).fit(X, Y[:, k])
        assert apart.best_params_["alpha"][k] == alone.best_params_["alpha"]
    with pytest.raises(ValueError, match="True or False, or 'one_standard_error'"):
        SpicyMKLRegressorCV(refit="simplest").fit(X, Y)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_skipped_strengths_have_no_standard_error():
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 3))
    # The second target is noise, so the search skips its weak penalties.
    linear = X[:, 0] + 0.1 * random.normal(size=80)
    Y = np.column_stack([linear, random.normal(size=80), X[:, 1] * X[:, 2]])
    search = SpicyMKLRegressorCV(selection="separate", refit="one_standard_error")
    assert search.fit(X, Y).best_params_["alpha"].shape == (3,)


def test_folds_have_a_looser_tolerance_up_to_a_limit():
    tolerances = [loosen_tol(tol) for tol in (5e-4, 5e-3, 0.1)]
    assert tolerances == [0.015, 0.03, 0.1]


def test_means_in_another_order_are_equal_after_rounding():
    rounded = round_digits(np.array([0.1 + 0.2, 0.3, np.nan]))
    np.testing.assert_array_equal(rounded, [0.3, 0.3, np.nan])
