"""What a fit says of kernels that are of little use, in one warning."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

from multikernel.estimators import (
    FixedWeightsMKLRegressorCV,
    GroupOMPRegressor,
    HKLRegressor,
    HKLRegressorCV,
    LocalRademacherMKLRegressor,
    LocalRademacherMKLRegressorCV,
    LpMKLRegressor,
    LpMKLRegressorCV,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
    stack_grams,
)
from multikernel.exceptions import DegenerateKernelWarning, DictionaryWarning
from multikernel.kernels import ColumnKernel, GaussianKernel, Grams, LinearKernel

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.standard_normal((80, 4)), columns=["a", "b", "c", "d"])
Y = np.sin(2.0 * X["a"].to_numpy())


def said(model, data=X):
    """Return the warnings about the dictionary of a fit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(data, Y)
    return [str(w.message) for w in caught if w.category is DictionaryWarning]


def test_nothing_is_said_of_useful_kernels():
    assert not said(SpicyMKLRegressor(alpha=0.1))
    assert not said(SpicyMKLRegressor([GaussianKernel("median")], alpha=0.1))
    # One column may have any scale, and of two groups each may have its own.
    scaled = X * [1.0, 1.0, 1e4, 1e4]
    kernels = [ColumnKernel(LinearKernel(), [0, 1]), ColumnKernel(LinearKernel(), [2])]
    kernels += [ColumnKernel(GaussianKernel("median"), [2, 3])]
    assert not said(SpicyMKLRegressor(kernels, alpha=0.1), scaled)
    # The computed deviation of 0.1 is a rounding error.
    assert not said(SpicyMKLRegressor(alpha=0.1), X[["a"]].assign(d=0.1))


def test_one_warning_names_kernels_and_columns():
    scaled = X * [1.0, 1.0, 1.0, 1e3]
    kernels = [
        GaussianKernel(1e-3),
        GaussianKernel(1e6),
        ColumnKernel(LinearKernel(), 0),
    ]
    model = SpicyMKLRegressor(kernels, alpha=0.01, normalize="trace")
    (message,) = said(model, scaled)
    assert "can only memorize" in message
    assert "'gaussian(sigma=0.001)'" in message
    assert "1 of 3 kernels are nearly constant on the training data" in message
    assert "'gaussian(sigma=1e+06)'" in message
    assert (
        "depend almost only on 'd', whose standard deviation is more than 10" in message
    )
    assert "linear()[a]" not in message


def test_a_wide_kernel_is_fine_once_its_variance_is_one():
    kernels = [GaussianKernel(300.0), LinearKernel()]
    assert not said(SpicyMKLRegressor(kernels, alpha=0.01))
    assert said(SpicyMKLRegressor(kernels, alpha=0.01, normalize="trace"))
    (message,) = said(SpicyMKLRegressor([GaussianKernel(1e5)], alpha=0.01))
    assert "nearly constant" in message


def test_a_linear_kernel_is_not_constant_for_the_rows_that_are_looked_at():
    # These lie nearer to the origin than the others: entries beside the diagonal are
    # larger than those on it.
    x = np.full(80, 90.0)
    x[np.linspace(0, 79, 16).astype(int)] = 30.0
    model = SpicyMKLRegressor("precomputed", alpha=0.01, normalize=None)
    assert not said(model, stack_grams([np.outer(x, x)]))
    with pytest.warns(DegenerateKernelWarning, match="1 of 2 kernels.*'gram 1'"):
        model.fit(stack_grams([np.outer(x, x), np.ones((80, 80))]), Y)


def test_unscaled_columns_of_the_default_dictionary():
    (message,) = said(SpicyMKLRegressor(alpha=0.01), X * [1e4, 1.0, 1.0, 1.0])
    assert "depend almost only on 'a'" in message
    assert "x1" in said(SpicyMKLRegressor(alpha=0.01), X.to_numpy() * [1, 1e4, 1, 1])[0]
    views = {"ab": ["a", "b"], "cd": ["c", "d"]}
    (message,) = said(SpicyMKLRegressor(views, alpha=0.01), X * [1e4, 1.0, 1e4, 1e4])
    assert "'a'" in message
    assert "'c'" not in message


