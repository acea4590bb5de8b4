"""A fitted model as one HTML page that needs no network."""

import html
import importlib
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from multikernel._report import cautions
from multikernel._report.outcomes import (
    Answers,
    checked_targets,
    html_image,
    outcomes_on,
    scrolling,
)
from multikernel._report.outcomes_of_times import outcomes_of_times
from multikernel._report.pictures import pictures_of, stopping_gap
from multikernel.display import VarianceSplitDisplay
from multikernel.display.weights import shown_values
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.publish import summary
from multikernel.estimators.publish.columns import (
    column_names,
    has_columns,
    term_names,
    terms_by_columns,
)
from multikernel.inspection import Bootstrap, NestedScores, VarianceSplit
from multikernel.inspection.pipelines import final_estimator
from multikernel.linalg.tables import find_memmap
from multikernel.persistence import PathLike
from multikernel.persistence.places import find_place, write_to

STYLE = Path(__file__).parent / "report.css"


def report(
    model: BaseEstimator,
    X: object = None,
    y: ArrayLike | None = None,
    path: PathLike | None = None,
    *,
    offset: ArrayLike | None = None,
    bootstrap: Bootstrap | None = None,
    split: VarianceSplit | None = None,
    nested: NestedScores | None = None,
) -> str:
    """Return an HTML report on a fitted model: one page that needs no network.

    The page contains the certificate, scores, tables and plots of kernels and views,
    shape functions, the largest interactions, parameters, and warnings (such as
    training samples among the rows). Classifiers also get a confusion matrix and a
    calibration curve, regressors plots of predictions and residuals, and survival
    models Kaplan-Meier curves and calibration.

    Parameters
    ----------
    model : estimator
        A fitted multiple kernel model, or a pipeline or search that ends in one.
    X : array-like or data frame of shape (n_samples, n_features), default=None
        Data for scores and shape functions, preferably not used in the fit.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        Targets of X, for the scores. For novelty detection, 1 for usual and -1 for
        unusual samples; for times to an event, as in ``fit``.
    path : str or path-like, default=None
        File to which the page is also written, completely or not at all.
    offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        Known parts of the decision values of X, as in ``predict``.
    bootstrap : Bootstrap, default=None
        Result of `multikernel.inspection.bootstrap` for this model; adds intervals.
    split : VarianceSplit, default=None
        Result of `multikernel.inspection.variance_split`; adds a plot of the shares.
    nested : NestedScores, default=None
        Result of `multikernel.inspection.nested_cross_validate`; adds the scores on
        outer folds, and how often each kernel and view was active.

    Returns
    -------
    page : str

    Raises
    ------
    ValueError
        If `y` is passed without `X` or is invalid, or `bootstrap` or `split` belong to
        another model.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import SpicyMKLRegressor, report
    >>> x = np.linspace(-2, 2, 40)[:, None]
    >>> model = SpicyMKLRegressor(alpha=0.1).fit(x, np.sin(x[:, 0]))
    >>> page = report(model, x, np.sin(x[:, 0]))
    >>> page.startswith("<!doctype html>"), "http" in page
    (True, False)
    """
    inner = final_estimator(model)
    _check_results(inner, bootstrap, split, nested)
    # An invalid path must raise before the report is computed.
    target = None if path is None else find_place(path, _gram_files(inner, X))
    if X is None and y is not None:
        raise ValueError("report: y was passed without X: pass both.")
    answers = Answers(model, X, offset)
    with warnings.catch_warnings(record=True) as caught_warnings:
        warnings.simplefilter("always")
        targets = None if y is None else checked_targets(inner, X, y)
        predicted = None if X is None else answers("predict")
        if targets is not None and summary.predicts_times(inner):
            scores, outcomes = outcomes_of_times(model, X, targets)
        else:
            scores, outcomes = outcomes_on(answers, inner, targets, predicted)
        pictures = list(pictures_of(model, inner, X, bootstrap))
        if split is not None:
            picture = html_image(VarianceSplitDisplay(split).plot)
            pictures.insert(1, ("Held-out variance", picture))
    messages = cautions.one_class_warning(inner, predicted)
    messages += cautions.training_rows_warning(model, inner, X) if scores else []
    if bootstrap is not None:
        for by in _table_kinds(inner):
            messages += cautions.interval_warnings(inner, by, bootstrap)
    messages += [] if split is None else cautions.split_warnings(split)
    messages += [str(warning.message) for warning in caught_warnings]
    facts = summary.facts(inner)
    title = f"{facts.pop('estimator')}: {facts['n_active']} of "
    title += f"{facts['n_kernels']} kernels in use"
    n_rows = 0 if predicted is None else len(predicted)
    rows = f"<p>On the {n_rows} rows passed to this report.</p>"
    sections = [
        ("Certificate", _certificate(inner)),
        *([("Scores", _facts_table(scores) + rows)] if scores else []),
        *([] if nested is None else [("Nested cross-validation", _nested(nested))]),
        *outcomes,
        *_tables(inner, bootstrap),
        *pictures,
        ("What was fitted", _fit_section(model, inner, facts)),
        ("Warnings", _warnings_section(inner, messages)),
    ]
    page = _page(title, sections)
    if target is not None:
        write_to(target, page.encode())
    return page


