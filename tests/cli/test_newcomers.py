"""Files and options as newcomers have and try them."""

import json

import numpy as np
import pandas as pd
import pytest
from command_line import run_command

from multikernel.persistence import load


def told(result):
    return " ".join(result.stderr.split())


def fitted(run, path, *options, target="outcome"):
    options = ("-t", target, *options, "--alpha", 0.02, "--json")
    result = run("fit", path, *options)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout), result


@pytest.fixture
def plain(run, csv):
    return fitted(run, csv, "--drop", "amount")[0]["objective"]


def test_standard_input(csv, plain, tmp_path):
    model = str(tmp_path / "model.skops")
    options = ["-t", "outcome", "--drop", "amount", "--alpha", "0.02", "--json"]
    text = csv.read_text()
    result = run_command("fit", "-", *options, "-o", model, input=text)
    assert json.loads(result.stdout)["objective"] == plain
    result = run_command("predict", model, "-", input=text)
    assert len(result.stdout.splitlines()) == 61
    result = run_command("fit", "-", *options, input="")
    assert "standard input is not a valid CSV file" in told(result)


@pytest.mark.parametrize(
    ("name", "separator", "decimal"),
    [
        ("a.tsv", "\t", "."),
        ("a.csv", "\t", "."),
        ("a.csv", ";", "."),
        ("a.csv", ";", ","),
    ],
)
def test_other_separators(run, frame, plain, tmp_path, name, separator, decimal):
    path = tmp_path / name
    frame.to_csv(path, index=False, sep=separator, decimal=decimal)
    report, result = fitted(run, path, "--drop", "amount")
    assert report["objective"] == plain
    assert ("separated by" in told(result)) == (path.suffix == ".csv")


def test_decimal_commas_between_tabs(run, frame, plain, tmp_path):
    path = tmp_path / "a.tsv"
    frame.to_csv(path, index=False, sep="\t", decimal=",")
    report, result = fitted(run, path, "--drop", "amount")
    assert report["objective"] == plain
    assert "thousands separators: column 'age' holds '0,12" in told(result)


def test_names_with_commas(run, frame, plain, tmp_path):
    path = tmp_path / "a.csv"
    frame = frame.assign(other=1.0).rename(columns={"dose": "dose, daily"})
    frame.to_csv(path, index=False)
    found, _ = fitted(run, path, "--drop", "amount,other")
    assert found["objective"] == plain
    options = ("--view", "a=age, dose, daily", "--view", "b=width")
    found, result = fitted(run, path, *options)
    assert "Ignored columns in no view: amount, other" in told(result)
    assert {kernel["view"] for kernel in found["kernels"]} == {"a", "b"}
    result = run("fit", path, "-t", "outcome", "--drop", "amount,nothing")
    assert "has no column 'nothing'" in told(result)


def test_missing_numbers(run, frame, tmp_path):
    path, model = tmp_path / "a.csv", tmp_path / "model.skops"
    frame["site"] = np.where(frame["age"] > 0, "lung", "skin")
    frame.loc[[2, 5], "dose"] = np.nan
    frame.to_csv(path, index=False)
    result = run("fit", path, "-t", "outcome", "--drop", "amount")
    assert result.exit_code == 1
    assert "NaN at row 2, column 'dose', the first of 2 values" in told(result)
    assert "Fit with --impute median (or mean)" in told(result)
    assert "Views" not in told(result)
    fitted(run, path, "--drop", "amount", "--impute", "median", "-o", model)
    filler = load(model)["impute"].named_transformers_["numbers"]
    assert filler.statistics_[1] == pytest.approx(frame["dose"].median(), rel=1e-14)
    answer = run("predict", model, path)
    assert answer.exit_code == 0, answer.stderr
    full = frame.fillna({"dose": frame["dose"].median()})
    full.to_csv(path, index=False)
    assert run("predict", model, path).stdout == answer.stdout
    result = run("fit", path, "-t", "outcome", "--impute", "zero")
    assert "--impute must be one of mean, median" in told(result)
    stream = ("--stream", "--drop", "amount,site", "--impute", "mean")
    result = run("fit", path, "-t", "width", "--drop", "outcome", *stream)
    assert "--stream excludes --impute: remove one of them." in told(result)


