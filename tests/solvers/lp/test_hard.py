"""Problems on which solvers of lp-norm learning once stopped far from the optimum."""

from dataclasses import replace

import numpy as np
import pytest
from reference.toys import CLASSIFICATION, LOSSES, toy_loss
from scipy.optimize import linprog

from multikernel.exceptions import ConvergenceWarning
from multikernel.gram import DenseStack, build_stack
from multikernel.kernels import spicy_dictionary
from multikernel.problem import Problem, Status
from multikernel.regularizers import SquaredBlockNorm
from multikernel.solvers import (
    SILP,
    Alternating,
    CuttingPlane,
    HessianMKL,
    InterleavedNewton,
    SimpleMKL,
)
from multikernel.solvers.lp.master import (
    SETTINGS,
    barrier_response,
    central_master,
    corner_weights,
)
from multikernel.testing import check_solution

TOL = 1e-4


def rank_one_problem(loss, p, C, fit_intercept, shape=(24, 6), seed=1):
    """A linear kernel per column: a machine's dual variables are far from unique."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    signal = X[:, 0] + 0.7 * X[:, 1] + 0.5 * X[:, -1] + 0.5 * rng.normal(size=len(X))
    return problem_on([np.outer(x, x) for x in X.T], signal, loss, p, C, fit_intercept)


def duplicates_problem(loss, p, C, fit_intercept):
    """Kernels of several kinds on few columns, some of them twice."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 4))
    grams = [np.outer(x, x) for x in X.T]
    squared = [(x[:, None] - x) ** 2 for x in X.T]
    grams += [np.exp(-D / (2.0 * w**2)) for D in squared for w in (0.3, 3.0)]
    grams += grams[:2] + grams[4:6]
    signal = X[:, 0] + 0.7 * X[:, 1] ** 2 + 0.5 * rng.normal(size=30)
    return problem_on(grams, signal, loss, p, C, fit_intercept)


def bandwidths_problem(loss, p, C, fit_intercept):
    """Neighbouring bandwidths, whose weights closed forms tell apart slowly."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    squared = ((X[:, None] - X) ** 2).sum(axis=2)
    grams = [np.exp(-squared / (2.0 * w**2)) for w in np.geomspace(0.3, 20.0, 7)]
    signal = X[:, 0] + 0.7 * X[:, 1] ** 2 + 0.05 * rng.normal(size=20)
    return problem_on(grams, signal, loss, p, C, fit_intercept)


def problem_on(grams, signal, loss, p, C, fit_intercept):
    y = signal - signal.mean()
    if loss in CLASSIFICATION:
        y = np.where(signal > np.median(signal), 1.0, -1.0)
    regularizer = SquaredBlockNorm(1.0 / C, p)
    stack = DenseStack(np.stack(grams))
    return Problem(stack, y, toy_loss(loss), regularizer, fit_intercept)


def agrees(problem, solver):
    """Assert that a solver converges, to what its gap and Newton's allow."""
    solution = solver.solve(problem)
    assert solution.status is Status.CONVERGED
    check_solution(problem, solution, solver.tol)
    newton = InterleavedNewton(tol=1e-6).solve(problem)
    assert newton.status is Status.CONVERGED
    assert solution.objective <= newton.objective * (1.0 + solver.tol)
    rounding = 1e-14
    least = newton.objective * (1.0 - max(newton.duality_gap, rounding))
    assert solution.objective >= least


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("p", [1.0, 1.0001, 1.1])
@pytest.mark.parametrize(("C", "fit_intercept"), [(100.0, False), (500.0, True)])
def test_cutting_planes_do_not_jump_about(loss, p, C, fit_intercept):
    agrees(rank_one_problem(loss, p, C, fit_intercept), CuttingPlane(tol=TOL))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", [SILP, Alternating, SimpleMKL, HessianMKL])
def test_sparse_solvers_on_kernels_of_rank_one(loss, solver):
    agrees(rank_one_problem(loss, 1.0, 100.0, False), solver(tol=TOL))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", [CuttingPlane, SILP])
def test_cutting_planes_leave_few_kernels(loss, solver):
    problem = bandwidths_problem(loss, 1.0, 1.0, True)
    solution = solver(tol=TOL).solve(problem)
    check_solution(problem, solution, TOL)
    # A central model has all of them.
    assert solution.active.size < problem.gram.shape[0]


@pytest.mark.parametrize("solver", [CuttingPlane, Alternating])
@pytest.mark.parametrize("loss", ["hinge", "squared_error"])
def test_almost_sparse_with_duplicates(loss, solver):
    agrees(duplicates_problem(loss, 1.0001, 100.0, False), solver(tol=TOL))


@pytest.mark.parametrize("tol", [1e-6, 1e-8])
@pytest.mark.parametrize("p", [1.0, 1.01, 1000.0])
def test_cutting_planes_to_high_precision(p, tol):
    agrees(rank_one_problem("squared_error", p, 10.0, True), CuttingPlane(tol=tol))


def test_alternating_sharpens_its_machine():
    """Inexact machine runs once left nothing to improve at a gap of 0.0025."""
    rng = np.random.default_rng(20)
    X = rng.normal(size=(64, 8))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    signal = X[:, 0] + 0.7 * X[:, 1] ** 2 + 0.5 * X[:, -1] + rng.normal(size=64)
    grams = [np.outer(x, x) for x in X.T]
    agrees(problem_on(grams, signal, "hinge", 1.0, 8.0, False), Alternating(tol=TOL))


