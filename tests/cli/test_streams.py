"""Files read batch by batch: the same models, and predictions as they come."""

import json
from io import StringIO

import dask.dataframe
import numpy as np
import pandas as pd
import pytest

from multikernel.estimators import ProgressBar
from multikernel.persistence import load

FIT = ("--target", "outcome", "--drop", "amount", "--kernels", "columns")


def report(result):
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("options", [(), ("--no-scale",), ("--storage", "low_rank")])
def test_a_stream_gives_the_same_model(run, csv, tmp_path, options):
    common = ("--alpha", 0.02, "--tol", 1e-8, "--json", *options)
    whole = report(run("fit", csv, *FIT, *common, "--no-stream"))
    folder = tmp_path / "files"
    there = ("--stream", "--folder", folder)
    found = report(run("fit", csv, *FIT, *common, *there))
    assert found["objective"] == pytest.approx(whole["objective"], rel=1e-7)
    assert found["training_score"] == whole["training_score"]
    assert found["storage"] == "low_rank"
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_predictions_are_written_batch_by_batch(
    run, csv, frame, tmp_path, monkeypatch, suffix
):
    monkeypatch.setattr("multikernel.cli._large.BLOCK_BYTES", 700)
    # On a slow machine the bar would write a line to stderr.
    monkeypatch.setattr(ProgressBar, "show", lambda *_: None)
    model, out = tmp_path / "model.skops", tmp_path / f"out.{suffix}"
    assert run("fit", csv, *FIT, "--alpha", 0.02, "--stream", "-o", model).stderr == ""
    data = tmp_path / "rows.parquet"
    frame.to_parquet(data, index=False)
    options = ("--target", "outcome", "--drop", "amount", "--proba", "-o", out)
    result = run("predict", model, data, *options, "--stream")
    assert result.exit_code == 0, result.stderr
    assert "60 predictions written" in result.stderr
    whole = load(model)
    X = frame[["age", "dose", "width"]]
    assert out.stat().st_mode == model.stat().st_mode
    found = pd.read_csv(out) if suffix == "csv" else pd.read_parquet(out)
    np.testing.assert_array_equal(found["prediction"], whole.predict(X))
    np.testing.assert_allclose(
        found["probability_ill"], whole.predict_proba(X)[:, 0], rtol=1e-12
    )
    score = f"score: {whole.score(X, frame['outcome']):.6g}"
    assert score in result.stderr
    shown = run("predict", model, data, *options[:4], "--stream").stdout
    assert shown.splitlines()[0] == "prediction"
    assert len(shown.splitlines()) == 61


def test_a_stream_that_fails_leaves_the_old_file(run, csv, frame, tmp_path):
    model, out = tmp_path / "model.skops", tmp_path / "out.csv"
    run("fit", csv, *FIT, "--alpha", 0.02, "-o", model)
    out.write_text("old")
    frame.assign(dose=np.nan).to_csv(csv, index=False)
    names = ("--drop", "outcome", "--drop", "amount")
    result = run("predict", model, csv, *names, "-o", out, "--stream")
    assert result.exit_code == 1
    assert "NaN" in result.stderr
    assert out.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "model.skops",
        "out.csv",
        "patients.csv",
    ]


def test_a_file_without_rows_leaves_the_old_predictions(run, csv, frame, tmp_path):
    model, out = tmp_path / "model.skops", tmp_path / "out.csv"
    run("fit", csv, *FIT, "--alpha", 0.02, "-o", model)
    out.write_text("older")
    frame[:0].to_csv(tmp_path / "none.csv", index=False)
    result = run("predict", model, tmp_path / "none.csv", "--stream", "-o", out)
    assert result.exit_code == 1
    assert "has no rows" in result.stderr
    assert out.read_text() == "older"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fit", "a.npz", "-t", "y", "--stream"), "--stream supports files ending in"),
        (("fit", "none.csv", "-t", "y", "--stream"), "none.csv"),
        (
            ("fit", "{csv}", *FIT, "--storage", "dense", "--folder", "x"),
            "--folder requires --storage low_rank",
        ),
    ],
)
def test_wrong_options_are_one_sentence(run, csv, arguments, message):
    result = run(*(str(csv) if a == "{csv}" else a for a in arguments))
    assert result.exit_code == 1
    assert message in " ".join(result.stderr.split())


@pytest.fixture
def opened_in_partitions(monkeypatch):
    """List the files that Dask opens."""
    opened, read = [], dask.dataframe.read_csv

    def open_partitions(path, *arguments, **settings):
        opened.append(path)
        return read(path, *arguments, **settings)

    monkeypatch.setattr(dask.dataframe, "read_csv", open_partitions)
    return opened


def test_large_files_are_read_in_partitions(
    run, csv, monkeypatch, opened_in_partitions
):
    command = "fit", csv, *FIT, "--alpha", 0.02, "--json"
    report(run(*command))
    assert not opened_in_partitions
    monkeypatch.setattr("multikernel.cli._large.available_bytes", lambda: 1000)
    report(run(*command, "--no-stream"))
    assert not opened_in_partitions
    report(run(*command))
    assert opened_in_partitions == [str(csv)]


