"""Weights by rules, against their definitions in numpy and cvxpy."""

from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest

from multikernel.estimators import (
    FixedWeightsMKLClassifier,
    FixedWeightsMKLClassifierCV,
    FixedWeightsMKLRegressor,
)
from multikernel.exceptions import (
    ConvergenceWarning,
    DictionaryWarning,
    IndefiniteKernelError,
)
from multikernel.gram import DenseMatrix, DenseStack, build_stack
from multikernel.kernels import GaussianKernel, LinearKernel, ParameterGrid
from multikernel.losses import SquaredLoss, weighted
from multikernel.machines import machine_for
from multikernel.solvers import alignment_weights, easy_weights
from multikernel.solvers.weight_rules import hull_points

KERNELS = ParameterGrid([GaussianKernel(1.0), LinearKernel()], range(4))


def problem(n=40):
    random = np.random.default_rng(0)
    X = random.standard_normal((n, 4))
    y = np.sign(X[:, 0] + np.abs(X[:, 1]) - 0.7 + 0.3 * random.standard_normal(n))
    return X, y, build_stack(KERNELS, X, storage="dense").stack.array


def centered(K):
    H = np.eye(len(K)) - 1.0 / len(K)
    return H @ K @ H


def definitions(K, y):
    """Return a and M of the paper, with centered kernels and targets."""
    C = np.array([centered(k) for k in K])
    a = np.array([np.sum(c * np.outer(y, y)) for c in C])
    return a, np.einsum("kij,lij->kl", C, C)


def alignment(v, K, y):
    a, M = definitions(K, y)
    return a @ v / np.sqrt(v @ M @ v)


def test_independent_weights_are_alignments():
    _, y, K = problem()
    a, M = definitions(K, y)
    found = alignment_weights(DenseStack(K), y, np.ones(40), method="independent")
    expected = a / np.sqrt(np.diag(M))
    np.testing.assert_allclose(found, expected / expected.sum())


@pytest.mark.parametrize("block", [2**27, 2**12])
def test_joint_weights_solve_the_quadratic_program(monkeypatch, block):
    monkeypatch.setattr("multikernel.linalg.tables.CHUNK_BYTES", block)
    _, y, K = problem()
    a, M = definitions(K, y)
    size = np.abs(a).max()
    v = cp.Variable(len(a), nonneg=True)
    form = cp.quad_form(v, cp.psd_wrap(M / size))
    cp.Problem(cp.Minimize(form - 2.0 * v @ (a / size))).solve()
    found = alignment_weights(DenseStack(K), y, np.ones(40))
    np.testing.assert_allclose(found, v.value / v.value.sum(), atol=1e-4)
    assert alignment(found, K, y) >= alignment(v.value, K, y) - 1e-8


def test_greedy_weights_gain_with_every_kernel_and_end_at_the_joint_ones():
    _, y, K = problem()
    stack, ones = DenseStack(K), np.ones(40)
    reached = [
        alignment(
            alignment_weights(stack, y, ones, method="greedy", max_kernels=k), K, y
        )
        for k in range(1, 9)
    ]
    assert (np.diff(reached) >= -1e-12).all()
    joint = alignment(alignment_weights(stack, y, ones), K, y)
    assert reached[-1] == pytest.approx(joint, rel=1e-4)
    one = alignment_weights(stack, y, ones, method="greedy", max_kernels=1)
    a, M = definitions(K, y)
    assert np.flatnonzero(one).tolist() == [np.argmax(a / np.sqrt(np.diag(M)))]


@pytest.mark.parametrize("regularization", [0.1, 0.7, 1.0])
def test_easy_weights_are_those_of_the_quadratic_program(regularization):
    _, y, K = problem()
    unit = K / np.trace(K, axis1=1, axis2=2)[:, None, None]
    gamma = cp.Variable(40, nonneg=True)
    Q = np.outer(y, y) * unit.sum(axis=0)
    value = (1 - regularization) * cp.quad_form(gamma, cp.psd_wrap(Q))
    value += regularization * cp.sum_squares(gamma)
    sums = [cp.sum(gamma[y > 0]) == 1, cp.sum(gamma[y < 0]) == 1]
    cp.Problem(cp.Minimize(value), sums).solve()
    own = hull_points(unit.sum(axis=0), y, np.ones(40), regularization)
    np.testing.assert_allclose(own, gamma.value, atol=1e-5)
    margins = np.einsum("i,mij,j->m", y * gamma.value, unit, y * gamma.value)
    found = easy_weights(DenseStack(K), y, np.ones(40), regularization=regularization)
    summed = np.tensordot(found, K, axes=1)
    assert np.trace(summed) == pytest.approx(40.0)
    theta = found * np.trace(K, axis1=1, axis2=2)
    np.testing.assert_allclose(theta / theta.sum(), margins / margins.sum(), atol=1e-5)


def hull_problem(seed):
    """A sum of kernels of 16 decades, and weights of samples of 17."""
    random, n = np.random.default_rng(seed), 25
    X = random.standard_normal((n, 4))
    y = np.where(random.standard_normal(n) + X[:, 0] > 0, 1.0, -1.0)
    weights = 10.0 ** random.uniform(-9.0, 8.2, n)
    grams = []
    for x in X.T:
        K = np.outer(x, x)
        if random.random() < 0.5:
            K = np.exp(-((x[:, None] - x) ** 2) * 10.0 ** random.uniform(-2.0, 2.0))
        grams.append(K * 10.0 ** random.uniform(-8.0, 8.0))
    return sum(K / (K.diagonal() @ weights) for K in grams), y, weights


