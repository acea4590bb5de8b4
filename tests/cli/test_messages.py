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
        # Values in quotes, calls, and options remain.
        ("X chose alpha=0.5, see f(loss='hinge').", None),
        ("column 'tol' is --tol, and --set max_iter too", None),
    ],
)
def test_parameters_become_options(python, shell):
    assert with_options(python, FIT) == (python if shell is None else shell)


def test_commands_without_set_name_those_with_set():
    assert with_options("Raise max_iter.", ["--tol"]) == (
        "Raise --set max_iter. Only the commands fit and path have --set."
    )
