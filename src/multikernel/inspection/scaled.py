"""Prediction intervals whose widths follow the posterior deviation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from multikernel._typing import Array
from multikernel.estimators.publish.intervals import FoldModels, cv_plus
from multikernel.inspection.covariance import fitted_weights
from multikernel.inspection.posterior import (
    Residuals,
    TermPosterior,
    posterior_of,
    squared_model,
    target_matrix,
)
from multikernel.linalg.tables import row_keys

OWNER = "scaled_intervals"


@dataclass(frozen=True, eq=False, repr=False)
class ScaledIntervals:
    """Prediction intervals from the folds of a search, as `scaled_intervals` returns.

    Each fold has a model in `folds` and its posterior in `posteriors`. `scores`, shape
    (n_samples, n_outputs), are absolute residuals of training samples in the model
    fitted without their fold, divided by the posterior standard deviation.
    """

    folds: FoldModels
    posteriors: tuple[TermPosterior, ...]
    scores: Array

    def __repr__(self) -> str:
        n_folds, n_samples = len(self.posteriors), len(self.scores)
        return f"Scaled CV+ intervals from {n_samples} samples in {n_folds} folds"

    def predict_interval(self, X: object, coverage: float = 0.9) -> tuple[Array, Array]:
        """Return lower and upper bounds for the targets of new samples.

        `X` is as in ``predict``, and `coverage`, in [0.5, 1), is the share of new
        targets that should lie inside. The bounds have shape (n_samples,) or
        (n_samples, n_outputs). Fits with too few training samples for the coverage
        raise a ``ValueError``.
        """
        rows = self.posteriors[0].read(X)
        predicted = self.folds.decision_values(rows)
        deviations = np.stack([p.row_deviations(rows) for p in self.posteriors])
        ends = cv_plus(predicted, self.folds.fold_of, self.scores, coverage, deviations)
        low, high = (end[:, 0] if end.shape[1] == 1 else end for end in ends)
        return low, high


def scaled_intervals(
    estimator: BaseEstimator, X: object, y: ArrayLike
) -> ScaledIntervals:
    """Return prediction intervals (`ScaledIntervals`), wider where samples are rare.

    The widths follow `TermPosterior.predict_deviation`. The coverage has the guarantee
    of ``estimator.predict_interval``, even if the posterior is wrong. Fits with
    offsets, precomputed matrices or centered kernels raise ``ValueError``.

    Parameters
    ----------
    estimator : fitted estimator or Pipeline
        Search with the squared loss and ``intervals=True``.
    X, y : array-like
        Training samples of `estimator`.

    Examples
    --------
    >>> from multikernel import SpicyMKLRegressorCV
    >>> from multikernel.datasets import make_additive_regression
    >>> from multikernel.inspection import scaled_intervals
    >>> X, y = make_additive_regression(80, random_state=0)
    >>> model = SpicyMKLRegressorCV(n_alphas=4, intervals=True).fit(X, y)
    >>> low, high = scaled_intervals(model, X, y).predict_interval([X[0], 3 * X[0]])
    >>> bool((high - low)[1] > (high - low)[0])
    True
    """
    model, read = squared_model(OWNER, estimator)
    state = model._fitted()
    if state.folds is None:
        raise ValueError(
            f"{OWNER} requires a search with intervals=True, but this "
            f"{type(model).__name__} stores no models of folds: fit "
            "SpicyMKLRegressorCV(intervals=True), for example."
        )
    if state.has_offset:
        raise ValueError(
            f"{OWNER} does not support a fit with an offset: fit without it, or use "
            "predict_interval."
        )
    folds, rows, targets = state.folds, read(X), target_matrix(model, X, y)
    # The residuals are in the order in which a search sorts its samples.
    order = np.argsort(row_keys(np.column_stack([rows, targets])), kind="stable")
    rows, targets = rows[order], targets[order]
    _check_samples(folds, rows, targets)
    posteriors, deviations = [], np.empty(targets.shape)
    for fold, fold_model in enumerate(folds.models):
        # Samples have weight one, so the dual points are the residuals. The model's
        # terms determine the prior weights theta.
        train = folds.fold_of != fold
        dual = targets[train] - fold_model.decision_values(rows[train])
        terms = fold_model.terms(rows[train], range(fold_model.n_active))
        theta, _ = fitted_weights(fold_model, rows[train], terms, dual)
        weights, intercept = np.ones(len(dual)), model.fit_intercept
        training = Residuals(rows[train], weights, dual, fit_intercept=intercept)
        active = np.arange(fold_model.n_active)
        posterior = posterior_of(fold_model, active, theta, training, read)
        deviations[~train] = posterior.row_deviations(rows[~train])
        posteriors.append(posterior)
    # Section 5.2 of Lei et al. (2018). Distribution-free predictive inference for
    # regression. Journal of the American Statistical Association 113, 1094-1111.
    return ScaledIntervals(folds, tuple(posteriors), folds.residuals / deviations)


def _check_samples(folds: FoldModels, rows: Array, targets: Array) -> None:
    """Raise unless the samples reproduce the residuals of the folds."""
    # Each sample is predicted by the model that was fitted without the sample's fold.
    is_same = targets.shape == folds.residuals.shape
    if is_same:
        predicted = folds.decision_values(rows)[folds.fold_of, np.arange(len(rows))]
        is_same = np.allclose(np.abs(targets - predicted), folds.residuals, rtol=1e-6)
    if not is_same:
        raise ValueError(
            f"{OWNER}: the models of the folds do not reproduce the residuals of the "
            "fit on this X and y: pass the X and y of the fit. If the fit had "
            "sample_weight, which is not supported, fit again without it."
        )
