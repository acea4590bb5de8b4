"""The recovery coefficient against sampled residuals, and the Rademacher bound."""

import numpy as np
import pytest

from multikernel.diagnostics import rademacher_bound, recovery_coefficient
from multikernel.gram import DenseStack
from multikernel.losses import SquaredLoss
from multikernel.problem import Problem
from multikernel.regularizers import BlockElasticNet
from multikernel.solvers import GroupOMP


def random_stack(rng, n_samples, ranks):
    factors = [rng.standard_normal((n_samples, rank)) for rank in ranks]
    return DenseStack(np.stack([Z @ Z.T for Z in factors]))


def improvements(grams, f, alpha):
    eye = alpha * np.eye(grams.shape[1])
    return np.array([f @ K @ np.linalg.solve(K + eye, f) for K in grams])


def centered(grams):
    H = np.eye(grams.shape[1]) - 1.0 / grams.shape[1]
    return H @ grams @ H


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_no_residual_passes_the_coefficient(seed, fit_intercept):
    rng = np.random.default_rng(seed)
    n_good, alpha = 1 + seed % 3, 10.0 ** rng.uniform(-2, 1)
    stack = random_stack(rng, 8, rng.integers(1, 4, n_good + 3))
    found = recovery_coefficient(
        stack, np.arange(n_good), alpha, fit_intercept=fit_intercept
    )
    grams = centered(stack.array) if fit_intercept else stack.array
    largest = 0.0
    for _ in range(500):
        f = grams[:n_good].sum(axis=0) @ rng.standard_normal(8)
        scores = improvements(grams, f, alpha)
        largest = max(largest, scores[n_good:].max() / scores[:n_good].max())
    assert np.sqrt(largest) <= found.value * (1.0 + 1e-9)
    assert found.lower <= found.value
    if n_good == 1:
        # Sampling comes close, so that the bound is not a loose one.
        assert found.kind == "exact"
        assert np.sqrt(largest) >= 0.5 * found.value


def test_orthonormal_features_in_the_limit_are_tropps_condition():
    rng = np.random.default_rng(0)
    Z = np.linalg.qr(rng.standard_normal((10, 3)))[0]
    bad = rng.standard_normal(10)
    bad /= np.linalg.norm(bad)
    columns = np.column_stack([Z, bad])
    stack = DenseStack(np.stack([np.outer(z, z) for z in columns.T]))
    found = recovery_coefficient(stack, np.arange(3), 1e-7)
    expected = np.abs(np.linalg.pinv(Z) @ bad).sum()
    np.testing.assert_allclose(found.value, expected, rtol=1e-6)
    assert found.kind == "exact"
    assert found.worst_kernel == 3


def test_an_unknown_norm_is_bounded_and_says_so():
    """Three directions at 60 degrees in a plane: the best vector is no eigenvector."""
    angles = np.pi / 3.0 * np.arange(3)
    good = [np.array([np.cos(a), np.sin(a)]) for a in angles]
    grams = np.stack([*(np.outer(z, z) for z in good), np.eye(2)])
    found = recovery_coefficient(DenseStack(grams), np.arange(3), 0.1)
    assert found.kind == "upper bound"
    # The supremum by a fine grid of directions.
    roots = [np.sqrt(1.0 / 1.1) * np.outer(z, z) for z in good]
    bad = np.sqrt(1.0 / 1.1) * np.eye(2)
    middle = np.linalg.inv(sum(root @ root for root in roots))
    grid = np.linspace(0.0, np.pi, 721)
    values = [
        sum(np.linalg.norm(root @ middle @ bad @ v) for root in roots)
        for v in np.column_stack([np.cos(grid), np.sin(grid)])
    ]
    np.testing.assert_allclose(found.lower, max(values), rtol=1e-4)
    assert max(values) < found.value < 1.2 * max(values)


def test_recovery_below_one():
    rng = np.random.default_rng(3)
    recovered = 0
    for _ in range(40):
        stack = random_stack(rng, 12, [1, 1, 2, 2])
        alpha, good = 1e-6, np.array([0, 1])
        if recovery_coefficient(stack, good, alpha).value >= 1.0:
            continue
        f = stack.array[:2].sum(axis=0) @ rng.standard_normal(12)
        ridge = BlockElasticNet(alpha, l1_ratio=0.0)
        problem = Problem(stack, f, SquaredLoss(), ridge, fit_intercept=False)
        order = GroupOMP(max_kernels=2, tol=0.0).path(problem).order
        assert sorted(order) == [0, 1]
        recovered += 1
    assert recovered >= 10


def test_without_other_kernels_it_is_zero():
    stack = DenseStack(np.eye(3)[None])
    assert recovery_coefficient(stack, np.array([0]), 1.0).value == 0.0


@pytest.mark.parametrize(
    ("good", "alpha", "message"),
    [
        ([], 1.0, "one or more kernel indices"),
        ([0, 0], 1.0, "without repeats"),
        ([3], 1.0, "from 0 to 1"),
        ([0], 0.0, "alpha"),
        ([0], np.inf, "alpha"),
    ],
)
def test_bad_recovery_arguments(good, alpha, message):
    stack = DenseStack(np.stack([np.eye(3), np.ones((3, 3))]))
    with pytest.raises(ValueError, match=message):
        recovery_coefficient(stack, np.array(good, dtype=np.intp), alpha)


def test_rademacher_bound_is_equation_six():
    n, s, tau, kappa, largest, delta = 1000, 3, 2.0, 1.5, 0.7, 0.1
    L = largest + np.sqrt(s * kappa * tau)
    expected = 8 * L * np.sqrt(s * kappa * tau / n)
    expected += 4 * L**2 * np.sqrt(np.log(3 / delta) / (2 * n))
    found = rademacher_bound(
        n,
        s,
        squared_norm=tau,
        largest_diagonal=kappa,
        target_bound=largest,
        delta=delta,
    )
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_samples": 0}, "at least 1"),
        ({"n_kernels": 0}, "at least 1"),
        ({"squared_norm": -1.0}, "of at least 0"),
        ({"largest_diagonal": np.inf}, "finite"),
        ({"delta": 1.0}, "delta"),
    ],
)
def test_bad_rademacher_arguments(change, message):
    arguments = {
        "n_samples": 10,
        "n_kernels": 2,
        "squared_norm": 1.0,
        "largest_diagonal": 1.0,
        "target_bound": 1.0,
    }
    with pytest.raises(ValueError, match=message):
        rademacher_bound(**(arguments | change))
