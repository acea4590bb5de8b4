"""Summaries of fitted models: tables of kernels, views and columns, and HTML."""

import html
import importlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from multikernel._typing import Array
from multikernel.estimators.publish.columns import column_names
from multikernel.estimators.publish.fitted import FittedEstimator
from multikernel.estimators.publish.sobol import sobol_of, training_table

if TYPE_CHECKING:
    from pandas import DataFrame

STRENGTHS = ("alpha", "C", "p", "theta", "max_kernels")
"""Parameters of regularization, shown if they are given or chosen."""

MOST_ROWS = 20
"""Maximum number of kernels or views that are shown per output."""


def summary_rows(
    model: FittedEstimator, by: str = "kernel", outputs: str | None = None
) -> list[dict[str, object]]:
    """Return the rows of ``summary`` as mappings from column names to values."""
    if outputs not in (None, "all", "each"):
        raise ValueError(f"outputs must be 'all', 'each' or None, got {outputs!r}.")
    if by not in ("kernel", "view", "column"):
        raise ValueError(f"by must be 'kernel', 'view' or 'column', got {by!r}.")
    if by == "column":
        return _column_rows(model, outputs)
    views = model._fitted().names.views
    if by == "view" and views is None:
        raise ValueError(
            f"by='view' requires views, but {type(model).__name__} was fitted without "
            "views: pass kernels as a mapping from names to columns, and fit again."
        )
    shares, norms = np.atleast_2d(model.variance_shares_, model.block_norms_)
    weights = np.broadcast_to(np.atleast_2d(model.kernel_weights_), shares.shape)
    if _is_averaged(model, outputs):
        weights, shares = (x.mean(axis=0, keepdims=True) for x in (weights, shares))
        norms = np.linalg.norm(norms, axis=0, keepdims=True)
    rows: list[dict[str, object]] = []
    output_cells = _output_cells(model, len(shares))
    for output_cell, *values in zip(output_cells, weights, norms, shares, strict=True):
        if by == "view" and views is not None:
            rows += [output_cell | row for row in _view_rows(views, *values)]
        else:
            rows += [output_cell | row for row in _kernel_rows(model, views, *values)]
    return rows


def unpenalized_rows(model: FittedEstimator) -> list[dict[str, object]]:
    """Return a row with the coefficient of each unpenalized column for each output."""
    names = getattr(model, "unpenalized_names_", [])
    if not names:
        return []
    coefs = np.atleast_2d(model.unpenalized_coef_)
    return [
        head | {"column": f"{name} (unpenalized)", "coefficient": float(value)}
        for head, values in zip(_output_cells(model, len(coefs)), coefs, strict=True)
        for name, value in zip(names, values, strict=True)
    ]


def table_columns(rows: Sequence[Mapping[str, object]]) -> dict[str, list[object]]:
    """Convert the rows of a table to columns; values that a row lacks are nan."""
    keys = dict.fromkeys(key for row in rows for key in row)
    return {key: [row.get(key, np.nan) for row in rows] for key in keys}


def _is_averaged(model: FittedEstimator, outputs: str | None) -> bool:
    """Return whether each row of a summary describes all outputs together."""
    # `outputs` is the argument of ``summary``. None means together if all outputs share
    # the kernel weights.
    one_selection = np.ndim(model.kernel_weights_) == 1
    return outputs == "all" or (outputs is None and one_selection)


def _output_cells(model: FittedEstimator, n_rows: int) -> list[dict[str, object]]:
    """Return {"output": label} for each of `n_rows` outputs; [{}] for one output."""
    labels = output_labels(model, n_rows)
    return [{} if label is None else {"output": label} for label in labels]


