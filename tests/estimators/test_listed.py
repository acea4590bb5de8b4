"""Fits on a short list of kernels: the same model, with the gap over all kernels."""

import numpy as np
import pytest
from reference.interactions import interactions_of

from multikernel import SpicyMKLClassifier, SpicyMKLRegressor
from multikernel.datasets import make_epistasis
from multikernel.estimators import NullAlpha
from multikernel.estimators.grams import solving
from multikernel.gram import build_stack
from multikernel.gram.factors import product_build
from multikernel.inspection import association, kernel_tests
from multikernel.kernels import (
    GaussianKernel,
    Interactions,
    ListDictionary,
    Unpenalized,
    interactions,
    per_column,
)
from multikernel.kernels.terms import EveryPair
from multikernel.persistence import load, save

X, y, _ = make_epistasis(300, n_markers=15, random_state=2)
X[:, 2] = X[:, 2] > 0
KERNELS = Interactions(per_column(GaussianKernel("median"), 15))
N_KERNELS = 15 + 15 * 14 // 2
COMMON = {"kernels": KERNELS, "storage": "low_rank", "tol": 1e-6}


def with_and_without_list(model, target, monkeypatch, X=X):
    whole = model().fit(X, target)
    for module in (solving, interactions):
        monkeypatch.setattr(module, "MANY", 10)
    monkeypatch.setattr(solving, "N_FIRST", 2)
    monkeypatch.setattr(solving, "MAX_ADDED", 3)
    return whole, model().fit(X, target)


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
@pytest.mark.parametrize("kind", ["regression", "classes", "several"])
def test_the_model_is_that_over_all_kernels(kind, l1_ratio, monkeypatch):
    common = {**COMMON, "alpha": 0.02, "l1_ratio": l1_ratio}
    model, target = lambda: SpicyMKLRegressor(**common), y + X[:, 4]
    if kind == "classes":
        model, target = lambda: SpicyMKLClassifier(**common), y + (X[:, 3] > 0)
    if kind == "several":
        target = np.column_stack([target, X[:, 5] - X[:, 6]])
    whole, short = with_and_without_list(model, target, monkeypatch)
    np.testing.assert_allclose(short.objective_, whole.objective_, rtol=3e-6)
    assert np.max(short.duality_gap_) <= 1e-6
    assert len(short.kernel_names_) == np.shape(short.kernel_weights_)[-1] < N_KERNELS
    assert short.n_kernels_ == whole.n_kernels_ == N_KERNELS
    predict = [
        getattr(m, "decision_function", m.predict)(X[:50]) for m in (short, whole)
    ]
    np.testing.assert_allclose(*predict, atol=5e-3)


@pytest.mark.parametrize("kind", [SpicyMKLRegressor, SpicyMKLClassifier])
def test_covariates_have_no_penalty(kind, monkeypatch):
    views = {f"snp{i}": ([i], GaussianKernel("median")) for i in range(14)}
    views["age"] = Unpenalized([14])
    common = {**COMMON, "kernels": Interactions(views), "alpha": 0.02}
    Z = np.column_stack([X[:, :14], np.random.default_rng(0).normal(size=len(X))])
    target = np.where(y + Z[:, 14] > 0.5, 1.0, 0.0)
    whole, short = with_and_without_list(lambda: kind(**common), target, monkeypatch, Z)
    assert np.max(short.duality_gap_) <= 1e-6
    np.testing.assert_allclose(short.objective_, whole.objective_, rtol=3e-6)
    np.testing.assert_allclose(
        short.unpenalized_coef_, whole.unpenalized_coef_, rtol=2e-3
    )
    assert len(short.kernel_names_) < len(whole.kernel_names_) == 14 + 14 * 13 // 2


def test_the_gap_is_over_all_kernels(monkeypatch):
    monkeypatch.setattr(solving, "MAX_ROUNDS", 1)
    model = lambda: SpicyMKLRegressor(**COMMON, alpha=0.005)  # noqa: E731
    whole, short = with_and_without_list(model, y, monkeypatch)
    excess = short.objective_ / whole.objective_ - 1.0
    assert 1e-3 < excess <= short.duality_gap_


