"""All solvers of lp-norm learning: one optimum, one certificate, one contract."""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from reference.conic import reference_lp_optimum
from reference.lp_problems import P_VALUES, lp_problem
from reference.toys import LOSSES, toy_grams, toy_loss, toy_targets
from sklearn.svm import SVC

from multikernel.certificates import alpha_max, decision_values
from multikernel.exceptions import IndefiniteKernelError, UnsupportedProblemError
from multikernel.gram import DenseStack, lazy_stack
from multikernel.kernels import random_subset_gaussians
from multikernel.problem import Problem, Status
from multikernel.regularizers import BlockL1, SquaredBlockNorm
from multikernel.solvers import (
    SILP,
    Alternating,
    CuttingPlane,
    HessianMKL,
    InterleavedNewton,
    SimpleMKL,
    SpicyMKL,
    solve_path,
)
from multikernel.solvers.lp_choice import LP_SOLVERS, choose_lp_solver
from multikernel.testing import check_solution

SOLVER_CLASSES = tuple(LP_SOLVERS.values())
SPARSE_ONLY = (LP_SOLVERS["squared_form"], SILP, SimpleMKL, HessianMKL)
each_solver = pytest.mark.parametrize("solver", SOLVER_CLASSES)
each_loss = pytest.mark.parametrize("loss", LOSSES)
each_p = pytest.mark.parametrize("p", P_VALUES)


def solve(problem, solver=InterleavedNewton, tol=1e-8, **arguments):
    solution = solver(tol=tol).solve(problem, **arguments)
    assert solution.status is Status.CONVERGED
    check_solution(problem, solution, tol)
    return solution


@cache
def reference(loss, p, C, fit_intercept):
    optimum = reference_lp_optimum(
        toy_grams(), toy_targets(loss), loss, C, p, fit_intercept=fit_intercept
    )
    return replace(optimum, objective=optimum.objective / C)  # C divides here


def programs():
    """Return p, whether there is an intercept, and C, of all that a cone is solved for.

    Without an intercept three values of p are enough among the fast tests.
    """
    for p, fit_intercept, C in product(P_VALUES, (True, False), (0.5, 10.0)):
        fast = C == 10.0 and (fit_intercept or p in (1.0, 4 / 3, np.inf))
        marks = [] if fast else [pytest.mark.slow]
        yield pytest.param(p, fit_intercept, C, marks=marks)


@each_loss
@pytest.mark.parametrize(("p", "fit_intercept", "C"), list(programs()))
def test_objective_is_the_reference_s(loss, p, fit_intercept, C):
    solution = solve(lp_problem(loss, p, C, fit_intercept))
    expected = reference(loss, p, C, fit_intercept).objective
    assert solution.objective == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("solver", "p"),
    [
        (s, p)
        for s in SOLVER_CLASSES
        for p in P_VALUES
        if s is not InterleavedNewton and (p == 1 or s not in SPARSE_ONLY)
    ],
)
@each_loss
def test_all_solvers_agree(solver, loss, p):
    """With the reference, that is: as `InterleavedNewton` does above."""
    tol = 1e-4 if solver is Alternating and p < 1.1 else 1e-6
    solution = solve(lp_problem(loss, p, 10.0), solver, tol)
    expected = reference(loss, p, 10.0, True).objective
    assert solution.objective == pytest.approx(expected, rel=1.1 * tol)
    assert solution.objective >= expected * (1.0 - 1e-7)


@each_loss
@each_p
def test_weights_are_feasible_and_in_closed_form(loss, p):
    problem = lp_problem(loss, p, 10.0)
    solution = solve(problem, tol=1e-10 if p > 1.05 else 1e-8)
    weights = solution.kernel_weights
    assert np.linalg.norm(weights, p) == pytest.approx(1.0)
    assert np.all(weights >= 0.0)
    regularizer = problem.regularizer
    np.testing.assert_allclose(weights, regularizer.kernel_weights(solution.norms))
    forms = problem.gram.quadratic_forms(solution.dual)
    # ||f_m|| = theta_m sqrt(rho' K_m rho) / alpha at the optimum.
    norms = weights * np.sqrt(forms) / regularizer.alpha
    np.testing.assert_allclose(solution.norms, norms, atol=1e-3 * norms.max())


