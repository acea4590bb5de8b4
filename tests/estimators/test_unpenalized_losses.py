"""Columns without a penalty beside losses that are no squares."""

import cvxpy
import numpy as np
import pandas as pd
import pytest
from reference.conic_losses import losses_of, terms_of
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.model_selection import KFold, cross_val_score

from multikernel import load, save
from multikernel.certificates.columns import orthogonal_dual
from multikernel.estimators import (
    FixedWeightsMKLClassifier,
    LpMKLClassifier,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
    SpicyMKLSurvival,
    regularization_path,
)
from multikernel.gram import DenseStack
from multikernel.kernels import GaussianKernel, Unpenalized
from multikernel.losses import HingeLoss, LogisticLoss, PoissonLoss
from multikernel.problem import Problem
from multikernel.regularizers import BlockL1

WIDTHS = [GaussianKernel(sigma) for sigma in (1.0, 3.0)]
VIEWS = {"genes": ([0, 1], WIDTHS), "confounders": Unpenalized([2, 3])}
TIGHT = {"normalize": None, "tol": 1e-7}
CLASSIFY = ("log_loss", "squared_hinge")


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    X[:, 2] = 50.0 + 10.0 * X[:, 2]
    return X, np.sin(2.0 * X[:, 0]) + 0.1 * (X[:, 2] - 50.0) + 0.5 * X[:, 3]


def targets(loss, f):
    """Return targets of a loss for a true f."""
    rng = np.random.default_rng(1)
    if loss in CLASSIFY:
        return np.where(f + rng.logistic(size=f.size) > 0.0, 1.0, -1.0)
    draws = {
        "poisson": lambda: rng.poisson(np.exp(0.5 * f)).astype(float),
        "gamma": lambda: rng.gamma(2.0, 0.5 * np.exp(0.5 * f)),
        "huber": lambda: f + 0.3 * rng.standard_t(2.0, f.size),
    }
    return draws[loss]()


def conic_optimum(X, y, w, loss, *, p=1):
    """Return the optimum with 0.03 times the norms, or at C = 0.5, and coefficients."""
    beta = cvxpy.Variable(3)
    f, norms = terms_of([kernel(X[:, :2]) for kernel in WIDTHS])
    f = f + np.column_stack([np.ones(len(X)), X[:, 2:]]) @ beta
    each = losses_of(loss, y, f, length=0.5)
    if p == 1:
        objective = w @ each / w.sum() + 0.03 * cvxpy.sum(norms)
    else:
        objective = 0.5 * w @ each + 0.5 * cvxpy.sum_squares(norms)
    problem = cvxpy.Problem(cvxpy.Minimize(objective))
    problem.solve(solver="CLARABEL", tol_gap_rel=1e-9)
    return problem.value, beta.value


