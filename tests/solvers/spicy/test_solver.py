"""SpicyMKL: optimal by an independent reference, at its limits, under symmetries."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from reference.conic import reference_lp_optimum, reference_optimum
from reference.toys import LOSSES, toy_grams, toy_loss, toy_regularizer, toy_targets

from multikernel.certificates import alpha_max, constant_model, decision_values
from multikernel.exceptions import IndefiniteKernelError
from multikernel.gram import DenseStack
from multikernel.losses import (
    EpsilonInsensitiveLoss,
    LogisticLoss,
    SquaredLoss,
    weighted,
)
from multikernel.problem import Problem, Status
from multikernel.solvers import SpicyMKL
from multikernel.testing import check_solution, check_solver

SMOOTH = ("log_loss", "squared_error")
each_loss = pytest.mark.parametrize("loss", LOSSES)
each_ratio = pytest.mark.parametrize("l1_ratio", [1.0, 0.7, 0.2])
each_intercept = pytest.mark.parametrize("fit_intercept", [True, False])


def make_problem(loss, share=0.2, l1_ratio=1.0, fit_intercept=True, grams=None):
    """Return a problem whose alpha is a share of the smallest one without kernels."""
    grams = toy_grams() if grams is None else grams
    y = toy_targets(loss, n_samples=grams.shape[1])
    problem = Problem(
        DenseStack(grams), y, toy_loss(loss), toy_regularizer(1.0), fit_intercept
    )
    alpha = share * alpha_max(problem)
    return replace(problem, regularizer=toy_regularizer(alpha, l1_ratio))


def solve(problem, tol=1e-8, **arguments):
    solution = SpicyMKL(tol=tol).solve(problem, **arguments)
    assert solution.status is Status.CONVERGED
    return solution


def reference_of(problem, loss, sample_weight=None):
    return reference_optimum(
        problem.gram.array,
        problem.y,
        loss,
        problem.regularizer.alpha,
        l1_ratio=getattr(problem.regularizer, "l1_ratio", 1.0),
        fit_intercept=problem.fit_intercept,
        sample_weight=sample_weight,
    )


@pytest.mark.slow
def test_conformance_to_a_small_gap():
    check_solver(SpicyMKL(tol=1e-8))


@each_loss
@each_ratio
@each_intercept
@pytest.mark.parametrize(
    "share",
    [
        pytest.param(0.7, marks=pytest.mark.slow),
        0.1,
        pytest.param(0.01, marks=pytest.mark.slow),
        1e-4,
    ],
)
def test_objective_is_the_reference_s(loss, l1_ratio, fit_intercept, share):
    problem = make_problem(loss, share, l1_ratio, fit_intercept)
    solution = solve(problem)
    check_solution(problem, solution, 1e-8)
    optimum = reference_of(problem, loss)
    assert solution.objective == pytest.approx(optimum.objective, rel=1e-6)
    weights = solution.kernel_weights
    assert weights.sum() == pytest.approx(1.0) or not solution.norms.any()


@pytest.mark.parametrize("loss", SMOOTH)
@each_ratio
def test_decision_values_and_norms_are_the_reference_s(loss, l1_ratio):
    problem = make_problem(loss, 0.1, l1_ratio)
    solution, optimum = solve(problem, 1e-10), reference_of(problem, loss)
    f = decision_values(problem, solution)
    np.testing.assert_allclose(f, optimum.f, atol=1e-4)
    np.testing.assert_allclose(solution.norms, optimum.norms, atol=1e-3)


@each_loss
@each_intercept
def test_every_expansion_is_a_multiple_of_one_dual_point(loss, fit_intercept):
    """At the optimum of block l1, f_m = (||f_m|| / alpha) K_m rho."""
    problem = make_problem(loss, 0.1, 1.0, fit_intercept)
    solution = solve(problem, 1e-10)
    alpha = problem.regularizer.alpha
    for m, coef in zip(solution.active, solution.coefs, strict=True):
        expected = solution.norms[m] / alpha * solution.dual
        image = problem.gram.array[m] @ (coef - expected)
        size = np.abs(problem.gram.array[m] @ expected).max()
        assert np.abs(image).max() <= 1e-3 * size


@each_loss
@each_ratio
@each_intercept
@pytest.mark.parametrize("factor", [1.0 + 1e-9, 1.0001, 3.0])
def test_from_alpha_max_on_every_kernel_is_out(loss, l1_ratio, fit_intercept, factor):
    problem = make_problem(loss, factor / l1_ratio, l1_ratio, fit_intercept)
    solution = solve(problem)
    assert solution.active.size == 0
    assert not solution.kernel_weights.any()
    np.testing.assert_allclose(
        solution.intercept, constant_model(problem).intercept, atol=1e-7
    )


@pytest.mark.parametrize("loss", SMOOTH)
@each_ratio
@each_intercept
def test_just_below_alpha_max_one_kernel_is_in(loss, l1_ratio, fit_intercept):
    problem = make_problem(loss, 0.999 / l1_ratio, l1_ratio, fit_intercept)
    solution = solve(problem, 1e-10)
    assert solution.active.size == 1
    dual = constant_model(problem).dual
    strongest = np.argmax(problem.gram.quadratic_forms(dual))
    assert solution.active[0] == strongest


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
def test_one_kernel_with_squares_is_ridge(l1_ratio):
    """f = K c, c = (K + s I)^-1 y with s = alpha (r / ||f|| + 1 - r)."""
    problem = make_problem(
        "squared_error", 0.1, l1_ratio, False, toy_grams(n_kernels=1)
    )
    solution = solve(problem, 1e-10)
    alpha, K = problem.regularizer.alpha, problem.gram.array[0]
    strength = alpha * (l1_ratio / solution.norms[0] + 1.0 - l1_ratio)
    f = K @ np.linalg.solve(K + strength * np.eye(24), problem.y)
    np.testing.assert_allclose(decision_values(problem, solution), f, atol=1e-4)


@each_loss
def test_squared_form_has_the_same_minimizer(loss):
    """Sum of losses + C' / 2 (sum of norms)^2, with C' = alpha / sum of norms.

    Divided by C' that is lp-norm learning with p = 1 and C = 1 / C'.
    """
    problem = make_problem(loss, 0.1)
    solution = solve(problem, 1e-9)
    total = solution.norms.sum()
    strength = problem.regularizer.alpha / total
    squared = reference_lp_optimum(
        problem.gram.array, problem.y, loss, 1.0 / strength, 1.0
    )
    losses = problem.loss.value(problem.y, decision_values(problem, solution)).sum()
    objective = losses / strength + 0.5 * total**2
    assert objective == pytest.approx(squared.objective, rel=1e-6)


@each_loss
def test_duplicated_kernels_change_nothing(loss):
    problem = make_problem(loss, 0.1)
    doubled = np.concatenate([problem.gram.array] * 2)
    twice = replace(problem, gram=DenseStack(doubled))
    once, both = solve(problem), solve(twice)
    assert both.objective == pytest.approx(once.objective, rel=3e-8)
    norms = both.norms.reshape(2, -1).sum(axis=0)
    np.testing.assert_allclose(norms, once.norms, atol=2e-3 * once.norms.max())


@each_loss
@each_ratio
def test_permuted_kernels_permute_the_norms(loss, l1_ratio):
    problem = make_problem(loss, 0.1, l1_ratio)
    order = np.array([3, 0, 5, 1, 4, 2])
    moved = replace(problem, gram=problem.gram.take(order))
    first, second = solve(problem, 1e-10), solve(moved, 1e-10)
    assert second.objective == pytest.approx(first.objective, rel=1e-9)
    np.testing.assert_allclose(
        second.norms, first.norms[order], atol=1e-3 * first.norms.max()
    )


@each_loss
@pytest.mark.parametrize("c", [1e-6, 0.25, 1e6])
def test_scaled_kernels_scale_the_norms(loss, c):
    """||f|| of a function is its norm under K over sqrt(c): alpha takes the factor."""
    problem = make_problem(loss, 0.1)
    alpha = problem.regularizer.alpha
    scaled = replace(
        problem,
        gram=DenseStack(c * problem.gram.array),
        regularizer=toy_regularizer(alpha * np.sqrt(c)),
    )
    first, second = solve(problem), solve(scaled)
    assert second.objective == pytest.approx(first.objective, rel=3e-8)
    np.testing.assert_allclose(
        second.norms * np.sqrt(c), first.norms, atol=2e-3 * first.norms.max()
    )


@each_loss
@each_ratio
def test_zero_kernels_change_nothing(loss, l1_ratio):
    problem = make_problem(loss, 0.1, l1_ratio)
    grams = np.insert(problem.gram.array, [0, 3], 0.0, axis=0)
    padded = replace(problem, gram=DenseStack(grams))
    first, second = solve(problem), solve(padded)
    check_solution(padded, second, 1e-8)
    assert second.objective == pytest.approx(first.objective, rel=3e-8)
    assert not second.norms[[0, 4]].any()


@each_loss
def test_only_zero_kernels_leave_the_constant_model(loss):
    problem = replace(make_problem(loss), gram=DenseStack(np.zeros((2, 24, 24))))
    solution = solve(problem)
    assert solution.active.size == 0


@each_loss
def test_a_warm_start_from_the_solution_needs_no_newton_step(loss):
    problem = make_problem(loss, 0.1)
    solution = solve(problem)
    warm_parameters = solve(problem, init=solution)
    assert warm_parameters.n_iter == 0
    assert warm_parameters.history[-1].inner_steps == 0
    assert warm_parameters.objective == pytest.approx(solution.objective, rel=1e-12)


@each_loss
@each_ratio
def test_a_warm_start_from_another_alpha_reaches_the_same_optimum(loss, l1_ratio):
    near, far = make_problem(loss, 0.1, l1_ratio), make_problem(loss, 0.6, l1_ratio)
    cold = solve(near)
    warm_parameters = solve(near, init=solve(far))
    back = solve(far, init=cold)
    assert warm_parameters.objective == pytest.approx(cold.objective, rel=2e-8)
    assert back.objective == pytest.approx(solve(far).objective, rel=2e-8)


@each_loss
@each_ratio
def test_integer_weights_equal_repetition(loss, l1_ratio):
    counts = np.random.default_rng(0).integers(1, 4, 24)
    rows = np.repeat(np.arange(24), counts)
    problem = make_problem(loss, 0.1, l1_ratio)
    heavier = replace(problem, loss=toy_loss(loss, counts.astype(float)))
    repeated = replace(problem, gram=problem.gram.restrict(rows), y=problem.y[rows])
    first, second = solve(heavier), solve(repeated)
    assert first.objective == pytest.approx(second.objective, rel=2e-8)


@each_loss
@each_ratio
def test_real_weights_reach_the_reference(loss, l1_ratio):
    weights = np.random.default_rng(1).uniform(0.1, 10.0, 24)
    problem = replace(make_problem(loss, 0.1, l1_ratio), loss=toy_loss(loss, weights))
    optimum = reference_of(problem, loss, weights)
    assert solve(problem).objective == pytest.approx(optimum.objective, rel=1e-6)


@each_loss
@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    n_kernels=st.integers(1, 8),
    n_samples=st.integers(6, 20),
    share=st.floats(1e-3, 1.2),
    l1_ratio=st.sampled_from([1.0, 0.9, 0.1]),
    fit_intercept=st.booleans(),
)
def test_random_problems_are_certified(
    loss, seed, n_kernels, n_samples, share, l1_ratio, fit_intercept
):
    y = toy_targets(loss, n_samples, seed)
    if np.ptp(y) == 0.0:
        y[0] = -y[0]
    problem = Problem(
        DenseStack(toy_grams(n_samples, n_kernels, seed)),
        y,
        toy_loss(loss),
        toy_regularizer(1.0),
        fit_intercept,
    )
    alpha = share * alpha_max(problem)
    problem = replace(problem, regularizer=toy_regularizer(alpha, l1_ratio))
    solution = solve(problem, 1e-6)
    check_solution(problem, solution, 1e-6)


@each_loss
@pytest.mark.parametrize("l1_ratio", [1.0, 0.99, 0.5])
@pytest.mark.parametrize("share", [1e-2, 1e-4])
def test_many_kernels_and_weak_penalties(loss, l1_ratio, share):
    """Working sets that miss most kernels must not be mistaken for a standstill."""
    problem = make_problem(loss, share, l1_ratio, grams=toy_grams(30, 70, 1))
    check_solution(problem, solve(problem, 1e-6), 1e-6)


@each_loss
@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_reported_is_true_where_digits_cancel(loss, l1_ratio, seed):
    """Rank-one kernels, a vanishing penalty: expansions lie mostly in null spaces."""
    X = np.random.default_rng(seed).normal(size=(40, 8))
    grams = np.ascontiguousarray(np.einsum("im,jm->mij", X, X))
    problem = make_problem(loss, 1e-5, l1_ratio, grams=grams)
    check_solution(problem, SpicyMKL(tol=1e-7).solve(problem), 1e-7)


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("scale", [1e-4, 1e4])
@pytest.mark.parametrize("loss", [SquaredLoss(), EpsilonInsensitiveLoss()])
def test_targets_of_any_size(loss, scale, offset):
    if isinstance(loss, EpsilonInsensitiveLoss):
        loss = EpsilonInsensitiveLoss(0.1 * scale)
    y = scale * toy_targets("squared_error") + offset
    problem = Problem(DenseStack(toy_grams()), y, loss, toy_regularizer(1.0))
    alpha = 0.1 * alpha_max(problem)
    problem = replace(problem, regularizer=toy_regularizer(alpha))
    solution = solve(problem, 1e-6)
    check_solution(problem, solution, 1e-6)
    assert solution.active.size > 0


def test_max_iter_is_said_and_still_certified():
    problem = make_problem("log_loss", 0.01)
    solution = SpicyMKL(tol=1e-12, max_iter=1).solve(problem)
    assert solution.status is Status.MAX_ITER
    assert solution.n_iter == 1
    check_solution(problem, solution, 1e-12)


def test_an_unreachable_tolerance_stalls_and_says_so():
    problem = make_problem("hinge", 0.01)
    solution = SpicyMKL(tol=1e-17).solve(problem)
    assert solution.status is Status.STALLED
    check_solution(problem, solution, 1e-17)
    assert solution.duality_gap <= 1e-9


@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
def test_outer_convergence_is_superlinear(loss):
    """The factor by which each outer step shrinks the gap grows along the way."""
    problem = make_problem(loss, 0.01)
    gaps = np.array([line.duality_gap for line in solve(problem, 1e-9).history])
    factors = gaps[1:] / gaps[:-1]
    assert factors[-1] < 0.1
    assert len(gaps) <= 12


def test_an_indefinite_kernel_is_named_during_the_solve():
    grams = toy_grams()
    values, vectors = np.linalg.eigh(grams[4])
    grams[4] = vectors @ np.diag(values - 0.6) @ vectors.T
    problem = make_problem("squared_error", 0.01, grams=toy_grams())
    with pytest.raises(IndefiniteKernelError, match="Gram matrix 4 "):
        SpicyMKL(tol=1e-8).solve(replace(problem, gram=DenseStack(grams)))


@pytest.mark.parametrize("constant", [0.0, 5.0, 1e-3, 1e6])
def test_constant_targets_are_fitted_by_the_intercept(constant):
    y = np.full(toy_targets("squared_error").size, constant)
    problem = Problem(DenseStack(toy_grams()), y, SquaredLoss(), toy_regularizer(1.0))
    solution = solve(problem, 1e-6)
    assert solution.status is Status.CONVERGED
    assert solution.active.size == 0
    assert solution.intercept[0] == pytest.approx(constant, rel=1e-14)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_hopeless_sample_does_not_hold_up_the_others():
    # Its margin is far below -36: its dual variable rounds to the end of its domain.
    random = np.random.default_rng(0)
    X = random.normal(size=(30, 3))
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    far = int(np.argmax(X[:, 0]))
    y[far] = -1.0
    weights = np.full(30, 10.0)
    weights[far] = 1e-4
    grams = np.stack([1e4 * np.outer(x, x) for x in X.T])
    penalty = toy_regularizer(1e-4, 0.9)
    problem = Problem(
        DenseStack(grams), y, weighted(LogisticLoss(), weights), penalty, True
    )
    solution = solve(problem)
    f = decision_values(problem, solution)
    assert y[far] * f[far] < -40.0
    assert solution.history[-1].inner_steps <= 100
