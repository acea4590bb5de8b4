"""Views, categories and groups on the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from command_line import run_command
from sklearn.model_selection import GroupKFold

from multikernel.persistence import load

VIEWS = ("--view", "expression=expr_*", "--view", "clinic=age, site")


@pytest.fixture
def mixed(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        rng.standard_normal((60, 3)), columns=["expr_0", "expr_1", "age"]
    )
    table["site"] = rng.choice(["lung", "skin"], 60)
    table["patient"] = np.arange(60) // 3
    table["note"] = "text"
    table["day"] = [f"2024-05-{1 + day % 20:02}" for day in range(60)]
    effect = np.sin(2 * table["expr_0"]) + (table["site"] == "lung")
    table["outcome"] = np.where(effect > 0.5, "ill", "well")
    path = tmp_path / "mixed.csv"
    table.to_csv(path, index=False)
    return path


def answer(result):
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("kernels", ["default", "columns", "joint", "linear"])
def test_views_by_patterns(run, mixed, kernels):
    options = ("--kernels", kernels, "--alpha", 0.01, "--json")
    result = run("fit", mixed, "-t", "outcome", *VIEWS, *options)
    report = answer(result)
    assert [view["view"] for view in report["views"]] == ["expression", "clinic"]
    assert sum(view["variance_share"] for view in report["views"]) == pytest.approx(1)
    assert {kernel["view"] for kernel in report["kernels"]} <= {"expression", "clinic"}
    names = [kernel["name"] for kernel in report["kernels"]]
    assert any(name.startswith("category()[clinic") for name in names)
    assert "Ignored columns in no view: patient, note, day" in result.stderr


def test_views_chosen_by_groups_are_saved_inspected_and_predict(run, mixed, tmp_path):
    path = tmp_path / "model.skops"
    search = ("--cv", 3, "--group", "patient", "--set", "n_alphas=5")
    shown = run("fit", mixed, "-t", "outcome", *VIEWS, *search, "-o", path)
    assert shown.exit_code == 0, shown.stderr
    for said in ("alpha chosen", "accuracy in cross-validation", "training accuracy"):
        assert said in shown.stdout
    model = load(path)["model"]
    assert model.cv == GroupKFold(3) or isinstance(model.cv, GroupKFold)
    assert model.n_splits_ == 3
    report = answer(run("inspect", path, "--json"))
    assert report["alpha"] == model.alpha_
    assert report["score"] == model.best_score_
    assert report["scoring"] == "accuracy"
    assert "share" in run("inspect", path).stdout
    table = pd.read_csv(mixed).assign(extra=1, more="words")
    table.to_csv(tmp_path / "new.csv", index=False)
    result = run("predict", path, tmp_path / "new.csv", "-t", "outcome", "--json")
    assert "model does not use: patient, note, day, extra, more" in result.stderr
    labels = answer(result)["prediction"]
    assert labels == load(path).predict(table).tolist()
    table.drop(columns="site").to_csv(tmp_path / "less.csv", index=False)
    result = run("predict", path, tmp_path / "less.csv")
    assert result.exit_code == 1
    assert "lacks columns that the model was fitted on: 'site'" in result.stderr
    # Columns of numbers that no kernel in use reads need not be there.
    used = [name for name in model.summary()["kernel"] if "expression" in name]
    assert all(name.endswith("[expression: expr_0]") for name in used)
    table.drop(columns="expr_1").to_csv(tmp_path / "less.csv", index=False)
    assert (
        answer(run("predict", path, tmp_path / "less.csv", "--json"))["prediction"]
        == labels
    )


def test_categories_without_views(run, mixed):
    drop = ("--drop", "note", "--drop", "patient", "--drop", "day")
    drop += ("--category", "site")
    report = answer(
        run("fit", mixed, "-t", "outcome", *drop, "--alpha", 0.01, "--json")
    )
    assert "category()[site]" in {kernel["name"] for kernel in report["kernels"]}
    assert report["views"] is None
    path = answer(run("path", mixed, "-t", "outcome", *drop, "--json"))
    # Linear, three widths on all numbers, one on each of three, the categories, and
    # the pairs of these four columns.
    assert path["n_kernels"] == 8 + 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--view", "a=zz*"),
            "--view a: no column matches 'zz*'; the columns are expr_0",
        ),
        (("--view", "expr_0"), "--view requires name=col"),
        (
            ("--view", "a=age", "--view", "a=site"),
            "--view requires name=columns, such as",
        ),
        (("--group", "patient"), "--group requires --cv"),
        ((), "use --category 'day' to read all cells as categories, or ignore the"),
        (("--method", "hkl", "--drop", "day"), "--drop 'site' --drop 'note',"),
        (
            (*VIEWS, "--method", "hkl"),
            "--method hkl does not support --view: remove --view",
        ),
        ((*VIEWS, "-C", 1), "does not support -C: did you mean --alpha?"),
    ],
)
def test_sentences(run, mixed, options, message):
    result = run("fit", mixed, "-t", "outcome", *options)
    assert result.exit_code == 1
    assert message in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["1.1", "1.10", "007", "7"], ""),
        ([f"89445000000000000{k}123" for k in range(4)], ""),
        (["1", "1", "1", "1"], "--cv 4 requires at least two groups"),
        (["1", "", "3", "4"], "is empty at row 1"),
    ],
)
def test_groups_are_text_as_written(run, tmp_path, labels, message):
    path = tmp_path / "groups.csv"
    rows = [f"{a % 7},{labels[a % 4]},{a % 5}\n" for a in range(20)]
    path.write_text("a,g,y\n" + "".join(rows))
    fit = run("fit", path, "-t", "y", "--group", "g", "--cv", 4)
    assert fit.exit_code == bool(message), fit.stderr
    assert message in fit.stderr


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("fi", ["fit"]),
        ("fit a.csv --drop-", []),
        ("fit a.csv --sto", ["--storage"]),
    ],
)
def test_shells_complete(typed, completed):
    words = f"multikernel {typed}"
    asked = {
        "_MULTIKERNEL_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    result = run_command(env=asked, prog_name="multikernel")
    found = result.stdout.split()
    assert len(found) == len(completed)
    assert all(a.startswith(b) for a, b in zip(found, completed, strict=True))
