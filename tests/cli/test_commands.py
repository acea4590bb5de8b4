"""The commands end to end: files in, tables, JSON and files out."""

import json

import numpy as np
import pandas as pd
import pytest
from command_line import command_tree
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from multikernel import SpicyMKLClassifier
from multikernel.cli._methods import METHODS
from multikernel.persistence import load, save

FIT = ("--target", "outcome", "--drop", "amount", "--kernels", "columns")


@pytest.fixture
def model_file(run, csv, tmp_path):
    path = tmp_path / "model.skops"
    result = run("fit", csv, *FIT, "--alpha", 0.02, "-o", path)
    assert result.exit_code == 0, result.stderr
    return path


def answer(result):
    """Return the JSON on stdout, which must hold nothing else."""
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_fit_shows_a_table_and_saves(run, csv, tmp_path):
    path = tmp_path / "model.skops"
    result = run("fit", csv, *FIT, "--alpha", 0.02, "-o", path)
    assert result.exit_code == 0
    for expected in ("SpicyMKLClassifier", "relative duality gap", "[dose]", "12"):
        assert expected in result.stdout
    assert "Model saved as" in result.stdout
    assert isinstance(load(path), Pipeline)


def test_fit_json_is_the_model(run, csv, frame, tmp_path):
    options = ("--alpha", 0.02, "--tol", 1e-5, "-o", tmp_path / "m.skops", "--json")
    report = answer(run("fit", csv, *FIT, *options))
    saved = load(tmp_path / "m.skops")
    score = saved.score(frame[["age", "dose", "width"]], frame["outcome"])
    assert report["training_score"] == score
    assert report["estimator"] == "SpicyMKLClassifier"
    assert report["n_samples"] == 60
    assert report["n_kernels"] == 12
    assert 0 <= report["duality_gap"] <= 1e-5
    weights = [kernel["weight"] for kernel in report["kernels"]]
    assert weights == sorted(weights, reverse=True)
    assert sum(weights) == pytest.approx(1.0)
    assert len(weights) == report["n_active"]
    assert report["kernels"][0]["name"].endswith("[dose]")
    assert report["parameters"]["alpha"] == 0.02


def test_fit_and_path_on_landmarks(run, csv):
    thin = ("--storage", "low_rank", "--max-rank", 50, "--tol", 1e-6, "--json")
    report = answer(run("fit", csv, *FIT, "--alpha", 0.02, *thin))
    whole = answer(run("fit", csv, *FIT, "--alpha", 0.02, "--tol", 1e-6, "--json"))
    assert (report["storage"], whole["storage"]) == ("low_rank", "dense")
    assert report["objective"] == pytest.approx(whole["objective"], rel=1e-5)
    assert answer(run("path", csv, *FIT, *thin))["n_kernels"] == 12
    result = run("fit", csv, *FIT, "--max-rank", 50)
    assert result.exit_code == 1
    assert "--max-rank requires --storage low_rank" in result.stderr


def test_fit_regression_with_further_settings(run, csv, frame, tmp_path):
    options = ("--target", "amount", "--drop", "outcome", "--kernels", "columns")
    options += ("--set", "l1_ratio=0.5", "-o", tmp_path / "m.skops", "--json")
    report = answer(run("fit", csv, *options))
    assert report["estimator"] == "SpicyMKLRegressor"
    assert report["parameters"]["l1_ratio"] == 0.5
    saved = load(tmp_path / "m.skops")
    score = saved.score(frame[["age", "dose", "width"]], frame["amount"])
    assert report["training_score"] == pytest.approx(score, rel=1e-12)


def test_a_strength_is_free_of_the_unit_of_the_targets(run, csv, frame, tmp_path):
    scaled = tmp_path / "scaled.csv"
    frame.assign(amount=1000.0 * frame["amount"]).to_csv(scaled, index=False)
    options = ("--target", "amount", "--drop", "outcome", "--json", "--alpha", 0.04)
    plain, other = (answer(run("fit", file, *options)) for file in (csv, scaled))
    assert plain["parameters"]["alpha"] == other["parameters"]["alpha"] == 0.04
    assert other["objective"] == pytest.approx(1e6 * plain["objective"], rel=1e-9)
    assert [row["name"] for row in plain["kernels"]] == [
        row["name"] for row in other["kernels"]
    ]


