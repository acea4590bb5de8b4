"""Products of two mains: equal to plain products in all that a storage does."""

import tracemalloc

import numpy as np
import pytest
from reference.interactions import interactions_of

from multikernel import SpicyMKLRegressor, estimate_cost
from multikernel.gram import DenseStack, ProductStack, build_stack
from multikernel.gram.product_loops import write_entries_by_sign
from multikernel.gram.products import places_type
from multikernel.kernels import (
    ColumnKernel,
    GaussianKernel,
    Interactions,
    LinearKernel,
    ListDictionary,
    per_column,
)
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
    V = mains().astype(dtype)
    stack = ProductStack(DenseStack(V), terms)
    check_gram_stack(stack, plain(V.astype(np.float64), terms))


@pytest.mark.parametrize("outputs", [(), (3,)], ids=["one", "three"])
@pytest.mark.parametrize("size", [1e-100, 1.0, 1e90])
def test_forms_of_large_and_small_numbers(size, outputs, monkeypatch):
    monkeypatch.setattr("multikernel.gram.products.FEW", 10**6)
    monkeypatch.setattr("multikernel.gram.products.ENTRIES_AT_ONCE", 250)
    sizes = (1e-290, 1e-100, 0.0, 1e-30, 1.0, 1e20, 1e50)
    V = np.array(sizes)[:, None, None] * mains()
    terms = np.column_stack(np.triu_indices(N_MAINS))
    rng = np.random.default_rng(1)
    v = size * (rng.normal(size=(*outputs, N)) * 10.0 ** rng.uniform(-9, 0, N)).T
    v[rng.random(N) < 0.3] = 0.0
    forms = ProductStack(DenseStack(V), terms).quadratic_forms(v)
    K, wide = plain(V.astype(np.longdouble), terms), v.astype(np.longdouble)
    R = wide.reshape(N, -1) @ wide.reshape(N, -1).T
    rounding = 1e-13 * np.abs(K * R).sum(axis=(1, 2)) + np.finfo(np.float64).tiny
    assert (np.abs(forms - (K * R).sum(axis=(1, 2))) <= rounding).all()


def test_places_of_many_samples():
    """In a matrix of more entries than 32 bits count."""
    n_all, samples = 70_000, np.array([5, 69_999])
    places, roots = np.empty(3, places_type(n_all)), np.empty(3)
    arguments = np.ones((2, 1)), samples, n_all, 0, 2, places, roots
    assert write_entries_by_sign(*arguments) == (3, 0)
    expected = [5 * n_all + 5, 69_999 * n_all + 5, n_all**2 - 1]
    assert places.astype(object).tolist() == expected


def test_mains_are_centered_before_they_are_rounded():
    X = np.random.default_rng(0).normal(size=(20, 2)) + np.array([1e4, 0.0])
    linear = ListDictionary([ColumnKernel(LinearKernel(), c) for c in (0, 1)])
    dictionary = interactions_of(linear, X)
    single = build_stack(dictionary, X, storage="dense32").stack
    moved = X - X.mean(axis=0)
    first, second = (np.outer(column, column) for column in moved.T)
    whole = single.columns(np.arange(20))
    np.testing.assert_allclose(whole, [first, second, first * second], atol=1e-5)


@pytest.mark.slow
def test_products_that_must_be_written_down_have_another_storage():
    X = np.random.default_rng(0).normal(size=(1200, 5))
    # Five mains, three matrices of a fit, and six of ten products at a time.
    limit = 8 * 14 * X.shape[0] ** 2
    spec = Interactions(per_column(GaussianKernel(1.0), 5))
    scaled, centered = (
        estimate_cost(SpicyMKLRegressor(spec, normalize=step, max_bytes=limit), X)
        for step in ("trace", "center")
    )
    assert scaled.storage == "dense"
    assert centered.storage != "dense"


@pytest.mark.parametrize("samples", [None, np.arange(1, 300, 2)])
def test_few_columns_are_computed_without_whole_matrices(samples):
    V, terms = mains(n=300), all_terms()
    stack = ProductStack(DenseStack(V), terms, samples)
    rows = np.arange(300) if samples is None else samples
    tracemalloc.start()
    columns = stack.columns(np.array([40, 7]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    expected = plain(V[:, rows][:, :, rows[[40, 7]]], terms)
    np.testing.assert_allclose(columns, expected, rtol=1e-12)
    assert peak < 4 * columns.nbytes


@pytest.mark.parametrize("kernels", [np.array([20, 3]), np.arange(N_MAINS - 1, 28)])
def test_blocks_of_few_and_of_many_kernels_are_equal(kernels):
    V, terms, rows = mains(), all_terms(), np.array([2, 5, 6, 19])
    stack = ProductStack(DenseStack(V), terms, rows)
    blocks = stack.once(kernels).columns(np.arange(4))
    expected = plain(V[:, rows][:, :, rows], terms[kernels])
    np.testing.assert_array_equal(blocks, expected)
