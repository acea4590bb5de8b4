"""Posterior bands of the terms of a model, given the kernel weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.sparse import issparse
from scipy.stats import norm
from sklearn.base import BaseEstimator, is_regressor

from multikernel._typing import Array, Indices
from multikernel._validation import check_weights
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.publish.fitted import warn_refit_without_offset
from multikernel.estimators.publish.predict import AdditiveModel
from multikernel.estimators.read.samples import check_offset
from multikernel.estimators.read.targets import check_target_names
from multikernel.inspection.covariance import (
    Covariance,
    factors_of,
    fitted_weights,
    residual_degrees,
)
from multikernel.inspection.pipelines import data_at_model, model_of
from multikernel.inspection.resampling import quantile_levels
from multikernel.inspection.terms import sum_terms
from multikernel.linalg import EPS
from multikernel.linalg.tables import row_chunks

OWNER = "term_posterior"

# The measured differences were at most 0.03 for fits at the default tolerance, and at
# least 0.58 if the samples or targets were not those of the fit.
AGREEMENT = 0.1
"""Allowed relative difference of residuals or terms from those of ``dual_coef_``."""


ROUNDING = 16.0 * EPS
"""Rounding error of a posterior variance, relative to the prior variance."""


@dataclass(frozen=True, eq=False, repr=False)
class TermPosterior:
    """Terms of a model as Gaussian processes, given the kernel weights.

    `term_posterior` returns this object. The terms of `model` are the posterior means.
    Covariances are relative to `noise_variance`, the variance of the noise of samples
    with sample weight one.
    """

    model: AdditiveModel
    active_kernels: Indices
    X: Array  # training samples, after pipeline steps and encoding of categories
    prior_weights: Array  # theta, (n_outputs, n_active); the prior is theta_m k_m
    # Lower Cholesky factor L of the covariance of the targets, one per output, and an
    # orthonormal basis of L^-1 B, with B the intercept and the unpenalized columns.
    factor: Array
    free: Array
    noise_variance: Array  # (n_outputs,)
    read: Callable[[object], Array]  # transforms and encodes samples, as `predict` does

    def __repr__(self) -> str:
        noise = ", ".join(f"{deviation:.3g}" for deviation in self.noise_variance**0.5)
        return (
            f"Posterior of {len(self.active_kernels)} terms given {len(self.X)} "
            f"samples and the kernel weights; deviation of the noise {noise}"
        )

    def band(
        self,
        X: object,
        kernels: Sequence[int] | Indices,
        level: float = 0.9,
        center: object = None,
    ) -> tuple[Array, Array]:
        """Return pointwise credible intervals of the sum of some kernels' terms.

        `X` is a data frame, as in ``predict``, or an array of the columns after
        pipeline steps and encoding of categories. `kernels` are indices. `level` is the
        probability of each point's interval. If `center` is given, the sum has mean
        zero over these samples. Both bounds have shape (n_samples, n_outputs). If
        rounding errors hide the posterior variances, this raises a ``ValueError``.
        """
        X, center = self._table(X), None if center is None else self._table(center)
        _, upper = quantile_levels(type(self).__name__, level)
        positions = np.flatnonzero(np.isin(self.active_kernels, kernels)).tolist()
        mean = sum_terms(self.model, self.active_kernels, kernels, X, center)
        width = norm.ppf(upper) * np.sqrt(self._variances(X, positions, center))
        return mean - width, mean + width

    def predict_deviation(self, X: object) -> Array:
        """Return the standard deviation of new targets, shape (n_samples, n_outputs).

        The variance is the noise variance of samples with weight one, plus the
        posterior variance of f(x) minus the mean of f over the training samples. It
        grows with the distance from the training samples, so it detects extrapolation.
        """
        return self.row_deviations(self.read(X))

    def row_deviations(self, rows: Array) -> Array:
        """Return `predict_deviation` for transformed and encoded samples."""
        all_terms = list(range(len(self.active_kernels)))
        variances = self._variances(rows, all_terms, self.X)
        return np.asarray(np.sqrt(self.noise_variance + variances))

    def _table(self, X: object) -> Array:
        """Return X as floats; `read` transforms data frames and sparse tables."""
        # Arrays must have been transformed and encoded already.
        is_table = hasattr(X, "columns") or issparse(X)
        return self.read(X) if is_table else np.asarray(X, np.float64)

    def _variances(self, X: Array, positions: list[int], center: Array | None) -> Array:
        """Return variances of the sum of the terms, shape (n_samples, n_outputs)."""
        # At a sample x, the prior covariance k of the sum gives the posterior variance
        # k(x, x) - |L^-1 k(X, x)|^2 + |Q^T L^-1 k(X, x)|^2, for the training samples X,
        # `factor` L and `free` Q. If `center` is given, k is the covariance of the sum
        # minus its mean over these samples.
        variances = np.zeros((len(X), len(self.prior_weights)))
        for output, noise in enumerate(self.noise_variance):
            weights = self.prior_weights[output]
            prior = Covariance(self.model, weights, positions)
            mean_cross, mean_variance = np.zeros(len(self.X)), 0.0
            if center is not None:
                mean_cross = prior.mean_row(center, self.X)
                mean_variance = float(prior.mean_row(center, center).mean())
            for rows in row_chunks(len(X), len(self.X)):
                cross = prior(X[rows], self.X) - mean_cross
                upper = prior.diagonal(X[rows]) + mean_variance
                relative = upper.copy()
                if center is not None:
                    relative -= 2.0 * prior.mean_row(center, X[rows])
                solved = solve_triangular(self.factor[output], cross.T, lower=True)
                relative -= np.sum(solved**2, axis=0)
                relative += np.sum((self.free[output].T @ solved) ** 2, axis=0)
                _check_digits(relative, upper, len(self.X))
                variances[rows, output] = noise * np.maximum(relative, 0.0)
        return variances


def _check_digits(variances: Array, prior: Array, n_train: int) -> None:
    """Raise if posterior variances are so small that rounding errors hide them."""
    # Relative to the noise, a posterior variance is at least about 1 / n_train.
    floor = np.maximum(variances, 1.0 / n_train)
    # Standard deviations must have four correct digits.
    if np.any(ROUNDING * prior > 2e-4 * floor):
        raise ValueError(
            f"{OWNER}: rounding errors hide the posterior variances, because prior "
            f"variances reach {prior.max():.2g} times the noise variance: fit with a "
            "larger alpha, or a smaller C."
        )


def term_posterior(
    estimator: BaseEstimator,
    X: object,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    offset: ArrayLike | None = None,
) -> TermPosterior:
    r"""Return the posterior of each term of a regressor, given the kernel weights.

    With the squared loss, a term at the optimum is :math:`f_m = \theta_m K_m W r`, with
    the residuals r and the diagonal matrix W of the weights of the training samples. It
    is the posterior mean of a Gaussian process with covariance :math:`\sigma^2 \theta_m
    k_m`, noise of variance :math:`\sigma^2 / w_i`, and a flat prior for the
    coefficients of B, the intercept and the unpenalized columns. With :math:`A =
    \sum_m \theta_m K_m + W^{-1}` and :math:`P = A^{-1} - A^{-1} B (B^\top A^{-1}
    B)^{-1} B^\top A^{-1}`, the posterior variance of the term at x is

    .. math:: \sigma^2 (\theta_m k_m(x, x) - \theta_m^2 k_m(x, X) P k_m(X, x)), \quad
        \sigma^2 = r^\top W r / \operatorname{tr}(W^{-1} P),

    with the noise variance of [1]_. Bands are too narrow, because they treat kernel
    weights and the regularization strength as known, although these come from the same
    samples (`bootstrap` repeats the selection). Inactive kernels have no band.

    Parameters
    ----------
    estimator : estimator
        A fitted regressor with the squared loss, or a pipeline or search that ends in
        one. For each output, a matrix of the size of a Gram matrix is factorized.
    X, y : array-like
        The training samples and the targets of the fit.
    sample_weight, offset : array-like, default=None
        The weights and offsets of the fit.

    Returns
    -------
    posterior : TermPosterior

    Raises
    ------
    ValueError
        If the loss is not squared; if kernels are precomputed matrices, centered by
        ``normalize``, or nodes of a graph; or if the data are not those of the fit.

    References
    ----------
    .. [1] Wahba, G. (1983). Bayesian "confidence intervals" for the cross-validated
       smoothing spline. Journal of the Royal Statistical Society B 45, 133-150.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import SpicyMKLRegressor
    >>> from multikernel.inspection import term_posterior
    >>> random = np.random.default_rng(0)
    >>> X = random.uniform(-2, 2, size=(80, 2))
    >>> y = np.sin(2 * X[:, 0]) + random.normal(0, 0.2, 80)
    >>> model = SpicyMKLRegressor({"signal": 0, "noise": 1}, alpha=0.02).fit(X, y)
    >>> posterior = term_posterior(model, X, y)
    >>> low, high = posterior.band(X, model.active_kernels_, level=0.95)
    >>> low.shape, bool((low < high).all())
    ((80, 1), True)
    """
    model, read = squared_model(OWNER, estimator)
    fitted, rows = model._fitted().model, read(X)
    assert fitted is not None
    # Compute one covariance first: for precomputed matrices and centered kernels, this
    # raises before the costly factorization.
    Covariance(fitted, np.ones(fitted.n_active), [*range(fitted.n_active)])(
        rows[:1], rows[:1]
    )
    targets = target_matrix(model, X, y, sample_weight)
    warn_refit_without_offset(OWNER, model, offset)
    if offset is not None:
        targets = targets - check_offset(OWNER, offset, *targets.shape, shared=True)
    dual_coef = np.atleast_2d(model.dual_coef_).T
    if not len(rows) == len(targets) == len(dual_coef):
        raise ValueError(
            f"{OWNER} requires the {len(dual_coef)} samples of the fit, but X has "
            f"{len(rows)} rows and y has {len(targets)}: pass the samples of the fit."
        )
    weights = check_weights(sample_weight, len(rows))
    if weights is None:
        weights = np.ones(len(rows))
    positive = weights > 0.0
    rows, targets, weights = rows[positive], targets[positive], weights[positive]
    dual_coef = dual_coef[positive]
    residuals = weights[:, None] * (targets - fitted.decision_values(rows))
    _check_agreement(dual_coef, residuals)
    theta = _prior_weights(fitted, rows, dual_coef)
    # At an optimum, `dual_coef` is the weighted residuals times one factor per output:
    # its unit can depend on C, and it is scaled to be feasible.
    theta *= _unit_factors(dual_coef, residuals)[:, None]
    training = Residuals(rows, weights, residuals, fit_intercept=model.fit_intercept)
    return posterior_of(fitted, model.active_kernels_, theta, training, read)


@dataclass(frozen=True, eq=False)
class Residuals:
    """Training samples of a fit, their positive weights, and weighted residuals."""

    rows: Array  # samples, transformed and encoded
    weights: Array
    residuals: Array  # weights times residuals, (n_train, n_outputs)
    fit_intercept: bool

    def free_columns(self, model: AdditiveModel) -> Array:
        """Return a column of ones if there is an intercept, and unpenalized columns."""
        n_rows = len(self.rows)
        columns = [np.ones((n_rows, 1))] if self.fit_intercept else []
        columns += [model.design(self.rows)] if model.design is not None else []
        return np.hstack([np.empty((n_rows, 0)), *columns])


def posterior_of(
    fitted: AdditiveModel,
    active: Indices,
    theta: Array,
    training: Residuals,
    read: Callable[[object], Array],
) -> TermPosterior:
    """Return the posterior of `fitted`'s terms, with prior weights `theta`."""
    # `theta` has shape (n_outputs, n_kernels). `read` transforms and encodes samples.
    rows, weights, free = training.rows, training.weights, training.free_columns(fitted)
    factors = [factors_of(fitted, rows, prior, weights, free) for prior in theta]
    degrees = [residual_degrees(*pair, weights) for pair in factors]
    # The weighted sum of squared residuals, because `residuals` are already weighted.
    noise = np.sum(training.residuals**2 / weights[:, None], axis=0) / degrees
    factor, basis = (np.stack(arrays) for arrays in zip(*factors, strict=True))
    return TermPosterior(fitted, active, rows, theta, factor, basis, noise, read)


