"""The interleaved Newton solver: conformance, and what is its own."""

from dataclasses import replace

import numpy as np
import pytest
from reference.lp_problems import P_VALUES, lp_problem
from reference.toys import LOSSES, toy_grams, toy_loss, toy_targets

from multikernel.gram import DenseStack
from multikernel.problem import Problem, Status
from multikernel.regularizers import SquaredBlockNorm
from multikernel.solvers import InterleavedNewton, SpicyMKL, SquaredForm
from multikernel.solvers.machine_runs import changing_samples
from multikernel.testing import check_solution, check_solver

SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "p",
    [
        p if p in (1.0, 1.0001, 4 / 3, np.inf) else pytest.param(p, marks=SLOW)
        for p in P_VALUES
    ],
)
@pytest.mark.parametrize("tol", [pytest.param(1e-3, marks=SLOW), 1e-8])
def test_conformance(p, tol):
    problems = [
        lp_problem(loss, p, C, fit_intercept)
        for loss in LOSSES
        for C, fit_intercept in ((0.5, True), (20.0, False))
    ]
    check_solver(InterleavedNewton(tol=tol), problems)


@pytest.mark.parametrize("p", [1.2, 4 / 3, 2.0, 4.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_convergence_is_superlinear(p, loss):
    solution = InterleavedNewton(tol=1e-9).solve(lp_problem(loss, p, 1.5))
    gaps = np.array([line.duality_gap for line in solution.history])
    assert len(gaps) <= 12
    assert len(gaps) >= 4
    assert (gaps[1:] / gaps[:-1])[-2:].max() < 0.1


def test_who_is_in_play():
    rng = np.random.default_rng(0)
    problem = replace(lp_problem("hinge", 2.0, 1.0), fit_intercept=False)
    y = problem.y
    f = y * np.linspace(0.5, 3.0, y.size)[rng.permutation(y.size)]
    rho = np.where(y * f < 0.8, y, 0.0)
    some = changing_samples(problem, rho, f)
    inside = np.flatnonzero(y * f <= 1.0)
    assert np.isin(inside, some).all()
    assert inside.size < np.count_nonzero(some) < y.size
    left_out = np.setdiff1d(np.arange(y.size), some)
    assert (y * f)[left_out].min() >= (y * f)[some].max()
    # Beside a smooth loss every dual variable moves.
    smooth = replace(problem, loss=toy_loss("log_loss"))
    assert changing_samples(smooth, rho, f).size == y.size


def test_a_choice_that_misses_who_is_to_move_costs_steps_alone(monkeypatch):
    problem = lp_problem("hinge", 2.0)
    expected = InterleavedNewton(tol=1e-6).solve(problem)
    monkeypatch.setattr(
        "multikernel.solvers.lp.newton.changing_samples",
        lambda problem, rho, f: np.flatnonzero(rho) if rho.any() else np.arange(9),
    )
    found = InterleavedNewton(tol=1e-6).solve(problem)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.objective, expected.objective, rtol=2e-6)


@pytest.mark.parametrize("p", [1.0, 1.0001, 2.0])
def test_many_similar_kernels(p):
    """Neighboring bandwidths almost tie; that must not slow convergence down."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    grams = np.stack([np.exp(-squared * g) for g in np.geomspace(1e-2, 1e1, 200)])
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=60) > 0.0, 1.0, -1.0)
    problem = Problem(DenseStack(grams), y, toy_loss("hinge"), SquaredBlockNorm(1.0, p))
    solution = InterleavedNewton(tol=1e-5).solve(problem)
    assert solution.status is Status.CONVERGED
    assert solution.n_iter <= 20
    check_solution(problem, solution, 1e-5)


def test_weights_are_exactly_sparse_for_p_one():
    grams, y = toy_grams(60, 20), toy_targets("hinge", 60)
    problem = Problem(DenseStack(grams), y, toy_loss("hinge"), SquaredBlockNorm(0.1, 1))
    solution = InterleavedNewton(tol=1e-6).solve(problem)
    assert 0 < solution.active.size < 20


@pytest.mark.parametrize("p", [1.0, 1.0001])
@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
@pytest.mark.parametrize("seed", range(3))
def test_kernels_that_a_warm_start_left_out_return(p, loss, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 12))
    widths = (0.3, 1.0, 3.0, 10.0)
    squared = (X.T[:, :, None] - X.T[:, None, :]) ** 2
    grams = np.array([np.exp(-D / width) for D in squared for width in widths])
    noise = 0.5 * rng.normal(size=60)
    y = np.where(np.sin(2.0 * X[:, 0]) + X[:, 1] + noise > 0.0, 1.0, -1.0)
    solver, last, active = InterleavedNewton(tol=1e-5), None, []
    for C in (0.01, 100.0, 0.1, 1000.0):
        regularizer = SquaredBlockNorm(1.0 / C, p)
        problem = Problem(DenseStack(grams), y, toy_loss(loss), regularizer)
        last = solver.solve(problem, last)
        assert last.status is Status.CONVERGED
        active.append(set(np.flatnonzero(last.kernel_weights > 1e-6)))
    assert active[1] - active[0]


def test_a_path_over_p_is_warm():
    """Along p every start is better than a cold one."""
    problem = lp_problem("hinge", 4.0, 1.5)
    solver = InterleavedNewton(tol=1e-6)
    solution, starts, cold = solver.solve(problem), [], []
    for p in (3.5, 3.0, 2.5):
        step = replace(problem, regularizer=replace(problem.regularizer, p=p))
        solution = solver.solve(step, init=solution)
        starts.append(solution.history[0].duality_gap)
        cold.append(solver.solve(step).history[0].duality_gap)
    assert max(starts) < 0.1 * min(cold)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_path_reads_little_and_proves_every_solution(loss):
    """Over p and C, starts read no matrix; every gap holds for what is handed out."""
    problem = lp_problem(loss, 4.0, 1.5)
    penalties = [
        SquaredBlockNorm(1.0 / C, p) for p in (np.inf, 2.0, 1.0) for C in (0.1, 0.5, 3)
    ]
    solver = InterleavedNewton(tol=1e-6)
    path = list(solver.follow(problem, penalties))
    assert len(path) == len(penalties)
    for penalty, solution in zip(penalties, path, strict=True):
        step = replace(problem, regularizer=penalty)
        assert solution.status is Status.CONVERGED
        check_solution(step, solution, 1e-6)
        alone = solver.solve(step)
        assert solution.objective == pytest.approx(alone.objective, rel=2e-6)
    assert all(solution.history[0].passes == 0.0 for solution in path[1:])


def test_a_path_ends_where_it_is_stopped():
    problem = lp_problem("hinge", 2.0, 1.5)
    penalties = [SquaredBlockNorm(1.0 / C, 2.0) for C in (0.1, 1.0, 10.0)]
    path = list(
        InterleavedNewton(tol=1e-9).follow(
            problem, penalties, callback=lambda line: line.iteration == 2
        )
    )
    assert [solution.status for solution in path] == [Status.STOPPED]


@pytest.mark.parametrize("ratio", [0.3, 3.0])
def test_a_path_of_squared_forms_proves_every_solution(ratio):
    """The last step of a solve was for a strength that the search has left since."""
    problem = lp_problem("hinge", 1.0, 1.5)
    penalties = [SquaredBlockNorm(ratio**k, 1.0) for k in range(-3, 4)]
    path = list(SquaredForm(SpicyMKL, tol=1e-3).follow(problem, penalties))
    for penalty, solution in zip(penalties, path, strict=True):
        step = replace(problem, regularizer=penalty)
        check_solution(step, solution, 1e-3)
        best = InterleavedNewton(tol=1e-8).solve(step).objective
        assert solution.objective <= best * (1.0 + 1.1e-3)