@pytest.mark.parametrize(
    "loss", ["log_loss", "squared_hinge", "poisson", "gamma", "huber"]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_optimum_is_that_of_cones(samples, loss, weighted):
    X, f = samples
    y = targets(loss, f)
    w = np.arange(60.0) % 3.0 + 1.0 if weighted else np.ones(60)
    kind = SpicyMKLClassifier if loss in CLASSIFY else SpicyMKLRegressor
    s, settings = 1.0, {}
    if loss == "huber":
        s = np.sqrt(np.cov(y, aweights=w, ddof=0))
        settings = {"epsilon": 0.5 / s}
    model = kind(VIEWS, alpha=0.03 / s, loss=loss, **settings, **TIGHT).fit(X, y, w)
    expected, beta = conic_optimum(X, y, w, loss)
    assert model.objective_ == pytest.approx(expected, rel=1e-6)
    assert model.duality_gap_ <= 1e-7
    coefs = np.concatenate([model.intercept_, model.unpenalized_coef_])
    np.testing.assert_allclose(coefs, beta, rtol=1e-2, atol=1e-3)
    rho, sizes = model.dual_coef_, np.abs(X[:, 2:]).T @ np.abs(model.dual_coef_)
    assert np.all(np.abs(X[:, 2:].T @ rho) <= 1e-10 * sizes)
    assert abs(rho.sum()) <= 1e-10 * np.abs(rho).sum()


def test_the_unweighted_sum_and_lp(samples):
    X, f = samples
    y = targets("log_loss", f)
    expected, _ = conic_optimum(X, y, np.ones(60), "log_loss", p=np.inf)
    settings = {"C": 0.5, "loss": "log_loss"} | TIGHT
    uniform = FixedWeightsMKLClassifier(VIEWS, **settings).fit(X, y)
    assert uniform.objective_ == pytest.approx(expected, rel=1e-6)
    limit = LpMKLClassifier(VIEWS, p=np.inf, **settings).fit(X, y)
    assert limit.objective_ == pytest.approx(expected, rel=1e-6)
    assert LpMKLClassifier(VIEWS, p=1.5, **settings).fit(X, y).duality_gap_ <= 1e-7


@pytest.mark.filterwarnings("ignore:.*no active kernel")
def test_above_the_largest_strength_it_is_a_plain_regression(samples):
    X, f = samples
    y = targets("log_loss", f)
    model = SpicyMKLClassifier(VIEWS, alpha=1e3).fit(X, y)
    plain = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000)
    plain.fit(X[:, 2:], y)
    np.testing.assert_allclose(
        model.unpenalized_coef_, plain.coef_[0], rtol=1e-4, atol=1e-6
    )
    counts = targets("poisson", f)
    model = SpicyMKLRegressor(VIEWS, loss="poisson", alpha=1e3).fit(X, counts)
    expected = PoissonRegressor(alpha=0.0, tol=1e-10, max_iter=10_000)
    expected.fit((X[:, 2:] - [50.0, 0.0]) / [10.0, 1.0], counts)
    np.testing.assert_allclose(
        model.predict(X),
        expected.predict((X[:, 2:] - [50.0, 0.0]) / [10.0, 1.0]),
        rtol=1e-4,
    )
    path = regularization_path(SpicyMKLClassifier(VIEWS), X, y, n_alphas=4)
    assert not path.norms()[0].any()
    assert path.norms()[-1].any()


@pytest.mark.filterwarnings("ignore:.*no active kernel")
@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
@pytest.mark.parametrize("loss", ["log_loss", "poisson"])
def test_searches_files_and_folds(samples, tmp_path, loss):
    X, f = samples
    y = targets(loss, f)
    search, plain = SpicyMKLRegressorCV, SpicyMKLRegressor
    if loss == "log_loss":
        search, plain = SpicyMKLClassifierCV, SpicyMKLClassifier
    alphas = [0.3, 0.1, 0.03]
    model = search(VIEWS, alphas=alphas, loss=loss, cv=KFold(3)).fit(X, y)
    alone = plain(VIEWS, alpha=model.alpha_, loss=loss)
    scores = cross_val_score(alone, X, y, cv=KFold(3))
    found = [model.cv_results_[f"split{k}_test_score"] for k in range(3)]
    np.testing.assert_allclose(np.array(found)[:, model.best_index_], scores, atol=0.06)
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("storage", ["dense32", "lazy", "low_rank"])
def test_every_storage(samples, storage):
    X, f = samples
    y = targets("log_loss", f)
    expected = SpicyMKLClassifier(VIEWS, alpha=0.03).fit(X, y)
    model = SpicyMKLClassifier(VIEWS, alpha=0.03, storage=storage).fit(X, y)
    assert model.duality_gap_ <= 1e-3
    np.testing.assert_allclose(
        model.decision_function(X), expected.decision_function(X), atol=0.1
    )


def test_several_classes_and_an_offset(samples):
    X, f = samples
    y = np.digitize(f + np.random.default_rng(2).standard_normal(60), [-1.0, 1.0])
    model = SpicyMKLClassifier(VIEWS, alpha=0.03).fit(X, y)
    assert model.unpenalized_coef_.shape == (3, 2)
    assert np.all(model.duality_gap_ <= 1e-3)
    counts = targets("poisson", f)
    views = {"genes": VIEWS["genes"], "b": Unpenalized(3)}
    o = 0.05 * (X[:, 2] - 50.0)
    told = SpicyMKLRegressor(views, alpha=0.03, loss="poisson", **TIGHT)
    assert told.fit(X, counts, offset=o).duality_gap_ <= 1e-7


