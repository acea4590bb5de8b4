"""The command `multikernel compare`."""

from contextlib import closing
from dataclasses import replace
from functools import partial

import numpy as np
from sklearn import config_context
from sklearn.model_selection import (
    BaseCrossValidator,
    GroupKFold,
    KFold,
    StratifiedKFold,
    cross_validate,
)
from sklearn.pipeline import Pipeline

from multikernel._typing import Indices
from multikernel.cli import _methods, _outputs, _report, _training
from multikernel.cli._features import Table
from multikernel.cli._messages import note
from multikernel.cli._methods import METHODS
from multikernel.cli._outputs import Report
from multikernel.cli._requests import Compare
from multikernel.estimators import ProgressBar
from multikernel.estimators.parameters import SIMPLEST, find_loss
from multikernel.losses.base import is_smooth

Split = tuple[Indices, Indices]
"""Rows of the training set and of the validation set."""


def run_compare(request: Compare) -> None:
    """Score several methods on the same folds, and print a table or JSON."""
    _outputs.find_output(None, request.data)
    if request.task in _methods.SPECIAL:
        raise ValueError(
            f"--task {request.task} is supported by --method spicy only, so there is "
            "nothing to compare: use the command fit."
        )
    if request.one_standard_error and request.cv is None:
        raise ValueError(_training.NEEDS_CV.format("--one-standard-error"))
    if request.scoring is not None:
        _methods.check_scoring(request.scoring, request.offset)
    methods = [_methods.find_method(name) for name in request.methods or ["spicy"]]
    # The targets are the same for all methods; this raises if a method has none.
    targets = [_training.requested_targets(request, method) for method in methods]
    table = _training.read_whole(request, targets[0])
    task = _methods.find_task(request.task, request.loss, table.y)
    _training.check_folds("--folds", request.folds, table)
    _training.check_folds("--cv", request.cv, table)
    names = request.methods or _supporting_methods(request, task, table)
    request = replace(request, task=task)
    models = {name: _model(request, name, table) for name in names}
    splits = _splits(table, task, request.folds)
    lines = []
    with closing(ProgressBar("Comparing")) as bar:
        for index, (name, model) in enumerate(models.items()):
            bar.show(METHODS[name].title, index / len(models))
            lines.append(_score_method(request, name, model, table, splits))
    lines.sort(key=lambda line: -line["score"])
    report = {
        "n_samples": len(table.X),
        "folds": request.folds,
        "scoring": request.scoring or lines[0]["measure"],
        "methods": lines,
    }
    (_outputs.print_json if request.json else _print_report)(report)


def _supporting_methods(request: Compare, task: str, table: Table) -> list[str]:
    """Return the methods that support a task and a table; say why others do not."""
    names = []
    for name in [name for name in METHODS if task in METHODS[name].tasks]:
        unsupported = _training.why_unsupported(METHODS[name], request, table)
        if table.unpenalized and unsupported is None and request.loss is None:
            unsupported = _why_not_smooth(METHODS[name], task)
        if unsupported is None:
            names.append(name)
        else:
            reason, remedy = unsupported
            note(f"{name} is not compared: it {reason}. To compare it, {remedy}.")
    return names


def _why_not_smooth(method: _methods.Entry, task: str) -> tuple[str, str] | None:
    """Return why a method's default loss refuses --unpenalized, and what to do."""
    loss = method.estimator(task)().loss
    if is_smooth(find_loss(loss)):
        return None
    reason = f"has the default loss {loss}, which does not support --unpenalized"
    # All methods support unpenalized columns with the squared error.
    return reason, "add --loss squared_error"


def _model(request: Compare, name: str, table: Table) -> Pipeline:
    """Return the pipeline of a method; with --cv it ends in a search over strengths."""
    method, request = METHODS[name], replace(request, method=name)
    searches = request.cv is not None and method.search is not None
    if method.graphs:
        # Methods on graphs ignore --kernels and --interactions, because the default
        # graph already contains all interactions.
        request = replace(request, kernels="default", interactions=False)
    strength: dict[str, object] = {"cv": request.cv} if searches else {}
    if searches and request.one_standard_error:
        strength["refit"] = SIMPLEST
    model = _training.requested_estimator(request, method, table, strength, cv=searches)
    scale, impute = request.standardized, request.impute
    return _training.with_steps(model, table, scale=scale, impute=impute)


def _splits(table: Table, task: str, folds: int) -> list[Split]:
    """Return the cross-validation splits: by group, or shuffled (and stratified)."""
    if table.groups is not None:
        splitter: BaseCrossValidator = GroupKFold(folds)
    elif task == "classification" and table.y.ndim == 1:
        splitter = StratifiedKFold(folds, shuffle=True, random_state=0)
    else:
        splitter = KFold(folds, shuffle=True, random_state=0)
    return list(splitter.split(table.X, table.y, table.groups))


def _score_method(
    request: Compare, name: str, model: Pipeline, table: Table, splits: list[Split]
) -> Report:
    """Cross-validate one method and return its row of the report."""
    is_search = request.cv is not None and "cv" in model["model"].get_params()
    metadata = {"groups": table.groups if is_search else None, "offset": table.offset}
    routed = {key: values for key, values in metadata.items() if values is not None}
    scoring = request.scoring
    # Without metadata routing, scikit-learn would not pass offsets to the scorers.
    with config_context(enable_metadata_routing=True):
        model["model"].set_fit_request(**dict.fromkeys(routed, True))
        if table.offset is not None:
            model["model"].set_score_request(offset=True)
        folds = cross_validate(
            model,
            table.X,
            table.y,
            cv=splits,
            scoring=scoring and partial(_methods.scored_by, scoring),
            params=routed,
            return_estimator=True,
            error_score="raise",
        )
    scores = folds["test_score"]
    reports = [_report.model_report(fitted) for fitted in folds["estimator"]]
    return {
        "method": name,
        "title": METHODS[name].title,
        "measure": reports[0]["measure"],
        "score": scores.mean(),
        "spread": scores.std(ddof=1),
        "scores": scores,
        "seconds": folds["fit_time"].mean(),
        "n_active": np.mean([fit["n_active"] for fit in reports]),
        "n_kernels": np.mean([fit["n_kernels"] for fit in reports]),
    }


def _print_report(report: Report) -> None:
    """Print a line for each method, the best score first."""
    _outputs.print_table(
        f"{report['scoring']} on {report['folds']} folds of "
        f"{report['n_samples']} samples",
        ["method", *_outputs.aligned("score", "spread", "seconds", "kernels in use")],
        [
            (
                f"{line['method']}: {line['title']}",
                f"{line['score']:.4g}",
                f"{line['spread']:.2g}",
                f"{line['seconds']:.2g}",
                f"{line['n_active']:.3g} of {line['n_kernels']:.0f}",
            )
            for line in report["methods"]
        ],
    )