@pytest.mark.parametrize(
    "model",
    [SpicyMKLRegressor(alpha=1e3), GroupOMPRegressor(tol=1e9)],
    ids=lambda model: type(model).__name__,
)
def test_a_model_without_kernels_is_said_to_be_a_constant(model):
    (message,) = said(model)
    assert "has no active kernel, so the model is a constant" in message


@pytest.mark.filterwarnings("ignore:.* ignores 1 of 1 kernels")
def test_the_advice_for_an_empty_model_fits_its_cause():
    (message,) = said(GroupOMPRegressor(tol=1e9))
    assert message.endswith("reduce tol or alpha.")
    with pytest.warns(DictionaryWarning, match="all targets are equal"):
        SpicyMKLRegressor().fit(X, np.ones(len(X)))
    with pytest.warns(DictionaryWarning, match="pass kernels that vary"):
        SpicyMKLRegressor({"a": [0]}).fit(0.0 * np.asarray(X), np.arange(len(X)))


def test_a_search_has_a_warning_of_its_own():
    assert not said(SpicyMKLRegressorCV(alphas=[1e3, 2e3], cv=2))


HURRIED = [
    SpicyMKLRegressor(max_iter=1),
    SpicyMKLRegressorCV(max_iter=1, tol=1e-8),
    LpMKLRegressor(max_iter=1),
    LpMKLRegressorCV(max_iter=1, tol=1e-8),
    LocalRademacherMKLRegressor(max_iter=1),
    LocalRademacherMKLRegressorCV(max_iter=1, tol=1e-8, Cs=[1.0], thetas=[2], cv=2),
    FixedWeightsMKLRegressorCV(
        kernel_weights="single", max_iter=1, tol=1e-8, Cs=[1.0], cv=2
    ),
    HKLRegressor(max_iter=1),
    HKLRegressorCV(max_iter=1, tol=1e-8, alphas=[1e-3]),
]


@pytest.mark.parametrize("model", HURRIED, ids=lambda model: type(model).__name__)
def test_warnings_point_at_the_call_of_the_user(model):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, Y)
    assert any(" stopped " in str(warning.message) for warning in caught)
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize("mean", [1e6, 1e8])
def test_a_column_far_from_zero_is_not_called_constant(mean):
    data = X.assign(b=mean + X["b"], c=1.0)
    kernels = [ColumnKernel(LinearKernel(), name) for name in "abc"]
    message = (
        r"1 of 3 .* zero or constant .*'linear\(\)\[c\]'; .* 1 of 3 .* less than the "
        r"rounding errors of their values: 'linear\(\)\[b\]'; subtract the means"
    )
    with pytest.warns(DegenerateKernelWarning, match=message):
        SpicyMKLRegressor(kernels).fit(data, Y)


@pytest.mark.parametrize("normalize", ["variance", None])
@pytest.mark.filterwarnings("ignore:.* stopped at:UserWarning")
@pytest.mark.parametrize(("mean", "cause"), [(1e10, "nearly"), (1e15, "rounding|near")])
def test_given_matrices_that_hardly_vary_are_to_be_centered(normalize, mean, cause):
    K = np.asarray(X) @ np.asarray(X).T
    rows, matrices = np.arange(len(X))[:, None], [K + mean, K]
    views = {name: Grams(M, 0) for name, M in zip("kl", matrices, strict=True)}
    cases = (("precomputed", stack_grams(matrices)), (views, rows))
    for kernels, data in cases:
        message = f"1 of 2 kernels.*({cause}).*; compute .* from centered features, or"
        with pytest.warns(UserWarning, match=message) as caught:
            SpicyMKLRegressor(kernels, normalize=normalize).fit(data, Y)
        assert not re.search("narrower|StandardScaler", str(caught[0].message))


def test_given_matrices_whose_rounding_is_not_semidefinite_get_their_own_advice():
    K = np.asarray(X) @ np.asarray(X).T + 1e12
    message = "constant on .*Compute them from centered features, or remove them"
    for kernels, data in (
        ("precomputed", stack_grams([K])),
        ({"k": Grams(K, 0)}, np.arange(len(X))[:, None]),
    ):
        with pytest.raises(ValueError, match=message):
            SpicyMKLRegressor(kernels, normalize="center").fit(data, Y)
