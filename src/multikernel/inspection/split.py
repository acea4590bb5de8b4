"""Split of the held-out variance among the terms of a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils import check_consistent_length, check_random_state

from multikernel._typing import Array
from multikernel._validation import Number, check_parameter, check_weights, printable
from multikernel.estimators.publish.fitted import warn_without_offset
from multikernel.estimators.publish.summary import output_labels
from multikernel.estimators.read.doubts import warn_order
from multikernel.estimators.read.samples import check_offset
from multikernel.estimators.read.targets import known_targets
from multikernel.inspection.pipelines import check_model, last_step
from multikernel.inspection.resampling import interval_ends, resampled_weights
from multikernel.inspection.terms import contributions


def r2_score_split(y: Any, contributions: Any, *, sample_weight: Any = None) -> Array:
    r"""Split R² among the terms of a prediction, by the product measure.

    For a prediction :math:`f = \sum_m f_m`, term m has the share

    .. math:: \frac{\operatorname{Cov}(f_m, 2 y - f)}{\operatorname{Var}(y)}.

    the part that it explains alone, plus half of the part that it explains jointly with
    each other term [1]_. The shares sum to

    .. math:: 1 - \frac{\operatorname{Var}(y - f)}{\operatorname{Var}(y)},

    which is `sklearn.metrics.r2_score` of predictions with the mean of `y`. Constants
    added to terms do not change shares. A term with a negative share makes predictions
    worse.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Targets, preferably of unseen samples.
    contributions : array-like of shape (n_samples, [n_outputs, ]n_terms)
        The terms, as returned by ``contributions(X)`` of a model, or sums over views.
        The axis of a single output may be missing.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    shares : ndarray of shape ([n_outputs, ]n_terms)

    Raises
    ------
    ValueError
        If shapes do not match, values are not finite, or a target is constant.

    See Also
    --------
    variance_split : Split for a fitted estimator, with intervals.

    References
    ----------
    .. [1] Pratt, J. W. (1987). Dividing the indivisible: using simple symmetry to
       partition variance explained. Proceedings of the Second International Conference
       in Statistics, Tampere, 245-260.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.inspection import r2_score_split
    >>> a, b = np.random.default_rng(0).normal(size=(2, 50))
    >>> shares = r2_score_split(a + b, np.column_stack([a, b]))
    >>> round(float(shares.sum()), 12)
    1.0
    """
    shares, _ = _whole_shares(*_checked(y, contributions, sample_weight))
    return shares if np.ndim(contributions) > 2 else np.asarray(shares[0])


@dataclass(frozen=True, eq=False, repr=False)
class VarianceSplit:
    """Shares of held-out variance by term, with resampling intervals.

    Parameters
    ----------
    names : tuple of str
        Names of the terms.
    shares : ndarray of shape ([n_outputs, ]n_terms)
        Shares; see `r2_score_split`.
    r2 : float or ndarray of shape (n_outputs,)
        `sklearn.metrics.r2_score` of the predictions. It is the sum of the shares minus
        ``(mean(y) - mean(f))² / Var(y)``.
    resampled : ndarray of shape (n_resamples, [n_outputs, ]n_terms)
        Shares on resamples of the held-out samples.
    output_names : tuple of str, default=()
        Names of the outputs, if there are several.
    score : str, default="R²"
        Name of the score; "D²" for `deviance_split`.
    """

    names: tuple[str, ...]
    shares: Array
    r2: Any
    resampled: Array
    output_names: tuple[str, ...] = ()
    score: str = "R²"

    def interval(self, level: float = 0.9) -> tuple[Array, Array]:
        """Return percentile intervals of the shares.

        They measure the variation of the held-out samples for a fixed model;
        `bootstrap` also refits the model.

        Parameters
        ----------
        level : float, default=0.9
            Share of the resamples inside the interval.

        Returns
        -------
        low, high : ndarray of shape ([n_outputs, ]n_terms)
        """
        ends = interval_ends(type(self).__name__, level)
        # Without terms, NumPy returns an empty array of another shape.
        bounds = np.nanquantile(self.resampled, ends, axis=0)
        low, high = bounds.reshape(2, *self.shares.shape)
        return low, high

    def mean(self) -> "VarianceSplit":
        """Return the split of the mean R² over several targets.

        Returns
        -------
        split : VarianceSplit
            The split with one output.
        """
        if self.shares.ndim == 1:
            return self
        shares, drawn = self.shares.mean(axis=0), self.resampled.mean(axis=1)
        r2 = float(np.mean(self.r2))
        return VarianceSplit(self.names, shares, r2, drawn, score=self.score)

    def __repr__(self) -> str:
        """Return R² and the largest shares."""
        if self.shares.ndim > 1:
            return f"Mean of {len(self.shares)} targets: {self.mean()!r}"
        head = (
            f"{self.score} {self.r2:.3g} on held-out samples, split among "
            f"{len(self.names)} terms"
        )
        low, high = self.interval()
        order = np.argsort(-np.abs(self.shares), kind="stable")[:10]
        lines = [
            f"{self.shares[m]:7.3f}  [{low[m]:.3f}, {high[m]:.3f}]  {self.names[m]}"
            for m in order
        ]
        return printable("\n".join([head, *lines]))


def variance_split(
    estimator: Any,
    X: Any,
    y: Any,
    by: str = "kernel",
    *,
    n_resamples: int = 1000,
    sample_weight: Any = None,
    groups: Any = None,
    offset: Any = None,
    random_state: Any = None,
) -> VarianceSplit:
    """Split the R² of a fitted model on given samples by kernel, view or column.

    Parameters
    ----------
    estimator : estimator
        A fitted regressor of this library, or a pipeline or search that ends in one.
    X : array-like or data frame of shape (n_samples, n_features)
        Data that the model has not seen.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Targets.
    by : {"kernel", "view", "column"}, default="kernel"
        Unit of a share: kernels, views, or columns and interactions with all kernels on
        them. Unpenalized columns have their own shares; see `contributions`.
    n_resamples : int, default=1000
        Number of resamples of the samples, for intervals.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples.
    groups : array-like of shape (n_samples,), default=None
        A label for each sample, such as its patient; whole groups are resampled.
    offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        Known parts of the decision values, as in ``predict``.
    random_state : int, RandomState or None, default=None
        Seed of the resamples.

    Returns
    -------
    split : VarianceSplit

    Raises
    ------
    TypeError
        If the estimator is not a regressor of this library.
    ValueError
        If data or parameters are invalid, a target is constant, or the loss is
        "poisson" or "gamma", whose predictions are not sums: use `deviance_split`.

    See Also
    --------
    r2_score_split : The formula.
    multikernel.display.VarianceSplitDisplay : Plots the split.

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
    check_parameter(owner, "n_resamples", n_resamples, Number(2, integer=True))
    _, model = last_step(estimator)
    check_model(owner, model)
    if not is_regressor(model):
        raise TypeError(
            f"{owner} requires a regressor, got {type(model).__name__}: for "
            "classifiers, use deviance_split."
        )
    if model._fitted().link == "log":
        raise ValueError(
            f"{owner} requires predictions that are sums of terms, but those of "
            f"loss={model._state.loss} are exponentials: use deviance_split."
        )
    warn_order(owner, X, groups=groups, offset=offset)
    contribution = contributions(estimator, X, by)
    check_consistent_length(X, y)
    y = np.asarray(known_targets(model, X, y, sample_weight), dtype=np.float64)
    y = y - given_offset(owner, model, offset, y.reshape(len(y), -1)).reshape(y.shape)
    targets, terms, weights = _checked(y, contribution.terms, sample_weight)
    shares, variances = _whole_shares(targets, terms, weights)
    errors = targets - terms.sum(axis=2) - np.ravel(model.intercept_)
    r2 = 1.0 - np.average(errors**2, axis=0, weights=weights) / variances
    random = check_random_state(random_state)
    draws = resampled_weights(random, n_resamples, weights, groups)
    drawn = np.concatenate([_shares(targets, terms, w)[0] for w in draws])
    return split_of(model, contribution.names, shares, r2, drawn)


