"""Group-OMP: every selection and refit against dense brute force, and its limits."""

from dataclasses import replace

import numpy as np
import pytest
from gram.stacks import STACKS
from hypothesis import given, settings, strategies as st
from reference.toys import toy_grams, toy_loss, toy_targets
from sklearn.linear_model import OrthogonalMatchingPursuit

from multikernel.certificates import decision_values
from multikernel.exceptions import (
    ConvergenceWarning,
    IndefiniteKernelError,
    UnsupportedProblemError,
)
from multikernel.gram import DenseStack, LowRankStack, ProductStack, ScaledStack
from multikernel.gram.factors.low_rank import low_rank_form
from multikernel.linalg.quadrature import QuadratureBounds
from multikernel.losses import SquaredLoss
from multikernel.machines import SMO
from multikernel.problem import Problem, Status
from multikernel.regularizers import BlockElasticNet, BlockL1
from multikernel.solvers import GroupOMP
from multikernel.solvers.group_omp.selection import narrow_factors

each_intercept = pytest.mark.parametrize("fit_intercept", [True, False])
each_shape = pytest.mark.parametrize("n_outputs", [None, 3])
each_weighting = pytest.mark.parametrize("weighted", [False, True])


def ridge(alpha):
    return BlockElasticNet(alpha, l1_ratio=0.0)


def make_problem(
    loss="squared_error", alpha=0.5, n_outputs=None, fit_intercept=True, weighted=False
):
    grams = toy_grams(n_samples=20, n_kernels=8)
    y = toy_targets(loss, n_samples=20, n_outputs=n_outputs)
    weights = np.random.default_rng(5).uniform(0.3, 2.0, 20) if weighted else None
    stack = DenseStack(grams)
    return Problem(stack, y, toy_loss(loss, weights), ridge(alpha), fit_intercept)


def weights_of(problem):
    return getattr(problem.loss, "weights", np.ones(problem.y.shape[0]))


def best_objective(K, r, weights, alpha, fit_intercept):
    """Minimize sum_i w_i (r_i - g_i - b)^2 / 2 + alpha ||g||^2 / 2 by dense solves."""
    n = len(r)
    A, d = K * weights, np.diag(weights)
    # The normal equations in the expansion c, g = K c, and b.
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = A @ K + alpha * K
    system[:n, n], system[n, :n], system[n, n] = A.sum(1), A.sum(1), weights.sum()
    right = np.concatenate([A @ r, [weights @ r]])
    if not fit_intercept:
        system, right = system[:n, :n], right[:n]
    solution = np.linalg.lstsq(system, right, rcond=1e-14)[0]
    c, b = solution[:n], solution[n] if fit_intercept else 0.0
    rest = r - K @ c - b
    return 0.5 * rest @ d @ rest + 0.5 * alpha * c @ K @ c


def brute_improvements(problem, r, weights):
    """Return what every kernel improves, and its objective, for residual columns."""
    columns = r if r.ndim == 2 else r[:, None]
    alpha, intercept = problem.regularizer.alpha, problem.fit_intercept
    start = 0.5 * np.sum(weights[:, None] * columns**2)
    grams = problem.gram.columns(np.arange(len(r)))
    return np.array(
        [
            start
            - sum(
                best_objective(K, column, weights, alpha, intercept)
                for column in columns.T
            )
            for K in grams
        ]
    )


def assert_greedy(problem, path, tested_residual, weights, rtol=1e-5):
    """Check every selection of a path against all kernels."""
    selected = []
    for k, kernel in enumerate(path.order):
        improvements = brute_improvements(problem, tested_residual(k), weights)
        improvements[selected] = -np.inf
        assert kernel == np.argmax(improvements)
        np.testing.assert_allclose(path.improvements[k], improvements.max(), rtol=rtol)
        selected.append(kernel)


