"""Permutation importance of groups of columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.metrics import check_scoring
from sklearn.utils import Bunch, check_random_state

from multikernel._typing import Indices
from multikernel._validation import COUNT, check_parameter, check_weights, shown
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.read.doubts import warn_order
from multikernel.estimators.read.precomputed import NamedGrams
from multikernel.estimators.read.targets import check_target_names
from multikernel.estimators.survival.base import SurvivalMKL
from multikernel.estimators.survival.times import read_times
from multikernel.inspection import pipelines
from multikernel.inspection.resampling import group_numbers

Groups = Mapping[str, Sequence[int | str]]
"""Mapping from group names to columns, by position or name."""


def group_permutation_importance(
    estimator: BaseEstimator,
    X: object,
    y: ArrayLike,
    groups: str | Groups = "kernel",
    *,
    n_repeats: int = 5,
    scoring: str | Callable[..., float] | None = None,
    sample_weight: ArrayLike | None = None,
    sample_groups: object = None,
    offset: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Return the decrease of the score when groups of columns are shuffled.

    All columns of a group are shuffled together. Shuffling single columns, as
    scikit-learn's ``permutation_importance`` does, underestimates redundant columns.

    Parameters
    ----------
    estimator : estimator
        A fitted multiple kernel model, or a pipeline that ends in one. For a pipeline,
        `groups` refers to the columns of the transformed data.
    X : array-like or data frame of shape (n_samples, n_features)
        Data to score on, preferably unseen; with ``kernels="precomputed"``, Gram
        matrices of shape (n_samples, n_fit_samples, n_kernels).
    y : array-like of shape (n_samples,)
        Targets, as in ``score``.
    groups : {"kernel", "view"} or mapping, default="kernel"
        "kernel": the columns of each active kernel (kernels on the same columns are one
        group); "view": the columns of each view; or a mapping from group names to
        columns, by position or name. Precomputed kernels are one group each.
    n_repeats : int, default=5
        Number of permutations of each group.
    scoring : str, callable or None, default=None
        Score; None uses the estimator's own score.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples in the score.
    sample_groups : array-like of shape (n_samples,), default=None
        Label of each sample's group, such as its patient. Whole groups are permuted:
        a group gets the rows of another group in order, repeated or cut to its size.
    offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        Known parts of the decision values; requires ``scoring=None``.
    random_state : int, RandomState or None, default=None
        Seed of the permutations.

    Returns
    -------
    result : Bunch
        ``importances`` of shape (n_groups, n_repeats), ``importances_mean`` and
        ``importances_std`` of shape (n_groups,), and ``group_names``, a list.

    Examples
    --------
    >>> from multikernel import SpicyMKLRegressor
    >>> from multikernel.datasets import make_additive_regression
    >>> from multikernel.inspection import group_permutation_importance
    >>> X, y = make_additive_regression(80, random_state=0)
    >>> model = SpicyMKLRegressor(alpha=0.1).fit(X, y)
    >>> groups = {"signal": [0, 1, 2], "noise": [3, 4, 5, 6]}
    >>> result = group_permutation_importance(model, X, y, groups, random_state=0)
    >>> bool(result.importances_mean[0] > 10 * abs(result.importances_mean[1]))
    True
    """
    owner = "group_permutation_importance"
    check_parameter(owner, "n_repeats", n_repeats, COUNT)
    before, model = pipelines.model_of(owner, estimator)
    pipelines.check_scoring_choice(owner, model, scoring, offset)
    warn_order(owner, X, sample_groups=sample_groups, offset=offset)
    targets: NDArray[np.generic]
    if isinstance(model, SurvivalMKL):
        warn_order(owner, X, y=y, sample_weight=sample_weight)
        targets = read_times(type(model).__name__, y).structured()
    else:
        targets = check_target_names(model, X, y, sample_weight)
    weights = check_weights(sample_weight, len(targets))
    data = pipelines.data_at_model(before, X)
    score = check_scoring(model, scoring=scoring)
    arguments = {"sample_weight": weights, "offset": offset}
    metadata = {name: v for name, v in arguments.items() if v is not None}
    names, group_columns = _group_columns(owner, model, groups)
    group_of = group_numbers(sample_groups, len(targets), "sample_groups")
    rng = check_random_state(random_state)
    base = score(model, data, targets, **metadata)
    importances = np.empty((len(names), n_repeats))
    for group, columns in enumerate(group_columns):
        for repeat in range(n_repeats):
            shuffled = _shuffled(data, columns, _source_rows(group_of, rng))
            decrease = base - score(model, shuffled, targets, **metadata)
            importances[group, repeat] = decrease
    return Bunch(
        group_names=names,
        importances=importances,
        importances_mean=importances.mean(axis=1),
        importances_std=importances.std(axis=1),
    )


