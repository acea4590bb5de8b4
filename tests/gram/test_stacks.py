"""Every storage policy computes the same."""

import numpy as np
import pytest
from gram.stacks import STACKS
from hypothesis import given, strategies as st

from multikernel.gram import DenseStack, Refinement
from multikernel.testing import check_gram_stack


def psd_stack(n_kernels, n, seed=0, rank=None):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n_kernels, n, rank or n))
    K = Z @ Z.transpose(0, 2, 1)
    return 0.5 * (K + K.transpose(0, 2, 1))


def tolerance(make):
    return 1e-5 if make.__name__.endswith("_single") else 1e-8


@pytest.mark.parametrize("make", STACKS, ids=lambda make: make.__name__)
@pytest.mark.parametrize(("n_kernels", "n"), [(7, 12), (1, 3), (40, 33)])
def test_conformance(make, n_kernels, n):
    array = psd_stack(n_kernels, n)
    array.flags.writeable = False
    check_gram_stack(make(array), array, tol=tolerance(make))


@pytest.mark.parametrize("make", STACKS, ids=lambda make: make.__name__)
def test_conformance_fails_on_wrong_matrices(make):
    array = psd_stack(3, 6)
    wrong = array.copy()
    wrong[1, 2, 3] += 1.0
    with pytest.raises(AssertionError, match="relative error"):
        check_gram_stack(make(array), wrong, tol=tolerance(make))


@pytest.mark.parametrize("make", STACKS, ids=lambda make: make.__name__)
@given(data=st.data())
def test_take_and_restrict_commute(make, data):
    array = psd_stack(5, 7, seed=data.draw(st.integers(0, 5)))
    stack = make(array)
    kernels = np.array(data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=6)))
    samples = st.lists(st.integers(0, 6), min_size=1, max_size=7)
    chosen = np.array(data.draw(samples))
    v = np.linspace(-1.0, 2.0, chosen.size)
    one = stack.take(kernels).restrict(chosen).matvec(v)
    other = stack.restrict(chosen).take(kernels).matvec(v)
    expected = array[kernels][:, chosen][:, :, chosen] @ v
    scale = tolerance(make) * np.abs(array).max() * 7
    np.testing.assert_allclose(one, other, rtol=0, atol=scale)
    np.testing.assert_allclose(one, expected, rtol=0, atol=scale)


@pytest.mark.parametrize("make", STACKS, ids=lambda make: make.__name__)
@given(seed=st.integers(0, 1000), rank=st.integers(1, 5))
def test_quadratic_forms_are_not_negative(make, seed, rank):
    array = psd_stack(4, 6, seed, rank)
    v = np.random.default_rng(seed).normal(size=6)
    forms = make(array).quadratic_forms(v)
    traces = np.einsum("mii->m", array)
    assert np.all(forms >= -tolerance(make) * traces * (v @ v))


def test_conformance_of_a_stack_that_returns_float32():
    class Single(DenseStack):
        def matvec(self, v):
            return super().matvec(v).astype(np.float32)

    array = psd_stack(2, 4)
    with pytest.raises(AssertionError, match="matvec with outputs"):
        check_gram_stack(Single(array), array)


@pytest.mark.parametrize("make", STACKS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("finite", [0.5, 0.0], ids=["shifted", "bare"])
def test_infinite_shifts_fix_their_unknowns(make, finite):
    n, rng = 8, np.random.default_rng(0)
    array = psd_stack(2, n)
    weights, U = np.array([1.0, 0.5]), rng.normal(size=(n, 2))
    rhs, shift = rng.normal(size=(n, 3)), np.full(n, finite)
    shift[[1, 6]] = np.inf
    kept = np.isfinite(shift)
    full = np.tensordot(weights, array, axes=1) + U @ U.T + finite * np.eye(n)
    expected = np.zeros((n, 3))
    expected[kept] = np.linalg.solve(full[np.ix_(kept, kept)], rhs[kept])
    for low_rank in (U, None):
        if low_rank is None:
            full -= U @ U.T
            expected[kept] = np.linalg.solve(full[np.ix_(kept, kept)], rhs[kept])
        matrix = make(array).combine(weights)
        found = matrix.solve(rhs, shift=shift, low_rank=low_rank)
        np.testing.assert_array_equal(found[~kept], 0.0)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("make", STACKS, ids=lambda make: make.__name__)
def test_a_stack_without_kernels_has_empty_products(make):
    empty = make(psd_stack(3, 6)).take(np.arange(0))
    assert empty.quadratic_forms(np.ones(6)).shape == (0,)
    assert empty.block_matvec(np.empty((0, 6))).shape == (0, 6)
    assert empty.block_matvec(np.empty((0, 6, 2))).shape == (0, 6, 2)


def test_goals_are_those_of_kernels_before_they_are_multiplied():
    asked = Refinement(np.ones(4), {0: 3.0, 1: 1.0})
    all_of_it = asked.for_full_stack(np.array([5, 2]), np.array([0.0, 0.5]))
    assert all_of_it.goals == {2: 2.0}
