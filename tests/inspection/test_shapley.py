"""Shapley values equal brute force over all coalitions, and those of shap."""

from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from multikernel import (
    GroupOMPRegressor,
    SpicyMKLClassifier,
    SpicyMKLRegressor,
    stack_grams,
)
from multikernel.inspection import shapley_values
from multikernel.kernels import (
    ColumnKernel,
    GaussianKernel,
    Interactions,
    LinearKernel,
    PolynomialKernel,
    Unpenalized,
    Views,
    per_column,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 8))
y = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(X[:, 3]) + X[:, 4] ** 2
BACKGROUND = X[20:27]


def brute_force(f, rows, background):
    """Return Shapley values from all coalitions of columns."""
    n = rows.shape[1]
    values = 0.0
    for size in range(n + 1):
        for present in combinations(range(n), size):
            mixed = np.repeat(background[None], len(rows), axis=0)
            mixed[:, :, present] = rows[:, None, present]
            worth = f(mixed.reshape(-1, n)).reshape(len(rows), len(background), -1)
            share = np.zeros((1, n, 1))
            for j in range(n):
                inside = j in present
                orders = n * comb(n - 1, size - inside)
                share[0, j] = (1 if inside else -1) / orders
            values = values + share * worth.mean(axis=1)[:, None]
    return values


def check(model, f, rows=X[:4]):
    found = shapley_values(model, rows, BACKGROUND)
    expected = brute_force(f, rows, BACKGROUND)
    values = found.values.reshape(expected.shape)
    np.testing.assert_allclose(values, expected, atol=1e-9 * np.abs(f(X)).max())
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, f(rows), rtol=1e-9)
    return found


GAUSSIANS = Interactions(per_column(GaussianKernel(2.0), 8))
VIEWS = {"a": ([0, 1], GaussianKernel(2.0)), "b": ([2, 3], GaussianKernel(2.0))}
CUBIC = ColumnKernel(PolynomialKernel(3), [0, 1, 2])
JOINT = [GaussianKernel(3.0), LinearKernel()]
MODELS = {
    "interactions": (GAUSSIANS, {}),
    "factors": (GAUSSIANS, {"storage": "low_rank"}),
    "joint": (
        [GaussianKernel(3.0), LinearKernel()],
        {"normalize": ["trace", "center"]},
    ),
    "cosine": ([CUBIC, GaussianKernel(3.0)], {"normalize": ["cosine", "variance"]}),
    "views": (Interactions(VIEWS), {}),
    "confounder": ({"age": Unpenalized([4]), **VIEWS}, {}),
}


@pytest.mark.parametrize("name", MODELS)
def test_all_coalitions(name):
    kernels, settings = MODELS[name]
    model = SpicyMKLRegressor(kernels, alpha=0.001, **settings).fit(X, y)
    check(model, model.predict)


def test_gaussian_on_more_columns_than_coalitions_are_evaluated_of():
    wide = np.random.default_rng(1).normal(size=(40, 11))
    model = SpicyMKLRegressor([GaussianKernel(4.0)], alpha=0.001).fit(wide, wide[:, 0])
    found = shapley_values(model, wide[:2], wide[:5])
    expected = brute_force(model.predict, wide[:2], wide[:5])
    np.testing.assert_allclose(found.values, expected[..., 0], atol=1e-10)


def test_classes_targets_and_selection_one_by_one():
    classes = np.digitize(y, [-1.0, 1.0])
    model = SpicyMKLClassifier(GAUSSIANS, alpha=0.01).fit(X, classes)
    found = check(model, model.decision_function)
    assert found.values.shape == (4, 8, 3)
    assert found.output_names == ("0", "1", "2")
    greedy = GroupOMPRegressor(per_column(GaussianKernel(2.0), 8)).fit(X, y)
    check(greedy, greedy.predict)


def test_pipeline_in_the_units_of_its_input():
    table = pd.DataFrame(50.0 + 9.0 * X, columns=list("abcdefgh"))
    model = make_pipeline(StandardScaler(), SpicyMKLRegressor(GAUSSIANS, alpha=0.01))
    model.fit(table, y)
    found = shapley_values(model, table[:3], table)
    assert found.feature_names == tuple("abcdefgh")
    np.testing.assert_allclose(found.data, table[:3])
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, model.predict(table[:3]))


def test_text_is_one_column():
    plan = np.where(X[:, 7] > 0.0, "basic", "plus")
    table = pd.DataFrame({"age": X[:, 0], "plan": plan})
    kernels = {"all": (["age", "plan"], None)}
    model = SpicyMKLRegressor(kernels, alpha=0.001).fit(table, X[:, 0] + X[:, 7])
    found = shapley_values(model, table[:5], table)
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, model.predict(table[:5]))
    assert found.data.tolist() == table[:5].to_numpy().tolist()
    assert np.abs(found.values).min(axis=0).min() > 0.0


def test_refusals_name_the_kernel():
    wide = np.random.default_rng(1).normal(size=(40, 11))
    model = SpicyMKLRegressor([PolynomialKernel(2)], alpha=0.01).fit(wide, wide[:, 0])
    with pytest.raises(ValueError, match=r"polynomial.* uses 11 columns"):
        shapley_values(model, wide, wide)
    lacking = X.copy()
    lacking[::5, :2] = np.nan
    views = Views({"a": [0, 1], "b": [2, 3]}, missing="zero")
    model = SpicyMKLRegressor(views, alpha=0.001).fit(lacking, y)
    with pytest.raises(ValueError, match=r"missing values .* columns of .*\[a\]"):
        shapley_values(model, lacking[:5], lacking[:7])
    whole = shapley_values(model, lacking[1:5], lacking[6:9])
    total = whole.base_values + whole.values.sum(axis=1)
    np.testing.assert_allclose(total, model.predict(lacking[1:5]))
    grams = stack_grams([X @ X.T])
    model = SpicyMKLRegressor("precomputed").fit(grams, y)
    with pytest.raises(ValueError, match="precomputed matrices"):
        shapley_values(model, grams, grams)


def test_shap_agrees_and_draws_the_values():
    shap = pytest.importorskip("shap")
    model = SpicyMKLRegressor(GAUSSIANS, alpha=0.001).fit(X, y)
    found = shapley_values(model, X[:3], BACKGROUND)
    explainer = shap.explainers.Exact(
        model.predict, shap.maskers.Independent(BACKGROUND, max_samples=len(BACKGROUND))
    )
    expected = explainer(X[:3])
    np.testing.assert_allclose(found.values, expected.values, atol=1e-9)
    np.testing.assert_allclose(found.base_values, expected.base_values)
    explanation = found.explanation()
    for draw in (shap.plots.beeswarm, shap.plots.bar):
        draw(explanation, show=False)
    shap.plots.waterfall(explanation[0], show=False)
