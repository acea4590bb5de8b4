"""``multikernel fit``: train a model on a file and save it."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from multikernel.cli._errors import user_errors
from multikernel.cli._options import (
    DataFile,
    Drop,
    Json,
    KernelChoice,
    LossName,
    MethodName,
    Scale,
    Settings,
    Target,
    TaskName,
    Tolerance,
)
from multikernel.cli._report import (
    diagnostics,
    model_report,
    print_facts,
    print_json,
    print_kernels,
)
from multikernel.cli._tables import read_table
from multikernel.cli._training import Training, fit_live, make_estimator, with_scaling
from multikernel.persistence import save


@user_errors
def fit(
    data: DataFile,
    target: Target,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Model file to write.")
    ] = None,
    method: MethodName = "spicy",
    task: TaskName = None,
    loss: LossName = None,
    kernels: KernelChoice = "default",
    alpha: Annotated[
        float | None, typer.Option(help="Regularization strength, on the mean loss.")
    ] = None,
    cv: Annotated[
        int | None,
        typer.Option(
            help="Choose the strength by cross-validation with so many folds."
        ),
    ] = None,
    tol: Tolerance = None,
    settings: Settings = None,
    scale: Scale = True,
    drop: Drop = None,
    json: Json = False,
) -> None:
    """Train a model on a CSV, Parquet or npz file, and save it."""
    if alpha is not None and cv is not None:
        raise ValueError("--alpha and --cv exclude each other: --cv chooses alpha.")
    if output is not None and not output.parent.is_dir():
        raise FileNotFoundError(f"The folder {output.parent} does not exist.")
    training = Training(method, task, loss, kernels, tol, settings or [])
    table = read_table(data, target, drop or [])
    chosen = training.chosen_method()
    kinds = chosen.estimators if cv is None else chosen.cv_estimators
    strength = {name: v for name, v in (("alpha", alpha), ("cv", cv)) if v is not None}
    parameters = training.parameters(table) | strength
    estimator = make_estimator(kinds[training.chosen_task(table)], parameters)
    pipeline = with_scaling(estimator, table, scale)
    seconds = fit_live(pipeline, table, chosen.title)
    if output is not None:
        save(pipeline, output)
    report = _report(pipeline, table, seconds) | {
        "model_file": None if output is None else str(output)
    }
    if json:
        print_json(report)
    else:
        _show(report)


def _report(pipeline: Any, table: Any, seconds: float) -> dict[str, Any]:
    """Collect the model's report and what only the training knows."""
    report = {
        "n_samples": len(table.y),
        "seconds": seconds,
        "training_score": pipeline.score(table.X, table.y),
    }
    model = pipeline["model"]
    if hasattr(model, "alpha_"):
        report["alpha"] = model.alpha_
    return report | model_report(pipeline, table.kernel_names)


def _show(report: dict[str, Any]) -> None:
    facts = {"samples": report["n_samples"], "seconds": report["seconds"]}
    if "alpha" in report:
        facts["alpha chosen"] = report["alpha"]
    facts |= {"training score": report["training_score"]} | diagnostics(report)
    print_facts(facts, report["estimator"])
    print_kernels(report)
    if report["model_file"] is not None:
        Console(soft_wrap=True).print(f"Model saved as {report['model_file']}")
