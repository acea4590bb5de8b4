"""Theorem 3 by Monte Carlo, and the shapes of theorems 6 and 7."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from multikernel.diagnostics import (
    cut_off_values,
    local_rademacher_bound,
    local_rademacher_leading_term,
    local_rademacher_rate,
)


def supremum(s, eigenvalues, r):
    """Return max <w, s> over |w| <= 1 and sum lambda_j w_j^2 <= r.

    Features with covariance diag(lambda) make the second moment of a function that
    sum. By duality it is the least of sqrt(sum s_j^2 / (a + (1 - a) lambda_j / r)).
    """

    def value(a):
        return math.sqrt(np.sum(s**2 / (a + (1.0 - a) * eigenvalues / r)))

    found = minimize_scalar(value, bounds=(1e-9, 1.0), method="bounded")
    return min(found.fun, value(1.0))


def simulated(eigenvalues, r, n_samples, n_draws, rng):
    """Return draws of sup (1/n) sum_i sigma_i g(x_i) with Gaussian features."""
    roots = np.sqrt(eigenvalues)
    draws = []
    for _ in range(n_draws):
        features = roots * rng.standard_normal((n_samples, eigenvalues.size))
        signs = rng.choice([-1.0, 1.0], n_samples)
        draws.append(supremum(signs @ features / n_samples, eigenvalues, r))
    return np.array(draws)


SPECTRA = {
    "geometric": 0.5 ** np.arange(20),
    "polynomial": np.arange(1.0, 41.0) ** -2,
    "flat": np.full(10, 0.1),
}


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("r", [0.01, 0.1, 1.0])
def test_theorem_3_holds_and_is_within_a_factor_of_two(name, r):
    rng = np.random.default_rng(0)
    draws = simulated(SPECTRA[name], r, 200, 150, rng)
    bound = local_rademacher_bound(SPECTRA[name], r, 200).bound
    error = 3.0 * draws.std() / math.sqrt(draws.size)
    assert draws.mean() - error <= bound
    assert bound <= 2.0 * draws.mean()


def test_the_cut_off_is_the_best_one():
    values = SPECTRA["geometric"]
    for r in (1e-3, 0.05, 0.3, 2.0):
        found, areas = local_rademacher_bound(values, r, 50), cut_off_values(values, r)
        assert areas[found.cut_off] == areas.min()
        assert found.bound == pytest.approx(math.sqrt(2.0 / 50 * areas.min()))
        brute = [r * j + values[j:].sum() for j in range(values.size + 1)]
        assert areas == pytest.approx(brute)


def test_a_tail_stands_for_small_eigenvalues():
    values = SPECTRA["polynomial"]
    whole = local_rademacher_bound(values, 0.05, 10)
    cut = local_rademacher_bound(values[:8], 0.05, 10, tail=values[8:].sum())
    assert cut.bound == pytest.approx(whole.bound)


def test_the_leading_term_is_zero_for_one_kernel_and_grows_with_their_number():
    spectra = np.tile(SPECTRA["geometric"], (4, 1))
    assert local_rademacher_leading_term(spectra[:1], 0.1, 100) == 0.0
    two, four = (local_rademacher_leading_term(spectra[:m], 0.1, 100) for m in (2, 4))
    assert 0.0 < two < four
    by_hand = np.minimum(0.1, (math.e * math.log(2)) ** 2 * spectra[0]).sum()
    assert two == pytest.approx(math.sqrt(16 * math.e / 100 * by_hand))


def test_the_rate_lies_between_its_ends():
    slow = local_rademacher_rate(1000, 8, 1.0 + 1e-12)
    assert slow == pytest.approx(math.log(8) / math.sqrt(1000), rel=1e-9)
    assert local_rademacher_rate(1000, 8, np.inf) == pytest.approx(8 / 1000)
    for decay in (1.5, 3.0):
        ratio = local_rademacher_rate(2000, 8, decay) / local_rademacher_rate(
            1000, 8, decay
        )
        assert ratio == pytest.approx(2.0 ** (-decay / (1 + decay)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: local_rademacher_bound(np.ones(2), 0.0, 5), "r must be"),
        (
            lambda: local_rademacher_bound(-np.ones(2), 1.0, 5),
            "eigenvalues must contain finite, nonnegative numbers, got -1",
        ),
        (
            lambda: local_rademacher_leading_term(-np.ones((2, 2)), 1.0, 5),
            "spectra must contain finite, nonnegative numbers, got -1",
        ),
        (lambda: local_rademacher_bound(np.ones(2), 1.0, 0), "n_samples"),
        (lambda: local_rademacher_bound(np.ones(2), 1.0, 5, tail=-1.0), "tail"),
        (lambda: local_rademacher_leading_term(np.ones(2), 1.0, 5), "shape"),
        (lambda: local_rademacher_rate(10, 2, 1.0), "decay"),
        (lambda: local_rademacher_rate(10, 1, 2.0), "n_kernels"),
    ],
)
def test_wrong_arguments_are_said(call, message):
    with pytest.raises(ValueError, match=message):
        call()
