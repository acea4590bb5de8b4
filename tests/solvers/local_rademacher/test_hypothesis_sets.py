"""Propositions 4 and 5 of the paper, by numbers: how H1 and H2 lie to each other.

H1 has the functions of norm one in the space of K = sum_m mu_m K_m, mu such that the
tail of K is at most one; H2 those where sum_m mu_m tail(K_m) is at most one.
"""

import numpy as np
import pytest
from reference.toys import toy_grams

from multikernel.gram import DenseStack, tail_sums

GRAMS = toy_grams(n_samples=20, n_kernels=3)  # of full rank: no tail is zero
each_cut_off = pytest.mark.parametrize("theta", [1, 3])


def tails(grams, theta):
    """Return the sums of the eigenvalues of K / n beyond the largest theta."""
    return tail_sums(DenseStack(grams), theta).tails[:, theta]


def combinations(count=50):
    return np.random.default_rng(0).dirichlet(np.ones(len(GRAMS)), size=count)


def test_no_tail_is_zero():
    assert tails(GRAMS, 3).min() > 1e-3


@each_cut_off
def test_the_first_set_is_in_the_second_and_smaller(theta):
    """Proposition 4: tails are concave, strictly so between different kernels."""
    for mu in combinations():
        combined = np.tensordot(mu, GRAMS, axes=1)
        assert tails(combined[None], theta)[0] > 1.01 * mu @ tails(GRAMS, theta)


def test_without_a_cut_off_the_sets_are_equal():
    for mu in combinations(5):
        combined = np.tensordot(mu, GRAMS, axes=1)
        trace = np.trace(combined) / len(combined)
        assert trace == pytest.approx(mu @ tails(GRAMS, 0))


@each_cut_off
def test_the_second_set_is_the_convex_hull_of_the_first(theta):
    """Proposition 5 says smaller than: not where no tail is zero.

    A function of H2 is a combination of functions of single kernels K_m / tail(K_m),
    whose own tail is one; by Cauchy and Schwarz the shares add up to one at most.
    """
    rng, own = np.random.default_rng(1), tails(GRAMS, theta)
    ones = GRAMS / own[:, None, None]
    np.testing.assert_allclose(tails(ones, theta), 1.0)
    for shares in combinations():
        mu = shares / own  # on the boundary of H2
        K = np.tensordot(mu, GRAMS, axes=1)
        coefs = rng.standard_normal(len(K))
        coefs /= np.sqrt(coefs @ K @ coefs)  # norm one in the space of K
        expansions = mu[:, None] * coefs  # f_m = K_m expansions[m]
        sizes = np.sqrt(np.einsum("mi,mij,mj->m", expansions, GRAMS, expansions))
        parts = np.sqrt(own) * sizes
        assert parts.sum() <= 1.0 + 1e-12
        members = expansions / parts[:, None] * own[:, None]  # over K_m / tail(K_m)
        norms = np.einsum("mi,mij,mj->m", members, ones, members)
        np.testing.assert_allclose(norms, 1.0)
        f = np.einsum("m,mij,mj->i", parts, ones, members)
        np.testing.assert_allclose(f, K @ coefs, atol=1e-10)
