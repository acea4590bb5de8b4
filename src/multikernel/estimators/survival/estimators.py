"""Sparse multiple kernel learning of times to an event."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from multikernel._validation import Check
from multikernel.estimators.descriptions import documented
from multikernel.estimators.scale import TARGET_ALPHA
from multikernel.estimators.spicy.method import (
    AUTO_CHECKS,
    SparseMethod,
    sparse_method,
)
from multikernel.estimators.survival.base import SurvivalMKL
from multikernel.problem import Callback


@documented("SpicyMKL")
@dataclass(eq=False, repr=False)
class SpicyMKLSurvival(SurvivalMKL):
    r"""Sparse multiple kernel model of survival times, which may be censored.

    The model is log-logistic with accelerated failure times: the logarithm of a time is
    f(x) plus sigma times a logistic variable. Minimizes, over functions of the kernels'
    spaces and an intercept,

    .. math::
        \frac{1}{\sum_i s_i} \sum_i s_i\, \ell_\sigma\Bigl(y_i,
        \sum_m f_m(x_i) + b\Bigr) + \alpha \sum_m \Bigl(r \|f_m\|
        + \frac{1 - r}{2} \|f_m\|^2\Bigr)

    with sample weights s, ``r = l1_ratio`` and the loss of
    `multikernel.losses.LogLogisticLoss`, minus the log-likelihood. Observed events,
    right-censored and left-censored times and intervals enter by their likelihoods.
    While f is fitted, sigma is the maximum likelihood estimate of the model without
    kernels; afterwards it is estimated again for this f. Every fit ends with a duality
    gap, a bound on the distance of ``objective_`` to the optimum.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        Strength of the penalty, positive; "auto" is as for `SpicyMKLRegressor`. It does
        not depend on the unit of the times, which only shifts their logarithms.

    Attributes
    ----------
    alpha_
    l1_ratio_
    kernel_weights_ : ndarray of shape (n_kernels,)
        Nonnegative kernel weights with sum one; all zero if no kernel entered.
    scale_ : float
        Sigma of the predictions: the maximum likelihood estimate for f on the training
        samples. It is too small if f overfits; a search estimates it on its validation
        folds.
    loss_scale_ : float
        Sigma of the minimized loss.
    objective_ : float
        Mean loss plus alpha times the penalty.

    See Also
    --------
    SpicyMKLSurvivalCV : Chooses alpha by cross-validation along a path.

    References
    ----------
    .. [1] Kalbfleisch, J. D. and Prentice, R. L. (2002). The Statistical Analysis of
       Failure Time Data, chapters 2 and 3. Wiley. https://doi.org/10.1002/9781118032985

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import SpicyMKLSurvival
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((120, 4))
    >>> time = np.exp(X[:, 1] + 0.3 * rng.logistic(size=120))
    >>> end = rng.exponential(4.0, size=120)
    >>> y = np.column_stack([time <= end, np.minimum(time, end)])
    >>> model = SpicyMKLSurvival().fit(X, y)
    >>> bool(model.score(X, y) > 0.8), model.predict_survival_function(X, [1, 2]).shape
    (True, (120, 2))
    """

    _checks: ClassVar[Mapping[str, Check]] = AUTO_CHECKS

    alpha: Any = "auto"

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        offset: Any = None,
        callback: Callback | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Training data; with ``kernels="precomputed"`` Gram matrices of shape
            (n_samples, n_samples, n_kernels), see `stack_grams`.
        y : structured array, or data frame or array of two columns
            Whether the event was seen, and when, or until when it was not: a structured
            array as scikit-survival has it, a frame with the columns ``event`` and
            ``time``, or an array of these two columns in this order. With two columns
            or fields ``lower`` and ``upper`` the event was between these times: equal
            where it was seen, 0 and infinite for an end that is not known. Times are
            above 0, in any unit.
        sample_weight : array-like of shape (n_samples,), default=None
            Nonnegative weights of the samples. An integer weight does what as many
            copies of the sample would do, a weight of zero what leaving it out would.
        offset : None
            Not used: an offset of log times is a factor of the times themselves.
        callback : callable, default=None
            Called with a `Progress` once per outer iteration, its objective in the
            summed scale of `Problem`; the fit stops where it returns True.

        Returns
        -------
        self : estimator
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data are wrong, or no event was seen; the message says
            which and how.

        Warns
        -----
        ConvergenceWarning
            If the solver stopped above the tolerance; the message gives the gap.
        """
        return self._learn(X, y, sample_weight, offset, callback)

    def _method(self) -> SparseMethod:
        return sparse_method(self, self.alpha, TARGET_ALPHA)