def given_offset(owner: str, model: Any, offset: Any, values: Array) -> Array:
    """Return offsets in the shape of `values`; zeros for None."""
    if offset is None:
        warn_without_offset(model)
        return np.zeros(values.shape)
    alike = not hasattr(model, "classes_")
    return check_offset(owner, offset, *values.shape, alike=alike)


def split_of(
    model: Any,
    names: Sequence[str],
    shares: Array,
    r2: Array,
    drawn: Array,
    score: str = "R²",
) -> VarianceSplit:
    """Return the split of arrays with an axis of outputs; a single output loses it."""
    if len(r2) == 1:
        first = shares[0], float(r2[0]), drawn[:, 0]
        return VarianceSplit(tuple(names), *first, score=score)
    outputs = tuple(str(label) for label in output_labels(model, len(r2)))
    return VarianceSplit(tuple(names), shares, r2, drawn, outputs, score)


def _checked(
    y: Any, contributions: Any, sample_weight: Any
) -> tuple[Array, Array, Array]:
    """Return targets (n_samples, n_outputs), terms (..., n_terms), and weights."""
    targets = np.asarray(y, dtype=np.float64)
    terms = np.asarray(contributions, dtype=np.float64)
    if targets.ndim == terms.ndim == 2 and targets.shape[1] == 1:
        targets = targets[:, 0]
    check_consistent_length(targets, terms)
    if targets.ndim not in (1, 2) or terms.shape[:-1] != targets.shape:
        raise ValueError(
            f"contributions has shape {terms.shape}, but y has {targets.shape}: "
            "expected the shape of y with one more axis for the terms."
        )
    if not (np.isfinite(targets).all() and np.isfinite(terms).all()):
        name = "contributions" if np.isfinite(targets).all() else "y"
        raise ValueError(
            f"{name} contains NaN or infinity: y and contributions must be finite."
        )
    targets = targets.reshape(len(targets), -1)
    weights = check_weights(sample_weight, len(targets))
    weights = np.ones(len(targets)) if weights is None else weights
    return targets, terms.reshape(*targets.shape, terms.shape[-1]), weights


