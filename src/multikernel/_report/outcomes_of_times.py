"""Concordance, curves and calibration of predicted times to an event."""

import warnings
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import CensoredData, ecdf
from sklearn.base import BaseEstimator

from multikernel._report.outcomes import CURVE_SIZE, html_image
from multikernel._typing import Array, Indices, Mask
from multikernel.display import _style
from multikernel.estimators.survival.base import SurvivalMKL
from multikernel.estimators.survival.likelihood import concordance
from multikernel.estimators.survival.times import Times, read_times
from multikernel.inspection.pipelines import data_at_model, last_step

THIRDS = ("latest", "middle", "earliest")
"""Labels of thirds of the samples by predicted time to the event, the latest first."""

COVERAGE = 0.9
"""Coverage of all confidence intervals on the page."""

INTERVALS = (
    "<p>Kaplan-Meier curves require observed or right-censored times, but some times "
    "are only known to lie in an interval.</p>"
)


def outcomes_of_times(
    model: BaseEstimator, X: object, y: ArrayLike
) -> tuple[dict[str, float], list[tuple[str, str]]]:
    """Return scores of a survival model, and sections (heading, body) with plots."""
    before, inner = last_step(model)
    times, data = read_times("report", y), data_at_model(before, X)
    risk = np.asarray(inner.predict(data))
    if len(risk) != len(times.lower):
        raise ValueError(
            f"report: X has {len(risk)} samples, but y has {len(times.lower)}: pass "
            "one target for each sample."
        )
    scores = {
        "concordance": concordance(times.lower, times.upper, risk),
        "observed events": int(times.seen.sum()),
        "median of the predicted median times": np.median(inner.predict_median(data)),
    }
    if np.any((times.lower < times.upper) & times.seen):
        return scores, [("Predicted thirds", INTERVALS)]
    if not times.seen.any():
        return scores, []
    return scores, list(_sections(inner, data, times, risk))


def _sections(
    inner: SurvivalMKL, X: object, times: Times, risk: Array
) -> Iterator[tuple[str, str]]:
    """Yield headings and plots for observed and right-censored times."""
    picture = html_image(partial(_draw_thirds, inner, X, times, risk), CURVE_SIZE)
    yield (
        "Predicted thirds",
        "<p>Shares of samples without an event: Kaplan-Meier estimates (solid) and "
        f"means of the model's predictions (dashed).</p>{picture}",
    )
    time = float(np.median(times.lower[times.seen]))
    shares = _calibration(inner, X, times, time)
    if len(shares):
        picture = html_image(partial(_draw_calibration, shares, time), CURVE_SIZE)
        yield (
            f"Calibration at time {time:.4g}",
            "<p>This time is the median of the observed events. Each point is a group "
            "of samples with similar predictions. Bars are "
            f"{COVERAGE:.0%} intervals (Greenwood's variance).</p>{picture}",
        )


def _kaplan_meier(times: Times, rows: Mask) -> Any:
    """Return the Kaplan-Meier survival function of some samples."""
    # The stubs of SciPy have wrong types for the ends of its confidence interval.
    seen = times.seen[rows]
    sample = CensoredData(times.lower[rows][seen], right=times.lower[rows][~seen])
    return ecdf(sample).sf


def _groups(values: Array, n_groups: int) -> Indices:
    """Return the quantile group of every sample; equal values share a group."""
    edges = np.quantile(values, np.arange(1, n_groups) / n_groups)
    return np.searchsorted(edges, values)


def _draw_thirds(
    inner: SurvivalMKL, X: object, times: Times, risk: Array
) -> SimpleNamespace:
    """Draw the survival curves of three groups of samples, by predicted risk."""
    figure, ax = _style.pyplot().subplots(layout="constrained")
    groups = _groups(risk, len(THIRDS))
    grid = np.linspace(0.0, times.lower.max(), 101)
    predicted = inner.predict_survival_function(X, grid)
    present = np.unique(groups)
    for group in present:
        rows = groups == group
        curve = _kaplan_meier(times, rows)
        step_times = np.append(curve.quantiles, times.lower[rows].max())
        heights = curve.evaluate(step_times)
        # Without active kernels all risks are equal, so there is one group.
        name = THIRDS[group] if len(present) > 1 else "all"
        label = f"{name} ({np.count_nonzero(rows)})"
        steps = (np.append(0.0, step_times), np.append(1.0, heights))
        ax.step(*steps, where="post", color=_style.color(group), label=label)
        ax.plot(
            grid,
            predicted[rows].mean(axis=0),
            **_style.DASHED | {"color": _style.color(group)},
        )
    ax.set(xlabel="time", ylabel="share without an event", ylim=(0.0, 1.02))
    ax.legend(title="predicted", frameon=False, fontsize="small")
    _style.clean_axes(ax, grid="y")
    return SimpleNamespace(figure_=figure)


def _calibration(inner: SurvivalMKL, X: object, times: Times, at: float) -> Array:
    """Return shares of samples without event until `at`, predicted and observed."""
    predicted = inner.predict_survival_function(X, [at])[:, 0]
    # Each row is a group of samples, its columns are the mean predicted share, the
    # Kaplan-Meier share and the ends of the interval of the latter. In a group of 20
    # samples, this interval is about +-0.18 for a share near one half.
    n_groups = int(np.clip(len(predicted) // 20, 1, 5))
    groups, shares = _groups(predicted, n_groups), []
    for group in np.unique(groups):
        rows = groups == group
        end = times.lower[rows].max()
        # If the last time of a group is censored and before `at`, the share at `at` is
        # unknown.
        if end < at and not times.seen[rows][times.lower[rows] == end].all():
            continue
        curve = _kaplan_meier(times, rows)
        with warnings.catch_warnings():
            # SciPy warns where the interval is undefined: its ends are NaN there, and
            # are not drawn.
            warnings.simplefilter("ignore", RuntimeWarning)
            bounds = curve.confidence_interval(COVERAGE, method="log-log")
        low, high = (float(bound.evaluate(at)) for bound in (bounds.low, bounds.high))
        shares.append([predicted[rows].mean(), float(curve.evaluate(at)), low, high])
    return np.reshape(shares, (-1, 4))


def _draw_calibration(shares: Array, time: float) -> SimpleNamespace:
    """Plot observed against predicted shares of samples without event up to `time`."""
    figure, ax = _style.pyplot().subplots(layout="constrained")
    predicted, observed, low, high = shares.T
    errors = (observed - low, high - observed)
    below, above = (np.nan_to_num(np.maximum(error, 0)) for error in errors)
    ax.plot([0.0, 1.0], [0.0, 1.0], **_style.DASHED)
    ax.errorbar(
        predicted, observed, [below, above], fmt="o", color=_style.color(0), capsize=2
    )
    ax.set(xlabel="predicted share", ylabel="share by Kaplan-Meier")
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.02))
    _style.headline(ax, f"No event up to {time:.4g}")
    _style.clean_axes(ax, grid="both")
    return SimpleNamespace(figure_=figure)
