"""The softmax over a shared selection: Newton's method on simplices."""

from dataclasses import replace

import numpy as np
import pytest
from tests.reference.conic import reference_lp_optimum, reference_optimum

from multikernel.certificates import alpha_max
from multikernel.gram import DenseStack, LowRankStack
from multikernel.losses import LogisticLoss, SoftmaxLoss, weighted
from multikernel.problem import Problem, Status
from multikernel.regularizers import BlockElasticNet, BlockL1, SquaredBlockNorm
from multikernel.solvers import Alternating, SpicyMKL, SquaredForm
from multikernel.testing import check_solution, check_solver


def make_problem(n_classes=3, intercept=True, seed=0, n=24, share=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    squared = (X[:, None] - X[None]) ** 2
    gram = DenseStack(np.ascontiguousarray(np.exp(-np.moveaxis(squared, 2, 0))))
    scores = np.sin(2.0 * X[:, :2]) @ rng.normal(size=(2, n_classes))
    codes = np.argmax(scores + 0.2 * rng.normal(size=scores.shape), axis=1)
    codes[:n_classes] = np.arange(n_classes)
    y = np.eye(n_classes)[codes]
    problem = Problem(gram, y, SoftmaxLoss(), BlockL1(1.0), intercept)
    return replace(problem, regularizer=BlockL1(share * alpha_max(problem)))


@pytest.mark.parametrize("share", [0.5, 0.02])
@pytest.mark.parametrize("intercept", [True, False])
def test_optima_are_those_of_conic_programs(intercept, share):
    problem = make_problem(intercept=intercept, share=share)
    solution = SpicyMKL(tol=1e-7).solve(problem)
    check_solution(problem, solution, 1e-7)
    assert solution.status is Status.CONVERGED
    best = reference_optimum(
        problem.gram.array,
        problem.y,
        "softmax",
        problem.regularizer.alpha,
        fit_intercept=intercept,
    )
    assert solution.objective == pytest.approx(best.objective, rel=1e-6)
    rough = SpicyMKL(tol=0.1).solve(problem)
    true_gap = (rough.objective - best.objective) / abs(rough.objective)
    assert rough.duality_gap >= true_gap - 1e-9


@pytest.mark.parametrize("p", [1.0, 1.5, np.inf])
def test_lp_norms_have_the_optima_of_conic_programs(p):
    problem = make_problem(seed=2)
    problem = replace(problem, regularizer=SquaredBlockNorm(0.5, p))
    solver = SquaredForm(SpicyMKL, tol=1e-7) if p == 1.0 else Alternating(tol=1e-7)
    best = reference_lp_optimum(problem.gram.array, problem.y, "softmax", 2.0, p)
    # C = 2 before the losses is alpha = 1 / 2 of the problem.
    solution = solver.solve(problem)
    assert solution.duality_gap <= 1e-7
    assert 2.0 * solution.objective == pytest.approx(best.objective, rel=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
def test_two_classes_are_binary_logistic_regression(intercept):
    joint = make_problem(n_classes=2, intercept=intercept)
    strength = joint.regularizer.alpha
    y = joint.y[:, 1] - joint.y[:, 0]
    binary = replace(joint, y=y, loss=LogisticLoss())
    binary = replace(binary, regularizer=BlockL1(strength / np.sqrt(2.0)))
    one, two = (SpicyMKL(tol=1e-8).solve(problem) for problem in (binary, joint))
    assert two.objective == pytest.approx(one.objective, rel=1e-7)
    np.testing.assert_allclose(np.sqrt(2.0) * two.norms, one.norms, atol=1e-3)


def test_conformance():
    problem = make_problem(seed=1)
    elastic = replace(problem, regularizer=BlockElasticNet(0.5, 0.7))
    bare = make_problem(seed=1, intercept=False)
    check_solver(SpicyMKL(tol=1e-5), [problem, elastic, bare])


def test_weighted_samples_are_copies():
    problem = make_problem(seed=3)
    counts = np.arange(24) % 3 + 1
    rows = np.repeat(np.arange(24), counts)
    heavier = weighted(problem.loss, counts.astype(np.float64))
    copied = replace(problem, y=problem.y[rows], gram=problem.gram.restrict(rows))
    solver = SpicyMKL(tol=1e-7)
    objective = solver.solve(replace(problem, loss=heavier)).objective
    assert objective == pytest.approx(solver.solve(copied).objective, rel=1e-6)


def test_factors_give_what_matrices_give():
    rng = np.random.default_rng(5)
    factors = [rng.normal(size=(24, rank)) for rank in (1, 3, 2, 4)]
    dense = DenseStack(np.stack([Z @ Z.T for Z in factors]))
    problem = replace(make_problem(seed=5), gram=dense)
    problem = replace(problem, regularizer=BlockL1(0.3 * alpha_max(problem)))
    Z = np.hstack(factors)
    thin = replace(problem, gram=LowRankStack(Z, np.array([0, 1, 4, 6, 10])))
    whole, found = (SpicyMKL(tol=1e-7).solve(each) for each in (problem, thin))
    check_solution(thin, found, 1e-7)
    assert found.objective == pytest.approx(whole.objective, rel=1e-6)


def test_small_strengths_and_separable_classes_are_solved():
    problem = make_problem(seed=4, share=1e-4)
    solution = SpicyMKL(tol=1e-4).solve(problem)
    assert solution.status is Status.CONVERGED
    check_solution(problem, solution, 1e-4)


def test_a_path_is_that_of_single_solves():
    problem = make_problem(seed=7)
    strengths = [share * problem.regularizer.alpha for share in (2.0, 1.0, 0.3)]
    penalties = [BlockL1(strength) for strength in strengths]
    path = list(SpicyMKL(tol=1e-6).follow(problem, penalties))
    for solution, penalty in zip(path, penalties, strict=True):
        alone = SpicyMKL(tol=1e-6).solve(replace(problem, regularizer=penalty))
        assert solution.duality_gap <= 1e-6
        assert solution.objective == pytest.approx(alone.objective, rel=2e-6)
