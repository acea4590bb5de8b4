"""Prediction intervals from the folds of a search."""

import math

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, RepeatedKFold, ShuffleSplit

from multikernel import load, save, stack_grams
from multikernel.datasets import make_additive_regression
from multikernel.estimators import (
    FixedWeightsMKLRegressorCV,
    GroupOMPRegressorCV,
    HKLRegressorCV,
    LocalRademacherMKLRegressorCV,
    LpMKLRegressorCV,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
)
from multikernel.exceptions import ConvergenceWarning
from multikernel.kernels import GaussianKernel, ParameterGrid, Unpenalized
from multikernel.kernels.sequence import Alphabet, SpectrumKernel

KERNELS = ParameterGrid([GaussianKernel(0.7)], range(4))
FOLDS = KFold(4, shuffle=True, random_state=1)
SEARCHES = [
    SpicyMKLRegressorCV(KERNELS, alphas=[0.3, 0.03, 0.003]),
    LpMKLRegressorCV(KERNELS, Cs=[1.0, 10.0], ps=(1.0, 2.0)),
    GroupOMPRegressorCV(KERNELS),
    HKLRegressorCV(alphas=[0.1, 0.01]),
    FixedWeightsMKLRegressorCV(KERNELS, Cs=[1.0, 10.0]),
    LocalRademacherMKLRegressorCV(KERNELS, Cs=[0.1, 1.0], thetas=(20,)),
]
pytestmark = [
    pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning"),
    pytest.mark.filterwarnings("ignore::multikernel.exceptions.DictionaryWarning"),
]


@pytest.fixture(scope="module")
def data():
    X, y = make_additive_regression(140, n_features=4, random_state=0)
    return X[:60], y[:60], X[60:], y[60:]


def by_hand(predicted, fold_of, residuals, coverage):
    """Return an interval of one sample and one output by sorting."""
    n = len(residuals)
    rank = math.ceil(coverage * (n + 1) - 1e-9)
    lower = sorted(predicted[k] - r for k, r in zip(fold_of, residuals, strict=True))
    upper = sorted(predicted[k] + r for k, r in zip(fold_of, residuals, strict=True))
    return lower[n - rank], upper[rank - 1]


def test_fold_models_are_fits_without_their_fold(data):
    X, y, X_new, _ = data
    settings = {"tol": 1e-7, "normalize": "variance"}
    alphas = [0.1, 0.03, 0.01]
    search = SpicyMKLRegressorCV(
        KERNELS, alphas=alphas, cv=FOLDS, intervals=True, **settings
    ).fit(X, y)
    predicted, fold_of = [], np.empty(60, dtype=int)
    residuals = np.empty(60)
    model = SpicyMKLRegressor(KERNELS, alpha=search.best_params_["alpha"], **settings)
    for number, (train, test) in enumerate(FOLDS.split(X)):
        model.fit(X[train], y[train])
        predicted.append(model.predict(X_new))
        fold_of[test] = number
        residuals[test] = np.abs(y[test] - model.predict(X[test]))
    each = np.transpose(predicted)
    for coverage in (0.5, 0.8, 0.9, 0.95):
        ends = [by_hand(values, fold_of, residuals, coverage) for values in each]
        intervals = np.transpose(search.predict_interval(X_new, coverage=coverage))
        np.testing.assert_allclose(intervals, ends, atol=2e-3 * np.std(y))


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: type(search).__name__)
def test_every_search_has_intervals_and_the_model_of_one_without(
    search, data, tmp_path
):
    X, y, X_new, y_new = data
    plain = type(search)(**search.get_params(deep=False)).fit(X, y)
    assert not hasattr(plain, "predict_interval")
    kept = type(search)(**search.get_params(deep=False) | {"intervals": True})
    assert not hasattr(type(search)(intervals=False), "predict_interval")
    kept.fit(X, y)
    np.testing.assert_array_equal(kept.predict(X_new), plain.predict(X_new))
    low, high = kept.predict_interval(X_new)
    assert low.shape == high.shape == y_new.shape
    assert np.mean((low <= y_new) & (y_new <= high)) > 0.75
    wider = kept.predict_interval(X_new, coverage=0.95)
    assert (wider[0] <= low).all()
    assert (wider[1] >= high).all()
    save(kept, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops").predict_interval(X_new)
    np.testing.assert_array_equal(again, (low, high))


def test_gram_matrices_have_the_intervals_of_their_table(data):
    X, y, X_new, _ = data
    table = SpicyMKLRegressorCV(KERNELS, alphas=[0.1, 0.01], cv=FOLDS, intervals=True)
    grams = SpicyMKLRegressorCV(
        "precomputed", alphas=[0.1, 0.01], cv=FOLDS, intervals=True
    )
    grams.fit(stack_grams([kernel(X) for kernel in KERNELS]), y)
    rows = stack_grams([kernel(X_new, X) for kernel in KERNELS])
    np.testing.assert_allclose(
        grams.predict_interval(rows), table.fit(X, y).predict_interval(X_new), rtol=1e-6
    )


def test_every_target_has_an_interval_of_its_own(data):
    X, y, X_new, _ = data
    Y = np.column_stack([y, X[:, 3] + 0.1 * y])
    settings = {"alphas": [0.1, 0.01], "cv": FOLDS, "intervals": True, "tol": 1e-6}
    shared = SpicyMKLRegressorCV(KERNELS, **settings).fit(X, Y)
    low, high = shared.predict_interval(X_new)
    assert low.shape == high.shape == (80, 2)
    apart = SpicyMKLRegressorCV(KERNELS, selection="separate", **settings).fit(X, Y)
    low, high = apart.predict_interval(X_new)
    for k, target in enumerate(Y.T):
        alphas = np.atleast_1d(apart.best_params_["alpha"])[[k]]
        alone = SpicyMKLRegressorCV(KERNELS, **settings | {"alphas": alphas})
        ends = alone.fit(X, target).predict_interval(X_new)
        scale = 2e-3 * np.std(target)
        np.testing.assert_allclose((low[:, k], high[:, k]), ends, atol=scale)


def test_views_sequences_columns_and_offsets_have_intervals(data):
    X, y, X_new, y_new = data
    views = {"a": [0, 1], "b": [2], "free": Unpenalized([3])}
    settings = {"alphas": [0.1, 0.01], "intervals": True}
    offset = X[:, 3]
    model = SpicyMKLRegressorCV(views, **settings).fit(X, y + offset, offset=offset)
    low, high = model.predict_interval(X_new, 0.8, X_new[:, 3])
    inside = (low <= y_new + X_new[:, 3]) & (y_new + X_new[:, 3] <= high)
    assert inside.mean() > 0.6
    shifted = np.subtract(model.predict_interval(X_new, 0.8), (low, high))
    np.testing.assert_allclose(shifted, -np.tile(X_new[:, 3], (2, 1)), atol=1e-9)
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("ACGT"), 12)) for _ in range(60)]
    counts = np.array([word.count("AC") for word in words], dtype=float)
    kernels = [SpectrumKernel(k, Alphabet("ACGT")) for k in (1, 2)]
    on_words = SpicyMKLRegressorCV(kernels, **settings).fit(words[:40], counts[:40])
    low, high = on_words.predict_interval(words[40:])
    assert np.mean((low <= counts[40:]) & (counts[40:] <= high)) > 0.7


