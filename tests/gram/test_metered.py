"""What is read is counted: held against kernels that count what they compute."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from multikernel.gram import DenseStack, lazy_stack
from multikernel.gram.lazy import normalize_lazily
from multikernel.gram.metered import Meter, MeteredStack
from multikernel.gram.normalization import empty_normalization
from multikernel.gram.rounded import RoundedStack
from multikernel.kernels import ListDictionary
from multikernel.testing import check_gram_stack

M, N = 5, 12
GRAMS = np.stack([np.outer(x, x) for x in np.random.default_rng(0).normal(size=(M, N))])


def metered(stack=None):
    return MeteredStack(DenseStack(GRAMS) if stack is None else stack, Meter(M * N * N))


def test_it_is_the_stack_that_it_wraps():
    check_gram_stack(metered(), GRAMS)


def test_a_stack_with_ratios_is_the_stack_that_it_wraps():
    ratios = np.arange(20.0, 20.0 + M)
    rounded = RoundedStack(DenseStack(GRAMS), ratios)
    check_gram_stack(rounded, GRAMS)
    part = rounded.take(np.array([3, 1]))
    larger = rounded.rounded_traces() > rounded.traces()
    assert larger.all()
    np.testing.assert_array_equal(
        part.rounded_traces(), rounded.rounded_traces()[[3, 1]]
    )


@pytest.mark.parametrize(
    ("read", "passes"),
    [
        (lambda s: s.quadratic_forms(np.ones(N)), 1.0),
        (lambda s: s.quadratic_forms(np.ones((N, 3))), 3.0),
        (lambda s: s.matvec(np.ones(N)), 1.0),
        (lambda s: s.block_matvec(np.ones((M, N, 2))), 2.0),
        (lambda s: s.combine(np.array([1.0, 0.0, 0.0, 2.0, 0.0])), 2 / M),
        (lambda s: s.columns(np.arange(3)), 3 / N),
        (lambda s: s.take(np.arange(2)).matvec(np.ones(N)), 2 / M),
        (lambda s: s.restrict(np.arange(6)).matvec(np.ones(6)), 1 / 4),
        (lambda s: s.once(np.arange(2)).quadratic_forms(np.ones(N)), 2 / M),
        (lambda s: s.diagonals(), 0.0),
    ],
)
def test_every_product_with_one_vector_counts_once(read, passes):
    stack = metered()
    read(stack)
    assert stack.meter.passes == pytest.approx(passes)


@dataclass
class CountingKernel:
    """A linear kernel that counts the values it computes."""

    scale: float = 1.0
    computed: list[int] = field(default_factory=list)

    def __call__(self, X, Y=None):
        Y = X if Y is None else Y
        self.computed.append(len(X) * len(Y))
        return self.scale * X @ Y.T

    def diag(self, X):
        return self.scale * np.einsum("ij,ij->i", X, X)


def lazy(centered):
    kernels = [CountingKernel(1.0 + m) for m in range(M)]
    X = np.random.default_rng(0).normal(size=(N, 3))
    stack = lazy_stack(ListDictionary(kernels), X, dense_bytes=0)
    if centered:
        stack = normalize_lazily(stack, empty_normalization("center", M, N))
    for kernel in kernels:
        kernel.computed.clear()
    return metered(stack), kernels


@pytest.mark.parametrize(
    ("read", "centered"),
    [
        (lambda s: s.matvec(np.ones(N)), False),
        (lambda s: s.matvec(np.ones(N)), True),
        (lambda s: s.take(np.arange(2)).matvec(np.ones(N)), True),
        (lambda s: s.columns(np.arange(3)), False),
        (lambda s: s.combine(np.ones(M)), True),
    ],
)
def test_lazy_kernels_compute_what_is_counted(read, centered):
    stack, kernels = lazy(centered)
    read(stack)
    computed = sum(sum(kernel.computed) for kernel in kernels)
    assert stack.meter.read == pytest.approx(computed)