def test_alternating_is_slow_but_does_not_give_up():
    problem = bandwidths_problem("squared_error", 1.0, 4.0, True)
    few = Alternating(tol=TOL, max_iter=400).solve(problem)
    assert few.status is Status.MAX_ITER
    agrees(problem, Alternating(tol=TOL, max_iter=5000))


@pytest.mark.parametrize("p", [1.0, 1.0 + 1e-9, 1.0001, 4 / 3, 4.0, 1000.0, np.inf])
@pytest.mark.parametrize("mu", [1.0, 1e-4, 1e-10])
def test_barrier_responses_meet_their_optimality_conditions(p, mu):
    u = np.array([0.0, 0.3, 1.0, 1.0, 0.999, 1e-8])
    response = barrier_response(SquaredBlockNorm(1.0, p), u, mu)
    weights = response.weights
    assert np.linalg.norm(weights, p) == pytest.approx(1.0)
    assert np.all(weights > 0.0)
    if np.isfinite(p):
        # nu theta^(p - 1) = u + mu / theta for one nu.
        sides = np.log(u + mu / weights) - (p - 1.0) * np.log(weights)
        np.testing.assert_allclose(sides, sides[0], atol=1e-6)


@pytest.mark.parametrize("p", [1.0, 1.01, 2.0, 1000.0, np.inf])
def test_barrier_responses_know_how_they_move(p):
    rng = np.random.default_rng(0)
    regularizer = SquaredBlockNorm(1.0, p)
    slopes, x = rng.uniform(size=(3, 5)), np.array([0.2, 0.5, 0.3])
    curvature = barrier_response(regularizer, x @ slopes, 0.1).curvature(slopes)
    h = 1e-5
    for k in range(3):
        move = h * np.eye(3)[k]
        up = barrier_response(regularizer, (x + move) @ slopes, 0.1)
        down = barrier_response(regularizer, (x - move) @ slopes, 0.1)
        difference = slopes @ (up.weights - down.weights) / (2.0 * h)
        np.testing.assert_allclose(curvature[k], difference, rtol=1e-5, atol=1e-8)
        slope = (up.value - down.value) / (2.0 * h)
        middle = barrier_response(regularizer, x @ slopes, 0.1)
        assert slope == pytest.approx(float(slopes[k] @ middle.weights), rel=1e-6)


@pytest.mark.parametrize("slack", [1.0, 1e-3, 1e-9])
def test_the_master_for_p_one_is_a_linear_program(slack):
    rng = np.random.default_rng(0)
    slopes, heights = rng.uniform(size=(12, 7)) ** 2, rng.normal(size=12)
    exact = linprog(
        np.append(np.zeros(7), 1.0),
        A_ub=np.hstack([-slopes, -np.ones((12, 1))]),
        b_ub=-heights,
        A_eq=np.append(np.ones(7), 0.0)[None],
        b_eq=np.ones(1),
        bounds=[(0.0, None)] * 7 + [(None, None)],
    )
    master = central_master(heights, slopes, SquaredBlockNorm(1.0, 1.0), slack)
    highest = float((heights - slopes @ master.weights).max())
    assert master.lower_bound <= exact.fun + 1e-9
    assert highest >= exact.fun - 1e-9
    # Which digit rounding ends at depends on the BLAS: 1e-8 with that of NumPy 2.0.
    assert highest - master.lower_bound <= 1.5 * slack + 2e-8
    weights = corner_weights(heights, slopes)
    assert float((heights - slopes @ weights).max()) == pytest.approx(exact.fun)
    assert np.count_nonzero(weights) < 7


def test_a_linear_program_at_its_limit_says_so(monkeypatch):
    settings = replace(SETTINGS, pivots=0)
    monkeypatch.setattr("multikernel.solvers.lp.master.SETTINGS", settings)
    rng = np.random.default_rng(0)
    heights, slopes = rng.uniform(size=12), rng.uniform(size=(12, 7))
    with pytest.warns(ConvergenceWarning, match="more kernels than necessary"):
        assert corner_weights(heights, slopes) is None


def test_masters_start_from_those_of_fewer_planes():
    # A search for a corner adds several planes between two masters.
    rng = np.random.default_rng(0)
    heights, slopes = rng.uniform(size=6), rng.uniform(size=(6, 4))
    regularizer = SquaredBlockNorm(1.0, 1.0)
    first = central_master(heights[:2], slopes[:2], regularizer, 1e-6)
    cold = central_master(heights, slopes, regularizer, 1e-6)
    warm_parameters = central_master(heights, slopes, regularizer, 1e-6, first)
    assert warm_parameters.lower_bound == pytest.approx(cold.lower_bound, abs=1e-5)


def dictionary_problem():
    """The 351 kernels of a paper's dictionary on columns of noise."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(25, 12)), np.where(rng.random(25) < 0.25, 1.0, -1.0)
    stack = build_stack(spicy_dictionary(12), X, normalize="trace").stack
    regularizer = SquaredBlockNorm(0.66, 1.0)
    return Problem(stack, y, LOSSES["hinge"](), regularizer, fit_intercept=True)


def test_a_descent_goes_on_while_it_moves():
    """Kernels leave one by one, and for 200 moves the gap stays above a half."""
    problem = dictionary_problem()
    agrees(problem, SimpleMKL(tol=1e-2))
    solution = SimpleMKL(tol=1e-2).solve(problem)
    first, second = solution.history[1:3]
    assert second.passes - first.passes > 300  # of one gradient step
    assert solution.active.size < 20


@pytest.mark.parametrize("solver", [HessianMKL, SILP, CuttingPlane, Alternating])
def test_other_methods_do_not_give_up_there_either(solver):
    agrees(dictionary_problem(), solver(tol=1e-2))