def _column_rows(
    model: FittedEstimator, outputs: str | None
) -> list[dict[str, object]]:
    """Return table rows of the columns in use, by descending total Sobol index."""
    # The rows are for all outputs together, or for each output, see `_is_averaged`.
    indices = sobol_of(model, *training_table(model), column_names(model))
    first, total = np.atleast_2d(indices.first_order, indices.total)
    if _is_averaged(model, outputs):
        first, total = (values.mean(axis=0, keepdims=True) for values in (first, total))
    heads = _output_cells(model, len(total))
    return [
        head
        | {
            "column": indices.names[g],
            "first_order": float(first_indices[g]),
            "total": float(total_indices[g]),
        }
        for head, first_indices, total_indices in zip(heads, first, total, strict=True)
        for g in np.argsort(-total_indices, kind="stable").tolist()
    ]


def output_labels(model: FittedEstimator, n_outputs: int) -> Sequence[Hashable]:
    """Return the classes or names of a model's outputs; [None] for one output."""
    if n_outputs == 1:
        return [None]
    classes, names = list(getattr(model, "classes_", ())), model.output_names_
    # Keep the type of classes that are numbers.
    return classes if [str(label) for label in classes] == names else list(names)


def _kernel_rows(
    model: FittedEstimator,
    views: Sequence[str] | None,
    weights: Array,
    norms: Array,
    shares: Array,
) -> Iterator[dict[str, object]]:
    """Yield table rows for the kernels in use, the largest absolute share first."""
    active = np.flatnonzero((weights > 0.0) | (norms > 0.0))
    order = active[np.argsort(-np.abs(shares[active]), kind="stable")]
    names = model._fitted().names(order.tolist())
    for name, m in zip(names, order.tolist(), strict=True):
        view_cell = {} if views is None else {"view": views[m]}
        yield {
            "kernel": name,
            **view_cell,
            "weight": float(weights[m]),
            "block_norm": float(norms[m]),
            "variance_share": float(shares[m]),
        }


def _view_rows(
    views: Sequence[str], weights: Array, norms: Array, shares: Array
) -> Iterator[dict[str, object]]:
    """Yield a table row for each view, in the order of the views."""
    is_active = (weights > 0.0) | (norms > 0.0)
    for view, kernel_indices in view_members(views).items():
        yield {
            "view": view,
            "n_kernels": int(np.count_nonzero(is_active[kernel_indices])),
            "weight": float(weights[kernel_indices].sum()),
            "variance_share": float(shares[kernel_indices].sum()),
        }


def view_members(views: Sequence[str]) -> dict[str, list[int]]:
    """Return the indices of the kernels of every view, in the order of the views."""
    kernels_by_view: dict[str, list[int]] = {}
    for kernel, view in enumerate(views):
        kernels_by_view.setdefault(view, []).append(kernel)
    return kernels_by_view


def view_sums(views: Sequence[str], values: Array) -> dict[str, float | Array]:
    """Return sums over the kernels of every view, per output if there are several."""
    sums = {v: values[..., m].sum(axis=-1) for v, m in view_members(views).items()}
    return {v: float(s) if np.ndim(s) == 0 else s for v, s in sums.items()}


def facts(model: FittedEstimator) -> dict[str, object]:
    """Return facts about a fitted model: numbers of kernels, strengths, gap, score."""
    weights = np.atleast_2d(model.kernel_weights_)
    values: dict[str, object] = {
        "estimator": type(model).__name__,
        "n_active": int(model.active_kernels_.size),
        "n_kernels": int(getattr(model, "n_kernels_", 0) or weights.shape[1]),
    }
    for name in STRENGTHS:
        value = getattr(model, f"{name}_", getattr(model, name, None))
        if value is not None and not callable(value):
            values[name] = value
    if model.fit_info_.get("left_out"):
        values["left_out"] = model.fit_info_["left_out"]
    # With several outputs, this is the largest gap.
    gap = float(np.max(model.duality_gap_))
    values |= {} if np.isnan(gap) else {"duality_gap": gap, "tol": model.tol}
    if hasattr(model, "best_score_"):
        scoring = getattr(model, "scoring", None)
        values["score"] = model.best_score_
        name = getattr(scoring, "__name__", repr(scoring))
        values["scoring"] = scoring if isinstance(scoring, str) else name
        if scoring is None:
            values["scoring"] = search_score(model)
    return values