def _whole_shares(targets: Array, terms: Array, weights: Array) -> tuple[Array, Array]:
    """Return shares and variances for one weighting; raise if a target is constant."""
    shares, variances = _shares(targets, terms, weights[None])
    constant = np.flatnonzero(np.isnan(variances[0]))
    if constant.size:
        several = targets.shape[1] > 1
        which = f"Target {constant[0]} (counted from 0)" if several else "y"
        raise ValueError(
            f"{which} is constant: it has no variance to split. Pass varying targets."
        )
    return shares[0], variances[0]


def _shares(targets: Array, terms: Array, weights: Array) -> tuple[Array, Array]:
    """Return the shares for several weightings, and the variances of the targets.

    Shapes are (n_weightings, n_outputs, n_terms) and (n_weightings, n_outputs); shares
    of constant targets are NaN.
    """
    # Centering first avoids cancellation in the covariances.
    y, f = targets - targets.mean(axis=0), terms - terms.mean(axis=0)
    compared = 2.0 * y - f.sum(axis=2)
    w = weights / weights.sum(axis=1, keepdims=True)

    def mean(values: Array) -> Array:
        return np.tensordot(w, values, axes=1)

    variances = mean(y**2) - mean(y) ** 2
    joint = mean(f * compared[..., None]) - mean(f) * mean(compared)[..., None]
    # The computed variance of a constant is not zero but a squared rounding error.
    sizes = np.finfo(np.float64).eps * np.abs(targets).max(axis=0, initial=0.0)
    variances = np.where(variances > (4.0 * sizes) ** 2, variances, np.nan)
    return joint / variances[..., None], variances
