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
from multikernel.cli import _large, _outputs, _report, _training
from multikernel.cli._columns import ColumnChoice
from multikernel.cli._features import Table
from multikernel.cli._messages import say
from multikernel.cli._methods import Entry, check_scoring, find_method
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
    destination = _outputs.find_output(asked.output, asked.data, as_json=asked.json)
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
        "model_file": _outputs.file_name(asked.output, destination),
    }
    with _outputs.beside(destination, asked.output):
        (_outputs.print_json if asked.json else _show)(report)


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
    takes = method.stem == "SpicyMKL" and asked.cv is None
    others = {
        "--category": choice.categories,
        "--view": choice.views,
        "--group": choice.group,
        "--sequence": choice.sequences,
        "--offset": choice.offset,
        "--date": choice.dates,
        "--unpenalized": choice.unpenalized,
    }
    used = [option for option, value in others.items() if value]
    if asked.stream and not takes:
        raise ValueError(
            "--stream requires --method spicy without --cv: remove --stream, or change "
            "these options."
        )
    if asked.stream and used:
        raise ValueError(
            f"--stream supports numeric columns only: remove {', '.join(used)}, or "
            "read the whole file without --stream."
        )
    factors = asked.storage in (None, "auto", "low_rank")
    # Several targets and imputation need the whole file.
    divides = factors and len(choice.target) == 1 and asked.impute is None
    if used or not (takes and (divides or asked.stream)):
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
            steps = _training.with_steps(estimator, table, scale=scale, impute=impute)
            parts = {"model__groups": table.groups, "model__offset": table.offset}
            passed = {name: part for name, part in parts.items() if part is not None}
            pipeline = steps.fit(table.X, table.y, model__callback=watch, **passed)
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
    for_searches = {
        "--scoring": asked.scoring,
        "--intervals": asked.intervals,
        "--group": asked.group,
    }
    for option, value in for_searches.items():
        if value and asked.cv is None:
            raise ValueError(_training.NEEDS_CV.format(option))
    strength = _strength(asked, method) | _training.simplest(asked)
    if asked.scoring is not None:
        check_scoring(asked.scoring)
        strength["scoring"] = asked.scoring
    if asked.intervals:
        strength["intervals"] = True
    if asked.group is not None:
        strength["cv"] = GroupKFold(asked.cv)
    return strength


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
    if "p" in fixed:
        p = fixed.pop("p")
        # The search of lp-norm MKL chooses p from a list.
        folds |= {"ps": [p]} if method.stem == "LpMKL" else {"p": p}
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
    _outputs.print_facts(facts, report["estimator"])
    _report.print_kernels(report)
    if report["model_file"] is not None:
        say(f"Model saved as {report['model_file']}")
