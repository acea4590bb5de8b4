"""Interactions in factors: equal to plain products, and below the kernels by bounds."""

import numpy as np
import pytest
from reference.interactions import interactions_of
from sklearn.base import clone

from multikernel import SpicyMKLClassifier, SpicyMKLRegressor
from multikernel.gram import (
    DenseStack,
    LowRank,
    ProductStack,
    Refinement,
    build_part,
    build_stack,
)
from multikernel.gram.factors import centered
from multikernel.gram.refine import refined
from multikernel.kernels import (
    CategoryKernel,
    ColumnKernel,
    GaussianKernel,
    Interactions,
    LinearKernel,
    ListDictionary,
)
from multikernel.testing import check_gram_stack

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 4))
KERNELS = ListDictionary(
    [
        ColumnKernel(GaussianKernel(1.0), 0),
        ColumnKernel(LinearKernel(), 1),
        GaussianKernel(1.0),
        ColumnKernel(GaussianKernel(0.5), 2),
        ColumnKernel(GaussianKernel(2.0), (1, 3)),
    ]
)


def dictionary(weights=None, mains=True, X=X):
    return interactions_of(KERNELS, X, weights, Interactions(mains=mains))


def factored(options, weights=None, normalize=None, mains=True):
    given = {"normalize": normalize, "sample_weight": weights, "storage": options}
    built = build_stack(dictionary(weights, mains), X, **given)
    assert not isinstance(built.stack, DenseStack | ProductStack)
    return built.stack


def whole(normalize=None, weights=None, mains=True):
    built = build_stack(
        dictionary(weights, mains),
        X,
        normalize=normalize,
        sample_weight=weights,
        storage="dense",
    )
    return built.stack.columns(np.arange(len(X)))


@pytest.mark.parametrize("mains", [True, False])
@pytest.mark.parametrize("normalize", [None, "variance"])
def test_equal_to_whole_products(mains, normalize):
    weights = RNG.integers(1, 4, len(X)).astype(float)
    exact = LowRank(tol=0.0, first=len(X))
    stack = factored(exact, weights, normalize, mains)
    check_gram_stack(stack, whole(normalize, weights, mains))


@pytest.mark.parametrize("max_rank", [2, 6, 15])
@pytest.mark.parametrize("used", [False, True], ids=["mains alone", "products made"])
def test_forms_and_bounds_enclose_the_whole_kernels(max_rank, used, monkeypatch):
    monkeypatch.setattr("multikernel.gram.factors.centered.SAMPLED", 8)
    stack = factored(LowRank(max_rank=max_rank, first=max_rank))
    K = whole()
    rows = np.sort(RNG.permutation(len(X))[:25])
    built = build_part(stack, rows)
    for part, own in ((stack, K), (built.stack, K[:, rows][:, :, rows])):
        taken = part.take(np.arange(len(K))) if used else part
        for outputs in ((), (2,)):
            for trial in range(20):
                rho = RNG.standard_t(2, size=(len(own[0]), *outputs))
                # On few samples bounds are nearest to what is left.
                rho[trial + 1 :] = 0.0
                columns = rho.reshape(len(rho), -1)
                forms = np.einsum("it,mij,jt->m", columns, own, columns)
                size = 1e-9 * np.abs(forms).max()
                for each in (part, taken):
                    below = each.quadratic_forms(rho)
                    assert np.all(below <= forms + size)
                    assert np.all(below + each.residual_bounds(rho) >= forms - size)


def test_bounds_are_far_from_zero_where_much_is_left():
    stack = factored(LowRank(max_rank=2, first=2))
    rho = RNG.normal(size=len(X))
    left = whole() @ rho @ rho - stack.quadratic_forms(rho)
    assert left.max() > 1.0
    assert np.all(stack.full_forms(np.arange(len(left)), rho) >= 0.0)
    np.testing.assert_allclose(
        stack.full_forms(np.arange(len(left)), rho), whole() @ rho @ rho, rtol=1e-8
    )


def test_refinement_meets_its_goals():
    stack, rho = factored(LowRank(max_rank=40, first=4)), RNG.normal(size=len(X))
    stack.take(np.arange(stack.shape[0]))
    before = stack.residual_bounds(rho)
    assert before[-1] > 1.0
    finer = stack
    while finer.residual_bounds(rho)[-1] > 1e-6:
        finer = refined(finer, Refinement(rho, {len(before) - 1: 1e-6}))
        finer.take(np.arange(stack.shape[0]))
    K = finer.columns(np.arange(len(X)))
    np.testing.assert_allclose(K[-1], whole()[-1], atol=1e-5)


