"""Dates become numbers and circles, text categories with a limit, through pipelines."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from multikernel import SpicyMKLRegressor, TableEncoder, load, save
from multikernel.exceptions import DataWarning

DAYS = pd.date_range("2023-03-01", periods=200, freq="31h")


def frame(n=200, seed=0):
    rng = np.random.default_rng(seed)
    frequent = rng.choice(["oak", "elm"], n)
    rare = np.array([f"tree {k}" for k in range(n)])
    X = pd.DataFrame(
        {
            "when": DAYS[:n],
            "kind": np.where(rng.random(n) < 0.3, rare, frequent),
            "size": rng.standard_normal(n),
        }
    )
    week = 2 * np.pi * ((DAYS[:n] - pd.Timestamp(0)) / pd.Timedelta(days=7))
    y = np.cos(week) + (X["kind"] == "oak") + 0.1 * rng.standard_normal(n)
    return X, y.to_numpy()


def test_days_and_circles():
    X, _ = frame()
    encoder = TableEncoder(["week", "year"], max_categories=5)
    found = encoder.fit_transform(X)
    assert found.columns.tolist() == encoder.get_feature_names_out().tolist()
    days = (X["when"] - pd.Timestamp(0)) / pd.Timedelta(days=1)
    np.testing.assert_allclose(found["when"], 1970.0 + days / 365.2425)
    for period, length in (("week", 7.0), ("year", 365.2425)):
        turns = 2 * np.pi * days / length
        for name, function in (("cos", np.cos), ("sin", np.sin)):
            got = found[f"when {period} {name}"]
            np.testing.assert_allclose(got, function(turns), atol=1e-9)
    assert found["size"].equals(X["size"])
    # A week later it is the same place on the circle.
    later = X.assign(when=X["when"] + pd.Timedelta(days=7))
    moved = encoder.transform(later)
    np.testing.assert_allclose(
        moved["when week sin"], found["when week sin"], atol=1e-9
    )


def test_text_of_many_values_has_a_limit():
    X, _ = frame()
    encoder = TableEncoder(max_categories=4).fit(X)
    found = encoder.transform(X)["kind"]
    counts = X["kind"].value_counts()
    assert found.nunique() == 4
    assert set(found.cat.categories) >= {"oak", "elm", "(other)"}
    assert (found == "oak").sum() == counts["oak"]
    assert (found[~X["kind"].isin(["oak", "elm"])] != "oak").all()
    new = X.assign(kind="never met")
    with pytest.warns(DataWarning, match="become '.other.': column 'kind' in 200"):
        assert set(encoder.transform(new)["kind"]) == {"(other)"}
    every = TableEncoder(max_categories=1000).fit_transform(X)["kind"]
    assert every.astype(str).tolist() == X["kind"].tolist()
    gaps = X.copy()
    gaps.loc[::5, "kind"] = None
    assert encoder.transform(gaps)["kind"].isna().sum() == 40
    numbers = X.assign(kind=np.arange(200) % 7).astype({"kind": "category"})
    found = encoder.fit(numbers).transform(numbers)["kind"]
    assert set(found) == {"0", "1", "2", "(other)"}
    assert make_pipeline(encoder, SpicyMKLRegressor()).fit(numbers, numbers["size"])


@pytest.mark.parametrize("kind", ["text", "category", "numbers"])
def test_gaps_take_the_most_frequent_value_of_the_fit(kind):
    X, _ = frame()
    if kind == "numbers":
        X["kind"] = (X["kind"] == "oak").astype(float)
    common = X["kind"].mode()[0]
    gaps = X["kind"].isin([common]) & (np.arange(200) < 20)
    lacking = X.assign(kind=X["kind"].where(~gaps))
    if kind != "text":
        lacking = lacking.astype({"kind": "category"})
    encoder = TableEncoder(max_categories=1000, missing="most_frequent").fit(lacking)
    assert encoder.fill_values_ == {"kind": common}
    assert encoder.transform(lacking)["kind"].tolist() == X["kind"].tolist()
    # New rows take it too, whatever is frequent among them.
    new = lacking.assign(kind=lacking["kind"].where(lacking["kind"] != common))
    assert encoder.transform(new)["kind"][gaps].eq(common).all()
    nothing = TableEncoder(missing="most_frequent").fit(X.assign(kind=None))
    assert nothing.fill_values_ == {}


@pytest.mark.parametrize("form", ["text", "text with a zone", "zone", "gaps"])
def test_dates_in_other_forms(form):
    X, _ = frame()
    expected = TableEncoder().fit_transform(X)["when"].to_numpy()
    when = X["when"]
    if form == "text":
        when = when.dt.strftime("%Y-%m-%dT%H:%M:%S")
    elif form == "text with a zone":
        when = (when + pd.Timedelta(hours=2)).dt.strftime("%Y-%m-%dT%H:%M:%S+02:00")
    elif form == "zone":
        when = when.dt.tz_localize("UTC").dt.tz_convert("Europe/Paris")
    else:
        when, expected = when.copy(), expected.copy()
        when[::3], expected[::3] = pd.NaT, np.nan
    encoder = TableEncoder().fit(X.assign(when=when))
    assert encoder.kinds_["when"] == "dates"
    found = encoder.transform(X.assign(when=when))["when"]
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("value", ["12", "2024", "now", "2024-13-01", "1.5", ""])
def test_text_that_is_no_date_is_a_category(value):
    X, _ = frame()
    encoder = TableEncoder().fit(X.assign(kind=value))
    assert encoder.kinds_["kind"] == "words"


# Folds lack some of the rare values.
@pytest.mark.filterwarnings("ignore:TableEncoder:multikernel.exceptions.DataWarning")
def test_a_table_of_all_kinds_is_fitted_in_one_line(tmp_path):
    X, y = frame()
    model = make_pipeline(
        TableEncoder(["week"], max_categories=10), SpicyMKLRegressor(alpha=0.01)
    )
    assert cross_val_score(model, X, y, cv=3).mean() > 0.5
    model.fit(X, y)
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert clone(model[0]).get_params() == model[0].get_params()


def test_many_rows_take_no_time_of_their_own():
    X, _ = frame()
    long = pd.concat([X] * 250, ignore_index=True)
    found = TableEncoder(["day", "week", "month", "year"], 8).fit_transform(long)
    assert found.shape == (50_000, 11)
    assert found["kind"].nunique() == 8


@pytest.mark.parametrize(
    ("settings", "X", "kind", "message"),
    [
        ({"periods": ["hour"]}, frame()[0], ValueError, "periods must be a list of so"),
        ({"max_categories": 1}, frame()[0], ValueError, "max_categories must be"),
        ({"missing": "mean"}, frame()[0], ValueError, "missing must be one of 'keep'"),
        (
            {"periods": ["week"]},
            frame()[0].rename(columns={"size": "when week cos"}),
            ValueError,
            "same name: 'when week cos'",
        ),
        ({}, np.ones((3, 2)), TypeError, "a pandas data frame, got ndarray"),
        (
            {"max_categories": 2},
            pd.DataFrame({"a": [1, "1", 2, "2"]}),
            ValueError,
            "Column 'a' holds different values with the same text",
        ),
    ],
)
def test_what_it_refuses(settings, X, kind, message):
    with pytest.raises(kind, match=message):
        TableEncoder(**settings).fit(X)


def test_dates_have_a_time_zone_in_fit_and_transform_or_in_neither():
    days = pd.DataFrame({"when": pd.date_range("2024-01-01", periods=5)})
    berlin = days.assign(when=days["when"].dt.tz_localize("Europe/Berlin"))
    utc = berlin.assign(when=berlin["when"].dt.tz_convert("UTC"))
    encoder = TableEncoder().fit(berlin)
    pd.testing.assert_frame_equal(encoder.transform(utc), encoder.transform(berlin))
    for fitted, other, word in ((berlin, days, "no"), (days, berlin, "a")):
        with pytest.raises(ValueError, match=f"has {word} time zone, unlike in fit"):
            TableEncoder().fit(fitted).transform(other)


def test_other_columns_and_dates_that_are_none():
    X, _ = frame()
    encoder = TableEncoder().fit(X)
    with pytest.raises(ValueError, match="was fitted on 'when', 'kind', 'size'"):
        encoder.transform(X[["size", "when", "kind"]])
    with pytest.raises(ValueError, match="X lacks the columns 'kind' and has the new"):
        encoder.transform(X.rename(columns={"kind": "type"}))
    with pytest.raises(ValueError, match="Column 'when' held dates in fit"):
        encoder.transform(X.assign(when="soon"))
