"""Tails of kernels held by landmarks: bounds that hold the full kernels' tails."""

import numpy as np
import pytest

from multikernel.gram import LowRank, TailNormalizer, build_stack, tail_sums
from multikernel.kernels import GaussianKernel, ListDictionary

X = np.random.default_rng(0).standard_normal((80, 2))
KERNELS = ListDictionary([GaussianKernel(0.7), GaussianKernel(3.0)])


def exact_tail(K, theta):
    return np.linalg.eigvalsh(K)[::-1][theta:].sum() / len(K)


@pytest.mark.parametrize("rank", [6, 20, 80])
def test_intervals_hold_the_tails_of_the_full_kernels(rank):
    storage = LowRank(max_rank=rank, first=rank)
    sums = tail_sums(build_stack(KERNELS, X, storage=storage).stack, 4)
    assert (sums.residuals > 0).all()
    for m in range(2):
        exact = exact_tail(KERNELS[m](X), 4)
        low = sums.tails[m, 4]
        assert low - 1e-9 <= exact <= low + sums.residuals[m] + 1e-9


def test_the_normaliser_takes_the_upper_end():
    storage = LowRank(max_rank=6, first=6)
    built = build_stack(KERNELS, X, normalize=TailNormalizer(3), storage=storage)
    plain = tail_sums(build_stack(KERNELS, X, storage=storage).stack, 3)
    factors = built.normalization.steps[0].factors
    assert factors == pytest.approx(1.0 / plain.bounded(3), rel=1e-6)
    for m in range(2):
        assert factors[m] * exact_tail(KERNELS[m](X), 3) <= 1.0 + 1e-9
