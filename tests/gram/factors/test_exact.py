"""Kernels on few different rows have exact factors."""

import numpy as np
import pytest

from multikernel import SpicyMKLRegressor
from multikernel.gram import Refinement, build_stack
from multikernel.gram.factors.growth import MOST_VALUES, exact_factor, kernel_columns
from multikernel.gram.refine import refined
from multikernel.kernels import (
    CategoryKernel,
    ColumnKernel,
    GaussianKernel,
    ListDictionary,
    PolynomialKernel,
)
from multikernel.linalg import EPS

KERNELS = [
    CategoryKernel(),
    GaussianKernel(0.7),
    GaussianKernel(0.1),
    PolynomialKernel(2),
]


def few_values(n_samples, n_values, seed=0):
    rng = np.random.default_rng(seed)
    return 0.3 * rng.integers(0, n_values, (n_samples, 1)).astype(float)


@pytest.mark.parametrize("cosine", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_factor_is_the_kernel_up_to_rounding(kernel, cosine):
    X = few_values(200, 9)
    columns = kernel_columns(kernel, X, "", cosine=cosine)
    factor = exact_factor(columns, 200)
    K = kernel(X)
    if cosine:
        roots = np.sqrt(np.diag(K))
        K = K / np.outer(roots, roots)
    assert len(factor.rows) <= 9
    error = np.abs(factor.rows.T @ factor.rows - K).max()
    assert error <= 100 * EPS * np.abs(K).max()
    assert factor.is_exact
    assert (np.abs(np.diag(K - factor.rows.T @ factor.rows)) <= factor.bound).all()
    lower = factor.rows[:, factor.landmarks].T
    np.testing.assert_array_equal(lower, np.tril(lower))


def test_many_values_and_kernels_of_users_have_none():
    def exact(kernel, n_values, most=500):
        X = np.arange(500.0)[:, None] % n_values
        return exact_factor(kernel_columns(kernel, X, "", cosine=False), most)

    class Own(GaussianKernel):
        """A kernel that may tell equal samples apart."""

    assert exact(GaussianKernel(1.0), MOST_VALUES) is not None
    assert exact(GaussianKernel(1.0), MOST_VALUES + 1) is None
    assert exact(CategoryKernel(), 250) is not None
    assert exact(CategoryKernel(), 251) is None
    assert exact(CategoryKernel(), 40, most=39) is None
    assert exact(Own(1.0), 5) is None


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("normalize", [None, "center", "trace"])
def test_refinement_adds_no_landmarks(normalize, weighted):
    rng = np.random.default_rng(1)
    X = np.hstack([few_values(300, 7), rng.standard_normal((300, 1))])
    weights = rng.uniform(0.5, 2.0, 300) if weighted else None
    kernels = [ColumnKernel(GaussianKernel(0.05), column) for column in (0, 1)]
    stack = build_stack(
        ListDictionary(kernels),
        X,
        normalize=normalize,
        sample_weight=weights,
        storage="low_rank",
    ).stack
    finer = refined(stack, Refinement(rng.standard_normal(300), {0: 0.0, 1: 0.0}))
    assert stack.ranks[0] == finer.ranks[0] == 7
    assert finer.ranks[1] > stack.ranks[1]
    np.testing.assert_array_equal(finer.factors[:, :7], stack.factors[:, :7])


@pytest.mark.parametrize("weighted", [False, True])
def test_the_objective_is_that_of_whole_matrices(weighted):
    X = np.hstack([few_values(150, 6, seed) for seed in range(3)])
    rng = np.random.default_rng(2)
    y = X[:, 0] ** 2 + X[:, 1] + 0.1 * rng.standard_normal(150)
    weights = rng.uniform(0.5, 2.0, 150) if weighted else None
    kernels = [ColumnKernel(k, c) for k in KERNELS[:3] for c in range(3)]
    one, other = (
        SpicyMKLRegressor(kernels, storage=storage).fit(X, y, sample_weight=weights)
        for storage in ("low_rank", "dense")
    )
    gaps = one.duality_gap_ + other.duality_gap_
    assert abs(one.objective_ - other.objective_) <= gaps + 1e-12
