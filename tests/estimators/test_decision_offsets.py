"""Offsets of decision values: exposures, and models on top of models."""

import pickle
import warnings
from functools import partial

import cvxpy
import numpy as np
import pytest
from reference.conic_losses import losses_of, terms_of
from sklearn import config_context
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import d2_pinball_score, d2_tweedie_score, r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from multikernel import report
from multikernel.estimators import (
    FixedWeightsMKLClassifier,
    FixedWeightsMKLRegressor,
    GroupOMPClassifier,
    GroupOMPRegressor,
    HKLRegressor,
    LpMKLClassifier,
    LpMKLRegressor,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
)
from multikernel.exceptions import SearchWarning, UnsupportedProblemError
from multikernel.inspection import deviance_split
from multikernel.kernels import GaussianKernel, LinearKernel, Unpenalized
from multikernel.losses import LOSSES
from multikernel.losses.offset import OffsetLoss, with_offset
from multikernel.losses.weighted import part_of, weighted

KERNELS = [GaussianKernel(1.0), GaussianKernel(3.0)]
MARGINS = ("log_loss", "hinge", "squared_hinge")
TIGHT = {"normalize": None, "tol": 1e-7}


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    X, o = rng.standard_normal((50, 2)), rng.standard_normal(50)
    f = np.sin(2.0 * X[:, 0]) + o
    return X, o, f, rng


def targets(loss, f, rng):
    """Return targets of a loss for a true f."""
    if loss in MARGINS:
        return np.where(f + 0.5 * rng.standard_normal(f.size) > 0.0, 1.0, -1.0)
    if loss == "poisson":
        return rng.poisson(np.exp(f)).astype(float)
    if loss == "gamma":
        return rng.gamma(2.0, 0.5 * np.exp(f))
    return f + 0.3 * rng.standard_normal(f.size)


def conic_optimum(X, y, o, loss, weigh):
    """Return the optimum of the mean loss and 0.05 times the norms, by cones."""
    f, norms = terms_of([kernel(X) for kernel in KERNELS])
    each = losses_of(loss, y, f + cvxpy.Variable() + o)
    mean = weigh @ each / weigh.sum()
    problem = cvxpy.Problem(cvxpy.Minimize(mean + 0.05 * cvxpy.sum(norms)))
    return problem.solve(solver="CLARABEL")


@pytest.mark.parametrize(
    "loss", ["log_loss", "hinge", "squared_hinge", "squared_error", "poisson", "gamma"]
)
@pytest.mark.parametrize("weighted_samples", [False, True])
def test_the_optimum_is_that_of_cones(samples, loss, weighted_samples):
    X, o, f, rng = samples
    y = targets(loss, f, rng)
    w = np.arange(50.0) % 3.0 + 1.0 if weighted_samples else np.ones(50)
    kind = SpicyMKLRegressor
    if loss in MARGINS:
        kind = SpicyMKLClassifier
    s = 1.0
    if loss == "squared_error":
        s = np.sqrt(np.cov(y - o, aweights=w, ddof=0))
    model = kind(KERNELS, alpha=0.05 / s, loss=loss, **TIGHT).fit(X, y, w, offset=o)
    assert model.objective_ == pytest.approx(
        conic_optimum(X, y, o, loss, w), rel=1e-5, abs=1e-7
    )
    assert model.duality_gap_ <= 1e-7
    plain, told = model.predict(X), model.predict(X, offset=o)
    assert not np.array_equal(plain, told)
    if loss == "poisson":
        np.testing.assert_allclose(told, plain * np.exp(o))
    if kind is SpicyMKLClassifier:
        values = model.decision_function(X, offset=o)
        np.testing.assert_allclose(values, model.decision_function(X) + o)


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_losses_at_an_offset_are_losses(name):
    rng = np.random.default_rng(0)
    loss = LOSSES[name]()
    y = targets({"quantile": "huber"}.get(name, name), rng.standard_normal(30), rng)
    o = rng.standard_normal(30)
    made, moved, factors = with_offset(loss, y, o)
    whole = made if factors is None else weighted(made, factors)
    f = rng.standard_normal(30)
    np.testing.assert_allclose(
        whole.value(moved, f), loss.value(y, f + o), rtol=1e-9, atol=1e-12
    )
    some = np.array([3, 7, 20])
    part = part_of(whole, some)
    np.testing.assert_allclose(
        part.value(moved[some], f[some]), whole.value(moved, f)[some]
    )
    slopes = whole.gradient(moved, f)
    equal = whole.value(moved, f) + whole.conjugate(moved, slopes) - slopes * f
    np.testing.assert_allclose(equal, 0.0, atol=1e-9)
    assert isinstance(made, OffsetLoss) is (name in MARGINS)
    if name in MARGINS:
        again = pickle.loads(pickle.dumps(whole))
        np.testing.assert_array_equal(again.value(y, f), whole.value(y, f))


