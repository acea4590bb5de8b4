"""Products of two mains: equal to plain products in all that a storage does."""

import numpy as np
import pytest

from multikernel.gram import DenseStack, ProductStack
from multikernel.testing import check_gram_stack

N_MAINS, N = 7, 23


def mains(seed=0, n=N):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(N_MAINS, n, 4)) - 0.3
    return features @ np.swapaxes(features, 1, 2)


def all_terms(n_mains=N_MAINS):
    alone = np.column_stack([np.arange(n_mains), np.full(n_mains, -1)])
    return np.vstack([alone, np.column_stack(np.triu_indices(n_mains, 1))])


def plain(V, terms):
    second = np.where(terms[:, 1, None, None] < 0, 1.0, V[terms[:, 1]])
    return V[terms[:, 0]] * second


FEW = np.array([[0, 1], [2, -1], [5, 6]])
CASES = {"all": all_terms(), "pairs": all_terms()[N_MAINS:], "few": FEW}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("terms", CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("few", [1, 10**6], ids=["many", "one by one"])
def test_equal_to_whole_products(dtype, terms, few, monkeypatch):
    monkeypatch.setattr("multikernel.gram.products.FEW", 10**6 if few == 1 else 0)
    monkeypatch.setattr("multikernel.gram.products.SHORT", 0)
    V = mains().astype(dtype)
    stack = ProductStack(DenseStack(V), terms)
    check_gram_stack(stack, plain(V.astype(np.float64), terms))


def test_products_with_vectors_of_their_own_write_no_product(monkeypatch):
    V, terms = mains(), all_terms()
    stack = ProductStack(DenseStack(V), terms)
    monkeypatch.setattr(ProductStack, "_products", None)
    rng = np.random.default_rng(1)
    everyone = np.arange(len(terms))
    rows = rng.normal(size=(len(terms), 2, N))
    images = stack.resident_products(everyone)(everyone, rows)
    np.testing.assert_allclose(images, rows @ plain(V, terms), atol=1e-10)
    np.testing.assert_allclose(stack.block_matvec(rows[:, 0]), images[:, 0], atol=1e-10)
    test, train = np.arange(0, N, 4), np.delete(np.arange(N), np.arange(0, N, 4))
    coefs = rng.normal(size=(len(terms), train.size, 3))
    outside = stack.outside_products(test, train)(everyone, coefs)
    expected = plain(V, terms)[:, test][:, :, train] @ coefs
    np.testing.assert_allclose(outside, expected, atol=1e-10)
