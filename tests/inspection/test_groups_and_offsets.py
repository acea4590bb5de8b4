"""Groups and offsets in resampling, splits, importance and tests of kernels."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from multikernel import (
    OneClassMKL,
    SpicyMKLClassifier,
    SpicyMKLOrdinal,
    SpicyMKLRegressor,
    SpicyMKLSurvival,
    estimate_cost,
    regularization_path,
    report,
)
from multikernel.inspection import (
    bootstrap,
    contributions,
    deviance_split,
    group_permutation_importance,
    kernel_tests,
    nested_cross_validate,
    stability_selection,
    term_posterior,
    variance_split,
)
from multikernel.kernels import GaussianKernel, LinearKernel, ParameterGrid, Unpenalized

KERNELS = ParameterGrid([GaussianKernel(1.0), LinearKernel()], range(3))
PATIENTS = np.repeat(np.arange(20), [2, 3, 4, 3] * 5)


def data(seed=0):
    random = np.random.default_rng(seed)
    level = random.normal(size=20)[PATIENTS]
    X = random.normal(size=(len(PATIENTS), 3))
    X[:, 0] = level
    f = np.sin(2.0 * level) + 0.5 * X[:, 1]
    return X, f + 0.3 * random.normal(size=len(f)), random


class Recorded(np.random.RandomState):
    """A generator that keeps the counts and the orders that it drew."""

    def __init__(self):
        super().__init__(3)
        self.counts, self.orders = None, []

    def multinomial(self, n, shares, size=None):
        self.counts = super().multinomial(n, shares, size=size)
        return self.counts

    def permutation(self, x):
        self.orders.append(super().permutation(x))
        return self.orders[-1]


def test_a_bootstrap_draws_whole_groups_and_keeps_offsets():
    X, y, random = data()
    offset = random.normal(size=len(y))
    draws = Recorded()
    model = SpicyMKLRegressor(KERNELS, 0.1, tol=1e-9)
    given = {"groups": PATIENTS, "offset": offset}
    found = bootstrap(model, X, y + offset, 3, random_state=draws, **given)
    assert draws.counts.sum(axis=1).tolist() == [20] * 3
    for number, counts in enumerate(draws.counts):
        rows = np.repeat(np.arange(len(y)), counts[PATIENTS])
        alone = model.fit(X[rows], y[rows])
        shares = alone.variance_shares_
        np.testing.assert_allclose(found.variance_shares[number], shares, atol=1e-4)


def test_halves_hold_half_of_the_groups_each():
    X, y, _ = data()
    draws = Recorded()
    model = SpicyMKLRegressor(KERNELS, 0.2, tol=1e-8)
    found = stability_selection(model, X, y, 2, groups=PATIENTS, random_state=draws)
    (order,) = draws.orders
    for chosen, half in zip(found.selections, (order[:10], order[10:]), strict=True):
        rows = np.isin(PATIENTS, half)
        alone = model.fit(X[rows], y[rows])
        np.testing.assert_array_equal(np.flatnonzero(chosen), alone.active_kernels_)


def test_draws_of_groups_hold_every_class():
    X, y, _ = data()
    model = SpicyMKLClassifier(KERNELS, 0.1)
    rare = np.isin(PATIENTS, [0, 1, 2])
    found = bootstrap(model, X, rare, 20, groups=PATIENTS, random_state=0)
    assert found.variance_shares.shape == (20, 6)
    mixed = rare | ((PATIENTS == 5) & (np.arange(len(y)) % 3 > 0))
    found = stability_selection(model, X, mixed, 4, groups=PATIENTS, random_state=0)
    assert found.selections.shape == (4, 6)
    with pytest.raises(ValueError, match="Class True has one group"):
        bootstrap(model, X, PATIENTS == 3, 2, groups=PATIENTS)
    with pytest.raises(ValueError, match="one group: pass labels of at least two"):
        bootstrap(model, X, rare, 2, groups=np.zeros(len(y)))
    with pytest.raises(ValueError, match="groups must hold one label per sample"):
        bootstrap(model, X, rare, 2, groups=PATIENTS[:-1])


def test_a_class_that_draws_of_groups_lack_is_named(monkeypatch):
    monkeypatch.setattr("multikernel.inspection.resampling.MOST_DRAWS", 1)
    X, y, _ = data()
    labels = np.full(len(y), "common")
    labels[np.unique(PATIENTS, return_index=True)[1][:2]] = "rare"
    model = SpicyMKLClassifier(KERNELS, 0.1)
    with pytest.raises(ValueError, match=r"after 1 attempts, .* of class 'rare'"):
        bootstrap(model, X, labels, 100, groups=PATIENTS, random_state=0)


def test_splits_draw_groups_and_are_beside_offsets():
    X, y, random = data()
    offset = 3.0 * random.normal(size=len(y))
    model = SpicyMKLRegressor(KERNELS, 0.1).fit(X, y + offset, offset=offset)
    given = {"groups": PATIENTS, "random_state": 0}
    beside = variance_split(model, X, y + offset, offset=offset, **given)
    np.testing.assert_allclose(
        beside.r2, model.score(X, y + offset, offset=offset), rtol=1e-9
    )
    draws = Recorded()
    again = variance_split(
        model, X, y + offset, offset=offset, groups=PATIENTS, random_state=draws
    )
    rows = np.repeat(np.arange(len(y)), draws.counts[0][PATIENTS])
    alone = variance_split(
        model, X[rows], (y + offset)[rows], offset=offset[rows], n_resamples=2
    )
    np.testing.assert_allclose(again.resampled[0], alone.shares, atol=1e-9)
    squared = deviance_split(model, X, y + offset, offset=offset, **given)
    np.testing.assert_allclose(squared.shares, beside.shares, atol=1e-9)


def test_the_split_of_counts_is_beside_exposures():
    X, y, random = data()
    exposure = random.uniform(0.5, 20.0, len(y))
    counts = random.poisson(exposure * np.exp(y - 1.0))
    offset = np.log(exposure)
    model = SpicyMKLRegressor(KERNELS, 0.02, loss="poisson")
    model.fit(X, counts, offset=offset)
    split = deviance_split(model, X, counts, offset=offset, groups=PATIENTS)
    assert split.r2 == pytest.approx(model.score(X, counts, offset=offset))
    with pytest.raises(ValueError, match="use deviance_split"):
        variance_split(model, X, counts, offset=offset)
    own = group_permutation_importance(model, X, counts, offset=offset, random_state=0)
    assert own.importances_mean.max() > 0.1
    with pytest.raises(ValueError, match="remove scoring"):
        group_permutation_importance(model, X, counts, offset=offset, scoring="r2")


def test_importance_exchanges_the_columns_of_whole_groups():
    X, y, _ = data()
    model = SpicyMKLRegressor(KERNELS, 0.1).fit(X, y)
    draws = Recorded()
    given = {"n_repeats": 1, "sample_groups": PATIENTS, "random_state": draws}
    found = group_permutation_importance(model, X, y, {"level": [0]}, **given)
    level = X[np.unique(PATIENTS, return_index=True)[1], 0]
    moved = X.copy()
    moved[:, 0] = level[draws.orders[0]][PATIENTS]
    fall = model.score(X, y) - model.score(moved, y)
    np.testing.assert_allclose(found.importances, [[fall]])
    with pytest.raises(ValueError, match="Pass labels of samples as sample_groups"):
        group_permutation_importance(model, X, y, PATIENTS)
    frame, moved = (
        pd.DataFrame(X, columns=["x0", "x1", "x2"]),
        pd.Series(PATIENTS)[::-1],
    )
    named = SpicyMKLRegressor(KERNELS, 0.1).fit(frame, y)
    for split in (variance_split, deviance_split):
        with pytest.warns(UserWarning, match="groups and X have the same row labels"):
            split(named, frame, y, groups=moved, n_resamples=2)
    with pytest.raises(ValueError, match="sample_groups contains one group"):
        group_permutation_importance(model, X, y, sample_groups=np.zeros(len(y)))


def test_tests_of_kernels_are_beside_offsets():
    X, y, random = data()
    offset = 5.0 * random.normal(size=len(y))
    model = SpicyMKLRegressor(KERNELS)
    settings = {"n_permutations": 49, "random_state": 0}
    beside = kernel_tests(model, X, y + offset, offset=offset, **settings)
    plain = kernel_tests(model, X, y, **settings)
    np.testing.assert_allclose(beside.p_values, plain.p_values, rtol=1e-6)
    # Counts over log(exposure) are as a covariate without a kernel explains them.
    exposure = random.uniform(0.1, 20.0, len(y))
    counts = random.poisson(exposure)
    poisson = SpicyMKLRegressor(ParameterGrid([LinearKernel()], [0]), loss="poisson")
    told = kernel_tests(
        poisson, np.log(exposure)[:, None], counts, offset=np.log(exposure), **settings
    )
    untold = kernel_tests(poisson, np.log(exposure)[:, None], counts, **settings)
    assert told.p_values[0] > 0.01
    assert untold.p_values[0] < 1e-6


def test_summary_and_report_have_unpenalized_coefficients_and_offsets():
    X, y, random = data()
    exposure = random.uniform(0.5, 20.0, len(y))
    counts, offset = random.poisson(exposure * np.exp(y - 1.0)), np.log(exposure)
    views = {"a": [0, 1], "known": Unpenalized(2)}
    model = SpicyMKLRegressor(views, alpha=0.02, loss="poisson")
    model.fit(X, counts, offset=offset)
    for by in ("kernel", "view"):
        row = model.summary(by).iloc[-1]
        assert row[by] == "x2 (unpenalized)"
        assert row["coefficient"] == model.unpenalized_coef_[0]
    assert "coefficient" in model._repr_html_()
    split = deviance_split(model, X, counts, "view", offset=offset)
    page = report(model, X, counts, offset=offset, split=split)
    assert "x2 (unpenalized)" in page
    score = model.score(X, counts, offset=offset)
    head = "deviance explained beyond the offset"
    assert f"<th>{head}</th><td>{score:.3g}</td>" in page
    assert "without" not in page.split("<h2>Warnings")[1]
    path = regularization_path(model, X, counts, offset=offset, n_alphas=3)
    model.set_params(alpha=path.path.alphas[0] * 1.01)
    with pytest.warns(UserWarning, match="no active kernel"):
        model.fit(X, counts, offset=offset)
    estimate_cost(model, X, counts, offset=offset)
    with pytest.raises(ValueError, match="offset must have shape"):
        estimate_cost(model, X, counts, offset=offset[:-1])


def test_a_posterior_is_beside_the_offset():
    X, y, random = data()
    offset = 3.0 * random.normal(size=len(y))
    model = SpicyMKLRegressor(KERNELS, 0.1, tol=1e-6)
    model.fit(X, y + offset, offset=offset)
    beside = term_posterior(model, X, y + offset, offset=offset)
    plain = term_posterior(model, X, y)
    kernels = model.active_kernels_
    np.testing.assert_allclose(beside.band(X, kernels), plain.band(X, kernels))
    with pytest.raises(ValueError, match="offset of the fit"):
        term_posterior(model, X, y + offset)


@pytest.mark.parametrize("by", ["kernel", "view", "column"])
def test_terms_of_unpenalized_columns_add_up(by):
    X, y, _ = data()
    X[:, 2] += 1e3  # far from zero
    views = {"a": 0, "b": 1, "known": Unpenalized([1, 2])}
    model = SpicyMKLRegressor(views, alpha=0.1).fit(X, y + 2.0 * X[:, 2])
    found = contributions(model, X, by)
    whole = found.terms.sum(axis=1) + model.intercept_
    np.testing.assert_allclose(whole, model.predict(X), rtol=1e-9)
    names = ["x1 (unpenalized)", "x2 (unpenalized)"]
    assert found.names[-1:] == (["unpenalized columns"] if by == "view" else names[1:])
    split = variance_split(model, X, y + 2.0 * X[:, 2], by, random_state=0)
    assert split.r2 == pytest.approx(model.score(X, y + 2.0 * X[:, 2]))
    # Means of predictions are those of the targets here.
    assert split.shares.sum() == pytest.approx(split.r2)
    deviance = deviance_split(model, X, y + 2.0 * X[:, 2], by, random_state=0)
    np.testing.assert_allclose(deviance.shares, split.shares, atol=1e-9)


def test_a_split_of_classes_has_a_term_of_each_column_and_output():
    X, y, _ = data()
    classes = np.digitize(y + X[:, 2], [-0.5, 0.5])
    views = {"a": 0, "known": Unpenalized(2)}
    model = SpicyMKLClassifier(views, alpha=0.05, loss="log_loss").fit(X, classes)
    found = contributions(model, X)
    whole = found.terms.sum(axis=-1) + model.intercept_
    np.testing.assert_allclose(whole, model.decision_function(X))
    split = deviance_split(model, X, classes, random_state=0)
    assert split.names[-1] == "x2 (unpenalized)"
    free = LinearRegression().fit(X[:, [2]], classes)
    assert split.shares[:, -1].max() > 0.3 * free.score(X[:, [2]], classes)


def test_a_split_refuses_one_group():
    X, y, _ = data()
    model = SpicyMKLRegressor(KERNELS, 0.1).fit(X, y)
    with pytest.raises(ValueError, match="groups contains one group"):
        variance_split(model, X, y, groups=np.zeros(len(y)))


def test_offsets_of_models_without_offsets_get_a_sentence():
    X, y, _ = data()
    times = pd.DataFrame({"event": 1, "time": np.exp(y)})
    survival = SpicyMKLSurvival([LinearKernel()]).fit(X, times)
    message = r"SpicyMKLSurvival does not support offset: divide the times by exp"
    for function in (
        group_permutation_importance,
        nested_cross_validate,
        kernel_tests,
        bootstrap,
        stability_selection,
    ):
        with pytest.raises(ValueError, match=message):
            function(survival, X, times, offset=y)
    classes = np.digitize(y, [0.0])
    ordinal = SpicyMKLOrdinal([LinearKernel()]).fit(X, classes)
    with pytest.raises(ValueError, match="SpicyMKLOrdinal does not support offset"):
        group_permutation_importance(ordinal, X, classes, offset=y)
    with pytest.raises(ValueError, match="kernel_tests does not support SpicyMKLOrd"):
        kernel_tests(ordinal, X, classes, offset=y)


def test_one_class_models_have_no_score():
    X, y, _ = data()
    model = OneClassMKL([GaussianKernel(1.0)]).fit(X)
    for function in (group_permutation_importance, nested_cross_validate):
        for settings in ({}, {"offset": y}):
            with pytest.raises(TypeError, match="OneClassMKL has no score: pass"):
                function(model, X, np.ones(len(y)), **settings)
    with pytest.raises(ValueError, match="one-class models such as OneClassMKL"):
        deviance_split(model, X, np.ones(len(y)))


def test_ordered_classes_are_drawn_with_their_names():
    X, y, _ = data()
    classes = np.where(np.arange(len(y)) == 0, "rare", "usual")
    model = SpicyMKLOrdinal([LinearKernel()], order=["usual", "rare"])
    with pytest.raises(ValueError, match="Class 'rare' has one sample"):
        bootstrap(model, X, classes, 2)


@pytest.mark.parametrize("split", [variance_split, deviance_split])
def test_splits_check_offsets_and_names_before_terms(split, monkeypatch):
    X, y, _ = data()
    model = SpicyMKLRegressor(KERNELS, 0.1).fit(X, y)
    monkeypatch.setattr(type(model), "contributions", None)
    for settings, message in (
        ({"offset": y[1:]}, "offset must have shape"),
        ({"sample_weight": y[1:]}, "Sample weights"),
        ({"groups": y[1:]}, "groups must hold one label per sample"),
        ({"by": "view"}, "was fitted without views"),
    ):
        with pytest.raises(ValueError, match=message):
            split(model, X, y, **settings)


@pytest.mark.parametrize(
    ("function", "settings"),
    [
        (bootstrap, {"n_resamples": 2, "groups": PATIENTS}),
        (stability_selection, {"n_resamples": 2, "groups": PATIENTS}),
        (kernel_tests, {}),
        (nested_cross_validate, {"cv": 2}),
        (regularization_path, {"n_alphas": 2}),
        (term_posterior, {}),
    ],
)
def test_fits_of_a_model_with_an_offset_warn_without_one(function, settings):
    X, y, random = data()
    offset = 0.01 * random.normal(size=len(y))
    model = SpicyMKLRegressor(KERNELS, 0.1).fit(X, y, offset=offset)
    with pytest.warns(UserWarning, match="fitted with an offset, but none"):
        function(model, X, y, **settings)


@pytest.mark.parametrize("resample", [bootstrap, stability_selection])
def test_a_resample_without_a_finite_model_is_named(resample):
    X, y, _ = data()
    classes = y > 0.0
    rare = [np.flatnonzero(classes)[0], np.flatnonzero(~classes)[0]]
    X[:, 2] = np.isin(np.arange(len(y)), rare)
    views = {"curve": ([0], GaussianKernel(1.0)), "rare": Unpenalized([2])}
    model = SpicyMKLClassifier(views, 0.1).fit(X, classes)
    with pytest.raises(ValueError, match=r"resample \d+ .* has no finite model"):
        resample(model, X, classes, n_resamples=20, random_state=0)