@each_weighting
@each_shape
@each_intercept
@pytest.mark.parametrize("alpha", [0.02, 0.5, 20.0])
def test_every_selection_and_refit(fit_intercept, n_outputs, weighted, alpha):
    problem = make_problem("squared_error", alpha, n_outputs, fit_intercept, weighted)
    weights = weights_of(problem)
    path = GroupOMP(tol=0.0).path(problem)
    f = path.decision_values(problem.gram)
    assert_greedy(problem, path, lambda k: problem.y - f[k], weights)
    y = problem.y if n_outputs else problem.y[:, None]
    for k in range(1, len(path) + 1):
        total = problem.gram.array[path.order[:k]].sum(axis=0)
        expected = sum(
            best_objective(total, column, weights, alpha, fit_intercept)
            for column in y.T
        )
        np.testing.assert_allclose(path.objectives[k], expected, rtol=1e-6)


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
@each_weighting
@each_shape
@each_intercept
def test_other_losses_select_on_the_gradient(loss, fit_intercept, n_outputs, weighted):
    problem = make_problem(loss, 1.0, n_outputs, fit_intercept, weighted)
    solver = GroupOMP(tol=0.0, max_kernels=5)
    if loss == "hinge":
        solver = replace(solver, machine=SMO(tol=1e-9))
    path = solver.path(problem)
    duals = [path.solution(k).dual for k in range(len(path) + 1)]
    # Dual points include the weights. A weight of two selects as two samples do.
    weights = weights_of(problem)
    by_row = weights if n_outputs is None else weights[:, None]
    assert_greedy(problem, path, lambda k: duals[k] / by_row, weights)
    assert np.all(np.diff(path.objectives) <= 1e-7)
    for k in range(1, len(path) + 1):
        assert_optimal(problem, path.solution(k), duals[k])


def assert_optimal(problem, solution, dual):
    """Check that a refit is optimal on its kernels: -dual is a subgradient."""
    f = decision_values(problem, solution)
    young = problem.loss.value(problem.y, f) + problem.loss.conjugate(problem.y, -dual)
    np.testing.assert_allclose(young + dual * f, 0.0, atol=1e-5)
    if problem.fit_intercept:
        np.testing.assert_allclose(dual.sum(axis=0), 0.0, atol=1e-7)


@each_shape
@each_intercept
@each_weighting
def test_low_rank_equals_dense(fit_intercept, n_outputs, weighted):
    rng = np.random.default_rng(1)
    offsets = np.array([0, 1, 2, 4, 7, 8, 9, 12])
    Z = rng.standard_normal((20, 12)) + 0.5
    parts = np.split(Z, offsets[1:-1], axis=1)
    dense = DenseStack(np.stack([part @ part.T for part in parts]))
    problem = replace(
        make_problem("squared_error", 0.7, n_outputs, fit_intercept, weighted),
        gram=dense,
    )
    thin = replace(problem, gram=LowRankStack(Z, offsets))
    solver = GroupOMP(tol=0.0)
    one, other = solver.path(problem), solver.path(thin)
    np.testing.assert_array_equal(one.order, other.order)
    for name in ("improvements", "objectives", "coefs", "intercepts"):
        np.testing.assert_allclose(
            getattr(one, name), getattr(other, name), rtol=1e-7, atol=1e-8
        )


def test_refits_on_factors_go_past_the_number_of_samples():
    rng = np.random.default_rng(2)
    Z = rng.standard_normal((6, 30))
    stack = LowRankStack(Z, np.arange(31))
    problem = Problem(stack, rng.standard_normal(6), SquaredLoss(), ridge(0.3))
    path = GroupOMP(tol=0.0).path(problem)
    assert len(path) == 30
    expected = best_objective(Z @ Z.T, problem.y, np.ones(6), 0.3, True)
    np.testing.assert_allclose(path.objectives[-1], expected, rtol=1e-8)


