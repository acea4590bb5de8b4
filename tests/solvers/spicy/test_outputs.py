"""Several outputs or classes: one selection, certified; T = 1 is a special case."""

from dataclasses import replace

import numpy as np
import pytest
from tests.reference.conic import (
    LOSS_NAMES,
    reference_lp_optimum,
    reference_optimum,
)
from tests.reference.toys import LOSSES

from multikernel.certificates import alpha_max, duality_gap
from multikernel.gram import DenseStack, LowRankStack
from multikernel.losses import LogisticLoss, SoftmaxLoss, SquaredLoss, weighted
from multikernel.problem import Problem, Status
from multikernel.regularizers import BlockElasticNet, BlockL1, SquaredBlockNorm
from multikernel.solvers import Alternating, SpicyMKL, SquaredForm
from multikernel.testing import check_solution, check_solver

NAMES = (*LOSS_NAMES, "softmax")


def make_problem(loss_name, n_outputs=3, intercept=True, seed=0, share=0.4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 5))
    squared = (X[:, None] - X[None]) ** 2
    gram = DenseStack(np.ascontiguousarray(np.exp(-np.moveaxis(squared, 2, 0))))
    y = np.sin(2.0 * X[:, :2]) @ rng.normal(size=(2, n_outputs))
    y += 0.1 * rng.normal(size=y.shape) + 0.3
    if loss_name in ("hinge", "log_loss"):
        y = np.where(y > np.median(y, axis=0), 1.0, -1.0)
    if loss_name == "softmax":
        y = np.eye(n_outputs)[np.append(np.arange(n_outputs), y.argmax(axis=1))[:20]]
    loss = SoftmaxLoss() if loss_name == "softmax" else LOSSES[loss_name]()
    problem = Problem(gram, y, loss, BlockL1(1.0), intercept)
    return replace(problem, regularizer=BlockL1(share * alpha_max(problem)))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss_name", NAMES)
def test_optima_are_those_of_conic_programs(loss_name, intercept):
    problem = make_problem(loss_name, intercept=intercept)
    solution = SpicyMKL(tol=1e-7).solve(problem)
    check_solution(problem, solution, 1e-7)
    assert solution.status is Status.CONVERGED
    best = reference_optimum(
        problem.gram.array,
        problem.y,
        loss_name,
        problem.regularizer.alpha,
        fit_intercept=intercept,
    )
    assert solution.objective == pytest.approx(best.objective, rel=1e-6)
    rough = SpicyMKL(tol=0.1).solve(problem)
    true_gap = (rough.objective - best.objective) / abs(rough.objective)
    assert rough.duality_gap >= true_gap - 1e-9
    assert solution.active.size > 0
    np.testing.assert_allclose(solution.norms, best.norms, atol=1e-2)


@pytest.mark.parametrize("loss_name", NAMES)
def test_conformance_with_several_outputs(loss_name):
    problems = [make_problem(loss_name, seed=1)]
    problems.append(replace(problems[0], regularizer=BlockElasticNet(0.5, 0.7)))
    if loss_name == "softmax":
        problems.append(make_problem(loss_name, seed=1, intercept=False))
    check_solver(SpicyMKL(tol=1e-5), problems)


@pytest.mark.parametrize("loss_name", LOSS_NAMES)
def test_a_column_is_one_output(loss_name):
    problem = make_problem(loss_name, n_outputs=1)
    column = SpicyMKL(tol=1e-6).solve(problem)
    single = SpicyMKL(tol=1e-6).solve(replace(problem, y=problem.y[:, 0]))
    assert column.objective == pytest.approx(single.objective, rel=1e-6)
    assert column.dual.shape == problem.y.shape
    np.testing.assert_array_equal(column.active, single.active)
    np.testing.assert_allclose(column.dual[:, 0], single.dual, atol=1e-3)


def test_the_same_output_twice_costs_as_one_of_a_smaller_strength():
    # ||(f, f)|| = 2^(1/2) ||f|| and the loss is doubled: alpha / 2^(1/2) for one.
    single = make_problem("squared_error", n_outputs=1)
    alpha = single.regularizer.alpha
    twice = replace(single, y=np.repeat(single.y, 2, axis=1))
    single = replace(single, regularizer=BlockL1(alpha / np.sqrt(2.0)))
    both, one = (SpicyMKL(tol=1e-8).solve(problem) for problem in (twice, single))
    assert both.objective == pytest.approx(2.0 * one.objective, rel=1e-7)
    np.testing.assert_allclose(both.norms, np.sqrt(2.0) * one.norms, atol=1e-3)


@pytest.mark.parametrize("loss_name", NAMES)
def test_weighted_samples_are_copies(loss_name):
    problem = make_problem(loss_name, seed=3)
    counts = np.arange(20) % 3 + 1
    rows = np.repeat(np.arange(20), counts)
    heavier = weighted(problem.loss, counts.astype(np.float64))
    copied = replace(problem, y=problem.y[rows], gram=problem.gram.restrict(rows))
    solver = SpicyMKL(tol=1e-7)
    objective = solver.solve(replace(problem, loss=heavier)).objective
    assert objective == pytest.approx(solver.solve(copied).objective, rel=1e-6)


