"""Factors by landmarks: what they leave is bounded, and a proof stays one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from multikernel.certificates import (
    certify,
    dual_norms,
    duality_gap,
    evaluate,
    evaluate_terms,
    project_dual,
    prove_over_full_kernels,
    relative_gap,
)
from multikernel.exceptions import StackTooLargeError
from multikernel.gram import (
    DenseStack,
    LowRank,
    Refinement,
    build_part,
    build_stack,
)
from multikernel.gram.refine import refined
from multikernel.kernels import (
    ColumnKernel,
    GaussianKernel,
    LinearKernel,
    ListDictionary,
    PolynomialKernel,
)
from multikernel.losses import HingeLoss, LogisticLoss, SquaredLoss
from multikernel.problem import Problem, Solution, Status
from multikernel.regularizers import BlockElasticNet, BlockL1, SquaredBlockNorm

DICTIONARY = ListDictionary(
    [
        ColumnKernel(GaussianKernel(0.5), 0),
        GaussianKernel(1.0),
        GaussianKernel(20.0),
        LinearKernel(),
        ColumnKernel(PolynomialKernel(2), 1),
        PolynomialKernel(5),
    ]
)
NORMALIZE = [
    None,
    "trace",
    "variance",
    "cosine",
    "center",
    ("cosine", "center", "trace"),
]


def samples(n=40, seed=0):
    return np.random.default_rng(seed).standard_normal((n, 3))


def capped(X, normalize=None, rank=5, weights=None):
    options = LowRank(first=rank, max_rank=rank)
    return build_stack(
        DICTIONARY, X, normalize=normalize, sample_weight=weights, storage=options
    )


def whole(X, built, normalize=None):
    """Return the full kernels in the scale, and centered by the means, of a stack."""
    raw = build_stack(DICTIONARY, X, storage="dense").stack.array
    marks = built.stack.landmarks
    if marks.cosine:
        roots = np.sqrt(np.einsum("mii->mi", raw))
        raw = raw / roots[:, :, None] / roots[:, None, :]
    if any(kernel.shift is not None for kernel in marks.kernels):
        C = np.eye(len(X)) - np.outer(np.ones(len(X)), marks.weights)
        raw = C @ raw @ C.T
    return marks.scales[:, None, None] * raw


@pytest.mark.parametrize("normalize", NORMALIZE)
def test_what_is_left_is_semidefinite_and_bounded(normalize):
    X, rng = samples(), np.random.default_rng(1)
    built = capped(X, normalize, weights=rng.uniform(0.5, 2.0, 40))
    full = whole(X, built)
    left = full - built.stack.columns(np.arange(40))
    lowest = np.linalg.eigvalsh(left)[:, 0]
    assert np.all(lowest > -1e-9 * np.einsum("mii->m", full))
    for shape in ((40,), (40, 3)):
        v = rng.standard_normal(shape)
        columns = v.reshape(40, -1)
        forms = np.einsum("ik,mij,jk->m", columns, left, columns)
        bounds = built.stack.residual_bounds(v)
        rounding = 1e-12 * np.einsum("mii->m", full) * np.sum(v * v)
        assert np.all(bounds >= forms - rounding)
        # Not in vain: the bound is of the size of what is left, and zero of features.
        sizes = np.einsum("mii->m", left) * np.sum(v * v)
        assert np.all(bounds <= 4.0 * sizes + 100.0 * rounding)
        assert np.all(bounds[3:5] == 0.0)


def test_the_diagonal_that_is_left_is_known():
    X = samples()
    built = capped(X)
    left = whole(X, built) - built.stack.columns(np.arange(40))
    error = built.stack.residual.roots**2 - np.einsum("mii->mi", left)
    size = np.einsum("mii->mi", whole(X, built))
    assert np.all(np.abs(error) <= 1e-13 * size)


@pytest.mark.parametrize("normalize", NORMALIZE)
def test_forms_of_full_kernels(normalize):
    X, v = samples(), np.random.default_rng(2).standard_normal((40, 2))
    built = capped(X, normalize)
    expected = np.einsum("ik,mij,jk->m", v, whole(X, built), v)
    found = built.stack.full_forms(np.arange(6), v)
    known = np.isfinite(found)
    np.testing.assert_allclose(found[known], expected[known], rtol=1e-9)
    assert known[:3].all()


@pytest.mark.parametrize("normalize", NORMALIZE)
def test_high_ranks_give_the_dense_matrices(normalize):
    X = samples()
    thin = build_stack(DICTIONARY, X, normalize=normalize, storage="low_rank")
    full = build_stack(DICTIONARY, X, normalize=normalize, storage="dense").stack
    K = full.columns(np.arange(40))
    error = np.abs(thin.stack.columns(np.arange(40)) - K)
    assert error.max() <= 2e-6 * np.abs(K).max()


def test_a_kernel_of_ones_own_is_asked_for_columns_only():
    class Counting:
        asked = 0

        def __call__(self, X, Y=None):
            assert Y is not None
            assert len(Y) == 1
            self.asked += 1
            return np.exp(-0.5 * (X - Y.T) ** 2)

        def diag(self, X):
            return np.ones(len(X))

    kernel, X = Counting(), samples()[:, :1]
    stack = build_stack(ListDictionary([kernel]), X, storage="low_rank").stack
    assert kernel.asked == stack.ranks[0] < 20
    np.testing.assert_allclose(
        stack.columns(np.arange(40))[0], GaussianKernel(1.0)(X), atol=1e-6
    )


def test_a_zero_kernel_is_degenerate():
    built = build_stack(
        ListDictionary([LinearKernel()]), np.zeros((5, 2)), storage="low_rank"
    )
    np.testing.assert_array_equal(built.degenerate, [0])


def test_refinement_keeps_scales_and_reaches_its_goals():
    rng = np.random.default_rng(3)
    X, v = samples(), rng.standard_normal(40)
    v -= v.mean()
    options = LowRank(first=4, max_rank=35)
    built = build_stack(DICTIONARY, X, normalize=("center", "trace"), storage=options)
    before = built.stack.residual_bounds(v)
    goals = {0: 0.01 * before[0], 2: 1e-30}
    finer = replace(built, stack=refined(built.stack, Refinement(v, goals)))
    after = finer.stack.residual_bounds(v)
    assert after[0] <= 0.01 * before[0]
    np.testing.assert_array_equal(after[[1, 3, 4, 5]], before[[1, 3, 4, 5]])
    np.testing.assert_array_equal(
        finer.stack.landmarks.scales, built.stack.landmarks.scales
    )
    left = whole(X, finer) - finer.stack.columns(np.arange(40))
    assert np.all(np.linalg.eigvalsh(left)[:, 0] > -1e-9)
    # The diagonal of a centered residual is not known, but that before it was centered.
    w = rng.standard_normal(40)
    w -= w.mean()
    forms = np.einsum("i,mij,j->m", w, left, w)
    assert np.all(finer.stack.residual_bounds(w) >= forms - 1e-10)
    assert finer.stack.ranks.max() <= 35


def test_parts_keep_the_landmarks_of_all_samples():
    X, chosen = samples(), np.arange(0, 40, 2)
    rng = np.random.default_rng(4)
    part = build_part(capped(X).stack, chosen, normalize="variance")
    full = whole(X[chosen], part)
    left = full - part.stack.columns(np.arange(20))
    assert np.linalg.eigvalsh(left)[:, 0].min() > -1e-9
    v = rng.standard_normal(20)
    assert np.all(part.stack.residual_bounds(v) >= v @ left @ v - 1e-9)
    more = replace(part.stack.landmarks, options=LowRank(first=10, max_rank=40))
    part = replace(part, stack=replace(part.stack, landmarks=more))
    finer = replace(
        part, stack=refined(part.stack, Refinement(v, {0: 1e-30, 1: 1e-30}))
    )
    left = whole(X[chosen], finer) - finer.stack.columns(np.arange(20))
    assert np.linalg.eigvalsh(left)[:, 0].min() > -1e-9
    # Coefficients over landmarks are those over samples, also where new ones joined.
    for m in (0, 1, 3):
        c = rng.standard_normal((20, 2))
        values, constant = finer.stack.landmarks.coefficients(finer.stack, m, c)
        images = finer.stack.columns(np.arange(20))[m] @ c
        if finer.stack.landmarks.kernels[m].chosen.size:
            K = DICTIONARY[m](X[chosen], X[finer.stack.landmarks.kernels[m].chosen])
        else:
            K = X[chosen]
        np.testing.assert_allclose(K @ values + constant, images, atol=1e-7)


@pytest.mark.parametrize("normalize", NORMALIZE)
@pytest.mark.parametrize("tol", [1e-8, 1e-3])
def test_factors_are_completed_as_column_by_column(normalize, tol, monkeypatch):
    X, rng = samples(60), np.random.default_rng(5)
    X[1] = X[0]
    weights, v = rng.uniform(0.5, 2.0, 60), rng.standard_normal(60)
    how = {"normalize": normalize, "sample_weight": weights}
    options = LowRank(first=60, tol=tol)
    at_once = build_stack(DICTIONARY, X, **how, storage=options)
    monkeypatch.setattr("multikernel.gram.factors.growth.COMPLETED", 0)
    one_by_one = build_stack(DICTIONARY, X, **how, storage=options)
    monkeypatch.undo()
    # Pivots that are equal but for rounding may be taken in another order.
    assert np.abs(at_once.stack.ranks - one_by_one.stack.ranks).max() <= 2
    assert at_once.stack.ranks[1] > 32  # it was completed
    assert at_once.stack.ranks[0] < 60  # and cut where the goal was met
    full = whole(X, at_once)
    trace = np.einsum("mii->m", full)
    left = full - at_once.stack.columns(np.arange(60))
    diagonal = at_once.stack.residual.roots**2
    error = np.abs(diagonal - np.einsum("mii->mi", left)).max(axis=1)
    # The residual of a centered kernel is centered as well, its diagonal a bound.
    assert at_once.stack.landmarks.centered or np.all(error <= 1e-12 * trace)
    few = build_stack(DICTIONARY, X, **how, storage=LowRank(first=4, max_rank=60))
    finer = replace(
        few, stack=refined(few.stack, Refinement(v, dict.fromkeys(range(3), 1e-30)))
    )
    left = whole(X, finer) - finer.stack.columns(np.arange(60))
    assert np.abs(left[:3]).max() <= 1e-10 * trace.max()
    # What predicts is read from the factors.
    C = rng.standard_normal((60, 2))
    values, constant = finer.stack.landmarks.coefficients(finer.stack, 1, C)
    images = finer.stack.columns(np.arange(60))[1] @ C
    chosen = finer.stack.landmarks.kernels[1].chosen
    assert finer.stack.landmarks.kernels[1].triangle is None
    K = DICTIONARY[1](X, X[chosen])  # a Gaussian is its own cosine
    np.testing.assert_allclose(K @ values + constant, images, atol=1e-6)


def test_parts_are_completed_beside_landmarks_of_others():
    X, chosen = samples(), np.arange(0, 40, 2)
    few = capped(X, rank=10).stack
    part = build_part(few, chosen, normalize="trace")
    other = build_part(few, chosen + 1)
    assert (
        part.stack.landmarks.kernels[1].triangle
        is other.stack.landmarks.kernels[1].triangle
    )
    options = LowRank(first=10, max_rank=40)
    marks = replace(part.stack.landmarks, options=options)
    part = replace(part, stack=replace(part.stack, landmarks=marks))
    v = np.ones(20)
    finer = replace(
        part, stack=refined(part.stack, Refinement(v, {0: 1e-30, 1: 1e-30}))
    )
    left = whole(X[chosen], finer) - finer.stack.columns(np.arange(20))
    assert np.abs(left[:2]).max() <= 1e-10
    assert finer.stack.ranks[1] >= 20


def test_the_limit_on_bytes():
    with pytest.raises(StackTooLargeError, match=r"of 6 kernels on 40 samples would"):
        build_stack(DICTIONARY, samples(), max_bytes=1000, storage="low_rank")


PENALTIES = (BlockL1, lambda a: BlockElasticNet(a, 0.5), lambda a: SquaredBlockNorm(a))
LOSSES = (LogisticLoss(), HingeLoss(), SquaredLoss())


def check_gaps(seed, rank, normalize, penalty, loss, outputs):
    """Hold the gap over the full kernels to the exact one, at random points."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 25))
    X = samples(n, seed)
    built = capped(X, normalize, rank)
    stack = built.stack
    full = DenseStack(whole(X, built))
    y = np.sign(rng.standard_normal((n, outputs) if outputs > 1 else n))
    # Dual points near those of a solution: of the loss at a small model.
    dual = np.where(y > 0, 1.0, -1.0) * rng.uniform(0.0, 1.0, y.shape)
    active = np.sort(rng.permutation(6)[:2])
    coefs = 0.1 * rng.standard_normal((2, *y.shape))
    alpha = float(rng.uniform(0.05, 1.0)) * n
    b = rng.standard_normal(outputs)
    regularizer = PENALTIES[penalty](alpha)
    thin = Problem(stack, y, LOSSES[loss], regularizer)
    dense = Problem(full, y, LOSSES[loss], regularizer)
    nothing = np.zeros(6)
    bound = duality_gap(
        thin,
        Solution(nothing, nothing, active, coefs, b, dual, 0.0, 0.0, 0, Status.STOPPED),
    )
    terms = evaluate_terms(stack, active, coefs, np.ones(2))
    objective = evaluate(thin, active, terms, b).objective
    norms = np.zeros(6)
    norms[active] = terms.norms
    rho = project_dual(dense, dual)
    proof = certify(dense, rho, norms, dual_norms(full, rho))
    assert bound >= relative_gap(objective, proof.value) - 1e-7
    if normalize in (None, "trace", "variance"):
        # Over the full kernels the same functions are expansions over landmarks.
        over = np.stack(
            [landmark_coefs(built, m, c) for m, c in zip(active, coefs, strict=True)]
        )
        same = evaluate_terms(full, active, over, np.ones(2))
        np.testing.assert_allclose(same.norms, terms.norms, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(same.f, terms.f, rtol=1e-5, atol=1e-7)


def landmark_coefs(built, m, coefs):
    """Return the expansion over the samples that has landmarks only."""
    stack, marks = built.stack, built.stack.landmarks
    if not marks.kernels[m].chosen.size or not marks.scales[m]:
        return coefs
    values, _ = marks.coefficients(stack, m, coefs.reshape(len(coefs), -1))
    over = np.zeros_like(coefs)
    # The kernels of the dense stack are scaled, those of the model are not.
    over[marks.kernels[m].chosen] = (values / marks.scales[m]).reshape(
        -1, *coefs.shape[1:]
    )
    return over


CASES = {
    "seed": st.integers(0, 10**6),
    "rank": st.integers(1, 8),
    "normalize": st.sampled_from([None, "trace", "variance", ("center", "trace")]),
    "penalty": st.integers(0, 2),
    "loss": st.integers(0, 2),
    "outputs": st.integers(1, 3),
}


@given(**CASES)
@settings(max_examples=25)
def test_gaps_are_never_below_the_exact_ones(**case):
    check_gaps(**case)


@pytest.mark.slow
@given(**CASES)
@settings(max_examples=1000)
def test_gaps_of_many_problems(**case):
    check_gaps(**case)


class Loose(DenseStack):
    """A stack whose bounds are far above what it leaves, which is nothing."""

    def residual_bounds(self, v):
        return np.full(self.shape[0], 1e10)

    def full_forms(self, kernels, v):
        return self.quadratic_forms(v)[kernels]


def test_kernels_of_which_nothing_is_left_are_no_goals():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((3, 20, 4))
    stack = Loose(Z @ Z.transpose(0, 2, 1))
    problem = Problem(stack, rng.standard_normal(20), SquaredLoss(), BlockL1(5.0))
    rho = project_dual(problem, problem.y)
    forms = stack.quadratic_forms(rho)
    with np.errstate(all="raise"):
        proof = prove_over_full_kernels(problem, rho, forms, np.zeros(3), 1e-6)
    assert not proof.goals
    exact = certify(problem, rho, np.zeros(3), np.sqrt(forms))
    assert proof.certificate.value == pytest.approx(exact.value, rel=1e-12)
