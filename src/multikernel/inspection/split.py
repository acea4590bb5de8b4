"""Split of the held-out variance among the terms of a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_regressor
from sklearn.utils import check_consistent_length, check_random_state

from multikernel._typing import Array, Mask
from multikernel._validation import Number, check_parameter, check_weights, printable
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.publish.fitted import warn_without_offset
from multikernel.estimators.publish.summary import output_labels
from multikernel.estimators.read.doubts import warn_order
from multikernel.estimators.read.samples import check_offset
from multikernel.estimators.read.targets import check_target_names
from multikernel.inspection.pipelines import model_of
from multikernel.inspection.resampling import (
    group_numbers,
    quantile_levels,
    resampled_weights,
)
from multikernel.inspection.terms import contributions
from multikernel.linalg import EPS


@dataclass(frozen=True, eq=False, repr=False)
class VarianceSplit:
    """Shares of held-out variance by term, with resampling intervals.

    `shares` have shape (n_terms,) or (n_outputs, n_terms), and `resampled` contains
    them for every resample of the held-out samples. `r2` is the R² of the predictions,
    which is the sum of the shares minus ``(mean(y) - mean(f))² / Var(y)``; for
    `deviance_split` it is D². `score` is the name "R²" or "D²".
    """

    names: tuple[str, ...]
    shares: Array
    r2: float | Array  # one number, or (n_outputs,)
    resampled: Array
    output_names: tuple[str, ...] = ()
    score: str = "R²"

    def interval(self, level: float = 0.9) -> tuple[Array, Array]:
        """Return both bounds of percentile intervals, each of the shape of `shares`.

        `level` is the share of the resamples inside an interval. Intervals measure the
        variation of the held-out samples for a fixed model; `bootstrap` also refits it.
        """
        levels = quantile_levels(type(self).__name__, level)
        # Without terms, NumPy returns an empty array of another shape.
        bounds = np.nanquantile(self.resampled, levels, axis=0)
        low, high = bounds.reshape(2, *self.shares.shape)
        return low, high

    def mean(self) -> VarianceSplit:
        """Return the shares and scores averaged over targets, as for one target."""
        if self.shares.ndim == 1:
            return self
        shares, resampled = self.shares.mean(axis=0), self.resampled.mean(axis=1)
        r2 = float(np.mean(self.r2))
        return VarianceSplit(self.names, shares, r2, resampled, score=self.score)

    def __repr__(self) -> str:
        if self.shares.ndim > 1:
            return f"Mean of {len(self.shares)} targets: {self.mean()!r}"
        title = (
            f"{self.score} {self.r2:.3g} on held-out samples, split among "
            f"{len(self.names)} terms"
        )
        low, high = self.interval()
        order = np.argsort(-np.abs(self.shares), kind="stable")[:10]
        lines = [
            f"{self.shares[m]:7.3f}  [{low[m]:.3f}, {high[m]:.3f}]  {self.names[m]}"
            for m in order
        ]
        return printable("\n".join([title, *lines]))


def variance_split(
    estimator: BaseEstimator,
    X: object,
    y: ArrayLike,
    by: str = "kernel",
    *,
    n_resamples: int = 1000,
    sample_weight: ArrayLike | None = None,
    groups: object = None,
    offset: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> VarianceSplit:
    r"""Split the R² of a fitted model on given samples by kernel, view or column.

    With terms :math:`f_m` that sum to the prediction f, term m has the share

    .. math:: \frac{\operatorname{Cov}(f_m, 2 y - f)}{\operatorname{Var}(y)},

    the part that it explains alone, plus half of the part that it explains jointly with
    every other term (the product measure [1]_). The shares sum to :math:`1 -
    \operatorname{Var}(y - f) / \operatorname{Var}(y)`. A negative share means that the
    term makes predictions worse.

    Parameters
    ----------
    estimator : estimator
        A fitted regressor of this library, or a pipeline or search that ends in one.
    X, y : array-like
        Data that the model has not seen, and their targets.
    by : {"kernel", "view", "column"}, default="kernel"
        Unit of a share: a kernel, a view, or all kernels on the same column or the same
        interaction; see `contributions`. Unpenalized columns have their own shares.
    n_resamples : int, default=1000
        Number of resamples of the samples, for intervals.
    sample_weight, groups, offset : array-like, default=None
        Weights of the samples; labels of groups, such as patients, that are resampled
        as a whole; and offsets of the decision values, as in ``predict``.
    random_state : int, RandomState or None, default=None
        Seed of the resamples.

    Returns
    -------
    split : VarianceSplit

    Raises
    ------
    ValueError
        If a target is constant, or the loss is "poisson" or "gamma", whose predictions
        are not sums.

    See Also
    --------
    deviance_split : The same split for classifiers and other losses.

    References
    ----------
    .. [1] Pratt, J. W. (1987). Dividing the indivisible. Proceedings of the Second
       International Conference in Statistics, Tampere, 245-260.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import SpicyMKLRegressor
    >>> from multikernel.inspection import variance_split
    >>> X = np.random.default_rng(0).normal(size=(120, 2))
    >>> y = np.sin(2 * X[:, 0])
    >>> model = SpicyMKLRegressor({"signal": 0, "noise": 1}).fit(X[:80], y[:80])
    >>> split = variance_split(model, X[80:], y[80:], by="view", random_state=0)
    >>> bool(split.shares[0] > 0.9), bool(abs(split.shares[1]) < 0.05)
    (True, True)
    """
    owner = "variance_split"
    _, model = model_of(owner, estimator)
    if not is_regressor(model):
        raise TypeError(
            f"{owner} requires a regressor, got {type(model).__name__}: for "
            "classifiers, use deviance_split."
        )
    if model._fitted().link == "log":
        raise ValueError(
            f"{owner} requires predictions that are sums of terms, but with "
            f"loss={model._state.loss} predictions are exponentials of such sums: use "
            "deviance_split."
        )
    draws = Draws(n_resamples, sample_weight, groups, random_state)
    data = held_out(owner, estimator, X, y, by, offset, draws)
    targets = data.y.reshape(data.offset.shape) - data.offset
    shares, variances = _shares(targets, data.terms, data.weights[None])
    data.refuse_constant(owner, np.isnan(variances[0]))
    errors = np.average((targets - data.f) ** 2, axis=0, weights=data.weights)
    resampled = [_shares(targets, data.terms, w)[0] for w in draws.of(data.weights)]
    return data.split(shares[0], 1.0 - errors / variances[0], resampled, "R²")


@dataclass(frozen=True, eq=False)
class Draws:
    """Arguments of `variance_split` that describe its resamples."""

    n_resamples: int
    sample_weight: ArrayLike | None
    groups: object
    random_state: int | np.random.RandomState | None

    def of(self, weights: Array) -> Iterator[Array]:
        """Yield chunks of the weights of resamples, shape (n_chunk, n_samples)."""
        generator = check_random_state(self.random_state)
        return resampled_weights(generator, self.n_resamples, weights, self.groups)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out samples: their targets, weights, offsets, and the terms of a model."""

    model: BaseMKL
    names: tuple[str, ...]
    y: Array
    terms: Array  # (n_samples, n_outputs, n_terms)
    weights: Array
    offset: Array  # (n_samples, n_outputs)

    @property
    def f(self) -> Array:
        """Decision values without the offset, shape (n_samples, n_outputs)."""
        return np.asarray(self.terms.sum(axis=2) + np.ravel(self.model.intercept_))

    def refuse_constant(self, owner: str, is_constant: Mask) -> None:
        """Raise if a target is constant, or explained by the offset and a constant."""
        if is_constant.any():
            column = int(np.argmax(is_constant))
            name = f"column {column} of y" if is_constant.size > 1 else "y"
            reason = "explained by offset and a constant"
            raise ValueError(
                f"{owner}: {name} is {reason if self.offset.any() else 'constant'}, so "
                "there is nothing to split: pass other targets."
            )

    def split(
        self, shares: Array, r2: Array, chunks: list[Array], score: str
    ) -> VarianceSplit:
        """Return a `VarianceSplit`; with one output, its arrays have no output axis."""
        # `shares` have shape (n_outputs, n_terms). `r2`, (n_outputs,), are the scores
        # named `score`. `chunks` are the shares in chunks of resamples.
        resampled = np.concatenate(chunks)
        if len(r2) == 1:
            values = shares[0], float(r2[0]), resampled[:, 0]
            return VarianceSplit(self.names, *values, score=score)
        outputs = tuple(str(label) for label in output_labels(self.model, len(r2)))
        return VarianceSplit(self.names, shares, r2, resampled, outputs, score)