def test_counts_have_intervals_of_counts(data):
    X, y, X_new, _ = data
    counts = np.random.default_rng(0).poisson(np.exp(np.clip(y, -2.0, 2.0)))
    model = SpicyMKLRegressorCV(
        KERNELS, alphas=[0.1, 0.03], loss="poisson", intervals=True
    )
    low, high = model.fit(X, counts).predict_interval(X_new)
    assert (low >= 0.0).all()
    assert (high > low).all()


@pytest.mark.parametrize(
    ("cv", "given", "sentence"),
    [
        (FOLDS, {"sample_weight": np.arange(60) + 1.0}, "sample_weight differs"),
        (RepeatedKFold(n_splits=3, n_repeats=2), {}, "validated by 2 of the 6"),
        (ShuffleSplit(1, random_state=0), {}, "validated by 0 of the 1"),
    ],
)
def test_what_residuals_say_nothing_of_is_refused(data, cv, given, sentence):
    X, y, *_ = data
    model = SpicyMKLRegressorCV(KERNELS, alphas=[0.1], cv=cv, intervals=True)
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, y, **given)


def test_groups_have_the_intervals_of_their_folds(data):
    X, y, X_new, _ = data
    groups = np.arange(60) % 6
    settings = {"alphas": [0.1, 0.03], "intervals": True}
    folds = list(GroupKFold(3).split(X, y, groups))
    by_list = SpicyMKLRegressorCV(KERNELS, cv=folds, **settings).fit(X, y)
    by_groups = SpicyMKLRegressorCV(KERNELS, cv=3, **settings)
    np.testing.assert_array_equal(
        by_groups.fit(X, y, groups=groups).predict_interval(X_new),
        by_list.predict_interval(X_new),
    )


def test_what_cannot_be_answered_is_refused(data):
    X, y, *_ = data
    model = SpicyMKLRegressorCV(KERNELS, alphas=[0.1], cv=FOLDS)
    with pytest.raises(AttributeError, match="no attribute") as error:
        model.fit(X, y).predict_interval(X)
    assert "intervals=True" in str(error.value.__cause__)
    model.set_params(intervals=True).fit(X, y)
    with pytest.raises(ValueError, match="at least 99 training samples, but there are"):
        model.predict_interval(X, coverage=0.99)
    with pytest.raises(ValueError, match="coverage"):
        model.predict_interval(X, coverage=90)
    ends = model.predict_interval(X)
    stopped = SpicyMKLRegressorCV(KERNELS, alphas=[0.1, 0.01], intervals=True)
    calls = iter(range(10**6))
    with pytest.warns(ConvergenceWarning):
        stopped.fit(X, y, callback=lambda line: next(calls) > 12)
    assert not hasattr(stopped, "predict_interval")
    weighted = model.fit(X, y, np.full(60, 2.0)).predict_interval(X)
    np.testing.assert_allclose(weighted, ends, rtol=1e-6)
