"""Sparse multiple kernel learning of ordered classes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from multikernel._typing import Indices
from multikernel._validation import Check
from multikernel.estimators.descriptions import documented
from multikernel.estimators.ordinal.base import OrdinalMKL
from multikernel.estimators.read.samples import Samples
from multikernel.estimators.scale import TARGET_ALPHA
from multikernel.estimators.search.splits import folds_of
from multikernel.estimators.spicy.cv import AlphaSearchCV
from multikernel.estimators.spicy.method import (
    AUTO_CHECKS,
    SparseMethod,
    sparse_method,
)
from multikernel.losses import CumulativeLogitLoss
from multikernel.problem import Callback


@documented("SpicyMKL")
@dataclass(eq=False, repr=False)
class SpicyMKLOrdinal(OrdinalMKL):
    r"""Sparse multiple kernel model of ordered classes: grades, stages, ratings.

    A cumulative logit model [1]_: one function and increasing thresholds determine the
    odds that a class is at most k. Minimizes, over functions of the kernels'
    spaces and increasing thresholds,

    .. math::
        -\frac{1}{\sum_i s_i} \sum_i s_i \log P\Bigl(y_i \Bigm|
        \sum_m f_m(x_i), \theta\Bigr) + \alpha \sum_m \Bigl(r \|f_m\|
        + \frac{1 - r}{2} \|f_m\|^2\Bigr)

    with sample weights s, ``r = l1_ratio`` and the loss of
    `multikernel.losses.CumulativeLogitLoss`. Thresholds have no penalty. The problem is
    convex in functions and thresholds together, and every fit ends with a duality gap,
    a bound on the distance of ``objective_`` to the optimum over both.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        Strength of the penalty, positive; "auto" is as for `SpicyMKLRegressor`.
    order : sequence of shape (n_classes,), default=None
        The classes from the lowest to the highest. None uses the order of an ordered
        pandas categorical; other labels are sorted, numbers by size and strings
        alphabetically.

    Attributes
    ----------
    alpha_
    l1_ratio_
    classes_ : ndarray of shape (n_classes,)
        The classes, from the lowest to the highest.
    thresholds_ : ndarray of shape (n_classes - 1,)
        Thresholds between consecutive classes: if `linear_predictor` equals a
        threshold, a lower and a higher class are equally likely. The thresholds replace
        the intercept.
    kernel_weights_ : ndarray of shape (n_kernels,)
        Nonnegative kernel weights with sum one; all zero if no kernel entered.
    objective_ : float
        Mean loss plus alpha times the penalty.

    See Also
    --------
    SpicyMKLOrdinalCV : Chooses alpha by cross-validation along a path.
    SpicyMKLClassifier : Classes without an order.

    References
    ----------
    .. [1] McCullagh, P. (1980). Regression models for ordinal data. Journal of the
       Royal Statistical Society B 42, 109-142.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import SpicyMKLOrdinal
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((120, 4))
    >>> grade = np.digitize(X[:, 1] + 0.3 * rng.logistic(size=120), [-1.0, 0.5])
    >>> model = SpicyMKLOrdinal().fit(X, grade)
    >>> bool(model.score(X, grade) > 0.7), model.thresholds_.shape
    (True, (2,))
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
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Nonnegative weights of the samples. An integer weight does what as many
            copies of the sample would do, a weight of zero what leaving it out would.
        offset : None
            Not used.
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
            If a parameter or the data are wrong, or all samples are of one class; the
            message says which and how.

        Warns
        -----
        ConvergenceWarning
            If the solver stopped above the tolerance; the message gives the gap.
        """
        return self._learn(X, y, sample_weight, offset, callback)

    def _method(self) -> SparseMethod:
        return sparse_method(self, self.alpha, TARGET_ALPHA)


@documented("SpicyMKL")
@dataclass(eq=False, repr=False)
class SpicyMKLOrdinalCV(OrdinalMKL, AlphaSearchCV):
    """Sparse model of ordered classes with alpha chosen by cross-validation.

    Each fold solves the problem of `SpicyMKLOrdinal` for all strengths, with warm
    starts. The search chooses the strength with the largest mean share of correctly
    ordered pairs of validation samples from different classes.

    Parameters
    ----------
    n_alphas : int, default=20
        Number of strengths in the default grid.
    alpha_min_ratio : float, default=1e-3
        Ratio of the last strength of the default grid to the first, in (0, 1].
    cv : int, splitter, iterable of (train, test) or None, default=None
        The folds; None means five. With a number of folds, the folds are stratified by
        class, and keep ``groups`` together if ``fit`` gets groups. Metadata routing
        needs ``set_fit_request(groups=True)``.
    order : sequence of shape (n_classes,), default=None
        The classes from the lowest to the highest, as in `SpicyMKLOrdinal`.

    Attributes
    ----------
    l1_ratio_
    classes_ : ndarray of shape (n_classes,)
        The classes, from the lowest to the highest.
    thresholds_ : ndarray of shape (n_classes - 1,)
        Thresholds between consecutive classes, see `SpicyMKLOrdinal`.
    kernel_weights_ : ndarray of shape (n_kernels,)
        Nonnegative kernel weights with sum one; all zero if no kernel entered.
    alpha_
    alphas_
    path_ : RegularizationPath
        Norms, weights, objectives and gaps along the path on all samples, which ends at
        the chosen strength.
    best_score_ : float
        Mean share of correctly ordered pairs over the folds; 0.5 for a constant model.
    objective_ : float
        Mean loss plus alpha times the penalty.
    n_iter_ : int
        Number of outer iterations along the path on all samples.

    See Also
    --------
    SpicyMKLOrdinal : The model for one alpha.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import SpicyMKLOrdinalCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((120, 4))
    >>> grade = np.digitize(X[:, 1] + 0.3 * rng.logistic(size=120), [-1.0, 0.5])
    >>> model = SpicyMKLOrdinalCV(n_alphas=8, cv=3).fit(X, grade)
    >>> bool(model.best_score_ > 0.8)
    True
    """

    # Folds are scored by the order of their functions.
    scoring: ClassVar[None] = None  # type: ignore[misc] # no parameter here

    def _learner(
        self, loss: CumulativeLogitLoss, samples: Indices, groups: Any
    ) -> Self:
        """Return the copy that learns, with folds that share out the classes."""
        learner = super()._learner(loss, samples, groups)
        learner.cv = list(folds_of(self.cv, samples, groups, stratify=True))
        return learner

    def _unscored(self, samples: Samples, test: Indices) -> str | None:
        """Return the reason why a validation side has no score, or None."""
        if np.ptp(samples.targets[0][test]) > 0.0:
            return None
        return "holds one class only"
