"""``multikernel fit``, ``path`` and ``compare``: train on a file, in several ways."""

from pathlib import Path
from typing import Annotated

import typer

from multikernel.cli import _options as options
from multikernel.cli._messages import user_errors
from multikernel.cli._options import Request, StrengthRequest
from multikernel.cli._start import loading


@user_errors
def fit(
    data: options.DataFiles,
    target: options.Target = None,
    event: options.Event = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Model file to write.")
    ] = None,
    method: options.MethodName = "spicy",
    task: options.TaskName = None,
    loss: options.LossName = None,
    kernels: options.KernelChoice = "default",
    interactions: options.WithInteractions = False,
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
    with loading():
        from multikernel.cli import _fitting

    request = Request(
        data=data,
        target=target,
        task=task,
        loss=loss,
        kernels=kernels,
        interactions=interactions,
        tol=tol,
        settings=settings,
        scale=scale,
        impute=impute,
        drop=drop,
        view=view,
        category=category,
        group=group,
        sequence=sequence,
        sequence_kernels=sequence_kernels,
        alphabet=alphabet,
        skip_letters=skip_letters,
        ignore_case=ignore_case,
        storage=storage,
        max_rank=max_rank,
        folder=folder,
        event=event,
    )
    strength = StrengthRequest(alpha, C, p, cv, scoring)
    _fitting.run_fit(request, method, strength, output, dask, stream, json=json)


@user_errors
def path(
    data: options.DataFiles,
    target: options.Target = None,
    method: options.MethodName = "spicy",
    task: options.TaskName = None,
    loss: options.LossName = None,
    kernels: options.KernelChoice = "default",
    interactions: options.WithInteractions = False,
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
    with loading():
        from multikernel.cli import _paths

    request = Request(
        data=data,
        target=target,
        task=task,
        loss=loss,
        kernels=kernels,
        interactions=interactions,
        tol=tol,
        settings=settings,
        scale=scale,
        impute=impute,
        drop=drop,
        view=view,
        category=category,
        group=None,
        sequence=sequence,
        sequence_kernels=sequence_kernels,
        alphabet=alphabet,
        skip_letters=skip_letters,
        ignore_case=ignore_case,
        storage=storage,
        max_rank=max_rank,
    )
    _paths.run_path(request, method, n_alphas, alpha_min_ratio, plot, json=json)


@user_errors
def compare(
    data: options.DataFiles,
    target: options.Target = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            help="Method to compare, as for fit; may be repeated. All that suit the "
            "targets if not given.",
            autocompletion=options.complete("METHODS"),
        ),
    ] = None,
    folds: Annotated[
        int, typer.Option(help="Folds that all methods are scored on.", min=2)
    ] = 5,
    scoring: Annotated[
        str | None,
        typer.Option(
            help="Score of scikit-learn, such as roc_auc; accuracy or R2 if not given.",
            metavar="NAME",
        ),
    ] = None,
    cv: Annotated[
        int | None,
        typer.Option(
            help="Choose the strength of each by cross-validation with so many folds, "
            "within the others; else it is the default."
        ),
    ] = None,
    task: options.TaskName = None,
    kernels: options.KernelChoice = "default",
    interactions: options.WithInteractions = False,
    tol: options.Tolerance = None,
    scale: options.Scale = True,
    impute: options.Impute = None,
    drop: options.Drop = None,
    view: options.ViewColumns = None,
    category: options.CategoryColumns = None,
    group: Annotated[
        str | None,
        typer.Option("--group", help="Column of groups that folds keep together."),
    ] = None,
    sequence: options.SequenceColumns = None,
    sequence_kernels: options.SequenceKernels = "default",
    alphabet: options.AlphabetName = None,
    skip_letters: options.SkipLetters = False,
    ignore_case: options.IgnoreCase = False,
    json: options.Json = False,
) -> None:
    """Cross-validate several methods on the same folds of the same data."""
    with loading():
        from multikernel.cli import _compare

    request = Request(
        data=data,
        target=target,
        task=task,
        loss=None,
        kernels=kernels,
        interactions=interactions,
        tol=tol,
        settings=None,
        scale=scale,
        impute=impute,
        drop=drop,
        view=view,
        category=category,
        group=group,
        sequence=sequence,
        sequence_kernels=sequence_kernels,
        alphabet=alphabet,
        skip_letters=skip_letters,
        ignore_case=ignore_case,
    )
    _compare.run_compare(request, method, folds, scoring, cv, json=json)