@given(seed=st.integers(0, 10**6), log_alpha=st.floats(-2.0, 2.0))
@settings(max_examples=25)
def test_the_objective_falls_by_at_least_the_improvement(seed, log_alpha):
    rng = np.random.default_rng(seed)
    stack = DenseStack(toy_grams(n_samples=15, n_kernels=6, seed=seed))
    y = rng.standard_normal(15)
    problem = Problem(stack, y, SquaredLoss(), ridge(10.0**log_alpha))
    path = GroupOMP(tol=0.0).path(problem)
    assert np.all(path.improvements >= 0.0)
    drops = -np.diff(path.objectives)
    assert np.all(drops >= path.improvements - 1e-8 * path.objectives[0])


def test_outputs_add_up():
    problem = make_problem(n_outputs=3)
    joint = GroupOMP(max_kernels=1, tol=0.0).path(problem)
    alone = []
    for k in range(3):
        one = replace(problem, y=problem.y[:, k])
        others = [
            GroupOMP(max_kernels=1, tol=0.0)
            .path(replace(one, gram=one.gram.take(np.array([m]))))
            .improvements[0]
            for m in range(8)
        ]
        alone.append(others)
    total = np.sum(alone, axis=0)
    assert joint.order[0] == np.argmax(total)
    np.testing.assert_allclose(joint.improvements[0], total.max(), rtol=1e-8)


def test_alpha_of_the_papers_scale():
    """On (1/n) ||y - f||^2 + lambda ||f||^2 the improvement is 2 / n times ours."""
    problem = make_problem(alpha=20 * 0.05, fit_intercept=False)
    path = GroupOMP(max_kernels=1, tol=0.0).path(problem)
    n, lam, y = 20, 0.05, problem.y
    papers = [
        y @ y / n - lam * y @ np.linalg.solve(K + lam * n * np.eye(n), y)
        for K in problem.gram.array
    ]
    np.testing.assert_allclose(2.0 / n * path.improvements[0], max(papers), rtol=1e-8)


@pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
def test_a_planted_support_is_recovered(loss):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 12))
    planted = [2, 7, 9]
    signal = sum(np.sin(2.0 * X[:, j]) for j in planted)
    y = np.sign(signal) if loss == "log_loss" else signal
    grams = [np.exp(-0.5 * (x[:, None] - x[None]) ** 2) for x in X.T]
    problem = Problem(DenseStack(np.stack(grams)), y, toy_loss(loss), ridge(0.5))
    path = GroupOMP(max_kernels=3).path(problem)
    assert sorted(path.order) == planted


@pytest.mark.parametrize("low_rank", [True, False])
def test_order_of_orthogonal_matching_pursuit(low_rank):
    """With orthonormal columns and alpha -> 0 it is scikit-learn's OMP."""
    rng = np.random.default_rng(4)
    Z = np.linalg.qr(rng.standard_normal((30, 10)))[0]
    y = Z @ rng.standard_normal(10) + 0.1 * rng.standard_normal(30)
    grams = np.stack([np.outer(z, z) for z in Z.T])
    stack = LowRankStack(Z, np.arange(11)) if low_rank else DenseStack(grams)
    problem = Problem(stack, y, SquaredLoss(), ridge(1e-6), fit_intercept=False)
    path = GroupOMP(max_kernels=6, tol=0.0).path(problem)
    f = path.decision_values(stack)
    supports = set()
    for k in range(1, 7):
        omp = OrthogonalMatchingPursuit(n_nonzero_coefs=k, fit_intercept=False)
        omp.fit(Z, y)
        new = set(np.flatnonzero(omp.coef_)) - supports
        assert new == {path.order[k - 1]}
        supports |= new
        np.testing.assert_allclose(f[k], omp.predict(Z), atol=1e-5)


