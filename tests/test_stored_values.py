"""What users pass and tables hold is saved as plain values, and comes back."""

import datetime as dt
import time
from collections import deque
from decimal import Decimal
from types import MappingProxyType

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import loguniform, randint
from sklearn import clone, config_context
from sklearn.model_selection import GridSearchCV, KFold, RandomizedSearchCV
from sklearn.pipeline import make_pipeline

from multikernel import SpicyMKLClassifier, SpicyMKLRegressor, SpicyMKLRegressorCV
from multikernel.gram import LowRank
from multikernel.kernels import GaussianKernel, Interactions, Unpenalized
from multikernel.persistence import load, save
from multikernel.persistence.values import StoredValue, plain, restored

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.standard_normal((30, 4)), columns=list("abcd"))
y = X["a"].to_numpy()


@pytest.fixture
def again(tmp_path, recwarn):
    """Saves and loads, without a warning."""

    def run(model):
        save(model, tmp_path / "model.skops")
        assert not [each for each in recwarn if each.category is UserWarning]
        return load(tmp_path / "model.skops")

    return run


COLUMNS = {
    "index": X.columns[:2],
    "categorical index": pd.CategoricalIndex(["a", "b"]),
    "range index": pd.RangeIndex(2),
    "series": pd.Series(["a", "b"]),
    "extension array": X.columns[:2].array,
    "array of strings": np.array(["a", "b"], dtype=np.dtypes.StringDType()),
    "polars series": pl.Series(["a", "b"]),
    "keys": {"a": 1, "b": 2}.keys(),
    "values": {1: "a", 2: "b"}.values(),
    "range": range(2),
    "deque": deque(["a", "b"]),
    "memory view": memoryview(np.array([0, 1])),
    "slice of numpy": slice(np.int64(0), np.int64(2)),
}


@pytest.mark.parametrize("columns", COLUMNS.values(), ids=COLUMNS.keys())
def test_columns_of_views_are_saved_as_they_are_written(columns, again):
    kernels = {
        "bare": columns,
        "with": (columns, GaussianKernel(1.0)),
        "free": Unpenalized(columns),
        "other": ["c"],
    }
    model = SpicyMKLRegressor(kernels).fit(X, y)
    loaded = again(model)
    assert model.kernels is kernels
    assert kernels["bare"] is columns
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.fit(X, y).kernel_names_ == model.kernel_names_


def test_columns_of_interactions_and_grids_are_saved(again):
    between = Interactions(between=(X.columns[:2], X.columns[2:]))
    model = SpicyMKLRegressor(between).fit(X, y)
    assert again(model).kernels.between == (["a", "b"], ["c", "d"])
    grid = {"kernels": [{"u": X.columns[:2]}, {"u": X.columns[2:]}]}
    search = GridSearchCV(SpicyMKLRegressor(), grid, cv=2).fit(X, y)
    loaded = again(search)
    np.testing.assert_array_equal(loaded.predict(X), search.predict(X))
    assert loaded.cv_results_["param_kernels"][1] == {"u": ["c", "d"]}


zone = dt.timezone(dt.timedelta(hours=2))
days = pd.to_datetime(["2020-01-31", "2021-02-01", "2022-03-01"])
CATEGORIES = {
    "bins": pd.IntervalIndex.from_breaks([0.1, 0.30000000000000004, 1.0, 2.0]),
    "bins of dates": pd.IntervalIndex.from_breaks([*days, pd.Timestamp("2023")]),
    "dates": days,
    "dates of a zone": days.tz_localize("Europe/Berlin"),
    "durations": pd.to_timedelta([1, 2, 3], unit="h"),
    "months": pd.period_range("2020", periods=3, freq="M"),
    "quarters": pd.period_range("2020", periods=3, freq="Q-JAN"),
    "days": [dt.date(2020, 1, day) for day in (1, 2, 3)],
    "moments": [dt.datetime(2020, 1, day, tzinfo=zone) for day in (1, 2, 3)],
    "times": [dt.time(hour) for hour in (1, 2, 3)],
    "timedeltas": [dt.timedelta(hour, 5) for hour in (1, 2, 3)],
    "decimals": [Decimal("1.50"), Decimal(2), Decimal(3)],
    "tuples": [(1, "a"), (1, "b"), (2, "a")],
    "truth": [False, True],
    "bytes": [b"a", b"b", b"c"],
}


@pytest.mark.parametrize("values", CATEGORIES.values(), ids=CATEGORIES.keys())
def test_categories_of_every_type_come_back(values, again):
    index = pd.Index(values, tupleize_cols=False)
    codes = np.arange(30) % len(index)
    table = X.assign(c=pd.Categorical.from_codes(codes, categories=index))[["a", "c"]]
    model = SpicyMKLRegressor().fit(table, y + codes)
    loaded = again(model)
    np.testing.assert_array_equal(loaded.predict(table), model.predict(table))
    assert list(loaded.categories_[0]) == list(model.categories_[0])


