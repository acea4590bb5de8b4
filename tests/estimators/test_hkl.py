"""HKL as an estimator: what it says, what it refuses, what it equals."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score

from multikernel import report
from multikernel.estimators import (
    HKLClassifier,
    HKLClassifierCV,
    HKLRegressor,
    HKLRegressorCV,
    SpicyMKLRegressor,
    regularization_path,
)
from multikernel.exceptions import ConvergenceWarning, DictionaryWarning
from multikernel.kernels import ColumnKernel, GaussianKernel
from multikernel.kernels.graph import (
    AnovaGrid,
    DictionaryGraph,
    HermiteGrid,
    PolynomialGrid,
)
from multikernel.persistence import load, save


@pytest.fixture(name="data")
def make_data():
    X = np.random.default_rng(0).standard_normal((200, 5)) * [1.0, 10.0, 0.1, 1.0, 3.0]
    X[:, 1] += 100.0
    y = X[:, 0] + 0.3 * (X[:, 1] - 100.0) * X[:, 3]
    return X, y + 0.1 * np.random.default_rng(1).standard_normal(200)


def test_names_of_data_frames_name_interactions(data):
    X, y = data
    frame = pd.DataFrame(X, columns=["age", "dose", "bmi", "bp", "sex"])
    model = HKLRegressor(PolynomialGrid(3), alpha=1e-3).fit(frame, y)
    assert next(iter(model.selected_nodes_)) == "dose * bp"
    assert model.kernel_names_[0] == "1"
    assert set(model.selected_nodes_) <= set(model.kernel_names_)
    assert model.duality_gap_ <= model.tol
    np.testing.assert_allclose(
        model.selected_nodes_["dose * bp"], model.node_norms_.max()
    )


def test_a_value_far_out_is_taken_as_the_largest_seen(data, tmp_path):
    """Scaling and folds keep to it: limits are those of the samples learned from."""
    X, y = data
    grid = PolynomialGrid(3, extrapolation="continue")
    search = HKLRegressorCV(PolynomialGrid(3), alphas=[0.1, 1e-3], cv=3, tol=1e-7)
    plain = HKLRegressor(grid, alpha=search.fit(X, y).alpha_, tol=1e-7).fit(X, y)
    np.testing.assert_allclose(search.predict(X), plain.predict(X), atol=1e-5)
    far = X[:3] * 1000.0
    held = np.clip(far, X.min(axis=0), X.max(axis=0))
    expected = search.predict(held)
    np.testing.assert_allclose(search.predict(far), expected, rtol=1e-8)
    assert np.abs(plain.predict(far)).max() > 1e5 * np.abs(expected).max()
    save(search, tmp_path / "model.skops")
    loaded = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.predict(far), search.predict(far))


@pytest.mark.parametrize("loss", ["log_loss", "hinge", "squared_error"])
def test_contributions_sum_to_decision_values(data, loss):
    X, y = data
    model = HKLClassifier(PolynomialGrid(2), alpha=1e-3, loss=loss).fit(X, y > 0.0)
    terms = model.contributions(X)
    assert terms.shape == (200, model.active_kernels_.size)
    total = terms.sum(axis=1) + model.intercept_
    np.testing.assert_allclose(total, model.decision_function(X), rtol=1e-10)
    np.testing.assert_allclose(terms.mean(axis=0), 0.0, atol=1e-9)
    assert model.duality_gap_ <= model.tol


def test_several_classes_are_one_against_the_rest():
    X, y = load_iris(return_X_y=True)
    model = HKLClassifier(PolynomialGrid(2), alpha=1e-3).fit(X, y)
    assert model.kernel_weights_.shape == (3, len(model.hull_))
    assert model.duality_gap_.shape == model.reduced_gap_.shape == (3,)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    first = HKLClassifier(PolynomialGrid(2), alpha=1e-3).fit(X, y == 1)
    np.testing.assert_allclose(
        model.decision_function(X)[:, 1], first.decision_function(X), atol=1e-2
    )


def test_weights_are_copies(data):
    X, y = data
    counts = np.random.default_rng(0).integers(0, 3, 200)
    spec = HermiteGrid(4, bandwidth=0.2)
    weighted = HKLRegressor(spec, alpha=1e-2).fit(X, y, sample_weight=counts)
    copied = HKLRegressor(spec, alpha=1e-2).fit(
        np.repeat(X, counts, axis=0), np.repeat(y, counts)
    )
    np.testing.assert_allclose(weighted.predict(X), copied.predict(X), rtol=1e-8)


def test_no_scale_of_weights_changes_a_model(data):
    X, y = data
    weights = np.random.default_rng(3).uniform(0.5, 2.0, len(y))
    model = HKLRegressor(PolynomialGrid(2), 0.01, loss="epsilon_insensitive")
    plain, tiny = (model.fit(X, y, w).predict(X) for w in (weights, 1e-9 * weights))
    assert model.duality_gap_ <= model.tol
    np.testing.assert_allclose(tiny, plain, atol=1e-6)
    shares = np.abs(model.dual_coef_) / (1e-9 * weights)
    assert shares.max() == pytest.approx(1.0)


def test_probabilities_are_those_of_the_problem(data):
    X, y = data
    model = HKLClassifier(PolynomialGrid(2), alpha=1e-3, tol=1e-6, certify=True)
    model.fit(X, y > 0.0)
    mean_loss = log_loss(y > 0.0, model.predict_proba(X)[:, 1])
    norms = dict(zip(model.hull_, model.node_norms_, strict=True))
    graph = PolynomialGrid(2).bind(X)
    omega = sum(
        graph.weight(v)
        * np.sqrt(sum(norms[w] ** 2 for w in norms if dict(v).items() <= below(v, w)))
        for v in norms
    )
    np.testing.assert_allclose(model.objective_, mean_loss + 5e-4 * omega**2, rtol=1e-9)


def below(v, w):
    """Return the levels of v if w descends from it, and otherwise nothing."""
    levels = dict(w)
    prefers_descent = all(levels.get(i, 0) >= level for i, level in v)
    return dict(v).items() if prefers_descent else {-1: -1}.items() if v else {}.items()


def test_flat_graphs_are_plain_mkl_in_squared_form(data):
    X, y = data
    kernels = [ColumnKernel(GaussianKernel(2.0), k) for k in range(5)]
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    flat = DictionaryGraph({f"k{m}": kernel for m, kernel in enumerate(kernels)})
    hkl = HKLRegressor(flat, alpha=0.1, tol=1e-8, certify=True).fit(scaled, y)
    # The block 1-norm problem at strength alpha times its sum of norms.
    total = hkl.node_norms_.sum()
    alpha = 0.1 * total / y.std()
    spicy = SpicyMKLRegressor(kernels, alpha=alpha, normalize=None, tol=1e-8)
    spicy.fit(scaled, y)
    np.testing.assert_allclose(hkl.predict(scaled), spicy.predict(scaled), atol=2e-3)
    squared = 0.5 * 0.1 * total**2
    np.testing.assert_allclose(hkl.objective_ + squared, spicy.objective_, rtol=1e-6)
    order = [hkl.kernel_names_.index(f"k{m}") for m in spicy.active_kernels_]
    shares = hkl.node_norms_[order] / total
    np.testing.assert_allclose(
        shares, spicy.kernel_weights_[spicy.active_kernels_], atol=1e-3
    )


def test_kernel_weights_reproduce_the_norm(data):
    X, y = data
    model = HKLRegressor(PolynomialGrid(2, weight_base=2.0), alpha=0.05).fit(X, y)
    used = model.node_norms_ > 0.0
    # Omega^2 = sum ||f_w||^2 / zeta_w at the optimal combination.
    omega = sum(model.node_norms_[used] ** 2 / model.kernel_weights_[used])
    loss = 0.5 * np.mean((y - model.predict(X)) ** 2)
    np.testing.assert_allclose(model.objective_, loss + 0.025 * omega, rtol=1e-10)


def test_an_unproven_fit_is_never_called_certified():
    X = np.random.default_rng(0).standard_normal((100, 10))
    y = np.random.default_rng(1).standard_normal(100)
    model = HKLRegressor(PolynomialGrid(4), alpha=1e-3).fit(X, y)
    assert model.duality_gap_ > model.tol >= model.reduced_gap_
    assert (
        "could not be ruled out" in model.status_message_
        or "max_kernels" in model.status_message_
    )
    if model.status_ == "noise_limited":
        assert "(reduced_gap_) is below tol" in model.status_message_
    asked = HKLRegressor(PolynomialGrid(4), alpha=1e-3, certify=True, max_kernels=30)
    with pytest.warns(ConvergenceWarning, match="larger weight_base"):
        asked.fit(X, y)
    assert asked.duality_gap_ > asked.tol


@pytest.mark.parametrize("loss", ["squared_error", "epsilon_insensitive"])
@pytest.mark.parametrize("alpha", [1e-1, 1e-3, 1e-5])
def test_a_fit_ends_below_tol_where_it_looked_or_warns(alpha, loss):
    """What the README promises; over the whole graph the gap is another one."""
    random = np.random.default_rng(0)
    X = random.standard_normal((60, 6))
    y = X[:, 0] * X[:, 1] + 0.5 * random.standard_normal(60)
    model = HKLRegressor(alpha=alpha, loss=loss)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    warned = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    assert warned == (model.status_ not in ("converged", "noise_limited"))
    assert warned or model.reduced_gap_ <= model.tol
    assert model.reduced_gap_ <= model.duality_gap_
    page, above = report(model), model.duality_gap_ > model.tol
    assert ("over the visited kernels" in page) == (
        model.duality_gap_ != model.reduced_gap_
    )
    assert warned or "Warnings</h2><p>None" in page
    assert not above or warned or model.status_ == "noise_limited"


def test_a_gap_above_tol_where_it_looked_is_no_success(monkeypatch):
    """Pruning may cost more than it should: here all that is not used is a root."""

    def roots(problem, active, point, allowed):
        return np.arange(len(active)) == 0

    monkeypatch.setattr("multikernel.solvers.hkl.search.needed_nodes", roots)
    random = np.random.default_rng(0)
    X = random.standard_normal((60, 6))
    y = X[:, 0] * X[:, 1] + 0.5 * random.standard_normal(60)
    with (
        pytest.warns(ConvergenceWarning, match="No further progress"),
        pytest.warns(DictionaryWarning, match="no active kernel"),
    ):
        model = HKLRegressor(alpha=1e-3).fit(X, y)
    assert model.reduced_gap_ > model.tol


def test_cross_validation_chooses_what_single_fits_score(data):
    X, y = data
    alphas = [1.0, 0.1, 0.01]
    grid, cv = PolynomialGrid(2), [(np.arange(100), np.arange(100, 200))]
    search = HKLRegressorCV(grid, alphas=alphas, cv=cv, tol=1e-6, certify=True)
    with pytest.warns(UserWarning, match="smallest value in the grid"):
        search.fit(X, y)
    for alpha, score in zip(alphas, search.cv_results_["mean_test_score"], strict=True):
        alone = HKLRegressor(grid, alpha=alpha, tol=1e-6, certify=True)
        (expected,) = cross_val_score(alone, X, y, cv=cv)
        np.testing.assert_allclose(score, expected, atol=1e-4)
    path = search.hull_path_
    assert path.norms.shape == (1, 3, len(path.names))
    assert (path.duality_gaps <= 1e-6).all()
    assert search.alpha_ == search.best_params_["alpha"]


def test_a_stopped_search_keeps_what_is_done(data):
    X, y = data
    lines = []

    def stop(line):
        lines.append(line)
        return len(lines) > 12

    search = HKLClassifierCV(PolynomialGrid(2), n_alphas=5, cv=2)
    with pytest.warns(UserWarning, match="HKLClassifierCV"):
        search.fit(X, y > 0.0, callback=stop)
    assert search.alpha_ in search.alphas_
    assert search.predict(X).shape == (200,)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernels": "precomputed"}, "kernels must be None or a KernelGraph"),
        ({"kernels": PolynomialGrid}, "kernels must be None or a KernelGraph"),
        ({"kernels": [GaussianKernel(1.0)]}, "kernels must be None or a KernelGraph"),
        ({"alpha": 0.0}, "alpha must be"),
        ({"max_kernels": 0}, "max_kernels must be"),
        ({"certify": 1}, "certify must be"),
        ({"standardize": None}, "standardize must be"),
    ],
)
def test_wrong_parameters_are_named(data, parameters, message):
    X, y = data
    with pytest.raises(ValueError, match=f"HKLRegressor: {message}"):
        HKLRegressor(**parameters).fit(X, y)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_features_that_overflow_are_refused(data):
    X, y = data
    grid = PolynomialGrid(4, extrapolation="continue")
    X = X.copy()
    X[0, 0] = 1e100
    model = HKLRegressor(grid, standardize=False)
    with pytest.raises(ValueError, match="too large for floating-point"):
        model.fit(X, y)
    quartic = np.append(0.0, X[1:, 0] ** 4)
    search = HKLRegressorCV(grid, alphas=[1e-6], cv=5)
    with pytest.raises(ValueError, match="row 0 of the validation samples of a fold"):
        search.fit(X, quartic)
    model = HKLRegressor(grid, alpha=1e-6).fit(X[1:], quartic[1:])
    with pytest.raises(ValueError, match="prediction for row 2 of X is too large"):
        model.predict(X[[1, 2, 0]])
    with pytest.raises(ValueError, match="prediction for row 0 of X is too large"):
        model.contributions(X[:1])
    assert np.isfinite(HKLRegressor(PolynomialGrid(2)).fit(X, y).duality_gap_)


def test_constant_columns_and_subsets(data):
    X, y = data
    X = np.column_stack([X, np.full(200, 7.0)])
    model = HKLRegressor(AnovaGrid(GaussianKernel(2.0)), alpha=1e-3).fit(X, y)
    assert not any("x6" in name for name in model.selected_nodes_)
    assert "x2 * x4" in model.selected_nodes_


def test_paths_are_those_of_the_search(data):
    X, y = data
    with pytest.raises(ValueError, match="hull_path_"):
        regularization_path(HKLRegressor(), X, y)


def test_interactions_of_many_features_predict_from_a_file(tmp_path):
    # 20 x 20 features, held as landmarks: in the fit, in a fold and in a file.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3))
    y = X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(120)
    search = HKLRegressorCV(AnovaGrid(), alphas=[1e-3, 1e-6], cv=2).fit(X, y)
    assert ((0, 1), (1, 1)) in search.hull_
    plain = HKLRegressor(AnovaGrid(), alpha=search.alpha_).fit(X, y)
    assert search.objective_ == pytest.approx(plain.objective_, rel=2 * plain.tol)
    save(search, tmp_path / "model.mkl")
    again = load(tmp_path / "model.mkl")
    np.testing.assert_array_equal(again.predict(X), search.predict(X))


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
def test_an_outlier_that_rules_its_features_is_fitted_with(loss):
    """The curvature less that of the means had nothing but rounding left."""
    X = np.random.default_rng(0).standard_normal((45, 2))
    y = X[:, 0] ** 4 + X[:, 1] ** 3 > 1.0
    X[5, 0] = 1e4
    model = HKLClassifier(loss=loss, standardize=False, max_iter=8, max_kernels=15)
    assert model.fit(X, y).reduced_gap_ < model.tol


@pytest.mark.parametrize("kernels", [None, HermiteGrid(4)])
@pytest.mark.parametrize(("shift", "size"), [(1.7e12, 1.0), (1e9, 1e-3), (-1e15, 1.0)])
def test_columns_far_from_zero_are_those_near_zero(kernels, shift, size, tmp_path):
    """Such a column once counted as constant, so the model did without it."""
    near = np.random.default_rng(0).normal(size=(60, 2))
    y, far = np.sin(near[:, 0]), near * [size, 1.0] + [shift, 0.0]
    near = far - [shift, 0.0]
    expected = HKLRegressor(kernels, certify=True).fit(near, y)
    model = HKLRegressor(kernels, certify=True).fit(far, y)
    assert expected.score(near, y) > 0.9
    np.testing.assert_allclose(model.predict(far), expected.predict(near), atol=1e-9)
    save(model, tmp_path / "model.mkl")
    again = load(tmp_path / "model.mkl")
    np.testing.assert_array_equal(again.predict(far), model.predict(far))


def test_a_table_without_a_varying_column_is_named():
    X = np.full((30, 2), 1e12)
    with pytest.warns(DictionaryWarning, match="no column of X varies"):
        HKLRegressor().fit(X, np.arange(30.0))


def near_constant_columns(n, rng):
    """Return inputs and targets; 16 of the 20 columns hold zeros but for a few rows."""
    X = np.zeros((n, 20))
    X[:, :4] = rng.uniform(-1.0, 1.0, (n, 4))
    for _ in range(10):
        rows, columns = rng.random(n) < 0.02, 4 + rng.choice(16, 5, replace=False)
        size = rng.lognormal(0.0, 1.0, (rows.sum(), 1))
        X[np.ix_(rows, columns)] += size * rng.choice([-1, 1, 2], (rows.sum(), 5))
    y = 3.0 * X[:, 0] + 2.0 * X[:, 1] * X[:, 2] + (X[:, 4:8] != 0.0).sum(axis=1)
    return X, y + 0.3 * rng.standard_normal(n)


def test_columns_that_are_nearly_constant_do_no_harm():
    """Powers of a value many deviations out tell its row from others, and no more."""
    X, y = near_constant_columns(650, np.random.default_rng(2))
    model = HKLRegressor(alpha=1e-3).fit(X[:150], y[:150])
    assert model.score(X[150:], y[150:]) > 0.8


def test_columns_that_vary_by_rounding_alone_are_constant():
    shares = np.random.default_rng(0).dirichlet(np.ones(7), 60)
    total = shares.sum(axis=1)  # 1 up to rounding
    assert np.unique(total).size > 1
    X = np.column_stack([shares[:, 0], total])
    model = HKLRegressor(alpha=0.003).fit(X, np.sin(6.0 * shares[:, 0]))
    moved = X + np.array([0.0, 1e-15])
    np.testing.assert_allclose(model.predict(moved), model.predict(X), rtol=1e-12)


def test_standardising_brings_a_value_far_out_to_four():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (100, 3)) + 5.0
    X[7, 1] += 1e6
    y = X[:, 0] + 0.3 * rng.standard_normal(100)
    by_hand = X - X.mean(axis=0)
    by_hand /= np.maximum(by_hand.std(axis=0), np.abs(by_hand).max(axis=0) / 4.0)
    scaled = HKLRegressor(alpha=0.01, tol=1e-6).fit(X, y)
    given = HKLRegressor(alpha=0.01, tol=1e-6, standardize=False).fit(by_hand, y)
    np.testing.assert_allclose(scaled.predict(X), given.predict(by_hand), atol=1e-8)
    copies = np.repeat(np.arange(100), [2] * 10 + [1] * 90)
    weights = np.bincount(copies).astype(float)
    weighted = HKLRegressor(alpha=0.01, tol=1e-6).fit(X, y, weights)
    repeated = HKLRegressor(alpha=0.01, tol=1e-6).fit(X[copies], y[copies])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-5)


@pytest.mark.parametrize("case", ["words", "gaps", "sparse", "strings"])
def test_advice_on_data_says_what_hkl_does_not_support(case):
    y = np.arange(8.0)
    X = {
        "words": pd.DataFrame({"a": y, "g": ["u", "v"] * 4}),
        "gaps": np.column_stack([y, np.where(y > 6, np.nan, y)]),
        "sparse": csr_array(np.eye(8)),
        "strings": ["acg", "act"] * 4,
    }[case]
    advice = {
        "words": "in a ColumnTransformer, or remove them.",
        "gaps": "with SimpleImputer, or remove these rows.",
        "sparse": "pass a dense table, X.toarray().",
        "strings": "pass a table of numbers.",
    }[case]
    with pytest.raises(ValueError, match=re.escape(advice) + "$") as caught:
        HKLRegressor().fit(X, y)
    assert "HKL" not in str(caught.value)
    if case == "gaps":
        with pytest.raises(ValueError, match=re.escape(advice) + "$"):
            HKLRegressor().fit(X[:6], y[:6]).predict(X)