def test_a_folder_for_factors_means_batches(run, csv, tmp_path, opened_in_partitions):
    """A file of 382 MB that was read as a whole took 4.1 GB, though files were asked
    for. What only a whole file has, and whole kernels, are read as before."""
    in_partitions = []
    there = ("--alpha", 0.02, "--folder", tmp_path / "files", "--json")
    text = ("--target", "outcome", "--category", "site")
    for options in (
        (*FIT, "--storage", "low_rank"),
        FIT,
        (*FIT, "--no-stream"),
        (*FIT, "--impute", "mean"),
        text,
    ):
        data = csv
        if options is text:
            frame = pd.read_csv(csv).drop(columns="amount").assign(site="colon")
            frame.loc[::2, "site"] = "lung"
            frame.to_csv(data := tmp_path / "text.csv", index=False)
        opened_in_partitions.clear()
        report(run("fit", data, *options, *there))
        in_partitions.append(bool(opened_in_partitions))
    assert in_partitions == [True, True, False, False, False]


def test_text_in_a_stream_names_the_way_to_read_it(run, csv, frame):
    frame.assign(dose="low").to_csv(csv, index=False)
    result = run("fit", csv, *FIT, "--stream")
    said = " ".join(result.stderr.split())
    assert result.exit_code == 1
    assert "non-numeric columns: dose" in said
    assert "To use them as categories, read the whole file" in said
    assert "--no-stream" in said
    result = run("fit", csv, *FIT, "--stream", "--category", "dose")
    assert result.exit_code == 1
    assert "--stream does not support --category: remove these" in result.stderr


def predicted(run, model, data, *options):
    """Return the table of predictions, and what is said."""
    result = run("predict", model, data, *options)
    assert result.exit_code == 0, result.stderr
    return pd.read_csv(StringIO(result.stdout)), result.stderr


def assert_read_alike(run, data, model, *options):
    """Compare fits, predictions and scores of a file read whole and in partitions."""
    classes, found, precise = [], [], ("--alpha", 0.02, "--tol", 1e-8)
    for fit_way in ("--no-stream", "--stream"):
        fit = run("fit", data, *options, *precise, fit_way, "-o", model)
        assert fit.exit_code == 0, fit.stderr
        classes.append(getattr(load(model)[-1], "classes_", np.empty(0)).tolist())
        for way in ("--no-stream", "--stream"):
            rows, said = predicted(run, model, data, *options[:4], way)
            found.append((rows["prediction"], said[said.index("score") :]))
    assert classes[0] == classes[1]
    for predictions, score in found[1:]:
        assert score == found[0][1]
        if predictions.dtype.kind == "f":
            np.testing.assert_allclose(predictions, found[0][0], atol=1e-4)
        else:
            assert (predictions == found[0][0]).all()


def with_commas(column):
    return [f"{value:.2f}".replace(".", ",") for value in column]


@pytest.mark.parametrize("changed", ["amount", "dose", "outcome", "all"])
def test_each_column_has_its_own_decimal_mark(run, frame, tmp_path, changed):
    """Points of other columns were read as separators of thousands."""
    numbers = frame.assign(outcome=frame["age"] / 7, amount=frame["dose"]).round(2)
    names = {"amount": ["amount"], "dose": ["dose"], "outcome": ["outcome"]}
    for name in names.get(changed, list(numbers)):
        numbers[name] = with_commas(numbers[name])
    if changed not in ("all", "amount"):
        # Numbers with points beside those with commas are refused, also in partitions.
        numbers.to_csv(data := tmp_path / "mixed.csv", index=False, sep=";")
        said = run("fit", data, *FIT, "--stream").stderr
        assert "mixes decimal commas and points" in " ".join(said.split())
        return
    numbers.to_csv(data := tmp_path / "a.csv", index=False, sep=";")
    assert_read_alike(run, data, tmp_path / "m.skops", *FIT)


def test_a_later_point_beside_decimal_commas_is_refused(
    run, frame, tmp_path, monkeypatch
):
    monkeypatch.setattr("multikernel.cli._large.LOOK_ROWS", 20)
    cells = frame.assign(dose=with_commas(frame["dose"]), width=2, age="30")
    cells.loc[40, "age"] = "30.5"
    cells["amount"] = cells["width"]
    cells.to_csv(data := tmp_path / "a.csv", index=False, sep=";")
    result = run("fit", data, *FIT, "--stream")
    assert result.exit_code == 1
    assert "Column 'age' of" in result.stderr
    assert "holds '30.5'" in result.stderr


@pytest.mark.parametrize("labels", [["01", "1", "2"], [0, 1], [True, False]])
def test_classes_in_a_stream_are_those_of_the_whole_file(run, frame, tmp_path, labels):
    frame["outcome"] = np.resize(np.array(labels, object), len(frame))
    frame.to_csv(data := tmp_path / "a.csv", index=False)
    options = (*FIT, "--task", "classification")
    assert_read_alike(run, data, tmp_path / "m.skops", *options)