def test_dates_are_the_same_categories_in_every_unit():
    codes = np.arange(30) % 3
    coarse = pd.Series(days).dt.as_unit("s")[codes].astype("category").values
    fine = pd.Series(days).dt.as_unit("ns")[codes].astype("category").values
    model = SpicyMKLRegressor().fit(X.assign(c=coarse), y + codes)
    predicted = model.predict(X.assign(c=fine))
    np.testing.assert_array_equal(predicted, model.predict(X.assign(c=coarse)))


def test_categories_without_an_order_are_one_sentence():
    table = X.assign(c=pd.Categorical([1j, 2j, 3j] * 10))
    with pytest.raises(
        ValueError, match=r"'c' is read as categories, .* cannot be sorted"
    ):
        SpicyMKLRegressor().fit(table, y)


WEIGHTS = [
    {False: 1.0, True: 2.0},
    {np.False_: 1.0, np.True_: 2.0},
    {0.0: 1.0, 1.0: 2.0},
    {np.int64(0): 1.0, np.int64(1): 2.0},
]


@pytest.mark.parametrize("weights", WEIGHTS)
def test_class_weights_keep_their_keys(weights, again):
    """JSON has keys of text, and bool("False") is true."""
    loaded = again(SpicyMKLClassifier(class_weight=weights).fit(X, y > 0))
    assert loaded.class_weight == weights
    assert list(map(type, loaded.class_weight)) == list(map(type, weights))


def test_what_is_plain_is_not_copied():
    model = SpicyMKLRegressor([GaussianKernel(1.0)]).fit(X, y)
    assert plain(model) is model
    odd = {
        None: frozenset({1, "a"}),
        (1, "a"): pd.NA,
        "map": MappingProxyType({1: 2}),
        "z": (pd.NaT, {2.5}),
    }
    stored = plain(odd)
    assert restored(stored) == odd | {"map": {1: 2}}


def test_distributions_of_searches_are_saved(again):
    alphas = {"alpha": loguniform(0.1, 1.0), "max_iter": randint(5, high=9)}
    search = RandomizedSearchCV(SpicyMKLRegressor(), alphas, n_iter=1, cv=2)
    loaded = again(search.fit(X, y)).param_distributions
    assert all(
        loaded[name].rvs(random_state=0) == alphas[name].rvs(random_state=0)
        for name in alphas
    )


def test_requests_of_metadata_are_saved(again):
    with config_context(enable_metadata_routing=True):
        model = SpicyMKLRegressor().set_fit_request(sample_weight=True).fit(X, y)
        loaded = clone(again(again(make_pipeline(model))))[0]
        assert "SpicyMKLRegressor" in repr(loaded)
        requests = loaded.get_metadata_routing().fit.requests
    assert requests == model._metadata_request.fit.requests
    assert model._metadata_request.owner is model


HOSTILE = [
    StoredValue("pandas.Timestamp", ("x" * 10**6,)),
    StoredValue("pandas.Period", (3, "M" * 10**6)),
    StoredValue("os.system", ("true",)),
    StoredValue("builtins.dict", (1,)),
    StoredValue("scipy.stats._distn_infrastructure.rv_continuous_frozen", ("test",)),
]


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: value.kind)
def test_values_from_strangers_are_refused_at_once(value, tmp_path):
    save({"value": value}, tmp_path / "model.skops")
    start = time.process_time()
    with pytest.raises(ValueError, match="is not a model file written by"):
        load(tmp_path / "model.skops")
    assert time.process_time() - start < 1.0


def some_columns(X):
    return ["a"]


def test_what_load_does_not_trust_is_said_by_save(tmp_path):
    model = SpicyMKLRegressor({"u": some_columns}).fit(X, y)
    name = f"{some_columns.__module__}.some_columns"
    with pytest.warns(UserWarning, match=rf"\.kernels\['u'\] .* trusted=\['{name}'\]"):
        save(model, tmp_path / "model.skops")


LOST = {
    "cv is a generator": (lambda: SpicyMKLRegressorCV(cv=KFold(2).split(X)), r"\.cv,"),
    "cv is a zip": (lambda: SpicyMKLRegressorCV(cv=zip([], [], strict=True)), r"\.cv,"),
    "a generator of columns": (
        lambda: SpicyMKLRegressor({"u": (name for name in "ab")}),
        r"\.kernels\['u'\], an object of type generator",
    ),
    "a lambda": (
        lambda: SpicyMKLRegressor({"u": lambda X: ["a"]}),
        r"\.kernels\['u'\], an object of type function: load could not import",
    ),
}


@pytest.mark.parametrize(("make", "words"), LOST.values(), ids=LOST.keys())
def test_what_no_file_can_hold_is_one_sentence_and_leaves_the_file(
    make, words, tmp_path
):
    path = tmp_path / "model.skops"
    path.write_text("an older file")
    with pytest.raises(TypeError, match=f"Cannot save [A-Za-z]+{words}") as caught:
        save(make(), path)
    assert "\n" not in str(caught.value)
    assert path.read_text() == "an older file"


def test_a_path_is_saved_as_text(tmp_path, again):
    model = SpicyMKLRegressor(storage=LowRank(folder=tmp_path)).fit(X, y)
    assert again(model).storage == LowRank(folder=str(tmp_path))
