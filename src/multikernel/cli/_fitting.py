"""The command `multikernel fit`."""

import time
from contextlib import closing
from pathlib import Path
from tempfile import gettempdir

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import Pipeline

from multikernel._report.cautions import one_class_warning
from multikernel._report.outcomes import Answers
from multikernel.cli import _large, _outputs, _report, _training
from multikernel.cli._columns import ColumnChoice
from multikernel.cli._features import Table
from multikernel.cli._messages import say
from multikernel.cli._methods import SPECIAL, Entry, check_scoring, find_method
from multikernel.cli._outputs import Report
from multikernel.cli._requests import Fit
from multikernel.cli._tables import FEATURES
from multikernel.estimators import ProgressBar
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.parameters import SIMPLEST
from multikernel.exceptions import SearchWarning, warn_user
from multikernel.persistence import model_bytes
from multikernel.persistence.places import write_to


def run_fit(request: Fit) -> None:
    """Train a model, save it if --output is given, and print a report."""
    method = find_method(request.method)
    targets = _training.requested_targets(request, method)
    strength = strength_parameters(request, method)
    # A wrong output path must fail before the fit.
    destination = _outputs.find_output(
        request.output, request.data, as_json=request.json
    )
    with _large.on_cluster(request.dask):
        table = _read_table(request, method, targets)
        _training.check_folds("--cv", request.cv, table)
        estimator = _training.requested_estimator(
            request, method, table, strength, cv=request.cv is not None
        )
        with _training.explain_settings(request):
            pipeline, facts = fit_table(
                estimator,
                table,
                scale=request.standardized,
                title=method.title,
                impute=request.impute,
            )
    if request.output is not None:
        write_to(destination, model_bytes(pipeline))
    report = {
        "n_samples": len(table),
        **facts,
        **_report.model_report(pipeline),
        "model_file": _outputs.file_name(request.output, destination),
    }
    with _outputs.redirected(destination, request.output):
        (_outputs.print_json if request.json else _print_report)(report)


NO_PARTITIONS = (*FEATURES, "view", "group", "offset")
"""Options on columns that require the whole file."""


def _read_table(request: Fit, method: Entry, targets: list[str]) -> Table:
    """Return the table, whole or in partitions."""
    path, choice = request.data[0], _training.requested_columns(request, targets)
    if not _can_read_partitions(request, method, choice):
        return _training.read_whole(request, targets)
    if request.dask is not None:
        return _large.read_partitions(path, choice)
    folder = request.folder or Path(gettempdir())
    return _large.read_partitions(path, choice, folder)


def _can_read_partitions(request: Fit, method: Entry, choice: ColumnChoice) -> bool:
    """Return whether to read the file in partitions, which only SpicyMKL supports."""
    is_supported = method.stem == "SpicyMKL" and request.cv is None
    is_supported &= _training.requested_task(request) not in SPECIAL
    options = [f"--{key}" for key in NO_PARTITIONS if getattr(choice, key)]
    reader, refusal = "--stream" if request.dask is None else "--dask", ""
    if not is_supported:
        refusal = (
            "requires --method spicy without --cv, for classification or regression: "
            f"remove {reader}, or change these options"
        )
    elif options:
        refusal = f"does not support {', '.join(options)}: remove these options"
    elif request.impute is not None:
        refusal = "excludes --impute: remove one of them"
    elif len(choice.target) > 1:
        refusal = f"supports one --target, got {', '.join(choice.target)}: name one"
    if request.stream or request.dask is not None:
        if refusal:
            raise ValueError(f"{reader} {refusal}.")
    elif refusal or request.storage not in (None, "auto", "low_rank"):
        return False
    folder, path = request.folder is not None, request.data[0]
    is_clustered = request.dask is not None
    return is_clustered or _large.reads_partitions(path, request.stream, folder=folder)


