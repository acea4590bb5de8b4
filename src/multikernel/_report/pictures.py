"""Pictures of a fitted model, as parts of a page."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from sklearn.base import BaseEstimator

from multikernel._report.outcomes import CURVE_SIZE, MOST_CURVES, html_image
from multikernel.display import (
    ContributionDisplay,
    ConvergenceDisplay,
    HeatMapDisplay,
    HullDisplay,
    KernelWeightsDisplay,
    RegularizationPathDisplay,
)
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.publish.columns import has_columns, terms_by_columns
from multikernel.inspection import Bootstrap

MOST_GROUPS = 10
"""Maximum number of outputs in a plot with one group of bars per output."""

MOST_BARS = 40
"""Maximum number of bars for views; for more views, a heat map is drawn."""


def stopping_gap(model: BaseMKL) -> float:
    """Return the largest gap that the fit compares with its tolerance."""
    # HKL stops by the gap over the visited nodes, unless it certifies the whole graph.
    gaps = model.duality_gap_ if getattr(model, "certify", True) else model.reduced_gap_
    return float(np.max(gaps))


def pictures_of(
    model: BaseEstimator, inner: BaseMKL, X: object, fits: Bootstrap | None
) -> Iterator[tuple[str, str]]:
    """Yield a heading and a picture for each kind of plot that the model supports."""
    weights = partial(KernelWeightsDisplay.from_estimator, inner, bootstrap=fits)
    bars = "" if fits is None else "<p>Error bars: 90 % of the fits to resamples.</p>"
    has_active = inner.active_kernels_.size > 0
    if hasattr(inner, "hull_"):
        yield "Interactions", html_image(lambda: HullDisplay.from_estimator(inner))
    elif has_active and len(np.atleast_2d(inner.kernel_weights_)) <= MOST_GROUPS:
        yield "Weights", bars + html_image(weights)
    n_outputs = len(inner.output_names_)
    is_small = n_outputs <= MOST_GROUPS
    if fits is None and n_outputs > 1 and hasattr(inner, "view_shares_"):
        is_small &= n_outputs * len(inner.view_shares_) <= MOST_BARS
    if hasattr(inner, "view_shares_") and has_active and is_small:
        shares = html_image(partial(weights, values="view_shares"))
        yield "Shares by view", bars + shares
    elif has_active and not hasattr(inner, "hull_") and not is_small:
        shares = html_image(partial(HeatMapDisplay.from_estimator, inner))
        yield "Shares by output", shares
    if {"param_alpha", "param_C"} & {*getattr(inner, "cv_results_", ())}:
        path = html_image(lambda: RegularizationPathDisplay.from_estimator(inner))
        yield "Regularization", path
    for heading, kernels in _terms_to_draw(inner).items() if X is not None else ():
        curves = "".join(_curves(model, kernels, X, fits))
        if curves:
            yield heading, f'<div class="curves">{curves}</div>'
    if _shows_convergence(inner):
        convergence = html_image(lambda: ConvergenceDisplay.from_estimator(inner))
        yield "Convergence", convergence


def _shows_convergence(model: BaseMKL) -> bool:
    """Return whether to draw the convergence: if the fit is inexact or has no gap."""
    if not hasattr(model, "history_"):
        return False
    outputs = model.history_["output"]
    if outputs.size == np.unique(outputs).size:
        return False
    return not stopping_gap(model) <= getattr(model, "tol", np.inf)


def _terms_to_draw(inner: BaseMKL) -> dict[str, Sequence[int | tuple[int, ...]]]:
    """Return the terms to draw under each heading, by decreasing share."""
    if hasattr(inner, "hull_") or np.ndim(inner.kernel_weights_) > 1:
        return {}
    shares = np.atleast_2d(inner.variance_shares_)
    if len(shares) > 1:
        return {}
    active, pairs, main_kernels = inner.active_kernels_, {}, set(range(shares.shape[1]))
    if has_columns(inner):
        for column_sets, terms in terms_by_columns(inner).items():
            if len(column_sets) > 1:
                kernels = tuple(active[terms].tolist())
                pairs[kernels] = abs(float(shares[0, active[terms]].sum()))
                main_kernels -= {*kernels}
    order = np.argsort(-np.abs(shares[0]), kind="stable").tolist()
    mains = [m for m in order if shares[0, m] != 0.0 and m in main_kernels]
    largest = sorted(pairs, key=lambda kernels: -pairs[kernels])
    return {"Shape functions": mains, "Interactions of columns": largest}


def _curves(
    model: BaseEstimator,
    kernels: Sequence[int | tuple[int, ...]],
    X: object,
    bootstrap: Bootstrap | None,
) -> Iterator[str]:
    """Yield pictures of the first `MOST_CURVES` terms on one or two columns."""
    n_drawn = 0
    for kernel in kernels:
        if n_drawn == MOST_CURVES:
            return
        try:
            curve = partial(ContributionDisplay.from_estimator, model, X, kernel)
            picture = html_image(partial(curve, bootstrap=bootstrap), CURVE_SIZE)
        except ValueError:
            # The kernel uses more than two columns, or none (a precomputed matrix).
            continue
        n_drawn += 1
        yield picture
