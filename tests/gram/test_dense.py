"""Stacks in one array: views, copies, storage in single precision, refusals."""

import tracemalloc

import numpy as np
import pytest
from numpy.linalg import LinAlgError

from multikernel.gram import DenseMatrix, DenseStack, ScaledStack, base


@pytest.fixture(name="array")
def matrices():
    Z = np.random.default_rng(0).normal(size=(6, 20, 5))
    array = Z @ Z.transpose(0, 2, 1)
    array.flags.writeable = False
    return array


def test_some_kernels_are_a_view(array):
    stack = DenseStack(array)
    assert np.shares_memory(stack.take(np.arange(2, 5)).array, array)
    assert np.shares_memory(stack.take(np.array([3])).array, array)
    scattered = stack.take(np.array([4, 0]))
    assert np.shares_memory(scattered.parent.array, array)
    every = np.arange(array.shape[1])
    np.testing.assert_array_equal(scattered.columns(every), array[[4, 0]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_entries_are_those_asked_for_or_an_error(array, dtype):
    stack = DenseStack(array.astype(dtype))
    rows, cols = np.array([7, 0, 3]), np.array([2, -1, 11, 2])
    expected = stack.array[4][np.ix_(rows, cols)].astype(np.float64)
    found = stack.entries(4, rows, cols)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, expected)
    for sides in ((rows, np.array([20])), (np.array([20]), cols)):
        with pytest.raises(IndexError):
            stack.entries(4, *sides)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("entries_per_task", [30, 10**6])
def test_a_root_of_a_sum_solves_its_system(array, dtype, entries_per_task, monkeypatch):
    monkeypatch.setattr("multikernel.gram.dense.ENTRIES_PER_TASK", entries_per_task)
    random, scales = np.random.default_rng(1), np.linspace(0.5, 2.0, 6)
    stack = ScaledStack(DenseStack(array.astype(dtype)), scales)
    shift, v = random.uniform(0.1, 9.0, 20), random.normal(size=(20, 3))
    for weights in (random.random(6), np.eye(6)[2], np.zeros(6)):
        root = stack.root(weights, shift)
        total = np.tensordot(weights * scales, stack.stack.array, axes=1)
        found = root.rest(root.half(v))
        np.testing.assert_allclose((total + np.diag(shift)) @ found, v, atol=1e-12)
    assert stack.root(np.full(6, -1.0), shift) is None


def test_an_empty_take_has_no_kernels(array):
    empty = DenseStack(array).take(np.array([], dtype=np.intp))
    assert empty.shape == (0, 20, 20)
    assert empty.quadratic_forms(np.ones(20)).shape == (0,)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.ones((3, 3)), r"got shape \(3, 3\)"),
        (np.ones((2, 3, 3), dtype=np.int64), "requires float64 or float32, got int64"),
        (np.moveaxis(np.ones((3, 3, 2)), -1, 0), "C-contiguous"),
    ],
)
def test_wrong_arrays(wrong, message):
    with pytest.raises(ValueError, match=message):
        DenseStack(wrong)


