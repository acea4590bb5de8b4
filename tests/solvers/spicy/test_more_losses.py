"""Losses beside four of the papers: conjugates with finite slopes, half lines."""

import numpy as np
import pytest
from reference.toys import toy_grams, toy_targets
from scipy.optimize import minimize

from multikernel import SpicyMKLRegressor
from multikernel.certificates import alpha_max
from multikernel.gram import DenseStack
from multikernel.kernels import GaussianKernel, LinearKernel, per_column
from multikernel.losses import (
    GammaLoss,
    HuberLoss,
    LogisticLoss,
    PinballLoss,
    PoissonLoss,
    SquaredHingeLoss,
    weighted,
)
from multikernel.problem import Problem, Status
from multikernel.regularizers import BlockElasticNet, BlockL1
from multikernel.solvers import SpicyMKL, solve_path
from multikernel.solvers.spicy.polyhedral import BarrierSide
from multikernel.solvers.spicy.sides import SmoothSide
from multikernel.testing import check_solution, check_solver

SMOOTH = (
    HuberLoss(0.1),
    HuberLoss(1.0),
    SquaredHingeLoss(),
    PoissonLoss(),
    GammaLoss(),
)
LOSSES = (*SMOOTH, PinballLoss(0.8))


def make_problem(loss, regularizer, fit_intercept=True):
    y = toy_targets("hinge" if isinstance(loss, SquaredHingeLoss) else "squared")
    if isinstance(loss, HuberLoss):
        y[3] += 10.0
    if isinstance(loss, PoissonLoss):
        y = np.round(np.exp(0.7 * y))  # some of them are zero
    if isinstance(loss, GammaLoss):
        y = np.exp(y)
    return Problem(DenseStack(toy_grams()), y, loss, regularizer, fit_intercept)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("tol", [pytest.param(1e-3, marks=pytest.mark.slow), 1e-7])
def test_the_solver_keeps_its_promises(loss, tol):
    problems = [
        make_problem(loss, penalty, fit_intercept)
        for penalty in (BlockL1(0.3), BlockL1(1.0), BlockElasticNet(0.3))
        for fit_intercept in (True, False)
    ]
    check_solver(SpicyMKL(tol), problems)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_paths_and_weights(loss):
    problem = make_problem(loss, BlockL1(1.0))
    heavy = weighted(loss, np.linspace(0.5, 3.0, problem.y.size))
    problem = Problem(problem.gram, problem.y, heavy, BlockL1(1.0))
    alphas = alpha_max(problem) * np.geomspace(1.0, 1e-3, 8)
    path = solve_path(problem, SpicyMKL(1e-5), alphas)
    for alpha, solution in zip(alphas, path, strict=True):
        here = Problem(problem.gram, problem.y, heavy, BlockL1(alpha))
        check_solution(here, solution, 1e-5)
        assert solution.status is Status.CONVERGED


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_the_objective_is_that_of_a_general_minimizer(loss):
    """One kernel with squares: f = K c, in the coordinates of a Cholesky factor."""
    problem = make_problem(loss, BlockElasticNet(0.5, l1_ratio=0.0))
    K = problem.gram.array[0]
    root = np.linalg.cholesky(K + 1e-9 * np.eye(len(K)))
    problem = Problem(
        DenseStack((root @ root.T)[None]), problem.y, loss, problem.regularizer
    )

    def objective(x):
        value = loss.value(problem.y, root @ x[1:] + x[0]).sum()
        return value + 0.25 * float(x[1:] @ x[1:])

    def slope(x):
        pull = loss.gradient(problem.y, root @ x[1:] + x[0])
        return np.append(pull.sum(), root.T @ pull + 0.5 * x[1:])

    found = minimize(objective, np.zeros(1 + len(K)), jac=slope, tol=1e-10)
    solution = SpicyMKL(1e-8).solve(problem)
    assert solution.objective == pytest.approx(found.fun, rel=1e-6)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_slopes_at_a_boundary_that_rounding_reaches_are_numbers():
    y = np.array([1.0, -1.0])
    side = SmoothSide(LogisticLoss(), y, np.array([0.5, -0.5]), 1.0)
    length = side.aim(np.array([0.5, 0.5]) / 0.99 * (1.0 + 1e-15))
    assert np.isfinite(side.slope(length / 0.99))


@pytest.mark.parametrize("quantile", [0.2, 0.75])
def test_a_barrier_starts_at_the_point_that_it_is_given(quantile):
    y, rho = np.linspace(-1.0, 1.0, 8), np.array([0.5, 0.4, 0.1, 0.0, 0.0, -0.2, -0.5])
    rho = np.clip(np.append(rho, -rho.sum()), quantile - 0.99, quantile - 0.01)
    side = BarrierSide(PinballLoss(quantile), y, rho, 1.0)
    np.testing.assert_allclose(side.rho, rho, atol=1e-12)


def test_quantiles_where_a_kernel_is_about_to_enter_reach_their_tolerance():
    rng = np.random.default_rng(43)
    rng.choice(6), rng.choice(3)
    X = rng.standard_normal((50, 2))
    y = np.sin(X[:, 0]) + 0.5 * rng.standard_normal(50)
    kernels = per_column(LinearKernel(), 2)
    model = SpicyMKLRegressor(kernels, 0.1865, loss="quantile", quantile=0.75)
    assert model.fit(X, y).duality_gap_ <= model.tol


@pytest.mark.parametrize(
    ("count", "scale", "alpha"), [(1e5, 1.0, 1e-3), (1e7, 1.0, 0.02), (1.0, 1e6, 0.02)]
)
def test_the_digits_of_features_prove_fits_of_large_counts(count, scale, alpha):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 1))
    y = rng.poisson(np.exp(X[:, 0])).astype(float)
    y[0] = count
    model = SpicyMKLRegressor(
        LinearKernel(), alpha, loss="poisson", normalize=None
    ).fit(scale * X, y)
    assert model.duality_gap_ <= model.tol
    # The published dual point is feasible in extended precision.
    column = scale * X[:, 0].astype(np.longdouble)
    strength = 20 * model.alpha_
    assert abs(column @ model.dual_coef_) <= strength * (1.0 + 1e-9)


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(7, marks=pytest.mark.slow),
        11,
        pytest.param(19, marks=pytest.mark.slow),
    ],
)
def test_several_large_counts_are_fitted_to_tol(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2))
    y = rng.poisson(np.exp(X[:, 0])).astype(float)
    y[:4] = 10.0 ** rng.choice([5, 7], 4)
    model = SpicyMKLRegressor(GaussianKernel("median"), 1e-3, loss="poisson").fit(X, y)
    assert model.duality_gap_ <= model.tol