@pytest.mark.parametrize(
    "model",
    [
        LpMKLRegressor(KERNELS, loss="squared_error", C=1.0, p=1.5, **TIGHT),
        LpMKLRegressor(KERNELS, loss="epsilon_insensitive", C=1.0, epsilon=0.1),
        FixedWeightsMKLRegressor(KERNELS, loss="squared_error", C=1.0, **TIGHT),
        GroupOMPRegressor(KERNELS, alpha=0.1, max_kernels=1),
    ],
    ids=repr,
)
def test_a_loss_of_residuals_has_the_offset_in_its_targets(samples, model):
    X, o, f, rng = samples
    y = targets("squared_error", f, rng)
    beside = model.fit(X, y, offset=o).predict(X, offset=o)
    np.testing.assert_allclose(beside, model.fit(X, y - o).predict(X) + o)


@pytest.mark.parametrize(
    "model",
    [
        LpMKLClassifier(KERNELS, C=1.0, p=1.5, **TIGHT),
        LpMKLClassifier(KERNELS, C=1.0, p=1.5, loss="log_loss", **TIGHT),
        LpMKLClassifier(KERNELS, C=1.0, p=1.0, loss="squared_hinge", **TIGHT),
        FixedWeightsMKLClassifier(KERNELS, C=1.0, **TIGHT),
    ],
    ids=repr,
)
def test_margin_machines_certify_with_offsets(samples, model):
    X, o, f, rng = samples
    y = targets("hinge", f, rng)
    fitted = model.fit(X, y, offset=o)
    assert fitted.duality_gap_ <= 1e-7
    without = fitted.objective_
    assert without != pytest.approx(model.fit(X, y).objective_, rel=1e-3)


def test_greedy_classifiers(samples):
    X, o, f, rng = samples
    y = targets("hinge", f, rng)
    model = GroupOMPClassifier(KERNELS, max_kernels=2, loss="log_loss")
    with_it = model.fit(X, y, offset=o).score(X, y)
    assert 0.0 <= with_it <= 1.0
    assert model.predict_proba(X, offset=o).shape == (50, 2)


@pytest.mark.parametrize("loss", ["hinge", "log_loss", "squared_hinge"])
@pytest.mark.parametrize("weighted", [False, True])
def test_greedy_classifiers_of_three_classes_have_offsets_of_their_own(
    samples, loss, weighted
):
    X, _, f, rng = samples
    y = np.digitize(f, np.quantile(f, [0.3, 0.7]))
    weights = rng.uniform(0.5, 2.0, 50) if weighted else None
    offset = rng.normal(size=(50, 3))
    model = GroupOMPClassifier(KERNELS, max_kernels=2, alpha=0.1, loss=loss)
    fitted = model.fit(X, y, weights, offset=offset)
    values = fitted.decision_function(X, offset=offset)
    apart = fitted.decision_function(X) + offset
    np.testing.assert_allclose(values, apart)
    # At the optimum of every output slopes are those of its own offset.
    signs = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    c = np.ones(50) if weights is None else weights
    dual = fitted.dual_coef_.T
    if loss == "log_loss":
        slopes = c[:, None] * signs / (1.0 + np.exp(signs * values))
        np.testing.assert_allclose(dual, slopes, atol=1e-3)
    if loss == "squared_hinge":
        slopes = c[:, None] * signs * np.maximum(0.0, 1.0 - signs * values)
        np.testing.assert_allclose(dual, slopes, atol=1e-3)
    if loss == "hinge":
        assert np.all(dual * signs <= c[:, None] + 1e-9)


