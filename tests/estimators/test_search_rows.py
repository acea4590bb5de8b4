"""Searches of long tables score candidates on samples of the rows."""

import re
import tracemalloc

import numpy as np
import pytest
from reference.estimators import MODELS
from scipy.stats import norm
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.model_selection import (
    KFold,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    TimeSeriesSplit,
)

from multikernel.estimators import (
    FixedWeightsMKLRegressorCV,
    GroupOMPRegressorCV,
    HKLRegressorCV,
    LocalRademacherMKLRegressorCV,
    LpMKLRegressorCV,
    SpicyMKLClassifierCV,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
    SpicyMKLSurvivalCV,
    stack_grams,
)
from multikernel.estimators.search.sample import sample_sizes, split_groups
from multikernel.kernels import GaussianKernel, LinearKernel, ParameterGrid
from multikernel.kernels.graph import PolynomialGrid

pytestmark = pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")

KERNELS = ParameterGrid([GaussianKernel(1.0), LinearKernel()], [0, 1, 2])
SAMPLE = "multikernel.estimators.search.sample"


def regression(n, noise=0.3, seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, 3))
    return X, np.sin(2.0 * X[:, 0]) + noise * random.standard_normal(n)


class Recorder:
    """Scores by R2, and stores the rows of every validation set."""

    def __init__(self):
        self.rows = []

    def __call__(self, model, X, y):
        self.rows.append(frozenset(X[:, 2].astype(int).tolist()))
        return r2_score(y, model.predict(X))

    @property
    def folds(self):
        return [np.array(sorted(rows)) for rows in dict.fromkeys(self.rows)]


def recorded(n_rows, *, groups=None, cv=None, **settings):
    """Return a fitted search, and the validation rows of its folds."""
    X, y = regression(n_rows)
    # The last column numbers the rows; no kernel reads it.
    X[:, 2] = np.arange(n_rows)
    kernels, recorder = ParameterGrid([GaussianKernel(1.0)], [0, 1]), Recorder()
    settings = {"alphas": [0.1, 0.03, 0.01], "tol": 1e-6} | settings
    search = SpicyMKLRegressorCV(kernels, cv=cv, scoring=recorder, **settings)
    return search.fit(X, y, groups=groups), recorder.folds, X, y


def test_scores_are_those_of_fits_on_the_sample_with_carried_strengths():
    search, folds, X, y = recorded(400, max_search_rows=100, cv=KFold(4))
    rows = np.concatenate(folds)
    assert rows.size == np.unique(rows).size == search.fit_info_["search_rows"] == 100
    for k, alpha in enumerate(search.cv_results_["param_alpha"]):
        model = SpicyMKLRegressor(search.kernels, alpha=4.0**0.6 * alpha, tol=1e-6)
        scores = []
        for test in folds:
            train = np.setdiff1d(rows, test)
            model.fit(X[train], y[train])
            scores.append(r2_score(y[test], model.predict(X[test])))
        assert search.cv_results_["mean_test_score"][k] == pytest.approx(
            np.mean(scores), abs=1e-3
        )


def test_the_chosen_model_is_fitted_on_all_rows():
    X, y = regression(400)
    search = SpicyMKLRegressorCV(KERNELS, max_search_rows=100).fit(X, y)
    model = SpicyMKLRegressor(KERNELS, alpha=search.best_params_["alpha"]).fit(X, y)
    assert search.alpha_ == pytest.approx(model.alpha_)
    assert search.objective_ == pytest.approx(model.objective_, rel=2e-3)
    assert search.duality_gap_ <= search.tol
    assert search.path_.alphas.tolist() == [search.best_params_["alpha"]]
    assert search.dual_coef_.size == 400


def test_short_tables_are_not_sampled():
    X, y = regression(120)
    search = SpicyMKLRegressorCV(KERNELS, n_alphas=5).fit(X, y)
    every = clone(search).set_params(max_search_rows=None).fit(X, y)
    assert search.fit_info_["search_rows"] == 120
    np.testing.assert_array_equal(search.dual_coef_, every.dual_coef_)
    for name in ("split0_test_score", "mean_n_active"):
        np.testing.assert_array_equal(search.cv_results_[name], every.cv_results_[name])


def test_every_search_has_a_random_state_other_estimators_if_they_draw():
    drawing = {"GroupOMP", "LocalRademacherMKL"}
    for model in MODELS:
        family = re.sub("(Classifier|Regressor)?(CV)?$", "", model.__name__)
        draws = model.__name__.endswith("CV") or family in drawing
        assert ("random_state" in model().get_params()) == draws


def test_a_seed_decides_which_rows_hkl_is_scored_on():
    X, y = regression(300)
    search = HKLRegressorCV(PolynomialGrid(2), n_alphas=3, max_search_rows=60)
    scores = [
        clone(search).set_params(random_state=seed).fit(X, y).cv_results_
        for seed in (3, 3, 4)
    ]
    first, again, other = (found["mean_test_score"].tolist() for found in scores)
    assert first == again != other