def test_truth_values_in_a_stream_are_numbers(run, csv, frame, tmp_path):
    frame.assign(dose=frame["dose"] > 0.5).to_csv(csv, index=False)
    assert_read_alike(run, csv, tmp_path / "m.skops", *FIT)


def test_categories_of_numbers_in_a_stream_are_numbers(run, frame, tmp_path):
    data = tmp_path / "a.parquet"
    frame.assign(dose=pd.Categorical(np.resize([3, 1, 2], 60))).to_parquet(data)
    assert_read_alike(run, data, tmp_path / "m.skops", *FIT)


def test_files_that_are_read_together_have_one_header(run, csv, frame, tmp_path):
    run("fit", csv, *FIT, "--alpha", 0.02, "-o", tmp_path / "m.skops")
    (folder := tmp_path / "parts").mkdir()
    frame[:30].to_csv(folder / "1.csv", index=False)
    model, pattern = tmp_path / "m.skops", folder / "*.csv"
    frame[30:].to_csv(folder / "2.csv", index=False)
    whole = predicted(run, model, csv, *FIT[:4])[0]
    parts = predicted(run, model, pattern, *FIT[:4], "--stream")[0]
    pd.testing.assert_frame_equal(parts, whole)
    for odd in (
        frame[[*frame][::-1]],
        frame.assign(more=1),
        frame.set_axis([*"abcde"], axis=1),
    ):
        odd[30:].to_csv(folder / "2.csv", index=False)
        for command in (("predict", model, pattern), ("fit", pattern, *FIT)):
            result = run(*command, "--stream")
            assert result.exit_code == 1
            assert "2.csv" in result.stderr
            assert "must have the same header" in " ".join(result.stderr.split())


def test_what_partitions_cannot_hold_is_named(run, csv, frame):
    frame.rename(columns={"dose": "dose\n(mg)"}).to_csv(csv, index=False)
    said = " ".join(run("fit", csv, *FIT, "--stream").stderr.split())
    assert "'dose\\n(mg)' of" in said
    assert "contains a line break" in said
    lines = frame.to_csv(index=False).splitlines(keepends=True)
    csv.write_text("".join([*lines[:9], "# second half\n", *lines[9:]]))
    said = " ".join(run("fit", csv, *FIT, "--stream").stderr.split())
    assert "has comment lines between its rows" in said


def test_dates_and_ids_that_are_features_are_read_in_partitions(run, csv, tmp_path):
    visits = pd.read_csv(csv).assign(day="2024-03-01")
    visits.loc[::2, "day"] = "2025-01-01"
    visits.to_csv(csv, index=False)
    model = tmp_path / "m.skops"
    found = run("fit", csv, *FIT, "--date", "day", "--alpha", 0.02, "-o", model)
    assert found.exit_code == 0, found.stderr
    asked = "predict", model, csv, "--id", "age"
    whole, parts = run(*asked), run(*asked, "--stream")
    assert whole.stdout.startswith("age,prediction")
    assert parts.stdout == whole.stdout


def test_a_strength_that_was_given_is_not_called_chosen(run, csv):
    assert "chosen" not in run("fit", csv, *FIT, "--alpha", 0.02).stdout
    assert "alpha chosen" in run("fit", csv, *FIT, "--cv", 3).stdout


@pytest.mark.parametrize("fit_labels", [["no", "yes"], [0, 1]])
def test_new_labels_get_the_same_sentence_in_partitions(
    run, csv, frame, tmp_path, fit_labels
):
    model, ill = tmp_path / "model.skops", (frame["outcome"] == "ill").astype(int)
    frame["outcome"] = np.array(fit_labels)[ill]
    frame.to_csv(csv, index=False)
    assert run("fit", csv, *FIT, "-o", model).exit_code == 0
    frame["outcome"] = np.array(["No", "Yes"])[ill]
    frame.to_csv(csv, index=False)
    command = ("predict", model, csv, "-t", "outcome", "-o", tmp_path / "out.csv")
    whole, parts = (run(*command, way) for way in ("--no-stream", "--stream"))
    assert parts.exit_code == whole.exit_code
    last = [result.stderr.split("SpicyMKL")[-1] for result in (whole, parts)]
    assert "in fit" in last[0]
    assert last[0] == last[1]


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_scores_with_offsets_are_equal_in_partitions(run, csv, frame, tmp_path, loss):
    model = tmp_path / "model.skops"
    frame["count"] = np.random.default_rng(0).poisson(np.exp(frame["age"]))
    frame.drop(columns=["outcome", "amount"]).to_csv(csv, index=False)
    options = ("-t", "count", "--offset", "age")
    fit = run("fit", csv, *options, "--task", "regression", "--loss", loss, "-o", model)
    assert fit.exit_code == 0
    command = ("predict", model, csv, *options, "-o", tmp_path / "out.csv")
    whole, parts = (run(*command, way).stderr for way in ("--no-stream", "--stream"))
    assert whole.split("score: ")[1] == parts.split("score: ")[1]