@pytest.mark.parametrize("low_rank", [True, False])
def test_ties_go_to_the_first(low_rank):
    rng = np.random.default_rng(6)
    Z = rng.standard_normal((15, 3))[:, [1, 0, 2, 0, 2]]
    Z[:, 3:] *= 1.0 + 1e-13  # ahead by rounding only
    y = Z[:, 2] + 2.0 * Z[:, 1]
    grams = np.stack([np.outer(z, z) for z in Z.T])
    stack = LowRankStack(Z, np.arange(6)) if low_rank else DenseStack(grams)
    path = GroupOMP(max_kernels=2).path(Problem(stack, y, SquaredLoss(), ridge(0.1)))
    np.testing.assert_array_equal(path.order, [1, 2])


def test_paths_of_several_strengths_are_those_of_each():
    problem = make_problem(n_outputs=2)
    solver = GroupOMP(tol=1e-2, subsample=0.7, random_state=3)
    alphas = [0.01, 0.3, 30.0]
    together = solver.paths(problem, alphas)
    assert len({len(path) for path in together}) > 1
    for alpha, path in zip(alphas, together, strict=True):
        alone = solver.path(replace(problem, regularizer=ridge(alpha)))
        np.testing.assert_array_equal(path.order, alone.order)
        np.testing.assert_allclose(path.improvements, alone.improvements, rtol=1e-8)
        np.testing.assert_allclose(path.coefs, alone.coefs, rtol=1e-8, atol=1e-12)
        assert path.problem.regularizer.alpha == alpha
        assert path.status is alone.status


def test_subsampling():
    problem = make_problem()
    solver = GroupOMP(tol=0.0, subsample=2, random_state=0)
    path, again = solver.path(problem), solver.path(problem)
    np.testing.assert_array_equal(path.order, again.order)
    other = replace(solver, random_state=1).path(problem)
    assert not np.array_equal(path.order, other.order)
    assert sorted(path.order) == list(range(8))
    halves = replace(solver, subsample=0.25).path(problem)
    np.testing.assert_array_equal(path.order, halves.order)
    full = GroupOMP(tol=0.0).path(problem)
    np.testing.assert_array_equal(
        replace(solver, subsample=8).path(problem).order, full.order
    )


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("at_once", [2**25, 8 * 40 * 4])
def test_products_of_mains_are_selected_as_if_written_down(
    fit_intercept, at_once, monkeypatch
):
    monkeypatch.setattr("multikernel.linalg.tables.CHUNK_BYTES", at_once)
    X = np.random.default_rng(2).standard_normal((40, 5))
    columns = np.ascontiguousarray(X.T)
    mains = np.exp(-((columns[:, :, None] - columns[:, None]) ** 2))
    i, j = np.triu_indices(5, 1)
    whole = np.concatenate([mains, mains[i] * mains[j]])
    terms = np.concatenate(
        [np.column_stack([np.arange(5), np.full(5, -1)]), np.column_stack([i, j])]
    )
    y = X[:, 0] * X[:, 1] + np.sin(X[:, 2])
    dense = Problem(DenseStack(whole), y, SquaredLoss(), ridge(0.01), fit_intercept)
    products = replace(dense, gram=ProductStack(DenseStack(mains), terms))
    solver = GroupOMP(max_kernels=8, tol=0.0)
    one, other = solver.paths(dense, [0.01, 1.0]), solver.paths(products, [0.01, 1.0])
    for expected, path in zip(one, other, strict=True):
        np.testing.assert_array_equal(path.order, expected.order)
        np.testing.assert_allclose(path.improvements, expected.improvements, rtol=1e-6)
    assert_greedy(
        products,
        other[0],
        lambda k: y - other[0].decision_values(dense.gram)[k],
        np.ones(40),
    )


