"""Prediction intervals from the models of folds and their residuals."""

import math
from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import Number, check_parameter, check_places, check_shapes
from multikernel.estimators.publish.predict import AdditiveModel, Rows
from multikernel.linalg.tables import row_chunks

COVERAGE = Number(0.5, 1.0, below=True)
"""Valid coverages of intervals; below one half the bounds could cross."""


@dataclass(frozen=True, eq=False)
class FoldModels:
    """The models of all folds of a search with its chosen parameters.

    Parameters
    ----------
    models : tuple of AdditiveModel
        One model per fold, fitted without the fold's validation samples.
    fold_of : ndarray of shape (n_samples,)
        The fold in whose validation set each training sample is.
    residuals : ndarray of shape (n_samples, n_outputs)
        Absolute residuals of the training samples, each by the model of its fold.
    """

    models: tuple[AdditiveModel, ...]
    fold_of: Indices
    residuals: Array

    def _check_fitted(self) -> None:
        """Raise unless the shapes of the arrays agree; a file may contain others."""
        owner = "Models of folds"
        axes = ("n_samples", "n_outputs")
        check_shapes(owner, fold_of=(self.fold_of, axes[:1]))
        check_places(owner, "fold_of", self.fold_of, len(self.models))
        n_samples = self.fold_of.size
        for model in self.models:
            check_shapes(
                owner, residuals=(self.residuals, (n_samples, model.n_outputs))
            )

    def decision_values(self, X: Rows) -> Array:
        """Return the predictions of all models, shape (n_folds, n_new, n_outputs)."""
        return np.stack([model.decision_values(X) for model in self.models])

    def interval(self, predicted: Array, coverage: float) -> tuple[Array, Array]:
        """Return the bounds of intervals from the predictions of all models."""
        return cv_plus(predicted, self.fold_of, self.residuals, coverage)


def cv_plus(
    predicted: Array,
    fold_of: Indices,
    residuals: Array,
    coverage: float,
    deviations: Array | None = None,
) -> tuple[Array, Array]:
    r"""Return the bounds of CV+ intervals, (n_new, n_outputs) each.

    Let :math:`\hat\mu_{-k(i)}(x)` be the prediction of the model fitted without the
    fold :math:`k(i)` of sample i, and :math:`R_i = |y_i - \hat\mu_{-k(i)}(x_i)|` its
    residual at this sample. The interval is

    .. math:: \bigl[q^-\{\hat\mu_{-k(i)}(x) - R_i\},\;
        q^+\{\hat\mu_{-k(i)}(x) + R_i\}\bigr]

    where q\ :sup:`+` is the r-th smallest of the n values, q\ :sup:`-` is the r-th
    largest, and r is coverage times (n + 1), rounded up. This is the definition of CV+
    in the section on K-fold cross-validation of [1]_.

    Parameters
    ----------
    predicted : ndarray of shape (n_folds, n_new, n_outputs)
        Predictions for new samples by the models of all folds.
    fold_of : ndarray of shape (n_samples,)
        The fold of every training sample.
    residuals : ndarray of shape (n_samples, n_outputs)
        Absolute residuals of the training samples, each by the model of its fold.
    coverage : float
        The expected share of new samples whose targets are inside, in [0.5, 1).
    deviations : ndarray of shape (n_folds, n_new, n_outputs), default=None
        Factors of residuals at new samples, if `residuals` were divided by the
        deviations of the same models at the training samples.

    Raises
    ------
    ValueError
        If the coverage is invalid, or requires more samples.

    References
    ----------
    .. [1] Barber, R. F., Candès, E. J., Ramdas, A. and Tibshirani, R. J. (2021).
       Predictive inference with the jackknife+. Annals of Statistics 49, 486-507.
    """
    check_parameter("predict_interval", "coverage", coverage, COVERAGE)
    n_samples, n_outputs = residuals.shape
    # Without rounding, 0.9 * 110 = 99.00000000000001 would have the ceiling 100.
    rank = math.ceil(round(coverage * (n_samples + 1), 9))
    if rank > n_samples:
        least = math.ceil(round(coverage / (1.0 - coverage), 9))
        raise ValueError(
            f"coverage={coverage:g} requires at least {least} training samples, but "
            f"there are {n_samples}: use a smaller coverage."
        )
    low, high = np.empty((2, *predicted.shape[1:]))
    for rows in row_chunks(predicted.shape[1], 2 * n_samples * n_outputs):
        values = predicted[fold_of, rows]
        off = residuals[:, None]
        if deviations is not None:
            off = off * deviations[fold_of, rows]
        low[rows] = np.partition(values - off, n_samples - rank, axis=0)[-rank]
        high[rows] = np.partition(values + off, rank - 1, axis=0)[rank - 1]
    return low, high
