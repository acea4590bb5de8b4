"""The duality gap: a proof, never an underestimate; and the null model's alpha."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, strategies as st
from reference.conic import reference_optimum
from reference.toys import LOSSES, toy_grams, toy_loss, toy_regularizer, toy_targets
from scipy.spatial.distance import cdist

from multikernel.certificates import (
    alpha_max,
    best_intercept,
    best_intercepts,
    certify,
    check_combination,
    check_gap,
    constant_model,
    decision_values,
    dual_norms,
    duality_gap,
    evaluate_multiples,
    gap_of,
    primal_value,
    project_dual,
)
from multikernel.exceptions import IndefiniteKernelError, UnsupportedProblemError
from multikernel.gram import DenseStack
from multikernel.losses import (
    EpsilonInsensitiveLoss,
    HingeLoss,
    LogisticLoss,
    SquaredLoss,
    weighted,
)
from multikernel.problem import Problem, Solution, Status
from multikernel.regularizers import SquaredBlockNorm
from multikernel.regularizers.block_l1 import BlockL1Each

SMOOTH = ("log_loss", "squared_error")
each_loss = pytest.mark.parametrize("loss", LOSSES)
each_ratio = pytest.mark.parametrize("l1_ratio", [1.0, 0.6, 0.0])
each_intercept = pytest.mark.parametrize("fit_intercept", [True, False])


def make_problem(loss, alpha=2.0, l1_ratio=1.0, fit_intercept=True, **settings):
    weights = settings.pop("sample_weight", None)
    return Problem(
        DenseStack(toy_grams()),
        toy_targets(loss, **settings),
        toy_loss(loss, weights),
        toy_regularizer(alpha, l1_ratio),
        fit_intercept,
    )


def random_solution(problem, rng, scale):
    """Return any model and any dual point: nothing in it needs to be right."""
    n_kernels = problem.gram.shape[0]
    active = np.sort(rng.choice(n_kernels, size=3, replace=False))
    coefs = scale * rng.normal(size=(3, *problem.y.shape))
    outputs = 1 if problem.y.ndim == 1 else problem.y.shape[1]
    intercept = scale * rng.normal(size=outputs) * problem.fit_intercept
    partial = Solution(
        np.zeros(n_kernels),
        np.zeros(n_kernels),
        active,
        coefs,
        intercept,
        np.zeros_like(problem.y),
        np.nan,
        np.nan,
        0,
        Status.MAX_ITER,
    )
    candidate = -problem.loss.gradient(problem.y, decision_values(problem, partial))
    return replace(partial, dual=candidate + scale * rng.normal(size=problem.y.shape))


def objective_of(problem, solution):
    """Return the primal objective, norms recomputed kernel by kernel."""
    norms = np.zeros(problem.gram.shape[0])
    for m, coef in zip(solution.active, solution.coefs, strict=True):
        norms[m] = np.sqrt(
            np.trace(np.atleast_2d(coef.T @ problem.gram.array[m] @ coef))
        )
    return primal_value(problem, norms, decision_values(problem, solution))


@each_loss
@each_ratio
@each_intercept
def test_gap_is_never_below_the_true_distance(loss, l1_ratio, fit_intercept):
    problem = make_problem(loss, 2.0, l1_ratio, fit_intercept)
    optimum = reference_optimum(
        toy_grams(),
        problem.y,
        loss,
        2.0,
        l1_ratio=l1_ratio,
        fit_intercept=fit_intercept,
    )
    rng = np.random.default_rng(0)
    for scale in np.geomspace(1e-3, 3.0, 12):
        solution = random_solution(problem, rng, scale)
        gap, objective = duality_gap(problem, solution), objective_of(problem, solution)
        distance = (objective - optimum.objective) / abs(objective)
        assert distance >= -1e-8
        assert gap >= distance - 1e-8


@pytest.mark.parametrize("loss", SMOOTH)
@each_intercept
def test_gap_with_several_outputs_and_weights(loss, fit_intercept):
    rng = np.random.default_rng(1)
    problem = make_problem(
        loss,
        fit_intercept=fit_intercept,
        n_outputs=2,
        sample_weight=rng.uniform(0.5, 2.0, 24),
    )
    for scale in (1e-3, 0.1, 1.0):
        assert duality_gap(problem, random_solution(problem, rng, scale)) >= -1e-10


@each_loss
@each_ratio
@each_intercept
def test_gap_vanishes_at_the_optimum(loss, l1_ratio, fit_intercept):
    """The dual value of the reference's dual point is the reference's objective."""
    grams, weights = toy_grams(), np.random.default_rng(2).uniform(0.5, 2.0, 24)
    problem = make_problem(loss, 2.0, l1_ratio, fit_intercept, sample_weight=weights)
    optimum = reference_optimum(
        grams,
        problem.y,
        loss,
        2.0,
        l1_ratio=l1_ratio,
        fit_intercept=fit_intercept,
        sample_weight=weights,
    )
    rho = project_dual(problem, optimum.dual)
    certificate = certify(problem, rho, optimum.norms, dual_norms(problem.gram, rho))
    assert certificate.value == pytest.approx(optimum.objective, rel=1e-7)
    primal = primal_value(problem, optimum.norms, optimum.f)
    assert primal == pytest.approx(optimum.objective, rel=1e-12)


@each_loss
@each_intercept
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([1e-8, 1.0, 1e8]))
def test_certified_points_are_feasible(loss, fit_intercept, seed, scale):
    rng = np.random.default_rng(seed)
    problem = make_problem(loss, 0.5, fit_intercept=fit_intercept, seed=seed)
    rho = project_dual(problem, scale * rng.normal(size=24))
    norms = dual_norms(problem.gram, rho)
    certificate = certify(problem, rho, np.zeros(6), norms)
    lower, upper = problem.loss.dual_bounds(problem.y)
    assert np.all((lower <= -certificate.dual) & (-certificate.dual <= upper))
    if fit_intercept:
        size = np.abs(certificate.dual).sum()
        assert abs(certificate.dual.sum()) <= 1e-13 * max(size, np.finfo(float).tiny)
    assert certificate.dual_norms.max() <= 0.5 * (1 + 1e-15)
    np.testing.assert_allclose(
        certificate.dual_norms, dual_norms(problem.gram, certificate.dual), rtol=1e-6
    )
    assert np.isfinite(certificate.value)


def test_a_feasible_point_whose_sum_is_rounding_stays():
    y = np.array([-1, -1, -1, 1, 1, 1, -1, -1, 1, 1, 1.0])
    free = [0.97794088992545669, 0.74078829610559271, 5.5511151231257827e-17]
    rho = np.array([-2.7187291860310494, 0, 0, 1, 1, 1, -1, -1, *free])
    weights = np.where(np.arange(11) == 0, 10.0, 1.0)
    problem = replace(make_problem("hinge"), y=y, loss=weighted(HingeLoss(), weights))
    assert 0.0 < abs(rho.sum()) < 1e-15
    np.testing.assert_allclose(project_dual(problem, rho), rho, atol=1e-15)


@each_loss
@each_intercept
@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("weighting", [None, "uneven"])
def test_project_dual_is_the_euclidean_projection(
    loss, fit_intercept, scale, weighting
):
    rng = np.random.default_rng(3)
    weights = None if weighting is None else rng.uniform(0.3, 3.0, 24)
    problem = make_problem(loss, fit_intercept=fit_intercept, sample_weight=weights)
    candidate = scale * rng.normal(size=24) + 0.3
    w = np.ones(24) if weights is None else weights
    point = cp.Variable(24)
    inside = {
        "hinge": [
            cp.multiply(problem.y, point) >= 0,
            cp.multiply(problem.y, point) <= w,
        ],
        "log_loss": [
            cp.multiply(problem.y, point) >= 0,
            cp.multiply(problem.y, point) <= w,
        ],
        "epsilon_insensitive": [cp.abs(point) <= w],
        "squared_error": [],
    }[loss]
    centered = [cp.sum(point) == 0] if fit_intercept else []
    distance = cp.sum_squares(point - candidate)
    cp.Problem(cp.Minimize(distance), inside + centered).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10
    )
    projected = project_dual(problem, candidate)
    np.testing.assert_allclose(projected, point.value, atol=1e-5)
    np.testing.assert_allclose(project_dual(problem, projected), projected, atol=1e-14)


def test_project_dual_with_one_class_is_zero():
    problem = replace(make_problem("hinge"), y=np.ones(24))
    assert np.abs(project_dual(problem, np.linspace(-1, 2, 24))).max() <= 1e-14


def test_project_dual_treats_outputs_separately():
    problem = make_problem("log_loss", n_outputs=3)
    rho = np.random.default_rng(4).normal(size=(24, 3))
    columns = [
        project_dual(replace(problem, y=problem.y[:, k].copy()), rho[:, k])
        for k in range(3)
    ]
    np.testing.assert_array_equal(project_dual(problem, rho), np.stack(columns, axis=1))


def test_gap_of_a_dual_point_that_is_not_finite_is_infinite():
    problem = make_problem("squared_error")
    solution = random_solution(problem, np.random.default_rng(5), 1.0)
    assert duality_gap(problem, replace(solution, dual=np.full(24, np.nan))) == np.inf


@each_loss
@each_intercept
@each_ratio
def test_from_alpha_max_on_the_constant_model_is_optimal(loss, fit_intercept, l1_ratio):
    problem = make_problem(loss, 1.0, l1_ratio, fit_intercept)
    largest = alpha_max(problem)
    if l1_ratio == 0.0:
        assert largest == np.inf
        return
    intercept = constant_model(problem).intercept
    constant = problem.loss.value(problem.y, np.zeros(24) + intercept).sum()
    for factor in (1.0, 1.5):
        optimum = reference_optimum(
            toy_grams(),
            problem.y,
            loss,
            factor * largest,
            l1_ratio=l1_ratio,
            fit_intercept=fit_intercept,
        )
        assert optimum.objective == pytest.approx(constant, rel=1e-8)
    below = reference_optimum(
        toy_grams(),
        problem.y,
        loss,
        0.98 * largest,
        l1_ratio=l1_ratio,
        fit_intercept=fit_intercept,
    )
    if loss in SMOOTH:  # with kinks alpha_max is an upper bound only
        assert below.objective < constant * (1.0 - 1e-6)


@each_loss
@each_intercept
def test_constant_model_is_certified(loss, fit_intercept):
    weights = np.random.default_rng(6).uniform(0.5, 2.0, 24)
    problem = make_problem(loss, fit_intercept=fit_intercept, sample_weight=weights)
    model = constant_model(problem)
    f = np.zeros(24) + model.intercept
    rest = problem.loss.value(problem.y, f) + problem.loss.conjugate(
        problem.y, -model.dual
    )
    np.testing.assert_allclose(rest, -f * model.dual, atol=1e-7)
    if fit_intercept:
        assert abs(model.dual.sum()) <= 1e-12
        shifted = [
            problem.loss.value(problem.y, f + s).sum() for s in (-0.01, 0.0, 0.01)
        ]
        assert shifted[1] <= min(shifted)
    else:
        assert model.intercept == 0.0


def test_constant_models_have_their_closed_forms():
    y = toy_targets("squared_error")
    squared = constant_model(replace(make_problem("squared_error"), y=y))
    assert squared.intercept[0] == pytest.approx(y.mean())
    np.testing.assert_allclose(squared.dual, y - y.mean(), atol=1e-12)
    labels = toy_targets("log_loss")
    share = np.mean(labels > 0)
    logistic = constant_model(make_problem("log_loss"))
    assert logistic.intercept[0] == pytest.approx(np.log(share / (1 - share)))
    other_class = np.where(labels > 0, 1 - share, share)
    np.testing.assert_allclose(logistic.dual, labels * other_class, atol=1e-12)
    # Hinge: the minority at its bound, the majority at the balancing constant.
    hinge = constant_model(make_problem("hinge"))
    minority = -1.0 if share > 0.5 else 1.0
    ratio = min(share, 1 - share) / max(share, 1 - share)
    expected = labels * np.where(labels == minority, 1.0, ratio)
    np.testing.assert_allclose(hinge.dual, expected, atol=1e-12)


@each_loss
def test_best_intercept_beside_decision_values(loss):
    y, f = toy_targets(loss), np.random.default_rng(9).normal(size=24)
    b, dual = best_intercept(LOSSES[loss](), y, f)
    assert abs(dual.sum()) <= 1e-12
    rest = LOSSES[loss]().value(y, f + b) + LOSSES[loss]().conjugate(y, -dual)
    np.testing.assert_allclose(rest, -(f + b) * dual, atol=1e-10)
    assert best_intercepts(LOSSES[loss](), y, f)[0] == pytest.approx([b], abs=1e-12)


@pytest.mark.parametrize("weights", [None, 0.1 * np.arange(1.0, 7.0)])
def test_the_intercept_is_the_middle_of_all_best_ones(weights):
    """Loss-free intervals: no end of them may decide for a class, or for a bound."""
    f = np.array([-0.1, 0.0, 0.2, -0.1, 0.0, 0.2])
    y = np.repeat([-1.0, 1.0], 3)
    balanced = None if weights is None else np.tile(weights[:3], 2)
    b, dual = best_intercept(weighted(HingeLoss(), balanced), y, f)
    # Flat from where the last positive sample's margin is short to the negative one's.
    assert b == pytest.approx(0.5 * ((-1.0 - f.min()) + (1.0 - f.max())), abs=1e-12)
    assert abs(dual.sum()) <= 1e-12
    assert best_intercepts(weighted(HingeLoss(), balanced), y, f)[0] == pytest.approx(
        [b]
    )
    tube = weighted(EpsilonInsensitiveLoss(epsilon=50.0), weights)
    b, dual = best_intercept(tube, y, np.zeros(6))
    assert b == pytest.approx(0.0, abs=1e-12)
    assert not dual.any()


def test_a_constant_without_losses_is_proved_by_zero():
    """Where it is the only one as well: kinks meet there, in whatever order."""
    loss = EpsilonInsensitiveLoss(epsilon=0.5)
    for y in np.eye(6):
        b, dual = best_intercept(loss, -y, np.zeros(6))
        assert b == -0.5
        assert not dual.any()


def test_a_dual_value_above_the_objective_is_no_certificate():
    check_gap(-1e-9)
    with pytest.raises(
        IndefiniteKernelError, match=r"^The relative duality gap is -0\.02.*negative"
    ):
        check_gap(-0.02)


def test_constant_model_of_balanced_classes():
    y = np.tile([-1.0, 1.0], 12)
    for loss in (
        HingeLoss(),
        LogisticLoss(),
        weighted(LogisticLoss(), np.full(24, 1e5)),
    ):
        model = constant_model(replace(make_problem("hinge"), y=y, loss=loss))
        assert abs(model.dual.sum()) <= 1e-9
        assert abs(model.intercept[0]) <= 1.0


def test_constant_model_of_large_targets():
    y = 1e9 + toy_targets("squared_error")
    model = constant_model(replace(make_problem("squared_error"), y=y))
    assert model.intercept[0] == pytest.approx(y.mean(), rel=1e-14)


def test_constant_model_of_one_class_is_refused():
    problem = replace(make_problem("log_loss"), y=np.ones(24))
    with pytest.raises(ValueError, match="one class only"):
        constant_model(problem)


def test_an_indefinite_matrix_is_named():
    grams = toy_grams()
    values, vectors = np.linalg.eigh(grams[2])
    values[0] = -0.5
    grams[2] = vectors @ np.diag(values) @ vectors.T
    with pytest.raises(IndefiniteKernelError) as caught:
        dual_norms(DenseStack(grams), vectors[:, 0].copy())
    message = str(caught.value)
    assert "Gram matrix 2 is not positive semidefinite" in message
    assert "-0.5" in message
    assert "Subtract its smallest eigenvalue from its diagonal" in message


def test_a_matrix_with_zero_diagonal_can_be_indefinite():
    grams = np.array([np.eye(2), [[0.0, 1.0], [1.0, 0.0]]])
    with pytest.raises(IndefiniteKernelError, match="Gram matrix 1 "):
        dual_norms(DenseStack(grams), np.array([1.0, -1.0]))


def test_a_matrix_that_is_not_finite_is_named():
    grams = toy_grams()
    grams[3, 0, 0] = np.nan
    with pytest.raises(IndefiniteKernelError, match="Gram matrix 3 "):
        dual_norms(DenseStack(grams), np.ones(24))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rounding_is_not_mistaken_for_an_indefinite_matrix(dtype):
    """A rank-one matrix meets vectors that it maps to zero, but for rounding."""
    rng = np.random.default_rng(7)
    for _ in range(50):
        x, v = rng.normal(size=(2, 24))
        v -= x * (x @ v) / (x @ x)
        norms = dual_norms(DenseStack(np.outer(x, x)[None].astype(dtype)), v)
        size = np.sqrt(x @ x) * np.sqrt(v @ v)
        assert norms[0] <= 1e-3 * size


@pytest.mark.parametrize("n", [1, 2, 7, 90, 300])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kernels_are_never_said_to_bend_down(n, dtype):
    X = np.random.default_rng(n).standard_normal((n, 3))
    grams = [np.exp(-(cdist(X, X) ** 2)), X @ X.T, np.ones((n, n)), np.eye(n)]
    gram = DenseStack(np.array(grams, dtype=dtype))
    check_combination(gram, np.ones(4))
    check_combination(gram, np.zeros(4))


@pytest.mark.parametrize("n", [2, 7, 90, 300])
def test_a_matrix_that_bends_down_is_found_in_a_sum(n):
    X = np.random.default_rng(n).standard_normal((n, 3))
    linear = X @ X.T
    # Of these two only the first bends down, and only along the constant vector.
    gram = DenseStack(np.array([linear - 10.0, linear, np.eye(n)]))
    for weights in ([1.0, 1.0, 0.0], [0.2, 0.0, 0.01]):
        with pytest.raises(IndefiniteKernelError, match="Gram matrix 0 is not pos"):
            check_combination(gram, np.array(weights))
    check_combination(gram, np.array([0.0, 1.0, 1.0]))


def test_alpha_max_scales_with_the_kernels():
    problem = make_problem("squared_error")
    louder = replace(problem, gram=DenseStack(4.0 * toy_grams()))
    assert alpha_max(louder) == pytest.approx(2.0 * alpha_max(problem))


def test_weights_equal_repetition_in_every_value():
    counts = np.random.default_rng(8).integers(1, 4, 24)
    rows = np.repeat(np.arange(24), counts)
    problem = make_problem("squared_error", sample_weight=counts.astype(float))
    repeated = replace(
        problem,
        gram=problem.gram.restrict(rows),
        y=problem.y[rows],
        loss=SquaredLoss(),
    )
    assert alpha_max(problem) == pytest.approx(alpha_max(repeated), rel=1e-12)
    intercepts = [constant_model(p).intercept[0] for p in (problem, repeated)]
    assert intercepts[0] == pytest.approx(intercepts[1], rel=1e-12)


@each_loss
@each_ratio
def test_the_dual_point_is_scaled_as_well_as_can_be(loss, l1_ratio):
    """A point that ignores strong kernels is worthless unless it is shrunk."""
    problem = make_problem(loss, 1e-3, l1_ratio)
    rho = project_dual(problem, -problem.loss.gradient(problem.y, np.zeros(24)))
    norms = dual_norms(problem.gram, rho)
    certificate = certify(problem, rho, np.zeros(6), norms)
    scales = np.concatenate([np.geomspace(1e-6, 1e-2, 60), np.linspace(0.01, 1.0, 60)])
    values = [
        -problem.loss.conjugate(problem.y, -scale * rho).sum()
        - problem.regularizer.conjugate(scale * norms, np.zeros(6))
        for scale in scales
    ]
    assert certificate.value >= np.max(values) - 1e-6 * (1 + abs(np.max(values)))


@each_loss
@pytest.mark.parametrize("p", [1.0, 4 / 3, np.inf])
def test_the_dual_point_of_squared_norms_is_scaled_as_well_as_can_be(loss, p):
    problem = replace(make_problem(loss), regularizer=SquaredBlockNorm(1e-2, p))
    rho = project_dual(problem, -problem.loss.gradient(problem.y, np.zeros(24)))
    norms = dual_norms(problem.gram, rho)
    certificate = certify(problem, rho, np.zeros(6), norms)
    assert 0.0 < certificate.dual_norms[0] < 0.5 * norms[0]
    for share in (0.999, 1.001):
        other = share * certificate.dual
        value = -problem.loss.conjugate(problem.y, -other).sum()
        value -= problem.regularizer.conjugate(share * certificate.dual_norms, norms)
        assert value < certificate.value


def test_a_penalty_without_a_threshold_has_no_largest_strength():
    gram = DenseStack(toy_grams())
    y = toy_targets("squared_error")
    penalty = SquaredBlockNorm(1.0, 2.0)
    with pytest.raises(
        UnsupportedProblemError, match="keeps all kernels active at every"
    ):
        alpha_max(Problem(gram, y, SquaredLoss(), penalty))


def test_rounding_to_single_precision_is_no_indefinite_kernel():
    x = np.linspace(-1.0, 1.0, 24)
    K = np.exp(-((x[:, None] - x) ** 2)).astype(np.float32).astype(np.float64)
    # Entries that are all rounded as unluckily as can be.
    eigenvalue, vectors = np.linalg.eigh(K)
    v = vectors[:, 0]
    K += (-4e-8 * 24.0 - eigenvalue[0]) * np.outer(v, v)
    stack = DenseStack(K[None])
    assert v @ K @ v < -3e-8 * np.trace(K)
    assert dual_norms(stack, v) == 0.0
    with pytest.raises(IndefiniteKernelError, match="Gram matrix 0"):
        dual_norms(DenseStack(K[None] - 1e-4 * np.outer(v, v)), v)


@pytest.mark.parametrize("loss", SMOOTH)
@each_intercept
def test_many_targets_are_evaluated_as_each_is_alone(loss, fit_intercept):
    rng = np.random.default_rng(3)
    problem = make_problem(loss, fit_intercept=fit_intercept)
    gram, n_samples, n_targets = problem.gram, len(problem.y), 4
    Y = np.stack([rng.permutation(problem.y) for _ in range(n_targets)], axis=1)
    weights = np.maximum(rng.normal(size=(gram.shape[0], n_targets)), 0.0)
    candidate = 0.3 * Y + 0.1 * rng.normal(size=Y.shape)
    candidate[0] *= 5.0
    candidate -= candidate.mean(axis=0) * fit_intercept
    many = replace(problem, y=Y, regularizer=BlockL1Each(np.full(n_targets, 2.0)))
    # Half of the dual points must be moved into the domain of the conjugate.
    rho = np.where(np.arange(n_targets) < 2, project_dual(many, candidate), candidate)
    images = gram.matvec(rho)
    forms = np.einsum("mit,it->mt", images, rho)
    f = np.einsum("mit,mt->it", images, weights)
    b = rng.normal(size=n_targets) * fit_intercept
    evaluation = evaluate_multiples(many, rho, weights, forms, f, b)
    worth, certificate, is_reliable = evaluation
    assert is_reliable.all()
    gaps = gap_of(worth, certificate)
    for t in range(n_targets):
        alone = replace(problem, y=Y[:, t].copy())
        optimum = reference_optimum(
            gram.array, alone.y, loss, 2.0, fit_intercept=fit_intercept
        ).objective
        assert certificate.value[t] <= optimum + 1e-6 * optimum
        assert optimum <= worth.objective[t] * (1.0 + 1e-6)
        active = np.flatnonzero(weights[:, t])
        coefs = weights[active, t, None] * rho[:, t]
        objective = primal_value(alone, worth.norms[:, t], f[:, t] + b[t])
        assert worth.objective[t] == pytest.approx(objective, rel=1e-12)
        empty = np.zeros(n_samples)
        solution = Solution(
            empty, worth.norms[:, t], active, coefs, b[[t]], rho[:, t], objective,
            np.nan, 0, Status.MAX_ITER,
        )  # fmt: skip
        # The gap of one target is smaller: a search along the ray finds a better
        # multiple of rho, and dual norms after a projection are exact.
        gap = duality_gap(alone, solution)
        assert gaps[t] >= gap - 1e-9
        if t < 2:
            assert gaps[t] == pytest.approx(gap, rel=1e-3)
        feasible = dual_norms(gram, certificate.dual[:, t])
        assert feasible.max() <= 2.0
