"""Stacks that are recomputed: the same numbers, little memory."""

import tracemalloc
from time import sleep

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from multikernel.gram import DenseStack, LazyStack, lazy_stack
from multikernel.gram.lazy import normalize_lazily
from multikernel.gram.normalization import empty_normalization
from multikernel.kernels import (
    GaussianKernel,
    ListDictionary,
    ParameterGrid,
    PolynomialKernel,
    random_subset_gaussians,
)
from multikernel.testing import check_gram_stack

RNG_SEED = 5


def samples(n, d=5):
    X = np.random.default_rng(RNG_SEED).normal(size=(n, d))
    X.flags.writeable = False
    return X


def mixed_dictionary():
    kernels = [GaussianKernel(s) for s in (0.5, 1.0, 3.0)] + [PolynomialKernel(2)]
    return ParameterGrid(kernels, [slice(None), 0, (1, 2), [0, 1, 2, 3, 4], 0])


def reference(dictionary, X):
    return np.stack([dictionary[m](X) for m in range(len(dictionary))])


@pytest.mark.parametrize("dense_bytes", [0, 2**28], ids=["lazy", "kept"])
def test_mixed_kernels(dense_bytes):
    X = samples(13)
    dictionary = mixed_dictionary()
    stack = lazy_stack(dictionary, X, dense_bytes)
    check_gram_stack(stack, reference(dictionary, X))


def test_many_blocks(monkeypatch):
    # Blocks of a few numbers only, so that every cut is crossed.
    for module in ("compute.matrices", "compute.forms", "lazy"):
        monkeypatch.setattr(f"multikernel.gram.{module}.BLOCK_NUMBERS", 40)
        monkeypatch.setattr(f"multikernel.gram.{module}.BATCH", 3)
    for module in ("compute.matrices", "compute.forms"):
        monkeypatch.setattr(f"multikernel.gram.{module}.ENTRIES_PER_TASK", 70)
    monkeypatch.setattr("multikernel.gram.compute.forms.SINGLE_BATCH", 4)
    X = samples(11)
    dictionary = mixed_dictionary()
    check_gram_stack(lazy_stack(dictionary, X, 0), reference(dictionary, X))


@pytest.mark.parametrize(
    "steps", [None, pytest.param(("center",), marks=pytest.mark.slow)]
)
def test_sums_are_the_same_bits_whichever_thread_is_first(monkeypatch, steps):
    # A thread that sleeps now and then stands for one that had to wait for a core.
    for module in ("compute.matrices", "compute.forms", "lazy"):
        monkeypatch.setattr(f"multikernel.gram.{module}.BLOCK_NUMBERS", 40)
        monkeypatch.setattr(f"multikernel.gram.{module}.BATCH", 3)
    X, v = samples(11), np.linspace(-1.0, 2.0, 11)
    slow = np.random.default_rng(RNG_SEED)

    class Sleepy(PolynomialKernel):
        def __call__(self, X, Y=None):
            sleep(float(slow.choice([0.0, 2e-3])))
            return super().__call__(X, Y)

    kernels = [GaussianKernel(0.5), Sleepy(2), Sleepy(3), GaussianKernel(1.0)]
    stack = lazy_stack(ParameterGrid(kernels, [slice(None), 0, (1, 2)]), X, 0)
    if steps is not None:
        normalization = empty_normalization(steps, *stack.shape[:2])
        stack = normalize_lazily(stack, normalization)
    weights = np.random.default_rng(RNG_SEED).uniform(0.1, 1.0, stack.shape[0])

    def sums():
        matrix = stack.combine(weights)
        return stack.quadratic_forms(v), matrix.array

    with threadpool_limits(2, user_api="blas"):
        first = sums()
        for _ in range(20):
            for values, again in zip(first, sums(), strict=True):
                np.testing.assert_array_equal(values, again)


def test_more_samples_than_a_chunk_of_the_loops():
    X = samples(600, 2)
    dictionary = ListDictionary([GaussianKernel(0.5), GaussianKernel(2.0)])
    K, v = reference(dictionary, X), np.linspace(-1.0, 1.0, 600)
    stack = lazy_stack(dictionary, X)
    np.testing.assert_allclose(stack.quadratic_forms(v), K @ v @ v, rtol=1e-10)
    np.testing.assert_allclose(stack.matvec(v), K @ v, rtol=1e-9)


