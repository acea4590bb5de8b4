"""A fitted model as one HTML page that needs no network."""

import html
import importlib
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from multikernel import _cautions
from multikernel._outcomes import (
    CURVE_SIZE,
    MOST_CURVES,
    Answers,
    outcomes_on,
    picture_of,
)
from multikernel._outcomes_of_times import outcomes_of_times
from multikernel.display import (
    ContributionDisplay,
    ConvergenceDisplay,
    HeatMapDisplay,
    HullDisplay,
    KernelWeightsDisplay,
    RegularizationPathDisplay,
    VarianceSplitDisplay,
)
from multikernel.estimators.publish import summary
from multikernel.estimators.publish.columns import (
    column_members,
    column_names,
    has_columns,
    term_names,
)
from multikernel.inspection import Bootstrap, NestedScores, VarianceSplit
from multikernel.inspection.pipelines import final_estimator
from multikernel.linalg.tables import backing
from multikernel.persistence import PathLike
from multikernel.persistence.places import find_place, write_to

STYLE = Path(__file__).parent / "report.css"

MOST_GROUPS = 10
"""Outputs that are drawn with a group of bars each; of more, tables say it."""

MOST_BARS = 40
"""Bars of views in one picture: of more, cells of a heat map are easier to compare."""


def report(
    model: Any,
    X: Any = None,
    y: Any = None,
    path: PathLike | None = None,
    *,
    offset: Any = None,
    bootstrap: Bootstrap | None = None,
    split: VarianceSplit | None = None,
    nested: NestedScores | None = None,
) -> str:
    """Return what a fitted model is and says as one self-contained HTML page.

    What was fitted, the certificate, coefficients of columns without a penalty, scores,
    a confusion matrix or pictures of predictions and residuals (for times to an event,
    Kaplan-Meier curves of predicted thirds, and calibration at the median time), tables
    of kernels and views,
    pictures of weights, views, path, shape functions and the largest interactions of
    columns, and what the fit and this page warn of: rows that the model was fitted on,
    one class for all rows, shares outside their own intervals.
    The course of a fit is drawn where it ended above its tolerance, or where the method
    has no gap and what each step gained is all there is to see. Style and pictures are
    inside: the page needs no network, and is made for a phone and for paper as well.

    Parameters
    ----------
    model : estimator
        A fitted multiple kernel model, or a pipeline or search that ends in one.
    X : array-like or data frame of shape (n_samples, n_features), default=None
        Data that the model can predict, best such that it has not seen: scores and
        shape functions are of these, and without there are none.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        Their targets; without, there are no scores. For novelty detection 1 for what is
        usual and -1 for what is not; for times to an event as in ``fit``.
    path : str or path-like, default=None
        A file to write as well, whole or not at all, and never over one of matrices
        that X is read from. Links are followed, and pipes written to.
    offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        Known parts of the decision values of X, as in ``predict``.
    bootstrap : Bootstrap, default=None
        Fits of the same model to resamples, from `multikernel.inspection.bootstrap`:
        tables and pictures of kernels and views then have 90 % intervals.
    split : VarianceSplit, default=None
        Shares of held-out variance of the same model, from
        `multikernel.inspection.variance_split`, to be drawn.
    nested : NestedScores, default=None
        Scores of a search with the settings of this model on outer folds, and how often
        kernels and views were in use there, from
        `multikernel.inspection.nested_cross_validate`.

    Returns
    -------
    page : str
        The HTML.

    Raises
    ------
    TypeError
        If `model` is no multiple kernel model.
    ValueError
        If `y` comes without `X` or holds what the model cannot know, or `bootstrap` or
        `split` have other kernels than the model.
    sklearn.exceptions.NotFittedError
        If it is not fitted.
    ImportError
        If matplotlib is not installed.
    OSError
        If the file cannot be written: it is a device, or its folder does not exist.

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
    _check_types(bootstrap=bootstrap, split=split, nested=nested)
    # Rather now than after the work.
    target = None if path is None else find_place(path, _files_of(inner, X))
    if X is None and y is not None:
        raise ValueError("report: y was passed without X: pass both.")
    _check_same_kernels(inner, bootstrap, split)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ask = Answers(model, X, offset)
        predicted = None if X is None else ask("predict")
        if y is not None and summary.predicts_times(inner):
            scores, outcomes = outcomes_of_times(model, X, y)
        else:
            scores, outcomes = outcomes_on(ask, inner, y, predicted)
        pictures = list(_pictures(model, inner, X, bootstrap))
        if split is not None:
            drawn = picture_of(VarianceSplitDisplay(split).plot)
            pictures.insert(1, ("Held-out variance", drawn))
    said = _cautions_on(
        model, inner, X if scores else None, predicted, bootstrap, split
    )
    said += [str(warning.message) for warning in caught]
    facts = summary.facts(inner)
    title = f"{facts.pop('estimator')}: {facts['n_active']} of "
    title += f"{facts['n_kernels']} kernels in use"
    sections = [
        ("Certificate", _certificate(inner)),
        *([("Scores", _facts(scores) + _on(X))] if scores else []),
        *([] if nested is None else [("Nested cross-validation", _nested(nested))]),
        *outcomes,
        *_tables(inner, bootstrap),
        *pictures,
        ("What was fitted", _fitted(model, inner, facts)),
        ("Warnings", _warned(inner, said)),
    ]
    page = _page(title, sections)
    if target is not None:
        write_to(target, page.encode())
    return page


RESULTS: Mapping[str, tuple[type, str]] = {
    "bootstrap": (Bootstrap, "multikernel.inspection.bootstrap"),
    "split": (VarianceSplit, "multikernel.inspection.variance_split"),
    "nested": (NestedScores, "multikernel.inspection.nested_cross_validate"),
}
"""Type of each result that a report shows, and the function that returns it."""


def _check_types(**results: Any) -> None:
    """Raise unless each result is None or an object of its type."""
    for name, result in results.items():
        kind, function = RESULTS[name]
        if not isinstance(result, kind | None):
            raise TypeError(
                f"report: {name} must be the result of {function}, got {result!r}."
            )


def _cautions_on(
    model: Any,
    inner: Any,
    X: Any,
    predicted: Any,
    bootstrap: Bootstrap | None,
    split: VarianceSplit | None,
) -> list[str]:
    """Return what is to be said against the numbers; X are scored rows, if any."""
    cautions = _cautions.one_class(inner, predicted)
    if X is not None:
        cautions += _cautions.known_rows(model, inner, X)
    if bootstrap is not None:
        for by in _table_kinds(inner):
            cautions += _cautions.outside_intervals(inner, by, bootstrap)
    return cautions + ([] if split is None else _cautions.outside_split(split))


def _page(title: str, sections: Sequence[tuple[str, str]]) -> str:
    """Return a page of sections, each a heading and what is below it."""
    title = html.escape(title)
    bodies = [
        f"<section><h2>{html.escape(head)}</h2>{body}</section>"
        for head, body in sections
    ]
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title>",
            f"<style>{STYLE.read_text(encoding='utf-8')}</style></head><body>",
            f"<main><h1>{title}</h1>",
            *bodies,
            "</main></body></html>",
        ]
    )


def _files_of(model: Any, X: Any) -> list[PathLike]:
    """Return the files of given matrices, which are paths or mapped."""
    kernels = getattr(model, "kernels", None)
    if not (isinstance(kernels, str) and kernels == "precomputed"):
        return []
    mapped = backing(X)
    if mapped is not None:
        return [] if mapped.filename is None else [mapped.filename]
    paths = X if isinstance(X, list | tuple) else [X]
    return [path for path in paths if isinstance(path, str | os.PathLike)]


def _certificate(model: Any) -> str:
    """Return in words how good a model is proven to be."""
    gap = float(np.max(model.duality_gap_))
    status = " ".join(dict.fromkeys(np.atleast_1d(model.status_message_).tolist()))
    if np.isnan(gap):
        return f"<p>{html.escape(status)} This method carries no certificate.</p>"
    held = _held_gap(model)
    seen = "" if held == gap else f", and {held:.2g} over the kernels looked at"
    return (
        f"<p>No other choice of functions lowers the objective by more than "
        f"<strong>{gap:.2g}</strong> of its value (the relative duality gap{seen}; "
        f"asked for were {model.tol:g}). {html.escape(status)}</p>"
    )


def _held_gap(model: Any) -> float:
    """Return the largest gap of those that a fit holds to its tolerance.

    HKL holds that on the nodes it looked at, unless asked to certify the whole graph.
    """
    held = model.duality_gap_ if getattr(model, "certify", True) else model.reduced_gap_
    return float(np.max(held))


def _check_same_kernels(
    inner: Any, fits: Bootstrap | None, split: VarianceSplit | None
) -> None:
    """Raise where what was computed beside a model belongs to another."""
    if fits is not None and fits.kernel_names != tuple(inner.kernel_names_):
        raise ValueError(
            "report: bootstrap was computed for other kernels than those of the model."
        )
    if split is not None:
        names = {*inner.kernel_names_, *getattr(inner, "kernel_views_", ())}
        free = [row["column"] for row in summary.unpenalized_rows(inner)]
        names |= {*free, "unpenalized columns"} if free else set()
        if has_columns(inner):
            names |= {*term_names(column_members(inner), column_names(inner))}
        if not names.issuperset(split.names):
            raise ValueError(
                "report: split was computed for other kernels, views or columns than "
                "those of the model."
            )


def _on(X: Any) -> str:
    rows = X.shape[0] if hasattr(X, "shape") else len(X)
    return f"<p>On the {rows} rows handed to this report.</p>"


def _table_kinds(model: Any) -> list[str]:
    """Return what the rows of tables are about."""
    bys = ["view"] if hasattr(model, "view_shares_") else []
    # A graph has more nodes than can be listed with their shares.
    return bys if hasattr(model, "hull_") else [*bys, "kernel"]


def _tables(model: Any, fits: Bootstrap | None) -> Iterator[tuple[str, str]]:
    """Yield headings and tables, of views and of kernels."""
    for by in _table_kinds(model):
        # Resampled fits have shares of every output.
        outputs = None if fits is None else "each"
        columns = summary.summary_columns(model, by, outputs)
        if fits is not None:
            columns |= _intervals(columns, model, by, fits)
        table = summary.html_table(columns)
        yield f"{by.capitalize()}s", f'<div class="box">{table}</div>'
    free = summary.unpenalized_rows(model)
    if free:
        table = summary.html_table(summary.table_columns(free))
        yield "Columns without a penalty", f'<div class="box">{table}</div>'


def _nested(nested: NestedScores) -> str:
    """Return outer scores, the choices of the folds, and the uses of kernels."""
    scores, chosen = nested.scores, summary.table_columns(nested.best_params)
    facts = {
        f"mean {nested.scoring}": nested.mean,
        "standard deviation over folds": nested.spread,
    }
    folds = {"outer fold": list(range(len(scores))), "score": scores.tolist()}
    tables = [summary.html_table(folds | chosen, all_in=None)]
    bys = ["kernel"] if nested.kernel_views is None else ["view", "kernel"]
    tables += [summary.html_table(nested.columns(by)) for by in bys]
    return _facts(facts) + "".join(f'<div class="box">{t}</div>' for t in tables)


def _intervals(
    columns: Mapping[str, list[Any]], model: Any, by: str, fits: Bootstrap
) -> dict[str, list[Any]]:
    """Return two columns more: where the shares of resampled fits lie."""
    names = fits.view_names if by == "view" else fits.kernel_names
    shares = "view_shares" if by == "view" else "variance_shares"
    low, high = (np.atleast_2d(end) for end in fits.interval(shares))
    labels = list(summary.output_labels(model, len(low)))
    rows = columns.get("output", [None] * len(columns.get(by, [])))
    places = [
        (labels.index(output), names.index(name))
        for output, name in zip(rows, columns.get(by, []), strict=True)
    ]
    return {
        "from (90 %)": [float(low[term]) for term in places],
        "to (90 %)": [float(high[term]) for term in places],
    }


def _facts(values: Mapping[str, Any]) -> str:
    pairs = [(str(key), summary.shown(value)) for key, value in values.items()]
    rows = "".join(
        f"<tr><th>{html.escape(key)}</th><td>{html.escape(text)}</td></tr>"
        for key, text in pairs
    )
    return f'<div class="box"><table class="facts">{rows}</table></div>'


def _pictures(
    model: Any, inner: Any, X: Any, fits: Bootstrap | None
) -> Iterator[tuple[str, str]]:
    """Yield a heading and a picture for each kind of figure that fits the model."""
    weights = partial(KernelWeightsDisplay.from_estimator, inner, bootstrap=fits)
    bars = "" if fits is None else "<p>Error bars hold 90 % of fits to resamples.</p>"
    used = inner.active_kernels_.size > 0
    if hasattr(inner, "hull_"):
        yield "Interactions", picture_of(lambda: HullDisplay.from_estimator(inner))
    elif used and len(np.atleast_2d(inner.kernel_weights_)) <= MOST_GROUPS:
        yield "Weights", bars + picture_of(weights)
    n_outputs = len(inner.output_names_)
    few = n_outputs <= MOST_GROUPS
    if fits is None and n_outputs > 1 and hasattr(inner, "view_shares_"):
        few &= n_outputs * len(inner.view_shares_) <= MOST_BARS
    if hasattr(inner, "view_shares_") and used and few:
        shares = picture_of(partial(weights, values="view_shares"))
        yield "Shares by view", bars + shares
    elif used and not hasattr(inner, "hull_") and not few:
        shares = picture_of(partial(HeatMapDisplay.from_estimator, inner))
        yield "Shares by output", shares
    if {"param_alpha", "param_C"} & {*getattr(inner, "cv_results_", ())}:
        path = picture_of(lambda: RegularizationPathDisplay.from_estimator(inner))
        yield "Regularization", path
    for head, kernels in _terms_to_draw(inner).items() if X is not None else ():
        curves = "".join(_curves(model, kernels, X, fits))
        if curves:
            yield head, f'<div class="curves">{curves}</div>'
    if _has_a_course(inner):
        course = picture_of(lambda: ConvergenceDisplay.from_estimator(inner))
        yield "Convergence", course


def _has_a_course(model: Any) -> bool:
    """Return whether the course of a fit says more than how it ended.

    Within its tolerance a fit is as good as was asked for, however it came there; above
    it, the course tells whether more iterations would help. Without a gap, it is what
    each step gained. One line of progress is no course.
    """
    if not hasattr(model, "history_"):
        return False
    outputs = model.history_["output"]
    if outputs.size == np.unique(outputs).size:
        return False
    return not _held_gap(model) <= getattr(model, "tol", np.inf)


def _terms_to_draw(inner: Any) -> dict[str, list[Any]]:
    """Return which terms to draw, the largest first, by heading.

    A term is a kernel number, or the tuple of kernel numbers of an interaction.
    """
    if hasattr(inner, "hull_") or np.ndim(inner.kernel_weights_) > 1:
        return {}
    shares = np.atleast_2d(inner.variance_shares_)
    if len(shares) > 1:
        return {}
    active, pairs, alone = inner.active_kernels_, {}, set(range(shares.shape[1]))
    if has_columns(inner):
        for parts, terms in column_members(inner).items():
            if len(parts) > 1:
                kernels = tuple(active[terms].tolist())
                pairs[kernels] = abs(float(shares[0, active[terms]].sum()))
                alone -= {*kernels}
    order = np.argsort(-np.abs(shares[0]), kind="stable").tolist()
    mains = [m for m in order if shares[0, m] != 0.0 and m in alone]
    largest = sorted(pairs, key=lambda kernels: -pairs[kernels])
    return {"Shape functions": mains, "Interactions of columns": largest}


def _curves(
    model: Any, kernels: Sequence[Any], X: Any, fits: Bootstrap | None
) -> Iterator[str]:
    """Yield pictures of the first terms that look at one column or two."""
    drawn = 0
    for kernel in kernels:
        if drawn == MOST_CURVES:
            return
        try:
            curve = partial(ContributionDisplay.from_estimator, model, X, kernel)
            picture = picture_of(partial(curve, bootstrap=fits), CURVE_SIZE)
        except ValueError:
            # A kernel on more columns than can be drawn, or on no column of a table.
            continue
        drawn += 1
        yield picture


def _fitted(model: Any, inner: Any, found: Mapping[str, Any]) -> str:
    """Return the section on the model's parameters and the versions of libraries."""
    info = getattr(inner, "fit_info_", {})
    stored = {"storage": info["storage"]} if "storage" in info else {}
    if hasattr(inner, "n_iter_"):
        stored["iterations"] = int(np.max(inner.n_iter_))
    versions = {
        name: importlib.import_module(name).__version__
        for name in ("multikernel", "numpy", "scipy", "sklearn")
    }
    # By default scikit-learn leaves out all after 700 letters.
    code = html.escape(model.__repr__(N_CHAR_MAX=10_000), quote=False)
    return f"{_facts({**found, **stored, **versions})}<pre>{code}</pre>"


def _warned(model: Any, said: list[str]) -> str:
    """Return what the fit ended with, where that was no success, and warnings."""
    if _held_gap(model) > getattr(model, "tol", np.inf):
        said = [*np.unique(model.status_message_).tolist(), *said]
    if not said:
        return "<p>None.</p>"
    items = "".join(f"<li>{html.escape(text)}</li>" for text in dict.fromkeys(said))
    return f"<ul>{items}</ul>"
