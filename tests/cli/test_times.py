"""Times to an event on the command line: fit, score, predict and report."""

import json

import numpy as np
import pandas as pd
import pytest

from multikernel import SpicyMKLSurvival, load


@pytest.fixture
def study(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((90, 3)), columns=["age", "dose", "width"])
    relapse = np.exp(X["dose"] + 0.4 * rng.logistic(size=90))
    end = rng.exponential(4.0, 90)
    table = X.assign(days=np.minimum(relapse, end), died=(relapse <= end).astype(int))
    path = tmp_path / "study.csv"
    table.to_csv(path, index=False)
    return path


@pytest.fixture
def model_file(run, study, tmp_path):
    path = tmp_path / "model.skops"
    options = "--target", "days", "--event", "died", "--no-scale"
    done = run("fit", study, *options, "--output", path)
    assert done.exit_code == 0, done.output
    assert "training concordance" in done.stdout
    return path


def test_the_model_is_that_of_python(run, study, model_file):
    table = pd.read_csv(study)
    X, y = table[["age", "dose", "width"]], table[["died", "days"]].to_numpy()
    model = SpicyMKLSurvival().fit(X, y)
    done = run("score", model_file, study, "--target", "days", "--event", "died")
    assert f"concordance on 90 samples: {model.score(X, y):.6g}" in done.stdout
    done = run("predict", model_file, study, "--later", "1", "--later", "2.5", "--json")
    answers = json.loads(done.stdout)
    later = model.predict_survival_function(X, [1.0, 2.5])
    np.testing.assert_allclose(answers["prediction"], model.predict(X))
    np.testing.assert_allclose(answers["median_time"], model.predict_median(X))
    np.testing.assert_allclose(answers["later_than_2.5"], later[:, 1])
    assert json.loads(run("inspect", model_file, "--json").stdout)["task"] == "survival"


def test_a_search_by_concordance_has_a_report(run, study, tmp_path):
    pytest.importorskip("matplotlib")
    model, page = tmp_path / "search.skops", tmp_path / "page.html"
    times = "--target", "days", "--event", "died"
    done = run("fit", study, *times, "--cv", "3", "-o", model)
    assert "concordance in cross-validation" in done.stdout
    done = run("report", model, study, *times, "-o", page)
    assert done.exit_code == 0, done.output
    assert "Predicted thirds" in page.read_text()


def test_intervals_are_two_targets(run, study, tmp_path):
    table = pd.read_csv(study)
    ends = {
        "lower": np.floor(table["days"]),
        "upper": np.where(table["died"] == 1, np.floor(table["days"]) + 1, np.inf),
    }
    ends["upper"][ends["lower"] == 0.0] = 1.0
    path, model = tmp_path / "intervals.parquet", tmp_path / "intervals.skops"
    table.drop(columns=["days", "died"]).assign(**ends).to_parquet(path)
    targets = "--target", "lower,upper"
    done = run("fit", path, *targets, "--task", "survival", "-o", model)
    assert done.exit_code == 0, done.output
    assert isinstance(load(model)[-1], SpicyMKLSurvival)
    assert "concordance on 90" in run("score", model, path, *targets).stdout


def test_close_times_have_different_columns(run, study, model_file):
    times = "--later", 1234500, "--later", 1234501, "--later", 3
    answers = json.loads(run("predict", model_file, study, *times, "--json").stdout)
    names = ["later_than_1234500", "later_than_1234501", "later_than_3"]
    assert list(answers)[3:] == names


def test_no_note_advises_to_keep_the_text_of_events(run, study):
    table = pd.read_csv(study)
    table["died"] = "0" + table["died"].astype(str)
    table.to_csv(study, index=False)
    done = run("fit", study, "--target", "days", "--event", "died")
    assert done.exit_code == 0
    assert "--task classification" not in done.stderr


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--event", "died", "--task", "regression"], "but --task is regression"),
        (["--event", "died", "--loss", "huber"], "its own loss"),
        (["--event", "died", "--method", "lp"], "not survival"),
        (["--event", "died", "--target", "age"], "requires one --target"),
        (["--event", "dose"], "must hold 1 (observed)"),
        (["--task", "survival"], "--event (column of the event indicator)"),
    ],
)
def test_what_is_not_possible_is_a_sentence(run, study, options, why):
    done = run("fit", study, "--target", "days", *options)
    assert done.exit_code == 1
    assert why in " ".join(done.stderr.split())


def test_text_in_place_of_times_names_the_column(run, study):
    table = pd.read_csv(study)
    table.assign(days=np.where(table["age"] > 0, "late", "soon")).to_csv(study)
    done = run("fit", study, "--target", "days", "--event", "died")
    assert done.exit_code == 1
    first = "late" if table["age"][0] > 0 else "soon"
    assert (
        f"--target 'days' must hold numbers, but it holds {first!r} at row 0: name "
        "another column, or correct the value. Row 0 is the first row of data."
    ) in " ".join(done.stderr.split())


def test_other_commands_refuse_what_is_not_theirs(run, study, model_file, tmp_path):
    def refused(*options):
        done = run(*options)
        assert done.exit_code == 1
        return " ".join(done.stderr.split())

    assert "add --event" in refused("score", model_file, study, "-t", "days")
    times = "-t", "days", "--task", "survival"
    assert "--cv" in refused("path", study, *times)
    assert "--method spicy only" in refused("compare", study, *times)
    other = tmp_path / "numbers.skops"
    assert run("fit", study, "-t", "days", "-o", other).exit_code == 0
    assert "remove --later" in refused("predict", other, study, "--later", "3")
    early = run("predict", model_file, study, "--later", "-1")
    assert early.exit_code == 2
    assert "--later" in early.stderr
    assert "remove --event" in refused(
        "score", other, study, "-t", "days", "--event", "d"
    )
    asked = "predict", model_file, study, "-t", "days", "--stream"
    assert "--no-stream" in refused(*asked)
