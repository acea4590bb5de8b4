"""Machines on weighted sums, where SpicyMKL begins with a piecewise linear loss."""

from dataclasses import replace

import numpy as np
import pytest

from multikernel.certificates import alpha_max, duality_gap
from multikernel.exceptions import IndefiniteKernelError
from multikernel.gram import DenseStack, build_stack
from multikernel.kernels import (
    ColumnKernel,
    GaussianKernel,
    LinearKernel,
    ListDictionary,
)
from multikernel.losses import EpsilonInsensitiveLoss, HingeLoss, LogisticLoss, weighted
from multikernel.problem import Problem, Status
from multikernel.regularizers import BlockElasticNet, BlockL1, SquaredBlockNorm
from multikernel.solvers import InterleavedNewton, SpicyMKL, solve_path
from multikernel.solvers.spicy.machine_start import (
    WeightSearch,
    has_quick_machines,
    weighted_sums,
)
from multikernel.solvers.spicy.polyhedral import FaceSearch

N = 1000


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


def begin(problem, tol=1e-3):
    """Return the dual point and the weights that machines lead to."""
    kernels = np.arange(problem.gram.shape[0])
    return weighted_sums(problem, problem.regularizer, kernels, tol)[:2]


@pytest.mark.parametrize("kind", ["hinge", "weighted", "epsilon"])
@pytest.mark.parametrize("intercept", [True, False])
def test_a_start_is_feasible_and_much_nearer_than_no_kernels(stack, kind, intercept):
    """The models and dual points of the weights leave a small part of the gap."""
    problem = replace(problem_of(stack, kind), fit_intercept=intercept)
    assert has_quick_machines(problem)
    rho, weights = begin(problem)
    lower, upper = problem.loss.dual_bounds(problem.y)
    assert np.all((-rho >= lower - 1e-12) & (-rho <= upper + 1e-12))
    assert not intercept or abs(rho.sum()) <= 1e-9 * np.abs(rho).sum()
    assert np.all(weights >= 0.0)
    assert weights[:2].min() > 0.0
    gaps = [entry.duality_gap for entry in SpicyMKL(max_iter=1).solve(problem).history]
    assert gaps[1] < 0.5 * gaps[0]


@pytest.mark.parametrize("kind", ["hinge", "epsilon"])
def test_dual_norms_are_the_slopes_at_the_weights(stack, kind):
    """Where a kernel is in; where it is out they are below the threshold."""
    problem = problem_of(stack, kind)
    penalty = BlockElasticNet(problem.regularizer.alpha, 0.3)
    rho, weights = begin(replace(problem, regularizer=penalty), tol=1e-6)
    sizes = np.sqrt(problem.gram.quadratic_forms(rho))
    inside = weights > 0.0
    assert np.count_nonzero(inside) >= 2
    room = 1.0 - (penalty.alpha - penalty.threshold) * weights
    slopes = penalty.threshold / room
    np.testing.assert_allclose(sizes[inside], slopes[inside], rtol=2e-2)
    assert np.all(sizes[~inside] <= slopes[~inside])


@pytest.mark.parametrize("kind", ["hinge", "epsilon"])
def test_one_start_is_all_that_a_few_kernels_take(stack, kind):
    """It goes on to the tolerance, and reads the samples in play alone."""
    problem = problem_of(stack, kind)
    solution = SpicyMKL(tol=1e-3).solve(problem)
    assert solution.n_iter == 1
    assert duality_gap(problem, solution) <= 1e-3
    first, last = solution.history
    # On all samples each machine makes two passes.
    assert last.passes - first.passes < 1.5 * last.inner_steps


def test_a_choice_that_misses_who_is_to_move_costs_machines_alone(stack, monkeypatch):
    problem = problem_of(stack, "hinge")
    expected = SpicyMKL(tol=1e-6).solve(problem)
    monkeypatch.setattr(
        "multikernel.solvers.spicy.machine_start.changing_samples",
        lambda problem, rho, f: np.flatnonzero(rho) if rho.any() else np.arange(9),
    )
    found = SpicyMKL(tol=1e-6).solve(problem)
    assert found.duality_gap <= 1e-6
    np.testing.assert_allclose(found.objective, expected.objective, rtol=2e-6)


def test_machines_that_prove_nothing_are_given_up(stack, monkeypatch):
    values = iter([(0.0, 0.0)] * 20)
    monkeypatch.setattr(
        "multikernel.solvers.spicy.machine_start.scaled_dual_value",
        lambda *_: next(values),
    )
    problem = problem_of(stack, "hinge")
    kernels = np.arange(problem.gram.shape[0])
    count = weighted_sums(problem, problem.regularizer, kernels, 1e-3)[2]
    assert count == 3


