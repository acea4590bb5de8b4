"""Machines on weighted sums, where SpicyMKL begins with a piecewise linear loss."""

from dataclasses import replace

import numpy as np
import pytest

from multikernel.certificates import duality_gap
from multikernel.gram import DenseStack
from multikernel.losses import EpsilonInsensitiveLoss, HingeLoss, LogisticLoss, weighted
from multikernel.problem import Problem
from multikernel.regularizers import BlockElasticNet, BlockL1, SquaredBlockNorm
from multikernel.solvers import InterleavedNewton, SpicyMKL
from multikernel.solvers.spicy.corners import FaceSearch
from multikernel.solvers.spicy.settings import SETTINGS
from multikernel.solvers.spicy.weights import has_quick_machines, weighted_sums

N = SETTINGS.quick_from


@pytest.fixture(scope="module")
def stack():
    """Five Gaussian kernels on a column each, of which two matter."""
    x = np.random.default_rng(0).standard_normal((5, N))
    grams = np.exp(-0.5 * (x[:, :, None] - x[:, None, :]) ** 2)
    return DenseStack(grams), np.sin(2.0 * x[0]) + x[1] ** 2 - 1.0


def problem_of(stack, kind, noise=0.3):
    gram, f = stack
    y = f + noise * np.random.default_rng(1).standard_normal(N)
    if kind == "epsilon":
        return Problem(gram, y, EpsilonInsensitiveLoss(0.3), BlockL1(0.02 * N))
    loss = HingeLoss()
    if kind == "weighted":
        loss = weighted(loss, np.random.default_rng(2).uniform(0.1, 3.0, N))
    return Problem(gram, np.where(y > 0.0, 1.0, -1.0), loss, BlockL1(0.02 * N))


@pytest.mark.parametrize("kind", ["hinge", "weighted", "epsilon"])
@pytest.mark.parametrize("intercept", [True, False])
def test_a_start_is_feasible_and_much_nearer_than_no_kernels(stack, kind, intercept):
    """The models and dual points of the weights leave a small part of the gap."""
    problem = replace(problem_of(stack, kind), fit_intercept=intercept)
    assert has_quick_machines(problem)
    rho, weights = weighted_sums(problem, problem.regularizer)
    lower, upper = problem.loss.dual_bounds(problem.y)
    assert np.all((-rho >= lower - 1e-12) & (-rho <= upper + 1e-12))
    assert not intercept or abs(rho.sum()) <= 1e-9 * np.abs(rho).sum()
    assert np.all(weights >= 0.0)
    assert weights[:2].min() > 0.0
    gaps = [entry.duality_gap for entry in SpicyMKL(max_iter=1).solve(problem).history]
    assert gaps[1] < 0.5 * gaps[0]


@pytest.mark.parametrize("kind", ["hinge", "weighted", "epsilon"])
def test_the_solution_is_that_of_newton_steps_on_weights(stack, kind):
    """Where the squared form has its strength, the models of two solvers agree."""
    problem = problem_of(stack, kind)
    solution = SpicyMKL(tol=1e-6).solve(problem)
    assert duality_gap(problem, solution) <= 1e-6
    total = float(solution.norms.sum())
    alpha = problem.regularizer.alpha
    squared = replace(problem, regularizer=SquaredBlockNorm(alpha / total, 1.0))
    other = InterleavedNewton(tol=1e-6).solve(squared)
    # The squared form is half of alpha times the sum where that is the total.
    expected = other.objective + 0.5 * alpha * total
    assert solution.objective == pytest.approx(expected, rel=3e-6)


def test_many_samples_at_no_corner_are_left_to_a_barrier(monkeypatch):
    """Noise that kernels can follow leaves most samples on the margin."""
    monkeypatch.delattr(FaceSearch, "run")
    x = np.random.default_rng(3).standard_normal((2, N, 3))
    squares = ((x[:, :, None, :] - x[:, None, :, :]) ** 2).sum(axis=3)
    labels = np.where(np.random.default_rng(4).random(N) < 0.5, 1.0, -1.0)
    gram = DenseStack(np.exp(-200.0 * squares))
    problem = Problem(gram, labels, HingeLoss(), BlockL1(10.0))
    solution = SpicyMKL(tol=1e-4).solve(problem)
    assert duality_gap(problem, solution) <= 1e-4


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
def test_an_elastic_net_begins_so_as_well(stack, l1_ratio):
    """Its slope grows with the norm, from zero where it has no threshold.

    Nothing is divided by it: a kernel of next to no size is left out on the way.
    """
    problem = problem_of(stack, "hinge")
    grams = problem.gram.array[:3] * np.array([1.0, 1e-8, 1.0])[:, None, None]
    penalty = BlockElasticNet(0.02 * N, l1_ratio)
    problem = replace(problem, gram=DenseStack(grams), regularizer=penalty)
    with np.errstate(divide="raise", invalid="raise"):
        _, weights = weighted_sums(problem, penalty)
    assert weights[1] == 0.0
    solution = SpicyMKL(tol=1e-5).solve(problem)
    assert duality_gap(problem, solution) <= 1e-5


def test_machines_are_for_held_matrices_of_many_samples(stack):
    """Not for fewer samples, several outputs, or a smooth loss."""
    problem = problem_of(stack, "hinge")
    some = np.arange(N - 1)
    few = replace(problem, gram=problem.gram.restrict(some), y=problem.y[some])
    outputs = replace(problem, y=np.column_stack([problem.y, -problem.y]))
    smooth = replace(problem, loss=LogisticLoss())
    for other in (few, outputs, smooth):
        assert not has_quick_machines(other)
