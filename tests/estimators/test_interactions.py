"""Interactions in estimators: the same as with all products written down."""

from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from reference.interactions import interactions_of
from sklearn.base import clone

from multikernel import (
    FixedWeightsMKLRegressor,
    GroupOMPRegressor,
    LocalRademacherMKLRegressor,
    LpMKLRegressor,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
)
from multikernel.exceptions import DictionaryWarning
from multikernel.kernels import (
    CenteredKernel,
    ColumnKernel,
    GaussianKernel,
    Interactions,
    ListDictionary,
    ProductKernel,
    Views,
    median_distance,
    per_column,
)
from multikernel.kernels.interactions import InteractionDictionary
from multikernel.kernels.sequence import SpectrumKernel
from multikernel.persistence import load, save

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5))
y = X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + 0.1 * RNG.normal(size=60)
SPEC = Interactions(per_column(GaussianKernel(1.0), 5), weight=1.0)


def written_down(X, weights=None):
    found = interactions_of(SPEC.kernels, X, weights, SPEC)
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
        FixedWeightsMKLRegressor(),
        GroupOMPRegressor(max_kernels=3),
        LocalRademacherMKLRegressor(),
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


@pytest.mark.parametrize("search", [False, True])
@pytest.mark.parametrize("kind", ["two values", "categories", "sex and age"])
def test_default_kernels_find_an_interaction(kind, search):
    random = np.random.default_rng(1)
    sex, age = random.choice(["f", "m"], 240), random.normal(size=240)
    first, second = random.integers(0, 2, (2, 240))
    words = {
        "two values": (first, second),
        "categories": (np.array(["no", "yes"])[first], np.array(["a", "b"])[second]),
        "sex and age": (sex, age),
    }
    left, right = words[kind]
    table = pd.DataFrame({"left": left, "right": right, "noise": age[::-1]})
    label = (sex == "m") ^ (age > 0.0) if kind == "sex and age" else first != second
    model = SpicyMKLClassifierCV(cv=3) if search else SpicyMKLClassifier()
    table_of_terms = model.fit(table, label).summary()
    assert table_of_terms["kernel"].iloc[0] in ("left × right", "right × left")
    assert model.score(table, label) > 0.95


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