def test_ranks_are_told_by_a_part_of_the_samples_only_where_they_are_high():
    rng = np.random.default_rng(3)
    Z = rng.standard_normal((3, 200, 60))
    ranks = [3, 40, 60]
    grams = np.stack([z[:, :r] @ z[:, :r].T for z, r in zip(Z, ranks, strict=True)])
    # The one of rank 41 shows it in the last samples alone.
    late = grams[0].copy()
    late[150:, 150:] += Z[2, 150:] @ Z[2, 150:].T
    narrow, factors, passes = narrow_factors(DenseStack(np.stack([*grams, late])))
    np.testing.assert_array_equal(narrow, [0, 1])
    np.testing.assert_array_equal(factors.ranks, [3, 40])
    assert passes < 4.0 + 0.25


def test_why_it_stops():
    problem = make_problem()
    assert GroupOMP(max_kernels=3, tol=0.0).solve(problem).status is Status.SELECTED
    assert GroupOMP(tol=0.0).solve(problem).status is Status.SELECTED
    precise = GroupOMP(tol=0.05).path(problem)
    assert precise.status is Status.PRECISE
    least = 0.05 * 0.5 * np.sum((problem.y - problem.y.mean()) ** 2)
    assert precise.improvements.min() > least
    f = precise.decision_values(problem.gram)[-1]
    left = np.delete(
        brute_improvements(problem, problem.y - f, np.ones(20)), precise.order
    )
    assert left.max() <= least
    stopped = GroupOMP(tol=0.0).path(problem, lambda line: line.n_active == 2)
    assert stopped.status is Status.STOPPED
    assert len(stopped) == 2


def test_constant_targets_need_no_kernel():
    problem = replace(make_problem(), y=np.full(20, 3.0))
    path = GroupOMP().path(problem)
    assert len(path) == 0
    assert path.status is Status.PRECISE
    np.testing.assert_allclose(path.decision_values(problem.gram), 3.0)
    assert path.solution().active.size == 0


@each_shape
def test_prefixes_are_models(n_outputs):
    problem = make_problem(n_outputs=n_outputs)
    path = GroupOMP(tol=0.0, max_kernels=4).path(problem)
    f = path.decision_values(problem.gram)
    rows = np.array([3, 0, 11])
    part = DenseStack(np.ascontiguousarray(problem.gram.array[:, rows]))
    np.testing.assert_allclose(path.decision_values(part), f[:, rows], atol=1e-12)
    for k in range(5):
        solution = path.solution(k)
        np.testing.assert_array_equal(solution.active, np.sort(path.order[:k]))
        np.testing.assert_allclose(decision_values(problem, solution), f[k], atol=1e-10)
        losses = problem.loss.value(problem.y, f[k]).sum()
        penalty = problem.regularizer.value(solution.norms)
        np.testing.assert_allclose(solution.objective, losses + penalty, rtol=1e-9)
        shorter = GroupOMP(tol=0.0, max_kernels=max(k, 1)).solve(problem)
        if k:
            np.testing.assert_allclose(solution.dual, shorter.dual)
        assert len(solution.history) == k + 1
    with pytest.raises(ValueError, match="between 0 and 4, the number of selected"):
        path.solution(5)


@pytest.mark.parametrize("n_samples", [1, 2, 5])
def test_tiny_problems(n_samples):
    stack = DenseStack(np.stack([np.eye(n_samples), np.zeros((n_samples,) * 2)]))
    y = np.arange(n_samples) + 1.0
    path = GroupOMP().path(Problem(stack, y, SquaredLoss(), ridge(1.0), False))
    np.testing.assert_array_equal(path.order, [0])
    np.testing.assert_allclose(path.coefs[1], y / 2.0)


@pytest.mark.parametrize("store", STACKS, ids=lambda store: store.__name__)
@pytest.mark.parametrize("held", [True, False])
def test_every_storage(store, held, monkeypatch):
    if not held:
        monkeypatch.setattr("multikernel.gram.base.HELD_BYTES", 0)
    problem = make_problem(n_outputs=2)
    stored = replace(problem, gram=store(problem.gram.array))
    one, other = (GroupOMP(max_kernels=3).path(p) for p in (problem, stored))
    np.testing.assert_array_equal(one.order, other.order)
    np.testing.assert_allclose(one.improvements, other.improvements, rtol=1e-5)
    np.testing.assert_allclose(one.objectives, other.objectives, rtol=1e-5)


