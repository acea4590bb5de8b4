"""The row cache: what it holds, what it evicts, and how much memory it takes."""

import numpy as np
import pytest

from multikernel.gram import DenseMatrix
from multikernel.machines.smo.rows import FETCH, CachedRows, DenseRows, row_source

K = np.random.default_rng(0).normal(size=(50, 50))
K = K + K.T


class Columns:
    """Columns of K only, and a count of those asked for."""

    shape, array = K.shape, None

    def __init__(self):
        self.count = 0

    def columns(self, indices):
        self.count += len(indices)
        return K[:, indices]


def cache(n_slots):
    return row_source(Columns(), n_slots * 8 * 50)


def check(source, active=None):
    """Every cached row is the right one, and owner and slot agree."""
    active = np.arange(50) if active is None else active
    held = np.flatnonzero(source.slot >= 0)
    part = K[np.ix_(active, active)]
    np.testing.assert_array_equal(source.rows.data[source.slot[held]], part[held])
    np.testing.assert_array_equal(source.owner[source.slot[held]], held)
    assert held.size == (source.owner >= 0).sum()


def test_arrays_are_read_in_place_and_other_layouts_by_columns():
    source = row_source(DenseMatrix(K), 0)
    assert isinstance(source, DenseRows)
    assert np.shares_memory(source.rows.data, K)
    assert isinstance(row_source(DenseMatrix(K[::2, ::2]), 10**6), CachedRows)


@pytest.mark.parametrize("n_slots", [0, 2, 3, 7, 20, 50, 1000])
def test_the_needed_row_and_the_one_in_use_are_there(n_slots):
    source = cache(n_slots)
    n_rows = source.rows.data.shape[0]
    assert n_rows == min(max(n_slots, 2), 50)
    rng = np.random.default_rng(n_slots)
    for step in range(200):
        i, j = rng.choice(50, 2, replace=False)
        for k in (i, j):
            if source.slot[k] < 0:
                others = rng.choice(50, FETCH, replace=False)
                source.fetch(np.r_[k, others[others != k]], step)
            assert source.slot[k] >= 0
            source.stamp[source.slot[k]] = 2 * step + 1
        assert source.slot[i] >= 0
    check(source)
    if n_rows == 50:
        assert source.gram.count == 50


def test_the_row_unused_for_longest_goes():
    source = cache(4)
    for step, k in enumerate((1, 2, 3, 4)):
        source.fetch(np.array([k]), step)
    source.stamp[source.slot[1]] = 2 * 4 + 1
    source.fetch(np.array([9]), 5)
    assert source.slot[2] == -1
    assert all(source.slot[k] >= 0 for k in (1, 3, 4, 9))


def test_a_full_cache_narrows_in_its_own_memory():
    source = cache(10)
    keep = np.arange(0, 50, 3)
    source.fetch(np.array([0, 3, 5, 7]), 0)
    assert source.narrowed(keep) is None  # not full: nothing to gain
    for step, k in enumerate((9, 12, 13, 20, 21, 30, 33, 34)):
        source.fetch(np.array([k]), step + 1)
    small = source.narrowed(keep)
    assert np.shares_memory(small.data, source.data)
    assert small.rows.data.shape == (17, 17)
    check(small, keep)
    assert (small.slot >= 0).sum() > 4
    small.fetch(np.array([16, 5, 6]), 20)
    check(small, keep)
    wide = small.widened()
    assert np.all(wide.slot == -1)
    wide.fetch(np.array([49]), 21)
    check(wide)


def test_a_dense_matrix_narrows_by_a_copy_that_fits():
    keep = np.arange(0, 50, 3)
    small = row_source(DenseMatrix(K), 17 * 17 * 8).narrowed(keep)
    np.testing.assert_array_equal(small.rows.data, K[np.ix_(keep, keep)])
    assert small.widened().array is K
    assert row_source(DenseMatrix(K), 17 * 17 * 8 - 1).narrowed(keep) is None
    assert row_source(DenseMatrix(K), 10**6).narrowed(np.arange(40)) is None
