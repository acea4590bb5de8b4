"""What `multikernel fit` does."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import Pipeline

from multikernel._cautions import one_class
from multikernel.cli import _large, _report
from multikernel.cli._columns import PLAIN
from multikernel.cli._console import LiveFit
from multikernel.cli._messages import say
from multikernel.cli._methods import Entry, find_method
from multikernel.cli._options import Request, StrengthRequest
from multikernel.cli._outputs import beside, file_name, find_output
from multikernel.cli._tables import Table
from multikernel.cli._training import (
    TrainingRequest,
    columns_asked,
    fit_arguments,
    read_request,
    targets_asked,
    with_scaling,
)
from multikernel.exceptions import SearchWarning, warn_user
from multikernel.persistence import dumped
from multikernel.persistence.places import write_to

TRAINING_SCORES: Mapping[str, str] = {
    "classification": "training accuracy",
    "regression": "training R2",
    "survival": "training concordance",
    "ordinal": "training accuracy",
    "novelty detection": "share inside",
}


def run_fit(
    request: Request,
    method: str,
    strength: StrengthRequest,
    output: Path | None,
    dask: str | None,
    stream: bool | None,
    *,
    json: bool,
) -> None:
    """Train a model, save it where that is asked for, and say what it is."""
    entry = find_method(method)
    targets_asked(request, entry)
    parameters = strength_parameters(strength, request.group, entry)
    target = find_output(output, request.data, json=json)  # rather now than after work
    training = TrainingRequest(request, entry)
    with _large.on_cluster(dask):
        table = _read(request, entry, dask, stream)
        estimator = training.estimator(table, parameters, cv=strength.cv is not None)
        with training.blaming_settings():
            pipeline, facts = fit_table(
                estimator,
                table,
                scale=request.scale,
                title=entry.title,
                impute=request.impute,
            )
    if output is not None:
        write_to(target, dumped(pipeline))
    report = {
        "n_samples": len(table.X),
        **facts,
        **_report.model_report(pipeline, table.kernel_names),
        "model_file": file_name(output, target),
    }
    if json:
        _report.print_json(report)
        return
    with beside(target, output):
        _show(report)


def _read(
    request: Request, method: Entry, dask: str | None, stream: bool | None
) -> Table:
    """Return the table: in partitions, read by batches, or whole."""
    first, targets = request.data[0], targets_asked(request, method)
    if dask is not None:
        only = _large.one_target(targets, "--dask")
        return _large.read_partitions(first, only, request.drop or [])
    numbers_only = not request.sequence and columns_asked(request) == PLAIN
    factors = request.storage in (None, "auto", "low_rank")
    # Several targets and imputation need the whole file, so these are not streamed.
    streams = factors and len(targets) == 1 and request.impute is None
    folder = request.folder is not None and streams
    if _reads_by_batches(
        first, stream, method, numbers_only=numbers_only, folder=folder
    ):
        only = _large.one_target(targets, "--stream")
        return _large.read_spooled(first, only, request.drop or [], request.folder)
    return read_request(request, targets)


def fit_table(
    estimator: Any, table: Table, *, scale: bool, title: str, impute: str | None = None
) -> tuple[Pipeline, dict[str, Any]]:
    """Return the fitted pipeline, the seconds that it took, and its score."""
    start = time.perf_counter()
    large = _large.PartitionedTable | _large.SpooledTable
    if impute is not None and isinstance(table, large):
        raise ValueError(
            "--impute is for files that are read as a whole: add --no-stream."
        )
    with LiveFit(title, tol=estimator.tol, n_samples=len(table.X)) as watch:
        if isinstance(table, _large.PartitionedTable):
            pipeline, score = _large.fitted_partitions(
                estimator, table, scale=scale, watch=watch
            )
        elif isinstance(table, _large.SpooledTable):
            pipeline, score = _large.fitted_stream(
                estimator, table, scale=scale, watch=watch
            )
        else:
            pipeline = with_scaling(estimator, table, scale=scale, impute=impute)
            pipeline.fit(table.X, table.y, **fit_arguments(table, watch))
            score = _score(pipeline, table)
    seconds = time.perf_counter() - start
    return pipeline, {"seconds": seconds, "training_score": score}


def _score(pipeline: Pipeline, table: Table) -> float:
    """Return the training score; without targets the share of samples inside."""
    if table.y is None:
        return float(np.mean(pipeline.predict(table.X) == 1))
    if not is_classifier(pipeline):
        return float(pipeline.score(table.X, table.y))
    predicted = pipeline.predict(table.X)
    if not hasattr(pipeline[-1], "best_index_"):  # a search has said so itself
        for text in one_class(pipeline[-1], predicted):
            warn_user(text, SearchWarning)
    return float(accuracy_score(table.y, predicted))


def _reads_by_batches(
    data: Path,
    stream: bool | None,
    method: Entry,
    *,
    numbers_only: bool,
    folder: bool,
) -> bool:
    """Return whether the file is read by batches, which takes targets and numbers."""
    if stream and not method.tasks:
        raise ValueError("--stream is for methods with targets.")
    if stream and not numbers_only:
        raise ValueError(
            "--stream is for numbers: for --category, --view, --group and --sequence "
            "the file is read as a whole, without --stream."
        )
    able = bool(method.tasks) and numbers_only
    return able and _large.by_batches(data, stream, folder=folder)


def strength_parameters(
    asked: StrengthRequest, group: str | None, method: Entry
) -> dict[str, Any]:
    """Return the parameters that say how strong to regularize, or how to choose it."""
    strengths = _strength(asked, method)
    if asked.scoring is not None:
        if asked.cv is None:
            raise ValueError("--scoring is for --cv, which chooses by it.")
        strengths["scoring"] = asked.scoring
    if group is None:
        return strengths
    if asked.cv is None:
        raise ValueError("--group is for --cv, whose folds keep groups together.")
    return strengths | {"cv": GroupKFold(asked.cv)}


def _strength(asked: StrengthRequest, method: Entry) -> dict[str, Any]:
    """Return the strength, or the number of folds that choose it."""
    given, cv = {"alpha": asked.alpha, "C": asked.C, "p": asked.p}, asked.cv
    fixed = {name: value for name, value in given.items() if value is not None}
    if method.always:  # It searches whatever C is, and takes a list of these.
        Cs = {"Cs": [fixed.pop("C")]} if "C" in fixed else {}
        return fixed | Cs | ({} if cv is None else {"cv": cv})
    if cv is None:
        return fixed
    p = fixed.pop("p", None)
    for name in fixed:
        option = "--alpha" if name == "alpha" else f"-{name}"
        raise ValueError(f"{option} and --cv exclude each other: --cv chooses {name}.")
    if p is None:
        return {"cv": cv}
    # Only lp-norm searches choose p, from a list.
    return {"cv": cv, "ps": [p]} if method.stem == "LpMKL" else {"cv": cv, "p": p}


def _show(report: dict[str, Any]) -> None:
    facts = {"samples": report["n_samples"], "seconds": report["seconds"]}
    facts |= _report.chosen_parameters(report)
    score = TRAINING_SCORES[report["task"]]
    facts |= {score: report["training_score"]} | _report.diagnostics(report)
    _report.print_facts(facts, report["estimator"])
    _report.print_views(report)
    _report.print_kernels(report)
    if report["model_file"] is not None:
        say(f"Model saved as {report['model_file']}")
