"""Given matrices whose samples are found by their names."""

from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone

from multikernel.exceptions import IndefiniteKernelError
from multikernel.kernels import Grams, LinearKernel
from multikernel.kernels.grams import SampleKernel, collect_names
from multikernel.testing import check_kernel

NAMES = np.array(["ann", "ben", "cleo", "dora", "eve"])


def matrix(n=5, seed=0):
    return LinearKernel()(np.random.default_rng(seed).standard_normal((n, 3)))


def numbers(order, names):
    """Return the numbers of samples, in a column, as a fit makes them."""
    places = {name: float(number) for number, name in enumerate(order)}
    return np.array([[places[name]] for name in names])


@settings(deadline=None)
@given(st.permutations(range(5)), st.permutations(range(5)), st.integers(1, 5))
def test_values_are_found_by_names_whatever_the_order(rows, order, n_columns):
    K = pd.DataFrame(matrix(), NAMES, NAMES)
    shuffled = K.iloc[rows, sorted(rows[:n_columns])]
    grams = Grams(shuffled, "name")
    kernel = grams.kernel("given", NAMES[order])
    columns = NAMES[sorted(rows[:n_columns])]
    X, Y = numbers(NAMES[order], NAMES), numbers(NAMES[order], columns)
    np.testing.assert_array_equal(kernel(X, Y), K.loc[NAMES, columns])
    np.testing.assert_array_equal(kernel(Y, X), K.loc[columns, NAMES])
    np.testing.assert_array_equal(kernel.diag(Y), np.diag(K.loc[columns, columns]))
    assert np.isnan(kernel.diag(X)).sum() == 5 - n_columns


def test_it_is_a_kernel_on_numbers_of_samples():
    check_kernel(
        Grams(matrix(), 0).kernel("given", np.arange(5)), np.arange(5.0)[:, None]
    )


def test_clones_and_copies_share_the_matrix():
    grams = Grams(matrix(), 0)
    assert clone(grams) is grams
    assert deepcopy({"view": grams})["view"] is grams
    assert deepcopy(kernel := grams.kernel("given", np.arange(5))) is kernel
    array = matrix()
    assert np.shares_memory(Grams(array, 0).K, array)


def test_matrices_on_one_column_number_all_their_samples():
    some, others = (
        Grams(matrix(3), "name", NAMES[part]) for part in ([0, 1, 2], [4, 1, 3])
    )
    order = collect_names({0: [some, others]}, str)[0]
    assert order.tolist() == ["ann", "ben", "cleo", "eve", "dora"]
    kernel = others.kernel("others", order)
    value = kernel(numbers(order, ["eve"]), numbers(order, ["ben"]))
    np.testing.assert_array_equal(value, others.K[:1, 1:2])
    with pytest.raises(ValueError, match="'others' has no row for 1 of 1 samples"):
        kernel(numbers(order, ["ann"]))
    with pytest.raises(ValueError, match=r"Column name .* the names are text"):
        collect_names({0: [some, Grams(matrix(), "name")]}, lambda _: "name")


def test_absent_values_of_new_samples_are_named_in_both_arguments():
    K = np.vstack([matrix(3), [[1.0, np.nan, 2.0]]])  # sample 3 is new
    kernel = SampleKernel(K, np.arange(4), "given")
    known, new = np.array([[0.0], [1.0]]), np.array([[3.0]])
    for X, Y in ((known, new), (new, known)):
        with pytest.raises(ValueError, match="have no value in column 1 "):
            kernel(X, Y)
    with pytest.raises(ValueError, match="no kernel values between new samples"):
        kernel(new)


K = pd.DataFrame(matrix(), NAMES, NAMES)
NO_NUMBERS = "contains values that are not numbers"
SKEW = matrix() + np.triu(np.ones((5, 5)), 1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: Grams(SKEW, 0), r"matrix of Grams is not symmetric"),
        (lambda: Grams(-matrix(), 0), r"not positive semidefinite: its value at \["),
        (lambda: Grams(K.where(K.iloc[0, 1] != K), 0), r"is nan at \[0, 1\]"),
        (
            lambda: Grams(K.iloc[::-1].replace(K.iloc[0, 1], np.inf), 0),
            r"is inf at \[3, 0\]",  # the user's order of the rows
        ),
        (lambda: Grams(-K.iloc[::-1], 0), "in the order of its columns. is not pos"),
        (
            lambda: Grams(matrix()[:4], 0),
            r"no more columns than rows, got shape \(4, 5\)",
        ),
        (lambda: Grams(np.ones(3), 0), r"got shape \(3,\)"),
        (lambda: Grams(1j * K, 0), "has complex values: a Gram matrix must be real"),
        (lambda: Grams(csr_array(matrix()), 0), r"is sparse: .* K\.toarray"),
        (lambda: Grams([["a", "b"], ["b", "a"]], 0), NO_NUMBERS),
        (lambda: Grams([[1.0, 1j], [object(), 1.0]], 0), NO_NUMBERS),
        (lambda: Grams(np.eye(2), 0, "ab"), "one name per row, got 'ab'"),
        (lambda: Grams(np.eye(2), 0, 2), "one name per row, got 2"),
        (
            lambda: Grams(np.eye(2), 0, [1.0, np.nan]),
            r"absolute values below 2\*\*53, got nan",
        ),
        (lambda: Grams(np.eye(2), 0, [2**53, 1]), "use text instead"),
        (lambda: Grams(K, 0, NAMES), "whose index contains the names of samples"),
        (lambda: Grams(matrix(), 0, NAMES[:4]), "has 5 rows, but there are 4 names"),
        (
            lambda: Grams(matrix(), 0, NAMES[[0, 1, 2, 3, 0]]),
            "several rows are named 'ann'",
        ),
        (lambda: Grams(matrix(), 0, [1, 2, 3, 4, "a"]), "all text or all numbers"),
        (lambda: Grams(K.set_axis(list("abcde"), axis=1), 0), "without a row: 'a', "),
        (lambda: Grams(K.iloc[:, [0, 0]], 0), "several columns are named"),
    ],
)
def test_what_is_wrong_is_said(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()


def test_a_negative_diagonal_is_no_kernels():
    with pytest.raises(IndefiniteKernelError):
        Grams(-matrix(), 0)
