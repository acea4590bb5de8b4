"""Quadratic programs over corners: optima that an independent solver confirms."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from multikernel.gram import DenseStack
from multikernel.losses import EpsilonInsensitiveLoss, HingeLoss, weighted
from multikernel.problem import Problem, Status
from multikernel.regularizers import BlockL1
from multikernel.solvers import SpicyMKL, alpha_grid, solve_path
from multikernel.solvers.spicy import polyhedral as face_search
from multikernel.solvers.spicy.algorithm import AugmentedLagrangian
from multikernel.solvers.spicy.kernels import QuadraticModel, SummedHessian
from multikernel.solvers.spicy.polyhedral import BarrierSide, CornerSide
from multikernel.testing import check_solution

N = 14
LOSSES = {
    "hinge": HingeLoss(),
    "epsilon_insensitive": EpsilonInsensitiveLoss(0.3),
    "absolute": EpsilonInsensitiveLoss(0.0),
    "weighted": weighted(HingeLoss(), np.linspace(0.5, 2.0, N)),
}


def make_targets(name, rng):
    y = rng.normal(size=N)
    return np.where(y > 0.0, 1.0, -1.0) if name in ("hinge", "weighted") else y


def make_stack(rng, rank):
    Z = rng.normal(size=(3, N, rank))
    return DenseStack(Z @ Z.transpose(0, 2, 1))


def conic_optimum(loss, y, model, start):
    """Minimize over pieces p of rho, with their costs, by cvxpy."""
    slopes, costs, sizes = loss.dual_pieces(y)
    signs = -slopes
    pieces = cp.Variable(signs.shape, nonneg=True)
    x = cp.sum(cp.multiply(signs, pieces), axis=0)
    root = np.linalg.cholesky(model.rows(np.arange(N)) + 1e-10 * np.eye(N))
    value = (
        cp.sum(cp.multiply(costs, pieces))
        + model.gradient @ (x - start)
        + 0.5 * cp.sum_squares(root.T @ (x - start))
    )
    constraints = [pieces <= sizes]
    if model.excess is not None:
        constraints.append(cp.sum(x) == 0.0)
    return cp.Problem(cp.Minimize(value), constraints).solve(solver="CLARABEL")


def model_value(loss, y, model, start, x):
    step = x - start
    curved = 0.5 * step @ model.rows(np.arange(N)) @ step
    return float(loss.conjugate(y, -x).sum() + model.gradient @ step + curved)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("rank", [1, 20])
@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_optimum(name, rank, balanced, seed):
    rng = np.random.default_rng(seed)
    loss, y = LOSSES[name], make_targets(name, rng)
    corners = face_search.make_corners(loss, y)
    start = np.zeros(N)
    low_rank = rng.normal(size=(N, 2))
    hessian = SummedHessian(make_stack(rng, rank), rng.uniform(size=3), low_rank)
    excess = 0.0 if balanced else None
    model = QuadraticModel(hessian, rng.normal(size=N), excess)
    search = face_search.FaceSearch(model, corners, start)
    search.run()
    best = conic_optimum(loss, y, model, start)
    reached = model_value(loss, y, model, start, search.x)
    before = model_value(loss, y, model, start, start)
    assert np.all((search.x >= corners.low) & (search.x <= corners.high))
    # What is allowed to be left, and no less than the optimum.
    assert best - 1e-6 <= reached <= best + search._allowed + 1e-6
    assert reached < before
    if balanced:
        assert abs(search.x.sum()) < 1e-9


@pytest.mark.parametrize("name", LOSSES)
def test_the_fenchel_gap_is_that_of_loss_and_conjugate(name):
    rng = np.random.default_rng(0)
    loss, y = LOSSES[name], make_targets(name, rng)
    corners = face_search.make_corners(loss, y)
    x = rng.uniform(corners.low, corners.high)
    f = rng.normal(size=N)
    expected = loss.value(y, f).sum() + loss.conjugate(y, -x).sum() + x @ f
    assert corners.fenchel_gap(x, f) == pytest.approx(expected)


@pytest.mark.parametrize("name", LOSSES)
def test_corners_are_fixed_and_what_lies_between_is_free(name):
    rng = np.random.default_rng(0)
    corners = face_search.make_corners(LOSSES[name], make_targets(name, rng))
    for corner in (corners.low, np.zeros(N), corners.high):
        lower, upper = corners.subgradients(corner)
        assert np.all(upper >= lower)
        assert name == "absolute" or np.all(upper > lower)
    between = np.where(corners.high > 0.0, 0.5 * corners.high, 0.5 * corners.low)
    lower, upper = corners.subgradients(between)
    np.testing.assert_array_equal(lower, upper)
    np.testing.assert_array_equal(corners.snap(between), between)
    np.testing.assert_array_equal(corners.snap(0.9999 * corners.high), corners.high)


@pytest.mark.parametrize("name", LOSSES)
def test_a_path_goes_on_with_a_barrier_where_the_active_set_method_fails(
    name, monkeypatch
):
    rng = np.random.default_rng(3)
    problem = Problem(
        make_stack(rng, 5), make_targets(name, rng), LOSSES[name], BlockL1(1.0)
    )
    alphas = alpha_grid(problem, 6, 0.3)
    solver = SpicyMKL(tol=1e-6)
    usual = solve_path(problem, solver, alphas)
    failures = []
    more_robust = CornerSide.more_robust

    def count(side):
        failures.append(side)
        return more_robust(side)

    monkeypatch.setattr(CornerSide, "more_robust", count)
    dear = replace(face_search.SETTINGS, budget=-1.0)
    monkeypatch.setattr(face_search, "SETTINGS", dear)
    path = solve_path(problem, solver, alphas)
    assert failures
    for alpha, one, other in zip(alphas, usual, path, strict=True):
        assert one.status is other.status is Status.CONVERGED
        here = Problem(problem.gram, problem.y, problem.loss, BlockL1(float(alpha)))
        check_solution(here, other, solver.tol)
        assert one.objective == pytest.approx(other.objective, rel=2e-6)


def test_a_barrier_goes_on_from_a_corner_at_zero(monkeypatch):
    """Which has no images, so that no penalty makes a difference there."""
    rng = np.random.default_rng(3)
    problem = Problem(
        make_stack(rng, 5), rng.normal(size=N), LOSSES["absolute"], BlockL1(1.0)
    )
    dear = replace(face_search.SETTINGS, budget=-1.0)
    monkeypatch.setattr(face_search, "SETTINGS", dear)
    search = AugmentedLagrangian(
        problem,
        np.arange(3),
        CornerSide(problem.loss, problem.y, np.zeros(N)),
        np.zeros((3, N)),
        np.zeros(1),
        1.0,
    )
    search.solve(1e-6, 1.0, float(np.abs(problem.y).sum()))
    assert not search.stuck
    assert search.measure().gap <= 1e-6


def test_a_barrier_hands_over_to_corners_near_which_it_is():
    y = np.array([1.0, 1.0, -1.0, -1.0])
    rho = np.array([1.0 - 1e-6, 0.4, -0.4, -1.0 + 1e-6])
    side = BarrierSide(HingeLoss(), y, rho, 1e-3).for_similar_problem()
    np.testing.assert_array_equal(side.rho, [1.0, 0.4, -0.4, -1.0])


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_barrier_keeps_steps_off_the_wall_that_rounding_puts_them_on():
    y = np.array([1.0, -1.0])
    side = BarrierSide(HingeLoss(), y, np.array([1.0 - 1e-15, -1e-14]), 1e-3)
    side.direction = np.array([[0.99e-15, -1e-14]])
    assert np.isfinite(side.slope(1.0))
    side.move(1.0)
    assert np.isfinite([side.walls.xi, side.walls.zeta]).all()
    assert ((side.pieces > 0.0) & (side.pieces < 1.0)).all()
