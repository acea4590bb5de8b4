"""Bootstrap of the shares, weights and functions of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from multikernel._typing import Array, Indices
from multikernel._validation import Number, OneOf, check_parameter, printable
from multikernel.estimators.publish.predict import AdditiveModel, Rows
from multikernel.estimators.publish.summary import MOST_ROWS, view_members, view_sums
from multikernel.inspection.resampling import (
    draws_with_replacement,
    quantile_levels,
    refit,
)
from multikernel.inspection.terms import sum_terms


@dataclass(frozen=True, eq=False, repr=False)
class Bootstrap:
    """Fits of one model on samples drawn with replacement.

    `bootstrap` returns this object. `variance_shares` (of each fit's own samples) and
    `kernel_weights` have shape (n_resamples, n_kernels), or (n_resamples, n_outputs,
    n_kernels) for several outputs. Other fields have one entry per fit or per kernel.
    """

    kernel_names: tuple[str, ...]
    variance_shares: Array
    kernel_weights: Array
    active_kernels: tuple[Indices, ...]
    models: tuple[AdditiveModel, ...]
    kernel_views: tuple[str, ...] | None = None
    output_names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        n_fits, n_kernels = len(self.models), len(self.kernel_names)
        text = f"{n_fits} fits of {n_kernels} kernels on samples drawn with replacement"
        what = "variance_shares" if self.kernel_views is None else "view_shares"
        low, high = self.interval(what)
        lines = [f"{text}; median share and 90% interval"]
        median = np.median(self._values(what), axis=0)
        if median.ndim == 1:
            return printable("\n".join([*lines, *self._lines(median, low, high)]))
        numbered = [f"output {number}" for number in range(len(median))]
        outputs = zip(self.output_names or numbered, median, low, high, strict=True)
        for output, *values in outputs:
            lines += [f"{output}:", *self._lines(*values)]
        return printable("\n".join(lines))

    def _lines(self, medians: Array, low: Array, high: Array) -> list[str]:
        """Return a line with median and interval for each of the largest shares."""
        names = self.kernel_names if self.kernel_views is None else self.view_names
        order = np.argsort(-np.abs(medians), kind="stable")[:MOST_ROWS]
        return [
            f"{medians[m]:7.3f}  [{low[m]:.3f}, {high[m]:.3f}]  {names[m]}"
            for m in order.tolist()
            if low[m] != 0.0 or high[m] != 0.0
        ]

    @property
    def view_names(self) -> tuple[str, ...]:
        """Names of the views, in the order of ``interval("view_shares")``."""
        if self.kernel_views is None:
            raise ValueError(
                "View names and view shares require a model with views: fit a model "
                "whose kernels are a mapping from view names to columns, and pass it "
                "to bootstrap."
            )
        return tuple(view_members(self.kernel_views))

    def _values(self, what: str) -> Array:
        """Return the array named `what`; its last axis is the kernels or the views."""
        if what in ("variance_shares", "kernel_weights"):
            values: Array = getattr(self, what)
            return values
        names = self.view_names
        sums = view_sums(self.kernel_views or (), self.variance_shares)
        return np.stack([sums[view] for view in names], axis=-1)

    def interval(
        self, what: str = "variance_shares", level: float = 0.9
    ) -> tuple[Array, Array]:
        """Return both bounds of percentile intervals for each kernel or view.

        `what` is ``"variance_shares"``, ``"kernel_weights"`` or ``"view_shares"``, the
        sum of the shares of each view in `view_names`. Bounds have the shape of these
        values in one fit. `level` is the share of the fits inside an interval, which
        shows sampling variation, but does not correct shrinkage by the penalty.
        """
        names = OneOf(("variance_shares", "kernel_weights", "view_shares"))
        check_parameter(type(self).__name__, "what", what, names)
        levels = quantile_levels(type(self).__name__, level)
        low, high = np.quantile(self._values(what), levels, axis=0)
        return low, high

    def band(
        self,
        X: Rows,
        kernels: Sequence[int] | Indices,
        level: float = 0.9,
        center: Rows | None = None,
    ) -> tuple[Array, Array]:
        """Return pointwise percentile intervals of the sum of some kernels' terms.

        `X` is numeric, as transformed by the earlier steps of a pipeline. `kernels` are
        indices; a kernel that a fit does not use has the term zero. `level` is the
        share of the fits inside each point's interval. If `center` is given, each fit's
        sum has mean zero over these samples. Bounds have shape (n_samples, n_outputs).
        """
        levels = quantile_levels(type(self).__name__, level)
        X, center = _as_rows(X), None if center is None else _as_rows(center)
        values = [
            sum_terms(model, active, kernels, X, center)
            for model, active in zip(self.models, self.active_kernels, strict=True)
        ]
        low, high = np.quantile(np.stack(values), levels, axis=0)
        return low, high


def _as_rows(X: Rows) -> Rows:
    """Return a data frame as an array of floats, and other samples unchanged."""
    if not hasattr(X, "columns"):
        return X
    try:
        return np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Bootstrap.band: X has columns that are not numeric ({error}): pass X as "
            "transformed by the earlier steps of the pipeline. Without a pipeline, "
            "encode these columns before bootstrap, or use term_posterior (squared "
            "loss only)."
        ) from error


def bootstrap(
    estimator: BaseEstimator,
    X: object,
    y: ArrayLike,
    n_resamples: int = 100,
    *,
    sample_weight: ArrayLike | None = None,
    groups: object = None,
    offset: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Bootstrap:
    """Fit a model to bootstrap samples (drawn with replacement).

    Classes keep their sizes. Fits start from the fit to all samples, and use its alpha.

    Parameters
    ----------
    estimator : estimator
        A multiple kernel model with fixed parameters and a fixed list of kernels, or a
        pipeline that ends in one; not changed. Transformers are fitted to all samples.
    X, y : array-like
        Training data, as in ``fit``.
    n_resamples : int, default=100
        Number of fits, at least 2.
    sample_weight, groups, offset : array-like, default=None
        Weights and offsets are as in ``fit``. `groups` are labels of groups, such as
        patients, that are drawn as a whole; draws that lack a class are repeated.
    n_jobs : int or None, default=None
        Number of parallel fits, on threads that share the kernels: None means 1, and -1
        all cores.
    random_state : int, RandomState or None, default=None
        Seed of the resamples.

    Returns
    -------
    fits : Bootstrap

    Warns
    -----
    ConvergenceWarning
        If fits stopped above the tolerance; the message counts them.

    Examples
    --------
    >>> from multikernel import SpicyMKLRegressor
    >>> from multikernel.datasets import make_additive_regression
    >>> from multikernel.inspection import bootstrap
    >>> X, y = make_additive_regression(80, random_state=0)
    >>> model = SpicyMKLRegressor({"first": [0, 1, 2], "others": slice(3, 10)})
    >>> low, high = bootstrap(model, X, y, 5).interval("view_shares", level=0.8)
    >>> low.shape, bool((low <= high).all())
    ((2,), True)
    """
    owner = "bootstrap"
    check_parameter(owner, "n_resamples", n_resamples, Number(2, integer=True))
    rng = check_random_state(random_state)
    draw = partial(draws_with_replacement, int(n_resamples), rng)
    names = "variance_shares_", "kernel_weights_", "active_kernels_", "_model"
    data = X, y, sample_weight, groups, offset
    refits = refit(owner, estimator, data, draw, names, n_jobs)
    shares, weights, active, models = (refits.fits[name] for name in names)
    return Bootstrap(
        refits.names.everything,
        np.stack(shares),
        np.stack(weights),
        tuple(active),
        tuple(models),
        refits.names.views,
        refits.output_names,
    )
