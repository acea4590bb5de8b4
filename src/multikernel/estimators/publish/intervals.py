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
    """The models of all folds with the parameters that a search chose."""

    # One model per fold, fitted without the fold's validation samples.
    models: tuple[AdditiveModel, ...]
    # The fold that validates each training sample.
    fold_of: Indices
    # Absolute residuals of the training samples, (n_samples, n_outputs); each is from
    # the model that was fitted without the sample.
    residuals: Array

    def _check_fitted(self) -> None:
        """Raise unless the shapes of the arrays, which come from a file, agree."""
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
        """Return lower and upper bounds, (n_new, n_outputs) each, at new samples."""
        # `predicted` is what `decision_values` returns for these samples.
        return cv_plus(predicted, self.fold_of, self.residuals, coverage)


def cv_plus(
    predicted: Array,
    fold_of: Indices,
    residuals: Array,
    coverage: float,
    deviations: Array | None = None,
) -> tuple[Array, Array]:
    """Return the CV+ lower and upper bounds of new targets, (n_new, n_outputs) each."""
    # `predicted`, (n_folds, n_new, n_outputs), are the predictions of the models of all
    # folds for the new samples. `deviations`, of the same shape, contains the standard
    # deviations of the new targets in these models, and `residuals` must be divided by
    # such deviations. None means that the residuals are in the units of the targets.
    # The model mu_i is fitted without the fold of training sample i, and R_i is the
    # absolute residual of this sample. The interval at x is from the r-th largest of
    # the n values mu_i(x) - R_i to the r-th smallest of mu_i(x) + R_i, where r is
    # coverage times (n + 1), rounded up. Barber, Candès, Ramdas and Tibshirani (2021),
    # Predictive inference with the jackknife+, section on K-fold cross-validation,
    # Annals of Statistics 49, 486-507.
    check_parameter("predict_interval", "coverage", coverage, COVERAGE)
    n_samples, n_outputs = residuals.shape
    # Without rounding, 0.9 * 110 = 99.00000000000001 would have the ceiling 100.
    rank = math.ceil(round(coverage * (n_samples + 1), 9))
    if rank > n_samples:
        min_samples = math.ceil(round(coverage / (1.0 - coverage), 9))
        raise ValueError(
            f"coverage={coverage:g} requires at least {min_samples} training samples, "
            f"but there are {n_samples}: pass a smaller coverage."
        )
    low, high = np.empty((2, *predicted.shape[1:]))
    for rows in row_chunks(predicted.shape[1], 2 * n_samples * n_outputs):
        values = predicted[fold_of, rows]
        half_widths = residuals[:, None]
        if deviations is not None:
            # The caller divided `residuals` by the deviations at the training samples.
            half_widths = half_widths * deviations[fold_of, rows]
        low[rows] = np.partition(values - half_widths, n_samples - rank, axis=0)[-rank]
        high[rows] = np.partition(values + half_widths, rank - 1, axis=0)[rank - 1]
    return low, high