@pytest.mark.parametrize("p", [4 / 3, 2.0, 4.0])
def test_weights_answer_the_dual_forms(p):
    """For p > 1 weights are also proportional to forms^(1 / (p - 1))."""
    problem = lp_problem("squared_error", p, 2.0)
    solution = solve(problem, tol=1e-12)
    forms = problem.gram.quadratic_forms(solution.dual)
    np.testing.assert_allclose(
        solution.kernel_weights,
        problem.regularizer.responding_weights(forms),
        atol=1e-5,
    )


@pytest.mark.parametrize("C", [0.5, 20.0])
def test_uniform_limit_is_the_svm_on_the_sum(C):
    problem = lp_problem("hinge", np.inf, C)
    solution = solve(problem)
    K = problem.gram.array.sum(axis=0)
    svm = SVC(C=C, kernel="precomputed", tol=1e-10).fit(K, problem.y)
    f = decision_values(problem, solution)
    np.testing.assert_allclose(f, svm.decision_function(K), atol=1e-3)
    np.testing.assert_array_equal(solution.kernel_weights, 1.0)


@each_loss
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_sparse_limit_is_spicymkl_s(loss, fit_intercept):
    """With alpha' = alpha / sum of norms both have the same minimizer."""
    problem = lp_problem(loss, 1.0, 1.0, fit_intercept)
    linear = replace(problem, regularizer=BlockL1(1.0))
    linear = replace(linear, regularizer=BlockL1(0.1 * alpha_max(linear)))
    spicy = SpicyMKL(tol=1e-9).solve(linear)
    strength = linear.regularizer.alpha / spicy.norms.sum()
    squared = replace(problem, regularizer=SquaredBlockNorm(strength, 1.0))
    solution = solve(squared, tol=1e-8)
    losses = linear.loss.value(linear.y, decision_values(linear, spicy)).sum()
    objective = losses + 0.5 * strength * spicy.norms.sum() ** 2
    assert solution.objective == pytest.approx(objective, rel=2e-8)
    np.testing.assert_allclose(
        solution.norms, spicy.norms, atol=5e-3 * spicy.norms.max()
    )
    np.testing.assert_allclose(solution.kernel_weights, spicy.kernel_weights, atol=5e-3)


@each_p
def test_one_kernel_is_the_machine_for_it(p):
    problem = lp_problem("hinge", p, 3.0, grams=toy_grams(n_kernels=1))
    solution = solve(problem)
    K = problem.gram.array[0]
    svm = SVC(C=3.0, kernel="precomputed", tol=1e-10).fit(K, problem.y)
    f = decision_values(problem, solution)
    np.testing.assert_allclose(f, svm.decision_function(K), atol=1e-3)
    np.testing.assert_array_equal(solution.kernel_weights, 1.0)


@each_p
@each_loss
def test_zero_kernels_get_no_weight_and_change_nothing(loss, p):
    problem = lp_problem(loss, p)
    grams = np.insert(problem.gram.array, [0, 3], 0.0, axis=0)
    first = solve(problem)
    second = solve(replace(problem, gram=DenseStack(grams)))
    assert second.objective == pytest.approx(first.objective, rel=3e-8)
    assert not second.kernel_weights[[0, 4]].any()


@each_p
@each_loss
def test_only_zero_kernels_leave_the_constant_model(loss, p):
    problem = replace(lp_problem(loss, p), gram=DenseStack(np.zeros((2, 24, 24))))
    solution = solve(problem)
    assert solution.active.size == 0
    assert not solution.kernel_weights.any()


@each_p
def test_permuted_kernels_permute_the_weights(p):
    problem = lp_problem("squared_error", p)
    order = np.array([3, 0, 5, 1, 4, 2])
    moved = replace(problem, gram=problem.gram.take(order))
    first, second = solve(problem), solve(moved)
    np.testing.assert_allclose(
        second.kernel_weights, first.kernel_weights[order], atol=2e-3
    )


