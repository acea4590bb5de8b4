"""Machines for all classes at once, against conic programs."""

import numpy as np
import pytest
from reference.conic import reference_lp_optimum
from reference.toys import toy_grams

from multikernel.exceptions import UnsupportedProblemError
from multikernel.gram import DenseMatrix, build_stack
from multikernel.kernels import GaussianKernel, ListDictionary
from multikernel.losses import CrammerSingerLoss, HingeLoss, SoftmaxLoss, weighted
from multikernel.machines import CrammerSinger, Multinomial, machine_for, warm_start

CASES = {
    "crammer_singer": (CrammerSingerLoss(), CrammerSinger(tol=1e-9)),
    "softmax": (SoftmaxLoss(), Multinomial(tol=1e-9)),
}
names = pytest.mark.parametrize("name", CASES)


def toy_classes(n=30, T=3):
    """Return a Gram matrix and one-hot targets of unequal classes."""
    X = np.random.default_rng(0).normal(size=(n, 4))
    labels = (X[:, 0] > 0.3).astype(int) + (X[:, 1] > 0.0)
    return toy_grams(n, 3).sum(axis=0), np.eye(T)[labels]


@names
@pytest.mark.parametrize("C", [0.3, 50.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_objective_is_that_of_the_conic_program(name, C, fit_intercept):
    K, y = toy_classes()
    loss, machine = CASES[name]
    s = np.random.default_rng(1).uniform(0.3, 2.0, len(y))
    own = weighted(loss, C * s)
    fit = machine.fit(DenseMatrix(K), y, own, fit_intercept=fit_intercept)
    best = reference_lp_optimum(
        K[None], y, name, C, 1.0, fit_intercept=fit_intercept, sample_weight=s
    )
    assert fit.converged
    assert fit.objective == pytest.approx(best.objective, rel=1e-7)
    norm = np.sum(fit.dual * (K @ fit.dual))
    primal = own.value(y, fit.f).sum() + 0.5 * norm
    assert primal == pytest.approx(best.objective, rel=1e-6)
    if not fit_intercept:
        assert not fit.intercept.any()


@names
def test_a_warm_start_at_the_optimum_stays(name):
    K, y = toy_classes()
    loss, machine = CASES[name]
    gram = DenseMatrix(K)
    cold = machine.fit(gram, y, loss, fit_intercept=True)
    start = warm_start(gram, cold.dual, intercept=cold.intercept)
    warm = machine.fit(gram, y, loss, fit_intercept=True, init=start)
    assert warm.objective == pytest.approx(cold.objective, rel=1e-8)
    assert warm.n_steps <= 0.1 * cold.n_steps


@names
def test_the_right_machine_is_found_and_others_are_refused(name):
    loss, machine = CASES[name]
    assert type(machine_for(weighted(loss, np.array([1.0, 2.0])))) is type(machine)
    K, y = toy_classes()
    with pytest.raises(UnsupportedProblemError):
        machine.fit(DenseMatrix(K), y, HingeLoss(), fit_intercept=True)


def test_rows_may_be_computed_when_they_are_needed():
    X = np.random.default_rng(0).normal(size=(40, 4))
    y = np.eye(3)[(X[:, 0] > 0.3).astype(int) + (X[:, 1] > 0.0)]
    plan = ListDictionary([GaussianKernel(1.0)])
    lazy = build_stack(plan, X, storage="lazy").stack.combine(np.ones(1))
    dense = DenseMatrix(lazy.columns(np.arange(40)))
    few = CrammerSinger(tol=1e-6, cache_bytes=8 * 40 * 3)
    for fit_intercept in (True, False):
        fits = [
            few.fit(gram, y, CrammerSingerLoss(), fit_intercept=fit_intercept)
            for gram in (lazy, dense)
        ]
        assert all(fit.converged for fit in fits)
        assert fits[0].objective == pytest.approx(fits[1].objective, rel=2e-6)


@names
def test_values_that_are_not_finite_are_named(name):
    K, y = toy_classes()
    K[3, 4] = K[4, 3] = np.nan
    loss, machine = CASES[name]
    with pytest.raises(ValueError, match="NaN or infinite"):
        machine.fit(DenseMatrix(K), y, loss, fit_intercept=True)


@names
def test_an_indefinite_matrix_is_refused(name):
    K, y = toy_classes()
    loss, machine = CASES[name]
    with pytest.raises(ValueError, match="positive semidefinite"):
        machine.fit(DenseMatrix(K - 20.0 * np.eye(len(y))), y, loss, fit_intercept=True)


def low_rank_classes():
    """Six samples, and one kernel of rank one and of a scale of 1e6."""
    x = np.random.default_rng(54).standard_normal(6)
    return DenseMatrix(1e6 * np.outer(x, x)), np.eye(3)[[0, 1, 2, 2, 0, 0]]


def test_a_kernel_of_low_rank_and_large_scale_takes_few_steps():
    """Sweeps crept along the ways without curvature, and Newton steps bent off them."""
    gram, y = low_rank_classes()
    loss = CrammerSingerLoss()
    fit = CrammerSinger(tol=1e-6).fit(gram, y, loss, fit_intercept=True)
    assert fit.converged
    assert fit.n_steps <= 1000
    form = float(np.vdot(fit.dual, fit.f - fit.intercept))
    primal = loss.value(y, fit.f).sum() + 0.5 * form
    assert primal - fit.objective <= 1e-6 * primal


def test_proofs_end_where_masses_have_no_more_digits():
    """Classes that are far apart, next to a kernel of 1e9."""
    gram = DenseMatrix(1e9 * np.eye(6))
    loss, y = CrammerSingerLoss(), np.eye(3)[[0, 1, 2, 2, 0, 0]]
    fit = CrammerSinger(tol=1e-14).fit(gram, y, loss, fit_intercept=True)
    assert not fit.converged
    assert fit.n_steps <= 500


@pytest.mark.parametrize("C", [30.0, 300.0])
def test_strong_machines_on_noisy_classes_take_few_steps(C):
    # Where steps on a face ended at the first wall these were 390 and 570 a sample.
    n, rng = 200, np.random.default_rng(0)
    X = rng.normal(size=(n, 8))
    y = np.eye(6)[np.argmax(X[:, :6] + rng.normal(size=(n, 6)), axis=1)]
    K = np.exp(-((X[:, None] - X[None, :]) ** 2).sum(axis=2) / 16.0)
    loss = weighted(CrammerSingerLoss(), np.full(n, C))
    fit = CrammerSinger(tol=1e-6).fit(DenseMatrix(K), y, loss, fit_intercept=True)
    assert fit.converged
    assert fit.n_steps <= 100 * n