def _check_results(
    inner: BaseMKL,
    bootstrap: Bootstrap | None,
    split: VarianceSplit | None,
    nested: NestedScores | None,
) -> None:
    """Raise unless each result is None, or has the right type and fits the model."""
    for name, result, result_type, function in (
        ("bootstrap", bootstrap, Bootstrap, "bootstrap"),
        ("split", split, VarianceSplit, "variance_split"),
        ("nested", nested, NestedScores, "nested_cross_validate"),
    ):
        if not isinstance(result, result_type | None):
            raise TypeError(
                f"report: {name} must be the result of multikernel.inspection."
                f"{function}, got {result!r}."
            )
    others = []
    if bootstrap is not None and bootstrap.kernel_names != tuple(inner.kernel_names_):
        others.append("bootstrap")
    if split is not None:
        names = {*inner.kernel_names_, *getattr(inner, "kernel_views_", ())}
        unpenalized = {row["column"] for row in summary.unpenalized_rows(inner)}
        names |= unpenalized | ({"unpenalized columns"} if unpenalized else set())
        if has_columns(inner):
            names |= {*term_names(terms_by_columns(inner), column_names(inner))}
        others += [] if names.issuperset(split.names) else ["split"]
    for name in others:
        raise ValueError(
            f"report: {name} was computed for other kernels, views or columns than "
            "those of the model: compute it again for this model."
        )


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style></head><body>
<main><h1>{title}</h1>
{sections}
</main></body></html>"""


def _page(title: str, sections: Sequence[tuple[str, str]]) -> str:
    """Return a page of sections, each a heading and its body."""
    bodies = [
        f"<section><h2>{html.escape(heading)}</h2>{body}</section>"
        for heading, body in sections
    ]
    style = STYLE.read_text(encoding="utf-8")
    return PAGE.format(
        title=html.escape(title), style=style, sections="\n".join(bodies)
    )


def _gram_files(model: BaseMKL, X: object) -> list[PathLike]:
    """Return the files of precomputed Gram matrices, passed as paths or memory maps."""
    kernels = getattr(model, "kernels", None)
    if not (isinstance(kernels, str) and kernels == "precomputed"):
        return []
    memory_map = find_memmap(X)
    if memory_map is not None:
        return [] if memory_map.filename is None else [memory_map.filename]
    paths = X if isinstance(X, list | tuple) else [X]
    return [path for path in paths if isinstance(path, str | os.PathLike)]


def _certificate(model: BaseMKL) -> str:
    """Return the section on the duality gap and the status of the fit."""
    gap = float(np.max(model.duality_gap_))
    status = " ".join(dict.fromkeys(np.atleast_1d(model.status_message_).tolist()))
    if np.isnan(gap):
        return f"<p>{html.escape(status)} This method carries no certificate.</p>"
    solved_gap = stopping_gap(model)
    visited_text = ""
    if solved_gap != gap:
        visited_text = f", and {solved_gap:.2g} over the visited kernels"
    return (
        "<p>No other choice of functions lowers the objective by more than "
        f"<strong>{gap:.2g}</strong> of its value (the relative duality "
        f"gap{visited_text}; the tolerance is {model.tol:g}). {html.escape(status)}</p>"
    )


def _table_kinds(model: BaseMKL) -> list[str]:
    """Return those of "view" and "kernel" that have a table on the page."""
    kinds = ["view"] if hasattr(model, "view_shares_") else []
    # A graph has too many nodes for a table.
    return kinds if hasattr(model, "hull_") else [*kinds, "kernel"]


def _tables(model: BaseMKL, fits: Bootstrap | None) -> Iterator[tuple[str, str]]:
    """Yield headings and tables of views, kernels and unpenalized columns."""
    for by in _table_kinds(model):
        # Each output has its own bootstrap interval, so each also needs its own row.
        outputs = None if fits is None else "each"
        columns = summary.table_columns(summary.summary_rows(model, by, outputs))
        columns |= {} if fits is None else _intervals(columns, model, by, fits)
        yield f"{by.capitalize()}s", scrolling(summary.html_table(columns))
    unpenalized = summary.unpenalized_rows(model)
    if unpenalized:
        table = summary.html_table(summary.table_columns(unpenalized))
        yield "Columns without a penalty", scrolling(table)


def _nested(nested: NestedScores) -> str:
    """Return tables of outer scores, chosen parameters, and frequencies of kernels."""
    scores, parameters = nested.scores, summary.table_columns(nested.best_params)
    facts = {
        f"mean {nested.scoring}": nested.mean,
        "standard deviation over folds": nested.spread,
    }
    numbers: list[object] = list(range(len(scores)))
    folds = {"outer fold": numbers, "score": scores.tolist()}
    tables = [summary.html_table(folds | parameters, all_in=None)]
    kinds = ["kernel"] if nested.kernel_views is None else ["view", "kernel"]
    tables += [summary.html_table(nested.columns(by)) for by in kinds]
    return _facts_table(facts) + "".join(map(scrolling, tables))


def _intervals(
    columns: Mapping[str, list[Any]], model: BaseMKL, by: str, bootstrap: Bootstrap
) -> dict[str, list[object]]:
    """Return two columns: the ends of the 90 % bootstrap intervals of the shares."""
    shares = "view_shares" if by == "view" else "variance_shares"
    _, names = shown_values(model, shares)
    low, high = (np.atleast_2d(end) for end in bootstrap.interval(shares))
    labels: list[object] = list(summary.output_labels(model, len(low)))
    rows = columns.get("output", [None] * len(columns.get(by, [])))
    terms = [
        (labels.index(output), names.index(name))
        for output, name in zip(rows, columns.get(by, []), strict=True)
    ]
    return {
        "from (90 %)": [float(low[term]) for term in terms],
        "to (90 %)": [float(high[term]) for term in terms],
    }


def _facts_table(values: Mapping[str, object]) -> str:
    """Return an HTML table with a row for each name and value."""
    pairs = [(str(key), summary.shown(value)) for key, value in values.items()]
    rows = "".join(
        f"<tr><th>{html.escape(key)}</th><td>{html.escape(text)}</td></tr>"
        for key, text in pairs
    )
    return scrolling(f'<table class="facts">{rows}</table>')


def _fit_section(
    model: BaseEstimator, inner: BaseMKL, facts: Mapping[str, object]
) -> str:
    """Return the section on the model's parameters and the versions of libraries."""
    info = inner.fit_info_
    fit_facts = {"storage": info["storage"]} if "storage" in info else {}
    fit_facts["iterations"] = int(np.max(inner.n_iter_))
    versions = {
        name: importlib.import_module(name).__version__
        for name in ("multikernel", "numpy", "scipy", "sklearn")
    }
    # Without N_CHAR_MAX, scikit-learn truncates the text after 700 characters.
    code = html.escape(model.__repr__(N_CHAR_MAX=10_000), quote=False)
    return f"{_facts_table({**facts, **fit_facts, **versions})}<pre>{code}</pre>"


def _warnings_section(model: BaseMKL, messages: list[str]) -> str:
    """Return the section of warnings; the status of an inexact fit comes first."""
    if stopping_gap(model) > getattr(model, "tol", np.inf):
        messages = [*np.unique(model.status_message_).tolist(), *messages]
    if not messages:
        return "<p>None.</p>"
    items = "".join(f"<li>{html.escape(text)}</li>" for text in dict.fromkeys(messages))
    return f"<ul>{items}</ul>"
