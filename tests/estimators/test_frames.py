"""Data frames of pandas and polars, alone and in scikit-learn's machinery."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from multikernel.estimators import (
    OneClassMKL,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
    SpicyMKLRegressor,
)
from multikernel.kernels import ColumnKernel, GaussianKernel, LinearKernel

NAMES = ["age", "height", "dose", "weight"]
KERNELS = [
    ColumnKernel(GaussianKernel(1.0), "dose"),
    ColumnKernel(LinearKernel(), ["age", "height"]),
    GaussianKernel(2.0),
]
BY_INDEX = [
    ColumnKernel(GaussianKernel(1.0), 2),
    ColumnKernel(LinearKernel(), [0, 1]),
    GaussianKernel(2.0),
]


@pytest.fixture(params=["pandas", "polars"])
def frames(request):
    library = pytest.importorskip(request.param)
    X, y = make_classification(
        60, 4, n_informative=3, n_redundant=0, random_state=0, flip_y=0.05
    )
    columns = {name: X[:, k] for k, name in enumerate(NAMES)}
    return library, library.DataFrame(columns), library.Series(y), X, y


def test_columns_by_name_equal_columns_by_index(frames):
    _, frame, labels, X, y = frames
    named = SpicyMKLClassifier(KERNELS).fit(frame, labels)
    plain = SpicyMKLClassifier(BY_INDEX).fit(X, y)
    np.testing.assert_array_equal(
        named.decision_function(frame), plain.decision_function(X)
    )
    np.testing.assert_array_equal(named.feature_names_in_, NAMES)
    assert named.kernel_names_[:2] == [
        "gaussian(sigma=1)[dose]",
        "linear()[age, height]",
    ]


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.DictionaryWarning")
def test_pipelines_and_searches_take_frames(frames):
    library, frame, labels, X, y = frames
    scaler = StandardScaler().set_output(transform=library.__name__)
    pipeline = make_pipeline(scaler, SpicyMKLClassifier(KERNELS))
    plain = make_pipeline(StandardScaler(), SpicyMKLClassifier(BY_INDEX))
    np.testing.assert_array_equal(
        cross_val_score(pipeline, frame, labels, cv=3),
        cross_val_score(plain, X, y, cv=3),
    )
    grid = {"spicymklclassifier__alpha": [0.01, 0.1]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(frame, labels)
    expected = GridSearchCV(plain, grid, cv=3).fit(X, y)
    assert search.best_params_ == expected.best_params_
    np.testing.assert_array_equal(search.predict(frame), expected.predict(X))


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_searches_over_alpha_take_frames(frames):
    _, frame, labels, X, y = frames
    search = SpicyMKLClassifierCV(KERNELS, n_alphas=3, cv=3).fit(frame, labels)
    expected = SpicyMKLClassifierCV(BY_INDEX, n_alphas=3, cv=3).fit(X, y)
    assert search.best_score_ == expected.best_score_


def test_sample_weights_may_be_a_series(frames):
    library, frame, labels, X, y = frames
    weights = np.linspace(0.5, 1.0, 60)
    named = SpicyMKLClassifier(KERNELS).fit(frame, labels, library.Series(weights))
    plain = SpicyMKLClassifier(BY_INDEX).fit(X, y, weights)
    np.testing.assert_array_equal(named.predict_proba(frame), plain.predict_proba(X))


def test_other_columns_at_prediction_are_refused(frames):
    _, frame, labels, _, _ = frames
    model = SpicyMKLClassifier(KERNELS).fit(frame, labels)
    with pytest.raises(ValueError, match="same order as they were in fit"):
        model.predict(frame[NAMES[::-1]])
    with pytest.raises(ValueError, match=r"missing:\n- weight"):
        model.predict(frame[NAMES[:3]])


def test_numbers_as_names_must_be_in_the_order_of_the_array_of_the_fit():
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30.0)
    model = SpicyMKLRegressor([LinearKernel()]).fit(X, y)
    frame = pd.DataFrame(X)
    mixed = frame[[2, 0, 1]]
    with pytest.raises(ValueError, match=r"2, 0, 1, but in fit .* was 0, 1, 2: pass"):
        model.predict(mixed)
    advised = model.predict(mixed[sorted(mixed.columns)])
    np.testing.assert_array_equal(advised, model.predict(X))


def test_columns_without_numbers_are_named(frames):
    library, frame, labels, _, _ = frames
    columns = {name: np.asarray(frame[name]) for name in NAMES}
    columns["dose"] = np.array(["1.5"] * 60)
    columns["age"] = np.array(["old", "young"] * 30)
    with pytest.raises(
        ValueError,
        match=r"X has columns that are not numeric: 'age', 'dose'\. Encode",
    ):
        SpicyMKLClassifier(KERNELS).fit(library.DataFrame(columns), labels)
    with pytest.raises(ValueError, match="column 'dose', which holds neither seq"):
        SpicyMKLClassifier().fit(library.DataFrame(columns), labels)


def test_names_the_frame_does_not_have_are_refused(frames):
    _, frame, labels, X, y = frames
    kernels = [ColumnKernel(GaussianKernel(1.0), "dosis")]
    with pytest.raises(ValueError, match=r"'dosis'.*Did you mean 'dose'"):
        SpicyMKLClassifier(kernels).fit(frame, labels)
    with pytest.raises(ValueError, match="has no column names"):
        SpicyMKLRegressor(KERNELS).fit(X, y)


def test_missing_values_get_a_message(frames):
    library, frame, labels, _, _ = frames
    columns = {name: list(np.asarray(frame[name])) for name in NAMES}
    columns["dose"][3] = None
    with pytest.raises(ValueError, match="NaN at row 3, column 'dose'"):
        SpicyMKLClassifier().fit(library.DataFrame(columns), labels)


def test_slices_are_named_by_the_columns(frames):
    _, frame, labels, X, y = frames
    kernels = [ColumnKernel(LinearKernel(), slice(1, 3))]
    named = SpicyMKLClassifier(kernels).fit(frame, labels)
    plain = SpicyMKLClassifier(kernels).fit(X, y)
    assert named.kernel_names_ == ["linear()[height, dose]"]
    assert plain.kernel_names_ == ["linear()[x1:3]"]


@pytest.mark.parametrize("kernels", [None, [LinearKernel()], {"all": ["age"]}])
def test_columns_of_one_name_are_named(kernels):
    X = pd.DataFrame(np.zeros((6, 3)), columns=["age", "age", "dose"])
    model = SpicyMKLRegressor(kernels)
    with pytest.raises(ValueError, match=r"^Several columns of X .* 'age'\. Rename"):
        model.fit(X, np.arange(6.0))
    whole = X.set_axis(["age", "other", "dose"], axis=1) + np.arange(18.0).reshape(6, 3)
    model.fit(whole, np.arange(6.0))
    with pytest.raises(ValueError, match=r"same name: 'age'\."):
        model.predict(X)


def test_tables_that_are_only_planned_are_to_be_collected():
    X = pl.DataFrame({"age": np.arange(6.0)})
    sentence = r"is a LazyFrame, .* call .*collect.. first"
    model = SpicyMKLRegressor([LinearKernel()])
    for X_bad, y_bad in [(X.lazy(), np.arange(6.0)), (X, X.lazy())]:
        with pytest.raises(ValueError, match=sentence):
            model.fit(X_bad, y_bad)
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, np.arange(6.0)).predict(X.lazy())
    with pytest.raises(ValueError, match=sentence):
        OneClassMKL([LinearKernel()]).fit(X.lazy())


@pytest.mark.filterwarnings("ignore:X does not have valid")
def test_a_row_of_a_frame_is_refused_as_one_dimensional():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), columns=["a", "b"])
    model = SpicyMKLRegressor({"a": "a", "b": "b"}).fit(X, X["a"])
    with pytest.raises(ValueError, match="must have shape"):
        model.predict(X.iloc[0])


def test_columns_in_use_in_another_order_are_refused_for_their_order():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=list("abc"))
    views = {name: (name, GaussianKernel(1.0)) for name in "abc"}
    model = SpicyMKLRegressor(views, alpha=0.2).fit(X, X["a"] + X["b"])
    assert model.active_kernels_.tolist() == [0, 1]
    np.testing.assert_array_equal(model.predict(X[["a", "b"]]), model.predict(X))
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict(X[["b", "a"]])


@pytest.mark.parametrize("kind", [SpicyMKLRegressor, SpicyMKLClassifier])
def test_scores_refuse_targets_in_another_order(kind):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = pd.DataFrame({"u": (X[:, 0] > 0.0) * 1, "v": (X[:, 1] > 0.0) * 1})
    model = kind([GaussianKernel(1.0)]).fit(X, y)
    assert model.score(X, y) == model.score(X, y.to_numpy())
    with pytest.raises(
        ValueError, match=r"y has the columns 'v', 'u', but .* 'u', 'v'"
    ):
        model.score(X, y[["v", "u"]])