def test_fit_chooses_alpha_by_cross_validation(run, csv):
    report = answer(run("fit", csv, *FIT, "--cv", 3, "--json"))
    assert report["estimator"] == "SpicyMKLClassifierCV"
    assert report["alpha"] > 0


def test_fit_selects_kernels_greedily(run, csv):
    settings = ("--method", "group-omp", "--set", "max_kernels=3")
    report = answer(run("fit", csv, *FIT, *settings, "--json"))
    assert report["estimator"] == "GroupOMPClassifier"
    assert report["n_active"] == len(report["kernels"]) == 3
    assert report["kernels"][0]["name"].endswith("[dose]")
    assert report["duality_gap"] is None
    shown = run("fit", csv, *FIT, *settings).stdout
    assert "3 of 12 kernels in use" in shown
    assert "gap" not in shown
    chosen = answer(run("fit", csv, *FIT, "--method", "group-omp", "--cv", 3, "--json"))
    assert chosen["estimator"] == "GroupOMPClassifierCV"
    assert chosen["alpha"] in (1e-4, 1e-3, 1e-2, 1e-1, 1.0)


def test_fit_of_lp_norm_models(run, csv):
    lp = ("--method", "lp")
    report = answer(run("fit", csv, *FIT, *lp, "-C", 2, "-p", "inf", "--json"))
    assert report["estimator"] == "LpMKLClassifier"
    assert report["parameters"]["C"] == 2.0
    assert {kernel["weight"] for kernel in report["kernels"]} == {1.0}
    uniform = ("--method", "uniform", "--set", "normalize=variance")
    uniform = answer(run("fit", csv, *FIT, *uniform, "-C", 2, "--json"))
    assert uniform["estimator"] == "FixedWeightsMKLClassifier"
    assert uniform["objective"] == pytest.approx(report["objective"], rel=1e-3)
    silp = ("-p", 1, "--set", "solver=silp", "--tol", 1e-4)
    sparse = answer(run("fit", csv, *FIT, *lp, *silp, "--json"))
    assert sparse["n_active"] < report["n_active"]
    chosen = answer(run("fit", csv, *FIT, *lp, "--cv", 2, "-p", 2, "--json"))
    assert chosen["estimator"] == "LpMKLClassifierCV"
    assert chosen["p"] == 2.0
    assert chosen["C"] > 0.0
    shown = run("fit", csv, *FIT, *lp, "--cv", 2, "-p", 2, "--set", "Cs=[1]")
    assert "C chosen" in shown.stdout


def test_fit_of_local_rademacher_models(run, csv):
    ours = ("--method", "rademacher", "--set", "theta=2", "-C", 2)
    conv = answer(run("fit", csv, *FIT, *ours, "--json"))
    assert conv["estimator"] == "LocalRademacherMKLClassifier"
    assert conv["parameters"]["theta"] == 2
    assert conv["duality_gap"] <= conv["tol"]
    dc = answer(run("fit", csv, *FIT, *ours, "--set", "method=dc", "--json"))
    assert dc["duality_gap"] is None
    assert "no certificate" in dc["status_message"]
    grid = ("--set", "Cs=[1, 10]", "--set", "thetas=[0, 2]")
    search = ("--method", "rademacher", "--cv", 2, "-p", 1, *grid)
    chosen = answer(run("fit", csv, *FIT, *search, "--json"))
    assert chosen["estimator"] == "LocalRademacherMKLClassifierCV"
    assert chosen["theta"] in (0, 2)
    assert chosen["parameters"]["p"] == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--method", "lp", "-C", 1, "--cv", 3), "-C cannot be used with --cv"),
        (("--alpha", 1, "--cv", 3), "--alpha cannot be used with --cv"),
        (("--method", "lp", "-p", 0.5), "-p must be a number of at least 1"),
        (("--method", "spicy", "-C", 1), "does not support -C: did you mean --alpha?"),
        (
            ("--method", "lp", "--alpha", 1),
            "does not support --alpha: did you mean -C?",
        ),
    ],
)
def test_strengths_that_do_not_fit_get_a_sentence(run, csv, options, message):
    result = run("fit", csv, *FIT, *options)
    assert result.exit_code == 1
    assert message in " ".join(result.stderr.split())


