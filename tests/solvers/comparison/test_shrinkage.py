"""Iterative shrinkage: its optimum is that of other solvers, its steps the paper's."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from reference.conic import reference_optimum
from reference.toys import toy_grams, toy_loss, toy_regularizer, toy_targets

from multikernel.certificates import alpha_max, duality_gap
from multikernel.exceptions import UnsupportedProblemError
from multikernel.gram import DenseStack
from multikernel.losses import SoftmaxLoss, SquaredLoss
from multikernel.problem import Problem, Status
from multikernel.regularizers import BlockL1, SquaredBlockNorm
from multikernel.solvers import IterativeShrinkage, SpicyMKL
from multikernel.testing import check_solution, check_solver

SMOOTH = ("log_loss", "squared_error")


def make_problem(loss, share=0.2, l1_ratio=1.0, fit_intercept=True, weights=None):
    grams = DenseStack(toy_grams())
    y, cost = toy_targets(loss), toy_loss(loss, weights)
    problem = Problem(grams, y, cost, BlockL1(1.0), fit_intercept)
    alpha = share * alpha_max(problem)
    return replace(problem, regularizer=toy_regularizer(alpha, l1_ratio))


@pytest.mark.slow
def test_conformance_without_momentum():
    check_solver(IterativeShrinkage(tol=1e-2, momentum=False))


@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("with_weights", [False, True])
def test_objective_is_that_of_a_conic_solver(
    loss, l1_ratio, fit_intercept, with_weights
):
    weights = np.random.default_rng(3).uniform(0.5, 2.0, 24) if with_weights else None
    problem = make_problem(loss, 0.2, l1_ratio, fit_intercept, weights)
    found = IterativeShrinkage(tol=1e-6).solve(problem)
    check_solution(problem, found, 1e-6)
    assert found.status is Status.CONVERGED
    expected = reference_optimum(
        problem.gram.array,
        problem.y,
        loss,
        problem.regularizer.alpha,
        l1_ratio=l1_ratio,
        fit_intercept=fit_intercept,
        sample_weight=weights,
    )
    assert found.objective == pytest.approx(expected.objective, rel=2e-6)


def test_all_classes_at_once():
    y = np.eye(3)[np.random.default_rng(1).integers(3, size=24)]
    problem = Problem(DenseStack(toy_grams()), y, SoftmaxLoss(), BlockL1(2.0))
    found = IterativeShrinkage(tol=1e-4).solve(problem)
    check_solution(problem, found, 1e-4)
    best = SpicyMKL(tol=1e-7).solve(problem)
    assert best.objective <= found.objective <= (1.0 + 1e-4) * best.objective + 1e-9


@pytest.mark.parametrize("loss", SMOOTH)
def test_without_momentum_no_step_raises_the_objective(loss):
    problem = make_problem(loss, 0.05)
    seen = [
        IterativeShrinkage(1e-9, steps, momentum=False).solve(problem).objective
        for steps in (1, 2, 4, 8, 16, 32)
    ]
    assert all(a > b for a, b in pairwise(seen))


@pytest.mark.parametrize("loss", SMOOTH)
def test_momentum_saves_steps_and_both_save_none_over_spicy_mkl(loss):
    problem = make_problem(loss, 0.1)
    with_momentum, without = (
        IterativeShrinkage(1e-3, momentum=momentum).solve(problem)
        for momentum in (True, False)
    )
    spicy = SpicyMKL(1e-3).solve(problem)
    assert with_momentum.n_iter < without.n_iter
    passes = [s.history[-1].passes for s in (spicy, with_momentum, without)]
    assert passes == sorted(passes)


def test_a_first_step_is_the_papers():
    """One kernel, no intercept: c = ST(g y) at the first step size g that holds."""
    K = toy_grams(n_kernels=1)
    y = toy_targets("squared_error")
    problem = Problem(DenseStack(K), y, SquaredLoss(), BlockL1(0.5), False)
    found = IterativeShrinkage(1e-12, 1).solve(problem)
    step = found.coefs[0] / y  # a multiple of rho = y
    np.testing.assert_allclose(step, step[0])
    size = np.sqrt(y @ K[0] @ y)
    gamma = step[0] / (1.0 - 0.5 / size)
    # gamma (1 - alpha / |y|_K), at a power of two of the first curvature
    halvings = np.log2(8.0 * (y @ y) / (y @ K[0] @ y) / gamma)
    assert halvings == pytest.approx(round(halvings), abs=1e-9)
    assert 0.25 / np.linalg.eigvalsh(K[0])[-1] < gamma


def test_a_warm_start_goes_on():
    problem = make_problem("log_loss", 0.1)
    begun = IterativeShrinkage(1e-12, 30).solve(problem)
    more = IterativeShrinkage(1e-12, 30).solve(problem, begun)
    assert more.objective < begun.objective
    assert duality_gap(problem, more) < duality_gap(problem, begun)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"regularizer": SquaredBlockNorm(1.0, 1.0)}, "separable prox"),
        ({"loss": toy_loss("hinge")}, "differentiable loss"),
    ],
)
def test_what_it_cannot_treat(change, message):
    problem = replace(make_problem("log_loss"), **change)
    with pytest.raises(UnsupportedProblemError, match=message):
        IterativeShrinkage().solve(problem)