@pytest.mark.parametrize("first", [3, 200])
@pytest.mark.parametrize("model", [SpicyMKLRegressor, SpicyMKLClassifier])
def test_the_published_gap_is_over_the_whole_kernels(first, model):
    y = X[:, 0] * X[:, 2] + np.sin(X[:, 1])
    y = y > 0.0 if model is SpicyMKLClassifier else y
    one = model(Interactions(KERNELS), alpha=0.02, normalize=None, tol=1e-4)
    exact = clone(one).set_params(storage="dense", tol=1e-8).fit(X, y)
    one.set_params(storage=LowRank(first=first)).fit(X, y)
    assert one.duality_gap_ <= 1e-4
    excess = one.objective_ / exact.objective_ - 1.0
    assert -1e-7 <= excess <= 1e-4
    new = RNG.normal(size=(9, 4))
    values = [getattr(m, "decision_function", m.predict)(new) for m in (one, exact)]
    np.testing.assert_allclose(*values, atol=0.02)


@pytest.mark.parametrize("tol", [1e-2, 1e-6])
def test_few_landmarks_are_those_of_lapack(tol):
    rng = np.random.default_rng(0)
    A = np.exp(-np.abs(rng.normal(size=(6, 300)))) * 0.3 ** np.arange(6)[:, None]
    B = rng.normal(size=(5, 300)) * 0.3 ** np.arange(5)[:, None]
    few, triangle = centered._greedy_landmarks(A, B, tol)
    many, other = centered._lapack_landmarks(A, B, tol)
    np.testing.assert_array_equal(few, many)
    np.testing.assert_allclose(triangle, other, atol=1e-12)
    K = (A.T @ A) * (B.T @ B)
    left = np.trace(K) - np.sum(np.linalg.solve(triangle, K[few]) ** 2)
    assert left <= tol * np.trace(K) * (1.0 + 1e-9)


def test_many_landmarks_are_left_to_lapack():
    A = np.eye(40)
    assert centered._greedy_landmarks(A, A, 1e-6) is None
    assert centered.product_landmarks(A, A, 1e-6)[0].size == 40
    nothing = centered.product_landmarks(np.zeros((2, 40)), A[:2], 1e-6)
    assert nothing[0].size == 0


CODES = np.floor(np.random.default_rng(1).random((60, 4)) * [2, 3, 5, 4])
COARSE = ListDictionary(
    [
        *(ColumnKernel(GaussianKernel(1.0), c) for c in range(3)),
        ColumnKernel(CategoryKernel(), 3),
        ColumnKernel(LinearKernel(), 2),
    ]
)


def coded(weights=None, storage="low_rank"):
    kernels = interactions_of(COARSE, CODES, weights, Interactions())
    return build_stack(kernels, CODES, sample_weight=weights, storage=storage)


@pytest.mark.parametrize("weighted", [False, True])
def test_columns_of_few_values_leave_nothing(weighted, monkeypatch):
    monkeypatch.setattr(centered, "TILE", 3)
    weights = RNG.integers(0, 3, len(CODES)).astype(float) if weighted else None
    stack, K = coded(weights).stack, coded(weights, "dense").stack
    every = K.columns(np.arange(len(CODES)))
    check_gram_stack(stack, every)
    # A centered table of c values has rank c - 1.
    assert stack.mains.stack.ranks.tolist() == [1, 2, 4, 3, 1]
    assert not stack.residual_bounds(RNG.normal(size=len(CODES))).any()
    taken = stack.take(np.arange(len(every)))
    assert taken.ranks.max() == 12
    assert not taken.residual_bounds(RNG.normal(size=len(CODES))).any()


def test_models_of_few_values_predict_alike():
    y = (CODES[:, 1] > 1) * (CODES[:, 2] - 2.0) + 0.1 * RNG.normal(size=len(CODES))
    new = np.vstack([CODES[:3], [0.5, 1.0, 2.5, 7.0]])
    one = SpicyMKLRegressor(Interactions(COARSE), 0.02, tol=1e-6, storage="low_rank")
    other = clone(one).set_params(storage="dense").fit(CODES, y)
    one.fit(CODES, y)
    assert one.objective_ == pytest.approx(other.objective_, rel=2e-6)
    np.testing.assert_allclose(one.predict(new), other.predict(new), atol=5e-3)


def test_equal_rows_are_stored_once(monkeypatch):
    monkeypatch.setattr(centered, "SAMPLED", 300)
    table = np.floor(np.random.default_rng(2).random((400, 4)) * [2, 3, 5, 4])
    kernels = interactions_of(COARSE, table, None, Interactions())
    stack = build_stack(kernels, table, storage="low_rank").stack
    kernels_used = np.array([1, 2, stack.shape[0] - 1])
    matrices = stack.columns(np.arange(400))[kernels_used]
    for factor, K in zip(stack.own_factors(kernels_used), matrices, strict=True):
        assert factor.rows.shape[1] < 50
        Z = factor.rows_of(np.arange(400)).T
        np.testing.assert_allclose(Z @ Z.T, K, atol=1e-8 * np.abs(K).max())
        v = RNG.normal(size=400)
        np.testing.assert_allclose(factor.times(factor.inner(v)), K @ v, atol=1e-6)