@pytest.mark.parametrize("options", [(), ("--category", "grade")])
@pytest.mark.parametrize("views", [(), ("--view", "a=age,site", "--view", "b=grade")])
def test_gaps_in_categories(run, frame, tmp_path, options, views):
    path, full, model = (tmp_path / name for name in ("a.csv", "b.csv", "a.skops"))
    frame["site"] = np.where(frame["age"] > -0.5, "lung", "skin")
    frame["grade"] = np.arange(60) % 5 // 2
    whole = frame.drop(columns="amount")
    lung = whole.index[whole["site"] == "lung"][[1, 4]]
    gaps = whole.copy()
    gaps.loc[lung, "site"] = np.nan
    gaps.to_csv(path, index=False)
    whole.to_csv(full, index=False)
    plain = run("fit", path, "-t", "outcome", *options, *views)
    assert plain.exit_code == 1
    assert f"NaN at row {lung[0]}, column 'site'" in told(plain)
    assert "--impute" in told(plain)
    options = ("--impute", "median", *options, *views)
    found, _ = fitted(run, path, *options, "-o", model)
    expected, _ = fitted(run, full, *options)
    assert found["objective"] == pytest.approx(expected["objective"], rel=1e-9)
    names = [kernel["name"] for kernel in expected["kernels"]]
    assert [kernel["name"] for kernel in found["kernels"]] == names
    assert any(name.startswith("category()") for name in names)
    answers = [run("predict", model, each).stdout for each in (path, full)]
    assert answers[0] == answers[1]


def test_scores_of_a_saved_model(run, csv, tmp_path):
    model = tmp_path / "model.skops"
    report, _ = fitted(run, csv, "--drop", "amount", "-o", model)
    result = run("score", model, csv, "-t", "outcome", "--json")
    assert json.loads(result.stdout) == {
        "samples": 60, "measure": "accuracy", "score": report["training_score"]
    }  # fmt: skip
    assert "accuracy on 60 samples" in run("score", model, csv, "-t", "outcome").stdout
    assert "Missing option --target" in told(run("score", model, csv))


def test_a_fasta_file_for_each_class(run, tmp_path):
    letters = np.random.default_rng(0).choice(list("ACGT"), size=(40, 30))
    letters[:20, 4:8] = list("AGGT")
    texts = ["".join(row) for row in letters]
    site, decoy = tmp_path / "site.fasta", tmp_path / "decoy.fasta"
    for path, part in ((site, texts[:20]), (decoy, texts[20:])):
        path.write_text("".join(f">s{k}\n{text}\n" for k, text in enumerate(part)))
    model = tmp_path / "model.skops"
    result = run("fit", site, decoy, "--method", "uniform", "-o", model, "--json")
    score = json.loads(result.stdout)["training_score"]
    inner = load(model)["model"]
    assert inner.classes_.tolist() == ["decoy", "site"]
    X = pd.DataFrame({"sequence": texts})
    expected = np.mean(load(model).predict(X) == ["site"] * 20 + ["decoy"] * 20)
    assert score == expected
    result = run("score", model, site, decoy, "--json")
    assert json.loads(result.stdout)["score"] == expected
    site.write_text(">a class=site\n" + texts[0])
    assert "contain the field 'class'" in told(run("fit", site, decoy))
    table = tmp_path / "table.csv"
    table.write_text("a,class\n1,2\n")
    assert "table.csv is not: pass one table" in told(run("fit", table, decoy))


def test_scores_of_counts_are_named_d2(run, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.standard_normal(40), "n": rng.poisson(2.0, 40)})
    path, model = tmp_path / "counts.csv", tmp_path / "model.skops"
    frame.to_csv(path, index=False)
    counts = ("-t", "n", "--loss", "poisson")
    assert "training D2" in run("fit", path, *counts, "-o", model).stdout
    assert "D2 on 40 samples" in run("score", model, path, "-t", "n").stdout
    words = (*counts, "--folds", "2", "--method", "spicy", "--method", "lp")
    assert "D2 on 2 folds" in run("compare", path, *words).stdout
    for value, words in (
        (-np.inf, "-inf at row 0, the logarithm of an exposure of zero"),
        (np.nan, "contains nan at row 0"),
    ):
        frame["log_exposure"] = np.r_[value, np.zeros(39)]
        frame.to_csv(path, index=False)
        result = run("fit", path, *counts, "--offset", "log_exposure")
        assert words in told(result)
