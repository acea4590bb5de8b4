"""Ridge against scikit-learn, dense systems and the primal optimality conditions."""

import numpy as np
import pytest
from reference.conic import reference_lp_optimum
from reference.toys import toy_grams, toy_targets
from sklearn.kernel_ridge import KernelRidge

from multikernel.exceptions import IndefiniteKernelError, UnsupportedProblemError
from multikernel.gram import DenseMatrix
from multikernel.losses import HingeLoss, SquaredLoss, weighted
from multikernel.machines import Ridge, machine_for
from multikernel.testing import check_loss

K = toy_grams(n_kernels=1)[0]
WEIGHTS = np.random.default_rng(0).uniform(0.2, 5.0, len(K))


@pytest.mark.parametrize("n_outputs", [None, 3])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_without_an_intercept_it_is_scikit_learns(weights, n_outputs):
    y = toy_targets("squared_error", n_outputs=n_outputs)
    fit = Ridge().fit(
        DenseMatrix(K), y, weighted(SquaredLoss(), weights), fit_intercept=False
    )
    peer = KernelRidge(alpha=1.0, kernel="precomputed").fit(K, y, sample_weight=weights)
    np.testing.assert_allclose(fit.dual, peer.dual_coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fit.f, peer.predict(K), atol=1e-10)
    assert fit.dual.shape == y.shape
    np.testing.assert_array_equal(fit.intercept, np.zeros(n_outputs or 1))


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n_outputs", [None, 2])
def test_optimality_and_objective(fit_intercept, n_outputs):
    y = toy_targets("squared_error", n_outputs=n_outputs)
    loss = weighted(SquaredLoss(), WEIGHTS)
    fit = Ridge().fit(DenseMatrix(K), y, loss, fit_intercept=fit_intercept)
    np.testing.assert_allclose(fit.dual, -loss.gradient(y, fit.f), atol=1e-12)
    np.testing.assert_allclose(fit.f, K @ fit.dual + fit.intercept, atol=1e-10)
    if fit_intercept:
        np.testing.assert_allclose(fit.dual.sum(axis=0), 0.0, atol=1e-11)
    expected = reference_lp_optimum(
        K[None], y, "squared_error", 1.0, 1.0,
        fit_intercept=fit_intercept, sample_weight=WEIGHTS,
    )  # fmt: skip
    assert fit.objective == pytest.approx(expected.objective, rel=1e-8)
    assert fit.converged


class Tripled(SquaredLoss):
    """A subclass that is another loss: three times the squared one."""

    def value(self, y, f):
        return 3.0 * super().value(y, f)

    def gradient(self, y, f):
        return 3.0 * super().gradient(y, f)

    def conjugate(self, y, u):
        return 3.0 * super().conjugate(y, u / 3.0)

    def conjugate_gradient(self, y, u):
        return super().conjugate_gradient(y, u / 3.0)

    def conjugate_hessian(self, y, u):
        return super().conjugate_hessian(y, u) / 3.0


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_a_subclass_of_the_squared_loss_is_not_taken_for_it(weights):
    check_loss(Tripled())
    y = toy_targets("squared_error")
    loss = weighted(Tripled(), weights)
    machine = machine_for(loss)
    fit = machine.fit(DenseMatrix(K), y, loss, fit_intercept=False)
    shares = 3.0 * (np.ones(len(K)) if weights is None else weights)
    np.testing.assert_allclose(
        fit.dual, np.linalg.solve(K + np.diag(1.0 / shares), y), rtol=1e-5, atol=1e-6
    )


def test_an_indefinite_matrix_and_other_losses_are_refused():
    y = toy_targets("squared_error")
    with pytest.raises(IndefiniteKernelError, match="not positive semidefinite"):
        Ridge().fit(DenseMatrix(-K), 2.0 * y, SquaredLoss(), fit_intercept=True)
    with pytest.raises(UnsupportedProblemError, match="squared loss"):
        Ridge().fit(DenseMatrix(K), y, HingeLoss(), fit_intercept=True)
    broken = K.copy()
    broken[2, 3] = broken[3, 2] = np.nan
    with pytest.raises(ValueError, match="NaN or infinite"):
        Ridge().fit(DenseMatrix(broken), y, SquaredLoss(), fit_intercept=True)
    assert isinstance(machine_for(weighted(SquaredLoss(), WEIGHTS)), Ridge)


def test_the_dual_value_is_that_of_the_dual_point_where_systems_are_near_singular():
    x = np.linspace(-1.0, 1.0, 30)
    K = 1e6 * np.exp(-((x[:, None] - x) ** 2)).astype(np.float32).astype(float)
    y, loss = np.sin(3.0 * x), weighted(SquaredLoss(), np.full(30, 1e4))
    fit = Ridge().fit(DenseMatrix(K), y, loss, fit_intercept=True)
    rho, wide = fit.dual.astype(np.longdouble), K.astype(np.longdouble)
    conjugate = (0.5 * rho**2 / 1e4 - y * rho).sum()
    expected = float(-conjugate - 0.5 * rho @ wide @ rho)
    size = float(np.abs(rho) @ np.abs(wide) @ np.abs(rho))
    assert abs(fit.objective - expected) <= 1e-14 * size
    off = np.abs(fit.f - fit.intercept[0] - (wide @ rho).astype(float))
    assert (off <= 1e-14 * np.abs(wide) @ np.abs(rho)).all()
