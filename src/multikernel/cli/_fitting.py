"""The command `multikernel fit`."""

import time
from contextlib import closing
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import Pipeline

from multikernel._report.cautions import one_class
from multikernel._report.outcomes import Answers
from multikernel.cli import _large, _report, _training
from multikernel.cli._columns import ColumnChoice
from multikernel.cli._features import Table
from multikernel.cli._messages import say
from multikernel.cli._methods import Entry, check_scoring, find_method
from multikernel.cli._outputs import beside, file_name, find_output
from multikernel.cli._preparing import with_scaling
from multikernel.cli._requests import Fit
from multikernel.estimators import ProgressBar
from multikernel.exceptions import SearchWarning, warn_user
from multikernel.persistence import dumped
from multikernel.persistence.places import write_to


def run_fit(asked: Fit) -> None:
    """Train a model, save it if --output is given, and print a report."""
    method = find_method(asked.method)
    targets = _training.asked_targets(asked, method)
    strength = strength_parameters(asked, method)
    # A wrong output path must fail before the fit.
    destination = find_output(asked.output, asked.data, json=asked.json)
    with _large.on_cluster(asked.dask):
        table = _read(asked, method, targets)
        _training.check_folds("--cv", asked.cv, table)
        estimator = _training.asked_estimator(
            asked, method, table, strength, cv=asked.cv is not None
        )
        with _training.blaming_settings(asked):
            pipeline, facts = fit_table(
                estimator,
                table,
                scale=asked.standardized,
                title=method.title,
                impute=asked.impute,
            )
    if asked.output is not None:
        write_to(destination, dumped(pipeline))
    report = {
        "n_samples": len(table),
        **facts,
        **_report.model_report(pipeline),
        "model_file": file_name(asked.output, destination),
    }
    with beside(destination, asked.output):
        (_report.print_json if asked.json else _show)(report)


def _read(asked: Fit, method: Entry, targets: list[str]) -> Table:
    """Return the table, whole or in partitions."""
    first, choice = asked.data[0], _training.asked_columns(asked, targets)
    if asked.dask is not None:
        _large.one_target(targets, "--dask")
        return _large.read_partitions(first, choice)
    if _in_partitions(asked, method, choice):
        _large.one_target(targets, "--stream")
        folder = asked.folder or Path(gettempdir())
        return _large.read_partitions(first, choice, folder)
    return _training.read_whole(asked, targets)


def _in_partitions(asked: Fit, method: Entry, choice: ColumnChoice) -> bool:
    """Return whether to read the file in partitions, which only SpicyMKL supports."""
    numbers_only = not (
        choice.views
        or choice.categories
        or choice.group
        or choice.sequences
        or choice.offset
        or choice.dates
        or choice.unpenalized
    )
    takes = method.stem == "SpicyMKL" and asked.cv is None
    if asked.stream and not takes:
        raise ValueError("--stream requires --method spicy without --cv.")
    if asked.stream and not numbers_only:
        raise ValueError(
            "--stream supports numeric columns only: remove --category, --view, "
            "--group, --sequence, --offset, --date and --unpenalized, or read the "
            "whole file without --stream."
        )
    if not (takes and numbers_only):
        return False
    factors = asked.storage in (None, "auto", "low_rank")
    # Several targets and imputation need the whole file.
    divides = factors and len(choice.target) == 1 and asked.impute is None
    if not (divides or asked.stream):
        return False
    folder = asked.folder is not None
    return _large.in_partitions(asked.data[0], asked.stream, folder=folder)


def fit_table(
    estimator: Any, table: Table, *, scale: bool, title: str, impute: str | None = None
) -> tuple[Pipeline, dict[str, Any]]:
    """Return the fitted pipeline, and its seconds and training score."""
    start = time.perf_counter()
    if impute is not None and isinstance(table, _large.PartitionedTable):
        raise ValueError("--impute requires the whole file: add --no-stream.")
    with closing(ProgressBar(title)) as watch:
        watch.show("building kernels")
        if isinstance(table, _large.PartitionedTable):
            pipeline, score = table.fitted(estimator, scale=scale, watch=watch)
        else:
            pipeline = with_scaling(estimator, table, scale=scale, impute=impute)
            parts = {"model__groups": table.groups, "model__offset": table.offset}
            passed = {name: part for name, part in parts.items() if part is not None}
            pipeline.fit(table.X, table.y, model__callback=watch, **passed)
            score = _score(pipeline, table)
    seconds = time.perf_counter() - start
    return pipeline, {"seconds": seconds, "training_score": score}


def _score(pipeline: Pipeline, table: Table) -> float:
    """Return the training score; without targets, the share of usual samples."""
    if table.y is None:
        return float(np.mean(pipeline.predict(table.X) == 1))
    ask = Answers(pipeline, table.X, table.offset)
    if not is_classifier(pipeline):
        return float(ask("score", table.y))
    predicted = ask("predict")
    if not hasattr(pipeline[-1], "best_index_"):  # a search has already warned
        for text in one_class(pipeline[-1], predicted):
            warn_user(text, SearchWarning)
    return float(accuracy_score(table.y, predicted))


def strength_parameters(asked: Fit, method: Entry) -> dict[str, Any]:
    """Return the parameters that set the regularization strength or its search."""
    strength = _strength(asked, method)
    if asked.scoring is not None:
        if asked.cv is None:
            raise ValueError("--scoring requires --cv.")
        check_scoring(asked.scoring)
        strength["scoring"] = asked.scoring
    if asked.intervals:
        if asked.cv is None:
            raise ValueError("--intervals requires --cv.")
        strength["intervals"] = True
    strength |= _training.simplest(asked)
    if asked.group is None:
        return strength
    if asked.cv is None:
        raise ValueError("--group requires --cv.")
    return strength | {"cv": GroupKFold(asked.cv)}


def _strength(asked: Fit, method: Entry) -> dict[str, Any]:
    """Return the strength, or the number of folds that choose it."""
    strengths = {"alpha": asked.alpha, "C": asked.C, "p": asked.p}
    fixed: dict[str, Any] = {k: v for k, v in strengths.items() if v is not None}
    folds: dict[str, Any] = {} if asked.cv is None else {"cv": asked.cv}
    if method.always:  # the estimator is a search and requires a list of C
        Cs = {"Cs": [fixed.pop("C")]} if "C" in fixed else {}
        return fixed | Cs | folds
    if not folds:
        return fixed
    if "p" in fixed and method.stem == "LpMKL":
        folds["ps"] = [fixed.pop("p")]  # this search chooses p from a list
    elif "p" in fixed:
        folds["p"] = fixed.pop("p")
    for name in fixed:
        option = _training.OPTIONS[name]
        raise ValueError(
            f"{option} cannot be used with --cv, which chooses {name}: remove one of "
            "them."
        )
    return folds


def _show(report: dict[str, Any]) -> None:
    """Print the facts and the kernels of a fit."""
    facts = {"samples": report["n_samples"], "seconds": report["seconds"]}
    facts |= _report.chosen_parameters(report)
    score = f"training {report['measure']}"
    facts |= {score: report["training_score"]} | _report.diagnostics(report)
    _report.print_facts(facts, report["estimator"])
    _report.print_kernels(report)
    if report["model_file"] is not None:
        say(f"Model saved as {report['model_file']}")
