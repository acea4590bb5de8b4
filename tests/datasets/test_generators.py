"""The generators draw from the distributions that they state."""

import numpy as np
import pytest
from scipy.stats import norm

from multikernel.datasets import (
    make_additive_regression,
    make_epistasis,
    make_ringnorm,
    make_sparse_means,
)


@pytest.mark.parametrize("n_informative", [1, 4, 28, 50])
def test_sparse_means_have_the_stated_mean_and_bayes_error(n_informative):
    X, y = make_sparse_means(20_000, n_informative=n_informative, random_state=0)
    theta = np.zeros(50)
    theta[:n_informative] = 1.0
    mean = 1.75 * theta / np.linalg.norm(theta)
    np.testing.assert_allclose((X * y[:, None]).mean(axis=0), mean, atol=0.04)
    np.testing.assert_allclose((X - y[:, None] * mean).std(axis=0), 1.0, atol=0.03)
    bayes_error = np.mean(y * (X @ mean) < 0)
    assert bayes_error == pytest.approx(norm.cdf(-1.75), abs=0.005)


@pytest.mark.parametrize("n_informative", [0, 51, -1])
def test_sparse_means_refuse_impossible_sparsity(n_informative):
    with pytest.raises(ValueError, match="n_informative must be between 1 and"):
        make_sparse_means(n_informative=n_informative)


def test_ringnorm_moments():
    X, y = make_ringnorm(40_000, n_features=16, random_state=0)
    np.testing.assert_allclose(X[y < 0].mean(axis=0), 0.0, atol=0.07)
    np.testing.assert_allclose(X[y < 0].std(axis=0), 2.0, atol=0.05)
    np.testing.assert_allclose(X[y > 0].mean(axis=0), 0.5, atol=0.04)
    np.testing.assert_allclose(X[y > 0].std(axis=0), 1.0, atol=0.03)


def test_additive_regression_follows_its_formula():
    X, y = make_additive_regression(50, noise=0.0, random_state=3)
    np.testing.assert_allclose(y, np.sin(3 * X[:, 0]) + X[:, 1] ** 2 - X[:, 2])
    noisy = make_additive_regression(5000, noise=0.5, random_state=3)
    clean = np.sin(3 * noisy[0][:, 0]) + noisy[0][:, 1] ** 2 - noisy[0][:, 2]
    assert np.std(noisy[1] - clean) == pytest.approx(0.5, rel=0.05)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_features": 2}, "n_features must be at least 3, got 2"),
        ({"noise": -1.0}, "noise must not be negative, got -1.0"),
    ],
)
def test_additive_regression_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_additive_regression(**arguments)


def test_one_sample_cannot_hold_two_classes():
    with pytest.raises(ValueError, match="n_samples must be at least 2, got 1"):
        make_ringnorm(1)


@pytest.mark.parametrize(
    "draw",
    [
        lambda seed: make_sparse_means(21, n_informative=3, random_state=seed),
        lambda seed: make_ringnorm(21, random_state=seed),
        lambda seed: make_additive_regression(21, random_state=seed),
    ],
)
def test_seeds_decide_the_draw(draw):
    first, again, other = draw(1), draw(1), draw(2)
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])
    assert not np.array_equal(first[0], other[0])


@pytest.mark.parametrize("n_samples", [50, 51])
def test_classes_are_balanced(n_samples):
    _, y = make_ringnorm(n_samples, random_state=0)
    assert (y > 0).sum() == (n_samples + 1) // 2
    assert (y < 0).sum() == n_samples // 2


def test_two_markers_act_together_and_neither_alone():
    X, y, accuracy = make_epistasis(200_000, n_markers=3, random_state=3)
    means = [[np.mean(y[X[:, m] == g]) for g in range(3)] for m in range(3)]
    np.testing.assert_allclose(means, 0.0, atol=0.03)
    cells = (3 * X[:, 0] + X[:, 1]).astype(int)
    rates = np.bincount(cells, y) / np.bincount(cells)
    assert np.mean(np.sign(rates[cells]) == y) == pytest.approx(accuracy, abs=0.005)
    assert accuracy > 0.7


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"n_markers": 1}, "at least 2"), ({"heritability": 0.6}, "at most 0.5")],
)
def test_epistasis_says_what_is_wrong(wrong, words):
    with pytest.raises(ValueError, match=words):
        make_epistasis(10, **wrong)
