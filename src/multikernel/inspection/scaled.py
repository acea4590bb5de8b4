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
    """Scaled CV+ intervals of a search.

    Parameters
    ----------
    folds : FoldModels
        Models of the folds, and residuals of the training samples.
    posteriors : tuple of TermPosterior
        Posterior of each fold's model, given its training samples.
    scores : ndarray of shape (n_samples, n_outputs)
        Residuals of the training samples divided by their deviations.

    See Also
    --------
    scaled_intervals : Function that returns this object.
    """

    folds: FoldModels
    posteriors: tuple[TermPosterior, ...]
    scores: Array

    def __repr__(self) -> str:
        """Return the numbers of samples and folds."""
        n_folds, n_samples = len(self.posteriors), len(self.scores)
        return f"Scaled CV+ intervals from {n_samples} samples in {n_folds} folds"

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[Array, Array]:
        """Return intervals that contain the targets of new samples.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, as in ``predict``.
        coverage : float, default=0.9
            Share of new samples whose targets lie inside, in [0.5, 1).

        Returns
        -------
        low, high : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Bounds in the units of the targets.

        Raises
        ------
        ValueError
            If the coverage requires more training samples.
        """
        rows = self.posteriors[0].read(X)
        predicted = self.folds.decision_values(rows)
        deviations = np.stack([p.row_deviations(rows) for p in self.posteriors])
        ends = cv_plus(predicted, self.folds.fold_of, self.scores, coverage, deviations)
        low, high = (end[:, 0] if end.shape[1] == 1 else end for end in ends)
        return low, high


def scaled_intervals(estimator: Any, X: Any, y: Any) -> ScaledIntervals:
    r"""Return prediction intervals that are wider where training samples are rare.

    With the prediction :math:`\hat\mu_{-k(i)}` of the model without the fold of sample
    i, and its posterior deviation :math:`s_{-k(i)}` of new targets
    (`TermPosterior.predict_deviation`), the score of a training sample is :math:`S_i =
    |y_i - \hat\mu_{-k(i)}(x_i)| / s_{-k(i)}(x_i)`, and the interval is

    .. math:: \bigl[q^-\{\hat\mu_{-k(i)}(x) - S_i s_{-k(i)}(x)\},\;
        q^+\{\hat\mu_{-k(i)}(x) + S_i s_{-k(i)}(x)\}\bigr]

    with the quantiles of CV+ [1]_ and scaled scores as in section 5.2 of [2]_. The
    guarantee is that of ``predict_interval``, even if the posterior is wrong.

    Parameters
    ----------
    estimator : estimator
        A fitted search of a regressor with the squared loss and ``intervals=True``, or
        a pipeline that ends in one.
    X : array-like or data frame of shape (n_samples, n_features)
        The training samples. An n x n matrix is factorized for each fold.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        The targets of the fit.

    Returns
    -------
    intervals : ScaledIntervals

    Raises
    ------
    TypeError
        If the estimator is not a regressor of this library.
    ValueError
        If the loss is not squared, the search has no ``intervals``, the fit had an
        offset, kernels are precomputed matrices or centered by ``normalize``, or the
        samples are not those of the fit.

    References
    ----------
    .. [1] Barber, R. F., Candès, E. J., Ramdas, A. and Tibshirani, R. J. (2021).
       Predictive inference with the jackknife+. Annals of Statistics 49, 486-507.
    .. [2] Lei, J., G'Sell, M., Rinaldo, A., Tibshirani, R. J. and Wasserman, L. (2018).
       Distribution-free predictive inference for regression. Journal of the American
       Statistical Association 113, 1094-1111.
       https://doi.org/10.1080/01621459.2017.1307116

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import SpicyMKLRegressorCV
    >>> from multikernel.inspection import scaled_intervals
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(120, 2))
    >>> y = np.sin(X[:, 0]) + random.normal(0, 0.2, 120)
    >>> model = SpicyMKLRegressorCV(intervals=True).fit(X, y)
    >>> low, high = scaled_intervals(model, X, y).predict_interval([[0, 0], [4, 4]])
    >>> bool(high[1] - low[1] > 1.5 * (high[0] - low[0]))
    True
    """
    model, read = squared_model(OWNER, estimator)
    state = model._fitted()
    if state.folds is None:
        raise ValueError(
            f"{OWNER} requires a search with intervals=True, such as "
            "SpicyMKLRegressorCV(intervals=True): fit it again with this setting."
        )
    if state.has_offset:
        raise ValueError(f"{OWNER} does not support a fit with an offset.")
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
