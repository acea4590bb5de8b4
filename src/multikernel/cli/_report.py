"""Reports on fitted models: tables, JSON and plots."""

import io
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from rich.table import Column, Table
from rich.text import Text
from sklearn.base import is_classifier, is_outlier_detector

from multikernel.cli._messages import console, say
from multikernel.cli._outputs import ending
from multikernel.display._style import pyplot
from multikernel.estimators.publish import summary
from multikernel.inspection.pipelines import final_estimator
from multikernel.persistence.places import Place, write_to

CHOSEN = ("alpha", "C", "p", "theta")
"""Parameters that cross-validation may choose."""


def model_report(estimator: Any) -> dict[str, Any]:
    """Return the facts about a fitted model, alone or in a pipeline.

    ``kernels`` lists the active kernels by decreasing weight (by norm for hulls, by
    order of selection for greedy methods). Entries carry ``class`` or ``target`` if
    there are several outputs.
    """
    model = final_estimator(estimator)
    facts, has_views = summary.facts(model), hasattr(model, "kernel_views_")
    parameters = {name: getattr(model, f"{name}_", None) for name in CHOSEN}
    return {
        "estimator": type(model).__name__,
        "task": task_of(model),
        "measure": score_name(model),
        **{name: value for name, value in parameters.items() if value is not None},
        "score": facts.get("score"),
        "scoring": facts.get("scoring"),
        "parameters": _plain_parameters(model),
        "n_kernels": facts["n_kernels"],
        "n_active": facts["n_active"],
        "objective": model.objective_,
        "duality_gap": model.duality_gap_,
        "reduced_gap": getattr(model, "reduced_gap_", None),
        "machine_gap": getattr(model, "machine_gap_", None),
        "tol": model.tol,
        "n_iter": model.n_iter_,
        "status": model.status_,
        "status_message": model.status_message_,
        "storage": model.fit_info_.get("storage"),
        "storage_reason": model.fit_info_.get("storage_reason"),
        "kernels": _kernel_rows(model),
        "views": summary.summary_rows(model, "view") if has_views else None,
        "unpenalized": summary.unpenalized_rows(model) or None,
    }


def _kernel_rows(model: Any) -> list[dict[str, Any]]:
    """Return a dictionary for each active kernel of every output."""
    names = model.kernel_names_
    # Weights of graph nodes decrease with depth, so norms are reported instead.
    graph = hasattr(model, "hull_")
    weights = np.atleast_2d(model.node_norms_ if graph else model.kernel_weights_)
    measure = "norm" if graph else "weight"
    shares, norms = np.atleast_2d(model.variance_shares_, model.block_norms_)
    weights = np.broadcast_to(weights, shares.shape)
    views = getattr(model, "kernel_views_", None)
    kind = "class" if hasattr(model, "classes_") else "target"
    rows = []
    for output, label in enumerate(summary.output_labels(model, len(weights))):
        row = weights[output]
        # Greedily selected kernels have equal weights and a selection order.
        order = getattr(model, "selection_order_", np.argsort(-row, kind="stable"))
        rows += [
            {
                **({} if label is None else {kind: label}),
                "name": names[m],
                "index": m,
                measure: row[m],
                **({} if views is None else {"view": views[m]}),
                "block_norm": norms[output, m],
                "variance_share": shares[output, m],
            }
            for m in order[row[order] > 0]
        ]
    return rows


SCORES = {
    "classification": "accuracy",
    "regression": "R2",
    "survival": "concordance",
    "ordinal": "accuracy",
    "novelty detection": "share inside",
}
"""Name of the score of each task."""


def score_name(model: Any) -> str:
    """Return the name of a fitted model's score; D2 if its loss has a deviance."""
    task = task_of(model)
    has_deviance = task == "regression" and model._state.deviance is not None
    return "D2" if has_deviance else SCORES[task]


def task_of(model: Any) -> str:
    """Return the task of a fitted model, a key of `SCORES`."""
    if is_outlier_detector(model):
        return "novelty detection"
    if summary.predicts_times(model):
        return "survival"
    if hasattr(model, "thresholds_"):
        return "ordinal"
    return "classification" if is_classifier(model) else "regression"


def _plain_parameters(model: Any) -> dict[str, Any]:
    """Return the parameters that are numbers, strings or booleans."""
    plain = (str, int, float, bool)
    parameters = model.get_params(deep=False)
    return {key: value for key, value in parameters.items() if isinstance(value, plain)}


def print_json(report: Mapping[str, Any]) -> None:
    """Write a report as JSON: NaN becomes null, infinity becomes text."""
    sys.stdout.write(json.dumps(_jsonable(report), indent=2, allow_nan=False) + "\n")