def squared_model(
    owner: str, estimator: BaseEstimator
) -> tuple[BaseMKL, Callable[[object], Array]]:
    """Return an estimator's squared-loss model, and the function that encodes its X."""
    before, model = model_of(owner, estimator)
    name = type(model).__name__
    if not is_regressor(model):
        raise TypeError(
            f"{owner} requires a regressor, got {name}: pass one with the squared loss."
        )
    fit = model._fitted()
    if fit.loss != repr("squared_error"):
        raise ValueError(
            f"{owner} requires a fit with loss='squared_error', got {name} fitted with "
            f"loss={fit.loss}, whose posterior is not Gaussian: fit with the squared "
            "loss."
        )
    if getattr(fit.model, "grams", None) is None:
        raise ValueError(
            f"{owner} requires a fixed list of kernels, but the kernels of {name} are "
            "nodes of a graph: use SpicyMKLRegressor, for example."
        )

    def read(X: object) -> Array:
        return np.asarray(model._model_and_data(data_at_model(before, X))[1])

    return model, read


def target_matrix(
    model: BaseMKL, X: object, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> Array:
    """Return the validated targets of a regressor, shape (n_samples, n_outputs)."""
    targets = np.asarray(check_target_names(model, X, y, sample_weight), np.float64)
    return targets.reshape(len(targets), -1)


def _unit_factors(dual_coef: Array, residuals: Array) -> Array:
    """Return the factor of each output that best maps `residuals` to `dual_coef`."""
    # For each output, the factor c minimizes the norm of `dual_coef` - c `residuals`.
    # It is one if all residuals are zero.
    squares = np.sum(residuals**2, axis=0)
    products = np.sum(dual_coef * residuals, axis=0)
    factors = np.ones(squares.shape)
    np.divide(products, squares, out=factors, where=squares > 0.0)
    return factors


def _check_agreement(dual_coef: Array, residuals: Array) -> None:
    """Raise unless residuals are proportional to ``dual_coef_``, as at an optimum."""
    scaled = _unit_factors(dual_coef, residuals) * residuals
    distance = np.linalg.norm(dual_coef - scaled)
    if distance > AGREEMENT * np.linalg.norm(dual_coef):
        raise ValueError(
            f"{OWNER}: the residuals of the model on X and y differ from those of the "
            f"fit (dual_coef_) by more than {AGREEMENT:.0%}: pass the X, y, "
            "sample_weight and offset of the fit. If these are the same, fit with a "
            "smaller tol."
        )


def _prior_weights(model: AdditiveModel, X: Array, dual_coef: Array) -> Array:
    """Return the prior weight theta_m of each term m, shape (n_outputs, n_active)."""
    # At an optimum, the values of term m on the training samples X are theta_m K_m c.
    # The coefficients c are `dual_coef`, (n_samples, n_outputs), from ``dual_coef_``.
    terms = model.terms(X, range(model.n_active))
    theta, errors = fitted_weights(model, X, terms, dual_coef)
    worst = int(np.argmax(errors)) if errors.size else 0
    if errors.size and errors[worst] > AGREEMENT:
        raise ValueError(
            f"{OWNER}: the fit is not exact enough. The term of active kernel {worst} "
            "(counted from 0) must be a multiple of its Gram matrix times dual_coef_, "
            f"but differs from the best multiple by {errors[worst]:.0%} of the norm of "
            "all terms: fit with a smaller tol."
        )
    return theta