def test_lists_are_saved_and_summed_up(tmp_path, monkeypatch):
    model = lambda: SpicyMKLRegressor(**COMMON, alpha=0.05)  # noqa: E731
    whole, short = with_and_without_list(model, y, monkeypatch)
    assert short.summary()["kernel"].tolist() == whole.summary()["kernel"].tolist()
    assert short.summary().attrs["n_kernels"] == N_KERNELS
    save(short, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), short.predict(X))


def test_nothing_is_computed_of_all_kernels_at_once(monkeypatch):
    monkeypatch.setattr(product_build, "TILE", 4)
    rows, sizes = EveryPair.rows, []

    def noted(terms, numbers):
        sizes.append(numbers.size)
        return rows(terms, numbers)

    monkeypatch.setattr(EveryPair, "rows", noted)
    monkeypatch.setattr(solving, "N_FIRST", 2)
    for module in (solving, interactions):
        monkeypatch.setattr(module, "MANY", 10)
    short = SpicyMKLClassifier(**COMMON, alpha="null").fit(X, y)
    assert short.summary()["kernel"].tolist() == ["x0 × x1"]
    assert 0 < max(sizes) < N_KERNELS / 3


def test_tests_and_the_strength_of_noise_are_those_of_all_kernels(monkeypatch):
    options = {"n_permutations": 19, "analytic": False, "random_state": 0}
    pairs = Interactions(per_column(GaussianKernel("median"), 15), weight=1.0)
    null = {**COMMON, "kernels": pairs, "alpha": NullAlpha(n_permutations=19)}
    monkeypatch.setattr(association, "MANY", 10)
    model = SpicyMKLRegressor(**null).fit(X, y)
    tests = kernel_tests(model, X, y, **options)
    monkeypatch.setattr(interactions, "MANY", 10)
    np.testing.assert_allclose(SpicyMKLRegressor(**null).fit(X, y).alpha_, model.alpha_)
    found = kernel_tests(model, X, y, **options)
    assert found.kernel_names == tests.kernel_names
    np.testing.assert_allclose(found.statistics, tests.statistics)
    np.testing.assert_allclose(found.family_wise_p, tests.family_wise_p)


@pytest.mark.parametrize("normalize", [None, "trace", ("variance", "trace")])
def test_products_looked_at_in_parts_are_all_products(normalize, monkeypatch):
    monkeypatch.setattr(product_build, "TILE", 4)
    Z, rng = X[:, :9].copy(), np.random.default_rng(0)
    Z[:, 8] = 1.0
    mains = ListDictionary([*per_column(GaussianKernel(1.0), 9), GaussianKernel(1.0)])
    weights, v = rng.uniform(1.0, 2.0, len(Z)), rng.standard_normal(len(Z))
    built = []
    for many in (10**6, 10):
        monkeypatch.setattr(interactions, "MANY", many)
        dictionary = interactions_of(mains, Z, weights)
        options = {"normalize": normalize, "storage": "low_rank"}
        built.append(build_stack(dictionary, Z, sample_weight=weights, **options))
    (held, parts), n_kernels = (b.stack for b in built), 10 + 8 * 7 // 2
    assert len(list(parts.in_parts())) > 2 > len(list(held.in_parts()))
    found = [stack.largest_forms(v, 0.1, 9) for stack in (held, parts)]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other)
    some = np.array([1, 12, 30])
    for one in (parts, parts.subset(some), parts.once(some)):
        chosen = some if one.shape[0] == 3 else np.arange(n_kernels)
        np.testing.assert_allclose(
            one.quadratic_forms(v), held.quadratic_forms(v)[chosen]
        )
        np.testing.assert_allclose(one.traces(), held.traces()[chosen])
    assert built[0].degenerate.tolist() == built[1].degenerate.tolist()
    factors = built[1].normalization.factors(some)
    np.testing.assert_allclose(factors, built[0].normalization.factors(some))
