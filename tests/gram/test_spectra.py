"""Tail sums of kernels against all of their eigenvalues, for every storage."""

import numpy as np
import pytest

from multikernel.exceptions import IndefiniteKernelError
from multikernel.gram import (
    DenseStack,
    LowRankStack,
    ScaledStack,
    TailNormalizer,
    build_stack,
    tail_sums,
)
from multikernel.gram.spectra import equal_shares, frame_tails, leading_spectrum
from multikernel.kernels import GaussianKernel, LinearKernel, ListDictionary

KERNELS = ListDictionary([GaussianKernel(0.5), GaussianKernel(3.0), LinearKernel()])
X = np.random.default_rng(0).standard_normal((90, 3))
WEIGHTS = np.random.default_rng(1).integers(1, 4, 90).astype(float)


def dense_tails(K, theta, weights=None):
    """Return tail sums by all eigenvalues of the matrix with repeated samples."""
    if weights is not None:
        rows = np.repeat(np.arange(len(K)), weights.astype(int))
        K = K[np.ix_(rows, rows)]
    values = np.linalg.eigvalsh(K)[::-1] / len(K)
    return np.array([values[j:].sum() for j in range(theta + 1)])


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
@pytest.mark.parametrize("storage", ["dense", "dense32", "lazy"])
def test_tails_are_those_of_all_eigenvalues(storage, weights):
    stack = build_stack(KERNELS, X, storage=storage).stack
    grams = build_stack(KERNELS, X, storage="dense").stack.array
    sums = tail_sums(stack, 5, weights)
    for m, K in enumerate(grams):
        size = dense_tails(K, 0, weights)[0]
        assert sums.tails[m] == pytest.approx(
            dense_tails(K, 5, weights), abs=2e-6 * size
        )


def test_tails_of_factors_are_exact():
    Z = np.random.default_rng(2).standard_normal((200, 7))
    stack = LowRankStack(Z, np.array([0, 2, 7]))
    sums = tail_sums(ScaledStack(stack, np.array([1.0, 3.0])), 6)
    for m, part in enumerate((Z[:, :2], np.sqrt(3.0) * Z[:, 2:])):
        exact = dense_tails(part @ part.T, 6)
        assert sums.tails[m] == pytest.approx(exact, abs=1e-12 * exact[0])
    assert sums.short.tolist() == [True, True]
    assert (sums.products <= 5).all()


def test_small_cut_offs_come_with_the_largest():
    stack = build_stack(KERNELS, X).stack
    together = tail_sums(stack, 8).tails
    for theta in range(9):
        alone = tail_sums(stack, theta).tails[:, theta]
        assert together[:, theta] == pytest.approx(
            alone, abs=2e-6 * together[:, 0].max()
        )


@pytest.mark.parametrize("theta", [1, 4])
def test_derivatives_are_those_of_finite_differences(theta):
    rng = np.random.default_rng(3)
    stack = build_stack(KERNELS, X, normalize="trace").stack
    shares, mu = equal_shares(90), rng.uniform(0.5, 1.5, 3)

    def tail(weights):
        return dense_tails(np.tensordot(weights, stack.array, axes=1), theta)[-1]

    pairs = leading_spectrum(stack.combine(mu), theta, shares, tol=1e-12)
    v = frame_tails(stack, pairs.vectors, shares)
    h = 1e-5
    slopes = [(tail(mu + h * e) - tail(mu - h * e)) / (2 * h) for e in np.eye(3)]
    assert v == pytest.approx(slopes, rel=1e-6)
    # The tail is homogeneous and concave: its tangent touches it, and lies above.
    assert v @ mu == pytest.approx(tail(mu), rel=1e-8)
    for other in rng.uniform(0.0, 2.0, (20, 3)):
        assert tail(other) <= v @ other + 1e-9


def test_the_normaliser_leaves_tails_of_n():
    built = build_stack(KERNELS, X, normalize=["center", TailNormalizer(2)])
    for K in build_stack(
        KERNELS, X, normalize=["center", TailNormalizer(2)]
    ).stack.array:
        assert dense_tails(K, 2)[2] == pytest.approx(1.0, rel=1e-5)
    assert not built.normalization.steps[-1].short.any()


def test_no_free_eigenvalues_are_the_trace():
    ours = build_stack(KERNELS, X, normalize=TailNormalizer(0), sample_weight=WEIGHTS)
    trace = build_stack(KERNELS, X, normalize="trace", sample_weight=WEIGHTS)
    assert ours.stack.array == pytest.approx(trace.stack.array, rel=1e-12)


@pytest.mark.parametrize("theta", [-1, 1.5, True, "2"])
def test_a_wrong_theta_is_refused(theta):
    with pytest.raises(ValueError, match="theta must be an integer of at least 0"):
        TailNormalizer(theta)


def test_a_negative_theta_has_no_tails():
    with pytest.raises(ValueError, match="theta must be an integer of at least 0"):
        tail_sums(DenseStack(np.eye(3)[None]), -1)


@pytest.mark.parametrize("size", [3.0, 1e155, 1e308])
def test_eigenvalues_of_more_than_the_trace_are_no_kernels(size):
    K = np.stack([np.eye(3), np.eye(3)])
    K[1, 0, 1] = K[1, 1, 0] = size
    with pytest.raises(IndefiniteKernelError, match=r"Gram matrix 1 .* its trace"):
        tail_sums(DenseStack(K), 1)
