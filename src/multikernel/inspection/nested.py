"""Nested cross-validation: unbiased scores of a search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _num_samples

from multikernel._typing import Array, Indices, Mask
from multikernel._validation import OneOf, check_parameter, printable, shown
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.publish.fitted import warn_refit_without_offset
from multikernel.estimators.publish.summary import (
    MOST_ROWS,
    data_frame,
    default_score,
    view_members,
)
from multikernel.estimators.search.splits import Split, Splitter, folds_of
from multikernel.inspection.pipelines import (
    check_scoring_choice,
    data_at_model,
    innermost,
    last_step,
    model_of,
)

OWNER = "nested_cross_validate"


@dataclass(frozen=True, eq=False, repr=False)
class NestedScores:
    """Scores of a search on outer folds, and the kernels active in at least one fold.

    `selections` and `variance_shares` have shape (n_folds, n_kernels); shares refer to
    each fold's training samples, averaged over outputs. If a kernel's name contains a
    width from the data, the width is that of the first fold that uses the kernel.
    `best_params` has one dictionary per fold, empty if the estimator is not a search.
    """

    scores: Array
    scoring: str
    best_params: tuple[Mapping[str, object], ...]
    kernel_names: tuple[str, ...]
    selections: Mask
    variance_shares: Array
    kernel_views: tuple[str, ...] | None = None
    view_names: tuple[str, ...] = ()

    @property
    def mean(self) -> float:
        """Mean score over the outer folds."""
        return float(self.scores.mean())

    @property
    def spread(self) -> float:
        """Standard deviation of the score over outer folds; NaN for a single fold."""
        return float(self.scores.std(ddof=1)) if len(self.scores) > 1 else np.nan

    def summary(self, by: str = "kernel") -> Any:
        """Return how often each kernel or view was active, as a pandas data frame.

        `by` is ``"kernel"`` or ``"view"``, the unit of a row. ``in_use`` is the share
        of folds in which it is active; further columns are the mean, smallest and
        largest variance share over folds. ``by="view"`` requires models with views.
        """
        return data_frame(self.columns(by))

    def columns(self, by: str = "kernel") -> dict[str, list[object]]:
        """Return the columns of `summary` by name, as lists."""
        check_parameter(type(self).__name__, "by", by, OneOf(("kernel", "view")))
        names, shares = self.kernel_names, self.variance_shares
        active = self.selections
        if by == "view":
            if self.kernel_views is None:
                raise ValueError(
                    "The models have no views: use by='kernel', or a model whose "
                    "kernels are a mapping from view names to columns."
                )
            names, kernels_of = self.view_names, view_members(self.kernel_views)
            columns = [kernels_of.get(view, []) for view in names]
            active = np.stack([active[:, m].any(axis=1) for m in columns], axis=1)
            shares = np.stack([shares[:, m].sum(axis=1) for m in columns], axis=1)
        in_use, mean = active.mean(axis=0), shares.mean(axis=0)
        order = np.lexsort([-np.abs(mean), -in_use]).tolist()
        return {
            by: [names[m] for m in order],
            "in_use": in_use[order].tolist(),
            "variance_share": mean[order].tolist(),
            "smallest_share": shares.min(axis=0, initial=np.inf)[order].tolist(),
            "largest_share": shares.max(axis=0, initial=-np.inf)[order].tolist(),
        }

    def __repr__(self) -> str:
        by = "kernel" if self.kernel_views is None else "view"
        title = (
            f"{self.scoring} {self.mean:.3g} on average over {len(self.scores)} outer "
            f"folds, standard deviation {self.spread:.2g}, from "
            f"{self.scores.min():.3g} to {self.scores.max():.3g}; share of the folds "
            "in use, and of the variance"
        )
        columns = self.columns(by)
        rows = zip(
            columns["in_use"], columns["variance_share"], columns[by], strict=True
        )
        lines = [f"{folds:7.0%} {share:7.3f}  {name}" for folds, share, name in rows]
        return printable("\n".join([title, *lines[:MOST_ROWS]]))


def nested_cross_validate(
    estimator: BaseEstimator,
    X: object,
    y: ArrayLike,
    *,
    cv: int | Splitter | Iterable[Split] | None = None,
    scoring: str | Callable[..., float] | None = None,
    sample_weight: ArrayLike | None = None,
    groups: object = None,
    offset: ArrayLike | None = None,
) -> NestedScores:
    """Score a search on outer folds, with a separate search on each training set.

    A search's own score is too optimistic, because it is the best score of many
    candidates on the same folds. Here the scored samples do not influence the choice.

    Parameters
    ----------
    estimator : estimator
        A search of this library, a pipeline that ends in one, or a search of
        scikit-learn over models of this library; not changed. A model with fixed
        parameters gives plain cross-validation.
    X, y : array-like
        Data and targets, as in ``fit``.
    cv : int, splitter, iterable of (train, test) or None, default=None
        Outer folds; None means five. Inner folds are the ``cv`` of the search.
    scoring : str, callable or None, default=None
        Score of the outer folds; None uses the estimator's score. Inside the folds, the
        search maximizes its own ``scoring``.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples in fits, and in scores if `scoring` is None.
    groups : array-like of shape (n_samples,), default=None
        Labels of groups, such as patients, that inner and outer folds keep together.
    offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        Known parts of the decision values, as in ``fit``; requires ``scoring=None``.

    Returns
    -------
    nested : NestedScores

    Examples
    --------
    >>> from multikernel import SpicyMKLRegressorCV
    >>> from multikernel.datasets import make_additive_regression
    >>> from multikernel.inspection import nested_cross_validate
    >>> X, y = make_additive_regression(120, random_state=0)
    >>> views = {"signal": [0, 1, 2], "noise": [3, 4, 5]}
    >>> search = SpicyMKLRegressorCV(views, n_alphas=10, cv=3)
    >>> nested = nested_cross_validate(search, X, y, cv=3)
    >>> nested.scores.shape
    (3,)
    >>> nested.summary("view")["view"].tolist()
    ['signal', 'noise']
    """
    # `last_step` replaces fitted searches of scikit-learn by their best estimators. A
    # clone is not fitted, so `inner` is the search itself.
    warn_refit_without_offset(OWNER, last_step(estimator)[1], offset)
    estimator = clone(estimator)
    _, inner = last_step(estimator)
    inner_search = getattr(inner, "estimator", None)
    model_of(OWNER, estimator if inner_search is None else inner_search)
    if inner_search is not None and not (sample_weight is None and offset is None):
        raise ValueError(
            f"{OWNER}: sample_weight and offset require a search of this library, got "
            f"{type(inner).__name__}: use SpicyMKLRegressorCV, for example."
        )
    check_scoring_choice(OWNER, inner, scoring, offset)
    stratify = is_classifier(inner) and np.ndim(y) == 1
    labels = np.asarray(y) if stratify else np.zeros(_num_samples(y))
    splits = folds_of(cv, labels, groups, stratify=stratify)
    metadata = {"sample_weight": sample_weight, "offset": offset, "groups": groups}
    if not hasattr(inner, "cv"):  # a model that is not a search has no inner folds
        del metadata["groups"]
    metadata = {name: value for name, value in metadata.items() if value is not None}
    models, scores, parameters = [], [], []
    for train, test in splits:
        fitted = _fit_fold(estimator, X, y, metadata, train)
        models.append(last_step(fitted)[1])
        held_out = _safe_split(estimator, X, y, test, train)
        scores.append(_score(fitted, held_out, scoring, metadata, test))
        parameters.append(
            getattr(innermost(fitted, "best_params_"), "best_params_", {})
        )
    scoring = scoring if inner_search is None else scoring or inner.scoring
    metric = default_score(models[0]) if scoring is None else scoring
    label = metric if isinstance(metric, str) else shown(metric)
    return NestedScores(np.array(scores), label, tuple(parameters), *_usage(models))


def _fit_fold(
    estimator: BaseEstimator,
    X: object,
    y: ArrayLike,
    metadata: Mapping[str, object],
    train: Indices,
) -> BaseEstimator:
    """Return a clone fitted on the rows `train` of X, y and the metadata of `fit`."""
    # Pipelines pass metadata to their last step, whose name is the prefix.
    prefix, model = "", estimator
    while hasattr(model, "steps"):
        name, model = model.steps[-1]
        prefix += f"{name}__"
    fit_params = {f"{prefix}{k}": _safe_indexing(v, train) for k, v in metadata.items()}
    fold = clone(estimator)
    return fold.fit(*_safe_split(estimator, X, y, train), **fit_params)


def _score(
    fitted: BaseEstimator,
    held_out: tuple[object, ArrayLike],
    scoring: str | Callable[..., float] | None,
    metadata: Mapping[str, object],
    test: Indices,
) -> float:
    """Return the score on `held_out`, the rows `test` of X and y."""
    X, y = held_out
    if scoring is not None:
        return float(check_scoring(fitted, scoring=scoring)(fitted, X, y))
    params = {k: _safe_indexing(v, test) for k, v in metadata.items() if k != "groups"}
    if not params:
        return float(fitted.score(X, y))
    # The score of a pipeline would not accept weights and offsets.
    before, model = last_step(fitted)
    return float(model.score(data_at_model(before, X), y, **params))


def _usage(
    models: list[BaseMKL],
) -> tuple[tuple[str, ...], Mask, Array, tuple[str, ...] | None, tuple[str, ...]]:
    """Return kernel names, selections, variance shares, kernel views and view names."""
    # These are the last fields of `NestedScores`, in their order.
    # Kernels are matched by name if their indices differ between folds, as nodes of
    # graphs and kernels of models with different numbers of kernels do.
    sizes = {model._state.names.n_kernels for model in models}
    by_name = len(sizes) > 1 or any(hasattr(model, "hull_") for model in models)
    columns: dict[str | int, tuple[str, str | None]] = {}
    rows: list[dict[str | int, float]] = []
    all_views: dict[str, None] = {}
    for model in models:
        active, views = model.active_kernels_.tolist(), model._state.names.views
        names = model._fitted().names(active)
        keys = names if by_name else active
        shares = np.atleast_2d(model.variance_shares_).mean(axis=0)
        rows.append({k: float(shares[m]) for k, m in zip(keys, active, strict=True)})
        for key, name, m in zip(keys, names, active, strict=True):
            columns.setdefault(key, (name, None if views is None else views[m]))
        all_views |= dict.fromkeys(views or ())
    shares = np.array([[row.get(key, 0.0) for key in columns] for row in rows])
    is_active = np.array([[key in row for key in columns] for row in rows], dtype=bool)
    shape = len(models), len(columns)
    kernel_views = None
    if all_views:
        kernel_views = tuple(view or "" for _, view in columns.values())
    kernel_names = tuple(name for name, _ in columns.values())
    usage = is_active.reshape(shape), shares.reshape(shape)
    return kernel_names, *usage, kernel_views, tuple(all_views)