@pytest.mark.parametrize("method", [n for n in METHODS if n != "spicy"])
def test_methods_without_a_path_name_one_with_a_path(run, csv, method):
    result = run("path", csv, *FIT, "--method", method)
    assert result.exit_code == 1
    assert f"path does not support --method {method}: use spicy." in result.stderr


def test_the_help_of_path_offers_only_methods_with_a_path():
    helps = [p.help for p in command_tree().commands["path"].params if p.help]
    words = {word.strip(".,:;()") for text in helps for word in text.split()}
    assert {*METHODS} & words == {"spicy"}


def test_fit_of_several_classes(run, frame, tmp_path):
    frame["outcome"] = np.digitize(frame["dose"], [-0.4, 0.4])
    frame.to_csv(tmp_path / "three.csv", index=False)
    report = answer(run("fit", tmp_path / "three.csv", *FIT, "--json"))
    assert {kernel["class"] for kernel in report["kernels"]} == {0, 1, 2}
    assert len(report["duality_gap"]) == 3
    assert run("fit", tmp_path / "three.csv", *FIT).exit_code == 0


def test_gram_matrices_keep_their_names(run, gram_file):
    report = answer(run("fit", gram_file, "--target", "y", "--json"))
    assert report["n_kernels"] == 3
    assert report["kernels"][0]["name"] == "by dose"


def test_predict_writes_csv_to_stdout(run, csv, frame, model_file):
    result = run("predict", model_file, csv, "--drop", "amount", "--drop", "outcome")
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.split()
    assert lines[0] == "prediction"
    features = frame[["age", "dose", "width"]]
    assert lines[1:] == load(model_file).predict(features).tolist()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_predict_writes_probabilities_and_the_score(run, csv, model_file, ending):
    path = model_file.with_name(f"predictions.{ending}")
    options = ("--target", "outcome", "--drop", "amount", "--proba", "-o", path)
    result = run("predict", model_file, csv, *options)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == ""
    assert "score: 0.9" in result.stderr
    frame = getattr(pd, f"read_{ending}")(path)
    assert list(frame) == ["prediction", "probability_ill", "probability_well"]
    probabilities = frame[["probability_ill", "probability_well"]]
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    larger = probabilities.idxmax(axis=1).str.removeprefix("probability_")
    assert (larger == frame["prediction"]).all()


def test_predict_json(run, csv, frame, model_file):
    options = ("--target", "outcome", "--drop", "amount", "--json")
    report = answer(run("predict", model_file, csv, *options))
    assert len(report["prediction"]) == 60
    assert report["score"] == np.mean(report["prediction"] == frame["outcome"])


def test_inspect(run, model_file):
    result = run("inspect", model_file)
    assert result.exit_code == 0
    assert "[dose]" in result.stdout
    assert "alpha" in result.stdout
    report = answer(run("inspect", model_file, "--json"))
    model = load(model_file)["model"]
    assert report["objective"] == model.objective_
    assert report["duality_gap"] == model.duality_gap_
    indices = {kernel["index"] for kernel in report["kernels"]}
    assert indices == set(model.active_kernels_.tolist())


def test_inspect_lists_no_more_than_asked_for(run, model_file):
    names = [
        kernel["name"]
        for kernel in answer(run("inspect", model_file, "--json"))["kernels"]
    ]
    result = run("inspect", model_file, "--rows", 1)
    assert names[0] in result.stdout
    assert names[1] not in result.stdout
    assert f"and {len(names) - 1} more" in result.stdout