def _source_rows(group_of: Indices, rng: np.random.RandomState) -> Indices:
    """Return, for each sample, the row from which it gets the shuffled columns."""
    # `group_of` has the group number of each sample. A group gets the rows of another
    # group, repeated or truncated to its size.
    sizes = np.bincount(group_of)
    members = np.split(np.argsort(group_of, kind="stable"), np.cumsum(sizes)[:-1])
    order = np.empty(group_of.size, dtype=np.intp)
    for rows, source in zip(members, rng.permutation(len(members)), strict=True):
        order[rows] = np.resize(members[source], rows.size)
    return order


def _group_columns(
    owner: str, model: BaseMKL, groups: str | Groups
) -> tuple[list[str], list[Indices]]:
    """Return the names of all groups, and their columns by position."""
    if isinstance(groups, Mapping):
        if not groups:
            raise ValueError(
                f"{owner}: groups is an empty mapping: pass at least one group."
            )
        columns_of = {str(n): _positions(owner, model, n, c) for n, c in groups.items()}
    elif isinstance(groups, str) and groups in ("kernel", "view"):
        columns_of = _active_groups(owner, model, groups)
    else:
        raise ValueError(
            f"{owner}: groups must be 'kernel', 'view' or a mapping from names to "
            f"columns, got {shown(groups)}. Pass labels of samples as sample_groups."
        )
    if not columns_of:
        raise ValueError(
            f"{owner}: the model has no active kernel, so there is no group: fit with "
            "a weaker penalty, or pass groups as a mapping from names to columns."
        )
    return list(columns_of), list(columns_of.values())


def _positions(
    owner: str, model: BaseMKL, group: str, columns: Sequence[int | str]
) -> Indices:
    """Return the positions of a group's columns, ascending; raise if one is invalid."""
    n_features = model.n_features_in_
    names = list(getattr(model, "feature_names_in_", ()))
    if model._state.precomputed:
        n_features, names = len(model.kernel_names_), model.kernel_names_
    positions = []
    for column in [columns] if isinstance(columns, str) else columns:
        if isinstance(column, str) and column in names:
            positions.append(names.index(column))
        elif not isinstance(column, str) and 0 <= column < n_features:
            positions.append(int(column))
        else:
            advice = "names of these columns, or positions" if names else "positions"
            raise ValueError(
                f"{owner}: group {group!r} contains column {column!r}, which is not "
                f"one of the {n_features} columns of the fit: pass {advice} from 0 to "
                f"{n_features - 1}."
            )
    if not positions:
        raise ValueError(
            f"{owner}: group {group!r} has no columns: add columns, or remove it."
        )
    return np.unique(positions)


def _active_groups(owner: str, model: BaseMKL, unit: str) -> dict[str, Indices]:
    """Return the columns of each group of active kernels, by the name of the group."""
    # A group is a view if `unit` is "view", otherwise all kernels on the same columns.
    views = list(getattr(model, "kernel_views_", ()))
    if unit == "view" and not any(views):
        raise ValueError(
            f"{owner}: {type(model).__name__} was fitted without views: fit it with "
            "kernels as a mapping from view names to columns, or pass groups as a "
            "mapping from names to columns."
        )
    # The key of a group is the name of its view, or its columns.
    columns_by_key: dict[str | tuple[int, ...], Indices] = {}
    names: dict[str | tuple[int, ...], list[str]] = {}
    for m in model.active_kernels_.tolist():
        columns = np.array([m])  # a precomputed matrix counts as one column
        if not model._state.precomputed:
            columns = pipelines.kernel_columns(model, m)
        key = views[m] if unit == "view" else tuple(columns.tolist())
        columns_by_key[key] = np.union1d(columns_by_key.get(key, columns), columns)
        names.setdefault(key, []).append(model.kernel_names_[m])
    columns_of: dict[str, Indices] = {}
    for key, (first, *others) in names.items():
        name = first + (f" and {len(others)} more" if others else "")
        columns_of[key if isinstance(key, str) else name] = columns_by_key[key]
    return columns_of


def _shuffled(X: Any, columns: Indices, order: Indices) -> object:
    """Return a copy of X in which some columns have their rows in another order."""
    # X is a frame of pandas or polars, a sparse matrix, an array or `NamedGrams`.
    if hasattr(X, "iloc"):
        result = X.copy()
        for column in columns.tolist():
            result.isetitem(column, X.iloc[order, column].to_numpy())
        return result
    if hasattr(X, "with_columns"):
        names = [X.columns[column] for column in columns.tolist()]
        return X.with_columns(**{name: X[name][order] for name in names})
    rows = X
    if issparse(X):
        rows = rows.tocsr()
        is_shuffled = np.isin(np.arange(rows.shape[1]), columns)
        return rows.multiply(~is_shuffled) + rows[order].multiply(is_shuffled)
    result = np.array(X)
    if result.ndim == 1:
        return result[order]  # X is a one-dimensional array of sequences
    # Columns are on the last axis, and so are precomputed kernels.
    result[..., columns] = result[order][..., columns]
    return replace(X, array=result) if isinstance(X, NamedGrams) else result
