"""Facts about fitted models, as JSON and as tables."""

import numpy as np
from rich.table import Column
from rich.text import Text
from sklearn.base import BaseEstimator, is_classifier, is_outlier_detector

from multikernel.cli._messages import say, with_options
from multikernel.cli._outputs import Report, aligned, print_table, readable
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.publish import summary
from multikernel.inspection.pipelines import final_estimator

CHOSEN = ("alpha", "C", "p", "theta")
"""Parameters that cross-validation may choose."""

FIT_OPTIONS = ("--alpha", "--max-rank", "--set", "--tol")
"""Options of fit that replace parameters in status messages."""

PLAIN = (str, int, float, bool)
"""Types of the parameters that reports contain."""


def model_report(estimator: BaseEstimator) -> Report:
    """Return the facts about a fitted model, alone or in a pipeline."""
    model = final_estimator(estimator)
    facts, has_views = summary.facts(model), hasattr(model, "kernel_views_")
    strengths = {name: getattr(model, f"{name}_", None) for name in CHOSEN}
    parameters = model.get_params(deep=False).items()
    return {
        "estimator": type(model).__name__,
        "task": task_of(model),
        "measure": score_name(model),
        **{name: value for name, value in strengths.items() if value is not None},
        "score": facts.get("score"),
        "scoring": facts.get("scoring"),
        "parameters": {k: v for k, v in parameters if isinstance(v, PLAIN)},
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
        # Active kernels by decreasing weight (by norm for graph nodes, by order of
        # selection for greedy methods), with ``class`` or ``target`` if there are
        # several outputs.
        "kernels": _kernel_rows(model),
        "views": summary.summary_rows(model, "view") if has_views else None,
        "unpenalized": summary.unpenalized_rows(model) or None,
    }


def _kernel_rows(model: BaseMKL) -> list[Report]:
    """Return a dictionary for each active kernel of every output."""
    names = model.kernel_names_
    # Weights of graph nodes decrease with depth, so norms are reported instead.
    is_graph = hasattr(model, "hull_")
    weights = np.atleast_2d(model.node_norms_ if is_graph else model.kernel_weights_)
    measure = "norm" if is_graph else "weight"
    shares, norms = np.atleast_2d(model.variance_shares_, model.block_norms_)
    weights = np.broadcast_to(weights, shares.shape)
    views = getattr(model, "kernel_views_", None)
    label_key = "class" if hasattr(model, "classes_") else "target"
    rows = []
    for output, label in enumerate(summary.output_labels(model, len(weights))):
        row = weights[output]
        # Greedily selected kernels have equal weights and a selection order.
        order = getattr(model, "selection_order_", np.argsort(-row, kind="stable"))
        rows += [
            {
                **({} if label is None else {label_key: label}),
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


def score_name(model: BaseMKL) -> str:
    """Return the name of a fitted model's score; D2 if its loss has a deviance."""
    if is_outlier_detector(model):
        return "share inside"
    name = summary.default_score(model)
    return {"r2": "R2", "d2": "D2"}.get(name, name)


def task_of(model: BaseMKL) -> str:
    """Return the task of a fitted model."""
    if is_outlier_detector(model):
        return "novelty detection"
    if summary.predicts_times(model):
        return "survival"
    if hasattr(model, "thresholds_"):
        return "ordinal"
    return "classification" if is_classifier(model) else "regression"


def chosen_parameters(report: Report) -> dict[str, object]:
    """Return the strengths, and the cross-validated score if a search chose them."""
    ending = " chosen" if report["score"] is not None else ""
    values = {f"{name}{ending}": report[name] for name in CHOSEN if name in report}
    if report["score"] is not None:
        values[f"{report['scoring']} in cross-validation"] = report["score"]
    return values


def print_kernels(report: Report, max_rows: int = summary.MOST_ROWS) -> None:
    """Write tables of views, unpenalized columns, and the first active kernels."""
    titles = {"views": "views", "unpenalized": "columns without a penalty"}
    for key, title in titles.items():
        if rows := report[key]:
            headings = [name.replace("_", " ") for name in rows[0]]
            cells = [[readable(value) for value in row.values()] for row in rows]
            print_table(title, headings, cells)
    kernels = report["kernels"]
    first_kernel = kernels[0] if kernels else {}
    output = [key for key in ("class", "target") if key in first_kernel]
    measure = "norm" if "norm" in first_kernel else "weight"
    # If all weights are equal, bars show the variance shares.
    are_equal = len({kernel[measure] for kernel in kernels}) == 1
    bar_key = "variance_share" if are_equal else measure
    largest = max((abs(kernel[bar_key]) for kernel in kernels), default=0.0) or 1.0
    print_table(
        f"{report['n_active']} of {report['n_kernels']} kernels in use",
        [*output, "kernel", *aligned(measure, "share"), Column("", min_width=12)],
        [
            (
                *(str(kernel[key]) for key in output),
                kernel["name"],
                *(f"{kernel[key]:.4f}" for key in (measure, "variance_share")),
                Text("█" * max(1, round(12 * abs(kernel[bar_key]) / largest)), "blue"),
            )
            for kernel in kernels[:max_rows]
        ],
    )
    if len(kernels) > max_rows:
        say(f"... and {len(kernels) - max_rows} more; --json lists all.")


def diagnostics(report: Report) -> dict[str, object]:
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
        "status": with_options(report["status_message"], FIT_OPTIONS),
    }