@pytest.mark.parametrize("loss_name", NAMES)
def test_factors_give_what_matrices_give(loss_name):
    rng = np.random.default_rng(5)
    problem = make_problem(loss_name, seed=5)
    factors = [rng.normal(size=(20, rank)) for rank in (1, 3, 2, 4)]
    dense = DenseStack(np.stack([Z @ Z.T for Z in factors]))
    problem = replace(problem, gram=dense)
    problem = replace(problem, regularizer=BlockL1(0.3 * alpha_max(problem)))
    solver = SpicyMKL(tol=1e-7)
    whole = solver.solve(problem)
    Z = np.hstack(factors)
    thin = replace(problem, gram=LowRankStack(Z, np.array([0, 1, 4, 6, 10])))
    found = solver.solve(thin)
    check_solution(thin, found, 1e-7)
    assert found.objective == pytest.approx(whole.objective, rel=1e-6)


def test_a_path_is_that_of_single_solves():
    for name in ("squared_error", "hinge", "softmax"):
        problem = make_problem(name, seed=7)
        penalties = [
            BlockL1(share * problem.regularizer.alpha) for share in (2, 1, 0.5)
        ]
        for solution, penalty in zip(
            SpicyMKL(tol=1e-6).follow(problem, penalties), penalties, strict=True
        ):
            own = replace(problem, regularizer=penalty)
            alone = SpicyMKL(tol=1e-6).solve(own)
            assert duality_gap(own, solution) <= 1.1e-6
            assert solution.objective == pytest.approx(alone.objective, rel=2e-6)


class NotTurned(SquaredLoss):
    """The squared loss to the last digit, but not known as such."""


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
def test_more_targets_than_samples_are_solved_for_in_as_many(intercept, weighed):
    problem = make_problem("squared_error", 50, intercept)
    weights = np.linspace(0.5, 2.0, 20) if weighed else None
    problem = replace(problem, y=problem.y + 1e3 * intercept)
    turned = replace(problem, loss=weighted(SquaredLoss(), weights))
    unturned = replace(problem, loss=weighted(NotTurned(), weights))
    strengths = [BlockL1(share * alpha_max(turned)) for share in (0.6, 0.3)]
    strengths.append(BlockElasticNet(strengths[-1].alpha, 0.7))
    solver = SpicyMKL(tol=1e-9)
    ours = list(solver.follow(turned, strengths))
    theirs = list(solver.follow(unturned, strengths))
    for penalty, one, other in zip(strengths, ours, theirs, strict=True):
        stated = replace(turned, regularizer=penalty)
        check_solution(stated, one, 1e-8)
        assert one.coefs.shape == other.coefs.shape
        assert duality_gap(stated, one) == pytest.approx(one.duality_gap, abs=2e-9)
        assert one.objective == pytest.approx(other.objective, rel=1e-7)
        np.testing.assert_allclose(one.norms, other.norms, rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(one.kernel_weights, other.kernel_weights, atol=1e-4)
        np.testing.assert_allclose(one.intercept, other.intercept, atol=1e-4)
    again = solver.solve(replace(turned, regularizer=strengths[0]), ours[0])
    assert again.n_iter == 0


def test_far_targets_that_are_more_than_samples_keep_an_honest_gap():
    problem = make_problem("squared_error", 50)
    far = replace(problem, y=problem.y + 1e9)
    solution = SpicyMKL(tol=1e-6).solve(far)
    assert duality_gap(far, solution) <= 2.0 * max(solution.duality_gap, 1e-6)
    near = SpicyMKL(tol=1e-6).solve(problem)
    assert solution.objective == pytest.approx(near.objective, rel=1e-5)


@pytest.mark.parametrize("p", [1.0, 1.5, np.inf])
def test_lp_norms_of_classes_have_the_optima_of_conic_programs(p):
    problem = make_problem("softmax", seed=2)
    problem = replace(problem, regularizer=SquaredBlockNorm(0.5, p))
    solver = SquaredForm(SpicyMKL, tol=1e-7) if p == 1.0 else Alternating(tol=1e-7)
    best = reference_lp_optimum(problem.gram.array, problem.y, "softmax", 2.0, p)
    # C = 2 before the losses is alpha = 1 / 2 of the problem.
    solution = solver.solve(problem)
    assert solution.duality_gap <= 1e-7
    assert 2.0 * solution.objective == pytest.approx(best.objective, rel=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
def test_two_classes_are_binary_logistic_regression(intercept):
    joint = make_problem("softmax", 2, intercept)
    strength = joint.regularizer.alpha
    y = joint.y[:, 1] - joint.y[:, 0]
    binary = replace(joint, y=y, loss=LogisticLoss())
    binary = replace(binary, regularizer=BlockL1(strength / np.sqrt(2.0)))
    one, two = (SpicyMKL(tol=1e-8).solve(problem) for problem in (binary, joint))
    assert two.objective == pytest.approx(one.objective, rel=1e-7)
    np.testing.assert_allclose(np.sqrt(2.0) * two.norms, one.norms, atol=1e-3)


def test_small_strengths_and_separable_classes_are_solved():
    problem = make_problem("softmax", seed=4, share=1e-4)
    solution = SpicyMKL(tol=1e-4).solve(problem)
    assert solution.status is Status.CONVERGED
    check_solution(problem, solution, 1e-4)
