"""Kernels that users write: overridden formulas, noise on the diagonal, one batch."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from multikernel.estimators import SpicyMKLRegressor
from multikernel.gram import build_stack, cross_gram, kernel_features, lazy_stack
from multikernel.kernels import (
    ColumnKernel,
    GaussianKernel,
    LinearKernel,
    ListDictionary,
    RandomSubsetGaussians,
    random_subset_gaussians,
)
from multikernel.testing import check_gram_stack

STORAGES = ("auto", "dense", "dense32", "lazy")


class LinearPlusOne(LinearKernel):
    def __call__(self, X, Y=None):
        return super().__call__(X, Y) + 1.0


class DoubledGaussian(GaussianKernel):
    def __call__(self, X, Y=None):
        return 2.0 * super().__call__(X, Y)


class DoubledColumns(ColumnKernel):
    def __call__(self, X, Y=None):
        return 2.0 * super().__call__(X, Y)


OVERRIDDEN = (
    LinearPlusOne(),
    DoubledGaussian(1.0),
    DoubledColumns(LinearKernel(), 0),
    DoubledColumns(GaussianKernel(1.0), 0),
    ColumnKernel(LinearPlusOne(), [1, 2]),
    ColumnKernel(DoubledGaussian(2.0), 2),
)


@pytest.fixture(name="X")
def samples():
    X = np.random.default_rng(8).normal(size=(40, 3))
    X.flags.writeable = False
    return X


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("kernel", OVERRIDDEN, ids=lambda k: type(k).__name__)
def test_a_subclass_is_asked_whatever_the_storage(kernel, storage, X):
    stack = build_stack(ListDictionary([kernel]), X, storage=storage).stack
    tol = 1e-4 if storage == "dense32" else 1e-9
    check_gram_stack(stack, kernel(X)[None], tol)
    assert kernel_features(kernel, X) is None


@pytest.mark.parametrize("kernel", OVERRIDDEN, ids=lambda k: type(k).__name__)
def test_the_diagonal_of_a_subclass_is_its_own(kernel, X):
    dictionary = ListDictionary([kernel])
    for normalize in ("trace", "cosine"):
        built = build_stack(dictionary, X, normalize=normalize, storage="lazy")
        again = cross_gram(kernel, X, X, built.normalization, 0)
        np.testing.assert_allclose(built.stack.diagonals()[0], np.diagonal(again))
        assert np.mean(np.diagonal(again)) == pytest.approx(1.0)


def test_a_dictionary_that_builds_other_kernels_is_asked_for_them(X):
    class Doubled(RandomSubsetGaussians):
        def __getitem__(self, index, /):
            kernel = super().__getitem__(index)
            return DoubledColumns(kernel.kernel, kernel.columns)

    plain = random_subset_gaussians(3, 3, random_state=0)
    doubled = Doubled(plain.packed, plain.sigmas, plain.n_features)
    stack = build_stack(doubled, X, storage="lazy").stack
    check_gram_stack(stack, np.stack([doubled[m](X) for m in range(3)]))


@pytest.mark.parametrize(
    ("normalize", "dense_bytes"),
    [
        (None, 2**28),
        *((how, 0) for how in (None, "trace", "center", ("cosine", "center"))),
    ],
)
def test_noise_on_the_diagonal_is_kept_in_blocks(normalize, dense_bytes, monkeypatch):
    # One row at a time, so that no block is the whole matrix.
    monkeypatch.setattr("multikernel.gram.lazy.BLOCK_NUMBERS", 1)
    X = np.random.default_rng(1).normal(size=(7, 2))
    X[3] = X[6]
    kernels = ListDictionary([RBF(1.0) + WhiteKernel(2.0), WhiteKernel(1.0), RBF(0.5)])
    dense = build_stack(kernels, X, normalize=normalize, storage="dense").stack
    if normalize is None:
        lazy = lazy_stack(kernels, X, dense_bytes)
    else:
        lazy = build_stack(kernels, X, normalize=normalize, storage="lazy").stack
    check_gram_stack(lazy, dense.array)


@pytest.mark.parametrize("distant", [1e7, 1e9, 1e90])
def test_a_prediction_does_not_depend_on_its_batch(distant, X):
    y = np.sin(X[:, 0])
    kernels = [GaussianKernel(0.5), GaussianKernel(1.0)]
    model = SpicyMKLRegressor(kernels, alpha=1e-3, tol=1e-6).fit(X, y)
    new = np.random.default_rng(9).normal(size=(5, 3))
    alone = model.predict(new)
    beside = model.predict(np.vstack([new, np.full((1, 3), distant)]))[:5]
    np.testing.assert_allclose(beside, alone, rtol=1e-10)


@pytest.mark.parametrize("distant", [1e3, 1e7])
def test_fit_and_prediction_compute_the_same_kernel(distant):
    # The distant training sample moves the mean far from all others.
    X = np.random.default_rng(4).normal(size=(20, 4))
    X[0] = distant
    kernel = GaussianKernel(0.8)
    built = build_stack(ListDictionary([kernel]), X)
    again = cross_gram(kernel, X[1:4], X, built.normalization, 0)
    np.testing.assert_allclose(again, built.stack.array[0, 1:4], rtol=1e-12)
