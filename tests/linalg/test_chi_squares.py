"""Tails of weighted sums of chi-squared variables, beside SciPy and other integrals."""

import numpy as np
import pytest
from scipy.stats import chi2, f

from multikernel.linalg.chi_squares import chi_squares_tail


def davies(a, x):
    """The tail by an integral along the imaginary axis, on a fine grid of log u."""
    t = np.linspace(-30.0, 16.0, 200_001)
    u = np.exp(t)
    angle = 0.5 * np.arctan(np.multiply.outer(u, a)).sum(axis=1) - 0.5 * x * u
    size = np.exp(0.25 * np.log1p(np.multiply.outer(u, a) ** 2).sum(axis=1))
    return 0.5 + np.trapezoid(np.sin(angle) / size, t) / np.pi


@pytest.mark.parametrize("n_variables", [1, 2, 3, 10, 400])
@pytest.mark.parametrize("tail", [0.999, 0.5, 0.04, 1e-8, 1e-60, 1e-250])
def test_equal_weights_are_one_chi_squared(n_variables, tail):
    x = chi2(n_variables).isf(tail)
    result = chi_squares_tail(np.full(n_variables, 3.0), 3.0 * x)
    assert result == pytest.approx(tail, rel=1e-7)


@pytest.mark.parametrize("seed", range(12))
def test_it_is_the_integral_along_the_axis(seed):
    random = np.random.default_rng(seed)
    a = random.exponential(size=random.integers(6, 40)) ** 2
    x = random.uniform(0.5, 2.0) * a.sum()
    if seed % 2:
        a, x = a - random.uniform(0.1, 0.6) * a.max(), 0.0
    assert chi_squares_tail(a, x) == pytest.approx(davies(a, x), rel=1e-5)


@pytest.mark.parametrize("ratio", [0.3, 1.0, 4.0, 60.0])
def test_differences_are_ratios(ratio):
    """A ratio of two means of squares is above r where a difference is above zero."""
    a = np.concatenate([np.full(3, 1.0 / 3.0), np.full(9, -ratio / 9.0)])
    assert chi_squares_tail(a, 0.0) == pytest.approx(f(3, 9).sf(ratio), rel=1e-6)


def test_nothing_and_signs():
    assert chi_squares_tail(np.zeros(3), 0.0) == 0.0
    assert chi_squares_tail(-np.ones(3), 0.0) == 0.0
    assert chi_squares_tail(np.ones(3), -1.0) == 1.0
    below = chi_squares_tail(-np.ones(3), -2.0)
    assert below == pytest.approx(chi2(3).cdf(2.0), rel=1e-7)
    assert chi_squares_tail(np.array([1.0, 0.0]), 2.0) == pytest.approx(chi2(1).sf(2.0))
