"""Intervals for predictions, by the models of folds and what these are off by."""

import math
from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import Number, check_parameter, check_places, check_shapes
from multikernel.estimators.publish.predict import AdditiveModel, Rows
from multikernel.linalg.tables import row_chunks

COVERAGE = Number(0.5, 1.0, below=True)
"""Shares that intervals may be asked for; below a half their ends could cross."""


@dataclass(frozen=True, eq=False)
class FoldModels:
    """The models of all folds of a search at its choice, which predict new samples.

    Parameters
    ----------
    models : tuple of AdditiveModel
        One for each fold, learnt without its validation samples.
    fold_of : ndarray of shape (n_samples,)
        The fold that each training sample validates.
    residuals : ndarray of shape (n_samples, n_outputs)
        What its prediction by that fold's model is off by, in absolute value.
    """

    models: tuple[AdditiveModel, ...]
    fold_of: Indices
    residuals: Array

    def _check_fitted(self) -> None:
        """Raise unless the arrays fit each other; a file may hold others."""
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
        """Return the ends of intervals by what all models predict; see `cv_plus`."""
        return cv_plus(predicted, self.fold_of, self.residuals, coverage)


def cv_plus(
    predicted: Array,
    fold_of: Indices,
    residuals: Array,
    coverage: float,
    deviations: Array | None = None,
) -> tuple[Array, Array]:
    r"""Return the ends of CV+ intervals, (n_new, n_outputs) each.

    With the prediction :math:`\hat\mu_{-k(i)}(x)` of the model that was learnt without
    the fold :math:`k(i)` of sample i, and its residual there :math:`R_i = |y_i -
    \hat\mu_{-k(i)}(x_i)|`, the interval is

    .. math:: \bigl[q^-\{\hat\mu_{-k(i)}(x) - R_i\},\;
        q^+\{\hat\mu_{-k(i)}(x) + R_i\}\bigr]

    where q\ :sup:`+` is the r-th smallest of the n values for r the next whole number
    from coverage times (n + 1), and q\ :sup:`-` the r-th largest: the definition of CV+
    in the section on K-fold cross-validation of [1]_.

    Parameters
    ----------
    predicted : ndarray of shape (n_folds, n_new, n_outputs)
        Predictions of new samples by the models of all folds.
    fold_of : ndarray of shape (n_samples,)
        The fold of every training sample.
    residuals : ndarray of shape (n_samples, n_outputs)
        Their residuals there, in absolute value.
    coverage : float
        The share of new samples whose targets are to lie inside, in [0.5, 1).
    deviations : ndarray of shape (n_folds, n_new, n_outputs), default=None
        What residuals are multiplied by at new samples, for residuals that were divided
        by the deviations of the same models at the training samples.

    Raises
    ------
    ValueError
        If the coverage is none, or there are too few samples for it.

    References
    ----------
    .. [1] Barber, R. F., Candès, E. J., Ramdas, A. and Tibshirani, R. J. (2021).
       Predictive inference with the jackknife+. Annals of Statistics 49, 486-507.
    """
    check_parameter("predict_interval", "coverage", coverage, COVERAGE)
    n_samples, n_outputs = residuals.shape
    # Of 0.9 times 110 rounding would make 100.
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
