"""Products of columns under weights: those of NumPy, however the matrix is held."""

import numpy as np
import pytest

import multikernel.linalg.tall as module
from multikernel.linalg.column_products import ColumnProducts

CHOICES = {
    "all": np.arange(12),
    "a run": np.arange(3, 9),
    "runs": np.array([0, 1, 2, 7, 8, 11]),
    "scattered": np.array([0, 2, 5, 11]),
    "one": np.array([4]),
}


@pytest.mark.parametrize("columns", CHOICES.values(), ids=CHOICES)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("without", [0, 40])
def test_products(columns, order, without, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_BYTES", 800)  # several blocks
    rng = np.random.default_rng(0)
    Z = np.asarray(rng.normal(size=(101, 12)), order=order)
    weights, sides = rng.uniform(size=101), rng.normal(size=(101, 2))
    weights[rng.permutation(101)[:without]] = 0.0
    A = Z[:, columns]
    np.testing.assert_array_equal(module.take_columns(Z, columns), A)
    gram, inner = module.weighted_gram(Z, weights, columns, sides)
    np.testing.assert_allclose(gram, A.T @ (weights[:, None] * A), atol=1e-12)
    np.testing.assert_allclose(inner, A.T @ (weights[:, None] * sides), atol=1e-12)
    again, _ = module.weighted_gram(Z, weights, columns, sides)
    np.testing.assert_array_equal(gram, again)


def test_equal_weights_multiply_the_columns_once(monkeypatch):
    rng = np.random.default_rng(0)
    Z, sides, every = rng.normal(size=(30, 5)), rng.normal(size=(30, 2)), np.arange(5)
    calls, one = [], module.weighted_gram
    monkeypatch.setattr(
        module, "weighted_gram", lambda *arrays: calls.append(1) or one(*arrays)
    )
    tall = module.TallArray(Z)
    for weight in (1.0, 0.5):
        gram, inner = tall.gram(np.full(30, weight), every, sides)
        np.testing.assert_allclose(gram, weight * Z.T @ Z, atol=1e-12)
        np.testing.assert_allclose(inner, weight * Z.T @ sides, atol=1e-12)
    gram[:] = np.nan  # a multiple belongs to whoever asks, the products to all
    assert len(calls) == 1
    products, _ = tall.gram(np.ones(30), every, sides)
    assert not products.flags.writeable
    np.testing.assert_allclose(products, Z.T @ Z, atol=1e-12)
    weights = rng.uniform(size=30)
    gram, _ = tall.gram(weights, every, sides)
    np.testing.assert_allclose(gram, Z.T @ (weights[:, None] * Z), atol=1e-12)


def test_a_run_of_columns_is_a_view():
    Z = np.ones((5, 6))
    assert np.shares_memory(module.take_columns(Z, np.array([2, 3, 4])), Z)


def test_products_of_all_columns_are_held_once():
    Z = module.TallArray(np.random.default_rng(0).normal(size=(60, 14)))
    products, every = ColumnProducts(Z), np.arange(Z.shape[1])
    products(np.full(60, 0.25), every, np.ones((60, 1)))
    assert np.shares_memory(products._cached, Z.gram(np.ones(60), every, Z.Z)[0])
    scaled, _ = Z.gram(np.full(60, 2.0), every, Z.Z)
    np.testing.assert_allclose(scaled, 2.0 * Z.Z.T @ Z.Z, atol=1e-12)


@pytest.mark.parametrize(
    "weights", [np.full(60, 0.25), np.linspace(0.5, 2.0, 60)], ids=["one", "own"]
)
def test_products_are_kept_while_weights_stay(weights, monkeypatch):
    Z = np.random.default_rng(0).normal(size=(60, 14))
    products, calls = ColumnProducts(module.TallArray(Z)), []
    inner = module.weighted_gram

    def counted(*arguments):
        calls.append(1)
        return inner(*arguments)

    monkeypatch.setattr(module, "weighted_gram", counted)
    sides = np.ones((60, 1))
    for columns in (np.arange(8), np.array([0, 3, 4, 9, 10, 11]), np.arange(14)):
        for size in (1.0, 4.0):
            A, w = Z[:, columns], size * weights
            gram, h = products(w, columns, sides)
            np.testing.assert_allclose(gram, A.T @ (w[:, None] * A), atol=1e-12)
            np.testing.assert_allclose(h, A.T @ (w[:, None] * sides), atol=1e-12)
    assert len(calls) <= 2
    other = weights * np.linspace(1.0, 3.0, 60)
    gram, _ = products(other, np.arange(3), sides)
    A = Z[:, :3]
    np.testing.assert_allclose(gram, A.T @ (other[:, None] * A), atol=1e-12)