def test_random_state_alone_decides_which_rows_are_drawn():
    def drawn(seed):
        _, folds, *_ = recorded(300, max_search_rows=60, random_state=seed)
        return np.unique(np.concatenate(folds)).tolist()

    assert drawn(None) == drawn(None)
    assert drawn(3) == drawn(3) != drawn(4)


def test_groups_are_drawn_whole():
    groups = np.random.default_rng(0).integers(0, 60, 600)
    # GroupKFold orders groups of one size differently in scikit-learn 1.8 and 1.9.
    cv = PredefinedSplit(groups % 5)
    search, folds, *_ = recorded(600, cv=cv, groups=groups, max_search_rows=150)
    rows = np.unique(np.concatenate(folds))
    assert np.isin(groups, groups[rows]).sum() == rows.size
    assert search.fit_info_["search_rows"] == rows.size
    assert 100 < rows.size <= 150
    held = [set(groups[fold].tolist()) for fold in folds]
    assert sum(map(len, held)) == len(set.union(*held))


def test_large_groups_leave_no_more_rows_than_the_limit():
    groups = np.concatenate([np.repeat(np.arange(30), 18), 30 + np.arange(60)])
    for seed in range(3):
        search, *_ = recorded(
            600, cv=3, groups=groups, max_search_rows=100, random_state=seed
        )
        assert 50 < search.fit_info_["search_rows"] <= 100


def test_the_order_of_time_is_kept():
    n_rows = 300
    _, folds, *_ = recorded(n_rows, cv=TimeSeriesSplit(3), max_search_rows=60)
    expected = [test for _, test in TimeSeriesSplit(3).split(np.zeros(n_rows))]
    for fold, whole in zip(folds, expected, strict=True):
        assert set(fold.tolist()) < set(whole.tolist())


def test_classes_have_their_shares():
    X, _ = regression(400)
    y = np.repeat(["a", "b", "c"], [300, 80, 20])
    X[:, 0] += np.repeat([0.0, 1.0, 3.0], [300, 80, 20])
    counts = {}

    def score(model, X, y):
        counts[tuple(X[:, 0])] = np.array([np.sum(y == name) for name in "abc"])
        return np.mean(model.predict(X) == y)

    search = SpicyMKLClassifierCV(
        KERNELS, alphas=[0.1, 0.03], scoring=score, max_search_rows=100
    )
    search.fit(X, y)
    assert np.abs(sum(counts.values()) - [75, 20, 5]).max() <= 1
    with pytest.raises(ValueError, match=r"max_search_rows=5 is too small.*a class"):
        search.set_params(max_search_rows=5).fit(X, y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("size", "cv"),
    [
        (60, None),
        (100, None),
        (80, RepeatedStratifiedKFold(n_splits=3, random_state=0)),
    ],
)
def test_rare_classes_stay_in_their_folds(size, cv):
    X, _ = regression(600)
    y = np.repeat(["a", "b", "c"], [400, 193, 7])
    X[:, 0] += np.repeat([0.0, 1.0, 3.0], [400, 193, 7])
    search = SpicyMKLClassifierCV(KERNELS, alphas=[0.1, 0.03], max_search_rows=size)
    search.set_params(cv=cv).fit(X, y)
    assert search.fit_info_["search_rows"] == size