def test_path(run, csv, tmp_path, rendered):
    plot = tmp_path / "path.png"
    options = (*FIT, "--n-alphas", 6, "--plot", plot)
    report = answer(run("path", csv, *options, "--json"))
    lines = report["path"]
    alphas = [line["alpha"] for line in lines]
    np.testing.assert_allclose(alphas, np.geomspace(alphas[0], alphas[0] / 100, 6))
    assert lines[0]["n_active"] == 0
    assert any(name.endswith("[dose]") for name in lines[1]["entered"])
    objectives = [line["objective"] for line in lines]
    assert objectives == sorted(objectives, reverse=True)
    assert plot.read_bytes().startswith(b"\x89PNG")
    shown = run("path", csv, *options)
    assert shown.exit_code == 0
    assert "Plot saved as" in shown.stdout
    alone = run("path", csv, *FIT, "--set", "alpha=1")
    assert "--set alpha has no effect on a path" in alone.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--target", "none"), "has no column 'none'"),
        (("--target", "outcome"), "--target requires at least two classes"),
        ((*FIT, "--alpha", "-1"), "alpha"),
        ((*FIT, "--alpha", "1", "--cv", "3"), "--alpha cannot be used with --cv"),
        ((*FIT, "--set", "alfa=1"), "has no parameter 'alfa'"),
        ((*FIT, "--method", "magic"), "--method must be one of"),
        ((*FIT, "-o", "/nowhere/model.skops"), "folder /nowhere does not exist"),
        ((*FIT, "-o", "/"), "Cannot save to /: it is a folder"),
        ((*FIT, "--loss", "poisson"), "--loss poisson requires numbers, but the"),
        (("-t", "amount", "--task", "classification"), "requires classes, but the"),
        ((*FIT, "--cv", 1), "--cv must lie between 2 and the number of rows, 60"),
        ((*FIT, "--cv", 3, "--scoring", "rr2"), "such as r2; got 'rr2'"),
        (("-t", "amount", "--event", "outcome"), "--event 'outcome' must hold 1"),
        (
            (*FIT, "--tol", 1e-3, "--set", "tol=0.1"),
            "--set tol sets a parameter that another option",
        ),
        ((*FIT, "--set", "tol=1", "--set", "tol=2"), "--set tol is given more than"),
    ],
)
def test_user_errors_are_one_sentence(run, csv, arguments, message):
    if arguments == ("--target", "outcome"):
        csv.write_text("outcome,a\nx,1\nx,2\n")  # one class only
    result = run("fit", csv, *arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
    assert result.stdout == ""


def test_a_target_is_no_feature_of_the_model(run, csv, model_file):
    result = run("predict", model_file, csv, "--drop", "dose")
    assert "--drop dose is a feature of the model" in result.stderr
    result = run("score", model_file, csv, "-t", "outcome", "-t", "amount")
    assert "--target names 2 columns, but the model predicts 1" in result.stderr
    result = run("score", model_file, csv, "-t", "dose")
    assert "--target dose is a feature of the model, which requires it" in result.stderr


def test_comparisons_name_a_wrong_option(run, csv):
    result = run("compare", csv, *FIT, "--folds", 61)
    assert "--folds must lie between 2 and the number of rows, 60" in result.stderr
    result = run("compare", csv, *FIT, "--scoring", "bogus")
    assert "--scoring must be a score" in result.stderr


def test_options_that_matrices_do_not_have_are_refused(run, tmp_path):
    path = tmp_path / "K.npz"
    np.savez(path, K=np.eye(6)[None], y=np.arange(6) % 2)
    for option, words in {
        "--view": "a=b",
        "--group": "g",
        "--drop": "a",
        "--kernels": "linear",
    }.items():
        result = run("fit", path, "-t", "y", option, words, "--cv", 2)
        assert result.exit_code == 1
        assert option in result.stderr


def test_missing_file_and_foreign_file(run, csv, model_file):
    for arguments in (
        ("fit", csv.with_name("none.csv"), "--target", "y"),
        ("predict", csv.with_name("none.skops"), csv),
        ("inspect", csv),
    ):
        result = run(*arguments)
        assert result.exit_code == 1
        assert result.stderr.startswith("Error: ")


def test_warnings_are_one_line_on_stderr(run, csv):
    result = run("fit", csv, *FIT, "--set", "max_iter=1", "--tol", 1e-9, "--json")
    json.loads(result.stdout)
    assert result.stderr.startswith("ConvergenceWarning: SpicyMKLClassifier stopped")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        (
            ("--set", "alpha_min_ratio=0.1"),
            "pass a smaller --set alpha_min_ratio, or smaller values in --set "
            "'alphas=[...]'.",
        ),
        (
            ("--method", "lp", "--set", "Cs=[1e-4, 2e-4, 3e-4]"),
            "pass larger values in --set 'Cs=[...]'.",
        ),
        (("--set", "max_iter=1", "--tol", 1e-9), "Raise --set max_iter or --tol."),
    ],
)
def test_warnings_of_searches_name_options(run, csv, options, advice):
    result = run("fit", csv, "-t", "amount", "--drop", "outcome", "--cv", 3, *options)
    assert result.exit_code == 0
    assert advice in result.stderr


