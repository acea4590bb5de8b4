"""Prediction intervals whose widths follow the posterior deviation."""

from dataclasses import dataclass
from typing import Any

import numpy as np

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
    """Scaled CV+ intervals of a search, as returned by `scaled_intervals`.

    Each fold has a model in `folds` and its posterior in `posteriors`. The scores are
    the absolute residuals of the training samples, each divided by its posterior
    deviation, shape (n_samples, n_outputs).
    """

    folds: FoldModels
    posteriors: tuple[TermPosterior, ...]
    scores: Array

    def __repr__(self) -> str:
        """Return the numbers of samples and folds."""
        n_folds, n_samples = len(self.posteriors), len(self.scores)
        return f"Scaled CV+ intervals from {n_samples} samples in {n_folds} folds"

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[Array, Array]:
        """Return intervals for the targets of new samples, as lower and upper bounds.

        `X` is as in ``predict``, and `coverage`, in [0.5, 1), is the share of new
        samples whose targets lie inside. The bounds have shape (n_samples,) or
        (n_samples, n_outputs). A coverage that requires more training samples raises a
        ``ValueError``.
        """
        rows = self.posteriors[0].read(X)
        predicted = self.folds.decision_values(rows)
        deviations = np.stack([p.row_deviations(rows) for p in self.posteriors])
        ends = cv_plus(predicted, self.folds.fold_of, self.scores, coverage, deviations)
        low, high = (end[:, 0] if end.shape[1] == 1 else end for end in ends)
        return low, high


def scaled_intervals(estimator: Any, X: Any, y: Any) -> ScaledIntervals:
    """Return prediction intervals that are wider where training samples are rare.

    `estimator` is a fitted search with the squared loss and ``intervals=True``, or a
    pipeline that ends in one; `X` and `y` are its training samples. The guarantee is
    that of ``predict_interval``, even if the posterior is wrong. A fit with an offset,
    with precomputed matrices or with centered kernels raises a ``ValueError``.
    """
    model, read = squared_model(OWNER, estimator)
    state = model._fitted()
    if state.folds is None:
        raise ValueError(
            f"{OWNER} requires a search with intervals=True, such as "
            "SpicyMKLRegressorCV(intervals=True): fit it again with this setting."
        )
    if state.has_offset:
        raise ValueError(
            f"{OWNER} does not support a fit with an offset: fit without it, or use "
            "predict_interval."
        )
    folds, rows, targets = state.folds, read(X), target_matrix(model, X, y)
    # A search sorts the samples by their values, so residuals are in this order.
    order = np.argsort(row_keys(np.column_stack([rows, targets])), kind="stable")
    rows, targets = rows[order], targets[order]
    _check_samples(folds, rows, targets)
    posteriors, deviations = [], np.empty(targets.shape)
    for fold, fold_model in enumerate(folds.models):
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
    is_same = targets.shape == folds.residuals.shape
    if is_same:
        predicted = folds.decision_values(rows)[folds.fold_of, np.arange(len(rows))]
        is_same = np.allclose(np.abs(targets - predicted), folds.residuals, rtol=1e-6)
    if not is_same:
        raise ValueError(
            f"{OWNER}: X and y do not reproduce the residuals of the folds: pass the "
            "training samples of a fit without sample_weight."
        )
