"""Several target columns at the command line: fit, predict, path."""

import io
import json

import numpy as np
import pandas as pd
import pytest

from multikernel import SpicyMKLRegressor

BOTH = ("--target", "amount", "--target", "rate", "--kernels", "columns")


@pytest.fixture
def two_targets(frame, tmp_path):
    path = tmp_path / "targets.csv"
    frame["rate"] = np.cos(frame["dose"]) + 0.1 * frame["age"]
    frame.drop(columns="outcome").to_csv(path, index=False)
    return path


def test_several_targets_are_fitted_predicted_and_scored(run, two_targets, tmp_path):
    model = tmp_path / "model.skops"
    shared = run("fit", two_targets, *BOTH, "-o", model, "--json")
    assert shared.exit_code == 0, shared.stderr
    report = json.loads(shared.stdout)
    assert report["estimator"] == "SpicyMKLRegressor"
    weights = {(kernel["name"], kernel["weight"]) for kernel in report["kernels"]}
    assert len(weights) == report["n_active"]  # the same for both targets
    assert report["duality_gap"] <= report["tol"]
    result = run(
        "predict", model, two_targets, "--target", "amount", "--target", "rate"
    )
    assert result.exit_code == 0, result.stderr
    table = pd.read_csv(io.StringIO(result.stdout))
    assert list(table) == ["prediction_amount", "prediction_rate"]
    assert "score" in result.stderr


def test_separate_targets_are_told_apart(run, two_targets):
    options = (*BOTH, "--set", "selection=separate")
    report = json.loads(run("fit", two_targets, *options, "--json").stdout)
    assert {kernel["target"] for kernel in report["kernels"]} == {"amount", "rate"}
    assert len(report["duality_gap"]) == 2
    assert "rate" in run("fit", two_targets, *options).stdout


def test_labels_have_a_probability_each(run, frame, tmp_path):
    path, model = tmp_path / "labels.csv", tmp_path / "model.skops"
    frame["old"] = (frame["age"] > 0).astype(int)
    frame["strong"] = (frame["dose"] > 0).astype(int)
    frame.drop(columns=["outcome", "amount"]).to_csv(path, index=False)
    options = ("-t", "old", "-t", "strong", "--kernels", "columns")
    assert run("fit", path, *options, "-o", model).exit_code == 0
    result = run("predict", model, path, "--proba")
    table = pd.read_csv(io.StringIO(result.stdout))
    assert list(table)[2:] == ["probability_old", "probability_strong"]
    right = table["prediction_old"] == frame["old"]
    assert right.mean() > 0.9


def test_a_target_named_twice_gets_a_sentence(run, two_targets):
    result = run("fit", two_targets, "-t", "amount", "-t", "amount")
    assert result.exit_code == 1
    assert "more than once" in result.stderr


def test_every_target_has_a_score(run, two_targets, tmp_path):
    model = tmp_path / "model.skops"
    assert run("fit", two_targets, *BOTH, "-o", model).exit_code == 0
    options = ("score", model, two_targets, "-t", "amount", "-t", "rate")
    found = json.loads(run(*options, "--json").stdout)
    assert set(found["scores"]) == {"amount", "rate"}
    assert found["score"] == pytest.approx(np.mean([*found["scores"].values()]))
    assert "rate: " in run(*options).stdout


@pytest.mark.parametrize(
    ("targets", "names", "repeated"),
    [
        (["amount"], ["intercept", "dose"], "contribution_intercept"),
        (["stay", "stay_log"], ["log_dose", "dose"], "contribution_stay_log_dose"),
    ],
)
def test_equal_names_of_terms_get_a_sentence(
    run, frame, tmp_path, monkeypatch, targets, names, repeated
):
    path, model = tmp_path / "terms.csv", tmp_path / "model.skops"
    data = frame[["age", "dose"]].set_axis(names, axis=1)
    data.assign(**dict.fromkeys(targets, frame["amount"])).to_csv(path, index=False)
    options = [option for name in targets for option in ("-t", name)]
    views = [option for name in names for option in ("--view", f"{name}={name}")]
    assert run("fit", path, *options, *views, "-o", model).exit_code == 0
    # Names are checked before predictions are computed.
    monkeypatch.setattr(SpicyMKLRegressor, "predict", None)
    result = run("predict", model, path, "--contributions", "view")
    assert result.exit_code == 1
    assert f"two columns named '{repeated}'" in result.stderr


@pytest.mark.parametrize("form", ["--json", "--stream", "-o=z.parquet", "-o=z.npz"])
@pytest.mark.parametrize("name", ["prediction", "probability_ill", "age,age"])
def test_an_id_named_like_an_output_gets_a_sentence(run, frame, tmp_path, form, name):
    path, model = tmp_path / "ids.csv", tmp_path / "model.skops"
    frame = frame.assign(prediction=range(60), probability_ill=range(60), score=1)
    frame.to_csv(path, index=False)
    ids = ("--id", "prediction,probability_ill,score,age")
    fit = run("fit", path, "-t", "outcome", "--drop", "amount", *ids, "-o", model)
    assert fit.exit_code == 0
    form = ["-o", tmp_path / form[3:]] if "=" in form else [form]
    result = run("predict", model, path, "--proba", "--id", name, *form)
    assert result.exit_code == 1
    assert "rename the column of --id in the file" in result.stderr
    assert result.stdout == ""
    as_json = run("predict", model, path, "--id", "score", "--json")
    assert "two columns named 'score'" in as_json.stderr


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--later", "1"), "--later requires a survival model"),
        (("--proba",), "This model has no probabilities"),
        (("--interval", "0.9"), "--interval requires a model fitted with --cv"),
        (("--contributions", "row"), "--contributions must be one of"),
        (("--contributions", "view"), "was fitted without views"),
    ],
)
def test_options_are_checked_before_predictions(
    run, two_targets, tmp_path, monkeypatch, option, message
):
    model = tmp_path / "model.skops"
    assert run("fit", two_targets, *BOTH, "-o", model).exit_code == 0
    monkeypatch.setattr(SpicyMKLRegressor, "predict", None)
    result = run("predict", model, two_targets, *option)
    assert result.exit_code == 1
    assert message in result.stderr


def test_a_new_word_among_categories_that_are_numbers(run, frame, tmp_path):
    path, model = tmp_path / "wards.csv", tmp_path / "model.skops"
    frame = frame.assign(ward=np.resize([1, 2, 3], 60))[["age", "ward", "amount"]]
    frame.to_csv(path, index=False)
    options = ("-t", "amount", "--category", "ward", "-o", model)
    assert run("fit", path, *options).exit_code == 0
    plain = run("predict", model, path)
    words = frame["ward"].astype(str).where(frame.index != 3, "Oslo")
    frame.assign(ward=words).to_csv(path, index=False)
    result = run("predict", model, path)
    assert result.exit_code == 0, result.stderr
    assert "column 'ward' in 1 of 60 rows ('Oslo')" in result.stderr
    tables = [pd.read_csv(io.StringIO(r.stdout))["prediction"] for r in (plain, result)]
    assert np.flatnonzero(tables[0] != tables[1]).tolist() == [3]
