"""``multikernel fit`` and ``path``: train on a file, at one strength or at many."""

import time
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table as RichTable
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import Pipeline

from multikernel._cautions import one_class
from multikernel.cli import _large, _report
from multikernel.cli import _options as options
from multikernel.cli._columns import PLAIN, SequenceChoice, parse_columns
from multikernel.cli._console import LiveFit, console, say, user_errors
from multikernel.cli._methods import Method, find_method, needed_targets
from multikernel.cli._tables import Table, default_target, read_table
from multikernel.cli._training import Training, fit_arguments, prepared, with_scaling
from multikernel.display import RegularizationPathDisplay
from multikernel.estimators import NamedPath, regularization_path
from multikernel.exceptions import SearchWarning
from multikernel.persistence import check_place, save

TRAINING_SCORES: Mapping[str, str] = {
    "classification": "training accuracy",
    "regression": "training R2",
    "novelty detection": "share inside",
}


@user_errors
def fit(
    data: options.DataFiles,
    target: options.Target = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Model file to write.")
    ] = None,
    method: options.MethodName = "spicy",
    task: options.TaskName = None,
    loss: options.LossName = None,
    kernels: options.KernelChoice = "default",
    alpha: options.Alpha = None,
    C: options.LossWeight = None,
    p: Annotated[
        float | None,
        typer.Option("-p", help="Norm of kernel weights, 1 to inf: lp, one-class."),
    ] = None,
    cv: Annotated[
        int | None,
        typer.Option(
            help="Choose the strength by cross-validation with so many folds; the "
            "kernel with --method single."
        ),
    ] = None,
    scoring: Annotated[
        str | None,
        typer.Option(
            help="What --cv chooses by, a name of scikit-learn such as roc_auc; "
            "accuracy, or R2 of numbers, if not given."
        ),
    ] = None,
    tol: options.Tolerance = None,
    storage: options.Storage = None,
    max_rank: options.MaxRank = None,
    dask: options.Dask = None,
    folder: options.Folder = None,
    stream: options.Stream = None,
    settings: options.Settings = None,
    scale: options.Scale = True,
    impute: options.Impute = None,
    drop: options.Drop = None,
    view: options.ViewColumns = None,
    category: options.CategoryColumns = None,
    group: options.GroupColumn = None,
    sequence: options.SequenceColumns = None,
    sequence_kernels: options.SequenceKernels = "default",
    alphabet: options.AlphabetName = None,
    skip_letters: options.SkipLetters = False,
    ignore_case: options.IgnoreCase = False,
    json: options.Json = False,
) -> None:
    """Train a model on a CSV, TSV, Parquet, FASTA or npz file, and save it."""
    chosen = find_method(method)
    first, *others = data
    targets = needed_targets(target or default_target(data), chosen)
    strength = _strength({"alpha": alpha, "C": C, "p": p}, cv, chosen)
    if group is not None:
        if cv is None:
            raise ValueError("--group is for --cv, whose folds keep groups together.")
        strength["cv"] = GroupKFold(cv)
    if scoring is not None:
        if cv is None:
            raise ValueError("--scoring is for --cv, which chooses by it.")
        strength["scoring"] = scoring
    if output is not None:
        check_place(output)  # rather now than after the work
    strings = SequenceChoice(sequence_kernels, alphabet, skip_letters, ignore_case)
    training = Training(
        chosen,
        task,
        loss,
        kernels,
        tol,
        settings or [],
        strings,
        storage,
        max_rank,
        folder,
    )
    choice = parse_columns(view, category, group)
    with _large.on_cluster(dask):
        if dask is not None:
            only = _large.one_target(targets, "--dask")
            table: Table = _large.read_partitions(first, only, drop or [])
        elif _reads_by_batches(
            first,
            stream,
            chosen,
            numbers_only=not sequence and choice == PLAIN,
            # What only a file as a whole has goes before a folder of factors.
            folder=training.factors_in_files and len(targets) == 1 and impute is None,
        ):
            only = _large.one_target(targets, "--stream")
            table = _large.read_spooled(first, only, drop or [], folder)
        else:
            table = read_table(
                first, targets, drop or [], sequence or [], choice, others=others
            )
        estimator = training.estimator(table, strength, cv=cv is not None)
        with training.blaming_settings():
            title = training.method.title
            pipeline, facts = fit_table(estimator, table, scale, title, impute)
    if output is not None:
        save(pipeline, output)
    report = {
        "n_samples": len(table.X),
        **facts,
        **_report.model_report(pipeline, table.kernel_names),
        "model_file": None if output is None else str(output),
    }
    if json:
        _report.print_json(report)
    else:
        _show(report)


