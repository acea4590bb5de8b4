"""Many targets side by side: each is solved for and certified as it is alone."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from tests.reference.conic import reference_optimum

from multikernel.certificates import alpha_max, duality_gap
from multikernel.exceptions import IndefiniteKernelError
from multikernel.gram import (
    ByKernelStack,
    DenseStack,
    LowRankStack,
    PartStack,
    ScaledStack,
)
from multikernel.gram.factors.low_rank import Residual
from multikernel.losses import (
    EpsilonInsensitiveLoss,
    GammaLoss,
    LogisticLoss,
    SquaredLoss,
    weighted,
)
from multikernel.problem import Problem, Status
from multikernel.regularizers import BlockElasticNet, BlockL1
from multikernel.solvers import SpicyMKL
from multikernel.solvers.spicy import newton
from multikernel.solvers.spicy.solver import newton_for

SHARES = (1.1, 0.5, 0.2, 0.02)
LOSSES = [SquaredLoss(), LogisticLoss()]


def make_problems(n_targets=4, loss=None, intercept=True, n=24, n_kernels=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_kernels))
    X[:, -1] = X[:, 0]  # a kernel twice
    squared = (X[:, None] - X[None]) ** 2
    gram = DenseStack(np.ascontiguousarray(np.exp(-np.moveaxis(squared, 2, 0))))
    Y = np.sin(2.0 * X) @ rng.normal(size=(n_kernels, n_targets))
    Y += 0.1 * rng.normal(size=Y.shape) + 0.3
    loss = loss or SquaredLoss()
    if isinstance(loss, LogisticLoss):
        Y = np.where(Y > 0.3, 1.0, -1.0)
    return [Problem(gram, y, loss, BlockL1(1.0), intercept) for y in Y.T.copy()]


def along(problems):
    tops = [alpha_max(problem) for problem in problems]
    return [[BlockL1(share * top) for top in tops] for share in SHARES]


def followed(solver, problems, penalties, callback=None):
    nothing = [None] * len(problems)
    return list(solver.follow_many(problems, penalties, nothing, callback))


def assert_solved(problem, solution, tol):
    assert solution.status is Status.CONVERGED
    assert solution.duality_gap <= tol
    assert duality_gap(problem, solution) <= solution.duality_gap + 2e-9
    alone = SpicyMKL(tol=0.1 * tol).solve(problem)
    lowest = alone.objective * (1.0 - alone.duality_gap)
    assert lowest * (1.0 - 1e-9) <= solution.objective
    assert solution.objective * (1.0 - tol) <= alone.objective
    np.testing.assert_array_equal(solution.active, np.flatnonzero(solution.norms))
    assert len(solution.history) == solution.n_iter + 1
    assert solution.history[-1].duality_gap == solution.duality_gap


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("tol", [1e-2, 1e-7])
def test_paths_are_those_of_every_target_alone(tol, intercept, loss):
    problems = make_problems(loss=loss, intercept=intercept)
    penalties = along(problems)
    solver = SpicyMKL(tol=tol)
    assert solver.supports_many(problems, penalties[0])
    paths = followed(solver, problems, penalties)
    assert len(paths) == len(SHARES)
    for own, found in zip(penalties, paths, strict=True):
        for problem, penalty, solution in zip(problems, own, found, strict=True):
            assert_solved(replace(problem, regularizer=penalty), solution, tol)
    assert all(solution.active.size == 0 for solution in paths[0])
    assert any(solution.active.size > 1 for solution in paths[-1])


@pytest.mark.parametrize(
    ("loss", "name"), [(LOSSES[0], "squared_error"), (LOSSES[1], "log_loss")]
)
def test_optima_are_those_of_conic_programs(loss, name):
    problems = make_problems(2, loss)
    own = along(problems)[2]
    found = followed(SpicyMKL(tol=1e-7), problems, [own])[0]
    for problem, penalty, solution in zip(problems, own, found, strict=True):
        array, y = problem.gram.array, problem.y
        best = reference_optimum(array, y, name, penalty.alpha)
        assert solution.objective == pytest.approx(best.objective, rel=1e-6)


@pytest.mark.parametrize("n_targets", [1, 3])
def test_classes_that_nothing_is_left_between(n_targets):
    # The losses vanish on the way, and dual points come near the ends of their domain.
    problems = make_problems(n_targets, LogisticLoss())
    tops = [alpha_max(problem) for problem in problems]
    shares = np.geomspace(1.0, 1e-6, 30)
    penalties = [[BlockL1(share * top) for top in tops] for share in shares]
    paths = followed(SpicyMKL(tol=1e-5), problems, penalties)
    assert len(paths) == len(shares)
    for own, found in zip(penalties[::4], paths[::4], strict=True):
        for problem, penalty, solution in zip(problems, own, found, strict=True):
            assert_solved(replace(problem, regularizer=penalty), solution, 1e-5)


def test_parts_of_a_stack_are_taken():
    problems, chosen = make_problems(3, LogisticLoss()), np.arange(0, 24, 2)
    gram = PartStack(problems[0].gram, chosen)
    some = [replace(p, gram=gram, y=p.y[chosen]) for p in problems]
    penalties, solver = along(some), SpicyMKL(tol=1e-6)
    assert solver.supports_many(some, penalties[0])
    for own, found in zip(penalties, followed(solver, some, penalties), strict=True):
        for problem, penalty, solution in zip(some, own, found, strict=True):
            assert_solved(replace(problem, regularizer=penalty), solution, 1e-6)


@pytest.mark.parametrize("rank", [3, 8])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_steps_are_the_lowest_of_those_allowed(rank, scale):
    rng = np.random.default_rng(rank)
    for _ in range(50):
        factor = rng.normal(size=(rank, 8)) + rng.normal(size=(rank, 1))
        H = factor.T @ factor + 1e-8 * np.eye(8)
        eta = scale * np.maximum(rng.normal(size=8), 0.0)
        pull = scale * H @ rng.normal(size=8)
        step = newton.nonnegative_step(H, pull, eta)
        slope, size = H @ step - pull, np.abs(pull).max()
        assert (eta + step).min() >= -1e-8 * scale
        assert slope.min() >= -1e-6 * size
        assert np.abs(slope[eta + step > 1e-6 * scale]).max(initial=0.0) <= 1e-6 * size


@pytest.mark.parametrize("order", ["C", "F"])
def test_kernels_that_are_alike_share_a_step_however_they_are_stored(order):
    eta, pull = np.ones(4), np.ones(4)
    step = newton.nonnegative_step(np.ones((4, 4), order=order), pull, eta)
    np.testing.assert_allclose(step, 0.25, rtol=1e-6)


def test_no_kernels_take_no_step():
    assert newton.nonnegative_step(np.zeros((0, 0)), np.zeros(0), np.zeros(0)).size == 0


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("share", [0.3, 0.03, 0.003])
@pytest.mark.parametrize("seed", range(4))
def test_few_steps_lead_from_no_kernels_to_the_optimum(seed, share, loss):
    # Curvatures of the logistic loss vanish where a whole step leads at first.
    (problem,) = make_problems(1, loss, n=60, seed=seed)
    penalty = BlockL1(share * alpha_max(problem))
    problem = replace(problem, regularizer=penalty)
    path = newton.NewtonPath(newton.NewtonState([problem]), 1e-6, 100, None)
    path.begin([None], [penalty])
    (solution,), left = path.solve([penalty])
    assert not left.size
    assert solution.n_iter <= 12
    assert_solved(problem, solution, 1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_of_samples_are_copies(loss):
    copies = np.array([1, 2, 3] * 8)
    once = make_problems(3, loss)
    heavy = [replace(p, loss=weighted(p.loss, copies.astype(float))) for p in once]
    places = np.repeat(np.arange(24), copies)
    gram = DenseStack(np.ascontiguousarray(once[0].gram.array[:, places][:, :, places]))
    often = [replace(p, gram=gram, y=p.y[places]) for p in once]
    penalties = along(heavy)
    solver = SpicyMKL(tol=1e-8)
    assert solver.supports_many(heavy, penalties[0])
    paths = zip(
        followed(solver, heavy, penalties), followed(solver, often, penalties),
        strict=True,
    )  # fmt: skip
    for few, many_samples in paths:
        for one, other in zip(few, many_samples, strict=True):
            assert one.objective == pytest.approx(other.objective, rel=1e-7)
            np.testing.assert_allclose(one.norms.sum(), other.norms.sum(), rtol=1e-2)


@pytest.mark.parametrize("scale", [1e-9, 1e6])
def test_offsets_scales_and_constants(scale):
    problems = make_problems(3)
    problems = [replace(p, y=scale * (p.y + 1e4)) for p in problems]
    problems[1] = replace(problems[1], y=np.full_like(problems[1].y, 1e4 * scale))
    penalties = [
        [BlockL1(share * (alpha_max(p) or scale)) for p in problems] for share in SHARES
    ]
    for own, found in zip(
        penalties, followed(SpicyMKL(tol=1e-4), problems, penalties), strict=True
    ):
        for problem, penalty, solution in zip(problems, own, found, strict=True):
            assert_solved(replace(problem, regularizer=penalty), solution, 1e-4)
        assert found[1].active.size == 0
        assert found[1].intercept == 1e4 * scale


@pytest.mark.parametrize("loss", LOSSES)
def test_what_newton_leaves_goes_on_by_other_steps(monkeypatch, loss):
    problems = make_problems(loss=loss)
    monkeypatch.setattr(newton, "SETTINGS", replace(newton.SETTINGS, most_together=1))
    penalties = along(problems)[1:]
    paths = followed(SpicyMKL(tol=1e-6), problems, penalties)
    for own, found in zip(penalties, paths, strict=True):
        for problem, penalty, solution in zip(problems, own, found, strict=True):
            assert_solved(replace(problem, regularizer=penalty), solution, 1e-6)
    assert max(solution.n_iter for found in paths for solution in found) > 1


@pytest.mark.parametrize("together", [1, 3])
def test_steps_of_both_kinds_are_within_the_limit(monkeypatch, together):
    problems = make_problems()
    changed = replace(newton.SETTINGS, most_together=together)
    monkeypatch.setattr(newton, "SETTINGS", changed)
    found = followed(SpicyMKL(tol=1e-12, max_iter=3), problems, along(problems)[-1:])[0]
    assert max(solution.n_iter for solution in found) == 3


def test_what_fails_at_the_limit_has_taken_no_step_more(monkeypatch):
    problems, solver = make_problems(2), SpicyMKL(tol=1e-12, max_iter=2)

    def fail_at_the_end(self, targets, alphas):
        certify(self, targets, alphas)
        self.failed[targets] |= self.eta[:, targets].any(axis=0) & (rounds[0] == 2)
        rounds[0] += 1

    certify, rounds = newton.NewtonState.certify, [0]
    monkeypatch.setattr(newton.NewtonState, "certify", fail_at_the_end)
    found = followed(solver, problems, along(problems)[-1:])[0]
    assert rounds[0] == 3
    for problem, penalty, solution in zip(
        problems, along(problems)[-1], found, strict=True
    ):
        assert solution.status is Status.MAX_ITER
        assert solution.n_iter == 2
        gap = duality_gap(replace(problem, regularizer=penalty), solution)
        assert gap <= solution.duality_gap + 2e-9


def test_a_limit_is_a_limit():
    problems = make_problems()
    found = followed(SpicyMKL(tol=1e-8, max_iter=1), problems, along(problems)[-1:])[0]
    for problem, penalty, solution in zip(
        problems, along(problems)[-1], found, strict=True
    ):
        assert solution.status is Status.MAX_ITER
        assert solution.n_iter == 1
        gap = duality_gap(replace(problem, regularizer=penalty), solution)
        assert 1e-8 < gap <= solution.duality_gap + 2e-9


def test_a_callback_stops_all_targets():
    problems, lines = make_problems(), []

    def callback(line):
        lines.append(line)
        return len(lines) == 2

    paths = followed(SpicyMKL(tol=1e-8), problems, along(problems)[1:], callback)
    assert len(paths) == 1
    assert len(lines) == len(problems)
    assert all(solution.status is Status.STOPPED for solution in paths[0])


@pytest.mark.parametrize("loss", LOSSES)
def test_starts_are_used(loss):
    problems = make_problems(loss=loss)
    own = along(problems)[2]
    solver = SpicyMKL(tol=1e-6)
    cold = next(solver.follow_many(problems, [own], [None] * 4))
    warm_parameters = next(solver.follow_many(problems, [own], cold))
    assert all(solution.n_iter == 0 for solution in warm_parameters)
    assert all(solution.n_iter > 1 for solution in cold)


def test_an_indefinite_matrix_is_named():
    problems = make_problems()
    array = problems[0].gram.array.copy()
    array[1] -= 4.0 * np.eye(24)
    problems = [replace(p, gram=DenseStack(array)) for p in problems]
    gram = problems[0].gram
    problems = [replace(p, gram=gram) for p in problems]
    with pytest.raises(IndefiniteKernelError):
        followed(SpicyMKL(tol=1e-6), problems, [[BlockL1(0.1)] * 4])


def test_what_is_taken_side_by_side():
    problems, solver = make_problems(), SpicyMKL()
    penalties = along(problems)[0]
    assert solver.supports_many(problems, penalties)
    scaled = ScaledStack(problems[0].gram, np.full(5, 2.0))
    assert solver.supports_many([replace(p, gram=scaled) for p in problems], penalties)
    assert solver.supports_many(problems[:1], penalties[:1])
    assert not solver.supports_many(problems, [BlockElasticNet(0.1, 0.5)] * 4)
    others = [replace(p, loss=EpsilonInsensitiveLoss(0.1)) for p in problems]
    assert not solver.supports_many(others, penalties)
    factors = LowRankStack(np.eye(24)[:, :4], np.array([0, 1, 4]))
    thin = [replace(p, gram=factors) for p in problems]
    assert solver.supports_many(thin, penalties)
    # One with few samples for each of the columns, here six.
    assert solver.supports_many(thin[:1], penalties[:1])
    thinner = replace(problems[0], gram=factors.take(np.array([0])))
    assert not solver.supports_many([thinner], penalties[:1])
    rough = LowRankStack(
        np.eye(24)[:, :4],
        np.array([0, 1, 4]),
        residual=Residual(np.full((2, 24), 0.1), np.zeros(2)),
    )
    left = [replace(p, gram=rough) for p in problems]
    assert not solver.supports_many(left, penalties)
    heavy = weighted(SquaredLoss(), np.arange(1.0, 25.0))
    mixed = [replace(problems[0], loss=heavy), *problems[1:]]
    assert not solver.supports_many(mixed, penalties)
    # They are solved for one by one then.
    ways = zip(mixed, along(mixed)[1], strict=True)
    found = [next(SpicyMKL(tol=1e-6).follow(p, [penalty])) for p, penalty in ways]
    for problem, penalty, solution in zip(mixed, along(mixed)[1], found, strict=True):
        assert_solved(replace(problem, regularizer=penalty), solution, 1e-6)


def left_of_landmarks(problem, n_landmarks):
    """Return the problem on factors of some samples, and what these leave."""
    factors, roots = [], []
    for K in problem.gram.array:
        triangle = np.linalg.cholesky(K[:n_landmarks, :n_landmarks])
        factors.append(np.linalg.solve(triangle, K[:n_landmarks]).T)
        left = K.diagonal() - (factors[-1] ** 2).sum(axis=1)
        roots.append(np.sqrt(np.maximum(left, 0.0) + 1e-14))
    residual = Residual(np.array(roots), np.zeros(len(roots)))
    offsets = n_landmarks * np.arange(len(roots) + 1)
    gram = LowRankStack(np.hstack(factors), offsets, residual=residual)
    return replace(problem, gram=gram)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("n_landmarks", [6, 10])
def test_a_proof_is_for_the_kernels_that_factors_stand_for(loss, whole, n_landmarks):
    (problem,) = make_problems(1, loss, n=60)
    gram = left_of_landmarks(problem, n_landmarks).gram
    if whole:
        is_whole = np.arange(5) == 3
        first, others = problem.gram.take(np.array([3])), np.flatnonzero(~is_whole)
        gram = ByKernelStack(first, gram.take(others), is_whole)
    near = replace(problem, gram=gram)
    penalties = along([near])[1:]
    assert SpicyMKL().supports_many([near], penalties[0])
    for penalty, (solution,) in zip(
        penalties, followed(SpicyMKL(tol=1e-4), [near], penalties), strict=True
    ):
        # Feasible for the kernels themselves, which the factors alone do not see.
        alpha = penalty[0].alpha
        full = np.sqrt(problem.gram.quadratic_forms(solution.dual))
        assert full.max() <= alpha * (1.0 + 1e-9)
        lowest = -problem.loss.conjugate(problem.y, -solution.dual).sum()
        proved = (solution.objective - lowest) / solution.objective
        assert solution.duality_gap == pytest.approx(proved, rel=0.05, abs=1e-8)
        assert solution.steps[0] == "newton_in_weights"


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", [True, False])
def test_factors_are_solved_for_as_matrices_are(loss, intercept):
    (problem,) = make_problems(1, loss, intercept)
    Z = [np.linalg.cholesky(K + 1e-10 * np.eye(24)) for K in problem.gram.array]
    gram = LowRankStack(np.hstack(Z), 24 * np.arange(6))
    thin = replace(problem, gram=gram)
    penalties = along([thin])
    for penalty, (solution,) in zip(
        penalties, followed(SpicyMKL(tol=1e-7), [thin], penalties), strict=True
    ):
        assert solution.steps == ("newton_in_weights",)
        assert_solved(replace(thin, regularizer=penalty[0]), solution, 1e-7)


def test_steps_on_factors_need_no_matrix_of_all_samples():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(1500, 200))
    gram = LowRankStack(np.asfortranarray(Z), 40 * np.arange(6))
    y = np.where(Z[:, 0] > 0.0, 1.0, -1.0)
    problem = Problem(gram, y, LogisticLoss(), BlockL1(20.0))
    tracemalloc.start()
    solution = SpicyMKL(tol=1e-2).solve(problem)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert solution.steps[0] == "newton_in_weights"
    assert peak < 8 * 1500**2


def test_more_kernels_than_samples_are_solved_one_by_one():
    # Their weights are not told apart, and go on changing sides.
    for n_samples, together in ((11, False), (12, True)):
        problems = make_problems(2, n=n_samples, n_kernels=12)
        assert (newton_for(problems) is not None) is together


@pytest.mark.parametrize("n_targets", [1, 2])
def test_a_matrix_that_is_no_kernel_is_named_though_no_target_uses_it(n_targets):
    problems = make_problems(n_targets)
    matrices = [*problems[0].gram.array, -np.eye(24)]
    gram = DenseStack(np.ascontiguousarray(matrices))
    problems = [replace(problem, gram=gram) for problem in problems]
    penalties = [[BlockL1(3.0)] * n_targets]
    with pytest.raises(IndefiniteKernelError):
        followed(SpicyMKL(), problems, penalties)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("last", [1, 2, 3, 5])
def test_what_is_stopped_is_a_model_on_any_scale(last, loss):
    problems = make_problems(2, loss)
    gram = DenseStack(1e250 * problems[0].gram.array)
    problems = [replace(problem, gram=gram) for problem in problems]
    lines = []

    def stop(line):
        lines.append(line)
        return len(lines) >= last

    penalties = [[BlockL1(share * 1e125)] * 2 for share in (0.1, 0.01)]
    for point in followed(SpicyMKL(), problems, penalties, stop):
        for solution in point:
            assert np.isfinite(solution.objective)
            assert np.isfinite(solution.duality_gap)
            assert np.isfinite(solution.coefs).all()


def test_steps_that_lead_nowhere_are_given_up_early(monkeypatch):
    # Weights of many products of columns go to and fro.
    rng = np.random.default_rng(3)
    X = rng.normal(size=(130, 40))
    y = np.sin(2.0 * X[:, :5]).sum(axis=1) + 0.5 * rng.normal(size=130)
    gram = DenseStack(np.ascontiguousarray(np.einsum("im,jm->mij", X, X)))
    problem = Problem(gram, y, SquaredLoss(), BlockL1(1.0))
    problem = replace(problem, regularizer=BlockL1(0.003 * alpha_max(problem)))
    taken, finish = [], newton.NewtonPath.finish_target

    def watched(path, solve, t, penalty, found):
        taken.append(found.n_iter)
        return finish(path, solve, t, penalty, found)

    monkeypatch.setattr(newton.NewtonPath, "finish_target", watched)
    solution = SpicyMKL(tol=1e-6).solve(problem)
    assert_solved(problem, solution, 1e-6)
    assert taken
    assert max(taken) < newton.SETTINGS.most_together


def test_roots_that_do_not_fit_in_memory_are_not_stored(monkeypatch):
    problems = make_problems(loss=LogisticLoss())
    penalties, solver = along(problems), SpicyMKL(tol=1e-9)
    stored = followed(solver, problems, penalties)
    monkeypatch.setattr(newton, "SETTINGS", replace(newton.SETTINGS, roots_bytes=1))
    for expected, solutions in zip(
        stored, followed(solver, problems, penalties), strict=True
    ):
        for one, other in zip(expected, solutions, strict=True):
            assert one.n_iter == other.n_iter
            np.testing.assert_allclose(other.objective, one.objective, rtol=1e-8)


def test_targets_of_the_squared_loss_store_no_roots():
    # They would take n_samples**2 numbers per target, and no step uses them.
    problems = make_problems()
    penalties = along(problems)[-1]
    path = newton.NewtonPath(newton.NewtonState(problems), 1e-6, 100, None)
    path.begin([None] * len(problems), penalties)
    path.solve(penalties)
    tangents = path.state.tangents.values()
    assert len(tangents) == len(problems)
    assert all(tangent.root is None for tangent in tangents)


@pytest.mark.parametrize("factor", [1e8, -1e8])
def test_a_model_of_other_targets_is_a_start(factor):
    (problem,) = make_problems(1, seed=1)
    problem = replace(problem, y=np.exp(problem.y), loss=GammaLoss())
    problem = replace(problem, regularizer=BlockL1(0.1 * alpha_max(problem)))
    solution = SpicyMKL(tol=1e-6).solve(problem)
    start = replace(solution, coefs=factor * solution.coefs)
    assert_solved(problem, SpicyMKL(tol=1e-6).solve(problem, start), 1e-6)
