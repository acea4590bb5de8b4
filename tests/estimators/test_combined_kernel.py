"""The combination of a model as a kernel for other methods."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC, SVR

from multikernel.estimators import (
    FixedWeightsMKLRegressor,
    GroupOMPRegressor,
    HKLRegressor,
    SpicyMKLClassifier,
    SpicyMKLRegressor,
    stack_grams,
)
from multikernel.gram import build_stack
from multikernel.kernels import (
    CategoryKernel,
    ColumnKernel,
    GaussianKernel,
    Grams,
    ParameterGrid,
    PolynomialKernel,
    Views,
)
from multikernel.kernels.sequence import SpectrumKernel

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
    with pytest.raises(AttributeError, match="because it was fitted on precomputed"):
        _ = given.combined_kernel_
    for storage in ("dense", "low_rank"):
        centered = SpicyMKLRegressor(
            KERNELS, 0.02, normalize=["center", "variance"], storage=storage
        )
        with pytest.raises(ValueError, match="remove 'center' from"):
            centered.fit(X, y).combined_kernel_(X)
    with pytest.raises(AttributeError, match="because it was fitted on precomputed"):
        _ = HKLRegressor().fit(X, y).combined_kernel_


def mixture():
    """Return a table of sequences, categories and numbers, and kernels on these."""
    random = np.random.default_rng(0)
    lengths = random.integers(20, 40, 60)
    frame = pd.DataFrame(
        {
            "site": ["".join(random.choice(list("ACGT"), n)) for n in lengths],
            "ward": random.choice(["north", "south"], 60),
            "age": random.standard_normal(60),
        }
    )
    y = frame["site"].str.count("A") / lengths + 0.1 * frame["age"]
    kernels = [
        ColumnKernel(SpectrumKernel(2), "site"),
        ColumnKernel(CategoryKernel(), "ward"),
        ColumnKernel(GaussianKernel(1.0), "age"),
    ]
    return frame, y + 0.1 * (frame["ward"] == "north"), kernels


@pytest.mark.parametrize("storage", ["dense", "low_rank"])
def test_it_takes_the_sequences_and_categories_of_the_fit(storage):
    frame, y, kernels = mixture()
    model = SpicyMKLRegressor(kernels, 1e-3, storage=storage).fit(frame, y)
    kernel, codes = model.combined_kernel_, frame["ward"] == "north"
    columns = [frame["site"].tolist(), codes.to_numpy(float)[:, None], frame[["age"]]]
    parts = zip((k.kernel for k in kernels), columns, strict=True)
    grams = [SpicyMKLRegressor([k], 1e-3).fit(c, y).combined_kernel_ for k, c in parts]
    # Each is normalized alone, and weights are those of the joint model.
    expected = sum(
        weight * gram(column) / gram.weights[0]
        for weight, gram, column in zip(kernel.weights, grams, columns, strict=True)
    )
    rtol = 1e-9 if storage == "dense" else 1e-2
    np.testing.assert_allclose(kernel(frame), expected, rtol=rtol, atol=1e-6)
    np.testing.assert_allclose(kernel(frame[:9], frame), kernel(frame)[:9], atol=1e-12)
    np.testing.assert_allclose(kernel.diag(frame), np.diag(kernel(frame)), atol=1e-12)
    np.testing.assert_array_equal(kernel(frame.to_numpy()), kernel(frame))


# The level of the noise is at its bound.
@pytest.mark.filterwarnings("ignore:The optimal value found")
def test_other_methods_take_it_for_text():
    frame, y, kernels = mixture()
    model = SpicyMKLRegressor(kernels[:1], 1e-3).fit(frame[["site"]], y)
    sites, kernel = frame[["site"]], model.combined_kernel_
    machine = SVC(kernel=kernel).fit(sites, y > y.median())
    given = SVC(kernel="precomputed").fit(kernel(sites), y > y.median())
    np.testing.assert_allclose(
        machine.decision_function(sites), given.decision_function(kernel(sites))
    )
    process = GaussianProcessRegressor(ConstantKernel() * kernel + WhiteKernel(0.1))
    process.fit(sites, y)
    learnt, noise = process.kernel_.k1, process.kernel_.k2.noise_level
    ridge = KernelRidge(alpha=noise + process.alpha, kernel="precomputed")
    expected = ridge.fit(learnt(sites), y).predict(learnt(sites))
    np.testing.assert_allclose(process.predict(sites), expected, atol=1e-6)
    np.testing.assert_array_equal(clone(kernel)(sites), kernel(sites))


def test_it_takes_names_of_samples_and_gaps():
    X, y = data()
    K = GaussianKernel(1.0)(X)
    table = np.column_stack([X[:, :1], np.arange(60)])
    views = {"given": Grams(K, 1), "first": (0, GaussianKernel(1.0))}
    kernel = SpicyMKLRegressor(views, 0.01).fit(table, y).combined_kernel_
    same = [GaussianKernel(1.0), ColumnKernel(GaussianKernel(1.0), 0)]
    expected = SpicyMKLRegressor(same, 0.01).fit(X, y).combined_kernel_
    np.testing.assert_allclose(kernel(table[9:]), expected(X[9:]), rtol=1e-9)
    gaps = np.where(np.arange(60)[:, None] < 9, np.nan, X)
    views = Views({"first": [0, 1], "last": 2}, missing="zero")
    kernel = SpicyMKLRegressor(views, 0.02).fit(gaps, y).combined_kernel_
    np.testing.assert_array_equal(kernel(gaps)[:9, 9:], 0.0)
    with pytest.raises(ValueError, match="CombinedKernelData is expecting 3"):
        kernel(X[:, :2])
