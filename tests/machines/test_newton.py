"""Newton against conic programming, scikit-learn and its optimality conditions."""

import numpy as np
import pytest
from reference.conic import reference_lp_optimum
from reference.toys import toy_grams, toy_targets
from sklearn.linear_model import LogisticRegression

from multikernel.exceptions import IndefiniteKernelError, UnsupportedProblemError
from multikernel.gram import DenseMatrix
from multikernel.losses import HingeLoss, LogisticLoss, SquaredLoss, weighted
from multikernel.machines import Newton, Ridge, machine_for, warm_start

K = toy_grams(n_kernels=1)[0]
GRAM = DenseMatrix(K)
Y = toy_targets("log_loss")
WEIGHTS = np.random.default_rng(0).uniform(0.2, 5.0, len(K))


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_agrees_with_a_conic_solver(C, fit_intercept):
    expected = reference_lp_optimum(
        K[None], Y, "log_loss", C, 1.0,
        fit_intercept=fit_intercept, sample_weight=WEIGHTS,
    )  # fmt: skip
    loss = weighted(LogisticLoss(), C * WEIGHTS)
    fit = Newton().fit(GRAM, Y, loss, fit_intercept=fit_intercept)
    assert fit.converged
    assert fit.objective == pytest.approx(expected.objective, rel=1e-7)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e8])
def test_optimality_to_high_precision(C, fit_intercept):
    loss = weighted(LogisticLoss(), C * WEIGHTS)
    fit = Newton().fit(GRAM, Y, loss, fit_intercept=fit_intercept)
    assert fit.converged
    scale = np.abs(fit.dual).max()
    np.testing.assert_allclose(fit.dual, -loss.gradient(Y, fit.f), atol=2e-9 * scale)
    np.testing.assert_allclose(fit.f, K @ fit.dual + fit.intercept, rtol=1e-9)
    form = fit.dual @ K @ fit.dual
    primal = loss.value(Y, fit.f).sum() + 0.5 * form
    assert fit.objective == pytest.approx(primal, rel=1e-8)
    if fit_intercept:
        assert abs(fit.dual.sum()) < 1e-9 * scale


def test_agrees_with_logistic_regression_on_features():
    features = np.linalg.cholesky(K + 1e-12 * np.eye(len(K)))
    peer = LogisticRegression(C=2.0, tol=1e-10, max_iter=10_000).fit(features, Y)
    loss = weighted(LogisticLoss(), np.full(len(Y), 2.0))
    fit = Newton().fit(GRAM, Y, loss, fit_intercept=True)
    np.testing.assert_allclose(fit.f, peer.decision_function(features), atol=1e-5)
    np.testing.assert_allclose(fit.intercept, peer.intercept_, atol=1e-5)


def test_on_the_squared_loss_it_is_ridge_in_one_step():
    y = toy_targets("squared_error", n_outputs=2)
    loss = weighted(SquaredLoss(), WEIGHTS)
    newton = Newton().fit(GRAM, y, loss, fit_intercept=True)
    ridge = Ridge().fit(GRAM, y, loss, fit_intercept=True)
    assert newton.n_steps == 2  # one per output
    np.testing.assert_allclose(newton.dual, ridge.dual, atol=1e-9)
    assert newton.objective == pytest.approx(ridge.objective, rel=1e-10)


def test_warm_starts():
    loss = LogisticLoss()
    cold = Newton().fit(GRAM, Y, loss, fit_intercept=True)
    assert cold.n_steps > 2
    again = Newton().fit(GRAM, Y, loss, fit_intercept=True, init=cold)
    assert again.n_steps == 0
    rng = np.random.default_rng(1)
    far = warm_start(GRAM, 5.0 * rng.normal(size=len(Y)), intercept=np.array([3.0]))
    back = Newton().fit(GRAM, Y, loss, fit_intercept=True, init=far)
    assert back.objective == pytest.approx(cold.objective, rel=1e-10)


def test_an_early_stop_says_so():
    fit = Newton(max_steps=1).fit(GRAM, Y, LogisticLoss(), fit_intercept=True)
    assert not fit.converged
    assert fit.n_steps == 1
    best = Newton().fit(GRAM, Y, LogisticLoss(), fit_intercept=True)
    assert fit.objective <= best.objective


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_degenerate_kernels(fit_intercept):
    n = len(Y)
    fit = Newton().fit(
        DenseMatrix(np.zeros((n, n))), Y, LogisticLoss(), fit_intercept=fit_intercept
    )
    share = np.mean(Y > 0.0) if fit_intercept else 0.5
    np.testing.assert_allclose(fit.f, np.log(share / (1.0 - share)), atol=1e-8)
    rows = np.r_[np.arange(n), np.arange(n)]
    doubled = DenseMatrix(np.ascontiguousarray(K[np.ix_(rows, rows)]))
    twice = Newton().fit(doubled, Y[rows], LogisticLoss(), fit_intercept=fit_intercept)
    once = Newton().fit(
        GRAM, Y, weighted(LogisticLoss(), np.full(n, 2.0)), fit_intercept=fit_intercept
    )
    np.testing.assert_allclose(twice.f[:n], once.f, atol=1e-8)


def test_what_has_no_optimum_is_refused():
    with pytest.raises(ValueError, match="The best intercept is infinite"):
        Newton().fit(GRAM, np.ones_like(Y), LogisticLoss(), fit_intercept=True)
    loss = weighted(LogisticLoss(), np.full(len(Y), 100.0))
    with pytest.raises(IndefiniteKernelError, match="negative"):
        Newton().fit(DenseMatrix(-K), Y, loss, fit_intercept=True)
    with pytest.raises(UnsupportedProblemError, match="twice differentiable"):
        Newton().fit(GRAM, Y, HingeLoss(), fit_intercept=True)
    broken = K.copy()
    broken[2, 3] = broken[3, 2] = np.inf
    with pytest.raises(ValueError, match="NaN or infinite"):
        Newton().fit(DenseMatrix(broken), Y, LogisticLoss(), fit_intercept=True)
    assert isinstance(machine_for(LogisticLoss()), Newton)