def test_a_constant_model_is_that_of_a_poisson_regression_with_exposure(samples):
    X, o, f, rng = samples
    y = targets("poisson", f, rng)
    with pytest.warns(UserWarning, match="no active kernel"):
        model = SpicyMKLRegressor(KERNELS, alpha=1e3, loss="poisson").fit(
            X, y, offset=o
        )
    assert model.intercept_[0] == pytest.approx(np.log(y.sum() / np.exp(o).sum()))
    plain = PoissonRegressor(alpha=0.0).fit(
        np.ones((50, 1)), y / np.exp(o), sample_weight=np.exp(o)
    )
    np.testing.assert_allclose(model.predict(X), plain.predict(np.ones((50, 1))), 1e-4)


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_searches_score_with_the_offsets_of_validation_samples(samples):
    X, o, f, rng = samples
    y = f + 0.1 * rng.standard_normal(50) + 5.0 * o
    search = SpicyMKLRegressorCV(KERNELS, cv=3).fit(X, y, offset=6.0 * o)
    # Beside the offset, the score is that of the rest.
    rest = SpicyMKLRegressorCV(KERNELS, cv=3).fit(X, y - 6.0 * o)
    assert search.best_score_ == pytest.approx(rest.best_score_)
    assert search.best_params_ == rest.best_params_
    labels = targets("log_loss", 3.0 * f, rng)
    counts = SpicyMKLClassifierCV(KERNELS, cv=3).fit(X, labels, offset=3.0 * o)
    assert counts.best_score_ > 0.75


@pytest.mark.parametrize("loss", ["poisson", "gamma", "squared_error", "quantile"])
def test_scores_are_those_of_rates_and_routing_reaches_them(samples, loss):
    X, o, f, rng = samples
    y = targets({"quantile": "squared_error"}.get(loss, loss), f, rng)
    rates, weights = y - o, np.ones(50)
    if loss in ("poisson", "gamma"):
        e = np.exp(o)
        rates, weights = y / e, e if loss == "poisson" else weights
    model = SpicyMKLRegressor(KERNELS, loss=loss, alpha=0.05, tol=1e-5)
    model.fit(X, y, offset=o)
    score = {
        "poisson": partial(d2_tweedie_score, power=1),
        "gamma": partial(d2_tweedie_score, power=2),
        "quantile": partial(d2_pinball_score, alpha=0.5),
    }.get(loss, r2_score)
    known = model.predict(X, offset=np.zeros(50))
    expected = score(rates, known, sample_weight=weights)
    assert model.score(X, y, offset=o) == pytest.approx(expected)
    cv, alphas = KFold(3), [0.05, 0.02]
    with config_context(enable_metadata_routing=True):
        model.set_fit_request(offset=True).set_score_request(offset=True)
        grid = GridSearchCV(model, {"alpha": alphas}, cv=cv).fit(X, y, offset=o)
        piped = make_pipeline(StandardScaler(), model.set_predict_request(offset=True))
        piped.fit(X, y, offset=o)
        scores = cross_val_score(piped, X, y, cv=cv, params={"offset": o})
        assert np.isfinite(scores).all()
        assert piped.score(X, y, offset=o) > 0.1
        assert piped.predict(X, offset=o).shape == (50,)
    plain = SpicyMKLRegressorCV(KERNELS, loss=loss, cv=cv, alphas=alphas, tol=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SearchWarning)
        plain.fit(X, y, offset=o)
    np.testing.assert_allclose(
        grid.cv_results_["mean_test_score"],
        plain.cv_results_["mean_test_score"],
        rtol=0.05,
        atol=1e-3,
    )


def test_columns_and_an_offset(samples):
    X, o, f, rng = samples
    y = f + X[:, 1] + 0.1 * rng.standard_normal(50)
    views = {"a": (0, KERNELS), "b": Unpenalized(1)}
    beside = SpicyMKLRegressor(views, alpha=0.05, tol=1e-8).fit(X, y, offset=o)
    plain = SpicyMKLRegressor(views, alpha=0.05, tol=1e-8).fit(X, y - o)
    np.testing.assert_allclose(beside.predict(X), plain.predict(X), atol=1e-6)


def test_copies_with_other_offsets_are_no_copies(samples):
    X, o, f, rng = samples
    y = targets("hinge", f, rng)
    X, y, o = np.repeat(X, 2, axis=0), np.repeat(y, 2), np.append(o, -o)
    model = SpicyMKLClassifier(KERNELS, alpha=0.05, **TIGHT).fit(X, y, offset=o)
    assert model.duality_gap_ <= 1e-7


