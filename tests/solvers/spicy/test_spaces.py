"""Kernels in factors: the solutions of dense kernels, at costs that are linear in n."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from reference.toys import LOSSES, toy_loss, toy_regularizer, toy_targets

from multikernel.certificates import alpha_max
from multikernel.gram import DenseStack, LowRankStack, ScaledStack
from multikernel.losses import HingeLoss, LogisticLoss, SquaredLoss, weighted
from multikernel.problem import Problem, Status
from multikernel.regularizers import BlockElasticNet, BlockL1
from multikernel.solvers import SpicyMKL, alpha_grid
from multikernel.solvers.spicy import solver
from multikernel.solvers.spicy.kernels import kernel_spaces
from multikernel.testing import check_solution

OFFSETS = np.array([0, 1, 4, 9, 10, 14])
WIDE = np.array([0, 15, 40, 41, 70, 90])  # more columns than samples


def make_factors(n_samples=60, offsets=OFFSETS, order="C", seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n_samples, offsets[-1])) / np.sqrt(
        np.repeat(np.diff(offsets), np.diff(offsets))
    )
    Z = np.asarray(Z, order=order)
    return LowRankStack(Z, offsets)


def densified(stack):
    every = np.arange(stack.shape[1])
    return DenseStack(np.ascontiguousarray(stack.columns(every)))


def make_problem(stack, loss="log_loss", share=0.2, l1_ratio=1.0, intercept=True):
    y = toy_targets(loss, n_samples=stack.shape[1])
    problem = Problem(stack, y, toy_loss(loss), BlockL1(1.0), intercept)
    alpha = share * alpha_max(problem)
    penalty = toy_regularizer(alpha, l1_ratio)
    return Problem(stack, y, toy_loss(loss), penalty, intercept)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("offsets", [OFFSETS, WIDE], ids=["thin", "wide"])
@pytest.mark.parametrize("share", [0.5, 0.02])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
def test_the_solution_is_that_of_dense_kernels(loss, offsets, share, l1_ratio):
    thin = make_problem(make_factors(offsets=offsets), loss, share, l1_ratio)
    dense = Problem(
        densified(thin.gram), thin.y, thin.loss, thin.regularizer, thin.fit_intercept
    )
    found, expected = (SpicyMKL(tol=1e-8).solve(p) for p in (thin, dense))
    assert found.status is Status.CONVERGED
    check_solution(dense, found, 1e-8)
    assert found.objective == pytest.approx(expected.objective, rel=2e-8)


@pytest.mark.parametrize("loss", ["hinge", "log_loss", "squared_error"])
def test_a_path_is_that_of_dense_kernels(loss):
    thin = make_problem(make_factors(), loss)
    alphas = alpha_grid(thin, 6, 0.02)
    penalties = [BlockL1(alpha) for alpha in alphas]
    path = list(SpicyMKL(tol=1e-6).follow(thin, penalties))
    for penalty, solution in zip(penalties, path, strict=True):
        dense = Problem(densified(thin.gram), thin.y, thin.loss, penalty)
        assert solution.status is Status.CONVERGED
        check_solution(dense, solution, 1e-6)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("offsets", [OFFSETS, WIDE], ids=["thin", "wide"])
@pytest.mark.parametrize("scaled", [False, True])
def test_hessians_are_those_of_dense_kernels(order, offsets, scaled):
    rng = np.random.default_rng(1)
    factors = make_factors(offsets=offsets, order=order)
    scales = rng.uniform(0.5, 2.0, 5)
    stack = ScaledStack(factors, scales) if scaled else factors
    coefs = rng.normal(size=(5, 60))
    weights = np.array([0.5, 0.0, 2.0, 1.0, 0.3])
    bends = np.where(weights > 0.0, rng.uniform(size=5), 0.0)
    rhs, shift = rng.normal(size=(60, 2)), rng.uniform(0.1, 10.0, 60)
    found = []
    for one in (stack, DenseStack(densified(stack).array)):
        space = kernel_spaces(one)
        images = space.images_of_each(coefs)
        hessian = space.hessian(weights, bends, images)
        parts = (
            hessian.rows(np.array([3, 50])),
            hessian.solve(rhs, shift),
            space.inner(images, coefs, images),
            space.values(images, weights),
            space.inner(space.images(rhs[:, 0]), rhs[:, 0], space.images(rhs[:, 0])),
        )
        found.append(parts)
    for ours, expected in zip(*found, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(
    "loss",
    [
        HingeLoss(),
        LogisticLoss(),
        SquaredLoss(),
        weighted(LogisticLoss(), np.ones(3000)),
    ],
    ids=["hinge", "log_loss", "squared_error", "weighted"],
)
def test_memory_is_a_few_times_the_factors(loss):
    """No array of n x n numbers is made: it would be 72 MB, and factors are 0.34."""
    factors = make_factors(3000)
    y = np.where(factors.factors[:, 0] + factors.factors[:, 5] > 0.0, 1.0, -1.0)
    problem = Problem(factors, y, loss, BlockL1(30.0))
    SpicyMKL(tol=1e-3).solve(make_problem(make_factors()))  # loads what is compiled
    tracemalloc.start()
    solution = SpicyMKL(tol=1e-6).solve(problem)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert solution.status is Status.CONVERGED
    assert peak < 20 * factors.factors.nbytes


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_same_problem_has_the_same_bits(order):
    problem = make_problem(make_factors(order=order), "hinge", 0.05)
    first, second = (SpicyMKL(tol=1e-6).solve(problem) for _ in range(2))
    np.testing.assert_array_equal(first.coefs, second.coefs)
    np.testing.assert_array_equal(first.dual, second.dual)


def test_an_elastic_net_and_a_fit_without_an_intercept():
    factors = make_factors(order="F")
    thin = make_problem(factors, "squared_error", 0.1, intercept=False)
    penalty = BlockElasticNet(thin.regularizer.alpha, 0.3)
    thin = Problem(factors, thin.y, thin.loss, penalty, False)
    dense = Problem(densified(factors), thin.y, thin.loss, penalty, False)
    check_solution(dense, SpicyMKL(tol=1e-9).solve(thin), 1e-9)


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
def test_working_sets_of_whole_matrices_are_views(loss, monkeypatch):
    thin = make_problem(make_factors(), loss, 0.3)
    problem = Problem(densified(thin.gram), thin.y, thin.loss, thin.regularizer)
    factors = SpicyMKL(tol=1e-8).solve(thin)
    taken, take = [], DenseStack.take

    def watched(self, kernels):
        part = take(self, kernels)
        held = getattr(part, "parent", part).array
        taken.append(np.shares_memory(held, problem.gram.array))
        return part

    few = replace(solver.SETTINGS, new_kernels=1)
    monkeypatch.setattr(solver, "SETTINGS", few)
    monkeypatch.setattr(DenseStack, "take", watched)
    seen = SpicyMKL(tol=1e-8).solve(problem)
    assert all(taken)
    assert taken or loss == "log_loss"  # which Newton's method in weights solves
    assert seen.status is Status.CONVERGED
    assert seen.objective == pytest.approx(factors.objective, rel=2e-8)
    # Idle kernels are not read by every Newton step, as those of the stack would be.
    assert seen.active.size < problem.gram.shape[0]


def test_products_of_wide_factors_follow_the_weights():
    stack = make_factors(offsets=WIDE)
    spaces, dense = kernel_spaces(stack), densified(stack).array
    images = spaces.images_of_each(np.ones((5, 60)))
    shift, rhs = np.linspace(0.01, 1.0, 60), np.sin(np.arange(60.0))
    for weights in np.array([[1.0, 0.0, 2.0, 0.5, 0.1], [0.0, 3.0, 2.0, 0.0, 1.0]]):
        hessian = spaces.hessian(weights, np.zeros(5), images)
        system = np.tensordot(weights, dense, 1) + np.diag(shift)
        # Columns that hardly count are left out.
        expected = np.linalg.solve(system, rhs)
        error = hessian.solve(rhs, shift) - expected
        assert np.linalg.norm(error) <= 0.1 * np.linalg.norm(expected)
