"""Names of columns and terms: behind transformers, and where names hold separators."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_regression
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from multikernel import SpicyMKLRegressor, report
from multikernel.display import (
    ContributionDisplay,
    ExplanationDisplay,
    KernelWeightsDisplay,
)
from multikernel.inspection import (
    contributions,
    kernel_tests,
    sobol_indices,
    stability_selection,
    variance_split,
)
from multikernel.kernels import GaussianKernel, Interactions, per_column

X = pd.DataFrame(
    np.random.default_rng(0).normal(size=(80, 3)), columns=["age", "dose", "noise"]
)
Y = np.sin(2 * X["age"])
MOVED = ColumnTransformer(
    [("s", StandardScaler(), ["dose", "noise"])], remainder="passthrough"
)
STEPS = {
    "remainder__age": MOVED,
    "age": make_pipeline(StandardScaler(), VarianceThreshold()),
    "standardscaler__age": make_union(PCA(1), StandardScaler()),
    "s__age": make_pipeline(
        StandardScaler(), ColumnTransformer([("s", "passthrough", [2, 0])])
    ),
    "x2 (transformed)": FunctionTransformer(lambda X: np.asarray(X)[:, ::-1]),
}


def model(step, data=X):
    kernels = Interactions(per_column(GaussianKernel("median"), len(data.T)))
    return make_pipeline(step, SpicyMKLRegressor(kernels, alpha=0.02))


@pytest.mark.parametrize("name", STEPS)
def test_one_name_behind_a_transformer(name):
    n_columns = STEPS[name].fit_transform(X).shape[1]
    fitted = model(STEPS[name], X.iloc[:, [0] * n_columns]).fit(X, Y)
    split = variance_split(fitted, X, Y, by="column", n_resamples=2)
    assert split.names[split.shares.argmax()] == name
    indices = sobol_indices(fitted, X)
    assert indices.names[indices.total.argmax()] == name
    assert ContributionDisplay.from_estimator(fitted, X, name).column_names == (name,)
    bars = KernelWeightsDisplay.from_estimator(fitted)
    explained = ExplanationDisplay.from_estimator(fitted, X, 0)
    for drawn in (bars.kernel_names, explained.kernel_names):
        assert any(each.endswith(f"[{name}]") for each in drawn)
    tests = kernel_tests(fitted, X, Y, n_permutations=1)
    assert f"[{name}]" in tests.kernel_names[tests.p_values.argmin()]


def test_selected_and_encoded_columns():
    names = [
        contributions(model(step, X[["age", "dose"]]).fit(X, Y), X, "column").names
        for step in (SelectKBest(f_regression, k=2), PCA(2))
    ]
    assert "age" in names[0]
    assert set(names[1]) <= {"pca0", "pca1", "pca0 × pca1"}
    coded = make_pipeline(OneHotEncoder(sparse_output=False), SpicyMKLRegressor())
    table = X[["age"]].round(0)
    found = contributions(coded.fit(table, table["age"] > 0.5), table, "column").names
    assert all(name.startswith("age_") for name in found[-1].split(" × "))


def test_axes_of_columns_that_steps_made_are_not_inverted():
    """PCA has an inverse of the same shape, whose columns are others."""
    fitted = model(PCA(3)).fit(X, Y)
    scores = fitted[0].transform(X)
    name = contributions(fitted, X, "column").names[0]
    display = ContributionDisplay.from_estimator(fitted, X, name.split(" × ")[0])
    column = int(display.column_names[0][-1])
    assert display.grid[0].max() == pytest.approx(scores[:, column].max())


def test_a_model_in_a_pipeline_stays_as_it_is():
    fitted = model(MOVED).fit(X, Y)
    before = fitted[-1].kernel_names_
    bars = stability_selection(fitted, X, Y, 2, random_state=0)
    assert bars.kernel_names[:2] == tuple(
        name.replace("x0", "s__dose").replace("x1", "s__noise") for name in before[:2]
    )
    assert fitted[-1].kernel_names_ == before
    assert "[remainder__age]" in report(fitted, X, Y)
    by_own_name = ContributionDisplay.from_estimator(fitted, X, before[2])
    assert by_own_name.column_names == ("remainder__age",)


@pytest.mark.parametrize("name", ["c", "a × b"])
def test_a_column_named_like_a_pair_is_a_term_of_its_own(name):
    table = np.random.default_rng(1).normal(size=(100, 3))
    data = pd.DataFrame(table, columns=["a", "b", name])
    y = 2 * data[name] + data["a"] * data["b"]
    kernels = Interactions(per_column(GaussianKernel("median"), 3))
    fitted = SpicyMKLRegressor(kernels, alpha=0.02).fit(data, y)
    split = variance_split(fitted, data, y, by="column", n_resamples=2)
    assert len({*split.names}) == len(split.names)
    alone = split.names.index("c" if name == "c" else "'a × b'")
    pair = split.names.index("a × b")
    assert split.shares[alone] > 0.5 > split.shares[pair] > 0.05
    indices = sobol_indices(fitted, data)
    assert not {*indices.names} & {*indices.interaction_names}
    for asked, columns in ((name, (name,)), ("a * b", ("a", "b"))):
        display = ContributionDisplay.from_estimator(fitted, data, asked)
        assert display.column_names == columns
    assert "Interactions of columns" in report(fitted, data, y, split=split)
