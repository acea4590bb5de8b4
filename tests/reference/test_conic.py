"""The references themselves: certified, and equal to closed forms and to LIBSVM."""

import numpy as np
import pytest
from reference.conic import LOSS_NAMES, reference_lp_optimum, reference_optimum
from reference.toys import toy_grams, toy_targets
from sklearn.svm import SVC

P_VALUES = (1.0, 1.0001, 32 / 31, 4 / 3, 2.0, 4.0, 1000.0, np.inf)


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("l1_ratio", [1.0, 0.4, 0.0])
def test_penalized_optima_prove_themselves(loss, l1_ratio):
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 24)
    optimum = reference_optimum(
        toy_grams(), toy_targets(loss), loss, 2.0, l1_ratio=l1_ratio,
        sample_weight=weights,
    )  # fmt: skip
    assert -1e-12 <= optimum.relative_gap <= 1e-8


@pytest.mark.parametrize("loss", ["hinge", "squared_error"])
@pytest.mark.parametrize("p", P_VALUES)
def test_lp_optima_prove_themselves(loss, p):
    optimum = reference_lp_optimum(toy_grams(), toy_targets(loss), loss, 1.5, p)
    assert -1e-12 <= optimum.relative_gap <= 1e-8


def test_one_kernel_with_squares_is_ridge():
    K, y, alpha = toy_grams()[0], toy_targets("squared_error"), 0.7
    optimum = reference_optimum(
        K[None], y, "squared_error", alpha, l1_ratio=0.0, fit_intercept=False
    )
    f = K @ np.linalg.solve(K + alpha * np.eye(len(y)), y)
    np.testing.assert_allclose(optimum.f, f, atol=1e-4)


@pytest.mark.parametrize("C", [0.5, 20.0])
def test_uniform_lp_optimum_is_the_svm_on_the_sum(C):
    grams, y = toy_grams(), toy_targets("hinge")
    K = grams.sum(axis=0)
    svm = SVC(C=C, kernel="precomputed", tol=1e-10).fit(K, y)
    signed = svm.dual_coef_[0]
    forms = signed @ K[np.ix_(svm.support_, svm.support_)] @ signed
    dual = np.abs(signed).sum() - 0.5 * forms
    optimum = reference_lp_optimum(grams, y, "hinge", C, np.inf)
    assert optimum.objective == pytest.approx(dual, rel=1e-7)


def test_outputs_share_their_norms():
    grams, y = toy_grams(), toy_targets("squared_error", n_outputs=1)
    single = reference_optimum(grams, y[:, 0], "squared_error", 2.0)
    column = reference_optimum(grams, y, "squared_error", 2.0)
    twice = reference_optimum(
        grams, np.hstack([y, y]), "squared_error", 2.0 * np.sqrt(2.0)
    )
    assert column.objective == pytest.approx(single.objective, rel=1e-7)
    assert twice.objective == pytest.approx(2.0 * single.objective, rel=1e-7)
