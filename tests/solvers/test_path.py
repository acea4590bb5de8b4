"""Warm-started paths: the same optima as cold starts, from the null model on."""

from dataclasses import replace

import numpy as np
import pytest
from reference.toys import LOSSES, toy_grams, toy_loss, toy_regularizer, toy_targets

from multikernel.certificates import alpha_max
from multikernel.gram import DenseStack
from multikernel.problem import Problem, Status
from multikernel.regularizers import SquaredBlockNorm
from multikernel.solvers import SpicyMKL, alpha_grid, solve_path
from multikernel.solvers.lp_choice import lp_solver
from multikernel.testing import check_solution

SOLVER = SpicyMKL(tol=1e-6)


def with_strength(problem, alpha):
    return replace(problem, regularizer=problem.regularizer.with_alpha(alpha))


def make_problem(loss, l1_ratio=1.0):
    return Problem(
        DenseStack(toy_grams()),
        toy_targets(loss),
        toy_loss(loss),
        toy_regularizer(1.0, l1_ratio),
    )


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
def test_each_point_is_the_cold_start_s_optimum(loss, l1_ratio):
    problem = make_problem(loss, l1_ratio)
    alphas = alpha_grid(problem, 8, 1e-3)
    path = solve_path(problem, SOLVER, alphas)
    assert len(path) == 8
    for alpha, warm_parameters in zip(alphas, path, strict=True):
        here = with_strength(problem, alpha)
        check_solution(here, warm_parameters, SOLVER.tol)
        assert warm_parameters.status is Status.CONVERGED
        cold = SOLVER.solve(here)
        assert warm_parameters.objective == pytest.approx(cold.objective, rel=2e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_path_starts_without_kernels(loss):
    problem = make_problem(loss)
    path = solve_path(problem, SOLVER, alpha_grid(problem, 3, 0.01))
    assert path[0].active.size == 0
    assert path[-1].active.size > 0


def test_a_path_of_no_strengths_is_empty():
    assert solve_path(make_problem("squared_error"), SOLVER, []) == []


def test_ascending_and_repeated_strengths_are_solved_too():
    problem = make_problem("log_loss")
    alphas = alpha_max(problem) * np.array([0.01, 0.1, 0.1, 1.0, 0.01])
    path = solve_path(problem, SOLVER, alphas)
    for alpha, solution in zip(alphas, path, strict=True):
        check_solution(with_strength(problem, alpha), solution, SOLVER.tol)
    assert path[2].n_iter == 0
    assert path[3].active.size == 0


def test_the_grid_spans_the_ratio_evenly():
    problem = make_problem("squared_error", 0.5)
    alphas = alpha_grid(problem, 5, 1e-2)
    assert alphas[0] == alpha_max(problem)
    np.testing.assert_allclose(alphas[1:] / alphas[:-1], 10**-0.5)


def test_a_callback_ends_the_path():
    problem = make_problem("hinge")
    lines = []

    def stop_at_the_tenth(line):
        lines.append(line)
        return len(lines) >= 10

    path = solve_path(problem, SOLVER, alpha_grid(problem, 20), stop_at_the_tenth)
    # A solve that has converged at the tenth is not stopped, the next one is.
    assert len(lines) in (10, 11)
    assert len(path) < 20
    assert path[-1].status in (Status.STOPPED, Status.CONVERGED)


class WithoutPaths:
    """A solver that knows nothing of paths."""

    def unsupported(self, problem):
        return SOLVER.unsupported(problem)

    def solve(self, problem, init=None, callback=None):
        return SOLVER.solve(problem, init, callback)


def test_a_solver_without_paths_is_warm_started_from_point_to_point():
    problem = make_problem("log_loss")
    alphas = alpha_max(problem) * np.array([0.1, 0.1, 0.05])
    plain = solve_path(problem, WithoutPaths(), alphas)
    own = solve_path(problem, SOLVER, alphas)
    assert plain[1].n_iter == 0
    for first, second in zip(plain, own, strict=True):
        assert first.objective == pytest.approx(second.objective, rel=2e-6)


@pytest.mark.parametrize("solver", ["auto", "newton", "squared_form"])
def test_penalties_are_asked_for_when_the_solution_before_is_known(solver):
    problem = make_problem("squared_error")
    asked = []

    def penalties():
        for alpha in (1.0, 0.5, 0.25):
            asked.append(alpha)
            yield SquaredBlockNorm(alpha, 1.0)

    path = lp_solver(solver, 1e-3, None).follow(problem, penalties())
    counts = [len(asked) for _ in path]
    assert counts == [1, 2, 3]
