"""Columns that are no plain features: ids, offsets, dates, and unpenalized columns."""

import io
import json

import numpy as np
import pandas as pd
import pytest

from multikernel import SpicyMKLRegressor, TableEncoder, load, save
from multikernel.kernels import GaussianKernel


@pytest.fixture
def visits(tmp_path):
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 90), "D")
    table = pd.DataFrame({
        "record": [f"{number:05d}" for number in range(90)],
        "patient": np.repeat(np.arange(30), 3),
        "day": days.strftime("%Y-%m-%d"),
        "age": rng.normal(60.0, 10.0, 90),
        "sex": rng.choice(["f", "m"], 90),
        "dose": rng.normal(size=90),
        "gene": rng.normal(size=90),
        "log_years": np.log(rng.uniform(0.5, 8.0, 90)),
    })  # fmt: skip
    season = np.cos(2.0 * np.pi * days.day_of_year / 365.25)
    effect = np.sin(2.0 * table["dose"]) + season + 0.02 * (table["age"] - 60.0)
    table["amount"] = effect + 0.1 * rng.normal(size=90)
    table["events"] = rng.poisson(np.exp(effect - 1.0 + table["log_years"]))
    table.iloc[:60].to_csv(tmp_path / "known.CSV", index=False)
    table.iloc[60:].to_csv(tmp_path / "new.csv", index=False)
    return table


def rows(result):
    assert result.exit_code == 0, result.stderr
    return pd.read_csv(io.StringIO(result.stdout), dtype={"record": str})


def test_dates_ids_intervals_and_contributions(run, visits, tmp_path):
    known, new, file = (tmp_path / name for name in ("known.CSV", "new.csv", "m.skops"))
    drop = ("-t", "amount", "--drop", "events,log_years,sex,gene")
    fit = run("fit", known, *drop, "--id", "record", "--date", "day", "--period",
              "year", "--group", "patient", "--cv", 3, "--one-standard-error",
              "--intervals", "-o", file)  # fmt: skip
    assert fit.exit_code == 0, fit.stderr
    model = load(file)
    assert model["model"].refit == "one_standard_error"
    encoder = TableEncoder(["year"]).fit(visits[["day"]])
    in_use = set(model["model"].summary()["kernel"])
    assert any("day year cos" in name for name in in_use)
    asked = ("--id", "record", "--interval", 0.9, "--contributions", "kernel")
    answers = rows(run("predict", file, new, *asked))
    assert answers["record"].tolist() == visits["record"][60:].tolist()
    terms = answers[[c for c in answers if c.startswith("contribution_")]]
    np.testing.assert_allclose(terms.sum(axis=1), answers["prediction"])
    data = model[:-1].transform(visits[model.feature_names_in_].iloc[60:])
    low, high = model["model"].predict_interval(data, 0.9)
    np.testing.assert_allclose(answers[["low", "high"]], np.column_stack([low, high]))
    assert set(encoder.get_feature_names_out()) <= set(data.columns)
    by = ("--scoring", "neg_mean_absolute_error", "--json")
    scored = run("score", file, new, "-t", "amount", *by)
    error = np.abs(answers["prediction"] - visits["amount"][60:].to_numpy()).mean()
    assert json.loads(scored.stdout)["score"] == pytest.approx(-error)
    wrong = run("score", file, new, "-t", "amount", "--scoring", "roc")
    assert "score of scikit-learn" in wrong.stderr
    said = run("fit", known, *drop).stderr
    assert "write it as 2024-01-31 and name the column with --date 'day'" in said
    said = run("fit", known, *drop, "--drop", "day", "--date", "age").stderr
    assert "ISO 8601 date" in said


@pytest.mark.parametrize("kind", ["timestamps", "zoned", "dates"])
def test_dates_in_parquet_are_those_of_csv(run, visits, tmp_path, kind):
    days = pd.to_datetime(visits["day"])
    columns = {
        "timestamps": days,
        "zoned": days.dt.tz_localize("UTC"),
        "dates": days.dt.date,
    }
    path, model = tmp_path / "visits.parquet", tmp_path / "m.skops"
    visits.assign(day=columns[kind]).to_parquet(path)
    drop = ("-t", "amount", "--drop", "events,log_years,sex,gene,patient")
    fit = ("--id", "record", "--date", "day", "--period", "year", "--alpha", 0.05)
    done = run("fit", path, *drop, *fit, "--json", "-o", model)
    assert done.exit_code == 0, done.stderr
    visits.to_csv(tmp_path / "visits.csv", index=False)
    expected = run("fit", tmp_path / "visits.csv", *drop, *fit, "--json")
    objectives = [json.loads(d.stdout)["objective"] for d in (done, expected)]
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-12)
    assert len(rows(run("predict", model, path, "--id", "record"))) == 90
    said = run("fit", path, *drop, "--id", "record").stderr
    assert "holds dates: use them with --date 'day'" in said
    said = run("fit", path, "-t", "day").stderr
    assert "for example dates to days since a reference date" in said
    said = run("fit", path, *drop, "--id", "record", "--offset", "day").stderr
    assert "at row 0; every value must be a finite number" in said