@each_loss
@pytest.mark.parametrize("p", [1.0, 2.0, np.inf])
def test_integer_weights_equal_repetition(loss, p):
    counts = np.random.default_rng(0).integers(1, 4, 24)
    rows = np.repeat(np.arange(24), counts)
    problem = lp_problem(loss, p)
    heavier = replace(problem, loss=toy_loss(loss, counts.astype(float)))
    repeated = replace(problem, gram=problem.gram.restrict(rows), y=problem.y[rows])
    first, second = solve(heavier, tol=1e-7), solve(repeated, tol=1e-7)
    assert first.objective == pytest.approx(second.objective, rel=2e-7)


@pytest.mark.parametrize("c", [1e-6, 1e6])
@pytest.mark.parametrize("p", [1.0, 4 / 3, 4.0])
def test_scaled_kernels_scale_the_strength(p, c):
    problem = lp_problem("hinge", p)
    alpha = problem.regularizer.alpha
    scaled = replace(
        problem,
        gram=DenseStack(c * problem.gram.array),
        regularizer=SquaredBlockNorm(c * alpha, p),
    )
    first, second = solve(problem), solve(scaled)
    assert second.objective == pytest.approx(first.objective, rel=3e-8)
    np.testing.assert_allclose(second.kernel_weights, first.kernel_weights, atol=2e-3)


@pytest.mark.parametrize("loss", ["squared_error", "epsilon_insensitive"])
@pytest.mark.parametrize("scale", [1e-4, 1e4])
def test_targets_of_any_size(loss, scale):
    problem = lp_problem(loss, 4 / 3)
    base = toy_loss(loss)
    if loss == "epsilon_insensitive":
        base = replace(base, epsilon=scale * base.epsilon)
    problem = replace(problem, y=scale * problem.y, loss=base)
    solve(problem, tol=1e-6)


@each_solver
@pytest.mark.parametrize("loss", ["hinge", "squared_error"])
def test_a_warm_start_from_the_solution_stays(solver, loss):
    problem = lp_problem(loss, 1.0, 3.0)
    solution = solve(problem, solver, 1e-4)
    warm_parameters = solver(tol=1e-4).solve(problem, init=solution)
    assert warm_parameters.n_iter == 0
    assert warm_parameters.objective == pytest.approx(solution.objective, rel=1e-10)


@each_solver
def test_a_warm_start_from_another_strength_reaches_the_optimum(solver):
    problem = lp_problem("hinge", 1.0, 3.0)
    other = solve(lp_problem("hinge", 1.0, 0.3), solver, 1e-4)
    warm_parameters = solve(problem, solver, 1e-4, init=other)
    expected = solve(problem).objective
    assert warm_parameters.objective == pytest.approx(expected, rel=1.1e-4)


def test_a_path_over_strengths_costs_less_than_its_points():
    problem = lp_problem("hinge", 4 / 3, grams=toy_grams(24, 20))
    alphas = np.geomspace(10.0, 0.1, 12)
    solver = InterleavedNewton(tol=1e-5)
    path = solve_path(problem, solver, alphas)
    steps = [replace(problem, regularizer=SquaredBlockNorm(a, 4 / 3)) for a in alphas]
    cold = [solver.solve(step) for step in steps]
    for warm_parameters, single, step in zip(path, cold, steps, strict=True):
        check_solution(step, warm_parameters, 1e-5)
        assert warm_parameters.objective == pytest.approx(single.objective, rel=2e-5)
    assert sum(s.n_iter for s in path) < sum(s.n_iter for s in cold)


@each_solver
def test_a_callback_stops(solver):
    problem = lp_problem("hinge", 1.0, 10.0)
    stopped = solver(tol=1e-8).solve(
        problem, callback=lambda progress: progress.iteration == 2
    )
    assert stopped.status is Status.STOPPED
    assert stopped.n_iter == 2
    check_solution(problem, stopped, 1e-8)


@each_solver
def test_max_iter_is_said_and_still_certified(solver):
    problem = lp_problem("hinge", 1.0, 10.0)
    solution = solver(tol=1e-9, max_iter=1).solve(problem)
    assert solution.status is Status.MAX_ITER
    check_solution(problem, solution, 1e-9)


