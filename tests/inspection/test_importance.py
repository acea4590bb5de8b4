"""Permutation importance by groups of columns."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from multikernel.estimators import (
    HKLRegressor,
    LpMKLClassifier,
    SpicyMKLClassifier,
    SpicyMKLRegressor,
    SpicyMKLSurvival,
    stack_grams,
)
from multikernel.inspection import group_permutation_importance
from multikernel.kernels import (
    ColumnKernel,
    GaussianKernel,
    Interactions,
    LinearKernel,
)
from multikernel.kernels.sequence import SpectrumKernel

NAMES = ["a", "b", "c", "d"]
KERNELS = [
    ColumnKernel(GaussianKernel(1.0), [0, 1]),
    ColumnKernel(LinearKernel(), [0, 1]),
    ColumnKernel(LinearKernel(), 2),
    ColumnKernel(LinearKernel(), 3),
]


@pytest.fixture(scope="module")
def fitted():
    random = np.random.default_rng(0)
    X = random.standard_normal((100, 4))
    y = X[:, 0] * X[:, 1] + 0.5 * X[:, 0] + 0.5 * X[:, 2]
    return X, y, SpicyMKLRegressor(KERNELS, 0.01).fit(X, y)


def test_it_is_the_fall_of_the_score(fitted):
    X, y, model = fitted
    found = group_permutation_importance(
        model, X, y, {"pair": [0, 1], "c": [2]}, n_repeats=2, random_state=0
    )
    random = np.random.RandomState(0)
    expected = []
    for columns in ([0, 1], [2]):
        for _ in range(2):
            order = random.permutation(len(y))
            mixed = X.copy()
            mixed[:, columns] = X[order][:, columns]
            expected.append(model.score(X, y) - r2_score(y, model.predict(mixed)))
    np.testing.assert_allclose(found.importances.ravel(), expected)
    np.testing.assert_allclose(found.importances_mean, found.importances.mean(axis=1))


def test_an_interaction_has_its_two_columns(fitted):
    X, y, _ = fitted
    kernels = Interactions([ColumnKernel(GaussianKernel(1.0), k) for k in range(4)])
    model = SpicyMKLRegressor(kernels, 0.05).fit(X, y)
    found = group_permutation_importance(model, X, y, random_state=0)
    own = group_permutation_importance(model, X, y, {"pair": [0, 1]}, random_state=0)
    place = found.group_names.index("x0 × x1")
    np.testing.assert_allclose(
        found.importances_mean[place], own.importances_mean[0], atol=0.1
    )
    by_name = dict(zip(found.group_names, found.importances_mean, strict=True))
    assert by_name["gaussian(sigma=1)[x2]"] < 0.7 * by_name["x0 × x1"]


def test_kernels_of_the_same_columns_are_one_group(fitted):
    X, y, model = fitted
    found = group_permutation_importance(model, X, y, random_state=0)
    assert found.group_names[0] == f"{model.kernel_names_[0]} and 1 more"
    assert found.group_names[1] == model.kernel_names_[2]
    assert found.importances_mean[0] > found.importances_mean[1] > 0.05


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_and_pipelines(fitted, frame):
    X, y, _ = fitted
    table = frame(X, NAMES) if frame is pl.DataFrame else frame(X, columns=NAMES)
    model = SpicyMKLRegressor(KERNELS, 0.01).fit(table, y)
    groups = {"pair": ["a", "b"], "c": ["c"]}
    found = group_permutation_importance(model, table, y, groups, random_state=0)
    plain = group_permutation_importance(
        SpicyMKLRegressor(KERNELS, 0.01).fit(X, y),
        X,
        y,
        {"pair": [0, 1], "c": [2]},
        random_state=0,
    )
    np.testing.assert_allclose(found.importances, plain.importances)
    steps = make_pipeline(StandardScaler(), SpicyMKLRegressor(KERNELS, 0.01))
    steps.fit(table, y)
    scaled = group_permutation_importance(
        steps, table, y, {"pair": [0, 1]}, random_state=0
    )
    assert scaled.importances_mean[0] > 0.5


def test_precomputed_kernels_are_groups_of_their_own(fitted):
    X, y, _ = fitted
    grams = stack_grams([kernel(X) for kernel in KERNELS])
    given = SpicyMKLRegressor("precomputed", 0.01).fit(grams, y)
    found = group_permutation_importance(given, grams, y, random_state=0)
    assert found.group_names == [given.kernel_names_[m] for m in given.active_kernels_]
    assert found.importances_mean[0] > 0.1


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("column", "'kernel', 'view' or a mapping"),
        ("view", "fitted without views"),
        ({"a": []}, "'a' has no columns"),
        ({"a": [9]}, "contains column 9"),
        ({"a": ["x"]}, "contains column 'x'"),
    ],
)
def test_wrong_groups_are_named(fitted, groups, message):
    X, y, model = fitted
    with pytest.raises(ValueError, match=message):
        group_permutation_importance(model, X, y, groups)


def test_views_are_groups(fitted):
    X, y, _ = fitted
    table = pd.DataFrame(X, columns=NAMES)
    views = {"signal": ["a", "b"], "other": ["c"], "noise": ["d"]}
    model = SpicyMKLRegressor(views, 0.01).fit(table, y)
    found = group_permutation_importance(model, table, y, "view", random_state=0)
    falls = dict(zip(found.group_names, found.importances_mean, strict=True))
    assert set(falls) <= set(views)
    assert falls["signal"] > falls["other"] > 0.05


def sequences(n=60):
    random = np.random.default_rng(0)
    y = np.tile([1, -1], n // 2)
    words = random.choice(list("CGT"), size=(n, 20))
    words[y > 0, :8] = "A"
    return ["".join(word) for word in words], y


@pytest.mark.parametrize("form", [list, np.array])
def test_sequences_are_one_column(form):
    texts, y = sequences()
    X = form(texts)
    model = SpicyMKLClassifier([SpectrumKernel(2)]).fit(X, y)
    found = group_permutation_importance(model, X, y, random_state=0)
    assert found.importances_mean[0] > 0.3


def test_columns_of_text_are_found_beside_numbers():
    texts, y = sequences()
    random = np.random.default_rng(1)
    a, b = random.standard_normal((2, y.size)) + y
    X = pd.DataFrame({"text": texts, "a": a, "b": b})
    kernels = [
        ColumnKernel(SpectrumKernel(2), "text"),
        ColumnKernel(LinearKernel(), "a"),
        ColumnKernel(LinearKernel(), "b"),
    ]
    model = LpMKLClassifier(kernels).fit(X, y)
    by_kernel = group_permutation_importance(model, X, y, random_state=0)
    columns = {"text": ["text"], "a": ["a"], "b": ["b"]}
    by_name = group_permutation_importance(model, X, y, columns, random_state=0)
    np.testing.assert_array_equal(by_kernel.importances, by_name.importances)
    assert by_kernel.importances_mean[0] > 0.1


def test_nodes_of_a_graph_need_groups(fitted):
    X, y, _ = fitted
    model = HKLRegressor().fit(X, y)
    with pytest.raises(ValueError, match="nodes of a graph"):
        group_permutation_importance(model, X, y)
    found = group_permutation_importance(model, X, y, {"pair": [0, 1], "d": [3]})
    assert found.importances_mean[0] > found.importances_mean[1]


def test_wrong_arguments_are_named(fitted):
    X, y, model = fitted
    with pytest.raises(ValueError, match=r"importance: scoring must be .*'r3'"):
        group_permutation_importance(model, X, y, scoring="r3")
    with pytest.raises(ValueError, match="groups is an empty mapping"):
        group_permutation_importance(model, X, y, {})


def test_times_are_read_as_by_score(fitted):
    X, y, _ = fitted
    time, is_observed = np.exp(y), np.arange(len(y)) % 4 > 0
    frame = pd.DataFrame({"event": is_observed, "time": time})
    bounds = {"lower": time, "upper": np.where(is_observed, time, np.inf)}
    model = SpicyMKLSurvival().fit(X, frame)
    groups = {"first": [0]}
    expected = group_permutation_importance(model, X, frame, groups, random_state=0)
    assert expected.importances_mean[0] > 0.0
    for times in (
        frame.to_numpy(dtype=float),
        frame.to_records(index=False),
        pd.DataFrame(bounds),
    ):
        found = group_permutation_importance(model, X, times, groups, random_state=0)
        np.testing.assert_array_equal(found.importances, expected.importances)
