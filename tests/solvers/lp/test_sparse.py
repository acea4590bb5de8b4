"""Sparse learning (p = 1): never stuck, few kernels, of tied ones a single one."""

from dataclasses import replace

import numpy as np
import pytest
from reference.lp_problems import lp_problem
from reference.toys import LOSSES, toy_loss
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from multikernel.certificates import duality_gap
from multikernel.gram import DenseStack, build_stack
from multikernel.kernels import spicy_dictionary
from multikernel.problem import Problem, Status
from multikernel.regularizers import SquaredBlockNorm
from multikernel.solvers import InterleavedNewton, SpicyMKL, SquaredForm, follow
from multikernel.testing import check_solution, check_solver


def squared_form(tol):
    return SquaredForm(SpicyMKL, tol=tol)


def newton(tol):
    return InterleavedNewton(tol=tol)


each_solver = pytest.mark.parametrize("solver", [newton, squared_form])


def stack_of(X):
    return build_stack(spicy_dictionary(X.shape[1]), X, normalize="variance").stack


@pytest.fixture(scope="module")
def cancer():
    """Breast cancer as in the report of the defect: 150 samples and 378 kernels."""
    X, y = load_breast_cancer(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))[:150]
    X = StandardScaler().fit_transform(X[rows, :13])
    return stack_of(X), np.where(y[rows] == 1, 1.0, -1.0)


@pytest.fixture(scope="module")
def binary_columns():
    """Columns of two values: all Gaussian widths on one of them give one matrix."""
    rng = np.random.default_rng(0)
    X = np.sign(rng.normal(size=(60, 6)))
    signal = X[:, 0] + 0.7 * X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=60)
    return stack_of(X), np.where(signal > 0.0, 1.0, -1.0)


def problem_on(data, C, loss="hinge"):
    stack, y = data
    return Problem(stack, y, toy_loss(loss), SquaredBlockNorm(1.0 / C, 1.0))


@each_solver
@pytest.mark.parametrize("C", [128.0])
def test_large_strengths_do_not_stall(cancer, solver, C):
    """At tol=1e-2 the Newton steps once ended at a gap of 0.035."""
    solution = solver(1e-2).solve(problem_on(cancer, C))
    assert solution.status is Status.CONVERGED
    assert duality_gap(problem_on(cancer, C), solution) <= 1e-2 + 1e-12
    assert solution.active.size <= 40


@each_solver
def test_of_tied_kernels_one_is_taken(binary_columns, solver):
    problem = problem_on(binary_columns, 0.5)
    solution = solver(1e-3).solve(problem)
    assert solution.status is Status.CONVERGED
    check_solution(problem, solution, 1e-3)
    images = problem.gram.matvec(solution.dual)[solution.active]
    distances = np.abs(images[:, None] - images).max(axis=2)
    np.fill_diagonal(distances, np.inf)
    assert distances.min() > 1e-9 * np.abs(images).max()
    # Without the ties, the problem has the same optimum.
    images = problem.gram.matvec(np.linspace(-1.0, 1.0, 60))
    images = (images / np.abs(images).max()).round(6) + 0.0
    _, first = np.unique(images, axis=0, return_index=True)
    distinct = replace(problem, gram=problem.gram.take(np.sort(first)))
    alone = solver(1e-3).solve(distinct)
    assert first.size < 0.7 * problem.gram.shape[0]
    assert solution.active.size <= alone.active.size + 3
    assert solution.objective == pytest.approx(alone.objective, rel=2e-3)


@pytest.mark.parametrize("tol", [pytest.param(1e-3, marks=pytest.mark.slow), 1e-7])
def test_the_squared_form_conforms(tol):
    problems = [
        lp_problem(loss, 1.0, C, fit_intercept)
        for loss in LOSSES
        for C, fit_intercept in ((0.5, True), (20.0, False))
    ]
    check_solver(squared_form(tol), problems)


@pytest.mark.parametrize("loss", LOSSES)
def test_both_ways_lead_to_one_optimum(binary_columns, loss):
    problem = problem_on(binary_columns, 2.0, loss)
    first, second = newton(1e-4).solve(problem), squared_form(1e-4).solve(problem)
    assert first.objective == pytest.approx(second.objective, rel=1e-4)
    assert max(first.active.size, second.active.size) <= 100


def test_a_path_over_c_equals_separate_solves():
    problem = lp_problem("log_loss", 1.0, 1.0)
    penalties = [SquaredBlockNorm(1.0 / C, 1.0) for C in (0.1, 1.0, 50.0, 0.5)]
    solver = squared_form(1e-6)
    path = follow(solver, problem, penalties)
    for penalty, found in zip(penalties, path, strict=True):
        alone = solver.solve(replace(problem, regularizer=penalty))
        check_solution(replace(problem, regularizer=penalty), found, 1e-6)
        assert found.objective == pytest.approx(alone.objective, rel=2e-6)


def test_where_no_kernel_pays_none_is_used():
    problem = Problem(
        DenseStack(np.eye(8)[None] * 1e-3),
        np.array([1.0, -1.0] * 4),
        toy_loss("squared_error"),
        SquaredBlockNorm(1e6, 1.0),
    )
    solution = squared_form(1e-2).solve(problem)
    assert solution.status is Status.CONVERGED


def test_the_squared_form_is_for_p_one():
    reason = squared_form(1e-3).unsupported(lp_problem("hinge", 2.0, 1.0))
    assert reason == "SquaredForm needs p = 1, got p = 2."
