"""Messages of estimators name options of the command line."""

import pytest

from multikernel.cli._messages import with_options

FIT = ("--alpha", "-C", "--cv", "--loss", "--max-rank", "--method", "--scoring")
FIT = (*FIT, "--set", "--tol")


@pytest.mark.parametrize(
    ("python", "shell"),
    [
        (
            "pass a smaller alpha_min_ratio, or smaller values in Cs.",
            "pass a smaller --set alpha_min_ratio, or smaller values in --set "
            "'Cs=[...]'.",
        ),
        ("Raise max_iter or tol.", "Raise --set max_iter or --tol."),
        ("allow a larger max_rank (see LowRank)", "allow a larger --max-rank"),
        ("fold 2 of cv has no score", "fold 2 of --cv has no score"),
        ("pass scoring='roc_auc'.", "pass --scoring roc_auc."),
        (
            "pass class_weight='balanced'.",
            "pass --set class_weight=balanced.",
        ),
        ('for example order=["a", "b"].', """for example --set 'order=["a", "b"]'."""),
        (
            "use loss='huber' or method='conv'.",
            "use --loss huber or --set method=conv.",
        ),
        ("Increase alpha.", "Increase --alpha."),
        (
            "X has no parameter 'C': did you mean alpha? Its parameters are tol, cv.",
            "X does not support -C: did you mean --alpha? Its parameters are tol, cv.",
        ),
        (
            "X does not support offset: remove this argument.",
            "X does not support --offset: remove it.",
        ),
        (
            "X does not support offset: remove this argument, or use SpicyMKL.",
            "X does not support --offset: remove it, or use SpicyMKL.",
        ),
        # Values in quotes, calls, options and file names remain.
        ("X chose alpha=0.5, see f(loss='hinge').", None),
        ("column 'tol' is --tol, and --set max_iter too", None),
        ("Cannot open data/cv.csv, tol.csv, cv-2.csv, /data/cv/a.csv.", None),
    ],
)
def test_parameters_become_options(python, shell):
    assert with_options(python, FIT) == (python if shell is None else shell)


def test_names_of_files_remain(run, csv, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fit = "--target", "amount", "--drop", "outcome", "-o", "model.skops"
    assert run("fit", csv, *fit).exit_code == 0
    for name in ("cv.csv", "tol.csv", "data/cv.csv"):
        for words in (("fit", name, *fit), ("predict", "model.skops", name)):
            result = run(*words)
            assert result.exit_code == 1
            assert result.stderr == (
                f"Error: Cannot open {name}: no such file or directory. Check name and "
                "permissions.\n"
            )


def test_names_of_columns_remain(run, csv, frame):
    frame.rename(columns={"age": "cv"}).to_csv(csv, index=False)
    fit = "fit", csv, "--target", "amount"
    same = run(*fit, "--drop", "cv", "--category", "cv").stderr
    assert "--category 'cv' is also the column of --drop: remove one of these" in same
    event = run(*fit, "--event", "cv").stderr
    assert "--event 'cv' must hold 1 (observed) or 0 (censored)" in event


def test_commands_without_set_name_those_with_set():
    assert with_options("Raise max_iter.", ["--tol"]) == (
        "Raise --set max_iter. Only the commands fit and path have --set."
    )