def test_scaled_factors_stay_factors():
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((20, 5))
    thin = LowRankStack(Z, np.array([0, 1, 3, 5]))
    scales = np.array([2.0, 0.5, 0.0])
    scaled = low_rank_form(ScaledStack(thin, scales))
    v = rng.standard_normal(20)
    np.testing.assert_allclose(
        scaled.quadratic_forms(v), scales * thin.quadratic_forms(v)
    )
    assert low_rank_form(thin) is thin
    dense = DenseStack(toy_grams())
    assert low_rank_form(ScaledStack(dense, np.ones(6))) is None


@each_weighting
@each_shape
@each_intercept
def test_kernels_of_low_rank_compete_with_whole_ones(
    fit_intercept, n_outputs, weighted
):
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((6, 40, 3))
    wide = rng.standard_normal((3, 40, 60)) / 6.0
    grams = np.concatenate([Z @ Z.transpose(0, 2, 1), wide @ wide.transpose(0, 2, 1)])
    n_narrow = len(narrow_factors(DenseStack(grams))[0])
    assert n_narrow == 6
    y = Z[1, :, :1] + 0.5 * wide[1, :, :2] @ np.ones((2, 1)) + 0.5 * Z[4, :, 1:2]
    y = y * np.arange(1, 4) + 0.1 * rng.standard_normal((40, 3))
    weights = rng.uniform(0.3, 2.0, 40) if weighted else None
    problem = Problem(
        DenseStack(grams),
        y if n_outputs else y[:, 0],
        toy_loss("squared_error", weights),
        ridge(0.5),
        fit_intercept,
    )
    path = GroupOMP(tol=0.0).path(problem)
    assert len({*path.order[:3]} & {*range(6)}) > 0 < len({*path.order} & {6, 7, 8})
    f = path.decision_values(problem.gram)
    assert_greedy(problem, path, lambda k: problem.y - f[k], weights_of(problem))


def test_a_matrix_with_an_entry_beyond_its_diagonal_has_no_factor():
    grams = toy_grams(n_samples=40, n_kernels=2)
    grams[1] = 0.0
    grams[1, 3, 3] = grams[1, 5, 6] = grams[1, 6, 5] = 1.0
    assert 1 not in narrow_factors(DenseStack(grams))[0]


def test_an_indefinite_matrix_is_named():
    grams = toy_grams(n_samples=20, n_kernels=4)
    grams[2] -= 5.0 * np.eye(20)
    y = toy_targets("squared_error", n_samples=20)
    with pytest.raises(IndefiniteKernelError, match="Gram matrix 2"):
        GroupOMP().path(Problem(DenseStack(grams), y, SquaredLoss(), ridge(1.0)))


def test_a_ridge_below_rounding_is_refused():
    problem = replace(make_problem(), regularizer=ridge(1e-13))
    with pytest.raises(UnsupportedProblemError, match="below the rounding"):
        GroupOMP().path(problem)


@pytest.mark.parametrize("regularizer", [BlockL1(1.0), BlockElasticNet(1.0, 0.5)])
def test_other_penalties_are_refused(regularizer):
    problem = replace(make_problem(), regularizer=regularizer)
    with pytest.raises(UnsupportedProblemError, match="ridge penalty"):
        GroupOMP().solve(problem)


def test_rectangular_matrices_are_refused():
    problem = make_problem()
    part = DenseStack(np.ascontiguousarray(problem.gram.array[:, :5]))
    assert "square" in GroupOMP().unsupported(replace(problem, gram=part))


