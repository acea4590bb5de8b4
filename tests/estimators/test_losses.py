"""Quantiles, outliers, counts and amounts: losses by name in estimators."""

import cvxpy as cp
import numpy as np
import pytest
from reference.conic_losses import losses_of, terms_of
from sklearn.linear_model import GammaRegressor, PoissonRegressor
from sklearn.metrics import d2_pinball_score, d2_tweedie_score, r2_score

from multikernel import (
    FixedWeightsMKLRegressor,
    GroupOMPRegressor,
    HKLRegressor,
    LpMKLRegressor,
    SpicyMKLClassifier,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
    load,
    save,
)
from multikernel.exceptions import DictionaryWarning
from multikernel.kernels import ColumnKernel, GaussianKernel, LinearKernel

KERNELS = [ColumnKernel(GaussianKernel(1.0), column) for column in range(3)]
NAMES = ("quantile", "huber", "poisson", "gamma", "squared_hinge")


def example(loss, n=40):
    """Return data whose targets suit a loss."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 3))
    f = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1]
    y = {
        "quantile": f + 0.2 * random.standard_t(2, n),
        "huber": f + 0.2 * random.standard_t(2, n),
        "poisson": random.poisson(np.exp(f + 0.5)).astype(float),
        "gamma": random.gamma(3.0, np.exp(f) / 3.0),
        "squared_hinge": np.where(f > 0.2, 1.0, -1.0),
    }
    return X, y[loss]


def conic_optimum(loss, y, grams, model, penalty):
    """Return the optimum of a sum of losses and a penalty of the norms."""
    f, norms = terms_of(grams)
    length = getattr(model, "epsilon_", 1.0)
    total = cp.sum(losses_of(loss, y, f + cp.Variable(), length=length))
    problem = cp.Problem(cp.Minimize(total + penalty(norms)))
    # With the default of 0.99, Clarabel fails on one of these problems and one BLAS.
    return problem.solve(solver=cp.CLARABEL, max_step_fraction=0.95)


def normalized_grams(model, X):
    """Return the matrices of a model whose kernels were not normalized."""
    return np.stack([kernel(X) for kernel in model.kernels])


@pytest.mark.parametrize("loss", NAMES)
def test_sparse_models_are_optimal(loss):
    X, y = example(loss)
    family = SpicyMKLClassifier if loss == "squared_hinge" else SpicyMKLRegressor
    model = family(KERNELS, 0.05, loss=loss, normalize=None, tol=1e-7)
    if loss == "quantile":
        model.set_params(quantile=0.8)
    model.fit(X, y)
    best = conic_optimum(
        loss,
        y,
        normalized_grams(model, X),
        model,
        lambda norms: model.alpha_ * len(y) * cp.sum(norms),
    )
    assert model.duality_gap_ <= 1e-7
    assert model.objective_ * len(y) == pytest.approx(best, rel=1e-6)


@pytest.mark.filterwarnings("ignore:.*has no effect with loss")
@pytest.mark.parametrize("loss", ["quantile", "huber", "poisson", "gamma"])
def test_spread_models_are_optimal(loss):
    X, y = example(loss)
    model = LpMKLRegressor(
        KERNELS, p=2.0, C=2.0, loss=loss, quantile=0.8, normalize=None, tol=1e-6
    ).fit(X, y)
    best = conic_optimum(
        loss,
        y,
        normalized_grams(model, X),
        model,
        lambda norms: (
            cp.square(cp.pnorm(norms, 4 / 3, approx=False)) / (2.0 * model.C_)
        ),
    )
    assert model.objective_ == pytest.approx(model.C_ * best, rel=1e-5)


@pytest.mark.parametrize(
    ("loss", "peer"), [("poisson", PoissonRegressor), ("gamma", GammaRegressor)]
)
def test_without_a_penalty_it_is_the_generalised_linear_model(loss, peer):
    X, y = example(loss, 200)
    linear = [ColumnKernel(LinearKernel(), column) for column in range(3)]
    model = SpicyMKLRegressor(linear, 1e-5, loss=loss, tol=1e-5).fit(X, y)
    same = peer(alpha=0.0, tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(model.predict(X), same.predict(X), rtol=5e-3)
    np.testing.assert_allclose(
        np.exp(model.linear_predictor(X)), model.predict(X), rtol=1e-12
    )
    assert model.score(X, y) == pytest.approx(same.score(X, y), abs=1e-4)


def test_quantiles_are_those_of_the_targets():
    X, y = example("quantile", 300)
    levels = [0.1, 0.5, 0.9]
    shares = [
        np.mean(
            y
            <= SpicyMKLRegressor(alpha=0.05, loss="quantile", quantile=q)
            .fit(X, y)
            .predict(X)
        )
        for q in levels
    ]
    np.testing.assert_allclose(shares, levels, atol=0.04)


@pytest.mark.filterwarnings("ignore:.*has no effect with loss")
def test_scores_are_shares_of_the_deviance():
    for loss, score in {
        "quantile": lambda *pair: d2_pinball_score(*pair, alpha=0.8),
        "huber": r2_score,
        "poisson": lambda *pair: d2_tweedie_score(*pair, power=1),
        "gamma": lambda *pair: d2_tweedie_score(*pair, power=2),
    }.items():
        X, y = example(loss)
        model = SpicyMKLRegressor(KERNELS, loss=loss, quantile=0.8).fit(X, y)
        assert model.score(X, y) == pytest.approx(score(y, model.predict(X)))


@pytest.mark.filterwarnings("ignore:.*has no effect with loss")
def test_outliers_pull_no_further():
    X, y = example("huber", 120)
    far = y.copy()
    far[7] += 1e4
    change = {}
    for loss in ("huber", "squared_error"):
        # One tube and one strength in the units of y, whatever its deviation.
        near, pulled = (
            SpicyMKLRegressor(loss=loss, epsilon=0.5 / s, alpha=0.02 / s)
            .fit(X, each)
            .predict(X)
            for each, s in ((y, y.std()), (far, far.std()))
        )
        change[loss] = np.abs(np.delete(near - pulled, 7)).max()
    assert change["huber"] < 1.0 < 50.0 < change["squared_error"]


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_weights_count_as_copies(loss):
    X, y = example(loss)
    weights = np.arange(40) % 3
    model = SpicyMKLRegressor(KERNELS, 0.03, loss=loss, normalize=None, tol=1e-8)
    heavy = model.fit(X, y, sample_weight=weights).predict(X)
    often = np.repeat(np.arange(40), weights)
    np.testing.assert_allclose(
        heavy, model.fit(X[often], y[often]).predict(X), rtol=1e-3
    )


@pytest.mark.parametrize("loss", ["quantile", "poisson", "gamma"])
def test_searches_choose_by_the_deviance_and_models_are_saved(loss, tmp_path):
    X, y = example(loss, 80)
    search = SpicyMKLRegressorCV(KERNELS, loss=loss, cv=3).fit(X, y)
    assert search.duality_gap_ <= search.tol
    path = save(search, tmp_path / "model.skops")
    again = load(path or tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(X), search.predict(X))
    assert again.score(X, y) == search.score(X, y) > 0.2


@pytest.mark.parametrize("family", [GroupOMPRegressor, HKLRegressor])
def test_other_methods_predict_in_units_of_the_targets(family):
    X, y = example("poisson", 80)
    model = family(loss="poisson").fit(X, y)
    assert np.all(model.predict(X) > 0.0)
    assert model.predict(X).mean() == pytest.approx(y.mean(), rel=0.05)


@pytest.mark.parametrize(
    ("loss", "y", "sentence"),
    [
        ("poisson", [1.0, 2.0, -1.0, 3.0], "requires y >= 0, but the smallest y is -1"),
        ("poisson", [0.0, 0.0, 0.0, 0.0], "requires a count above 0, but all y are 0"),
        ("gamma", [1.0, 2.0, 0.0, 3.0], "requires y > 0, but the smallest y is 0"),
    ],
)
def test_targets_that_do_not_suit_get_a_sentence(loss, y, sentence):
    X = np.arange(8.0).reshape(4, 2)
    with pytest.raises(ValueError, match=sentence):
        SpicyMKLRegressor(loss=loss).fit(X, y)


def test_levels_are_checked():
    X, y = example("quantile")
    with pytest.raises(ValueError, match=r"quantile must be a finite number in \(0, 1"):
        SpicyMKLRegressor(loss="quantile", quantile=1.0).fit(X, y)


@pytest.mark.parametrize("family", [SpicyMKLRegressorCV, LpMKLRegressor, HKLRegressor])
def test_unsuitable_targets_are_refused_before_anything_is_computed(family):
    X, _ = example("gamma")
    with np.errstate(all="raise"), pytest.raises(ValueError, match="requires y > 0"):
        family(loss="gamma").fit(X, np.r_[np.zeros(3), np.ones(37)])


def test_constant_targets_have_a_score():
    X, y = example("gamma")
    model = SpicyMKLRegressor(KERNELS, loss="gamma").fit(X, y)
    assert model.score(X, np.ones(40)) == 0.0


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
@pytest.mark.parametrize(
    "family", [SpicyMKLRegressor, LpMKLRegressor, FixedWeightsMKLRegressor]
)
def test_constant_targets_are_certified(loss, family):
    random = np.random.default_rng(0)
    X, weights = random.standard_normal((30, 2)), 10.0 ** random.uniform(-1, 1, 30)
    exposure = random.integers(1, 100, 30)
    for value in (1.0, 3.0, 4.0, 1e6):
        for rates, offset in ((1.0, None), (exposure, np.log(exposure))):
            y = value * rates * np.ones(30)
            model = family(KERNELS[:2], loss=loss)
            with pytest.warns(DictionaryWarning, match="no active kernel"):
                model.fit(X, y, sample_weight=weights, offset=offset)
            assert model.status_ == "converged"
            assert model.duality_gap_ == 0.0
            assert np.allclose(model.intercept_, np.log(value))


def test_parameters_of_other_losses_are_named():
    X, y = example("huber")
    for settings in ({"loss": "huber", "quantile": 0.9}, {"epsilon": 0.1}):
        with pytest.warns(UserWarning, match="has no effect with loss="):
            SpicyMKLRegressor(KERNELS, **settings).fit(X, y)
    with pytest.raises(ValueError, match="epsilon must be above 0 with loss='huber'"):
        SpicyMKLRegressor(KERNELS, loss="huber", epsilon=0.0).fit(X, y)
