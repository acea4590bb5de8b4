"""Times to an event: the estimators, their certificate, and what they answer."""

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from reference.conic import features
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from multikernel import SpicyMKLSurvival, SpicyMKLSurvivalCV, load, save
from multikernel.kernels import (
    ColumnKernel,
    GaussianKernel,
    LinearKernel,
    Unpenalized,
)

KERNELS = [ColumnKernel(GaussianKernel(1.0), column) for column in range(3)]


def example(n=80, seed=0):
    """Return data, and times that are seen or censored as a structured array."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    time = np.exp(np.sin(2.0 * X[:, 0]) + 0.3 * random.logistic(size=n))
    end = random.exponential(4.0, n)
    y = np.empty(n, dtype=[("death", bool), ("days", float)])
    y["death"], y["days"] = time <= end, np.minimum(time, end)
    return X, y


def intervals(y, random):
    """Return lower and upper ends of all kinds around times."""
    lower, upper = y["days"].copy(), np.where(y["death"], y["days"], np.inf)
    kind = random.integers(0, 3, len(y))
    lower = np.where(y["death"] & (kind == 0), 0.0, lower)
    upper = np.where(y["death"] & (kind == 1), 2.0 * upper, upper)
    return pd.DataFrame({"lower": lower, "upper": upper})


@pytest.mark.parametrize("kind", ["censored", "intervals"])
def test_optimum_is_that_of_a_conic_solver(kind):
    X, y = example(40)
    a, b = y["days"], np.where(y["death"], y["days"], np.inf)
    if kind == "intervals":
        y = intervals(y, np.random.default_rng(1))
        a, b = y["lower"].to_numpy(), y["upper"].to_numpy()
    with np.errstate(divide="ignore"):
        a, b = np.log(a), np.log(b)
    model = SpicyMKLSurvival(KERNELS, 0.05, tol=1e-6, normalize=None).fit(X, y)
    grams = [kernel(X) for kernel in KERNELS]
    maps = [features(gram) for gram in grams]
    parts = [cp.Variable(each.shape[1]) for each in maps]
    f = sum(Z @ w for Z, w in zip(maps, parts, strict=True)) + cp.Variable()
    s, at, to = model.loss_scale_, np.isfinite(a), np.isfinite(b)
    losses = cp.sum(cp.logistic((a[at] - f[at]) / s))
    losses += cp.sum(cp.logistic((f[to] - b[to]) / s))
    penalty = 0.05 * sum(cp.norm(part) for part in parts)
    optimum = cp.Problem(cp.Minimize(losses / 40 + penalty)).solve(solver="CLARABEL")
    assert model.duality_gap_ <= 1e-6
    assert abs(model.objective_ - optimum) <= 2e-6 * optimum


def test_every_form_of_y_is_the_same_model():
    X, y = example()
    frame = pd.DataFrame({"time": y["days"], "event": y["death"].astype(int)})
    ends = pd.DataFrame({"lower": y["days"], "upper": y["days"]})
    ends.loc[~y["death"], "upper"] = np.inf
    array = np.column_stack([y["death"], y["days"]])
    risks = [
        SpicyMKLSurvival(KERNELS).fit(X, form).predict(X)
        for form in (y, frame, ends, array, np.column_stack(array.T[::-1]))
    ]
    assert all(np.array_equal(risks[0], other) for other in risks[1:])


def test_answers_agree_with_each_other():
    X, y = example()
    model = SpicyMKLSurvival(KERNELS).fit(X, y)
    median = model.predict_median(X)
    assert np.array_equal(np.argsort(-median), np.argsort(model.predict(X)))
    curves = model.predict_survival_function(X, [0.0, 0.5, 1.0, 1e300])
    assert np.all(curves[:, 0] == 1.0)
    assert np.all(np.diff(curves, axis=1) < 0.0)
    at_median = model.predict_survival_function(X[:1], median[:1])
    assert at_median[0, 0] == pytest.approx(0.5)
    odds = np.log(curves[:, 1:3] / (1.0 - curves[:, 1:3]))
    assert np.allclose(np.diff(odds, axis=0), -np.diff(model.predict(X))[:, None])
    terms = model.contributions(X).sum(axis=1) + model.intercept_
    assert np.allclose(np.log(median), terms)


def test_unit_of_time_changes_medians_alone():
    X, y = example()
    days = SpicyMKLSurvival(KERNELS, tol=1e-7).fit(X, y)
    y["days"] *= 86400.0
    seconds = SpicyMKLSurvival(KERNELS, tol=1e-7).fit(X, y)
    assert seconds.loss_scale_ == pytest.approx(days.loss_scale_, rel=1e-4)
    ratio = seconds.predict_median(X) / days.predict_median(X)
    assert np.allclose(ratio, 86400.0, rtol=2e-3)


def brute_force(lower, upper, risk):
    known, agreed = 0, 0.0
    for i in range(len(risk)):
        for j in range(len(risk)):
            exact = lower[j] == upper[j]
            if upper[i] < lower[j] or (upper[i] == lower[j] and not exact):
                known += 1
                agreed += (risk[i] > risk[j]) + 0.5 * (risk[i] == risk[j])
    return agreed / known


def test_concordance_is_a_count_of_pairs():
    random = np.random.default_rng(0)
    model = SpicyMKLSurvival([LinearKernel()], 0.01).fit(*example())
    for n in (8, 30, 60):
        time = random.integers(1, 12, n).astype(float)
        upper = np.where(random.random(n) < 0.6, time, np.inf)
        upper[::5] += random.integers(1, 3)
        upper[0] = time[0] = 1.0
        X = np.zeros((n, 3))
        X[:, 0] = random.integers(0, 6, n)
        y = pd.DataFrame({"lower": time, "upper": upper})
        found = brute_force(time, upper, model.predict(X))
        assert model.score(X, y) == pytest.approx(found, abs=1e-14)
        copies = random.integers(1, 4, n)
        rows = np.repeat(np.arange(n), copies)
        heavier = model.score(X, y, sample_weight=copies.astype(float))
        assert heavier == pytest.approx(model.score(X[rows], y.loc[rows]), abs=1e-14)
    never = pd.DataFrame({"lower": np.ones(2), "upper": np.full(2, np.inf)})
    assert np.isnan(model.score(X[:2], never))


def test_scales_are_the_most_likely_ones():
    random = np.random.default_rng(0)
    f = random.normal(size=4000)
    t = f + 0.4 * random.logistic(size=4000)
    end = random.normal(1.0, 1.0, 4000)
    lower, upper = np.minimum(t, end), np.where(t <= end, t, np.inf)

    def fitted(lower, upper):
        y = pd.DataFrame({"lower": np.exp(lower), "upper": np.exp(upper)})
        return SpicyMKLSurvival([LinearKernel()], 1e-4).fit(f[:, None], y)

    assert fitted(lower, upper).scale_ == pytest.approx(0.4, rel=0.05)
    alone = fitted(lower - f + 20.0, upper - f + 20.0)
    assert alone.loss_scale_ == pytest.approx(0.4, rel=0.05)
    # Known between whole numbers only.
    assert fitted(np.floor(t), np.floor(t) + 1.0).scale_ == pytest.approx(0.4, rel=0.1)


def test_integer_weights_are_copies():
    X, y = example(50)
    weights = np.random.default_rng(0).integers(0, 3, 50)
    weighted = SpicyMKLSurvival(KERNELS, tol=1e-6).fit(X, y, weights)
    copies = np.repeat(np.arange(50), weights)
    repeated = SpicyMKLSurvival(KERNELS, tol=1e-6).fit(X[copies], y[copies])
    assert weighted.scale_ == pytest.approx(repeated.scale_, rel=1e-3)
    assert np.allclose(weighted.predict(X), repeated.predict(X), atol=1e-3)


def test_search_chooses_by_concordance_and_takes_its_scale_from_folds():
    X, y = example(120)
    search = SpicyMKLSurvivalCV(KERNELS, n_alphas=6, cv=3).fit(X, y)
    tests = [
        SpicyMKLSurvival(KERNELS, search.alpha_, tol=1e-6)
        .fit(X[train], y[train])
        .score(X[test], y[test])
        for train, test in StratifiedKFold(3).split(X, y["death"])
    ]
    # Folds of the search are solved to a looser tolerance.
    assert search.best_score_ == pytest.approx(np.mean(tests), abs=0.005)
    alone = SpicyMKLSurvival(KERNELS, search.alpha_).fit(X, y)
    assert np.allclose(alone.predict_median(X), search.predict_median(X), rtol=0.02)
    assert search.scale_ > alone.scale_
    assert search.duality_gap_ <= search.tol


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
@pytest.mark.filterwarnings("ignore::multikernel.exceptions.DictionaryWarning")
def test_folds_solve_the_problem_of_their_training_samples():
    random = np.random.default_rng(1)
    n = 40
    X = random.standard_normal((n, 3))
    noise = 0.4 * random.standard_normal(n)
    time = np.exp(2.0 * np.sin(2.0 * X[:, 0]) + X[:, 2] + noise)
    y = pd.DataFrame({"event": random.random(n) < 0.7, "time": time})
    rows = np.arange(n)
    folds = [(rows[rows % 4 != k], rows[rows % 4 == k]) for k in range(4)]
    scales = []

    def fold_scale(model, X, y):
        scales.append(model.loss_scale_)
        return float(model.predict_survival_function(X, [1.0]).mean())

    settings = {"alphas": [0.3, 0.1, 0.03], "cv": folds, "tol": 1e-7}
    search = SpicyMKLSurvivalCV(KERNELS, **settings).fit(X, y)
    other = SpicyMKLSurvivalCV(KERNELS, **settings, scoring=fold_scale).fit(X, y)
    for k, (train, test) in enumerate(folds):
        for index, alpha in enumerate(search.alphas_):
            model = SpicyMKLSurvival(KERNELS, alpha, tol=1e-6)
            model.fit(X[train], y.loc[train])
            score = model.score(X[test], y.loc[test])
            assert search.cv_results_[f"split{k}_test_score"][index] == score
            assert np.any(np.abs(np.array(scales) / model.loss_scale_ - 1.0) < 1e-6)
    assert other.loss_scale_ == search.loss_scale_


def test_search_takes_scorers_of_times_splitters_and_groups():
    X, y = example(60)
    names = []

    def median_error(model, X, y):
        names.append(y.dtype.names)
        seen = model.predict_median(X)[y["event"]]
        model.predict_survival_function(X, [1.0])
        return -np.median(np.abs(np.log(seen / y["time"][y["event"]])))

    search = SpicyMKLSurvivalCV(KERNELS, n_alphas=3, scoring=median_error)
    search.set_params(cv=GroupKFold(2)).fit(X, y, groups=np.arange(60) // 2)
    assert search.best_score_ < 0.0
    assert set(names) == {("event", "time")}
    search.set_params(cv=KFold(2), refit=False).fit(X, y)
    assert not hasattr(search, "scale_")


def test_lives_in_scikit_learn(tmp_path):
    X, y = example()
    model = make_pipeline(StandardScaler(), SpicyMKLSurvival(KERNELS))
    assert cross_val_score(clone(model), X, y, cv=3).mean() > 0.6
    frame = pd.DataFrame({"event": y["death"], "time": y["days"]})
    assert cross_val_score(model, X, frame, cv=3).mean() > 0.6
    search = SpicyMKLSurvivalCV(KERNELS, n_alphas=4, cv=3).fit(X, y)
    save(search, tmp_path / "model.mkl")
    same = load(tmp_path / "model.mkl")
    assert np.array_equal(same.predict(X), search.predict(X))
    times = [0.5, 2.0]
    curves = search.predict_survival_function(X, times)
    assert np.array_equal(same.predict_survival_function(X, times), curves)
    assert search.loss is None
    assert "kernel" in search.summary().columns


def test_gram_matrices_and_their_folds():
    X, y = example()
    K = np.stack([kernel(X) for kernel in KERNELS], axis=2)
    given = SpicyMKLSurvivalCV("precomputed", n_alphas=4, cv=3).fit(K, y)
    computed = SpicyMKLSurvivalCV(KERNELS, n_alphas=4, cv=3).fit(X, y)
    assert given.scale_ == pytest.approx(computed.scale_, rel=1e-6)
    assert np.allclose(given.predict(K), computed.predict(X))


def test_above_its_largest_alpha_the_model_is_the_constant():
    X, y = example()
    with pytest.warns(UserWarning, match="no active kernel"):
        model = SpicyMKLSurvival(LinearKernel(), alpha=50.0).fit(X, y)
    assert np.ptp(model.predict(X)) == 0.0
    assert model.scale_ == pytest.approx(model.loss_scale_, rel=1e-3)
    assert model.score(X, y) == 0.5


def bad(change):
    X, y = example(20)
    form = np.column_stack([y["death"], y["days"]])
    return X, change(form)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda y: None, "requires y to be passed"),
        (lambda y: y[:, 1], r"y has shape \(20,\)"),
        (lambda y: y * [0.0, 1.0], "no event was observed"),
        (lambda y: y * [1.0, -1.0], "times must be positive"),
        (lambda y: y * [2.0, 1.0], "must be True or False"),
        (lambda y: np.where(y == y[3], np.nan, y), "nan"),
        (lambda y: np.c_[y, y[:, :1]], "Strata and entry"),
        (lambda y: y[:, 1:], "only 1 of two columns.*add a column 'event'"),
        (lambda y: y[:-1], "inconsistent"),
        (
            lambda y: pd.DataFrame({"lower": y[:, 1] + 1.0, "upper": y[:, 1]}),
            "row 0 is",
        ),
        (lambda y: pd.DataFrame({"lower": 0.0 * y[:, 1], "upper": np.inf}), "row 0 is"),
        (lambda y: pd.DataFrame({"event": y[:, 0], "time": "soon"}), "hold numbers"),
    ],
)
def test_wrong_times_get_a_sentence(change, sentence):
    X, y = bad(change)
    with pytest.raises(ValueError, match=sentence):
        SpicyMKLSurvival(KERNELS).fit(X, y)


def test_wrong_parameters_get_a_sentence():
    X, y = example(20)
    with pytest.raises(ValueError, match="index of concordance"):
        SpicyMKLSurvivalCV(scoring="r2").fit(X, y)
    y["death"] = False
    y["death"][0] = True
    with pytest.raises(ValueError, match="training set of fold 0"):
        SpicyMKLSurvivalCV(cv=KFold(2)).fit(X, y)
    X, y = example(20)
    model = SpicyMKLSurvival(KERNELS, alpha=0.01).fit(X, y)
    with pytest.raises(ValueError, match="divide the times by exp"):
        SpicyMKLSurvival().fit(X, y, offset=np.ones(len(X)))
    with pytest.raises(ValueError, match="nonnegative numbers"):
        model.predict_survival_function(X, [-1.0])
    with pytest.raises(ValueError, match="20 samples, but y has 19"):
        model.score(X, y[:-1])


@pytest.mark.parametrize("unit", [1.0, 1e-12, 1e12])
def test_columns_without_a_penalty_know_no_unit_of_time(unit):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 3))
    X[:, 2] += 100.0
    logs = 0.1 * (X[:, 0] + X[:, 2]) + 0.02 * rng.logistic(size=60)
    low = np.exp(logs)
    high = np.where(np.arange(60) % 3 == 0, np.inf, 1.01 * low)
    y = pd.DataFrame({"lower": low, "upper": high})
    views = {"curve": ([0, 1], GaussianKernel(2.0)), "known": Unpenalized([2])}
    settings = {"alpha": 0.01, "tol": 1e-7, "max_iter": 500}
    model = SpicyMKLSurvival(views, **settings).fit(X, y)
    other = SpicyMKLSurvival(views, **settings).fit(X, unit * y)
    assert other.duality_gap_ <= 1e-7
    np.testing.assert_allclose(
        other.unpenalized_coef_, model.unpenalized_coef_, rtol=1e-4
    )
    assert other.objective_ == pytest.approx(model.objective_, rel=1e-6)
