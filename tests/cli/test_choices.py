"""Tasks, methods, kernels and parameters, as they are named on the command line."""

import json

import numpy as np
import pytest
from command_line import command_tree
from reference.estimators import ESTIMATORS
from sklearn.base import is_classifier, is_regressor

from multikernel import load
from multikernel.cli._methods import (
    METHODS,
    find_task,
    label_keys,
    needed_targets,
    parse_settings,
)
from multikernel.estimators import (
    MKLClassifier,
    MKLRegressor,
    SpicyMKLOrdinal,
    SpicyMKLOrdinalCV,
    SpicyMKLSurvival,
    SpicyMKLSurvivalCV,
)
from multikernel.kernels.graph import HermiteGrid
from multikernel.losses import LOSSES

ORDINAL = (SpicyMKLOrdinal, SpicyMKLOrdinalCV)
SURVIVAL = (SpicyMKLSurvival, SpicyMKLSurvivalCV)


def told(result):
    assert result.exit_code == 1
    return " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (np.array(["a", "b", "a"]), "classification"),
        (np.array([True, False]), "classification"),
        (np.array([-1, 1, 1]), "classification"),
        (np.array([0.0, 1.0, 2.0]), "classification"),
        (np.array([0.5, 1.0, 2.0]), "regression"),
        (np.arange(21), "regression"),
        (np.arange(20), "classification"),
    ],
)
def test_task_of_targets(y, task):
    assert find_task(None, None, y) == task


@pytest.mark.parametrize(
    ("loss", "task"),
    [
        ("hinge", "classification"),
        ("log_loss", "classification"),
        ("epsilon_insensitive", "regression"),
        ("squared_error", "regression"),
        ("poisson", "regression"),
    ],
)
def test_loss_settles_the_task_or_leaves_it_to_the_targets(loss, task):
    y = np.arange(2) + 0.5 * (task == "regression")
    assert find_task(None, loss, y) == task


def test_what_is_asked_for_wins():
    y = np.array([0, 1, 1])
    assert find_task("regression", None, y) == "regression"
    assert find_task("regression", "squared_error", y) == "regression"
    assert find_task(None, "squared_error", y) == "classification"


@pytest.mark.parametrize(
    ("task", "loss", "message"),
    [
        ("ranking", None, "--task must be one of classification, regression"),
        (
            None,
            "cubic",
            "--loss must be one of log_loss, hinge, squared_hinge, squared",
        ),
        (
            "regression",
            "hinge",
            "--loss hinge supports classification, but --task is regression",
        ),
    ],
)
def test_impossible_tasks(task, loss, message):
    with pytest.raises(ValueError, match=message):
        find_task(task, loss, np.array([0, 1]))


def test_unknown_method_and_kernels(run, csv):
    command = "fit", csv, "-t", "amount", "--drop", "outcome"
    message = told(run(*command, "--method", "magic"))
    assert "--method must be one of spicy, group-omp" in message
    message = told(run(*command, "--kernels", "magic"))
    assert "--kernels must be one of default, columns" in message


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())
def test_every_method_has_its_tasks(method):
    tasks = {
        "classification": is_classifier,
        "regression": is_regressor,
        "survival": lambda model: isinstance(model, SURVIVAL),
        "ordinal": lambda model: isinstance(model, ORDINAL),
    }
    for task in method.tasks:
        fixed = method.estimator(task)
        assert tasks[task](fixed())
        if method.search is None:
            with pytest.raises(ValueError, match="no parameter that --cv could choose"):
                method.estimator(task, cv=True)
            continue
        choosing = method.estimator(task, cv=True)
        assert tasks[task](choosing())
        assert "cv" in choosing().get_params()
        assert (choosing is fixed) is method.always


def test_whole_numbers_that_become_classes_are_named(capsys):
    assert find_task(None, None, np.arange(60) % 20 + 2000) == "classification"
    assert "The 20 different whole numbers of the target" in capsys.readouterr().err
    for y in (np.arange(60) % 2, np.arange(60) / 7):
        find_task(None, None, y)
    assert not capsys.readouterr().err


def test_every_method_is_offered():
    kinds = [
        kind
        for method in METHODS.values()
        for task in method.tasks or ["classification"]
        for kind in {
            method.estimator(task),
            method.estimator(task, cv=method.search is not None),
        }
    ]
    # Parts of one's own need Python; models of times and grades are apart, as y is.
    apart = {*SURVIVAL, *ORDINAL}
    assert {*kinds, MKLClassifier, MKLRegressor} == {*ESTIMATORS, *apart}


