"""Terms of a model by kernel, view or column."""

from collections.abc import Sequence

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch

from multikernel._typing import Array, Indices
from multikernel._validation import OneOf, check_parameter
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.publish.columns import (
    column_names,
    kernels_in_use,
    term_names,
    terms_by_columns,
)
from multikernel.estimators.publish.predict import AdditiveModel, Rows
from multikernel.estimators.publish.summary import view_members
from multikernel.inspection.pipelines import data_at_model, model_of


def contributions(estimator: BaseEstimator, X: object, by: str = "kernel") -> Bunch:
    """Return the terms of a fitted model: the functions of its kernels at samples X.

    Parameters
    ----------
    estimator : estimator
        A fitted multiple kernel model, or a pipeline or search that ends in one.
    X : array-like or data frame of shape (n_samples, n_features)
        Data, as in ``predict``.
    by : {"kernel", "view", "column"}, default="kernel"
        Unit of a term: an active kernel, a view, or a set of columns, such as ``age``
        or the interaction ``age × dose``.

    Returns
    -------
    result : Bunch
        ``terms`` of shape (n_samples, [n_outputs, ]n_terms), and their ``names``. The
        terms and the intercept sum to predictions or decision values. Terms of
        unpenalized columns come last, with names such as "age (unpenalized)". By view,
        they are one term, "unpenalized columns".

    Raises
    ------
    ValueError
        If `by` is "view" and the model has no views, or if `by` is "column" and the
        kernels are precomputed matrices or nodes of a graph.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import SpicyMKLRegressor
    >>> from multikernel.inspection import contributions
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> model = SpicyMKLRegressor({"a": 0, "b": 1}).fit(X, X[:, 0] ** 2)
    >>> split = contributions(model, X, by="view")
    >>> split.names, split.terms.shape
    (['a', 'b'], (40, 2))
    """
    check_parameter("contributions", "by", by, OneOf(("kernel", "view", "column")))
    before, model = model_of("contributions", estimator)
    names, data = names_of_terms(model, by), data_at_model(before, X)
    terms = np.asarray(model.contributions(data))
    if by != "kernel":
        kernel_groups = _kernel_groups(model, by)
        indicators = np.zeros((terms.shape[-1], len(kernel_groups)))
        for index, kernels in enumerate(kernel_groups.values()):
            indicators[kernels, index] = 1.0
        terms = terms @ indicators
    if getattr(model, "unpenalized_names_", []):
        free = _unpenalized_terms(model, data)
        free = free.sum(axis=-1, keepdims=True) if by == "view" else free
        terms = np.concatenate([terms, free], axis=-1)
    return Bunch(terms=terms, names=names)


def names_of_terms(model: BaseMKL, by: str) -> list[str]:
    """Return the names of the terms that `contributions` computes."""
    names = [model.kernel_names_[m] for m in model.active_kernels_]
    if by != "kernel":
        names = list(_kernel_groups(model, by))
    free = getattr(model, "unpenalized_names_", [])
    if by == "view":
        return names + ["unpenalized columns"] * bool(free)
    return names + [f"{name} (unpenalized)" for name in free]


def sum_terms(
    model: AdditiveModel,
    active: Indices,
    kernels: Sequence[int] | Indices,
    X: Rows,
    center: Rows | None,
) -> Array:
    """Return the sum of the terms of `kernels`, shape (n_samples, n_outputs)."""
    # `active` are the indices of all active kernels; other kernels have no term. If
    # samples `center` are given, the mean of the sum over them is subtracted.
    positions = np.flatnonzero(np.isin(active, kernels)).tolist()
    values: Array = model.terms(X, positions).sum(axis=2)
    if center is not None:
        values -= model.terms(center, positions).sum(axis=2).mean(axis=0)
    return values


def _unpenalized_terms(model: BaseMKL, X: object) -> Array:
    """Return the terms of unpenalized columns, (n_samples, [n_outputs, ]n_columns)."""
    fitted, checked = model._model_and_data(X)
    assert fitted.design is not None
    # The design subtracts `origins` from columns with values far from zero.
    columns = fitted.design(checked) + fitted.design.origins
    # (n_samples, 1, n_columns) times (n_outputs, n_columns)
    terms: Array = columns[:, None] * np.atleast_2d(model.unpenalized_coef_)
    return terms[:, 0] if np.ndim(model.unpenalized_coef_) == 1 else terms


def _kernel_groups(model: BaseMKL, by: str) -> dict[str, list[int] | Indices]:
    """Return, for each view or set of columns, the positions of its active kernels."""
    if by == "column":
        kernels_in_use(model, "Terms by column")
        column_sets = terms_by_columns(model)
        names = term_names(column_sets, column_names(model))
        return dict(zip(names, column_sets.values(), strict=True))
    views = model._fitted().names.views
    if views is None:
        raise ValueError(
            f"{type(model).__name__} was fitted without views: use by='kernel', or fit "
            "it with kernels as a mapping from view names to columns."
        )
    kernels_by_view = view_members(views)
    active = model.active_kernels_
    return {v: np.flatnonzero(np.isin(active, m)) for v, m in kernels_by_view.items()}