def test_single_precision_sums_in_double():
    # In float32 the sum of a million and ones would stop growing.
    array = np.ones((2, 3000, 3000), dtype=np.float32)
    v = np.ones(3000)
    v[0] = 2.0**24
    expected = (v.sum()) ** 2
    np.testing.assert_allclose(
        DenseStack(array).quadratic_forms(v), expected, rtol=1e-14
    )
    total = DenseStack(array).combine(np.array([2.0**30, 1.0])).diagonal()
    np.testing.assert_array_equal(total, 2.0**30 + 1.0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_pass_needs_little_memory(dtype):
    array = np.ones((100, 200, 200), dtype=dtype)
    stack, v, weights = DenseStack(array), np.ones(200), np.ones(100)
    stack.quadratic_forms(v)
    stack.combine(weights)  # compiled, or loaded
    tracemalloc.start()
    stack.quadratic_forms(v)
    stack.combine(weights)
    stack.combine(np.eye(100)[3])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.1 * 8 * array.size


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_pass_is_cut(dtype, monkeypatch):
    rng = np.random.default_rng(0)
    array = rng.normal(size=(50, 30, 30)).astype(dtype)
    array += np.swapaxes(array, 1, 2)
    v = rng.normal(size=30)
    monkeypatch.setattr("multikernel.gram.dense.ENTRIES_PER_TASK", 400)
    stack = DenseStack(array)
    images = array.astype(np.float64) @ v
    np.testing.assert_allclose(stack.quadratic_forms(v), images @ v)
    np.testing.assert_allclose(stack.matvec(v), images)
    weights = rng.normal(size=50) * (rng.random(50) < 0.7)
    expected = np.tensordot(weights, array.astype(np.float64), axes=1)
    total = stack.combine(weights).columns(np.arange(30))
    np.testing.assert_allclose(total, expected, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_forms_of_several_outputs(dtype):
    rng = np.random.default_rng(0)
    array = rng.normal(size=(5, 30, 30)).astype(dtype)
    V = rng.normal(size=(30, 4))
    expected = np.einsum("ik,mij,jk->m", V, array.astype(np.float64), V)
    np.testing.assert_allclose(DenseStack(array).quadratic_forms(V), expected)


def test_solve_with_shifts_of_many_sizes(array):
    rng = np.random.default_rng(1)
    K = array[0]
    shift = 10.0 ** rng.uniform(0.6, 12.0, size=20)
    U = 100.0 * np.ones((20, 1))
    rhs = rng.normal(size=20)
    x = DenseMatrix(K).solve(rhs, shift=shift, low_rank=U)
    # Componentwise: the small unknowns at large shifts must be right as well.
    residual = K @ x + shift * x + U @ (U.T @ x) - rhs
    assert np.abs(residual).max() < 1e-12 * max(1.0, np.abs(shift * x).max())


def test_solve_without_shift(array):
    K = array[0] + array[1] + array[2] + array[3]
    rhs = np.arange(40.0).reshape(20, 2)
    x = DenseMatrix(K + 0.1 * np.eye(20)).solve(rhs, shift=np.zeros(20))
    np.testing.assert_allclose((K + 0.1 * np.eye(20)) @ x, rhs, atol=1e-9)


def test_an_infinite_shift_fixes_its_unknown(array):
    shift = np.ones(20)
    shift[3] = np.inf
    x = DenseMatrix(array[0]).solve(np.ones(20), shift=shift)
    assert x[3] == 0.0
    kept = np.arange(20) != 3
    # Fancy indexing gives an array in Fortran's order, which must work as well.
    smaller = DenseMatrix(array[0][kept][:, kept]).solve(np.ones(19), shift=np.ones(19))
    np.testing.assert_allclose(x[kept], smaller)


def test_an_indefinite_system_is_refused():
    K = -np.eye(3)
    with pytest.raises(LinAlgError, match=r"not positive definite"):
        DenseMatrix(K).solve(np.ones(3), shift=np.zeros(3))


def test_solve_changes_none_of_its_arguments(array):
    K, rhs, shift, U = array[0], np.ones(20), np.ones(20), np.ones((20, 2))
    for argument in (rhs, shift, U):
        argument.flags.writeable = False
    for low_rank, two in ((U, shift), (None, 2.0 * shift)):
        x = DenseMatrix(K).solve(rhs, shift=two, low_rank=low_rank)
        added = np.diag(two) + (0.0 if low_rank is None else U @ U.T)
        np.testing.assert_allclose((K + added) @ x, rhs, rtol=1e-8)
    for argument in (rhs, shift, U):
        np.testing.assert_array_equal(argument, 1.0)


def rounded_kernel():
    """A kernel that rounding to single precision makes indefinite."""
    x = np.linspace(-1.0, 1.0, 30)
    K = np.exp(-((x[:, None] - x) ** 2)).astype(np.float32).astype(np.float64)
    assert -1e-6 * len(x) < np.linalg.eigvalsh(K)[0] < -1e-9
    return K


def test_what_rounding_took_from_a_kernel_is_given_back():
    K = rounded_kernel()
    rhs = K @ np.ones(30)
    x = DenseMatrix(K).solve(rhs, shift=np.full(30, 1e-12))
    # At most 1e-6 of the trace was added to the diagonal: this bounds what is left.
    left = np.linalg.norm(K @ x - rhs)
    assert left <= 1.01e-6 * 30.0 * np.linalg.norm(x)
    assert left <= 1e-3 * np.linalg.norm(rhs)


@pytest.mark.parametrize("shift", [0.0, 1e-3])
def test_more_than_rounding_is_not_given_back(shift):
    K = rounded_kernel() - 0.01 * np.eye(30)
    with pytest.raises(LinAlgError, match="not positive definite"):
        DenseMatrix(K).solve(np.ones(30), shift=np.full(30, shift))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_used", [8, 11])
def test_a_sum_of_large_matrices_reads_half_of_each(dtype, n_used):
    array = np.random.default_rng(0).normal(size=(12, 733, 733)).astype(dtype)
    array += np.swapaxes(array, 1, 2)
    weights = np.random.default_rng(1).random(12)
    weights[n_used:] = 0.0
    exact = np.einsum("m,mij->ij", weights, array.astype(np.float64))
    upper = np.triu(np.ones((733, 733), dtype=bool), 1)
    total = DenseStack(np.where(upper, np.nan, array)).combine(weights).array
    np.testing.assert_allclose(total, exact, rtol=1e-12, atol=1e-12)


def test_terms_of_many_outputs_are_described_in_blocks(array, monkeypatch):
    stack, rng = DenseStack(array), np.random.default_rng(0)
    n_kernels, n_samples, _ = stack.shape
    coefs, weights = rng.normal(size=(n_kernels, n_samples, 900)), rng.random(n_samples)
    arguments = np.arange(n_kernels), coefs, weights
    together = stack.term_covariances(*arguments)
    monkeypatch.setattr(base, "CHUNK_BYTES", 8 * n_kernels * n_samples * 100)
    tracemalloc.start()
    apart = stack.term_covariances(*arguments)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    for some, every in zip(apart, together, strict=True):
        np.testing.assert_allclose(some, every, rtol=1e-12, atol=1e-12)
    assert peak < 0.5 * coefs.nbytes