def test_a_refit_that_stops_early_warns():
    problem = make_problem("hinge", alpha=0.01)
    with pytest.warns(ConvergenceWarning, match="refit on 1 kernels"):
        GroupOMP(max_kernels=1, machine=SMO(max_steps=3)).path(problem)


@pytest.mark.parametrize(
    "settings",
    [
        {"max_kernels": 0},
        {"tol": -1.0},
        {"tol": np.nan},
        {"subsample": 0.0},
        {"subsample": 1.5},
        {"subsample": 0},
    ],
)
def test_bad_settings(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        GroupOMP(**settings)


@pytest.mark.parametrize("number", [np.int64(3), np.uint8(3)])
def test_the_subsample_may_be_a_number_of_numpys(number):
    problem = make_problem()
    found = GroupOMP(subsample=number, random_state=1).path(problem)
    expected = GroupOMP(subsample=3, random_state=1).path(problem)
    np.testing.assert_array_equal(found.order, expected.order)


def test_bounds_that_never_meet_do_not_loop_forever(monkeypatch):
    steps = []
    monkeypatch.setattr(QuadratureBounds, "advance", lambda self, _: steps.append(1))
    path = GroupOMP(max_kernels=2).path(make_problem())
    assert len(path) == 2
    assert 0 < len(steps) <= 2 * 3 * 8 * (2 * 20 + 2)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_matrix_that_is_not_finite_is_not_called_indefinite(fit_intercept):
    problem = make_problem(fit_intercept=fit_intercept)
    array = problem.gram.array.copy()
    array[3, 5, 6] = array[3, 6, 5] = np.nan
    broken = replace(problem, gram=DenseStack(array))
    with pytest.raises(IndefiniteKernelError, match=r"matrix 3 .*not finite") as error:
        GroupOMP(max_kernels=2).path(broken)
    assert "semidefinite" not in str(error.value)
    assert error.value.kernel == 3


def check_objective_of_terms(solution, grams, y, alpha, rel):
    """The objective of the published terms, in extended precision."""
    K = grams[solution.active].astype(np.longdouble)
    coefs = solution.coefs.astype(np.longdouble)
    images = np.einsum("mij,mj->mi", K, coefs)
    forms = np.maximum((coefs * images).sum(axis=1), 0.0)
    f = images.sum(axis=0) + solution.intercept[0]
    expected = 0.5 * ((y - f) ** 2).sum() + 0.5 * alpha * forms.sum()
    assert solution.objective == pytest.approx(float(expected), rel=rel)
    assert solution.history[-1].objective == solution.objective


def test_the_objective_belongs_to_the_published_model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    grams = np.stack([1e4 * np.exp(-squares / w) for w in (1.0, 10.0, 1e3)])
    grams = np.concatenate([grams, 1e6 * np.outer(X[:, 0], X[:, 0])[None]])
    y = np.sin(3.0 * X[:, 0])
    problem = Problem(DenseStack(grams), y, SquaredLoss(), ridge(1e-3))
    solution = GroupOMP(tol=0.0).solve(problem)
    check_objective_of_terms(solution, grams, y, 1e-3, 1e-9)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_model_that_is_not_its_refit_warns_and_has_its_own_objective():
    """Single precision makes the sum indefinite: its form hides one below zero."""
    x = np.linspace(-1.0, 1.0, 13)
    y = np.where(np.random.default_rng(0).normal(size=13) > 0.0, 1.0, -1.0)
    squares = (x[:, None] - x) ** 2
    grams = np.stack([1e3 * np.exp(-squares / w) for w in (1.0, 10.0)])
    grams = grams.astype(np.float32)
    problem = Problem(DenseStack(grams), y, SquaredLoss(), ridge(1e-4))
    with pytest.warns(ConvergenceWarning, match="not precise enough"):
        solution = GroupOMP(tol=0.0).solve(problem)
    check_objective_of_terms(solution, grams, y, 1e-4, 1e-4)
