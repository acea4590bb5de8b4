"""Products of three: which are offered for which pairs, and what they are called."""

import numpy as np
import pytest

from multikernel.kernels import GaussianKernel, Interactions, kernel_names, per_column
from multikernel.kernels.columns import Features
from multikernel.kernels.interactions import with_interactions
from multikernel.kernels.third_order import offer_of, with_third_factors

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4))


def made(**parameters):
    spec = Interactions(order=3, **parameters)
    kernels = per_column(GaussianKernel(1.0), 4)
    return with_interactions(spec, kernels, X, None, Features(4))


def number_of(dictionary, name):
    return kernel_names(dictionary, range(len(dictionary))).index(name)


def test_a_pair_is_offered_with_every_third_kernel():
    dictionary = made()
    pair = number_of(dictionary, "x0 × x2")
    larger = with_third_factors(dictionary, np.array([0, pair]))
    new = range(len(dictionary), len(larger))
    assert kernel_names(larger, new) == ["x0 × x2 × x1", "x0 × x2 × x3"]
    assert "All 6 pairs of kernels, and 2 products of three" in offer_of(larger)
    factors = [dictionary[m](X[:5], X) for m in (0, 2, 1)]
    product = factors[0] * factors[1] * factors[2]
    np.testing.assert_allclose(larger[new[0]](X[:5], X), product, rtol=1e-12)


def test_a_product_of_two_pairs_in_use_is_offered_once():
    dictionary = made()
    pairs = [number_of(dictionary, name) for name in ("x0 × x1", "x1 × x2")]
    larger = with_third_factors(dictionary, np.array(pairs))
    new = {
        frozenset(larger.factors(index))
        for index in range(len(dictionary), len(larger))
    }
    assert len(larger) - len(dictionary) == len(new) == 3
    assert with_third_factors(larger, np.array(pairs)) is None
    another = with_third_factors(larger, np.array([number_of(larger, "x0 × x3")]))
    assert kernel_names(another, [len(larger)]) == ["x0 × x3 × x2"]


@pytest.mark.parametrize("active", [[], [0, 1]])
def test_mains_alone_offer_nothing(active):
    assert with_third_factors(made(), np.array(active, dtype=np.intp)) is None


@pytest.mark.parametrize("between", [[0, 1], ([0, 1], [2, 3])])
def test_a_product_has_no_pair_that_was_left_out(between):
    dictionary = made(between=between)
    assert with_third_factors(dictionary, np.arange(len(dictionary))) is None


def test_orders_beyond_three_are_refused():
    with pytest.raises(ValueError, match="order"):
        Interactions(order=4)
