"""Held-out variance, split among the terms of a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils import Bunch, check_random_state

from multikernel._typing import Array
from multikernel._validation import (
    Number,
    OneOf,
    check_parameter,
    check_weights,
    printable,
)
from multikernel.estimators.publish.columns import (
    column_members,
    column_names,
    kernels_in_use,
    term_names,
)
from multikernel.estimators.publish.fitted import warn_without_offset
from multikernel.estimators.publish.summary import output_labels, view_members
from multikernel.estimators.read.doubts import warn_order
from multikernel.estimators.read.samples import check_offset
from multikernel.estimators.read.targets import known_targets
from multikernel.inspection.pipelines import check_model, data_at_model, last_step
from multikernel.inspection.resampling import interval_ends, resampled_weights


def contributions(estimator: Any, X: Any, by: str = "kernel") -> Bunch:
    """Return the terms of a model, also of one inside a pipeline or a search.

    Parameters
    ----------
    estimator : estimator
        A fitted multiple kernel model, or a pipeline or search that ends in one.
    X : array-like or data frame of shape (n_samples, n_features)
        Data, as the estimator takes them.
    by : {"kernel", "view", "column"}, default="kernel"
        What a term is of: a kernel in use, all kernels of a view, or all kernels in
        use on the same columns. An interaction has a term of its own, ``age × dose``.

    Returns
    -------
    found : Bunch
        ``terms`` of shape (n_samples, [n_outputs, ]n_terms), which with the intercept
        sum to predictions or decision values, and ``names``, a list. Columns without a
        penalty come last, each times its coefficient, as "age (unpenalized)"; by view
        they are one term, "unpenalized columns".

    Raises
    ------
    TypeError
        If what is inside is no multiple kernel model.
    ValueError
        If terms are to be of views and the model has none, or of columns and its
        kernels are given matrices or nodes of a graph.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from multikernel import SpicyMKLRegressor
    >>> from multikernel.inspection import contributions
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> model = make_pipeline(StandardScaler(), SpicyMKLRegressor({"a": 0, "b": 1}))
    >>> found = contributions(model.fit(X, X[:, 0] ** 2), X, by="view")
    >>> found.names, found.terms.shape
    (['a', 'b'], (40, 2))
    """
    check_parameter("contributions", "by", by, OneOf(("kernel", "view", "column")))
    before, model = last_step(estimator)
    check_model("contributions", model)
    data = data_at_model(before, X)
    found = _kernel_terms(model, np.asarray(model.contributions(data)), by)
    free, names = _unpenalized_terms(model, data)
    if names and by == "view":
        free, names = free.sum(axis=-1, keepdims=True), ["unpenalized columns"]
    terms = np.concatenate([found.terms, free], axis=-1) if names else found.terms
    return Bunch(terms=terms, names=found.names + names)


def _unpenalized_terms(model: Any, X: Any) -> tuple[Array, list[str]]:
    """Return the terms of columns without a penalty, and their names; [] if none."""
    names = getattr(model, "unpenalized_names_", [])
    if not names:
        return np.empty(0), []
    fitted, checked = model._model_and_data(X)
    origins = fitted.design.origins
    columns = fitted.design(checked) + (0.0 if origins is None else origins)
    # (n_samples, 1, n_columns) times (n_outputs, n_columns), without a single output.
    terms = columns[:, None] * np.atleast_2d(model.unpenalized_coef_)
    one = np.ndim(model.unpenalized_coef_) == 1
    return terms[:, 0] if one else terms, [f"{name} (unpenalized)" for name in names]


def _kernel_terms(model: Any, terms: Array, by: str) -> Bunch:
    """Return the terms of kernels by kernel, view or column, and their names."""
    active = model.active_kernels_
    if by == "kernel":
        names = model.kernel_names_
        return Bunch(terms=terms, names=[names[m] for m in active])
    if by == "column":
        kernels_in_use(model, "Terms by column")
        sets = column_members(model)
        belongs = np.zeros((len(active), len(sets)))
        for number, kernels_of_set in enumerate(sets.values()):
            belongs[kernels_of_set, number] = 1.0
        names = term_names(sets, column_names(model))
        return Bunch(terms=terms @ belongs, names=names)
    views = model._fitted().names.views
    if views is None:
        raise ValueError(
            f"{type(model).__name__} was fitted without views: pass kernels as a "
            "mapping from views, or use by='kernel'."
        )
    members = view_members(views)
    sums = [
        terms[..., np.isin(active, kernels_of_set)].sum(axis=-1)
        for kernels_of_set in members.values()
    ]
    return Bunch(terms=np.stack(sums, axis=-1), names=list(members))


def r2_score_split(y: Any, contributions: Any, *, sample_weight: Any = None) -> Array:
    r"""Split R² among the terms of a prediction, by the product measure.

    Of a prediction :math:`f = \sum_m f_m`, term m has the share

    .. math:: \frac{\operatorname{Cov}(f_m, 2 y - f)}{\operatorname{Var}(y)},

    what it explains alone, and half of what it explains jointly with each other term
    [1]_. The shares sum to

    .. math:: 1 - \frac{\operatorname{Var}(y - f)}{\operatorname{Var}(y)},

    which is `sklearn.metrics.r2_score` of predictions with the mean of `y`; a
    constant, such as an intercept, changes no share. A negative share belongs to a term
    that makes predictions worse.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Targets, best of samples that the model has not seen.
        One column may be a target without an axis of outputs.
    contributions : array-like of shape (n_samples, [n_outputs, ]n_terms)
        The terms, as ``contributions(X)`` of a model returns them, or sums over views.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    shares : ndarray of shape ([n_outputs, ]n_terms)

    Raises
    ------
    ValueError
        If shapes disagree, values are not finite, or a target is constant.

    See Also
    --------
    variance_split : Does it for a fitted estimator, with intervals.

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
    """Shares of held-out variance by kernel or view, with what chance does to them.

    Parameters
    ----------
    names : tuple of str
        Names of the terms.
    shares : ndarray of shape ([n_outputs, ]n_terms)
        See `r2_score_split`.
    r2 : float or ndarray of shape (n_outputs,)
        `sklearn.metrics.r2_score` of the predictions. The shares sum to it, but for
        ``(mean(y) - mean(f))² / Var(y)``, which no term answers for.
    resampled : ndarray of shape (n_resamples, [n_outputs, ]n_terms)
        Shares on samples drawn with replacement from those that were held out.
    output_names : tuple of str, default=()
        Names of the outputs, where there are several.
    score : str, default="R²"
        What is split; "D²" in a split of `deviance_split`.
    """

    names: tuple[str, ...]
    shares: Array
    r2: Any
    resampled: Array
    output_names: tuple[str, ...] = ()
    score: str = "R²"

    def interval(self, level: float = 0.9) -> tuple[Array, Array]:
        """Return the range that holds the middle of the resampled shares.

        It tells how much of a share is the chance of these held-out samples, for one
        fixed model; `bootstrap` fits models anew.

        Parameters
        ----------
        level : float, default=0.9
            Share of the resamples that lie inside.

        Returns
        -------
        low, high : ndarray of shape ([n_outputs, ]n_terms)
        """
        ends = interval_ends(type(self).__name__, level)
        # Of no terms, where a model uses no kernel, numpy returns nothing.
        bounds = np.nanquantile(self.resampled, ends, axis=0)
        low, high = bounds.reshape(2, *self.shares.shape)
        return low, high

    def mean(self) -> "VarianceSplit":
        """Return the split of the mean R² of several targets.

        Returns
        -------
        split : VarianceSplit
            Of one output; the same where there is one already.
        """
        if self.shares.ndim == 1:
            return self
        shares, drawn = self.shares.mean(axis=0), self.resampled.mean(axis=1)
        r2 = float(np.mean(self.r2))
        return VarianceSplit(self.names, shares, r2, drawn, score=self.score)

    def __repr__(self) -> str:
        """Return R² and the shares, largest first: arrays of resamples fill pages."""
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
        Their targets.
    by : {"kernel", "view", "column"}, default="kernel"
        What the variance is split among: kernels, views, or columns and the
        interactions of columns, each with all kernels on them. Columns without a
        penalty are terms of their own, see `contributions`.
    n_resamples : int, default=1000
        Resamples of the samples, for intervals.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples.
    groups : array-like of shape (n_samples,), default=None
        A label for each sample, such as its patient: resamples are of whole groups.
    offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        Known parts of the decision values, as in ``predict``.
    random_state : int, RandomState or None, default=None
        Draws the resamples.

    Returns
    -------
    split : VarianceSplit

    Raises
    ------
    TypeError
        If the estimator is no regressor of this library.
    ValueError
        If data or parameters are wrong, a target is constant, or predictions are no
        sums of terms, as with the losses "poisson" and "gamma": use `deviance_split`.

    See Also
    --------
    r2_score_split : The formula.
    multikernel.display.VarianceSplitDisplay : Draws it.

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
    """Return offsets of decision values, of the shape of `values`; zeros for None."""
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
    """Return the split of arrays with an axis of outputs, which a single one lacks."""
    if len(r2) == 1:
        first = shares[0], float(r2[0]), drawn[:, 0]
        return VarianceSplit(tuple(names), *first, score=score)
    outputs = tuple(str(label) for label in output_labels(model, len(r2)))
    return VarianceSplit(tuple(names), shares, r2, drawn, outputs, score)