def test_offsets_are_beside_fits_predictions_scores_and_folds(run, visits, tmp_path):
    known, new, file = (tmp_path / name for name in ("known.CSV", "new.csv", "m.skops"))
    asked = ("-t", "events", "--offset", "log_years", "--id", "record")
    drop = (*asked, "--drop", "amount,patient,day,sex")
    fit = run("fit", known, *drop, "--loss", "poisson", "--alpha", 0.05, "-o", file)
    assert fit.exit_code == 0, fit.stderr
    features, offset = ["age", "dose", "gene"], visits["log_years"]
    model = load(file)
    data = model[:-1].transform(visits[features].iloc[60:])
    expected = model["model"].predict(data, offset=offset[60:])
    beside = ("--offset", "log_years", "--id", "record")
    for stream in ("--no-stream", "--stream"):
        answers = rows(run("predict", file, new, *beside, stream))
        np.testing.assert_allclose(answers["prediction"], expected)
        assert answers["record"].tolist() == visits["record"][60:].tolist()
    scored = run("score", file, new, *asked, "--json")
    score = model["model"].score(data, visits["events"][60:], offset=offset[60:])
    assert json.loads(scored.stdout)["score"] == pytest.approx(score)
    told = run("predict", file, new).stderr
    assert "--offset names the column of the offset" in told
    page = tmp_path / "page.html"
    assert run("report", file, new, *asked, "-o", page).exit_code == 0
    assert "explained beyond the offset" in page.read_text()
    settings = (*drop, "--task", "regression", "--json")
    compared = run("compare", known, *settings, "--method", "spicy", "--folds", 2)
    assert np.isfinite(json.loads(compared.stdout)["methods"][0]["score"])
    path = run("path", known, *drop, "--loss", "poisson", "--n-alphas", 2, "--json")
    assert json.loads(path.stdout)["path"][0]["n_active"] == 0
    said = run("fit", known, "-t", "amount", "--offset", "sex", "--drop", "day").stderr
    assert "--offset: column 'sex'" in said
    assert "at row 0; every value must be a finite number" in said


def test_unpenalized_columns_and_columns_out_of_use(run, visits, tmp_path):
    known, new, file = (tmp_path / name for name in ("known.CSV", "new.csv", "m.skops"))
    drop = ("-t", "amount", "--drop", "events,log_years,patient,day,record")
    free = ("--unpenalized", "age,sex", "--view", "a=dose", "--view", "b=gene")
    fit = run("fit", known, *drop, *free, "--alpha", 0.2, "-o", file, "--json")
    report = json.loads(fit.stdout)
    names = [row["column"] for row in report["unpenalized"]]
    assert names == ["age (unpenalized)", "sex=m (unpenalized)"]
    # In years, although other columns are standardized.
    assert report["unpenalized"][0]["coefficient"] == pytest.approx(0.02, abs=0.015)
    assert {kernel["view"] for kernel in report["kernels"]} == {"a"}
    whole = rows(run("predict", file, new))
    visits.iloc[60:].drop(columns="gene").to_csv(new, index=False)
    pd.testing.assert_frame_equal(rows(run("predict", file, new)), whole)
    visits.iloc[60:].drop(columns="age").to_csv(new, index=False)
    assert (
        "lacks columns that the model was fitted on: 'age'. "
        in run("predict", file, new).stderr
    )
    joint = run("fit", known, *drop, "--unpenalized", "age", "--kernels", "joint")
    assert "age (unpenalized)" in joint.stdout
    said = run("fit", known, *drop, "--unpenalized", "age", "--method", "hkl").stderr
    assert "--method hkl does not support --unpenalized" in said


class Own(GaussianKernel):
    """A type that no model file may hold by default."""


def test_a_type_is_trusted_by_name(run, visits, tmp_path):
    model = SpicyMKLRegressor([Own(1.0)]).fit(visits[["dose"]], visits["amount"])
    with pytest.warns(UserWarning, match="trusted"):
        save(model, tmp_path / "own.skops")
    name = f"{Own.__module__}.Own"
    said = run("predict", tmp_path / "own.skops", tmp_path / "new.csv").stderr
    assert f"add --trusted {name}." in said
    asked = ("predict", tmp_path / "own.skops", tmp_path / "new.csv", "--trusted", name)
    assert len(rows(run(*asked))) == 30


def test_options_of_searches_and_saved_folds(run, visits, tmp_path):
    known, file = tmp_path / "known.CSV", tmp_path / "m.skops"
    drop = ("-t", "amount", "--drop", "events,log_years,patient,day,record,sex")
    for option in ("--one-standard-error", "--intervals"):
        assert f"{option} requires --cv" in run("fit", known, *drop, option).stderr
    assert run("fit", known, *drop, "-o", file).exit_code == 0
    said = run("predict", file, tmp_path / "new.csv", "--interval", 0.9).stderr
    assert "fitted with --cv and --intervals" in said
    said = run("predict", file, tmp_path / "new.csv", "--contributions", "row").stderr
    assert "--contributions must be one of kernel, view, column" in said
