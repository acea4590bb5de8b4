"""Predictions evaluate the kernels in use, at the samples that these need, alone."""

from collections import Counter
from typing import ClassVar

import numpy as np
import pytest

from multikernel import GroupOMPRegressor, LpMKLRegressor, SpicyMKLRegressor
from multikernel.estimators.publish.shared_values import SharedValues
from multikernel.kernels import (
    ColumnKernel,
    GaussianKernel,
    LinearKernel,
    ListDictionary,
)

N, N_NEW = 120, 50
STORAGES = ["auto", "dense", "dense32", "lazy", "low_rank", "by_kernel"]


class Counted:
    """A Gaussian kernel of one column that notes how many values it is asked for."""

    asked: ClassVar[Counter] = Counter()

    def __init__(self, column, width=1.0):
        self.column, self.width = column, width

    def __call__(self, X, Y=None):
        Y = X if Y is None else Y
        self.asked[self.column] += len(X) * len(Y)
        gaps = X[:, [self.column]] - Y[:, self.column]
        return np.exp(-0.5 * (gaps / self.width) ** 2)

    def diag(self, X):
        return np.ones(len(X))


def problem():
    X = np.random.default_rng(0).uniform(-2.0, 2.0, size=(N + N_NEW, 12))
    return X[:N], np.sin(2.0 * X[:N, 1]) + X[:N, 4] ** 2, X[N:]


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("kind", [SpicyMKLRegressor, GroupOMPRegressor])
def test_kernels_out_of_use_are_not_evaluated(kind, storage):
    X, y, new = problem()
    kernels = ListDictionary([Counted(m) for m in range(12)])
    model = kind(kernels=kernels, storage=storage).fit(X, y)
    assert 0 < model.active_kernels_.size < 12
    Counted.asked.clear()
    model.predict(new)
    assert set(Counted.asked) == set(model.active_kernels_.tolist())
    assert max(Counted.asked.values()) <= N_NEW * N


@pytest.mark.parametrize("kind", [SpicyMKLRegressor, LpMKLRegressor])
def test_factors_are_evaluated_at_landmarks(kind):
    X, y, new = problem()
    kernels = ListDictionary([Counted(m) for m in range(12)])
    model = kind(kernels=kernels, storage="low_rank").fit(X, y)
    Counted.asked.clear()
    model.predict(new)
    assert set(Counted.asked) == set(model.active_kernels_.tolist())
    # A Gaussian of one column has some dozen landmarks.
    assert max(Counted.asked.values()) <= N_NEW * N // 2


class Alone(GaussianKernel):
    """A Gaussian kernel whose distances are shared with no other kernel."""


def test_kernels_on_many_columns_share_distances():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(200, 700)), rng.normal(size=(9, 700))

    def predicted(kind):
        columns = ColumnKernel(kind(4.0), range(30))
        kernels = [kind(20.0), columns, kind(40.0), LinearKernel()]
        model = LpMKLRegressor(kernels).fit(X, X[:, :3].sum(axis=1))
        assert model.active_kernels_.size == 4
        return model.predict(new), model.predict(new[:1])

    every, first = predicted(GaussianKernel)
    np.testing.assert_allclose(every, predicted(Alone)[0], rtol=1e-9)
    np.testing.assert_allclose(every[:1], first, rtol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("gap", [0.0, 1e6, 1e200])
def test_shared_distances_are_exact_far_from_the_origin_and_between_clusters(
    offset, gap
):
    X = np.random.default_rng(0).normal(size=(209, 700)) + offset
    X[:100, 0] += gap
    new, X = X[::20].copy(), X[:200]
    kernels = GaussianKernel(20.0), GaussianKernel(5.0), GaussianKernel(1e3)
    with np.errstate(over="ignore"):
        values = SharedValues(kernels, X).at(new)
        for position, kernel in enumerate(kernels):
            K = kernel(new, X)
            np.testing.assert_allclose(values(position), K, rtol=1e-11, atol=1e-300)