def test_many_random_subsets():
    X = samples(13, 12)  # and three batches of kernels
    dictionary = random_subset_gaussians(70, 12, random_state=0)
    check_gram_stack(lazy_stack(dictionary, X, 0), reference(dictionary, X))


def test_take_is_dense_when_small():
    stack = lazy_stack(mixed_dictionary(), samples(10), dense_bytes=8 * 100 * 5)
    assert isinstance(stack.take(np.arange(5)), DenseStack)
    assert isinstance(stack.take(np.arange(6)), LazyStack)


def test_a_pass_over_many_kernels_needs_little_memory():
    X = samples(150, 8)
    stack = lazy_stack(random_subset_gaussians(2000, 8, random_state=0), X)
    v = np.ones(150)
    stack.quadratic_forms(v)
    tracemalloc.start()
    stack.quadratic_forms(v)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.05 * 8 * 2000 * 150**2


def test_planning_needs_a_few_numbers_per_kernel():
    dictionary = random_subset_gaussians(50_000, 20, random_state=0)
    tracemalloc.start()
    stack = lazy_stack(dictionary, np.zeros((5, 20)))
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held < 150 * stack.shape[0]


def test_diagonals_of_gaussians_take_no_memory():
    stack = lazy_stack(random_subset_gaussians(100, 3, random_state=0), samples(9, 3))
    diagonals = stack.diagonals()
    assert diagonals.shape == (100, 9)
    assert diagonals.strides == (0, 0)


def test_a_rectangle_has_no_forms():
    stack = lazy_stack(mixed_dictionary(), samples(9)).between(
        np.arange(4), np.arange(5)
    )
    with pytest.raises(ValueError, match="quadratic forms require the same samples"):
        stack.quadratic_forms(np.ones(5))
    with pytest.raises(ValueError, match="diagonals require the same samples"):
        stack.diagonals()


def test_a_kernel_that_is_not_finite_is_named():
    dictionary = ListDictionary([GaussianKernel(1.0), PolynomialKernel(400)])
    stack = lazy_stack(dictionary, 1e6 * samples(4))
    with pytest.raises(ValueError, match=r"Kernel 1 \(polynomial\(degree=400\)\)"):
        stack.quadratic_forms(np.ones(4))


STEPS = ["variance", "cosine", "center", ("center", "trace"), ("cosine", "center")]


@pytest.mark.parametrize("steps", STEPS, ids=str)
@pytest.mark.parametrize("dense_bytes", [0, 2**28], ids=["lazy", "kept"])
def test_normalized_lazily_as_in_memory(steps, dense_bytes):
    X, dictionary = samples(7), mixed_dictionary()
    weights = np.random.default_rng(0).random(7)
    expected = reference(dictionary, X)
    learnt = empty_normalization(steps, len(expected), 7, weights)
    for m, K in enumerate(expected):
        learnt.learn(m, K[None])
    lazily = empty_normalization(steps, len(expected), 7, weights)
    stack = normalize_lazily(lazy_stack(dictionary, X, dense_bytes), lazily)
    check_gram_stack(stack, expected, tol=1e-8)


def test_normalized_take_is_dense_when_small():
    stack = lazy_stack(mixed_dictionary(), samples(10), dense_bytes=8 * 100 * 5)
    normalized = normalize_lazily(stack, empty_normalization("center", 20, 10))
    assert isinstance(normalized.take(np.arange(5)), DenseStack)
    assert isinstance(normalized.take(np.arange(6)), LazyStack)


@pytest.mark.parametrize("normalize", [None, "trace", "center"])
def test_no_columns(normalize):
    X, dictionary = samples(9), mixed_dictionary()
    plain = lazy_stack(dictionary, X, 0)
    steps = empty_normalization(normalize, len(dictionary), 9)
    stack = normalize_lazily(plain, steps)
    nothing = np.empty(0, dtype=np.intp)
    assert stack.columns(nothing).shape == (20, 9, 0)
    assert stack.combine(np.ones(20)).columns(nothing).shape == (9, 0)
