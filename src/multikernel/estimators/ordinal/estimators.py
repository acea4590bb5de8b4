"""Sparse multiple kernel learning for ordered classes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from multikernel._typing import Indices
from multikernel._validation import Check
from multikernel.estimators.ordinal.base import OrdinalMKL
from multikernel.estimators.read.samples import Samples
from multikernel.estimators.scale import TARGET_ALPHA
from multikernel.estimators.search.splits import folds_of
from multikernel.estimators.spicy.cv import AlphaSearchCV
from multikernel.estimators.spicy.method import AUTO_CHECKS, SparseMethod, sparse_method
from multikernel.losses import CumulativeLogitLoss


@dataclass(eq=False, repr=False)
class SpicyMKLOrdinal(OrdinalMKL):
    r"""Sparse multiple kernel model of ordered classes: grades, stages, ratings.

    A cumulative logit model [1]_: for every class k, a function and the threshold of k
    determine the odds that y is at most k. The fit minimizes, over functions f_m in the
    kernels' spaces and increasing thresholds theta,

    .. math::
        -\frac{1}{\sum_i s_i} \sum_i s_i \log P\Bigl(y_i \Bigm| \sum_m f_m(x_i),
        \theta\Bigr) + \alpha \sum_m \Bigl(r \|f_m\| + \frac{1 - r}{2} \|f_m\|^2\Bigr)

    with sample weights s, ``r = l1_ratio`` and the loss of
    `multikernel.losses.CumulativeLogitLoss`. Thresholds have no penalty. Every fit ends
    with a duality gap, a bound on the distance of ``objective_`` to the optimum. Some
    problems are solved by the augmented Lagrangian of SpicyMKL, the others by Newton's
    method in the kernel weights, see `multikernel.solvers.SpicyMKL`.

    Parameters
    ----------
    kernels : Kernel, list, dict, KernelDictionary, "precomputed" or None, default=None
        Candidate kernels, also as functions or names of `sklearn.metrics.pairwise`.
        None means `median_dictionary` of X, for which you should standardize numeric
        columns, or `sequence_dictionary` for text. A dict maps views to columns, see
        `multikernel.kernels.Views`. "precomputed": X is the result of `stack_grams`.
    alpha : float or "auto", default="auto"
        Strength of the penalty, positive; "auto" as in `SpicyMKLRegressor`.
    order : sequence of shape (n_classes,) or None, default=None
        The classes from the lowest to the highest. None uses the order of an ordered
        pandas categorical; other labels are sorted.
    l1_ratio : float, default=1.0
        Share r of the block l1 norm, in [0, 1]. Below 1, similar kernels enter jointly.
    normalize : str, Normalizer, list of str and Normalizer, or None, default="variance"
        Normalization: "variance" (variance of one in feature space), "trace" (mean
        diagonal of one), "cosine", "center" or a list of steps. None omits it.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int, default=100
        Maximum number of outer iterations; each passes over all kernels.
    storage : str, LowRank or Device, default="auto"
        Storage of Gram matrices: "auto" (expected to be fastest), "dense", "dense32"
        (single precision), "lazy" (recomputed), "low_rank" or "by_kernel" (factors),
        "device" (accelerator) or an object; see `multikernel.gram.build_stack`.
    max_bytes : int or None, default=None
        Maximum bytes of the Gram matrices; None allows half of the free memory.
    verbose : int, default=0
        If positive, print one line per iteration to standard error.

    Attributes
    ----------
    alpha_ : float
        Strength of the penalty in this fit.
    l1_ratio_ : float
        Value of ``l1_ratio``; only if it is below 1.
    kernel_weights_ : ndarray of shape (n_kernels,)
        Nonnegative weights with sum one; all zero if no kernel entered.
    block_norms_ : ndarray of shape (n_kernels,)
        Norm of each function f_m in the space of its normalized kernel.
    variance_shares_ : ndarray of shape (n_kernels,)
        Share of each f_m in the variance of training decision values; may be negative.
    view_weights_, view_shares_, kernel_views_, view_columns_ : dict, dict, list, dict
        With views: sums of weights and shares, each kernel's view, each view's columns.
    category_features_, categories_, sequence_features_ : ndarray, list, ndarray
        Indices of category columns, values of each, and indices of sequence columns.
    active_kernels_ : ndarray of shape (n_active,)
        Indices of the kernels with a nonzero weight, ascending.
    kernel_names_, n_kernels_ : list of str, int
        Names of all kernels, and their number. Above a million, ``kernel_names_`` and
        ``kernel_weights_`` contain only the kernels that the solver needed.
    dual_coef_ : ndarray of shape (n_samples,)
        Dual point a that proves ``duality_gap_``; optimal f_m are multiples of K_m a.
    intercept_ : ndarray of shape (1,)
        Always zero, because ``thresholds_`` take its place.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that have a nonzero value in ``dual_coef_``.
    objective_ : float
        Mean loss plus alpha times the penalty.
    duality_gap_ : float
        Relative duality gap of the model; the fit stops when it is at most ``tol``.
    n_iter_ : int
        Number of outer iterations, at least one.
    history_ : structured ndarray of shape (n_lines,)
        One record per outer iteration with the fields of `Progress`; ``output`` is 0.
    status_, status_message_ : str
        Why the solver stopped: a `Status` such as "converged", and a sentence about it.
    fit_info_ : dict
        Keys "solver", "storage", "storage_reason", "left_out" (unused default kernels).
    classes_ : ndarray of shape (n_classes,)
        The classes, from the lowest to the highest.
    thresholds_ : ndarray of shape (n_classes - 1,)
        Thresholds between consecutive classes, in place of an intercept. If
        `linear_predictor` equals the threshold of classes k and k + 1, y is at most k
        with probability 1/2.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X (``X.shape[1]``), and their names if X was a data frame.

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
    >>> from multikernel import SpicyMKLOrdinal
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((120, 4))
    >>> grade = np.digitize(X[:, 1] + 0.3 * rng.logistic(size=120), [-1.0, 0.5])
    >>> model = SpicyMKLOrdinal().fit(X, grade)
    >>> bool(model.score(X, grade) > 0.7), model.thresholds_.shape
    (True, (2,))
    """

    _checks: ClassVar[Mapping[str, Check]] = AUTO_CHECKS

    alpha: float | str = "auto"

    def _method(self) -> SparseMethod:
        return sparse_method(self, self.alpha, default=TARGET_ALPHA)


@dataclass(eq=False, repr=False)
class SpicyMKLOrdinalCV(OrdinalMKL, AlphaSearchCV):
    """Sparse model of ordered classes with alpha chosen by cross-validation.

    Each fold solves the problem of `SpicyMKLOrdinal` for all candidate alphas, with
    warm starts. The score is the mean share of correctly ordered pairs of validation
    samples from different classes, 0.5 for a constant model.

    Parameters
    ----------
    kernels : Kernel, list, dict, KernelDictionary, "precomputed" or None, default=None
        Candidate kernels, also as functions or names of `sklearn.metrics.pairwise`.
        None means `median_dictionary` of X, for which you should standardize numeric
        columns, or `sequence_dictionary` for text. A dict maps views to columns, see
        `multikernel.kernels.Views`. "precomputed": X is the result of `stack_grams`.
    cv : int, splitter, iterable of (train, test) or None, default=None
        The folds; None means five. An int or None creates folds that are stratified by
        class and keep each group together if ``fit`` receives ``groups``.
    n_jobs : int or None, default=None
        Number of folds fitted in parallel threads: None means 1, and -1 all cores.
    refit : bool or "one_standard_error", default=True
        Whether to fit the chosen model on all samples. "one_standard_error" chooses the
        candidate with fewest kernels within a standard error of the best mean score.
    max_search_rows : int, "auto" or None, default="auto"
        Maximum number of rows for scoring; None uses all. Above 4000 rows, "auto"
        doubles a sample of 2000 until choices are reliable (user guide, "Large data").
    random_state : int, RandomState or None, default=None
        Seed of the rows that ``max_search_rows`` draws for scoring; None means 0.
    alphas : sequence of float or None, default=None
        Candidate values of alpha, the strength of the penalty. None means a logarithmic
        grid that descends from the smallest alpha at which no kernel enters.
    n_alphas : int, default=12
        Number of values in the default grid of ``alphas``.
    alpha_min_ratio : float, default=1e-3
        Ratio of the last value of the default grid to the first, in (0, 1].
    order : sequence of shape (n_classes,) or None, default=None
        The classes from the lowest to the highest, as in `SpicyMKLOrdinal`.
    l1_ratio : float, default=1.0
        Share r of the block l1 norm, in [0, 1]. Below 1, similar kernels enter jointly.
    normalize : str, Normalizer, list of str and Normalizer, or None, default="variance"
        Normalization: "variance" (variance of one in feature space), "trace" (mean
        diagonal of one), "cosine", "center" or a list of steps. None omits it.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int, default=100
        Maximum number of outer iterations; each passes over all kernels.
    storage : str, LowRank or Device, default="auto"
        Storage of Gram matrices: "auto" (expected to be fastest), "dense", "dense32"
        (single precision), "lazy" (recomputed), "low_rank" or "by_kernel" (factors),
        "device" (accelerator) or an object; see `multikernel.gram.build_stack`.
    max_bytes : int or None, default=None
        Maximum bytes of the Gram matrices; None allows half of the free memory.
    verbose : int, default=0
        If positive, print one line per iteration to standard error.

    Attributes
    ----------
    l1_ratio_ : float
        Value of ``l1_ratio``; only if it is below 1.
    best_params_, best_index_, best_score_ : dict, int, float
        Chosen parameters, their index in ``cv_results_`` and mean score. Ties prefer a
        model with kernels, then the lower ``mean_test_loss``, then the simplest model.
    cv_results_ : dict of ndarray of shape (n_candidates,)
        Parameters and scores as in scikit-learn, ``mean_n_active`` (active kernels) and
        ``mean_test_loss`` (the loss that the model minimizes, without the penalty).
    n_splits_ : int
        Number of folds.
    kernel_weights_ : ndarray of shape (n_kernels,)
        Nonnegative weights with sum one; all zero if no kernel entered.
    alpha_ : float
        Strength of the penalty in this fit.
    alphas_ : ndarray of shape (n_alphas,)
        All candidate values of alpha, descending, on the same scale as ``alphas``.
    path_ : RegularizationPath
        Fits on all samples for the candidate strengths, down to the chosen one.
    block_norms_ : ndarray of shape (n_kernels,)
        Norm of each function f_m in the space of its normalized kernel.
    variance_shares_ : ndarray of shape (n_kernels,)
        Share of each f_m in the variance of training decision values; may be negative.
    view_weights_, view_shares_, kernel_views_, view_columns_ : dict, dict, list, dict
        With views: sums of weights and shares, each kernel's view, each view's columns.
    category_features_, categories_, sequence_features_ : ndarray, list, ndarray
        Indices of category columns, values of each, and indices of sequence columns.
    active_kernels_ : ndarray of shape (n_active,)
        Indices of the kernels with a nonzero weight, ascending.
    kernel_names_, n_kernels_ : list of str, int
        Names of all kernels, and their number. Above a million, ``kernel_names_`` and
        ``kernel_weights_`` contain only the kernels that the solver needed.
    dual_coef_ : ndarray of shape (n_samples,)
        Dual point a that proves ``duality_gap_``; optimal f_m are multiples of K_m a.
    intercept_ : ndarray of shape (1,)
        Always zero, because ``thresholds_`` take its place.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that have a nonzero value in ``dual_coef_``.
    objective_ : float
        Mean loss plus alpha times the penalty.
    duality_gap_ : float
        Relative duality gap of the model; the fit stops when it is at most ``tol``.
    n_iter_ : int
        Number of outer iterations along the path on all samples.
    history_ : structured ndarray of shape (n_lines,)
        One record per outer iteration with the fields of `Progress`; ``output`` is 0.
    status_, status_message_ : str
        Why the solver stopped: a `Status` such as "converged", and a sentence about it.
    fit_info_ : dict
        Keys "solver", "storage", "storage_reason", "left_out" (unused default kernels),
        "cv_tol" (duality gap at which folds stop) and "search_rows" (scored rows).
    classes_ : ndarray of shape (n_classes,)
        The classes, from the lowest to the highest.
    thresholds_ : ndarray of shape (n_classes - 1,)
        Thresholds between consecutive classes, see `SpicyMKLOrdinal`.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X (``X.shape[1]``), and their names if X was a data frame.

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

    # `scoring` is not a parameter, because the models of folds have no thresholds and
    # predict no classes: `score` compares the order of their decision values.
    scoring: ClassVar[None] = None  # type: ignore[misc] # no parameter here

    def _copied(
        self, loss: CumulativeLogitLoss, strata: Indices, groups: object
    ) -> Self:
        # `strata` are class numbers, by which an int or None as cv stratifies folds.
        inner = super()._copied(loss, strata, groups)
        inner.cv = folds_of(self.cv, strata, groups, stratify=True)
        return inner

    def _why_unscored(self, samples: Samples, test: Indices) -> str | None:
        # The concordance index requires two validation samples of different classes.
        if np.ptp(samples.targets[0][test]) > 0.0:
            return None
        return "holds one class only"
