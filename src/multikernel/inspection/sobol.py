"""Sobol indices of a fitted model over the columns of given data."""

from __future__ import annotations

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from multikernel._validation import check_weights
from multikernel.estimators.publish.columns import column_names
from multikernel.estimators.publish.sobol import SobolIndices as SobolIndices, sobol_of
from multikernel.inspection.pipelines import data_at_model, model_of


def sobol_indices(
    estimator: BaseEstimator, X: object, *, sample_weight: ArrayLike | None = None
) -> SobolIndices:
    """Return the variance shares of columns and interactions (`SobolIndices`).

    Columns are drawn independently of each other, so the shares describe the model and
    not the targets. They are exact if active kernels are on disjoint columns or from
    `Interactions`; otherwise they are estimated by sampling.

    Parameters
    ----------
    estimator : fitted estimator or Pipeline
        Model without precomputed or graph kernels, which raise ``ValueError``.
    X : array-like or data frame of shape (n_samples, n_features)
        Samples that contain the values of each column.
    sample_weight : array-like of shape (n_samples,), default=None
        Nonnegative weights of these values.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import SpicyMKLRegressor
    >>> from multikernel.inspection import sobol_indices
    >>> from multikernel.kernels import Interactions
    >>> X, views = np.random.default_rng(0).standard_normal((60, 2)), {"a": 0, "b": 1}
    >>> model = SpicyMKLRegressor(Interactions(views)).fit(X, X[:, 0] * X[:, 1])
    >>> sobol_indices(model, X).interactions.round(1)
    array([1.])
    """
    # Sobol (1993), Mathematical Modelling and Computational Experiments 1, 407-414;
    # total indices: Homma, Saltelli (1996), Reliability Engineering and System Safety
    # 52, 1-17.
    before, model = model_of("sobol_indices", estimator)
    _, data = model._model_and_data(data_at_model(before, X))
    weights = check_weights(sample_weight, len(data))
    return sobol_of(model, data, weights, column_names(model))
