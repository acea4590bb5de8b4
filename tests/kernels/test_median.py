"""The dictionary whose widths the data decide, and kernels that memorize."""

import tracemalloc
import warnings

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from multikernel.exceptions import DictionaryWarning
from multikernel.gram import DenseStack, build_stack
from multikernel.gram.checks import trivial_distances
from multikernel.kernels import (
    ColumnKernel,
    GaussianKernel,
    LinearKernel,
    ListDictionary,
    kernel_names,
    median_dictionary,
    resolve_columns,
    spicy_dictionary,
)
from multikernel.kernels.base import MEMORIZES, off_diagonal_ratio
from multikernel.kernels.median import distinct_rows

X = np.random.default_rng(0).standard_normal((60, 4)) * [1.0, 5.0, 1.0, 30.0]


def widths(dictionary, column=None):
    """Return the widths on all columns, or on one."""
    if column is None:
        return [k.sigma for k in dictionary if isinstance(k, GaussianKernel)]
    alone = [k for k in dictionary if isinstance(k, ColumnKernel)]
    return [k.kernel.sigma for k in alone if k.columns == (column,)]


def test_widths_are_multiples_of_medians():
    dictionary = median_dictionary(X, multiples=[0.5, 2.0], column_multiples=[1.0])
    assert dictionary[0] == LinearKernel()
    middle = np.median(pdist(X))
    np.testing.assert_allclose(widths(dictionary), [0.5 * middle, 2 * middle], 1e-2)
    for column in range(4):
        middle = np.median(pdist(X[:, [column]]))
        np.testing.assert_allclose(widths(dictionary, column), [middle], rtol=1e-2)
    assert len(dictionary) == 7


def test_rows_are_told_apart_by_any_column():
    first = np.repeat(X[:30, :1], 2, axis=0)  # which leaves pairs of rows alike
    weights = np.random.default_rng(1).uniform(1.0, 3.0, 60)
    for table in (X, np.hstack([first, X[:, 1:]]), np.vstack([X[:30], X[:30]])):
        rows, shares, n_rows = distinct_rows(table, weights)
        expected, member = np.unique(table, axis=0, return_inverse=True)
        sums = np.bincount(member.ravel(), weights)
        assert n_rows == len(expected)
        np.testing.assert_array_equal(rows, expected)
        np.testing.assert_allclose(shares, sums / sums.min())


def test_wide_tables_need_no_memory_for_columns_that_get_no_kernels():
    table = np.random.default_rng(0).standard_normal((100, 5000))
    pairs = 8 * 100 * 99 / 2 * 5000
    tracemalloc.start()
    with pytest.warns(DictionaryWarning, match="5000 columns"):
        dictionary = median_dictionary(table)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(dictionary) == 1  # Gaussians on all of them memorize.
    assert peak < 0.2 * pairs


def test_names_give_the_widths_exactly():
    for kernel in list(median_dictionary(X))[1:]:
        inner = kernel.kernel if isinstance(kernel, ColumnKernel) else kernel
        assert inner.name == f"gaussian(sigma={inner.sigma:.3g})"
        assert float(f"{inner.sigma:.3g}") == inner.sigma


@pytest.mark.parametrize("scale", [1e-90, 1e-3, 1e90])
def test_widths_follow_the_units(scale):
    ones, scaled = widths(median_dictionary(X)), widths(median_dictionary(scale * X))
    np.testing.assert_allclose(scaled, scale * np.array(ones), rtol=1e-2)


def test_order_copies_and_the_scale_of_weights_do_not_matter():
    rng = np.random.default_rng(1)
    copies = rng.integers(1, 4, X.shape[0])
    # Few values, so that medians lie at ties.
    Z = np.round(X)
    expected = list(median_dictionary(Z, sample_weight=copies.astype(float)))
    repeated = np.repeat(Z, copies, axis=0)
    assert list(median_dictionary(rng.permutation(repeated))) == expected
    assert list(median_dictionary(Z, sample_weight=1e-3 * copies)) == expected
    assert list(median_dictionary(Z)) != expected


def test_columns_that_say_nothing_new_have_no_kernels():
    column = np.arange(30.0) % 7
    Z = np.column_stack([column, np.ones(30), 5.0 - 2.0 * column, np.arange(30) ** 2])
    dictionary = median_dictionary(Z)
    alone = {k.columns[0] for k in dictionary if isinstance(k, ColumnKernel)}
    assert alone == {0, 3}


def test_integers_far_from_zero_say_nothing_new():
    column = np.random.default_rng(0).integers(0, 10, 50)
    Z = np.column_stack([column, column + 10**9, 10**9 - 3 * column, np.arange(50)])
    dictionary = median_dictionary(Z)
    assert {k.columns[0] for k in dictionary if isinstance(k, ColumnKernel)} == {0, 3}


def test_two_values_make_one_kernel():
    Z = np.column_stack([np.arange(20) % 2, np.arange(20.0)])
    dictionary = median_dictionary(Z)
    assert widths(dictionary, 0) == [1.0]
    assert len(widths(dictionary)) > 1
    # Any two of the widths that were left out are equal but for a constant.
    grams = [GaussianKernel(s)(Z[:, :1]) for s in (0.5, 2.0)]
    centered = [K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean() for K in grams]
    centered = [K / np.trace(K) for K in centered]
    np.testing.assert_allclose(centered[0], centered[1], atol=1e-12)