def test_the_status_names_options(run, csv):
    shown = run("fit", csv, *FIT, "--set", "max_iter=1", "--tol", 1e-9).stdout
    assert "raise --set max_iter or --tol" in " ".join(shown.split())


def test_defects_keep_their_traceback(run, csv, monkeypatch):
    def broken(*_, **__):
        raise AssertionError("a defect")

    monkeypatch.setattr("multikernel.cli._training.read_table", broken)
    result = run("fit", csv, *FIT)
    assert isinstance(result.exception, AssertionError)


def test_unknown_options_are_usage_errors(run, csv):
    assert run("fit", csv, "--target", "y", "--nonsense").exit_code == 2


def test_version_and_help(run):
    import multikernel

    assert run("--version").stdout.strip() == multikernel.__version__
    for command in ("demo", "fit", "predict", "path", "inspect"):
        assert command in run("--help").stdout
        assert run(command, "--help").exit_code == 0


def sentence(result):
    """Return the one sentence of an error of the user."""
    assert isinstance(result.exception, SystemExit)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.mark.parametrize(
    "settings",
    [
        "kernels=[1]",
        "alpha=[[1, 2], [3]]",
        "class_weight=[[1, 2], [3]]",
        'class_weight={"ill": [1]}',
        f"alpha={'9' * 400}",
        f"max_iter={'9' * 400}",
        f"tol={'9' * 5000}",
        f"alpha={'[' * 5000}",
        "normalize=[[1]]",
        "storage={}",
    ],
    ids=lambda text: text[:20],
)
def test_odd_settings_are_one_sentence(run, csv, settings):
    sentence(run("fit", csv, *FIT, "--set", settings))


def test_errors_about_types_are_laid_on_settings_only(run, csv, monkeypatch):
    def broken(*_, **__):
        raise TypeError("of another type")

    monkeypatch.setattr("multikernel.cli._fitting.fit_table", broken)
    told = sentence(run("fit", csv, *FIT, "--set", "tol=1"))
    assert "A value of --set has a wrong type: of another type. Correct" in told
    assert isinstance(run("fit", csv, *FIT).exception, TypeError)


@pytest.mark.parametrize(
    "content",
    [
        {"a": 1},
        [1, 2],
        StandardScaler().fit([[1.0]]),
        SpicyMKLClassifier(),
        Pipeline([("model", SpicyMKLClassifier())]),
    ],
    ids=["dict", "list", "scaler", "unfitted", "unfitted in a pipeline"],
)
def test_files_without_a_fitted_model(run, csv, tmp_path, content):
    path = tmp_path / "other.skops"
    save(content, path)
    drop = ("--drop", "outcome", "--drop", "amount")
    for words in (("inspect", path), ("predict", path, csv, *drop)):
        assert f"{path} contains no fitted model" in sentence(run(*words))


