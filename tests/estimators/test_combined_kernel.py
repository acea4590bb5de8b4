"""The combination of a model as a kernel for other methods."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVR

from multikernel.estimators import (
    FixedWeightsMKLRegressor,
    GroupOMPRegressor,
    HKLRegressor,
    SpicyMKLClassifier,
    SpicyMKLRegressor,
    stack_grams,
)
from multikernel.gram import build_stack
from multikernel.kernels import GaussianKernel, ParameterGrid, PolynomialKernel

KERNELS = ParameterGrid([GaussianKernel(1.0), PolynomialKernel(2)], range(3))


def data():
    random = np.random.default_rng(0)
    X = random.standard_normal((60, 3))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2


@pytest.mark.parametrize("storage", ["dense", "low_rank"])
@pytest.mark.parametrize("normalize", [None, "variance", ["cosine", "variance"]])
@pytest.mark.parametrize("kind", [SpicyMKLRegressor, GroupOMPRegressor])
def test_it_is_the_weighted_sum_on_the_training_samples(storage, normalize, kind):
    X, y = data()
    model = kind(KERNELS, 0.02, normalize=normalize, storage=storage).fit(X, y)
    stack = build_stack(KERNELS, X, normalize=normalize).stack
    expected = np.tensordot(model.kernel_weights_, stack.array, axes=1)
    kernel = model.combined_kernel_
    np.testing.assert_allclose(kernel(X), expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(kernel(X[:5], X[7:]), kernel(X)[:5, 7:], atol=1e-12)
    np.testing.assert_allclose(kernel.diag(X), np.diag(kernel(X)), atol=1e-12)


# What is left of the noise is at its bound.
@pytest.mark.filterwarnings("ignore:The optimal value found")
def test_other_methods_take_it():
    X, y = data()
    model = FixedWeightsMKLRegressor(
        KERNELS, 10.0, epsilon=0.1, tol=1e-8, storage="dense"
    ).fit(X, y)
    kernel = model.combined_kernel_
    machine = SVR(kernel=kernel, C=model.C_, epsilon=model.epsilon_, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(machine.predict(X), model.predict(X), atol=1e-3)
    process = GaussianProcessRegressor(ConstantKernel() * kernel + WhiteKernel(0.1))
    process.fit(X, y)
    found, noise = process.kernel_.k1, process.kernel_.k2.noise_level
    ridge = KernelRidge(alpha=noise + process.alpha, kernel="precomputed")
    expected = ridge.fit(found(X), y).predict(found(X))
    np.testing.assert_allclose(process.predict(X), expected, atol=1e-6)
    np.testing.assert_array_equal(clone(kernel)(X), kernel(X))


def test_classes_share_the_mean_of_their_weights():
    X, y = data()
    labels = np.digitize(y, [0.0, 1.5])
    model = SpicyMKLClassifier(KERNELS, 0.03).fit(X, labels)
    used = model.active_kernels_
    np.testing.assert_allclose(
        model.combined_kernel_.weights, model.kernel_weights_.mean(axis=0)[used]
    )


def test_what_has_no_such_kernel_says_so():
    X, y = data()
    grams = stack_grams([kernel(X) for kernel in KERNELS])
    given = SpicyMKLRegressor("precomputed", 0.02).fit(grams, y)
    with pytest.raises(ValueError, match="Precomputed matrices are known between"):
        given.combined_kernel_(X)
    for storage in ("dense", "low_rank"):
        centred = SpicyMKLRegressor(
            KERNELS, 0.02, normalize=["center", "variance"], storage=storage
        )
        with pytest.raises(ValueError, match="leave 'center' out"):
            centred.fit(X, y).combined_kernel_(X)
    with pytest.raises(AttributeError, match="no list"):
        _ = HKLRegressor().fit(X, y).combined_kernel_
