"""Normalisation: what each step promises, weights, new samples, kernels of zero."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from multikernel.gram import build_stack, cross_gram
from multikernel.gram.normalization import check_steps, empty_normalization
from multikernel.kernels import (
    ColumnKernel,
    GaussianKernel,
    LinearKernel,
    ListDictionary,
    PolynomialKernel,
)

DICTIONARY = ListDictionary(
    [GaussianKernel(1.5), LinearKernel(), ColumnKernel(PolynomialKernel(2), 0)]
)
CHAINS = [
    "trace",
    "variance",
    "cosine",
    "center",
    ("center", "trace"),
    ("cosine", "center", "variance"),
    ("center", "cosine"),
]


@pytest.fixture(name="X")
def samples():
    X = np.random.default_rng(2).normal(size=(14, 3)) + 0.5
    X.flags.writeable = False
    return X


def built(X, normalize, weights=None, storage="dense"):
    return build_stack(
        DICTIONARY, X, normalize=normalize, sample_weight=weights, storage=storage
    )


def test_promises(X):
    n = len(X)
    trace = built(X, "trace").stack.array
    np.testing.assert_allclose(np.einsum("mii->m", trace), n)
    variance = built(X, "variance").stack.array
    spread = np.einsum("mii->m", variance) / n - variance.sum(axis=(1, 2)) / n**2
    np.testing.assert_allclose(spread, 1.0)
    cosine = built(X, "cosine").stack.array
    np.testing.assert_allclose(np.einsum("mii->mi", cosine), 1.0)
    center = built(X, "center").stack.array
    np.testing.assert_allclose(center.sum(axis=1), 0.0, atol=1e-9)
    H = np.eye(n) - 1.0 / n
    plain = built(X, None).stack.array
    np.testing.assert_allclose(center, H @ plain @ H, atol=1e-10)


@pytest.mark.parametrize("normalize", CHAINS, ids=str)
@pytest.mark.parametrize("storage", ["dense", "lazy"])
def test_new_samples_are_treated_as_the_training_samples(X, normalize, storage):
    """A kernel is a function of two points: a training point given again is itself."""
    result = built(X, normalize, storage=storage)
    K = result.stack.columns(np.arange(len(X)))
    for m in range(3):
        one = cross_gram(DICTIONARY[m], X[3:6], X, result.normalization, m)
        np.testing.assert_allclose(one, K[m, 3:6], atol=1e-10)


@pytest.mark.parametrize("normalize", CHAINS, ids=str)
@pytest.mark.parametrize("storage", ["dense", "lazy"])
def test_integer_weights_equal_repetition(X, normalize, storage):
    counts = np.random.default_rng(0).integers(0, 4, size=len(X))
    counts[0] = 2
    repeated = np.repeat(np.arange(len(X)), counts)
    weighted = built(X, normalize, counts.astype(float), storage)
    again = built(X[repeated], normalize, None, storage)
    new = np.random.default_rng(1).normal(size=(4, 3))
    for m in range(3):
        by_weight = cross_gram(DICTIONARY[m], new, X, weighted.normalization, m)
        by_number = cross_gram(DICTIONARY[m], new, X[repeated], again.normalization, m)
        np.testing.assert_allclose(by_weight[:, repeated], by_number, atol=1e-9)


@pytest.mark.parametrize("normalize", CHAINS, ids=str)
@given(seed=st.integers(0, 10**6))
def test_kernels_stay_positive_semidefinite(normalize, seed):
    X = np.random.default_rng(seed).normal(size=(9, 3))
    for K in built(X, normalize).stack.array:
        assert np.linalg.eigvalsh(K)[0] >= -1e-9 * max(np.trace(K), 1.0)


@pytest.mark.parametrize("storage", ["dense", "dense32", "lazy"])
@pytest.mark.parametrize("normalize", [None, *CHAINS], ids=str)
def test_degenerate_kernels_are_zero_never_nan(X, normalize, storage):
    flat = X.copy()
    flat[:, 1] = 0.0
    flat[:, 2] = 7.3
    dictionary = ListDictionary(
        [
            GaussianKernel(1.0),
            ColumnKernel(LinearKernel(), 1),
            ColumnKernel(GaussianKernel(1.0), 1),
            ColumnKernel(PolynomialKernel(3, 0.1), 2),
        ]
    )
    result = build_stack(dictionary, flat, normalize=normalize, storage=storage)
    K = result.stack.columns(np.arange(len(X)))
    assert np.isfinite(K).all()
    names = (normalize,) if isinstance(normalize, str) else (normalize or ())
    constants = [2, 3] if {"center", "variance"} & set(names) else []
    assert result.degenerate.tolist() == [1, *constants]
    assert not K[result.degenerate].any()
    for m in range(4):
        cross = cross_gram(dictionary[m], X, flat, result.normalization, m)
        assert np.isfinite(cross).all()


def test_a_sample_without_length_stays_zero_under_cosine(X):
    changed = X.copy()
    changed[4] = 0.0
    K = built(changed, "cosine").stack.array[1]
    assert np.isfinite(K).all()
    assert not K[4].any()


def test_zero_weights_are_samples_left_out(X):
    weights = np.ones(len(X))
    weights[5:] = 0.0
    by_weight = built(X, ("center", "trace"), weights).stack.array[:, :5, :5]
    by_number = built(X[:5], ("center", "trace")).stack.array
    np.testing.assert_allclose(by_weight, by_number, atol=1e-10)


@pytest.mark.parametrize("normalize", CHAINS, ids=str)
def test_several_matrices_are_learnt_as_one_by_one(normalize):
    X = np.random.default_rng(0).standard_normal((9, 3))
    several = np.stack([DICTIONARY[m](X) for m in range(3)])
    alone = several.copy()
    learnt, expected = (empty_normalization(normalize, 4, 9) for _ in range(2))
    learnt.learn(1, several)
    for m, K in enumerate(alone, 1):
        expected.learn(m, K[None])
    np.testing.assert_allclose(several, alone, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(
        cross_gram(DICTIONARY[2], X, X, learnt, 3),
        cross_gram(DICTIONARY[2], X, X, expected, 3),
        rtol=1e-10,
        atol=1e-12,
    )


def test_steps():
    assert check_steps(None) == ()
    assert check_steps("trace") == ("trace",)
    assert check_steps(["center", "trace"]) == ("center", "trace")
    with pytest.raises(ValueError, match="got 'Trace'"):
        empty_normalization("Trace", 1, 1)


@pytest.mark.parametrize("normalize", ["trace", "variance", "cosine", "center"])
@pytest.mark.parametrize("scale", [1e-161, 1e-170])
def test_what_has_no_digits_left_is_zero_and_not_indefinite(normalize, scale):
    # The kernel's values are below the smallest normal number.
    X = scale * np.random.default_rng(0).normal(size=(14, 3))
    dictionary = ListDictionary([LinearKernel()])
    for storage in ("dense", "lazy", "low_rank"):
        stack = build_stack(dictionary, X, normalize=normalize, storage=storage).stack
        K = stack.columns(np.arange(14))[0]
        lowest = np.linalg.eigvalsh(K)[0]
        assert lowest >= -1e-12 * max(float(np.trace(K)), 1.0)
