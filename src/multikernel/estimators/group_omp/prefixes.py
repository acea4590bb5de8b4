"""Methods of estimators that predict with the first k selected kernels, for any k."""

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if

from multikernel._typing import Array
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.group_omp.stages import Stages
from multikernel.estimators.read.tables import check_predict_data
from multikernel.estimators.tasks import (
    RegressorMKL,
    class_codes,
    has_probabilities,
    log_probabilities,
    one_column,
)
from multikernel.losses.base import predicted_means

Model = TypeVar("Model", bound=BaseMKL)


def _stages_of(model: BaseMKL) -> Stages:
    """Return a fitted estimator's models with no kernel, one selected kernel, ..."""
    stages: Stages | None = model._fitted().stages
    assert stages is not None
    return stages


def _staged_values(model: BaseMKL, X: object) -> Array:
    """Return decision values, shape (n_selected + 1, n_samples, n_outputs)."""
    staged = _stages_of(model).model
    return staged.decision_values(
        check_predict_data(model, X, precomputed=model._state.precomputed)
    )


# `GroupOMPClassifier`, `GroupOMPRegressor` and their searches use these functions as
# methods, in place of a base class.


def prefix(self: Model, n_kernels: int) -> Model:
    """Return the fitted model with only the first `n_kernels` selected kernels.

    The result has the predictions and fitted attributes of a fit with `n_kernels`
    kernels, and the parameters of this estimator.

    Parameters
    ----------
    n_kernels : int
        Number of kernels, from zero to the length of ``selection_order_``.

    Returns
    -------
    model : estimator
        A copy that shares its arrays with this estimator.

    Raises
    ------
    ValueError
        If `n_kernels` is negative, or larger than the number of selected kernels.
    """
    stages = _stages_of(self)
    if not 0 <= n_kernels <= len(stages):
        raise ValueError(
            f"n_kernels={n_kernels} is out of range, because the selection_order_ of "
            f"{type(self).__name__} has length {len(stages)}: use an integer from 0 to "
            f"{len(stages)}."
        )
    attributes = stages.prefix(n_kernels).attributes()
    state = replace(
        self._state,
        model=attributes.pop("_model"),
        stages=attributes.pop("_stages"),
        folds=None,
    )
    model = copy.copy(self)
    for name, value in (attributes | {"_state": state}).items():
        setattr(model, name, value)
    return model


def staged_decision_function(self: BaseMKL, X: object) -> Iterator[Array]:
    """Return the decision values of the models with no kernel, one kernel, ...

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_features)
        Data, or Gram matrices of shape (n_samples, n_fit_samples, n_kernels).

    Returns
    -------
    values : iterator of ndarray of shape (n_samples,) or (n_samples, n_classes)
        Item k is the `decision_function` of ``prefix(k)``.
    """
    return (one_column(f) for f in _staged_values(self, X))


def staged_class_predictions(self: BaseMKL, X: object) -> Iterator[Array]:
    """Return the predictions of the models with no kernel, one kernel, ...

    X is as in `staged_decision_function`. Item k of the iterator contains the labels
    that ``prefix(k)`` predicts, shape (n_samples,).
    """
    values = _staged_values(self, X)
    return (self.classes_[class_codes(f)] for f in values)


@available_if(has_probabilities)
def staged_predict_proba(self: BaseMKL, X: object) -> Iterator[Array]:
    """Return the class probabilities of the models with no kernel, one kernel, ...

    Requires ``loss="log_loss"``. X is as in `staged_decision_function`. Item k of the
    iterator is the `predict_proba` of ``prefix(k)``, shape (n_samples, n_classes).
    """
    return (np.exp(log_probabilities(f)) for f in _staged_values(self, X))


def staged_target_predictions(self: BaseMKL, X: object) -> Iterator[Array]:
    """Return the predictions of the models with no kernel, one kernel, ...

    X is as in `predict`. Item k of the iterator contains the predictions of
    ``prefix(k)``, shape (n_samples,) or (n_samples, n_outputs).
    """
    link = self._state.link
    return (one_column(predicted_means(link, f)) for f in _staged_values(self, X))


def multi_output_tags(self: RegressorMKL) -> Tags:
    """Return the tags of a regressor that supports several targets."""
    tags = RegressorMKL.__sklearn_tags__(self)
    tags.target_tags.multi_output = True
    return tags