@pytest.mark.parametrize("n_columns", [1, 3])
def test_a_single_column_that_varies_stands_for_all(n_columns):
    Z = np.zeros((20, n_columns))
    Z[:, 0] = np.random.default_rng(0).standard_normal(20)
    dictionary = median_dictionary(Z)
    assert not any(isinstance(kernel, ColumnKernel) for kernel in dictionary)
    assert len(widths(dictionary)) > 1


def test_constant_data_leave_a_linear_kernel():
    for Z in (np.zeros((5, 2)), np.full((5, 2), 3.0)):
        assert kernel_names(median_dictionary(Z)) == ["linear()"]


def test_too_many_columns_lose_widths_then_kernels():
    Z = np.random.default_rng(0).standard_normal((40, 8))
    three = [0.5, 1.0, 2.0]
    full = median_dictionary(Z, column_multiples=three)
    assert len(full) == 4 + 3 * 8
    message = (
        "would have more than max_kernels=27 kernels, with 3 widths on each of 8 "
        "columns, so the columns got one width each"
    )
    with pytest.warns(DictionaryWarning, match=message):
        cut = median_dictionary(Z, column_multiples=three, max_kernels=27)
    assert widths(cut, 3) == widths(full, 3)[1:2]
    message = "would have more than max_kernels=11 .* no kernel of their own"
    with pytest.warns(DictionaryWarning, match=message):
        cut = median_dictionary(Z, column_multiples=three, max_kernels=11)
    assert kernel_names(cut) == kernel_names(full)[:4]


def test_thousands_of_columns_are_no_trouble():
    Z = np.random.default_rng(0).standard_normal((300, 2000))
    with pytest.warns(DictionaryWarning, match="on each of 2000 columns"):
        dictionary = median_dictionary(Z)
    assert 1 < len(dictionary) < 10
    assert len(median_dictionary(Z[:, :60])) <= 300


def ratio_of(K):
    """Return the ratio of a whole matrix."""
    beside = K[np.triu_indices(len(K), 1)]
    variances = np.array([np.mean(np.diag(K)) - beside.mean()])
    return off_diagonal_ratio(variances, np.array([beside.std()]), len(K))[0]


def test_the_ratio_is_that_of_random_functions():
    rng = np.random.default_rng(0)
    Z, coefs = rng.standard_normal((400, 2)), rng.choice([-1.0, 1.0], (200, 500))
    kernel = GaussianKernel(0.2)
    K, K_new = kernel(Z[:200]), kernel(Z[200:], Z[:200])
    mean = K[np.triu_indices(200, 1)].mean()
    inside = (np.diag(K).mean() - mean) * coefs
    outside = (K_new - mean) @ coefs
    np.testing.assert_allclose(outside.std() / inside.std(), ratio_of(K), rtol=0.1)


def test_neither_scale_nor_centering_changes_the_ratio():
    K = GaussianKernel(0.5)(X[:, :2] / 5)
    centered = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    np.testing.assert_allclose(ratio_of(7.0 * K), ratio_of(K))
    np.testing.assert_allclose(ratio_of(centered), ratio_of(K), rtol=0.1)
    assert ratio_of(np.eye(50)) == 0.0
    assert ratio_of(np.ones((50, 50))) == np.inf


def test_widths_that_memorize_are_left_out():
    Z = np.random.default_rng(0).standard_normal((50, 30))
    dictionary = median_dictionary(Z, multiples=[0.1, 1.0])
    middle = np.median(pdist(Z))
    assert ratio_of(GaussianKernel(0.1 * middle)(Z)) < MEMORIZES
    np.testing.assert_allclose(widths(dictionary), [middle], rtol=1e-2)


def memorising_kernels(stack):
    return np.flatnonzero(trivial_distances(stack)[1] < MEMORIZES)


@pytest.mark.filterwarnings("error")
def test_one_sample_has_nothing_beside_its_diagonal():
    assert memorising_kernels(DenseStack(np.ones((2, 1, 1)))).size == 0


@pytest.mark.parametrize("storage", ["dense", "dense32", "lazy"])
@pytest.mark.parametrize("normalize", [None, "variance", "center"])
def test_memorising_kernels_of_a_stack(storage, normalize):
    Z = np.random.default_rng(0).standard_normal((80, 30))
    # The last one is constant in floating-point numbers.
    widths = (0.1, 1.0, 5.0, 50.0, 1e12)
    dictionary = ListDictionary([LinearKernel(), *map(GaussianKernel, widths)])
    built = build_stack(dictionary, Z, normalize=normalize, storage=storage)
    found = memorising_kernels(built.stack)
    expected = [m for m in range(6) if ratio_of(dictionary[m](Z)) < MEMORIZES]
    assert found.tolist() == expected == [1, 2]


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("size", [1e-200, 1e-3, 1e200])
def test_the_size_of_entries_does_not_matter(size):
    Z = np.random.default_rng(0).standard_normal((40, 30))
    kernels = GaussianKernel(0.1), GaussianKernel(5.0), LinearKernel()
    K = np.stack([kernel(Z) for kernel in kernels])
    assert memorising_kernels(DenseStack(size * K)).tolist() == [0]


def test_the_papers_dictionary_holds_kernels_that_memorize():
    Z = np.random.default_rng(0).standard_normal((60, 10))
    dictionary = resolve_columns(spicy_dictionary(10), 10)
    found = memorising_kernels(build_stack(dictionary, Z).stack)
    names = kernel_names(dictionary, found)
    assert "gaussian(sigma=0.5)" in names
    assert not any("[" in name for name in names)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        default = resolve_columns(median_dictionary(Z), 10)
    assert memorising_kernels(build_stack(default, Z).stack).size == 0
