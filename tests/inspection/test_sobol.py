"""Sobol indices agree with closed forms, with whole grids and with chance."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from multikernel import GroupOMPRegressor, HKLRegressor, SpicyMKLRegressor, stack_grams
from multikernel.estimators.publish.sobol import binned, estimated_indices
from multikernel.exceptions import DictionaryWarning
from multikernel.inspection import contributions, sobol_indices, variance_split
from multikernel.kernels import (
    CategoryKernel,
    ColumnKernel,
    GaussianKernel,
    Interactions,
    LinearKernel,
    ProductKernel,
    Unpenalized,
    per_column,
)
from multikernel.kernels.sequence import SpectrumKernel

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 4))
X[:, 1] += 0.5
y = X[:, 0] + X[:, 1] * X[:, 2]
SPEC = Interactions(per_column(GaussianKernel(3.0), 4))
MODEL = SpicyMKLRegressor(SPEC, alpha=0.002).fit(X, y)


def grid_indices(model, values, weights):
    """Return the variances of the parts of f on the whole grid of two columns."""
    a, b = values
    p, q = weights
    table = np.array([(s, t) for s in a for t in b])
    f = model.predict(table).reshape(len(a), len(b))
    f = f - p @ f @ q
    first, second = f @ q, p @ f
    pure = f - first[:, None] - second
    found = np.array([p @ first**2, q @ second**2, p @ pure**2 @ q])
    return found / found.sum()


def test_the_closed_form():
    found = sobol_indices(MODEL, X)
    means, variances = X.mean(axis=0), X.var(axis=0)
    # x1 x2 has the mains m2 x1 and m1 x2 beside the product of the centered columns.
    alone = variances * [1.0, means[2] ** 2, means[1] ** 2, 0.0]
    pair = variances[1] * variances[2]
    whole = alone.sum() + pair
    both = alone + np.array([0.0, pair, pair, 0.0])
    places = [int(name[1]) for name in found.names]
    # The penalty shrinks what is small more than what is large.
    np.testing.assert_allclose(found.first_order, alone[places] / whole, atol=0.03)
    np.testing.assert_allclose(found.total, both[places] / whole, atol=0.03)
    assert found.interaction_names[found.interactions.argmax()] == "x1 × x2"
    np.testing.assert_allclose(found.interactions.max(), pair / whole, atol=0.03)
    np.testing.assert_allclose(found.first_order.sum() + found.interactions.sum(), 1.0)
    assert repr(found).splitlines()[1].split()[-1] in ("x1", "x2")


def test_chance_draws_from_the_marginals_agree():
    found = sobol_indices(MODEL, X)
    drawn = np.column_stack([RNG.choice(X[:, k], 4000) for k in range(4)])
    split = contributions(MODEL, drawn, by="column")
    shares = np.cov(split.terms.T).sum(axis=0) / split.terms.sum(axis=1).var(ddof=1)
    expected = dict(zip(split.names, shares, strict=True))
    names = (*found.names, *found.interaction_names)
    values = np.concatenate([found.first_order, found.interactions])
    for name, value in zip(names, values, strict=True):
        # Shares of 4000 draws of heavy-tailed products are known to three percent.
        assert abs(expected.get(name, 0.0) - value) < 0.04


def test_variances_on_the_grid_are_those_over_all_pairs_of_values():
    terms, fitted = MODEL.contributions(X), MODEL._state.model
    variances = {}
    for place, kernel in enumerate(fitted.grams.kernels):
        name = MODEL.kernel_names_[MODEL.active_kernels_[place]]
        if not isinstance(kernel, ProductKernel):
            variances[name[-3:-1]] = terms[:, place].var()
            continue
        # f(x, z) = sum_a c_a k1(x, a) k2(z, a): its mean square over all x and z.
        coefs = fitted.coefs[place, :, 0]
        first, second = (factor(X, fitted.grams.X) for factor in kernel.kernels)
        raw = (first * second) @ coefs
        scale = raw @ terms[:, place] / (raw @ raw)
        means = (first.T @ first) * (second.T @ second) / len(X) ** 2
        variances[name] = scale**2 * (coefs @ means @ coefs)
    found, whole = sobol_indices(MODEL, X), sum(variances.values())
    names = (*found.names, *found.interaction_names)
    values = np.concatenate([found.first_order, found.interactions])
    expected = [variances.get(name, 0.0) / whole for name in names]
    np.testing.assert_allclose(values, expected, atol=1e-3)


def test_the_summary_is_over_the_training_samples():
    table, found = MODEL.summary("column"), sobol_indices(MODEL, X)
    order = np.argsort(-found.total, kind="stable")
    assert list(table["column"]) == [found.names[k] for k in order]
    np.testing.assert_allclose(table["total"], found.total[order])
    np.testing.assert_allclose(table["first_order"], found.first_order[order])


def test_estimates_are_those_of_a_grid():
    table = RNG.normal(size=(300, 3))
    table[:, 2] = RNG.integers(0, 3, 300)

    def f(rows):
        a, b, c = rows.T
        return np.column_stack([a + b * c, np.sin(2 * a) + c**2])

    units = [[0], [1], [2]]
    shares = np.full(300, 1.0 / 300)
    random = np.random.RandomState(0)
    first, total = estimated_indices(f, table, shares, units, random)
    m, v = table.mean(axis=0), table.var(axis=0)
    pair = v[1] * v[2]
    mains = np.array([v[0], m[2] ** 2 * v[1], m[1] ** 2 * v[2]])
    whole = mains.sum() + pair
    np.testing.assert_allclose(first[0], mains / whole, atol=0.04)
    np.testing.assert_allclose(
        total[0], (mains + np.array([0.0, pair, pair])) / whole, rtol=0.15
    )
    of_sum = np.array([np.sin(2 * table[:, 0]).var(), 0.0, (table[:, 2] ** 2).var()])
    np.testing.assert_allclose(first[1], of_sum / of_sum.sum(), atol=0.04)
    np.testing.assert_allclose(total[1], of_sum / of_sum.sum(), atol=0.08)
    together, _ = estimated_indices(f, table, shares, [[0], [1, 2]], random)
    np.testing.assert_allclose(together[0].sum(), 1.0, atol=0.04)


@pytest.mark.parametrize("storage", ["low_rank", "dense32"])
def test_storages_have_the_same(storage):
    model = SpicyMKLRegressor(SPEC, alpha=0.002, storage=storage).fit(X, y)
    expected = MODEL.summary("column").set_index("column")["total"]
    found = model.summary("column").set_index("column")["total"]
    np.testing.assert_allclose(found[expected.index[:3]], expected[:3], atol=2e-3)


def test_products_of_kernels_that_are_not_centered():
    few = RNG.integers(0, 4, size=(60, 2)).astype(float)
    on = [ColumnKernel(GaussianKernel(2.0), k) for k in range(2)]
    kernels = [on[0], ProductKernel([on[0], ColumnKernel(LinearKernel(), 1)])]
    model = SpicyMKLRegressor(kernels, alpha=0.01).fit(few, few[:, 0] * few[:, 1] ** 2)
    weights = RNG.integers(1, 4, 60).astype(float)
    found = sobol_indices(model, few, sample_weight=weights)
    marginals = [
        np.bincount(few[:, k].astype(int), weights) / weights.sum() for k in range(2)
    ]
    expected = grid_indices(model, [np.arange(4.0)] * 2, marginals)
    values = np.concatenate([found.first_order, found.interactions])
    np.testing.assert_allclose(values, expected, rtol=1e-9)
    with pytest.raises(ValueError, match="does not store the training values"):
        model.summary("column")


def test_a_mean_and_a_variance_are_kept_by_bins():
    for values in (RNG.normal(size=1000), RNG.standard_t(3, size=1000)):
        values = np.sort(np.append(values, np.nan))
        rows, weights = binned(values, np.full(1001, 1.0 / 1001))
        assert len(rows) <= 65
        assert np.isnan(rows[-1, 0])
        rows, weights = rows[:-1, 0], weights[:-1] / weights[:-1].sum()
        for function, tol in ((lambda x: x, 1e-12), (np.sin, 0.01), (np.square, 0.02)):
            there, all_there = function(rows), function(values[:-1])
            variance = weights @ (there - weights @ there) ** 2
            np.testing.assert_allclose(variance, all_there.var(), rtol=tol)


def test_every_output_has_its_own():
    both = np.column_stack([y, X[:, 3] ** 2])
    model = SpicyMKLRegressor(SPEC, alpha=0.02).fit(X, both)
    found = sobol_indices(model, X)
    assert found.total.shape == (2, len(found.names))
    assert found.output_names == ("y0", "y1")
    assert found.names[found.total[1].argmax()] == "x3"
    each = model.summary("column", outputs="each")
    assert list(each.groupby("output", sort=False)["first_order"].sum() < 1.0) == [
        True,
        True,
    ]
    mean = model.summary("column").set_index("column")["total"]
    np.testing.assert_allclose(mean[list(found.names)], found.total.mean(axis=0))


def test_views_and_other_methods():
    views = {"a": [0, 3], "b": ([1], GaussianKernel(3.0)), "c": [2]}
    model = GroupOMPRegressor(Interactions(views), max_kernels=4).fit(X, y)
    found = sobol_indices(model, X)
    assert "x0, x3" in found.names
    assert "x1 × x2" in found.interaction_names
    np.testing.assert_allclose(found.first_order.sum() + found.interactions.sum(), 1.0)


def test_names_of_a_pipeline_and_held_out_variance_by_column():
    table = pd.DataFrame(X, columns=["age", "dose", "time", "noise"])
    steps = make_pipeline(StandardScaler(), SpicyMKLRegressor(SPEC, alpha=0.01))
    steps.fit(table[:100], y[:100])
    found = sobol_indices(steps, table)
    assert found.interaction_names[found.interactions.argmax()] == "dose × time"
    split = variance_split(steps, table[100:], y[100:], "column", n_resamples=5)
    best = np.argsort(split.shares)[-2:]
    assert {split.names[k] for k in best} == {"age", "dose × time"}
    terms = contributions(steps, table, by="column").terms
    np.testing.assert_allclose(
        terms.sum(axis=1) + steps[-1].intercept_, steps.predict(table)
    )


def test_text_is_drawn_as_a_whole():
    table = pd.DataFrame({"age": X[:, 0]})
    table["text"] = RNG.choice(["AACC", "CCGT", "GGTA"], 150)
    table["sex"] = RNG.choice(["f", "m"], 150)
    sign = np.where(table["sex"] == "m", 1.0, -1.0)
    target = table["age"] * (table["text"] == "AACC") + sign * (table["text"] == "GGTA")
    kernels = [
        ColumnKernel(GaussianKernel(2.0), "age"),
        ColumnKernel(CategoryKernel(), "sex"),
    ]
    kernels += [ColumnKernel(SpectrumKernel(1), "text")]
    model = SpicyMKLRegressor(Interactions(kernels), alpha=0.01).fit(table, target)
    found = sobol_indices(model, table)
    assert set(found.names) == {"age", "sex", "text"}
    largest = {found.interaction_names[k] for k in np.argsort(-found.interactions)[:2]}
    assert largest == {"age × text", "sex × text"}
    total = model.summary("column")["total"].sum()
    np.testing.assert_allclose(total, found.total.sum())


def test_what_has_no_columns_of_its_own_is_refused():
    grams = stack_grams([X @ X.T])
    given = SpicyMKLRegressor("precomputed", alpha=0.1).fit(grams, y)
    for model in (given, HKLRegressor(alpha=0.1).fit(X[:, :2], y)):
        with pytest.raises(ValueError, match="precomputed matrices or on a graph"):
            sobol_indices(model, grams if model is given else X[:, :2])
        with pytest.raises(ValueError, match="precomputed matrices or on a graph"):
            model.summary("column")


def test_kernels_on_many_columns_are_estimated():
    three = [ColumnKernel(LinearKernel(), k) for k in range(3)]
    kernels = [*SPEC.kernels, GaussianKernel(4.0), ProductKernel(three)]
    model = SpicyMKLRegressor(Interactions(kernels), alpha=0.005).fit(X, y)
    assert 4 in model.active_kernels_
    found, exact = sobol_indices(model, X), sobol_indices(MODEL, X)
    assert found.estimated
    assert not exact.estimated
    assert found.interactions.shape == (0,)
    assert repr(found).startswith("  first   total  (estimates)\n")
    order = [found.names.index(name) for name in exact.names]
    np.testing.assert_allclose(found.first_order[order], exact.first_order, atol=0.05)
    np.testing.assert_allclose(found.total[order], exact.total, atol=0.06)
    table = model.summary("column")
    np.testing.assert_allclose(table["total"], np.sort(found.total)[::-1])


def test_an_estimated_total_is_no_less_than_the_column_alone():
    table = np.random.default_rng(0).normal(size=(50, 3))
    for seed in range(20):
        first, total = estimated_indices(
            lambda x: x @ np.array([[1.0], [0.8], [0.3]]),
            table,
            np.full(50, 0.02),
            [[0], [1], [2]],
            np.random.RandomState(seed),
        )
        assert (total >= first).all()


def test_a_model_without_kernels_has_none():
    with pytest.warns(DictionaryWarning, match="no active kernel"):
        model = SpicyMKLRegressor(SPEC, alpha=100.0).fit(X, y)
    found = sobol_indices(model, X)
    assert found.names == found.interaction_names == ()
    assert len(model.summary("column")) == 0
    assert contributions(model, X, by="column").terms.shape == (150, 0)


@pytest.mark.parametrize("kernels", ["alone", "both", "pairs", "joint"])
def test_unpenalized_columns_have_a_part(kernels):
    table = RNG.normal(size=(50, 2))
    target = np.sin(2.0 * table[:, 0]) + 3.0 * table[:, 1] + table[:, 0] * table[:, 1]
    views = {"a": ([0], GaussianKernel(1.0)), "known": Unpenalized([1])}
    if kernels != "alone":
        views["b"] = [0, 1] if kernels == "joint" else [1], GaussianKernel(1.0)
    spec = Interactions(views) if kernels == "pairs" else views
    model = SpicyMKLRegressor(spec, alpha=0.01).fit(table, target)
    found = sobol_indices(model, table)
    shares = np.full(50, 0.02)
    first, second, pair = grid_indices(model, table.T, (shares, shares))
    atol = 0.1 if found.estimated else 1e-3
    assert found.names == ("x0", "x1")
    np.testing.assert_allclose(found.first_order, [first, second], atol=atol)
    np.testing.assert_allclose(found.total, [first + pair, second + pair], atol=atol)
    if kernels == "pairs":
        assert set(model.summary("column")["column"]) == {"x0", "x1"}
    elif kernels == "alone":
        with pytest.raises(ValueError, match="training values for"):
            model.summary("column")


def test_unpenalized_categories_are_a_group():
    table = pd.DataFrame({"a": RNG.normal(size=60), "k": RNG.choice([*"uvw"], 60)})
    target = np.sin(2.0 * table["a"]) + 3.0 * (table["k"] == "u")
    views = {"a": (["a"], GaussianKernel(1.0)), "known": Unpenalized(["k"])}
    model = SpicyMKLRegressor(views, alpha=0.01).fit(table, target)
    found = sobol_indices(model, table)
    effects = np.insert(model.unpenalized_coef_, 0, 0.0)
    codes = pd.factorize(table["k"], sort=True)[0]
    variances = model.contributions(table).var(), effects[codes].var()
    assert found.names == ("a", "k")
    np.testing.assert_allclose(
        found.first_order, np.divide(variances, np.sum(variances)), atol=1e-3
    )