def test_a_method_that_cannot_says_so():
    with pytest.raises(ValueError, match="EasyMKL supports classification, not reg"):
        METHODS["easy"].estimator("regression")
    with pytest.raises(ValueError, match="Missing option --target"):
        needed_targets(None, METHODS["lp"])
    with pytest.raises(ValueError, match="one-class MKL does not use targets"):
        needed_targets(["y"], METHODS["one-class"])


@pytest.mark.parametrize(
    ("choice", "count"), [("columns", 12), ("joint", 4), ("linear", 3)]
)
def test_kernels_fit_the_table(run, csv, tmp_path, choice, count):
    model = tmp_path / "model.skops"
    options = "--kernels", choice, "--method", "uniform", "-o", model
    found = run("fit", csv, "-t", "amount", "--drop", "outcome", *options)
    assert found.exit_code == 0, found.stderr
    names = load(model)[-1].kernel_names_
    assert len(names) == len(set(names)) == count


def test_methods_over_graphs_have_choices_of_their_own(run, csv, tmp_path):
    model = tmp_path / "model.skops"
    command = "fit", csv, "-t", "amount", "--drop", "outcome", "--method", "hkl"
    found = run(*command, "--kernels", "hermite", "-o", model)
    assert found.exit_code == 0, found.stderr
    assert isinstance(load(model)[-1].kernels, HermiteGrid)
    message = told(run(*command, "--kernels", "columns"))
    assert "--kernels must be one of default, polynom" in message
    assert [name for name, method in METHODS.items() if method.graphs] == ["hkl"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--kernels", "columns"), 12 + 3 * 16),
        ((), 4 + 3 + 3),
        # Of both views, and of dose with width.
        (("--view", "a=age", "--view", "b=dose,width"), 4 + 6 + 4 * 6 + 1),
    ],
    ids=["columns", "default", "views"],
)
def test_interactions_of_the_kernels_named(run, csv, options, expected):
    target = "-t", "amount", "--drop", "outcome", "--alpha", 0.05, "--json"
    found = run("fit", csv, *target, *options, "--interactions")
    assert found.exit_code == 0, found.stderr
    assert json.loads(found.stdout)["n_kernels"] == expected


def test_path_and_compare_take_interactions(run, csv):
    target = csv, "-t", "amount", "--drop", "outcome", "--interactions", "--json"
    followed = run("path", *target, "--n-alphas", 2)
    assert json.loads(followed.stdout)["n_kernels"] == 10
    methods = "--method", "group-omp", "--method", "hkl", "--folds", 2
    lines = json.loads(run("compare", *target, *methods).stdout)["methods"]
    kernels = {line["method"]: line["n_kernels"] for line in lines}
    assert kernels["group-omp"] == 10.0
    assert kernels["hkl"] > 0.0  # its graphs have their own


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--method", "hkl"), "already contain interactions of all orders"),
        (("--kernels", "joint"), "requires kernels on different columns"),
    ],
    ids=["graph", "joint"],
)
def test_where_there_are_no_interactions(run, csv, words, message):
    target = "-t", "amount", "--drop", "outcome", "--interactions"
    found = run("fit", csv, *target, *words)
    assert found.exit_code == 1
    assert message in " ".join(found.stderr.split())


def test_gram_matrices_have_no_interactions(run, gram_file):
    found = run("fit", gram_file, "-t", "y", "--interactions")
    assert found.exit_code == 1
    assert "this file contains Gram matrices" in " ".join(found.stderr.split())


def test_gram_matrices_need_no_kernels(run, gram_file):
    found = run("fit", gram_file, "-t", "y", "--method", "uniform", "--json")
    assert found.exit_code == 0, found.stderr
    assert json.loads(found.stdout)["n_kernels"] == 3


def test_settings_are_values():
    settings = ["a=1", "b=0.5", "c=true", "d=null", "e=cosine", 'f=["trace", "center"]']
    values = [1, 0.5, True, None, "cosine", ["trace", "center"]]
    assert list(parse_settings(settings).values()) == values
    with pytest.raises(ValueError, match="--set requires name=value, got 'a'"):
        parse_settings(["a"])


def test_what_looks_like_json_must_be_json():
    with pytest.raises(ValueError, match=r"--set class_weight .* double quotes: \{"):
        parse_settings(["class_weight={0: 2}"])