@pytest.mark.parametrize(
    ("offset", "message"),
    [
        (np.zeros(49), r"offset must have shape \(50,\), got shape \(49,\)"),
        (np.full(50, np.nan), "offset is nan at row 0: every"),
        (["a"] * 50, "offset must hold numbers"),
        ("a", r"pass the column, for example offset=X\['a'\]"),
        (np.full(50, -np.inf), "row 0, the logarithm of an exposure of zero"),
    ],
)
def test_sentences(samples, offset, message):
    X, _, f, rng = samples
    with pytest.raises(ValueError, match=message):
        SpicyMKLRegressor(KERNELS).fit(X, f, offset=offset)
    model = SpicyMKLRegressor(KERNELS).fit(X, f)
    with pytest.raises(ValueError, match=message):
        model.predict(X, offset=offset)
    with pytest.raises(ValueError, match="does not support offset"):
        HKLRegressor().fit(X, f, offset=f)
    with pytest.raises(ValueError, match="logarithmic scale"):
        SpicyMKLRegressor(KERNELS, loss="poisson").fit(X, np.ones(50), offset=f + 800)
    y = rng.integers(3, size=50)
    with pytest.raises(ValueError, match=r"shape \(50, 3\)"):
        SpicyMKLClassifier(KERNELS).fit(X, y, offset=f)
    with pytest.raises(UnsupportedProblemError, match="does not support offset"):
        SpicyMKLClassifier(KERNELS, selection="shared").fit(
            X, y, offset=np.zeros((50, 3))
        )


@pytest.mark.parametrize("kind", ["one", "search", "intervals"])
def test_an_answer_without_the_offset_of_the_fit_warns(kind):
    random = np.random.default_rng(0)
    X, years = random.normal(size=(60, 2)), random.uniform(0.1, 20.0, 60)
    y = random.poisson(years * np.exp(0.6 * X[:, 0])).astype(float)
    known = {"offset": np.log(years)}
    model = SpicyMKLRegressor(loss="poisson")
    if kind != "one":
        model = SpicyMKLRegressorCV(loss="poisson", cv=2, intervals=kind != "search")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", SearchWarning)
        model.fit(X, y, **known).predict(X, **known)
        model.linear_predictor(X, offset=np.zeros(60))
        model.contributions(X)
        SpicyMKLRegressor().fit(X, y, offset=np.zeros(60)).predict(X)
    asked = [lambda: model.predict(X), lambda: model.score(X, y)]
    if kind == "intervals":
        asked.append(lambda: model.predict_interval(X))
    for ask in asked:
        with pytest.warns(UserWarning, match=r"offset of zero.* predict\(X, offset="):
            ask()
    page = report(model, X, y)
    assert "fitted with an offset" in page
    split = partial(deviance_split, model, X, y, n_resamples=2)
    with pytest.warns(UserWarning, match="fitted with an offset"):
        split()


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
@pytest.mark.parametrize("offset", [700.0, -700.0, -800.0])
def test_offsets_beyond_numbers_are_named(loss, offset):
    X = np.arange(20.0)[:, None]
    model = SpicyMKLRegressor(loss=loss)
    with pytest.raises(ValueError, match=r"The offset ranges .* logarithmic scale"):
        model.fit(X, 1.0 + X[:, 0], offset=np.full(20, offset))


def test_offsets_that_look_like_exposures_get_a_caution():
    X = np.arange(20.0)[:, None]
    model = SpicyMKLRegressor(loss="poisson")
    exposure = np.linspace(1.0, 60.0, 20)
    with pytest.warns(UserWarning, match="pass np.log"):
        model.fit(X, 1.0 + X[:, 0], offset=exposure)
    model.fit(X, 1.0 + X[:, 0], offset=np.log(exposure))
    random = np.random.default_rng(0)
    for longest in (1.0, 20.0):
        years = random.uniform(0.0, longest, 100)
        y = random.poisson(10.0 * years).astype(float)
        with pytest.warns(UserWarning, match="pass np.log"):
            model.fit(years[:, None], y, offset=years)
        model.fit(years[:, None], y, offset=np.log(1.0 + 365.0 * years))


@pytest.mark.parametrize("loss", ["log_loss", "squared_hinge"])
def test_large_offsets_move_the_intercept_only(loss):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = X[:, 0] > 0.3
    far, near = (
        SpicyMKLClassifier([LinearKernel()], loss=loss).fit(X, y, offset=np.full(40, o))
        for o in (4096.0, 0.0)
    )
    np.testing.assert_allclose(far.intercept_ + 4096.0, near.intercept_, atol=1e-3)
