"""``multikernel report``: from files to one page."""

import json

import numpy as np


def fitted(run, csv, tmp_path):
    model = tmp_path / "model.skops"
    done = run("fit", csv, "-t", "outcome", "--drop", "amount", "-o", model)
    assert done.exit_code == 0, done.stderr
    return model


def test_a_page_from_a_model_file_and_a_table(run, csv, tmp_path):
    page = tmp_path / "report.html"
    model = fitted(run, csv, tmp_path)
    done = run("report", model, csv, "-t", "outcome", "--drop", "amount", "-o", page)
    assert done.exit_code == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    assert "accuracy" in text
    assert "[dose]" in text


def test_without_targets_there_are_no_scores(run, csv, tmp_path):
    page = tmp_path / "report.html"
    model = fitted(run, csv, tmp_path)
    done = run("report", model, csv, "-o", page)
    assert done.exit_code == 0, done.stderr
    assert "Scores" not in page.read_text(encoding="utf-8")


def test_a_folder_that_does_not_exist_is_named(run, csv, tmp_path):
    model = fitted(run, csv, tmp_path)
    done = run("report", model, csv, "-o", tmp_path / "nowhere" / "report.html")
    assert done.exit_code == 1
    assert "does not exist" in done.stderr


def test_a_search_that_chooses_one_class_names_the_option(run, frame, tmp_path):
    rare = np.random.default_rng(1).permutation(60) < 8
    data = tmp_path / "rare.csv"
    frame.assign(outcome=np.where(rare, "ill", "well")).to_csv(data, index=False)
    start = ("fit", data, "-t", "outcome", "--drop", "amount", "--kernels", "linear")
    done = run(*start, "--cv", "3", "--set", "alphas=[0.03, 0.02]")
    assert done.exit_code == 0, done.stderr
    assert "predicts class 'well' for all" in done.stderr
    assert "pass --scoring roc_auc, or pass --set" in done.stderr
    assert "--set class_weight=balanced" in done.stderr
    alone = run(*start, "--alpha", "0.03", "-o", tmp_path / "model.skops")
    assert (
        "predicts class 'well' for all 60 rows: try a search with --scoring"
        in alone.stderr
    )
    page = tmp_path / "report.html"
    run("report", tmp_path / "model.skops", data, "--drop", "amount", "-o", page)
    assert "class &#x27;well&#x27; for all 60" in page.read_text(encoding="utf-8")
    scored = run(*start, "--cv", "3", "--scoring", "roc_auc", "--json")
    assert json.loads(scored.stdout)["scoring"] == "roc_auc"
    assert "--scoring requires --cv" in run(*start, "--scoring", "roc_auc").stderr
    wrong = run(*start, "--cv", "3", "--scoring", "roc_acu")
    assert wrong.exit_code == 1
    assert "such as roc_auc" in wrong.stderr