def test_files_without_the_columns_of_a_model(run, model_file, tmp_path):
    lines, arrays = tmp_path / "lines.csv", tmp_path / "arrays.npz"
    lines.write_text("0.5,1.5\n2.5,3.5\n")
    np.savez(arrays, X=np.eye(3))
    for path, hint in ((lines, "add a header with names."), (arrays, "feature_names.")):
        told = sentence(run("predict", model_file, path)).strip()
        assert f"{path} lacks columns that the model was fitted on: 'age'" in told
        assert told.endswith(hint)


def test_model_files_are_held_to_max_bytes(run, model_file):
    told = sentence(run("inspect", model_file, "--max-bytes", 1000))
    assert "raise --max-bytes" in told
    assert run("inspect", model_file).exit_code == 0


def test_names_of_files_and_classes_are_no_markup(run, frame, tmp_path):
    folder = tmp_path / "[red]a :smile: ["  # and "/]" is a closing tag
    folder.mkdir()
    frame["outcome"] = np.where(frame["dose"] > 0, "[/]", "[b]")
    frame.loc[:5, "outcome"] = ":smile:"
    frame.columns = ["[bold]", "dose", "[/x]", "outcome", "amount"]
    data, model = folder / "]data.csv", folder / "]model.skops"
    frame.to_csv(data, index=False)
    fitted = run("fit", data, *FIT, "-o", model)
    assert f"Model saved as {model}" in fitted.stdout, fitted.stderr
    for part in ("[bold]", "[/x]", "[/]", "[b]", ":smile:"):
        assert part in fitted.stdout
    told = run("predict", model, data, *FIT[:4], "-o", folder / "].csv")
    assert f"predictions written to {folder / '].csv'}" in told.stderr
    plot = folder / "].png"
    assert f"Plot saved as {plot}" in run("path", data, *FIT, "--plot", plot).stdout
    missing = sentence(run("inspect", folder / "]none.skops"))
    assert missing == (
        f"Error: There is no model file {folder / ']none.skops'}: pass the path of an "
        "existing file.\n"
    )


def test_heuristics_say_that_only_their_machine_is_proved(run, csv):
    result = run("fit", csv, *FIT, "--method", "alignment", "-C", 2)
    assert result.exit_code == 0, result.stderr
    assert "gap of the machine" in result.stdout
    assert "relative duality gap" not in result.stdout
    report = answer(run("fit", csv, *FIT, "--method", "easy", "--json"))
    assert report["duality_gap"] is None
    assert report["machine_gap"] <= report["tol"]


def test_the_best_single_kernel(run, csv):
    fit = ("fit", csv, *FIT, "--method", "single", "-C", 2, "--json")
    report = answer(run(*fit, "--cv", 3))
    assert [kernel["weight"] for kernel in report["kernels"]] == [1.0]
    assert report["kernels"][0]["name"].endswith("[dose]")
    assert report["scoring"] == "accuracy"
    assert (
        report["parameters"] | {"cv": 3, "kernel_weights": "single"}
        == (report["parameters"])
    )
    assert report["C"] == 2.0


def test_one_class_needs_no_target(run, csv, tmp_path):
    path = tmp_path / "model.skops"
    train = ("--drop", "outcome", "--drop", "amount", "-o", path)
    fit = ("fit", csv, "--method", "one-class", *train)
    result = run(*fit, "--set", "nu=0.1")
    assert result.exit_code == 0, result.stderr
    assert "share inside" in result.stdout
    report = answer(run("inspect", path, "--json"))
    assert report["task"] == "novelty detection"
    found = answer(run("predict", path, csv, "--json"))
    inside = np.array(found["decision"]) >= 0
    np.testing.assert_array_equal(found["prediction"], np.where(inside, 1, -1))
    assert 0.8 <= np.mean(inside) < 1.0
    for words, sentence in {
        ("predict", path, csv, "--target", "outcome"): "has no score",
        ("path", csv, "--method", "one-class"): "does not support --method one-class",
        (*fit, "--stream"): "--stream requires --method spicy without --cv",
        ("fit", csv): "Missing option --target: the column to predict",
    }.items():
        result = run(*words)
        assert result.exit_code == 1
        assert sentence in result.stderr
