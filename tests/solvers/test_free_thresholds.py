"""Free thresholds: beside cones, from warm starts, and with a proof of the whole."""

import numpy as np
import pytest
from scipy.special import expit

from multikernel.gram import DenseStack
from multikernel.losses import CumulativeLogitLoss, LogisticLoss, weighted
from multikernel.problem import Problem, Status
from multikernel.regularizers import BlockElasticNet, BlockL1
from multikernel.solvers import FreeThresholds, SpicyMKL

rng = np.random.default_rng(0)
X = rng.standard_normal((40, 3))
LATENT = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * rng.logistic(size=40)
Y = np.digitize(LATENT, np.quantile(LATENT, [0.25, 0.6, 0.8])).astype(float)
GRAMS = np.stack(
    [np.exp(-((column[:, None] - column) ** 2)) for column in X.T]
    + [np.outer(column, column) for column in X.T]
)
START = CumulativeLogitLoss(np.array([-1.0, 0.0, 1.0]))
WEIGHTS = rng.uniform(0.2, 3.0, 40)


def problem_of(regularizer, loss=START, y=Y):
    return Problem(DenseStack(GRAMS), y, loss, regularizer)


def model_of(solution):
    f = sum(GRAMS[m] @ c for m, c in zip(solution.active, solution.coefs, strict=True))
    return np.zeros(40) + f


@pytest.mark.parametrize("weights", [np.ones(40), WEIGHTS])
@pytest.mark.parametrize("alpha", [4.0, 0.8])
def test_the_optimum_is_that_of_a_conic_solver(weights, alpha):
    cp = pytest.importorskip("cvxpy")
    loss = weighted(START, weights)
    solution = FreeThresholds(SpicyMKL(), tol=1e-7).solve(
        problem_of(BlockL1(alpha), loss)
    )
    roots = [
        vectors * np.sqrt(np.maximum(values, 0.0))
        for values, vectors in map(np.linalg.eigh, GRAMS)
    ]
    parts = [cp.Variable(40) for _ in roots]
    f = sum(root @ part for root, part in zip(roots, parts, strict=True))
    theta = cp.Variable(3)
    terms = []
    for i, grade in enumerate(Y.astype(int)):
        if grade > 0:
            terms.append(weights[i] * cp.logistic(theta[grade - 1] - f[i]))
        if grade < 3:
            terms.append(weights[i] * cp.logistic(f[i] - theta[grade]))
        if 0 < grade < 3:
            # -log(1 - exp(-d)) is the least -log(s) with s + exp(-d) <= 1.
            share = cp.Variable()
            apart = theta[grade] - theta[grade - 1]
            terms.append(-weights[i] * cp.log(share))
            terms.append(cp.transforms.indicator([share + cp.exp(-apart) <= 1]))
    penalty = alpha * sum(cp.norm(part) for part in parts)
    reference = cp.Problem(cp.Minimize(cp.sum(cp.hstack(terms)) + penalty))
    reference.solve(solver="CLARABEL")
    assert solution.duality_gap <= 1e-7
    assert solution.objective == pytest.approx(reference.value, rel=1e-6)
    best = CumulativeLogitLoss.fitted(Y, model_of(solution), weights)
    np.testing.assert_allclose(best.thresholds, theta.value, atol=2e-2)


@pytest.mark.parametrize("regularizer", [BlockL1(0.05), BlockElasticNet(0.3, 0.5)])
def test_weak_penalties_have_a_proof_too(regularizer):
    solution = FreeThresholds(SpicyMKL(), tol=1e-6).solve(problem_of(regularizer))
    assert solution.status is Status.CONVERGED
    f = model_of(solution)
    best = CumulativeLogitLoss.fitted(Y, f, np.ones(40))
    objective = best.value(Y, f).sum() + regularizer.value(solution.norms)
    assert solution.objective == pytest.approx(objective, rel=1e-9)


def test_no_better_model_is_near():
    """Models between and beyond those of other strengths have larger objectives."""
    regularizer = BlockL1(1.0)
    problem = problem_of(regularizer)
    solution = FreeThresholds(SpicyMKL(), tol=1e-3).solve(problem)
    bound = solution.objective * (1.0 - solution.duality_gap)
    for alpha in (0.2, 0.9, 1.1, 3.0):
        other = FreeThresholds(SpicyMKL()).solve(problem_of(BlockL1(alpha)))
        for size in (0.5, 0.9, 1.0, 1.1):
            f = size * model_of(other)
            best = CumulativeLogitLoss.fitted(Y, f, np.ones(40))
            value = best.value(Y, f).sum() + regularizer.value(size * other.norms)
            assert value >= bound