def fit_table(
    estimator: Any, table: Table, scale: bool, title: str, impute: str | None = None
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
            pipeline, score = _large.fitted_partitions(estimator, table, scale, watch)
        elif isinstance(table, _large.SpooledTable):
            pipeline, score = _large.fitted_stream(estimator, table, scale, watch)
        else:
            pipeline = with_scaling(estimator, table, scale, impute)
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
            warnings.warn(text, SearchWarning, stacklevel=2)
    return float(accuracy_score(table.y, predicted))


def _reads_by_batches(
    data: Path,
    stream: bool | None,
    method: Method,
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
    return able and _large.by_batches(data, stream, folder)


def _strength(
    given: Mapping[str, float | str | None], cv: int | None, method: Method
) -> dict[str, Any]:
    """Return the parameters that say how strong to regularize, or how to choose it."""
    fixed = {name: value for name, value in given.items() if value is not None}
    if cv is None:
        return fixed
    if method.always:
        return fixed | {"cv": cv}  # it chooses something else
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


@user_errors
def path(
    data: options.DataFiles,
    target: options.Target = None,
    method: options.MethodName = "spicy",
    task: options.TaskName = None,
    loss: options.LossName = None,
    kernels: options.KernelChoice = "default",
    n_alphas: Annotated[
        int, typer.Option("--n-alphas", help="Number of strengths.")
    ] = 20,
    alpha_min_ratio: Annotated[
        float, typer.Option(help="Weakest strength over the strongest.")
    ] = 1e-2,
    plot: Annotated[
        Path | None, typer.Option(help="Picture to write (PNG, PDF or SVG).")
    ] = None,
    tol: options.Tolerance = None,
    storage: options.Storage = None,
    max_rank: options.MaxRank = None,
    settings: options.Settings = None,
    scale: options.Scale = True,
    impute: options.Impute = None,
    drop: options.Drop = None,
    view: options.ViewColumns = None,
    category: options.CategoryColumns = None,
    sequence: options.SequenceColumns = None,
    sequence_kernels: options.SequenceKernels = "default",
    alphabet: options.AlphabetName = None,
    skip_letters: options.SkipLetters = False,
    ignore_case: options.IgnoreCase = False,
    json: options.Json = False,
) -> None:
    """Follow the regularization path from where the first kernel comes in."""
    if plot is not None:
        _report.off_screen()  # rather now than after the work
    strings = SequenceChoice(sequence_kernels, alphabet, skip_letters, ignore_case)
    chosen = find_method(method)
    if not chosen.tasks:
        raise ValueError(f"{chosen.title} has no path.")
    first, *others = data
    targets = needed_targets(target or default_target(data), chosen)
    training = Training(
        chosen, task, loss, kernels, tol, settings or [], strings, storage, max_rank
    )
    choice = parse_columns(view, category, None)
    table = read_table(
        first, targets, drop or [], sequence or [], choice, others=others
    )
    estimator = training.estimator(table, {})
    X = prepared(table, scale, impute)
    start = time.perf_counter()
    live = LiveFit(training.method.title, tol=estimator.tol, n_samples=len(table.y))
    with training.blaming_settings(), live as watch:
        found = regularization_path(
            estimator,
            X,
            table.y,
            n_alphas=n_alphas,
            alpha_min_ratio=alpha_min_ratio,
            callback=watch,
        )
    seconds = time.perf_counter() - start
    if table.kernel_names is not None:
        found = replace(found, kernel_names=list(table.kernel_names))
    if plot is not None:
        _report.save_plot(RegularizationPathDisplay.from_path(found), plot)
    report = {
        "seconds": seconds,
        "n_kernels": len(found.kernel_names),
        "path": _path_lines(found),
        "plot": None if plot is None else str(plot),
    }
    if json:
        _report.print_json(report)
    else:
        _show_path(report)


def _path_lines(found: NamedPath) -> list[dict[str, Any]]:
    """Return one line per alpha, with the kernels that came in there."""
    in_use = found.norms() > 0
    seen = np.logical_or.accumulate(in_use, axis=0)
    lines = []
    for step, alpha in enumerate(found.path.alphas):
        new = seen[step] & ~seen[step - 1] if step else seen[0]
        lines.append(
            {
                "alpha": alpha,
                "objective": found.path.objectives[:, step].sum(),
                "duality_gap": found.path.duality_gaps[:, step].max(),
                "n_active": in_use[step].sum(),
                "entered": [found.kernel_names[m] for m in np.flatnonzero(new)],
            }
        )
    return lines


def _show_path(report: dict[str, Any]) -> None:
    table = RichTable(
        title=f"Path over {report['n_kernels']} kernels, {report['seconds']:.1f} s",
        title_justify="left",
    )
    for column in ("alpha", "objective", "gap", "active"):
        table.add_column(column, justify="right")
    table.add_column("comes in", overflow="fold")
    for line in report["path"]:
        entered = line["entered"]
        more = f" and {len(entered) - 2} more" if len(entered) > 2 else ""
        table.add_row(
            f"{line['alpha']:.4g}",
            f"{line['objective']:.5g}",
            f"{line['duality_gap']:.1e}",
            str(line["n_active"]),
            ", ".join(entered[:2]) + more,
        )
    console().print(table)
    if report["plot"] is not None:
        say(f"Plot saved as {report['plot']}")
