"""Block coordinate descent: optima, expansions and gaps, by independent means."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from multikernel.estimators import SpicyMKLClassifier, SpicyMKLRegressor
from multikernel.gram import LowRankStack
from multikernel.linalg.tall import GroupedFactor
from multikernel.losses import LogisticLoss, PoissonLoss, SquaredLoss
from multikernel.losses.weighted import weighted
from multikernel.problem import Problem
from multikernel.regularizers import BlockL1
from multikernel.solvers import SpicyMKL
from multikernel.solvers.spicy.descent import BlockDescent, block_minimum
from multikernel.testing import check_solution

N, RANKS = 60, (1, 3, 5)
SETTINGS = "multikernel.solvers.spicy.settings.SETTINGS"


@pytest.fixture
def always(monkeypatch):
    """Descend whatever Newton's steps cost."""
    from multikernel.solvers.spicy.settings import SETTINGS

    monkeypatch.setitem(SETTINGS.__dict__, "descent_flops", 0.0)
    monkeypatch.setitem(SETTINGS.__dict__, "descent_columns", 0)


def factors(seed=0):
    random = np.random.default_rng(seed)
    return [random.standard_normal((rank, N)) / np.sqrt(rank) for rank in RANKS]


def problem_of(loss, alpha=2.0, *, fit_intercept=True):
    rows = np.concatenate(factors())
    score = rows[0] + rows[4]
    y = {"SquaredLoss": score, "PoissonLoss": np.round(np.exp(0.5 * score))}.get(
        type(loss).__name__, np.sign(score + 0.5)
    )
    offsets = np.cumsum([0, *RANKS])
    stack = LowRankStack(np.ascontiguousarray(rows.T), offsets)
    return Problem(stack, y, loss, BlockL1(alpha), fit_intercept)


def test_a_block_is_minimal():
    random = np.random.default_rng(1)
    q, values = 3.0 * random.standard_normal(6), random.uniform(1e-6, 4.0, 6)
    size, u = block_minimum(q, values, 2.0)
    best = cp.Variable(6)
    value = 0.5 * cp.sum_squares(cp.multiply(np.sqrt(values), best)) - q @ best
    cp.Problem(cp.Minimize(value + 2.0 * cp.norm(best))).solve(solver="CLARABEL")
    assert size == pytest.approx(np.linalg.norm(u))
    np.testing.assert_allclose(values * u + 2.0 * u / size, q, atol=1e-9)
    np.testing.assert_allclose(u, best.value, rtol=1e-3, atol=1e-3)
    assert block_minimum(0.5 * q / np.linalg.norm(q), values, 0.5)[0] == 0.0


@pytest.mark.parametrize("loss", [LogisticLoss(), SquaredLoss(), PoissonLoss()])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_solutions_are_those_of_the_augmented_lagrangian(loss, fit_intercept, always):
    problem = problem_of(loss, fit_intercept=fit_intercept)
    solution = SpicyMKL(tol=1e-6, algorithm="augmented_lagrangian").solve(problem)
    assert "block_descent" in solution.steps
    check_solution(problem, solution, tol=1e-6)


def test_expansions_give_the_blocks():
    problem = problem_of(LogisticLoss(), alpha=1.0)
    grouped = {m: GroupedFactor(rows) for m, rows in enumerate(factors())}
    descent = BlockDescent(problem, grouped, np.zeros((3, N)))
    descent.solve(1e-8)
    assert descent.gap <= 1e-8
    again = BlockDescent(problem, grouped, descent.alpha)
    again.solve(1e-6)
    assert 2 * again.rounds < descent.rounds
    rho = descent.rho
    for rows, alpha in zip(factors(), descent.alpha, strict=True):
        size = np.linalg.norm(rows @ rho)
        assert size <= 1.0 + 1e-3
        if alpha.any():
            assert size == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("several", [False, True])
def test_grouped_factors_are_their_matrix(several):
    random = np.random.default_rng(2)
    rows, group = random.standard_normal((4, 7)), random.integers(0, 7, 30)
    factor, Z = GroupedFactor(rows, group, 0.5), 0.5 * rows[:, group].T
    v = random.standard_normal((30, 2) if several else 30)
    u, weights = (
        random.standard_normal((4, 2) if several else 4),
        random.uniform(size=30),
    )
    np.testing.assert_allclose(factor.inner(v), Z.T @ v)
    np.testing.assert_allclose(factor.times(u), Z @ u)
    np.testing.assert_allclose(factor.gram(weights), Z.T * weights @ Z)
    np.testing.assert_allclose(factor.rows_of(np.array([3, 5])), Z[[3, 5]].T)


@pytest.mark.parametrize("model", [SpicyMKLClassifier, SpicyMKLRegressor])
def test_tables_of_few_values_predict_as_by_newtons_steps(model, always, monkeypatch):
    random = np.random.default_rng(3)
    X = random.integers(0, 12, (900, 3)).astype(float)
    y = np.sin(X[:, 0]) + 0.1 * X[:, 1] * X[:, 2]
    y = y > np.median(y) if model is SpicyMKLClassifier else y
    fits = []
    for algorithm in ("descent", "newton"):
        if algorithm == "newton":
            monkeypatch.undo()
        fit = model(alpha=0.005, storage="low_rank", tol=1e-5).fit(X, y)
        assert ("block_descent" in fit.fit_info_["solver"]) == (algorithm == "descent")
        assert fit.duality_gap_ <= 1e-5
        fits.append(fit)
    objectives = [fit.objective_ for fit in fits]
    assert objectives[0] == pytest.approx(objectives[1], rel=2e-5)
    np.testing.assert_allclose(
        fits[0].predict(X[:50]) * 1.0, fits[1].predict(X[:50]), atol=0.05
    )


def test_weighted_slopes_at_the_end_of_the_domain_have_no_curvature():
    random = np.random.default_rng(0)
    problem = problem_of(PoissonLoss(), fit_intercept=False)
    loss = weighted(PoissonLoss(), random.uniform(0.1, 3.0, N))
    problem = replace(problem, loss=loss, y=random.uniform(0.5, 2.0, N))
    rows = np.stack([np.where(np.arange(N) < 20, 50.0, 0.0), np.ones(N)])
    far = np.zeros((1, N))
    far[0, 0] = -1.0 / 50.0
    descent = BlockDescent(problem, {0: GroupedFactor(rows)}, far)
    with np.errstate(divide="ignore"):
        assert np.any(loss.conjugate_hessian(problem.y, -descent.rho) < 0.0)
    descent.solve(1e-6)
    assert np.isfinite(descent.gap)


def test_newtons_method_has_its_steps_after_descent_fails(monkeypatch):
    working_set = "multikernel.solvers.spicy.working_set"
    monkeypatch.setattr(
        f"{working_set}.prefers_descent", lambda problem, n_numbers: True
    )
    random = np.random.default_rng(0)
    X = random.standard_normal((400, 4))
    X[:, 0], X[:, 1] = random.integers(0, 5, 400), random.integers(0, 20, 400)
    y = np.arange(400) < 2
    fit = SpicyMKLClassifier(loss="squared_hinge", alpha=1e-4, storage="low_rank")
    fit.set_params(tol=1e-4).fit(X, y)
    assert "block_descent" in fit.fit_info_["solver"]
    assert fit.status_ == "converged"
