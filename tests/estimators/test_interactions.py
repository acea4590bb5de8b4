"""Interactions in estimators: the same as with all products written down."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from multikernel import (
    GroupOMPRegressor,
    LpMKLRegressor,
    SpicyMKLClassifier,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
    UniformMKLRegressor,
)
from multikernel.kernels import GaussianKernel, Interactions, ListDictionary, per_column
from multikernel.kernels.columns import Features
from multikernel.kernels.interactions import with_interactions
from multikernel.persistence import load, save

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5))
y = X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + 0.1 * RNG.normal(size=60)
SPEC = Interactions(per_column(GaussianKernel(1.0), 5))


def written_down(X, weights=None):
    found = with_interactions(SPEC, SPEC.kernels, X, weights, Features(X.shape[1]))
    return ListDictionary([found[m] for m in range(len(found))])


@pytest.mark.parametrize("storage", ["auto", "dense", "dense32", "lazy", "low_rank"])
def test_the_same_model_as_with_products_written_down(storage):
    weights = RNG.integers(1, 3, 60).astype(float)
    one = SpicyMKLRegressor(SPEC, alpha=0.05, tol=1e-7, storage=storage)
    other = SpicyMKLRegressor(written_down(X, weights), alpha=0.05, tol=1e-7)
    one.fit(X, y, sample_weight=weights)
    other.fit(X, y, sample_weight=weights)
    new = RNG.normal(size=(10, 5))
    exact = storage not in ("dense32", "low_rank")
    tol = 1e-6 if exact else 1e-3
    np.testing.assert_allclose(one.predict(new), other.predict(new), atol=tol)
    np.testing.assert_allclose(one.kernel_weights_, other.kernel_weights_, atol=tol)
    assert one.duality_gap_ <= 1e-7


@pytest.mark.parametrize("storage", ["auto", "low_rank"])
@pytest.mark.parametrize(
    "model",
    [
        LpMKLRegressor(p=1),
        LpMKLRegressor(p=2),
        UniformMKLRegressor(),
        GroupOMPRegressor(max_kernels=3),
    ],
    ids=str,
)
def test_other_methods_take_them(model, storage):
    one = model.set_params(kernels=SPEC, storage=storage).fit(X, y)
    first = one.predict(X)
    plain = {"kernels": written_down(X), "storage": "auto"}
    other = model.set_params(**plain).fit(X, y)
    np.testing.assert_allclose(first, other.predict(X), atol=5e-3)


@pytest.mark.parametrize("storage", ["auto", "low_rank"])
def test_a_search_has_the_folds_of_products_written_down(storage):
    one = SpicyMKLRegressorCV(SPEC, tol=1e-6, cv=3, storage=storage).fit(X, y)
    other = SpicyMKLRegressorCV(written_down(X), tol=1e-6, cv=3).fit(X, y)
    np.testing.assert_allclose(one.alphas_, other.alphas_, rtol=1e-6)
    np.testing.assert_allclose(
        one.cv_results_["mean_test_score"],
        other.cv_results_["mean_test_score"],
        atol=1e-3,
    )


def test_exclusive_or_of_two_columns_is_found():
    table = pd.DataFrame(
        {
            "sex": RNG.choice(["f", "m"], 200),
            "smokes": RNG.integers(0, 2, 200),
            "age": RNG.normal(size=200),
        }
    )
    label = (table["sex"] == "m") ^ (table["smokes"] == 1)
    model = SpicyMKLClassifier(Interactions(), alpha=0.02).fit(table, label)
    assert model.summary()["kernel"].iloc[0] in ("sex × smokes", "smokes × sex")
    assert model.score(table, label) == 1.0


def test_views_have_interactions():
    views = {
        "genes": ([0, 2], GaussianKernel(1.0)),
        "clinic": ([1, 3, 4], GaussianKernel(1.0)),
    }
    model = SpicyMKLRegressor(Interactions(views), alpha=0.02).fit(X, y)
    assert set(model.summary("view")["view"]) == {"genes", "clinic", "genes × clinic"}


@pytest.mark.parametrize("storage", ["auto", "low_rank"])
def test_a_model_file_keeps_them(tmp_path, storage):
    model = SpicyMKLRegressor(SPEC, alpha=0.05, storage=storage).fit(X, y)
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert list(again.summary()["kernel"]) == list(model.summary()["kernel"])


def test_factors_take_several_outputs_and_their_shared_selection():
    Y = np.column_stack([y, X[:, 3] * X[:, 4]])
    one = SpicyMKLRegressor(SPEC, alpha=0.05, selection="shared", tol=1e-6)
    other = clone(one).fit(X, Y)
    one.set_params(storage="low_rank").fit(X, Y)
    np.testing.assert_allclose(one.predict(X), other.predict(X), atol=1e-3)
    assert one.duality_gap_ <= 1e-6
