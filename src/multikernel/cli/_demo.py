"""The command `multikernel demo`."""

import warnings
from contextlib import closing
from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline

from multikernel.cli import _outputs, _report
from multikernel.cli._features import Table
from multikernel.cli._fitting import fit_table
from multikernel.cli._messages import say
from multikernel.cli._outputs import Report
from multikernel.cli._requests import Demo
from multikernel.cli._training import transformed
from multikernel.display import (
    ConvergenceDisplay,
    KernelWeightsDisplay,
    RegularizationPathDisplay,
)
from multikernel.estimators import ProgressBar, SpicyMKLClassifier, regularization_path
from multikernel.exceptions import DictionaryWarning
from multikernel.gram.temporary import create_folder
from multikernel.kernels import spicy_dictionary
from multikernel.persistence.places import find_place


def run_demo(request: Demo) -> None:
    """Train a model on the breast cancer data, print a report, and plot it."""
    _check_folder(request.output)
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y.to_numpy(), test_size=0.2, stratify=y, random_state=0
    )
    table = Table(X_train, y_train)
    model = SpicyMKLClassifier(spicy_dictionary(X.shape[1]), alpha=0.02, tol=1e-4)
    # Kernels with the paper's smallest widths are almost zero between any two of these
    # samples, which would cause a warning.
    warnings.simplefilter("ignore", DictionaryWarning)
    pipeline, facts = fit_table(model, table, scale=True, title="SpicyMKL")
    report = {
        "training_samples": len(table.y),
        "seconds": facts["seconds"],
        "test_accuracy": pipeline.score(X_test, y_test),
        "alpha": model.alpha,
    } | _report.model_report(pipeline)
    if not request.json:
        _show_demo(report)
    report["plots"] = _draw(pipeline, table, request.output)
    if request.json:
        _outputs.print_json(report)
        return
    for picture in report["plots"]:
        say(f"Plot saved as {picture}")


def _check_folder(output: Path) -> None:
    """Raise unless a path is a folder or can become one."""
    if str(output) == "-" or (output.exists() and not output.is_dir()):
        raise NotADirectoryError(
            f"Cannot write the plots into {output}, which is not a folder: pass a "
            "folder as --output."
        )


def _show_demo(report: Report) -> None:
    """Print the facts, the diagnostics and the kernels of the demo."""
    facts = {
        "data": "breast cancer (Wisconsin), benign or malignant, 30 measurements",
        "training samples": report["training_samples"],
        "candidate kernels": report["n_kernels"],
        "seconds": report["seconds"],
        "test accuracy": report["test_accuracy"],
    }
    _outputs.print_facts(
        facts | _report.diagnostics(report),
        f"{report['estimator']}, alpha={report['alpha']}",
    )
    _report.print_kernels(report)


def _draw(pipeline: Pipeline, table: Table, output: Path) -> list[str]:
    """Write the three plots and return their paths; none without matplotlib."""
    try:
        _outputs.agg_pyplot()
    except ImportError as error:
        say(f"No plots: {error}", stderr=True)
        return []
    create_folder(output)
    model = pipeline["model"]
    with closing(ProgressBar("Regularization path")) as watch:
        path = regularization_path(
            model, transformed(table), table.y, n_alphas=20, callback=watch
        )
    names = path.kernel_names
    displays: dict[str, _outputs.Drawable] = {
        "weights.png": KernelWeightsDisplay(model.kernel_weights_, names),
        "convergence.png": ConvergenceDisplay(model.history_, tol=model.tol),
        "path.png": RegularizationPathDisplay.from_path(path, best_alpha=model.alpha),
    }
    for name, display in displays.items():
        _outputs.save_plot(display, find_place(output / name))
    return [str(output / name) for name in displays]