@pytest.mark.parametrize("between", [[1, 2], ["a", "b"], [["s"], ["a"]], [0, 1]])
def test_between_names_columns_as_they_came_in(between):
    """Beside sequences, which kernels see behind all numbers."""
    words = ["".join(word) for word in RNG.choice(list("ACGT"), (60, 8))]
    table = pd.DataFrame({"s": words, "a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    kernels = [ColumnKernel(GaussianKernel(1.0), name) for name in "abc"]
    kernels.append(ColumnKernel(SpectrumKernel(3), "s"))
    spec = Interactions(kernels, mains=False, between=between)
    model = SpicyMKLRegressor(spec, alpha=0.02).fit(table, y)
    other = "s" if between in ([0, 1], [["s"], ["a"]]) else "b"
    assert model.kernel_weights_.size == 1
    assert set(model.summary()["kernel"]) == {f"a × {other}"}


def test_collections_of_dask_have_interactions():
    collections = pytest.importorskip("dask.array")
    rows = collections.from_array(X, chunks=(20, 5))
    one = SpicyMKLRegressor(SPEC, alpha=0.05, tol=1e-6).fit(rows, y)
    other = SpicyMKLRegressor(SPEC, alpha=0.05, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(one.predict(X), other.predict(X), atol=1e-3)


@pytest.mark.parametrize("named", [False, True])
def test_factors_of_products_learn_and_stand_on_named_columns(named):
    """Also where somebody makes them by hand, and beside sequences."""
    words = ["".join(word) for word in RNG.choice(list("ACGT"), (60, 8))]
    table = pd.DataFrame({"s": words, "a": X[:, 0], "b": X[:, 1]})
    a, b = ("a", "b") if named else (1, 2)
    made = ProductKernel([ColumnKernel(GaussianKernel("median"), c) for c in (a, b)])
    kernels = [made, ColumnKernel(SpectrumKernel(2), "s")]
    model = SpicyMKLRegressor(kernels, alpha=0.02).fit(table, y)
    product = model._state.names.dictionary[0]
    widths = [median_distance(X[:, [column]]) for column in (0, 1)]
    texts = [f"gaussian(sigma={w:.3g})[{c}]" for w, c in zip(widths, "ab", strict=True)]
    assert product.name == " × ".join(texts)
    numbers = product(X, X[:3])
    exact = [GaussianKernel(float(f"{width:.3g}")) for width in widths]
    first, second = (k(X[:, [c]], X[:3, [c]]) for c, k in enumerate(exact))
    np.testing.assert_array_equal(numbers, first * second)


def test_a_centered_kernel_takes_the_training_samples():
    centered = CenteredKernel(GaussianKernel(1.0))
    model = SpicyMKLRegressor([ColumnKernel(centered, 0)], alpha=0.02).fit(X, y)
    exact = ColumnKernel(centered.learnt(X[:, :1]), 0)
    again = SpicyMKLRegressor([exact], alpha=0.02).fit(X, y)
    np.testing.assert_allclose(model.predict(X), again.predict(X), atol=1e-9)
    with pytest.raises(ValueError, match=r"samples must have shape \(n_samples"):
        CenteredKernel(GaussianKernel(1.0), X[:, 0])
    with pytest.raises(ValueError, match="has 3 values for 60 samples"):
        CenteredKernel(GaussianKernel(1.0), X, np.ones(3))


@pytest.mark.parametrize(
    "change",
    [{"terms": np.array([[0, 99]])}, {"terms": None}, {"main_views": ("x0",)}],
)
def test_a_changed_model_file_is_refused(change, tmp_path):
    model = SpicyMKLRegressor(SPEC, alpha=0.05).fit(X, y)
    for name, value in change.items():
        object.__setattr__(model._state.names.dictionary, name, value)
    save(model, tmp_path / "model.skops")
    with pytest.raises(ValueError, match="InteractionDictionary"):
        load(tmp_path / "model.skops")


def test_factors_take_several_outputs_and_their_shared_selection():
    Y = np.column_stack([y, X[:, 3] * X[:, 4]])
    one = SpicyMKLRegressor(SPEC, alpha=0.05, selection="shared", tol=1e-6)
    other = clone(one).fit(X, Y)
    one.set_params(storage="low_rank").fit(X, Y)
    np.testing.assert_allclose(one.predict(X), other.predict(X), atol=1e-3)
    assert one.duality_gap_ <= 1e-6


class Counted(GaussianKernel):
    """Notes the shapes that it is called on."""

    calls: ClassVar[list[tuple[int, int]]] = []

    def __call__(self, X, Y=None):
        self.calls.append((len(X), len(X if Y is None else Y)))
        return super().__call__(X, Y)


def test_a_prediction_evaluates_every_main_once(monkeypatch):
    spec = Interactions(per_column(Counted(1.0), 5))
    model = FixedWeightsMKLRegressor(spec).fit(X, y)
    new = RNG.normal(size=(7, 5))
    first = model.predict(new)
    Counted.calls.clear()
    np.testing.assert_array_equal(model.predict(new), first)
    assert Counted.calls == [(7, 60)] * 5
    terms = model.contributions(new)
    assert terms.shape[-1] == 15
    # One row at a time: no memory for the mains of all rows.
    n_kept = model.support_.size
    monkeypatch.setattr("multikernel.linalg.tables.CHUNK_BYTES", 4 * 8 * n_kept * 6 * 2)
    Counted.calls.clear()
    np.testing.assert_allclose(model.predict(new), first, rtol=1e-12)
    assert sorted(Counted.calls) == sorted([(2, 60)] * 15 + [(1, 60)] * 5)


def test_means_of_kept_samples_are_computed_once():
    kernel = CenteredKernel(Counted(1.0), X[:, :1])
    expected = kernel(X[:, :1])
    Counted.calls.clear()
    np.testing.assert_allclose(kernel(X[3:9, :1], X[10:20, :1]), expected[3:9, 10:20])
    assert Counted.calls == [(6, 60)]


@pytest.mark.parametrize("storage", ["auto", "dense"])
def test_several_outputs_share_a_selection(storage):
    Y = np.column_stack([y, -2.0 * y, X[:, 3]])
    given = {"alpha": 0.05, "tol": 1e-7, "selection": "shared"}
    one = SpicyMKLRegressor(SPEC, storage=storage, **given).fit(X, Y)
    other = SpicyMKLRegressor(written_down(X), **given).fit(X, Y)
    np.testing.assert_allclose(one.predict(X), other.predict(X), atol=1e-5)
    assert one.duality_gap_ <= 1e-7


def test_missing_values_are_expected_in_each_factor():
    gaps = X.copy()
    gaps[3:9, 0] = gaps[[1, 20], 2] = np.nan
    views = Views({"a": [0], "b": [1], "c": [2, 3]}, missing="expected")
    given = {"kernels": Interactions(views), "alpha": 0.01, "tol": 1e-8}
    one = SpicyMKLRegressor(**given).fit(gaps, y)
    whole = SpicyMKLRegressor(storage="dense", **given).fit(gaps, y)
    assert one.duality_gap_ <= 1e-8
    assert "a × b" in set(one.summary("view")["view"])
    new = gaps[::-3]
    assert np.isnan(new).any()
    np.testing.assert_allclose(one.predict(new), whole.predict(new), atol=1e-4)
    # Predictions are of the model that was trained.
    np.testing.assert_allclose(one.dual_coef_, y - one.predict(gaps), atol=1e-8)


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.DegenerateKernelWarning")
def test_where_no_columns_vary_together_it_is_said():
    X = np.column_stack([np.linspace(0.0, 1.0, 20), np.ones(20)])
    spec = Interactions([ColumnKernel(GaussianKernel(1.0), c) for c in (0, 1)])
    with pytest.warns(DictionaryWarning, match="the model contains no interactions"):
        SpicyMKLRegressor(spec).fit(X, np.sin(X[:, 0]))


@pytest.mark.parametrize("storage", ["auto", "low_rank"])
def test_a_weight_is_a_factor_of_normalized_interactions(storage, tmp_path):
    """A lighter kernel costs its function 1 / sqrt(weight) times as much."""
    spec = Interactions(SPEC.kernels, weight=0.25)
    model = SpicyMKLRegressor(spec, alpha=0.05, tol=1e-8, storage=storage).fit(X, y)
    grams = np.stack([kernel(X) for kernel in written_down(X)])
    sizes = np.einsum("mii->m", grams) / 60.0 - grams.mean(axis=(1, 2))
    factors = np.where(np.arange(len(grams)) < 5, 1.0, 0.25) / sizes
    same = SpicyMKLRegressor("precomputed", alpha=0.05, tol=1e-8, normalize=None).fit(
        np.moveaxis(grams * factors[:, None, None], 0, -1), y
    )
    tol = 1e-6 if storage == "auto" else 1e-4
    assert model.objective_ == pytest.approx(same.objective_, rel=tol)
    np.testing.assert_allclose(model.kernel_weights_, same.kernel_weights_, atol=1e-2)
    new = RNG.normal(size=(10, 5))
    save(model, tmp_path / "model.skops")
    np.testing.assert_array_equal(
        load(tmp_path / "model.skops").predict(new), model.predict(new)
    )
    search = SpicyMKLRegressorCV(spec, cv=3, storage=storage).fit(X, y)
    assert search.score(X, y) > 0.8


def test_weights_are_checked_and_are_one_without_mains():
    with pytest.raises(ValueError, match="weight must be a finite number above 0"):
        Interactions(weight=0.0)
    given = {"alpha": 0.05, "tol": 1e-8}
    alone = [
        SpicyMKLRegressor(Interactions(SPEC.kernels, mains=False, weight=w), **given)
        for w in (0.1, 1.0)
    ]
    first, second = (model.fit(X, y).objective_ for model in alone)
    assert first == pytest.approx(second, rel=1e-7)


def test_the_name_of_a_view_is_not_that_of_an_interaction():
    kernels = {"a": [0], "b": [1], "a × b": [2]}
    assert "a × b" in SpicyMKLRegressor(kernels).fit(X, y).view_shares_
    with pytest.raises(ValueError, match=r"view name 'a × b' contains.*rename the"):
        SpicyMKLRegressor(Interactions(kernels)).fit(X, y)


def test_equal_kernels_interact():
    kernel = ColumnKernel(GaussianKernel(1.0), [0])
    other = ColumnKernel(GaussianKernel(1.0), [1])
    model = SpicyMKLRegressor(Interactions([kernel, kernel, other]), alpha=0.05)
    names = model.fit(X, y).kernel_names_
    assert len(set(names)) == len(names) == 5


def test_products_may_precede_main_kernels():
    mains = ListDictionary([GaussianKernel(w) for w in (1.0, 2.0, 3.0)])
    terms = np.array([[1, 2], [0, -1]])
    assert InteractionDictionary(mains, terms).has_products
    assert not InteractionDictionary(mains, terms[1:]).has_products
