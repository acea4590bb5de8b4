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


def of_low_rank(theta):
    """Return the kernels with the first two cut to a rank of theta: no tail there."""
    grams = GRAMS.copy()
    for m in (0, 1):
        values, vectors = np.linalg.eigh(grams[m])
        grams[m] = (vectors[:, -theta:] * values[-theta:]) @ vectors[:, -theta:].T
    return grams


@each_cut_off
@pytest.mark.parametrize("kernels", [lambda theta: GRAMS, of_low_rank])
def test_the_second_set_is_the_convex_hull_of_the_first(kernels, theta):
    """Proposition 5 says that it can be larger: it is not.

    A function of H2 is a combination of functions f_m of single kernels. Of those with
    a tail, c K_m with a tail of one has the share sqrt(tail) |f_m| of it, and by Cauchy
    and Schwarz the shares add up to one at most: to less than one where there is
    anything of a kernel without a tail, which is in H1 with any weight.
    """
    rng, grams = np.random.default_rng(1), kernels(theta)
    own = tails(grams, theta)
    own[own < 1e-12] = 0.0
    free = own == 0.0
    for shares in combinations():
        mu = shares / np.where(free, 1.0, own)
        mu /= mu @ own  # on the boundary of H2
        K = np.tensordot(mu, grams, axes=1)
        coefs = rng.standard_normal(len(K))
        coefs /= np.sqrt(coefs @ K @ coefs)  # norm one in the space of K
        parts_of_f = [mu[m] * grams[m] @ coefs for m in range(len(grams))]
        sizes = mu * np.sqrt(np.einsum("i,mij,j->m", coefs, grams, coefs))
        parts = np.sqrt(own) * sizes
        assert parts.sum() <= 1.0 + 1e-12
        if free.any():
            assert parts.sum() < 1.0 - 1e-6
            parts[free] = (1.0 - parts.sum()) / free.sum()
        # Each f_m / part is of norm one over a multiple of K_m that is in H1.
        multiples = (sizes / parts) ** 2
        assert np.all(multiples * tails(grams, theta) <= 1.0 + 1e-9)
        members = [f / part for f, part in zip(parts_of_f, parts, strict=True)]
        for m, member in enumerate(members):
            inverse = np.linalg.pinv(multiples[m] * grams[m], rcond=1e-10)
            assert member @ inverse @ member == pytest.approx(1.0, rel=1e-4)
        np.testing.assert_allclose(parts @ np.stack(members), K @ coefs, atol=1e-10)