def test_a_step_that_is_far_too_long_is_cut_at_the_root():
    """A kernel whose dual norm is one over its weight, but for a flat start."""
    search = WeightSearch(BlockL1(0.5), np.ones(1))
    weights = search.moved(np.array([1.0]), np.array([1.0]), lambda: np.array([[0.1]]))
    assert weights[0] > 6.0  # that of the curvature 1 is 2
    weights = search.moved(weights, 1.0 / weights, lambda: pytest.fail("not asked"))
    np.testing.assert_allclose(weights, 2.0)
    # From there on steps are those of the curvature at hand.
    weights = search.moved(weights, 1.0 / weights, lambda: np.array([[0.1]]))
    np.testing.assert_allclose(weights, 2.0)


@pytest.mark.parametrize("size", [1e-3, 0.1, 10.0, 1e3])
def test_without_any_curvature_weights_move_within_a_factor(size):
    """All samples at corners: nothing tells how far a step may go."""
    search, start = (
        WeightSearch(BlockL1(1.0), np.array([1.0, 1e3])),
        np.array([2, 1e-3]),
    )
    weights = search.moved(start, np.full(2, size), lambda: np.zeros((2, 2)))
    before, after = float(search.traces @ start), float(search.traces @ weights)
    most = 11.0
    assert before / most <= after <= most * before
    assert (after > before) == (size > 1.0)


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

    Nothing is divided by it. Without a threshold all kernels are in, with equal
    weights; with one a kernel of next to no size is left out on the way.
    """
    problem = problem_of(stack, "hinge")
    grams = problem.gram.array[:3] * np.array([1.0, 1e-8, 1.0])[:, None, None]
    penalty = BlockElasticNet(0.02 * N, l1_ratio)
    problem = replace(problem, gram=DenseStack(grams), regularizer=penalty)
    with np.errstate(divide="raise", invalid="raise"):
        _, weights = begin(problem)
    if l1_ratio == 0.0:
        np.testing.assert_allclose(weights, 1.0 / penalty.alpha, rtol=1e-6)
    else:
        assert weights[1] == 0.0
    solution = SpicyMKL(tol=1e-5).solve(problem)
    assert duality_gap(problem, solution) <= 1e-5


class BentTwice(EpsilonInsensitiveLoss):
    """Two pieces on either side of zero: steeper from where half the slope is."""

    def dual_pieces(self, y):
        slopes, costs, sizes = super().dual_pieces(y)
        costs = np.concatenate([costs, costs + 1.0])
        return np.tile(slopes, (2, 1)), costs, np.tile(0.5 * sizes, (2, 1))


def test_machines_are_for_held_matrices_and_one_output(stack):
    """Not for a smooth loss, or one whose conjugate bends beside zero."""
    problem = problem_of(stack, "epsilon")
    assert has_quick_machines(problem)
    outputs = replace(problem, y=np.column_stack([problem.y, -problem.y]))
    smooth = replace(problem, loss=LogisticLoss())
    bent = replace(problem, loss=BentTwice(0.3))
    for other in (outputs, smooth, bent):
        assert not has_quick_machines(other)


def test_a_matrix_that_is_no_kernel_is_named_by_its_number(stack):
    """Machines see a working set, and the numbers are those of all kernels."""
    problem = problem_of(stack, "hinge")
    some, grams = np.array([0, 1, 4]), problem.gram.array[:3].copy()
    grams[2] -= 0.9 * np.eye(N)
    part = replace(problem, gram=DenseStack(grams))
    with pytest.raises(IndefiniteKernelError, match="matrix 4 "):
        weighted_sums(part, part.regularizer, some, 1e-6)


def test_a_path_passes_strengths_with_no_kernels(stack):
    """From the first on dual points are shares of it, far away and below a half."""
    problem = problem_of(stack, "hinge")
    largest = alpha_max(problem)
    alphas = [share * largest for share in (9.0, 3.0, 0.5)]
    *none, last = solve_path(problem, SpicyMKL(), alphas)
    assert not any(solution.active.size for solution in none)
    assert last.active.size
    assert {solution.status for solution in (*none, last)} == {Status.CONVERGED}


def test_machines_ignore_a_kernel_that_is_zero_on_these_samples():
    # More than half of the numbers are needed, so the whole stack is used.
    X = np.random.default_rng(0).normal(size=(200, 4))
    X[:, 3] = 0.0
    columns = [ColumnKernel(LinearKernel(), column) for column in range(4)]
    kernels = ListDictionary([GaussianKernel(1.0), *columns])
    gram = build_stack(kernels, X, storage="by_kernel").stack
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, 1.0, -1.0)
    solution = SpicyMKL(tol=1e-4).solve(Problem(gram, y, HingeLoss(), BlockL1(1.0)))
    assert solution.steps[0] == "machines"
    assert solution.duality_gap <= 1e-4