def default_score(model: object) -> str:
    """Return the name of the score that a fitted model's `score` returns."""
    if predicts_times(model):
        return "concordance"
    if hasattr(model, "classes_"):
        return "accuracy"
    state = getattr(model, "_state", None)  # None for searches of scikit-learn
    return "r2" if state is None or state.deviance is None else "d2"


def search_score(model: object) -> str:
    """Return the name of the score that a search maximizes by default."""
    return "concordance" if hasattr(model, "thresholds_") else default_score(model)


def predicts_times(model: object) -> bool:
    """Return whether a model, or one in a pipeline, predicts times to an event."""
    return hasattr(model, "predict_survival_function")


def data_frame(columns: Mapping[str, list[object]]) -> "DataFrame":
    """Return columns as a pandas data frame; raise if pandas is not installed."""
    try:
        pandas = importlib.import_module("pandas")
    except ImportError as error:
        raise ImportError(
            "summary requires pandas: install it with 'pip install pandas'."
        ) from error
    table: DataFrame = pandas.DataFrame(columns)
    return table


def fitted_html(model: FittedEstimator) -> str:
    """Return the summary of a fitted model as HTML; "" for a search without refit."""
    state = vars(model).get("_state")
    if state is None or state.model is None:
        return ""
    sentence = f"{_sentence(facts(model))}."
    bys = ["kernel"] if state.names.views is None else ["view", "kernel"]
    tables = "".join(html_table(table_columns(summary_rows(model, by))) for by in bys)
    unpenalized = unpenalized_rows(model)
    tables += html_table(table_columns(unpenalized)) if unpenalized else ""
    return (
        f"<div><p>{html.escape(sentence)}</p>{tables}<p>Shares of the "
        "variance sum to one; a negative share belongs to a term that counteracts "
        "others.</p></div>"
    )


def _sentence(values: Mapping[str, object]) -> str:
    """Return facts as one line of text."""
    parts = [f"{values['n_active']} of {values['n_kernels']} kernels in use"]
    parts += [f"{key} {shown(values[key])}" for key in STRENGTHS if key in values]
    if "duality_gap" in values:
        gap, tol = shown(values["duality_gap"]), shown(values["tol"])
        parts.append(f"relative duality gap {gap} (tolerance {tol})")
    if "score" in values:
        parts.append(
            f"{values['scoring']} in cross-validation {shown(values['score'])}"
        )
    if "left_out" in values:
        parts.append(f"left out {values['left_out']}")
    return ", ".join(parts)


def html_table(
    columns: Mapping[str, list[object]], all_in: str | None = "summary()"
) -> str:
    """Return columns as a table in HTML; a long table shows only its first rows."""
    # A note on the hidden rows names `all_in`, the method that returns all rows; None
    # means that there is no such method.
    heads = "".join(f"<th>{html.escape(key.replace('_', ' '))}</th>" for key in columns)
    rows = list(zip(*columns.values(), strict=True))
    body = "".join(
        "<tr>" + "".join(map(_html_cell, row)) + "</tr>" for row in rows[:MOST_ROWS]
    )
    n_hidden = len(rows) - MOST_ROWS
    where = f": {all_in} has all" if all_in else ""
    note = f"<p>and {n_hidden} more{where}</p>" if n_hidden > 0 else ""
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{note}"


def _html_cell(value: object) -> str:
    """Return a cell of a table; numbers are aligned to the right."""
    right = " style='text-align: right'" * isinstance(value, float | int)
    return f"<td{right}>{html.escape(shown(value))}</td>"


def shown(value: object) -> str:
    """Return a value as text for a table; numbers have three digits."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)
