"""Rows of tables by whole numbers: equal ones share theirs, others do not."""

import numpy as np
import pytest

from multikernel.linalg import tables


@pytest.mark.parametrize("n_bytes", [1, 2**21])
def test_equal_rows_share_a_number_wherever_they_stand(n_bytes, monkeypatch):
    monkeypatch.setattr(tables, "HASHED_BYTES", n_bytes)
    rng = np.random.default_rng(0)
    table = rng.integers(3, size=(200, 4)).astype(float)
    table[table == 0.0] *= rng.choice([-1.0, 1.0], size=(table == 0.0).sum())
    hashes = tables.row_hashes(table)
    owners = np.unique(table, axis=0, return_inverse=True)[1].ravel()
    numbers = np.unique(hashes, return_inverse=True)[1]
    assert np.unique(np.stack([owners, numbers]), axis=1).shape[1] == owners.max() + 1
    assert numbers.max() == owners.max()


def test_rows_of_small_integers_differ():
    table = np.stack(np.meshgrid(*[np.arange(40.0)] * 3), axis=-1).reshape(-1, 3)
    assert np.unique(tables.row_hashes(table)).size == len(table)