def test_a_start_that_is_the_optimum_ends_at_once():
    solver = FreeThresholds(SpicyMKL(), tol=1e-4)
    problem = problem_of(BlockL1(1.0))
    first = FreeThresholds(SpicyMKL(), tol=1e-8).solve(problem)
    again = solver.solve(problem, first)
    assert again.n_iter == 0 or again.n_iter < solver.solve(problem).n_iter
    assert again.objective <= first.objective * (1.0 + 1e-4)


def test_above_the_largest_strength_thresholds_are_shares():
    solution = FreeThresholds(SpicyMKL(), tol=1e-9).solve(problem_of(BlockL1(1e3)))
    assert solution.active.size == 0
    shares = np.bincount(Y.astype(int)) / 40
    assert solution.objective == pytest.approx(-(40 * shares * np.log(shares)).sum())


def test_a_class_without_samples_has_no_threshold():
    gaps = 2.0 * Y
    start = CumulativeLogitLoss(np.arange(6.0))
    solver = FreeThresholds(SpicyMKL(), tol=1e-6)
    found = solver.solve(problem_of(BlockL1(1.0), start, gaps))
    assert found.objective == pytest.approx(
        solver.solve(problem_of(BlockL1(1.0))).objective, rel=1e-5
    )


def test_other_losses_go_to_the_solver_and_columns_are_refused():
    solver = FreeThresholds(SpicyMKL(), tol=1e-3)
    binary = problem_of(BlockL1(1.0), LogisticLoss(), np.where(Y > 1.0, 1.0, -1.0))
    same = SpicyMKL().solve(binary)
    assert solver.unsupported(binary) is None
    assert solver.solve(binary).objective == same.objective
    columns = Problem(DenseStack(GRAMS), Y, START, BlockL1(1.0), columns=X[:, :1])
    assert "columns without a penalty" in solver.unsupported(columns)


def test_a_callback_stops_it():
    solver = FreeThresholds(SpicyMKL(), tol=1e-12)
    stopped = solver.solve(problem_of(BlockL1(1.0)), callback=lambda _: True)
    assert stopped.status is Status.STOPPED
    assert stopped.n_iter == 0


def test_thresholds_are_stationary_and_shift_with_the_function():
    f = rng.standard_normal(40)
    loss = CumulativeLogitLoss.fitted(Y, f, WEIGHTS)
    step = 1e-6
    for k in range(3):
        ends = []
        for sign in (-1.0, 1.0):
            moved = loss.thresholds.copy()
            moved[k] += sign * step
            ends.append(WEIGHTS @ CumulativeLogitLoss(moved).value(Y, f))
        assert abs(ends[1] - ends[0]) / (2.0 * step) < 1e-5 * WEIGHTS.sum()
    shifted = CumulativeLogitLoss.fitted(Y, f + 30.0, WEIGHTS)
    np.testing.assert_allclose(shifted.thresholds, loss.thresholds + 30.0)


def test_thresholds_far_from_all_decision_values_are_found():
    """No sample bends the loss where Newton's method begins."""
    f = np.array([-3000.0, -2000.0, 1500.0, 1500.5])
    grades = np.array([0.0, 0.0, 1.0, 1.0])
    loss = CumulativeLogitLoss.fitted(grades, f, np.ones(4))
    assert -1990.0 < loss.thresholds[0] < 1490.0
    assert loss.value(grades, f).sum() < 1e-12


def test_the_loss_is_a_likelihood():
    f = rng.standard_normal(5)
    ends = np.concatenate([[-np.inf], START.thresholds, [np.inf]])
    probabilities = np.diff(expit(ends - f[:, None]), axis=1)
    grades = np.arange(4.0)
    losses = np.stack([START.value(np.full(5, grade), f) for grade in grades], axis=1)
    np.testing.assert_allclose(np.exp(-losses), probabilities)
    with pytest.raises(ValueError, match="must be strictly increasing"):
        CumulativeLogitLoss(np.array([1.0, 0.0]))


@pytest.mark.parametrize("begin", [None, 0.0])
def test_thresholds_of_hostile_decision_values_are_the_best(begin):
    """Far apart and out of order, and from thresholds that are far away."""
    for seed in range(40):
        random = np.random.default_rng(seed)
        grades = np.concatenate([np.arange(5), random.integers(0, 5, 20)]).astype(float)
        f = 10.0 ** random.uniform(0.0, 3.0) * (random.standard_normal(25) + grades)
        weights = 10.0 ** random.uniform(-2.0, 2.0, 25)
        start = None if begin is None else np.arange(4.0) - 500.0
        loss = CumulativeLogitLoss.fitted(grades, f, weights, start)
        least = weights @ loss.value(grades, f)
        for size in (1e-3, 0.1, 10.0):
            moved = loss.thresholds + size * random.standard_normal(4)
            if np.all(np.diff(moved) > 0.0):
                other = weights @ CumulativeLogitLoss(moved).value(grades, f)
                assert other >= least * (1.0 - 1e-9)