@each_solver
@pytest.mark.parametrize("loss", ["hinge", "squared_error"])
def test_an_indefinite_kernel_is_named(solver, loss):
    grams = toy_grams()
    values, vectors = np.linalg.eigh(grams[4])
    grams[4] = vectors @ np.diag(values - 3.0) @ vectors.T
    problem = lp_problem(loss, 1.0, 10.0, grams=grams)
    with pytest.raises(IndefiniteKernelError, match="Gram matrix 4 "):
        solver(tol=1e-8).solve(problem)


@each_solver
def test_unsupported_problems_are_refused_in_a_sentence(solver):
    linear = replace(lp_problem(), regularizer=BlockL1(1.0))
    with pytest.raises(UnsupportedProblemError, match="SquaredBlockNorm"):
        solver().solve(linear)
    wide = replace(
        lp_problem("squared_error", 1.0), y=toy_targets("squared_error", n_outputs=2)
    )
    one_output = (CuttingPlane, SILP, SimpleMKL, HessianMKL)
    if solver in one_output:
        with pytest.raises(UnsupportedProblemError, match="2 columns"):
            solver().solve(wide)
    if solver in SPARSE_ONLY:
        with pytest.raises(UnsupportedProblemError, match=r"needs p = 1, got p = 2"):
            solver().solve(lp_problem(p=2.0))


@pytest.mark.parametrize("p", [4 / 3, 2.0, np.inf])
def test_several_outputs_share_their_weights(p):
    y = toy_targets("squared_error", n_outputs=2)
    problem = replace(lp_problem("squared_error", p, 2.0), y=y)
    solution = solve(problem, Alternating, 1e-8)
    optimum = reference_lp_optimum(problem.gram.array, y, "squared_error", 2.0, p)
    assert solution.objective == pytest.approx(optimum.objective / 2.0, rel=1e-6)
    assert solution.coefs.shape == (solution.active.size, 24, 2)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    loss=st.sampled_from(list(LOSSES)),
    n_kernels=st.integers(1, 8),
    n_samples=st.integers(6, 20),
    p=st.one_of(st.floats(1.0, 10.0), st.sampled_from(P_VALUES)),
    C=st.floats(1e-2, 1e2),
    fit_intercept=st.booleans(),
)
def test_random_problems_are_certified(
    seed, loss, n_kernels, n_samples, p, C, fit_intercept
):
    y = toy_targets(loss, n_samples, seed)
    if np.ptp(y) == 0.0:
        y[0] = -y[0]
    problem = Problem(
        DenseStack(toy_grams(n_samples, n_kernels, seed)),
        y,
        toy_loss(loss),
        SquaredBlockNorm(1.0 / C, p),
        fit_intercept,
    )
    solve(problem, tol=1e-5)


@pytest.mark.parametrize("solver", [InterleavedNewton, CuttingPlane, Alternating])
@pytest.mark.parametrize("dense_bytes", [0, 2**28])
def test_kernels_on_the_fly(solver, dense_bytes):
    """Nothing of the size of a Gram matrix is held, and the optimum is the same."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 20))
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, 1.0, -1.0)
    stack = lazy_stack(random_subset_gaussians(5, 20, random_state=0), X, dense_bytes)
    dense = DenseStack(stack.columns(np.arange(120)))
    regularizer = SquaredBlockNorm(1.0, 2.0)
    lazy = Problem(stack, y, toy_loss("hinge"), regularizer)
    settings_ = solver(tol=1e-5, cache_bytes=8 * 120 * 30)
    solution = settings_.solve(lazy)
    assert solution.status is Status.CONVERGED
    expected = solve(replace(lazy, gram=dense), tol=1e-7).objective
    assert solution.objective == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("size", "name"),
    [
        ((1.0, 2000, 50), "newton"),
        ((np.inf, 20_000, 20), "newton"),
        ((1.0, 150, 1200), "squared_form"),
        ((1.0, 200, 10**6), "squared_form"),
        ((1.1, 200, 10**6), "cutting_plane"),
        ((2.0, 200, 10**6), "alternating"),
        ((2.0, 200, 10, 3), "alternating"),
    ],
)
def test_the_choice_is_a_solver_by_name(size, name):
    assert choose_lp_solver(*size) == name
    assert name in LP_SOLVERS
