"""Several target columns at the command line: fit, predict, path."""

import io
import json

import numpy as np
import pandas as pd
import pytest

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