def test_a_large_group_is_drawn_in_pieces():
    groups = np.concatenate([np.zeros(400), 1 + np.arange(200) // 4])
    search, folds, *_ = recorded(600, groups=groups, max_search_rows=100, cv=3)
    rows = np.unique(np.concatenate(folds))
    assert 80 <= rows.size <= 100
    assert search.fit_info_["search_rows"] == rows.size
    held = [set(groups[fold].tolist()) for fold in folds]
    assert sum(map(len, held)) == len(set.union(*held))


@pytest.mark.parametrize(("noise", "n_rows"), [(0.01, 100), (1.0, 800)])
def test_samples_grow_until_the_choice_loses_little(monkeypatch, noise, n_rows):
    monkeypatch.setattr(f"{SAMPLE}.FIRST_ROWS", 100)
    X, y = regression(800, noise)
    search = SpicyMKLRegressorCV(KERNELS, alphas=[0.1, 0.03, 0.01]).fit(X, y)
    assert search.fit_info_["search_rows"] == n_rows
    results = search.cv_results_
    folds = np.array([results[f"split{k}_test_score"] for k in range(5)])
    behind = folds[:, [search.best_index_]] - folds
    error = behind.std(axis=0, ddof=1) / np.sqrt(5)
    drawn = norm(behind.mean(axis=0), error + 1e-12).rvs((100_000, 3), random_state=0)
    assert n_rows == 800 or np.maximum(-drawn, 0.0).mean(axis=0).max() <= 1.6e-3


def test_one_or_two_validation_sets_need_all_rows(monkeypatch):
    monkeypatch.setattr(f"{SAMPLE}.FIRST_ROWS", 50)
    rows = np.arange(200)
    for cv in ([(rows[50:], rows[:50])], 2):
        search, folds, *_ = recorded(200, cv=cv)
        assert search.fit_info_["search_rows"] == 200
        # No sample is scored first, as none could be found large enough.
        assert len(folds) == search.n_splits_


SETTINGS = {"kernels": KERNELS, "cv": 3, "max_search_rows": 60}
SEARCHES = [
    SpicyMKLRegressorCV(**SETTINGS, n_alphas=4, storage="lazy"),
    SpicyMKLRegressorCV(**SETTINGS, n_alphas=4, storage="low_rank"),
    SpicyMKLRegressorCV(**SETTINGS, n_alphas=4, normalize="cosine", intervals=True),
    LpMKLRegressorCV(**SETTINGS, ps=[2.0]),
    FixedWeightsMKLRegressorCV(**SETTINGS),
    LocalRademacherMKLRegressorCV(**SETTINGS, Cs=[1.0], thetas=[1]),
    GroupOMPRegressorCV(**SETTINGS, max_kernels=2),
    HKLRegressorCV(n_alphas=3, cv=3, max_search_rows=60),
]


@pytest.mark.parametrize("search", SEARCHES, ids=lambda each: type(each).__name__)
def test_every_search_scores_on_a_sample(search):
    X, y = regression(180, noise=0.1)
    model = clone(search).fit(X, y)
    assert model.fit_info_["search_rows"] == 60
    assert model.score(X, y) > 0.05
    if getattr(search, "intervals", False):
        lower, upper = model.predict_interval(X)
        assert np.mean((lower <= y) & (y <= upper)) > 0.8


def test_precomputed_matrices_targets_and_times_are_sampled():
    X, y = regression(180, noise=0.1)
    alike = {"cv": 3, "n_alphas": 4, "max_search_rows": 60}
    grams = stack_grams([np.exp(-((X[:, [c]] - X[:, c]) ** 2)) for c in range(3)])
    given = SpicyMKLRegressorCV("precomputed", **alike).fit(grams, y)
    several = SpicyMKLRegressorCV(KERNELS, **alike, selection="separate")
    several.fit(X, np.column_stack([y, X[:, 1] ** 2]))
    time = np.column_stack([np.ones(180), np.exp(y)])
    groups = np.arange(180) // 3
    survival = SpicyMKLSurvivalCV(KERNELS, **alike).fit(X, time, groups=groups)
    for model in (given, several, survival):
        assert model.fit_info_["search_rows"] == 60
    assert given.best_score_ > 0.5
    assert several.alpha_.shape == (2,)
    assert survival.best_score_ > 0.7


def test_a_search_on_a_sample_holds_less():
    X, y = regression(500)

    def peak(max_search_rows):
        search = SpicyMKLRegressorCV(
            KERNELS,
            alphas=[0.1, 0.01],
            normalize="center",
            storage="dense",
            max_search_rows=max_search_rows,
        )
        tracemalloc.start()
        search.fit(X, y)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    assert peak(100) < 0.6 * peak(None)


def test_folds_take_turns_where_max_bytes_has_no_room_for_all(monkeypatch):
    X, y = regression(300)
    search = SpicyMKLRegressorCV(KERNELS, alphas=[0.1, 0.01], storage="low_rank")
    names, peaks = [], []
    for max_bytes in (10**9, 800_000):
        search.set_params(max_bytes=max_bytes)
        tracemalloc.start()
        names.append(search.fit(X, y).cv_results_["split4_test_score"])
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    np.testing.assert_array_equal(*names)
    assert peaks[1] < 0.9 * peaks[0]


@pytest.mark.parametrize(
    ("n_rows", "max_rows", "sizes"),
    [
        (4000, "auto", [4000]),
        (10_000, "auto", [2000, 4000, 10_000]),
        (10_000, 3000, [3000]),
        (10_000, None, [10_000]),
    ],
)
def test_samples_double_up_to_the_limit(n_rows, max_rows, sizes):
    assert sample_sizes(n_rows, max_rows) == sizes


def test_groups_above_the_size_are_split_into_pieces():
    groups = np.array([7, 7, 7, 7, 5])
    whole = split_groups(groups, 4, np.random.RandomState(0))
    np.testing.assert_array_equal(whole, [1, 1, 1, 1, 0])
    pieces = split_groups(groups, 2, np.random.RandomState(0))
    np.testing.assert_array_equal(np.sort(pieces), [0, 1, 1, 2, 2])
