"""Ordered classes from the command line."""

import json

import numpy as np
import pandas as pd
import pytest

from multikernel import SpicyMKLOrdinal, load

ORDER = ["none", "some", "much"]


@pytest.fixture
def grades(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    latent = 2.0 * X[:, 0] + 0.3 * rng.logistic(size=60)
    table = pd.DataFrame(X, columns=["age", "dose", "width"])
    path = tmp_path / "grades.csv"
    table.assign(grade=np.array(ORDER)[np.digitize(latent, [-1.0, 1.0])]).to_csv(
        path, index=False
    )
    return path


def test_the_model_is_that_of_python(run, grades, tmp_path):
    model_file, page = tmp_path / "model.skops", tmp_path / "page.html"
    order = f"order={json.dumps(ORDER)}"
    asked = "-t", "grade", "--task", "ordinal", "--set", order
    done = run("fit", grades, *asked, "--no-scale", "-o", model_file)
    assert done.exit_code == 0, done.output
    assert "training accuracy" in done.stdout
    table = pd.read_csv(grades)
    X, y = table.drop(columns="grade"), table["grade"]
    model = SpicyMKLOrdinal(order=ORDER).fit(X, y)
    done = run("predict", model_file, grades, "--proba", "--json")
    answers = json.loads(done.stdout)
    assert answers["prediction"] == model.predict(X).tolist()
    shares = model.predict_proba(X)[:, list(model.classes_).index("some")]
    np.testing.assert_allclose(answers["probability_some"], shares)
    done = run("score", model_file, grades, "-t", "grade")
    assert f"{model.score(X, y):.6g}" in done.stdout
    seen = json.loads(run("inspect", model_file, "--json").stdout)
    assert seen["task"] == "ordinal"
    pytest.importorskip("matplotlib")
    done = run("report", model_file, grades, "-t", "grade", "-o", page)
    assert done.exit_code == 0, done.output
    assert "Calibration" in page.read_text()


def test_the_order_of_categories_in_parquet_is_used(run, grades, tmp_path):
    table = pd.read_csv(grades)
    labels = pd.Categorical(table["grade"], ORDER, ordered=True)
    path, model_file = tmp_path / "grades.parquet", tmp_path / "model.skops"
    table.assign(grade=labels).to_parquet(path)
    done = run("fit", path, "-t", "grade", "--task", "ordinal", "-o", model_file)
    assert done.exit_code == 0, done.output
    assert "alphabetically" not in done.stderr
    assert load(model_file)[-1].classes_.tolist() == ORDER
    assert run("score", model_file, path, "-t", "grade").exit_code == 0
    other = ("--set", f"order={json.dumps(ORDER[::-1])}")
    asked = ("fit", path, "-t", "grade", "--task", "ordinal", "-o", model_file)
    assert run(*asked, *other).exit_code == 0
    assert load(model_file)[-1].classes_.tolist() == ORDER[::-1]
    table.assign(grade=labels.as_unordered()).to_parquet(path)
    assert "pass --set 'order=[...]' with the classes" in run(*asked).stderr


def test_ordered_categories_that_look_like_amounts_are_classes(run, grades, tmp_path):
    table, names = pd.read_csv(grades), ["0 %", "5 %", "10 %"]
    labels = table["grade"].map(dict(zip(ORDER, names, strict=True)))
    path = tmp_path / "grades.parquet"
    table.assign(grade=labels).to_parquet(path)
    asked = ("fit", path, "-t", "grade", "--task", "ordinal")
    assert "use --set 'order=[...]' to read all cells as classes" in run(*asked).stderr
    ordered = pd.Categorical(labels, names, ordered=True)
    table.assign(grade=ordered).to_parquet(path)
    assert run(*asked).exit_code == 0


def test_grades_are_not_read_in_partitions(run, grades, monkeypatch):
    asked = ("fit", grades, "-t", "grade", "--task", "ordinal")
    told = run(*asked, "--stream").stderr
    assert "--stream requires --method spicy without --cv, for class" in told
    monkeypatch.setattr("multikernel.cli._large.available_bytes", lambda: 1000)
    assert run(*asked).exit_code == 0


@pytest.mark.parametrize(
    ("command", "options", "why"),
    [
        ("fit", ["--method", "lp"], "not ordinal"),
        ("fit", ["--loss", "log_loss"], "its own loss"),
        ("path", [], "--cv"),
        ("compare", [], "--method spicy only"),
    ],
)
def test_what_is_not_possible_is_a_sentence(run, grades, command, options, why):
    done = run(command, grades, "-t", "grade", "--task", "ordinal", *options)
    assert done.exit_code == 1
    assert why in " ".join(done.stderr.split())