def _checked(
    y: Any, contributions: Any, sample_weight: Any
) -> tuple[Array, Array, Array]:
    """Return targets (n_samples, n_outputs), terms of one axis more, and weights."""
    targets = np.asarray(y, dtype=np.float64)
    terms = np.asarray(contributions, dtype=np.float64)
    if targets.ndim == terms.ndim == 2 and targets.shape[1] == 1:
        targets = targets[:, 0]
    if targets.ndim not in (1, 2) or terms.shape[:-1] != targets.shape:
        raise ValueError(
            f"contributions has shape {terms.shape}, and y {targets.shape}: expected "
            "the same with one axis more, of the terms."
        )
    if not (np.isfinite(targets).all() and np.isfinite(terms).all()):
        raise ValueError("y and contributions must be finite.")
    targets = targets.reshape(len(targets), -1)
    weights = check_weights(sample_weight, len(targets))
    weights = np.ones(len(targets)) if weights is None else weights
    return targets, terms.reshape(*targets.shape, terms.shape[-1]), weights


def _whole_shares(targets: Array, terms: Array, weights: Array) -> tuple[Array, Array]:
    """Return shares under one weighting, and variances; raise for constant targets."""
    shares, variances = _shares(targets, terms, weights[None])
    constant = np.flatnonzero(np.isnan(variances[0]))
    if constant.size:
        several = targets.shape[1] > 1
        which = f"Target {constant[0]} (counted from 0)" if several else "y"
        raise ValueError(f"{which} is constant: it has no variance to split.")
    return shares[0], variances[0]


def _shares(targets: Array, terms: Array, weights: Array) -> tuple[Array, Array]:
    """Return shares under some weightings, and the variances of the targets.

    Of shapes (n_weightings, n_outputs, n_terms) and (n_weightings, n_outputs); shares
    of a target that is constant are nan.
    """
    # Covariances do not depend on an offset, and lose no digits to none.
    y, f = targets - targets.mean(axis=0), terms - terms.mean(axis=0)
    rest = 2.0 * y - f.sum(axis=2)
    w = weights / weights.sum(axis=1, keepdims=True)

    def mean(values: Array) -> Array:
        return np.tensordot(w, values, axes=1)

    variances = mean(y**2) - mean(y) ** 2
    joint = mean(f * rest[..., None]) - mean(f) * mean(rest)[..., None]
    # A constant leaves the rounding of its values.
    sizes = np.finfo(np.float64).eps * np.abs(targets).max(axis=0, initial=0.0)
    variances = np.where(variances > (4.0 * sizes) ** 2, variances, np.nan)
    return joint / variances[..., None], variances
