"""Nested cross-validation, against searches fitted fold by fold."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    StratifiedKFold,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from multikernel import (
    HKLRegressorCV,
    SpicyMKLClassifierCV,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
    SpicyMKLSurvivalCV,
    report,
    stack_grams,
)
from multikernel.inspection import nested_cross_validate
from multikernel.kernels import GaussianKernel

pytestmark = pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
VIEWS = {"a": [0, 1], "b": [2], "c": [3]}


def data(n=60):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 4))
    return X, np.sin(X[:, 0]) + X[:, 2] + 0.5 * random.normal(size=n)


def test_outer_scores_are_those_of_searches_on_the_rest():
    X, y = data()
    groups = np.arange(60) // 4
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 60)
    search = SpicyMKLRegressorCV(VIEWS, n_alphas=6, cv=2)
    pipeline = make_pipeline(StandardScaler(), search)
    nested = nested_cross_validate(
        pipeline, X, y, cv=3, groups=groups, sample_weight=weights
    )
    for number, (train, test) in enumerate(GroupKFold(3).split(X, y, groups)):
        scaler = StandardScaler().fit(X[train])
        rest, held_out = scaler.transform(X[train]), scaler.transform(X[test])
        search.fit(rest, y[train], weights[train], groups=groups[train])
        score = search.score(held_out, y[test], weights[test])
        assert nested.scores[number] == pytest.approx(score, rel=1e-6)
        assert nested.best_params[number] == pytest.approx(search.best_params_)
        shares, table = search.view_shares_, nested.summary("view")
        for view, share in shares.items():
            row = table[table["view"] == view].iloc[0]
            assert row["smallest_share"] - 1e-6 <= share <= row["largest_share"] + 1e-6
        used = nested.selections[number]
        assert used.sum() == search.active_kernels_.size
    assert nested.mean == pytest.approx(nested.scores.mean())
    assert nested.spread == pytest.approx(nested.scores.std(ddof=1))
    in_use = table.set_index("view")["in_use"]
    assert in_use["a"] == in_use["b"] == 1.0
    assert in_use["c"] <= 1.0
    assert "3 outer folds" in repr(nested)
    page = report(pipeline.fit(X, y), nested=nested)
    assert "<h2>Nested cross-validation</h2>" in page
    assert f"<th>mean r2</th><td>{nested.mean:.3g}</td>" in page


def test_classes_matrices_times_graphs_and_offsets():
    X, y = data(40)
    grams = stack_grams([GaussianKernel(s)(X) for s in (1.0, 3.0)])
    search = SpicyMKLClassifierCV("precomputed", n_alphas=4, cv=2)
    nested = nested_cross_validate(search, grams, y > 0.0, cv=2, scoring="roc_auc")
    assert nested.scoring == "roc_auc"
    for score, (train, test) in zip(
        nested.scores, StratifiedKFold(2).split(X, y > 0.0), strict=True
    ):
        search.fit(grams[np.ix_(train, train)], y[train] > 0.0)
        values = search.decision_function(grams[np.ix_(test, train)])
        pairs = np.subtract.outer(values[y[test] > 0.0], values[y[test] <= 0.0])
        assert score == pytest.approx(np.mean(pairs > 0.0))
    times = pd.DataFrame({"event": np.arange(40) % 4 > 0, "time": np.exp(y)})
    survival = SpicyMKLSurvivalCV(n_alphas=4, cv=2)
    assert nested_cross_validate(survival, X, times, cv=2).scoring == "concordance"
    graph = HKLRegressorCV(alphas=[0.3, 0.1], cv=2)
    nested = nested_cross_validate(graph, X, y, cv=2)
    assert nested.selections.any(axis=0).all()
    offset = np.random.default_rng(0).normal(size=40)
    counts = np.random.default_rng(0).poisson(np.exp(y + offset - 1.0))
    model = SpicyMKLRegressor(VIEWS, loss="poisson", alpha=0.05)
    nested = nested_cross_validate(model, X, counts, cv=KFold(2), offset=offset)
    train, test = np.arange(20, 40), np.arange(20)
    model.fit(X[train], counts[train], offset=offset[train])
    score = model.score(X[test], counts[test], offset=offset[test])
    assert nested.scores[0] == pytest.approx(score)
    assert nested.best_params == ({}, {})
    with pytest.raises(ValueError, match="remove scoring"):
        nested_cross_validate(model, X, counts, offset=offset, scoring="r2")
    with pytest.raises(ValueError, match="use by='kernel'"):
        nested_cross_validate(graph, X, y, cv=2).summary("view")
    grid = GridSearchCV(
        make_pipeline(StandardScaler(), SpicyMKLRegressor(VIEWS)),
        {"spicymklregressor__alpha": [0.3, 0.05]},
        scoring="neg_mean_absolute_error",
        cv=GroupKFold(2),
    )
    groups = np.arange(40) // 4
    nested = nested_cross_validate(grid, X, y, cv=2, groups=groups)
    train, test = next(iter(GroupKFold(2).split(X, y, groups)))
    grid.fit(X[train], y[train], groups=groups[train])
    assert nested.scores[0] == pytest.approx(grid.score(X[test], y[test]))
    assert nested.best_params[0] == grid.best_params_
    assert nested.scoring == "neg_mean_absolute_error"
    with pytest.raises(ValueError, match="require a search of this library"):
        nested_cross_validate(grid, X, y, sample_weight=np.ones(40))
    with pytest.raises(TypeError, match="pipeline that ends in one"):
        nested_cross_validate(StandardScaler(), X, y)
