"""Methods compared on the same folds."""

import json

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from multikernel import FixedWeightsMKLClassifier

CLASSES = ("--target", "outcome", "--drop", "amount")
VALUES = ("--target", "amount", "--drop", "outcome")
BOTH_TASKS = {
    "spicy",
    "group-omp",
    "hkl",
    "lp",
    "rademacher",
    "uniform",
    "alignment",
    "single",
}
TWO = ("--method", "uniform", "--method", "easy", "--folds", "3")


def compared(run, *words):
    result = run("compare", *words, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_scores_are_those_of_scikit_learn(run, csv, frame):
    report = compared(run, csv, *CLASSES, *TWO)
    lines = {line["method"]: line for line in report["methods"]}
    assert set(lines) == {"uniform", "easy"}
    model = make_pipeline(
        StandardScaler().set_output(transform="pandas"), FixedWeightsMKLClassifier()
    )
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    X = frame[["age", "dose", "width"]]
    scores = cross_val_score(model, X, frame["outcome"], cv=folds)
    np.testing.assert_allclose(lines["uniform"]["scores"], scores)
    assert lines["uniform"]["score"] == pytest.approx(scores.mean())
    assert lines["uniform"]["spread"] == pytest.approx(scores.std(ddof=1))
    assert lines["uniform"]["seconds"] > 0.0
    assert lines["uniform"]["n_active"] == lines["uniform"]["n_kernels"]
    ranked = [line["score"] for line in report["methods"]]
    assert ranked == sorted(ranked, reverse=True)


def test_a_table_for_people(run, csv):
    result = run("compare", csv, *CLASSES, *TWO, "--scoring", "roc_auc")
    assert result.exit_code == 0, result.stderr
    assert "roc_auc on 3 folds of 60 samples" in result.stdout
    assert "kernels in use" in result.stdout
    assert "easy: EasyMKL" in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "expected"),
    [(CLASSES, {*BOTH_TASKS, "easy"}), (VALUES, BOTH_TASKS)],
    ids=["classes", "values"],
)
def test_all_methods_that_suit_the_targets(run, csv, words, expected):
    report = compared(run, csv, *words, "--folds", "2")
    assert {line["method"] for line in report["methods"]} == expected


def test_given_matrices_and_groups(run, gram_file, csv, frame, tmp_path):
    words = ("--method", "uniform", "--method", "spicy", "--folds", "2")
    report = compared(run, gram_file, "-t", "y", *words)
    assert report["methods"][0]["n_kernels"] == 3
    frame["patient"] = np.arange(60) // 4
    path = tmp_path / "groups.csv"
    frame.to_csv(path, index=False)
    words = (*VALUES, "--group", "patient", "--cv", "2", "--kernels", "linear")
    report = compared(run, path, *words, "--method", "spicy", "--folds", "2")
    assert len(report["methods"][0]["scores"]) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*VALUES, "--method", "easy"), "EasyMKL supports classification, not"),
        ((*CLASSES, "--method", "one-class"), "one-class MKL does not use targets"),
        ((*CLASSES, "--method", "best"), "--method must be one of"),
        ((*CLASSES, "--scoring", "best"), "scoring"),
        (
            (*VALUES, *TWO[:2], "--scoring", "roc_auc"),
            "--scoring roc_auc does not apply",
        ),
        (("--drop", "amount"), "Missing option --target"),
    ],
)
def test_what_cannot_be_compared_is_a_sentence(run, csv, words, said):
    result = run("compare", csv, *words)
    assert result.exit_code == 1
    assert said in " ".join(result.stderr.split())


def test_notes_name_the_methods_that_are_left_out(run, csv, frame):
    def notes(*options):
        result = run("compare", csv, *VALUES, "--folds", "2", "--json", *options)
        assert result.exit_code == 0, result.stderr
        compared_methods = {
            line["method"] for line in json.loads(result.stdout)["methods"]
        }
        lines = [n for n in result.stderr.splitlines() if "is not compared" in n]
        assert len(lines) == len(BOTH_TASKS - compared_methods)
        return " ".join(lines)

    frame["site"] = np.where(frame["age"] > 0, "lung", "skin")
    frame.to_csv(csv, index=False)
    kernels = ("--kernels", "linear")
    assert notes(*kernels) == (
        "Note: hkl is not compared: it supports numeric columns only. To "
        "compare it, ignore text columns with --drop 'site'."
    )
    said = notes(*kernels, "--drop", "site", "--offset", "age")
    assert "alignment is not compared: it does not support --offset" in said
    view = ("--view", "a=dose,age", "--view", "b=width")
    assert "hkl is not compared: it does not support --view" in notes(*view)
    said = notes(*kernels, "--drop", "site", "--unpenalized", "age")
    assert "lp is not compared: it has the default loss epsilon_insensitive" in said
    # The advice works for every method that it is given for.
    smooth = ("--unpenalized", "age", "--loss", "squared_error")
    said = notes(*kernels, "--drop", "site", *smooth)
    assert "default loss" not in said