@pytest.mark.parametrize("seed", [29, 61, 63, 105, 167, 269])
def test_hull_points_for_weights_of_all_scales_are_found(seed):
    """LIBSVM went on for ever: its tolerance was below the rounding of its slopes."""
    K, y, weights = hull_problem(seed)
    gamma = hull_points(K, y, weights, 0.2)
    slopes = 0.8 * y * (K @ (y * gamma)) + 0.2 * gamma / weights
    value = gamma @ slopes
    lowest = slopes[y > 0].min() + slopes[y < 0].min()
    np.testing.assert_allclose([gamma[y > 0].sum(), gamma[y < 0].sum()], 1.0)
    assert value - lowest <= 1e-6 * value


def test_weights_whose_program_is_stopped_say_so(monkeypatch):
    one = SimpleNamespace(steps_per_sample=1)
    monkeypatch.setattr("multikernel.solvers.weight_rules.SETTINGS", one)
    K, y, weights = hull_problem(29)
    with pytest.warns(ConvergenceWarning, match="not exactly those of EasyMKL"):
        hull_points(K, y, weights, 0.2)
    _, y, K = problem()
    with pytest.warns(ConvergenceWarning, match="not exactly those of alignment"):
        alignment_weights(DenseStack(K), y, np.ones(40))


def test_easy_weights_name_a_matrix_that_is_no_kernel():
    _, y, K = problem()
    K[3] = 10.0 - 9.0 * np.eye(40)
    with pytest.raises(IndefiniteKernelError, match="Gram matrix 3"):
        easy_weights(DenseStack(K), y, np.ones(40), regularization=0.1)


@pytest.mark.parametrize(
    "rule",
    [
        lambda *args: alignment_weights(*args, method="independent"),
        alignment_weights,
        lambda *args: easy_weights(*args, regularization=0.3),
    ],
)
def test_weights_of_samples_are_copies(rule):
    _, y, K = problem()
    counts = np.random.default_rng(1).integers(1, 4, 40)
    rows = np.repeat(np.arange(40), counts)
    copies = DenseStack(np.ascontiguousarray(K[:, rows][:, :, rows]))
    expected = rule(copies, y[rows], np.ones(rows.size))
    found = rule(DenseStack(K), y, counts.astype(float))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("method", ["independent", "joint", "greedy"])
def test_alignments_have_no_units(method):
    """Those of a kernel count in its weight alone, where kernels are added up."""
    _, y, K = problem()
    expected = alignment_weights(DenseStack(K), y, np.ones(40), method=method)
    ones = np.full(40, 1e90)
    found = alignment_weights(DenseStack(1e200 * K), 1e90 * y, ones, method=method)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    units = 10.0 ** (20 * np.arange(len(K)) % 80)
    stack = DenseStack(K * units[:, None, None])
    found = alignment_weights(stack, y, np.ones(40), method=method)
    own = expected if method == "independent" else expected / units
    np.testing.assert_allclose(found / found.sum(), own / own.sum(), rtol=1e-6)


def test_the_model_is_the_machine_on_the_weighted_sum():
    X, y, _ = problem()
    settings = {"loss": "squared_error", "tol": 1e-10, "storage": "dense"}
    model = FixedWeightsMKLRegressor(
        KERNELS, C=3.0, kernel_weights="alignment", **settings
    ).fit(X, y)
    K = model.combined_kernel_(X)
    machine = machine_for(SquaredLoss())
    # A strength is put into the loss, here into kernel and targets.
    loss = weighted(SquaredLoss(), np.full(40, 3.0))
    fit = machine.fit(DenseMatrix(K), y, loss, fit_intercept=True)
    np.testing.assert_allclose(model.predict(X), fit.f, atol=1e-5)
    assert np.isnan(model.duality_gap_)
    assert model.machine_gap_ <= 1e-9
    assert model.kernel_weights_.sum() == pytest.approx(1.0)


def test_a_search_says_that_weights_from_a_rule_have_no_gap():
    X, y, _ = problem()
    search = FixedWeightsMKLClassifierCV(KERNELS, Cs=[1.0], kernel_weights="alignment")
    search.fit(X, y)
    assert np.isnan(search.duality_gap_)
    assert search.machine_gap_ <= 1e-3


@pytest.mark.parametrize("storage", ["dense", "low_rank", "lazy"])
@pytest.mark.parametrize("rule", ["alignment", "easy"])
def test_storages_agree_and_classes_have_weights_of_their_own(rule, storage):
    X, y, _ = problem()
    labels = np.where(y > 0, "b", np.where(X[:, 2] > 0, "a", "c"))
    model, whole = (
        FixedWeightsMKLClassifier(KERNELS, kernel_weights=rule, storage=each)
        for each in (storage, "dense")
    )
    model.fit(X, labels)
    whole.fit(X, labels)
    assert model.kernel_weights_.shape == (3, 8)
    np.testing.assert_allclose(model.kernel_weights_, whole.kernel_weights_, atol=1e-5)
    assert np.isnan(model.duality_gap_).all()


def test_targets_without_any_alignment_get_equal_weights():
    X = np.random.default_rng(0).standard_normal((20, 4))
    even = FixedWeightsMKLRegressor(KERNELS)
    model = FixedWeightsMKLRegressor(KERNELS, kernel_weights="alignment")
    for one in (model, even):
        with pytest.warns(DictionaryWarning, match="no active kernel"):
            one.fit(X, np.ones(20))
        np.testing.assert_allclose(one.predict(X), 1.0, rtol=1e-12)
    assert model.active_kernels_.size == even.active_kernels_.size