@pytest.mark.parametrize(
    ("labels", "given", "expected"),
    [
        ([0, 1, 1], {"0": 2.0, "1": 1.0}, {0: 2.0, 1: 1.0}),
        ([0.5, 1.0], {"0.5": 2.0}, {0.5: 2.0}),
        (["u", "v"], {"u": 2.0}, {"u": 2.0}),
        ([True, False], {"true": 2.0, "False": 3.0}, {True: 2.0, False: 3.0}),
        ([0, 1], {"7": 2.0}, {"7": 2.0}),
        ([0, 1], "balanced", "balanced"),
    ],
)
def test_class_weights_get_the_labels(labels, given, expected):
    assert label_keys(given, np.array(labels)) == expected


def test_unknown_parameters_are_named(run, csv):
    command = "fit", csv, "-t", "amount", "--drop", "outcome"
    message = told(run(*command, "--set", "alfa=1"))
    assert "has no parameter 'alfa': did you mean --alpha" in message


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--alpha", -1), "--alpha must be a finite number above 0"),
        (("--offset", ""), "--offset is empty: give a value, or remove it. Help: Col"),
        (("-C", 1), "SpicyMKLRegressor does not support -C: did you mean --alpha"),
        (("--offset", "amount"), "--offset 'amount' is also the column of --target"),
        (("--event", "amount"), "--event 'amount' is also the column of --target"),
        (("--category", "age", "--drop", "age"), "--category 'age' is also the column"),
        (("--category", "age", "--sequence", "age"), "the column of --sequence"),
        (("--alphabet", "dna"), "--alphabet requires a column of sequences"),
        (("--method", "lp", "-p", 0.5), "-p must be a number of at least 1"),
        (("--set", "max_iter=0"), "--set max_iter must be an integer of at least 1"),
        (("--storage", "disk"), "'lazy', 'low_rank', got 'disk'"),
        (("--scoring", "roc_auc", "--cv", 3), "--scoring roc_auc requires classes"),
        (("--loss", "log_loss"), "--loss log_loss requires classes, but the target"),
        (("--unpenalized", "sex"), "--unpenalized: "),
        (("--event", "died"), "--event: "),
        (("--max-rank", 5), "--max-rank requires --storage low_rank: use"),
    ],
)
def test_messages_name_the_option_of_a_value(run, csv, words, message):
    command = "fit", csv, "-t", "amount", "--drop", "outcome"
    assert message in told(run(*command, *words))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--cv", "five"), "'--cv': 'five' is not an integer."),
        (("--tol", "nan"), "'--tol': 'nan' is not a number."),
        (("--max-rank", "0"), "'--max-rank': '0' is not an integer of at least 1."),
        (
            ("--output", ""),
            "'--output' / '-o': '' is not a name: name a file or a folder.",
        ),
    ],
)
def test_values_that_cannot_be_converted_are_shown(run, csv, words, message):
    found = run("fit", csv, "-t", "amount", *words)
    assert found.exit_code == 2
    assert message in " ".join(found.stderr.replace("│", " ").split())


def test_text_that_mostly_differs_is_no_target(run, csv, frame):
    frame.assign(amount=frame["amount"].astype(str) + " units").to_csv(csv, index=False)
    message = told(run("fit", csv, "-t", "amount"))
    assert "holds 60 different texts in 60 rows, such as '" in message
    assert "use --task classification" in message


def test_a_target_with_one_class_is_named(run, csv, frame):
    frame.assign(outcome="ill").to_csv(csv, index=False)
    message = told(run("fit", csv, "-t", "outcome"))
    assert (
        "--target requires at least two classes, but every row holds 'ill'" in message
    )


def test_the_help_of_loss_names_every_loss():
    option = next(p for p in command_tree().commands["fit"].params if p.name == "loss")
    missing = [name for name in LOSSES if name not in option.help]
    assert not missing, f"the help of --loss in cli/_requests.py lacks {missing}"


@pytest.mark.parametrize("stream", [(), ("--stream",)])
def test_a_model_of_matrices_needs_matrices(run, csv, tmp_path, stream):
    X = np.random.default_rng(0).standard_normal((30, 2))
    grams, table, model = (tmp_path / name for name in ("k.npz", "x.npz", "k.mkl"))
    np.savez(grams, K=(X @ X.T)[None], y=X[:, 0])
    np.savez(table, X=X)
    assert run("fit", grams, "-t", "y", "-o", model).exit_code == 0
    for path in (csv, table):
        message = told(run("predict", model, path, *(stream if path == csv else ())))
        assert "was fitted on Gram matrices, but" in message
        assert "the array K" in message
