"""Stability selection and the bootstrap, against fits made one by one."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing

from multikernel.estimators import (
    GroupOMPRegressor,
    HKLRegressor,
    LpMKLRegressor,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
    SpicyMKLOrdinal,
    SpicyMKLOrdinalCV,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
    SpicyMKLSurvival,
    stack_grams,
    variance_shares,
)
from multikernel.exceptions import ConvergenceWarning
from multikernel.inspection import (
    Stability,
    bootstrap,
    kernel_tests,
    stability_selection,
)
from multikernel.kernels import GaussianKernel, LinearKernel, ParameterGrid

KERNELS = ParameterGrid([GaussianKernel(1.0), LinearKernel()], range(4))


def data(n=60, seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, 4))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * random.standard_normal(n)


class Recorded(np.random.RandomState):
    """A generator that keeps what it drew: orders of groups, and counts of rows."""

    def __init__(self):
        super().__init__(3)
        self.orders, self.counts = [], None

    def permutation(self, group):
        order = super().permutation(group)
        # Samples of a group come in the order of their rows.
        place = {sample: row for row, sample in enumerate(group)}
        self.orders.append(np.array([place[sample] for sample in order]))
        return order

    def multinomial(self, n, shares, size=None):
        self.counts = super().multinomial(n, shares, size=size)
        return self.counts


@pytest.mark.parametrize("storage", ["dense", "low_rank", "lazy"])
@pytest.mark.parametrize("copies", [False, True])
def test_a_half_chooses_what_a_fit_on_it_chooses(storage, copies):
    X, y = data()
    if copies:
        X, y = np.vstack([X, X[:20]]), np.append(y, y[:20])
    weights = np.random.default_rng(1).integers(1, 3, len(y)).astype(float)
    model = SpicyMKLRegressor(KERNELS, 0.1, tol=1e-8, storage=storage)
    random = Recorded()
    found = stability_selection(
        model, X, y, 4, sample_weight=weights, random_state=random
    )
    size = len(y) // 2
    assert [len(order) for order in random.orders] == [len(y)] * 2
    assert {*random.orders[0][:size]} != {*random.orders[1][:size]}
    halves = [
        half for order in random.orders for half in (order[:size], order[size:][:size])
    ]
    for chosen, half in zip(found.selections, halves, strict=True):
        half = np.sort(half)
        alone = model.fit(X[half], y[half], weights[half])
        np.testing.assert_array_equal(np.flatnonzero(chosen), alone.active_kernels_)
    whole = model.fit(X, y, weights)
    np.testing.assert_array_equal(found.active_kernels, whole.active_kernels_)


def test_classes_keep_their_shares():
    X, y = data()
    labels = np.digitize(y, [-0.3, 0.8])
    model = SpicyMKLClassifier(KERNELS, 0.05, tol=1e-7)
    random = Recorded()
    found = stability_selection(model, X, labels, 2, random_state=random)
    parts = []
    for label, order in zip(np.unique(labels), random.orders, strict=True):
        rows, size = np.flatnonzero(labels == label), order.size // 2
        parts.append((rows[order[:size]], rows[order[size:][:size]]))
    halves = [np.sort(np.concatenate(half)) for half in zip(*parts, strict=True)]
    for chosen, half in zip(found.selections, halves, strict=True):
        alone = model.fit(X[half], labels[half])
        np.testing.assert_array_equal(np.flatnonzero(chosen), alone.active_kernels_)


def test_threads_change_nothing():
    X, y = data()
    model = SpicyMKLRegressor(KERNELS, 0.1)
    one, two = (
        stability_selection(model, X, y, 6, n_jobs=jobs, random_state=0)
        for jobs in (None, 2)
    )
    np.testing.assert_array_equal(one.selections, two.selections)


def test_precomputed_matrices_and_greedy_models():
    X, y = data()
    grams = stack_grams([kernel(X) for kernel in KERNELS])
    model = GroupOMPRegressor(KERNELS, 0.01, max_kernels=2)
    given = GroupOMPRegressor("precomputed", 0.01, max_kernels=2)
    found = stability_selection(model, X, y, 10, random_state=0)
    other = stability_selection(given, grams, y, 10, random_state=0)
    np.testing.assert_array_equal(found.selections.sum(axis=1), 2)
    np.testing.assert_array_equal(found.active_kernels, other.active_kernels)
    np.testing.assert_array_equal(found.selections, other.selections)
    shares = bootstrap(given, grams, y, 4, random_state=0).variance_shares
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


def test_the_bound_is_that_of_the_paper():
    selections = np.zeros((4, 50), dtype=bool)
    selections[:, 0] = True
    selections[:3, 1] = True
    selections[0, 2:7] = True
    names = tuple(f"kernel {m}" for m in range(50))
    found = Stability(names, selections, np.array([0]), 0.75)
    assert found.n_selected == 3.0
    assert found.expected_false == pytest.approx(3.0**2 / 50 / 0.5)
    np.testing.assert_array_equal(found.stable_kernels, [0, 1])
    groups = ["a"] + ["b"] * 6 + ["c"] * 43
    assert found.group_frequencies(groups) == {"a": 1.0, "b": 0.75, "c": 0.0}
    with pytest.raises(ValueError, match="each of the 50 kernels, got 1"):
        found.group_frequencies(["a"])


def test_few_noise_kernels_pass_where_there_is_only_noise():
    random = np.random.default_rng(0)
    X, y = random.standard_normal((80, 30)), random.standard_normal(80)
    kernels = ParameterGrid([LinearKernel()], range(30))
    # Every half takes kernels in, or the bound would bound nothing.
    model = SpicyMKLRegressor(kernels, 0.15)
    found = stability_selection(model, X, y, 40, threshold=0.9, random_state=0)
    assert found.n_selected > 1.0
    assert found.stable_kernels.size <= np.ceil(found.expected_false)


def test_a_pipeline_is_fitted_up_to_its_model():
    X, y = data()
    model = SpicyMKLRegressor(KERNELS, 0.1)
    steps = make_pipeline(StandardScaler(), model)
    found = stability_selection(steps, 100.0 * X, y, 6, random_state=0)
    scaled = StandardScaler().fit_transform(X)
    plain = stability_selection(model, scaled, y, 6, random_state=0)
    np.testing.assert_array_equal(found.selections, plain.selections)


@pytest.mark.parametrize(
    "model",
    [
        SpicyMKLRegressor(KERNELS, 0.1, tol=1e-9, storage="dense"),
        SpicyMKLRegressor(KERNELS, 0.1, tol=1e-9, storage="low_rank"),
        LpMKLRegressor(KERNELS, 1.0, loss="squared_error", tol=1e-9, storage="dense"),
    ],
)
def test_a_resample_is_a_fit_with_weights(model):
    X, y = data()
    random = Recorded()
    found = bootstrap(model, X, y, 3, random_state=random)
    for number, weights in enumerate(random.counts.astype(float)):
        assert weights.sum() == len(y)
        alone = model.fit(X, y, weights)
        np.testing.assert_allclose(
            found.kernel_weights[number], alone.kernel_weights_, atol=1e-3
        )
        shares = np.zeros(len(KERNELS))
        terms = alone.contributions(X)
        shares[alone.active_kernels_] = variance_shares(terms, weights)
        np.testing.assert_allclose(found.variance_shares[number], shares, atol=1e-3)
        values = found.models[number].decision_values(X)[:, 0]
        np.testing.assert_allclose(values, alone.predict(X), atol=1e-2)


def test_intervals_and_bands_hold_what_they_say():
    X, y = data()
    found = bootstrap(SpicyMKLRegressor(KERNELS, 0.1), X, y, 20, random_state=0)
    low, high = found.interval(level=0.8)
    inside = (found.variance_shares >= low) & (found.variance_shares <= high)
    assert (inside.mean(axis=0) >= 0.8).all()
    assert low[0] > 0.1  # of the sine
    low, high = found.band(X, [0, 1], level=0.9, center=X)
    assert low.shape == high.shape == (len(X), 1)
    assert (low <= high).all()
    # The sine is inside, give or take the shrinkage.
    wave = np.sin(2.0 * X[:, 0])
    assert np.corrcoef(0.5 * (low + high)[:, 0], wave)[0, 1] > 0.9


def test_fits_that_did_not_converge_are_counted_once():
    X, y = data()
    model = SpicyMKLRegressor(KERNELS, 0.01, max_iter=1, tol=1e-8)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        stability_selection(model, X, y, 4, random_state=0)
    told = [w for w in caught if w.category is ConvergenceWarning]
    assert len(told) == 1
    assert "4 of the 4 fits of stability_selection" in str(told[0].message)


def test_a_search_with_an_alpha_per_target_is_resampled_by_target():
    X, y = data()
    Y = np.column_stack([y, 5.0 * X[:, 1]])
    search = SpicyMKLRegressorCV(KERNELS, cv=2, selection="separate")
    with pytest.raises(TypeError, match="array, pass one column of y with its alpha"):
        bootstrap(search, X, Y, 2)
    alphas = search.fit(X, Y).best_params_["alpha"]
    for alpha, target in zip(alphas, Y.T, strict=True):
        assert len(bootstrap(SpicyMKLRegressor(KERNELS, alpha), X, target, 2).models)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            SpicyMKLClassifierCV(KERNELS),
            "pass SpicyMKLClassifier with the best_params_",
        ),
        (HKLRegressor(), "HKLRegressor searches a graph"),
        (StandardScaler(), "got StandardScaler"),
    ],
)
def test_models_without_a_list_of_kernels_are_refused(model, message):
    X, y = data()
    with pytest.raises(TypeError, match=message):
        stability_selection(model, X, y, 4)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_resamples": 5}, "must be even"),
        ({"n_resamples": 0}, "n_resamples"),
        ({"threshold": 0.5}, "threshold"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_wrong_arguments_are_named(wrong, message):
    X, y = data()
    with pytest.raises(ValueError, match=message):
        stability_selection(SpicyMKLRegressor(KERNELS), X, y, **wrong)


def test_a_class_of_one_sample_cannot_be_halved():
    X, y = data()
    labels = np.where(np.arange(len(y)) == 0, "rare", "common")
    with pytest.raises(ValueError, match="Class 'rare' has one sample"):
        stability_selection(SpicyMKLClassifier(KERNELS), X, labels, 4)


@pytest.mark.parametrize("selection", ["shared", "separate"])
def test_several_targets(selection):
    X, y = data()
    Y = np.column_stack([y, X[:, 2] ** 2, X[:, 3]])
    model = SpicyMKLRegressor(KERNELS, 0.1, tol=1e-7, selection=selection)
    random = Recorded()
    found = stability_selection(model, X, Y, 2, random_state=random)
    (order,), size = random.orders, len(Y) // 2
    halves = order[:size], order[size:][:size]
    for chosen, half in zip(found.selections, map(np.sort, halves), strict=True):
        alone = model.fit(X[half], Y[half])
        np.testing.assert_array_equal(np.flatnonzero(chosen), alone.active_kernels_)
    fits = bootstrap(model, X, Y, 3, random_state=0)
    assert fits.variance_shares.shape == (3, 3, len(KERNELS))
    low, high = fits.band(X[:7], [0], center=X)
    assert low.shape == high.shape == (7, 3)


def test_a_selection_reads_as_a_table():
    selections = np.array([[1, 0, 1], [1, 0, 0], [1, 1, 1], [1, 0, 1]], dtype=bool)
    names = "first", "second", "third"
    head, *rows = repr(Stability(names, selections, np.array([0, 2]), 0.75)).split("\n")
    # q = 2 kernels a half, and 4 / (0.5 * 3) by the formula.
    assert "2 of 3 kernels chosen by 75% or more of 4 fits" in head
    assert "at most 2.7 expected by chance" in head
    assert [row.split() for row in rows] == [["1.00", "first"], ["0.75", "third"]]


@pytest.mark.parametrize("selection", ["shared", "separate"])
def test_samples_of_several_labels_are_drawn(selection):
    X = data()[0]
    labels = np.column_stack([X[:, 0] > 0.0, X[:, 1] > 0.0]).astype(int)
    model = SpicyMKLClassifier(KERNELS, selection=selection)
    found = stability_selection(model, X, labels, 4, random_state=0)
    # Kernels on the columns that decide are chosen, whatever the half.
    assert found.frequencies.reshape(4, 2).max(axis=1)[:2].tolist() == [1.0, 1.0]
    assert bootstrap(model, X, labels, 4).variance_shares.shape == (4, 2, 8)
    labels[:, 1] = 0
    labels[0, 1] = 1
    with pytest.raises(ValueError, match=r"Label 1 .* too rare"):
        stability_selection(model, X, labels, 4, random_state=0)


def test_a_bootstrap_of_several_outputs_prints_a_table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    Y = pd.DataFrame({"height": np.sin(X[:, 0]), "weight": X[:, 1]})
    model = SpicyMKLRegressor({"a": [0], "b": [1]}, alpha=0.002)
    fits = bootstrap(model, X, Y, 3, random_state=0)
    head, first, *lines = repr(fits).splitlines()
    assert head.endswith("; median share and 90% interval")
    assert first == "height:"
    assert lines[0].endswith("]  a")
    assert lines[lines.index("weight:") + 1].endswith("]  b")


def test_rows_that_repeat_are_warned_of():
    random = np.random.default_rng(0)
    X, y = data(40)
    patient = np.repeat(np.arange(20), 2)
    model = SpicyMKLRegressor([GaussianKernel(1.0)])
    for resample in (stability_selection, bootstrap):
        with pytest.warns(UserWarning, match="40 of 40 rows of X repeat another row"):
            resample(model, X[patient][:, :2], y, 2, random_state=0)
    with pytest.warns(UserWarning, match="pass groups and permute='groups'"):
        kernel_tests(model, X[patient], y, n_permutations=1)
    levels = random.integers(0, 3, size=(40, 2)).astype(float)
    twice = X.copy()
    twice[0] = twice[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        for table in (X, levels, twice):
            bootstrap(model, table, y, 2, random_state=0)
            kernel_tests(model, table, y, n_permutations=1)


def test_ordered_classes_and_times_are_drawn():
    X, y = data()
    stages = np.digitize(y, [-0.3, 1.8])
    times = pd.DataFrame({"event": np.arange(60) % 4 > 0, "time": np.exp(y)})
    for model, targets, strata in (
        (SpicyMKLOrdinal(KERNELS, alpha=0.05, tol=1e-6), stages, stages),
        (SpicyMKLSurvival(KERNELS, alpha=0.05, tol=1e-6), times, np.zeros(60)),
    ):
        random = Recorded()
        found = stability_selection(model, X, targets, 2, random_state=random)
        halves = [], []
        for label, order in zip(np.unique(strata), random.orders, strict=True):
            rows, size = np.flatnonzero(strata == label), order.size // 2
            halves[0].extend(rows[order[:size]])
            halves[1].extend(rows[order[size:][:size]])
        for chosen, half in zip(found.selections, map(np.sort, halves), strict=True):
            alone = clone(model).fit(X[half], _safe_indexing(targets, half))
            np.testing.assert_array_equal(np.flatnonzero(chosen), alone.active_kernels_)
        with pytest.raises(ValueError, match="does not support offset"):
            bootstrap(model, X, targets, 2, offset=y)
    random = Recorded()
    fits = bootstrap(model, X, times, 2, random_state=random)
    for fit, counts in zip(fits.models, random.counts, strict=True):
        alone = clone(model).fit(X, times, counts.astype(float))
        values = fit.decision_values(X)[:, 0]
        np.testing.assert_allclose(values, alone.linear_predictor(X), atol=0.01)
    search = SpicyMKLOrdinalCV(KERNELS, n_alphas=3, cv=2)
    with pytest.raises(TypeError, match="pass SpicyMKLOrdinal with the best_params_"):
        bootstrap(search, X, stages, 2)
    best = search.fit(X, stages).best_params_
    assert len(bootstrap(SpicyMKLOrdinal(KERNELS, **best), X, stages, 2).models) == 2


def test_a_bootstrap_has_the_alpha_of_all_samples():
    X, y = data()
    y = (y - y.mean()) / y.std()
    alpha = SpicyMKLRegressor(KERNELS, "null").fit(X, y).alpha_
    by_rule, by_number = (
        bootstrap(SpicyMKLRegressor(KERNELS, a, tol=1e-7), X, y, 3, random_state=0)
        for a in ("null", alpha)
    )
    np.testing.assert_allclose(
        by_rule.variance_shares, by_number.variance_shares, atol=1e-3
    )
    # With many pairs of columns, the default alpha is computed from the data, too.
    wide = np.random.default_rng(0).standard_normal((60, 600))
    target = 3.0 * wide[:, 0]
    fits = bootstrap(SpicyMKLRegressor(), wide, target, 2, random_state=0)
    n_active = len(SpicyMKLRegressor().fit(wide, target).active_kernels_)
    assert max(len(active) for active in fits.active_kernels) < n_active + 5