def _jsonable(value: Any) -> Any:
    """Return a value converted to types that JSON supports."""
    if isinstance(value, Mapping):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, np.generic | np.ndarray):
        return _jsonable(value.tolist())
    if isinstance(value, list | tuple):
        return [_jsonable(item) for item in value]
    if isinstance(value, float) and math.isinf(value):
        return str(value)
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


def right(*heads: str) -> list[Column]:
    """Return right-aligned table columns with these headings."""
    return [Column(head, justify="right") for head in heads]


def print_table(
    title: str, columns: Sequence[str | Column], rows: Iterable[Sequence[str | Text]]
) -> None:
    """Write a table to standard output; long cells are wrapped."""
    table = Table(*columns, title=title, title_justify="left")
    for column in table.columns:
        column.overflow = "fold"
    for row in rows:
        table.add_row(*row)
    console().print(table)


def print_facts(facts: Mapping[str, Any], title: str) -> None:
    """Write aligned names and values to standard output."""
    table = Table(title=title, title_justify="left", box=None, show_header=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(name, _readable(value))
    console().print(table)


def chosen_parameters(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the strengths, and the cross-validated score if a search chose them."""
    ending = " chosen" if report["score"] is not None else ""
    words = {f"{name}{ending}": report[name] for name in CHOSEN if name in report}
    if report["score"] is not None:
        words[f"{report['scoring']} in cross-validation"] = report["score"]
    return words


def print_kernels(report: Mapping[str, Any], most: int = summary.MOST_ROWS) -> None:
    """Write tables of views, unpenalized columns, and the first active kernels."""
    if report["views"]:
        heads = [key.replace("_", " ") for key in report["views"][0]]
        rows = [[_readable(value) for value in row.values()] for row in report["views"]]
        print_table("views", heads, rows)
    if report["unpenalized"]:
        free = summary.table_columns(report["unpenalized"])
        rows = [[_readable(v) for v in row] for row in zip(*free.values(), strict=True)]
        print_table("columns without a penalty", [*free], rows)
    kernels = report["kernels"]
    first = kernels[0] if kernels else {}
    output = [key for key in ("class", "target") if key in first]
    measure = "norm" if "norm" in first else "weight"
    # If all weights are equal, bars show the shares.
    equal = len({kernel[measure] for kernel in kernels}) == 1
    lengths = "variance_share" if equal else measure
    largest = max((abs(kernel[lengths]) for kernel in kernels), default=0.0) or 1.0
    print_table(
        f"{report['n_active']} of {report['n_kernels']} kernels in use",
        [*output, "kernel", *right(measure, "share"), Column("", min_width=12)],
        [
            (
                *(str(kernel[key]) for key in output),
                kernel["name"],
                *(f"{kernel[key]:.4f}" for key in (measure, "variance_share")),
                Text("█" * max(1, round(12 * abs(kernel[lengths]) / largest)), "blue"),
            )
            for kernel in kernels[:most]
        ],
    )
    if len(kernels) > most:
        say(f"... and {len(kernels) - most} more; --json lists all.")


def diagnostics(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the objective, gap, tolerance, iterations and status by display name."""
    gap = {"relative duality gap": report["duality_gap"]}
    if report.get("reduced_gap") is not None:
        gap = {
            "relative duality gap, whole graph": report["duality_gap"],
            "relative duality gap, visited kernels": report["reduced_gap"],
        }
    if np.all(np.isnan(report["duality_gap"])):  # a heuristic without certificate
        gap = {"gap of the machine": report.get("machine_gap")}
    return {
        "objective": report["objective"],
        **{name: value for name, value in gap.items() if value is not None},
        "tolerance": report["tol"],
        "iterations": report["n_iter"],
        "status": report["status_message"],
    }


def _readable(value: Any) -> str:
    """Return a value as text for a table."""
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    if isinstance(value, np.ndarray | list | tuple):
        return ", ".join(_readable(item) for item in value)
    return str(value)


def off_screen() -> Any:
    """Return pyplot with a backend that draws into files only."""
    plt = pyplot()
    plt.switch_backend("Agg")
    return plt


def picture_formats() -> list[str]:
    """Return the suffixes of the supported plot formats, PNG first."""
    off_screen()
    from matplotlib.backend_bases import FigureCanvasBase

    names = sorted(
        FigureCanvasBase.get_supported_filetypes(), key=lambda name: name != "png"
    )
    return [f".{name}" for name in names]


def save_plot(display: Any, place: Place) -> None:
    """Write a plot to a file; the suffix (.png, .pdf, .svg) selects the format."""
    plt = off_screen()
    figure = display.plot().figure_
    picture = io.BytesIO()
    kind = ending(place, picture_formats())
    figure.savefig(picture, dpi=120, format=kind.removeprefix("."))
    plt.close(figure)
    write_to(place, picture.getvalue())