def held_out(
    owner: str,
    estimator: BaseEstimator,
    X: object,
    y: ArrayLike,
    by: str,
    offset: ArrayLike | None,
    draws: Draws,
) -> HeldOut:
    """Validate held-out samples, and compute the terms of a fitted model on them."""
    at_least_two = Number(2, integer=True)
    check_parameter(owner, "n_resamples", draws.n_resamples, at_least_two)
    _, model = model_of(owner, estimator)
    warn_order(owner, X, groups=draws.groups, offset=offset)
    check_consistent_length(X, y)
    targets = check_target_names(model, X, y, draws.sample_weight)
    shape = len(targets), np.size(model.intercept_)
    if offset is None:
        warn_without_offset(model)
        offset = np.zeros(shape)
    alike = not hasattr(model, "classes_")
    offset = check_offset(owner, offset, *shape, shared=alike)
    weights = check_weights(draws.sample_weight, len(targets))
    weights = np.ones(len(targets)) if weights is None else weights
    group_numbers(draws.groups, len(targets))  # raises for invalid groups
    by_term = contributions(estimator, X, by)
    terms = by_term.terms if by_term.terms.ndim == 3 else by_term.terms[:, None]
    return HeldOut(model, tuple(by_term.names), targets, terms, weights, offset)


def _shares(targets: Array, terms: Array, weights: Array) -> tuple[Array, Array]:
    """Return each term's share of the targets' variance, and this variance."""
    # The share of a term f_m is Cov(f_m, 2 y - f) / Var(y), where f is the sum of all
    # terms, because Var(y) - Var(y - f) = Cov(f, 2 y - f). `targets` have shape
    # (n_samples, n_outputs), `terms` (n_samples, n_outputs, n_terms).
    # Each row of `weights` gives its own shares and variances: shares have the shape
    # (n_rows, n_outputs, n_terms), and variances (n_rows, n_outputs). Constant targets
    # have NaN shares. Centering first avoids cancellation in the covariances.
    y, f = targets - targets.mean(axis=0), terms - terms.mean(axis=0)
    partner = 2.0 * y - f.sum(axis=2)
    w = weights / weights.sum(axis=1, keepdims=True)

    def mean(values: Array) -> Array:
        return np.tensordot(w, values, axes=1)

    variances = mean(y**2) - mean(y) ** 2
    covariances = mean(f * partner[..., None]) - mean(f) * mean(partner)[..., None]
    # A variance that is only a rounding error becomes NaN. If all targets are constant,
    # their computed variance is a squared rounding error. If only the resample is
    # constant, the computed variance is the rounding error of mean(y**2).
    sizes = 4.0 * EPS * np.abs(targets).max(axis=0, initial=0.0)
    threshold = np.maximum(sizes**2, 4.0 * EPS * len(y) * mean(y**2))
    variances = np.where(variances > threshold, variances, np.nan)
    return covariances / variances[..., None], variances