def fit_table(
    estimator: BaseMKL,
    table: Table,
    *,
    scale: bool,
    title: str,
    impute: str | None = None,
) -> tuple[Pipeline, Report]:
    """Return the fitted pipeline, with a scaler if `scale`, and facts about the fit."""
    # The facts are a dict with the keys "seconds" and "training_score".
    start = time.perf_counter()
    with closing(ProgressBar(title)) as watch:
        watch.show("building kernels")
        if isinstance(table, _large.PartitionedTable):
            pipeline, score = table.fitted(estimator, scale=scale, watch=watch)
        else:
            steps = _training.with_steps(estimator, table, scale=scale, impute=impute)
            metadata = {"model__groups": table.groups, "model__offset": table.offset}
            passed = {name: v for name, v in metadata.items() if v is not None}
            pipeline = steps.fit(table.X, table.y, model__callback=watch, **passed)
            score = _score(pipeline, table)
    seconds = time.perf_counter() - start
    return pipeline, {"seconds": seconds, "training_score": score}


def _score(pipeline: Pipeline, table: Table) -> float:
    """Return the training score; for novelty detection, the share of inliers."""
    if table.y is None:
        return float(np.mean(pipeline.predict(table.X) == 1))
    answers = Answers(pipeline, table.X, table.offset)
    if not is_classifier(pipeline):
        return float(answers("score", table.y))
    predicted = answers("predict")
    # A search has already warned of predictions of one class.
    if not hasattr(pipeline[-1], "best_index_"):
        for text in one_class_warning(pipeline[-1], predicted):
            warn_user(text, SearchWarning)
    return float(accuracy_score(table.y, predicted))


def strength_parameters(request: Fit, method: Entry) -> dict[str, object]:
    """Return the parameters that set the regularization strength or its search."""
    for_searches = {
        "--scoring": request.scoring,
        "--intervals": request.intervals,
        "--group": request.group,
        "--one-standard-error": request.one_standard_error,
    }
    for option, value in for_searches.items():
        if value and request.cv is None:
            raise ValueError(_training.NEEDS_CV.format(option))
    strength = _strength(request, method)
    if request.one_standard_error:
        strength["refit"] = SIMPLEST
    if request.scoring is not None:
        check_scoring(request.scoring)
        strength["scoring"] = request.scoring
    if request.intervals:
        strength["intervals"] = True
    if request.group is not None:
        strength["cv"] = GroupKFold(request.cv)
    return strength


def _strength(request: Fit, method: Entry) -> dict[str, object]:
    """Return parameters with the strength, or with the folds of a search for it."""
    strengths = {"alpha": request.alpha, "C": request.C, "p": request.p}
    fixed: dict[str, object] = {k: v for k, v in strengths.items() if v is not None}
    folds: dict[str, object] = {} if request.cv is None else {"cv": request.cv}
    if method.always:  # the estimator is a search, which requires a list of C
        Cs = {"Cs": [fixed.pop("C")]} if "C" in fixed else {}
        return fixed | Cs | folds
    if not folds:
        return fixed
    if "p" in fixed:
        p = fixed.pop("p")
        # The search of lp-norm MKL chooses p from a list.
        folds |= {"ps": [p]} if method.stem == "LpMKL" else {"p": p}
    for name in fixed:
        option = "--alpha" if name == "alpha" else f"-{name}"
        raise ValueError(
            f"{option} cannot be used with --cv, which chooses {name}: remove one of "
            "them."
        )
    return folds


def _print_report(report: Report) -> None:
    """Print the facts and the kernels of a fit."""
    facts = {"samples": report["n_samples"], "seconds": report["seconds"]}
    facts |= _report.chosen_parameters(report)
    score = f"training {report['measure']}"
    facts |= {score: report["training_score"]} | _report.diagnostics(report)
    _outputs.print_facts(facts, report["estimator"])
    _report.print_kernels(report)
    if report["model_file"] is not None:
        say(f"Model saved as {report['model_file']}")