@pytest.mark.parametrize("loss", [HingeLoss(), LogisticLoss(), PoissonLoss()])
def test_dual_points_beside_columns(loss):
    rng = np.random.default_rng(0)
    for n_columns in (1, 3, 6):
        B = rng.standard_normal((40, n_columns)) * 10.0 ** rng.uniform(-3, 3, n_columns)
        y = np.where(rng.random(40) < 0.3, 1.0, -1.0)
        if isinstance(loss, PoissonLoss):
            y = rng.poisson(2.0, 40).astype(float)
        stack = DenseStack(np.eye(40)[None])
        problem = Problem(stack, y, loss, BlockL1(1.0), columns=B)
        candidate = 2.0 * rng.standard_normal(40)
        rho = orthogonal_dual(problem, candidate)
        whole = np.column_stack([np.ones(40), B])
        assert np.all(np.abs(whole.T @ rho) <= 1e-11 * np.abs(whole).T.sum(axis=1))
        assert np.isfinite(loss.conjugate(y, -rho)).all()
        low, high = (-end for end in loss.dual_bounds(y)[::-1])
        point = cvxpy.Variable(40)
        inside = [whole.T @ point == 0.0, point >= np.maximum(low, -1e3)]
        inside.append(point <= np.minimum(high, 1e3))
        distance = cvxpy.sum_squares(point - candidate)
        cvxpy.Problem(cvxpy.Minimize(distance), inside).solve(solver="CLARABEL")
        np.testing.assert_allclose(rho, point.value, atol=1e-3)


def test_a_dual_point_does_not_wait_for_its_last_digits(monkeypatch):
    """Newton's method ends in a few steps: searches took ten times as long."""
    rng = np.random.default_rng(0)
    solve, steps = np.linalg.solve, []
    monkeypatch.setattr(np.linalg, "solve", lambda *a: (steps.append(1), solve(*a))[1])
    for _ in range(40):
        y = np.where(rng.random(60) < 0.5, 1.0, -1.0)
        B = rng.standard_normal((60, 2)) + 50.0
        stack = DenseStack(np.eye(60)[None])
        problem = Problem(stack, y, LogisticLoss(), BlockL1(1.0), columns=B)
        assert orthogonal_dual(problem, rng.uniform(0.0, 1.0, 60) * y).any()
    assert len(steps) <= 40 * 10


def half_separated(kind):
    """Targets without an event where an indicator is 1, and with one there."""
    rng = np.random.default_rng(0)
    indicator = np.arange(40) >= 20
    X = np.c_[indicator, rng.normal(size=40)]
    times = np.exp(rng.normal(size=40))
    events = (~indicator) & (np.arange(40) % 3 > 0)
    more = events | (np.arange(40) == 39)
    if kind is SpicyMKLSurvival:
        censored = [np.where(seen, times, np.inf) for seen in (events, more)]
        frames = [pd.DataFrame({"lower": times, "upper": end}) for end in censored]
        return X, *frames
    return X, events, more


@pytest.mark.parametrize("kind", [SpicyMKLClassifier, SpicyMKLSurvival])
def test_a_column_that_tells_one_side_apart_has_no_best_coefficient(kind):
    X, events, more = half_separated(kind)
    kernels = {"u": Unpenalized([0]), "g": ([1], GaussianKernel(1.0))}
    with pytest.raises(ValueError, match="may be infinite"):
        kind(kernels).fit(X, events)
    fitted = kind(kernels, alpha=1e-3).fit(X, more)
    assert np.abs(fitted.unpenalized_coef_).max() < 10.0


def test_a_loss_that_ends_has_best_coefficients_on_one_side():
    X, events, _ = half_separated(SpicyMKLClassifier)
    kernels = {"u": Unpenalized([0]), "g": ([1], GaussianKernel(1.0))}
    model = SpicyMKLClassifier(kernels, loss="squared_hinge").fit(X, events)
    assert model.duality_gap_ <= model.tol


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_search_names_the_fold_without_a_finite_model(n_jobs):
    rng = np.random.default_rng(0)
    y = rng.random(60) < 0.5
    column = y.copy()
    wrong = [24 + int(np.argmax(y[24:36] == side)) for side in (True, False)]
    column[wrong] = ~column[wrong]  # both rows are in fold 2
    X = np.c_[column, rng.normal(size=60)]
    kernels = {"u": Unpenalized([0]), "g": ([1], GaussianKernel(1.0))}
    SpicyMKLClassifier(kernels).fit(X, y)
    search = SpicyMKLClassifierCV(kernels, cv=KFold(5), n_jobs=n_jobs)
    message = "training set of fold 2 of cv, which validates on rows 24, .* folds"
    with pytest.raises(ValueError, match=message):
        search.fit(X, y)
