"""Sparse multiple kernel learning for ordered classes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

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
from multikernel.problem import Callback


@dataclass(eq=False, repr=False)
class SpicyMKLOrdinal(OrdinalMKL):
    r"""Sparse multiple kernel model of ordered classes: grades, stages, ratings.

    A cumulative logit model [1]_: one function and increasing thresholds determine the
    odds that a class is at most k. The fit minimizes, over functions of the kernels'
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
    kernels : Kernel, list, dict, KernelDictionary, "precomputed" or None, default=None
        The candidate kernels. None selects `median_dictionary`: a linear kernel and
        Gaussian kernels of a few widths, on all columns together and on each column
        alone. The widths follow from the samples; standardize numeric columns first.
        Only SpicyMKL estimators add their `Interactions`; ``fit_info_`` names columns
        and interactions that are omitted because the fit would take too long. If X
        contains strings, None selects `sequence_dictionary`; each categorical column of
        a data frame gets a `CategoryKernel`. A dict maps the name of a view to its
        columns, or to (columns, kernels), see `multikernel.kernels.Views`; a view may
        be a precomputed matrix, see `multikernel.kernels.Grams`. A kernel may be a
        function, "tanimoto" or a name of `sklearn.metrics.pairwise`, see
        `multikernel.kernels.FunctionKernel`. Sparse tables of SciPy need kernels on all
        columns or on views. For "precomputed" see `stack_grams`.
    alpha : float or "auto", default="auto"
        Strength of the penalty, positive; "auto" is as for `SpicyMKLRegressor`.
    order : sequence of shape (n_classes,), default=None
        The classes from the lowest to the highest. None uses the order of an ordered
        pandas categorical; other labels are sorted, numbers by size and strings
        alphabetically.
    l1_ratio : float, default=1.0
        Share of the block l1 norm in the penalty, in [0, 1]. Below 1, kernels that
        carry the same information enter together. A regressor applies it to targets
        scaled to a standard deviation of one.
    normalize : str, Normalizer, list of str and Normalizer, or None, default="variance"
        Normalization of the kernels. "variance" gives unit variance in feature space,
        "trace" a mean diagonal of one, "cosine" cosine similarity; "center" only
        centers. An object such as `multikernel.gram.TailNormalizer` is accepted too. A
        list is applied in order. The factors are computed on the training samples.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int, default=100
        Maximum number of outer iterations; each passes over all kernels.
    storage : str, LowRank or Device, default="auto"
        Storage of the Gram matrices during the fit, see `multikernel.gram.build_stack`.
        "dense" stores all matrices, "dense32" in single precision; "lazy" recomputes
        them when needed; "low_rank", or a `multikernel.gram.LowRank`, stores factors
        from landmarks; "by_kernel" stores kernels of high rank whole and factors of the
        others; "device", or a `multikernel.gram.Device`, stores matrices on an
        accelerator. "auto" chooses the storage that is predicted to be the fastest.
        Precomputed matrices are not copied or converted.
    max_bytes : int, default=None
        Maximum memory of the Gram matrices in bytes, including copies for folds; None
        allows half of the free memory.
    verbose : int, default=0
        If positive, print one line per iteration to standard error.
    random_state : int, RandomState or None, default=None
        Seed of the vectors that test precomputed matrices for symmetry and of
        subsamples of the dictionary. All other steps are deterministic.

    Attributes
    ----------
    alpha_ : float or ndarray of shape (n_outputs,)
        Regularization strength in the units of the targets; one for each target if the
        selection is separate. A search stores the strength with the best mean score,
        the largest one if several tie.
    l1_ratio_ : float or ndarray of shape (n_outputs,)
        Value of ``l1_ratio`` that corresponds to ``alpha_`` in the units of the
        targets; only if ``l1_ratio`` is below 1.
    kernel_weights_ : ndarray of shape (n_kernels,)
        Nonnegative kernel weights with sum one; all zero if no kernel entered.
    block_norms_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Norm of each function f_m in the space of its normalized kernel.
    variance_shares_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Share of each term in the variance of the decision values on the training
        samples. The shares sum to one; the share of a term that opposes the others is
        negative.
    view_weights_, view_shares_ : dict
        Sums of ``kernel_weights_`` and ``variance_shares_`` over the kernels of each
        view; only if ``kernels`` was a mapping of views. ``kernel_views_`` is the view
        of each kernel, ``view_columns_`` the columns of each view.
    category_features_, categories_ : ndarray, list of ndarray
        Positions of the text columns that are compared as categories, and the training
        values of each.
    active_kernels_ : ndarray of shape (n_active,)
        Indices of the kernels with a nonzero weight for at least one class, ascending.
    kernel_names_ : list of str
        Names of all kernels.
    dual_coef_ : ndarray of shape (n_samples,) or (n_classes, n_samples)
        Feasible dual point a that proves ``duality_gap_``; from -C to C for the hinge
        and the logistic loss, zero at samples of weight zero. At the optimum f_m =
        ``kernel_weights_[m]`` K_m a.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples with a nonzero coefficient.
    objective_ : float
        Mean loss plus alpha times the penalty.
    duality_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap of the model; the fit stops when it is at most ``tol``.
    n_iter_ : int or ndarray of shape (n_classes,)
        Number of outer iterations, at least one.
    history_ : structured ndarray of shape (n_lines,)
        One record per outer iteration with the fields output (index of the class, 0 for
        two classes), iteration, seconds, objective, duality_gap, n_active, passes,
        inner_steps.
    status_ : str
        Reason why the solver stopped, the worst over all classes: "converged" if the
        tolerance was reached, otherwise another name of a `Status` in lower case.
    status_message_ : str
        The reason as a sentence.
    n_kernels_ : int
        Number of kernels in the dictionary. Above one million interactions of columns
        with few values, ``kernel_weights_``, ``kernel_names_`` and the other attributes
        of kernels describe a short list; all other kernels have weight zero, and the
        gap covers all kernels.
    fit_info_ : dict
        Details of the fit. "solver": the algorithms that produced the solution of each
        problem, in order, such as "newton_in_weights". "storage" and "storage_reason":
        the storage of the Gram matrices and the reason for it. "left_out": columns,
        interactions and exact kernels that the default dictionary omits, and the
        reason; empty if it omits none or if ``kernels`` is given. "cv_tol" (searches):
        relative duality gap for the fits of the folds, 30 times ``tol`` and at most
        0.03. "search_rows" (searches): number of rows whose folds gave the scores, see
        ``max_search_rows``. "predicted_alike" (searches): the class that the chosen
        models predict for every validation sample; empty if predictions differ, and for
        regressors.
    classes_ : ndarray of shape (n_classes,)
        The classes, from the lowest to the highest.
    thresholds_ : ndarray of shape (n_classes - 1,)
        Thresholds between consecutive classes: if `linear_predictor` equals a
        threshold, a lower and a higher class are equally likely. The thresholds replace
        the intercept.
    n_features_in_ : int
        Number of columns of X; for precomputed kernels, number of training samples.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names; only if X was a data frame.

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
            Nonnegative weights of the samples. An integer weight has the effect of as
            many copies of the sample; a weight of zero removes it.
        offset : None
            Not supported.
        callback : callable, default=None
            Called with a `Progress` once per outer iteration, its objective in the
            summed scale of `Problem`; the fit stops if it returns True.

        Returns
        -------
        self : estimator
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data are invalid, or all samples have one class; the
            message says which and why.

        Warns
        -----
        ConvergenceWarning
            If the solver stopped above the tolerance; the message gives the gap.
        """
        return self._learn(X, y, sample_weight, offset, callback)

    def _method(self) -> SparseMethod:
        return sparse_method(self, self.alpha, TARGET_ALPHA)


@dataclass(eq=False, repr=False)
class SpicyMKLOrdinalCV(OrdinalMKL, AlphaSearchCV):
    """Sparse model of ordered classes with alpha chosen by cross-validation.

    Each fold solves the problem of `SpicyMKLOrdinal` for all strengths, with warm
    starts. The search chooses the strength with the largest mean share of correctly
    ordered pairs of validation samples from different classes.

    Parameters
    ----------
    kernels : Kernel, list, dict, KernelDictionary, "precomputed" or None, default=None
        The candidate kernels. None selects `median_dictionary`: a linear kernel and
        Gaussian kernels of a few widths, on all columns together and on each column
        alone. The widths follow from the samples; standardize numeric columns first.
        Only SpicyMKL estimators add their `Interactions`; ``fit_info_`` names columns
        and interactions that are omitted because the fit would take too long. If X
        contains strings, None selects `sequence_dictionary`; each categorical column of
        a data frame gets a `CategoryKernel`. A dict maps the name of a view to its
        columns, or to (columns, kernels), see `multikernel.kernels.Views`; a view may
        be a precomputed matrix, see `multikernel.kernels.Grams`. A kernel may be a
        function, "tanimoto" or a name of `sklearn.metrics.pairwise`, see
        `multikernel.kernels.FunctionKernel`. Sparse tables of SciPy need kernels on all
        columns or on views. For "precomputed" see `stack_grams`.
    cv : int, splitter, iterable of (train, test) or None, default=None
        The folds; None means five. With a number of folds, the folds are stratified by
        class, and keep ``groups`` together if ``fit`` gets groups. Metadata routing
        needs ``set_fit_request(groups=True)``.
    n_jobs : int or None, default=None
        Number of folds fitted in parallel, by threads that share the Gram matrices; -1
        uses all cores.
    refit : bool or "one_standard_error", default=True
        Whether to fit the model with the chosen parameters on all samples.
        "one_standard_error" chooses the simplest candidate whose mean score is within
        one standard error of the best: the one with the fewest kernels, the first if
        several tie.
    max_search_rows : int, "auto" or None, default="auto"
        Largest number of rows on which candidates are scored; the chosen model is
        always fitted on all rows. None uses all rows, and so does "auto" for up to 4000
        rows. For longer tables "auto" draws 2000 rows with ``random_state``, and
        doubles them until the choice is expected to lose at most 0.0015 of the score
        against any other candidate. No sample loses a class from a fold; groups of more
        than 400 rows are drawn in pieces. On n of N rows, ``alpha`` is scored as
        alpha (N / n)^0.6, because the best alpha falls with the number of rows. See the
        page "Large data" of the user guide.
    alphas : sequence of float, default=None
        Candidate strengths. None creates a logarithmic grid that descends from the
        smallest strength at which no kernel enters.
    n_alphas : int, default=12
        Number of strengths in the default grid.
    alpha_min_ratio : float, default=1e-3
        Ratio of the last strength of the default grid to the first, in (0, 1].
    order : sequence of shape (n_classes,), default=None
        The classes from the lowest to the highest, as in `SpicyMKLOrdinal`.
    l1_ratio : float, default=1.0
        Share of the block l1 norm in the penalty, in [0, 1]. Below 1, kernels that
        carry the same information enter together. A regressor applies it to targets
        scaled to a standard deviation of one.
    normalize : str, Normalizer, list of str and Normalizer, or None, default="variance"
        Normalization of the kernels. "variance" gives unit variance in feature space,
        "trace" a mean diagonal of one, "cosine" cosine similarity; "center" only
        centers. An object such as `multikernel.gram.TailNormalizer` is accepted too. A
        list is applied in order. The factors are computed on the training samples.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int, default=100
        Maximum number of outer iterations; each passes over all kernels.
    storage : str, LowRank or Device, default="auto"
        Storage of the Gram matrices during the fit, see `multikernel.gram.build_stack`.
        "dense" stores all matrices, "dense32" in single precision; "lazy" recomputes
        them when needed; "low_rank", or a `multikernel.gram.LowRank`, stores factors
        from landmarks; "by_kernel" stores kernels of high rank whole and factors of the
        others; "device", or a `multikernel.gram.Device`, stores matrices on an
        accelerator. "auto" chooses the storage that is predicted to be the fastest.
        Precomputed matrices are not copied or converted.
    max_bytes : int, default=None
        Maximum memory of the Gram matrices in bytes, including copies for folds; None
        allows half of the free memory.
    verbose : int, default=0
        If positive, print one line per iteration to standard error.
    random_state : int, RandomState or None, default=None
        Seed of the vectors that test precomputed matrices for symmetry and of
        subsamples of the dictionary. All other steps are deterministic.

    Attributes
    ----------
    l1_ratio_ : float or ndarray of shape (n_outputs,)
        Value of ``l1_ratio`` that corresponds to ``alpha_`` in the units of the
        targets; only if ``l1_ratio`` is below 1.
    best_params_ : dict
        Chosen parameters. Ties in the score are broken in this order: a model with
        kernels before a constant model, then the lower ``mean_test_loss``, then the
        simplest model.
    best_index_ : int
        Index of the chosen parameters in ``cv_results_``.
    best_score_ : float
        Mean share of correctly ordered pairs over the folds; 0.5 for a constant model.
    cv_results_ : dict of ndarray of shape (n_candidates,)
        Results of the search with the keys of scikit-learn: ``params``,
        ``param_<name>``, ``split<k>_test_score``, ``mean_test_score``,
        ``std_test_score``, ``rank_test_score``. Two keys are added: ``mean_n_active``,
        the mean number of active kernels, and ``mean_test_loss``, the mean log loss of
        the validation samples if the model minimizes a log loss, otherwise the mean of
        the model's loss.
    n_splits_ : int
        Number of folds.
    kernel_weights_ : ndarray of shape (n_kernels,)
        Nonnegative kernel weights with sum one; all zero if no kernel entered.
    alpha_ : float or ndarray of shape (n_outputs,)
        Regularization strength in the units of the targets; one for each target if the
        selection is separate. A search stores the strength with the best mean score,
        the largest one if several tie.
    alphas_ : ndarray of shape (n_alphas,)
        All candidate strengths in the units of ``alpha``, descending.
    path_ : RegularizationPath
        Norms, weights, objectives and gaps along the path on all samples, which ends at
        the chosen strength.
    block_norms_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Norm of each function f_m in the space of its normalized kernel.
    variance_shares_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Share of each term in the variance of the decision values on the training
        samples. The shares sum to one; the share of a term that opposes the others is
        negative.
    view_weights_, view_shares_ : dict
        Sums of ``kernel_weights_`` and ``variance_shares_`` over the kernels of each
        view; only if ``kernels`` was a mapping of views. ``kernel_views_`` is the view
        of each kernel, ``view_columns_`` the columns of each view.
    category_features_, categories_ : ndarray, list of ndarray
        Positions of the text columns that are compared as categories, and the training
        values of each.
    active_kernels_ : ndarray of shape (n_active,)
        Indices of the kernels with a nonzero weight for at least one class, ascending.
    kernel_names_ : list of str
        Names of all kernels.
    dual_coef_ : ndarray of shape (n_samples,) or (n_classes, n_samples)
        Feasible dual point a that proves ``duality_gap_``; from -C to C for the hinge
        and the logistic loss, zero at samples of weight zero. At the optimum f_m =
        ``kernel_weights_[m]`` K_m a.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples with a nonzero coefficient.
    objective_ : float
        Mean loss plus alpha times the penalty.
    duality_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap of the model; the fit stops when it is at most ``tol``.
    n_iter_ : int
        Number of outer iterations along the path on all samples.
    history_ : structured ndarray of shape (n_lines,)
        One record per outer iteration with the fields output (index of the class, 0 for
        two classes), iteration, seconds, objective, duality_gap, n_active, passes,
        inner_steps.
    status_ : str
        Reason why the solver stopped, the worst over all classes: "converged" if the
        tolerance was reached, otherwise another name of a `Status` in lower case.
    status_message_ : str
        The reason as a sentence.
    n_kernels_ : int
        Number of kernels in the dictionary. Above one million interactions of columns
        with few values, ``kernel_weights_``, ``kernel_names_`` and the other attributes
        of kernels describe a short list; all other kernels have weight zero, and the
        gap covers all kernels.
    fit_info_ : dict
        Details of the fit. "solver": the algorithms that produced the solution of each
        problem, in order, such as "newton_in_weights". "storage" and "storage_reason":
        the storage of the Gram matrices and the reason for it. "left_out": columns,
        interactions and exact kernels that the default dictionary omits, and the
        reason; empty if it omits none or if ``kernels`` is given. "cv_tol" (searches):
        relative duality gap for the fits of the folds, 30 times ``tol`` and at most
        0.03. "search_rows" (searches): number of rows whose folds gave the scores, see
        ``max_search_rows``. "predicted_alike" (searches): the class that the chosen
        models predict for every validation sample; empty if predictions differ, and for
        regressors.
    classes_ : ndarray of shape (n_classes,)
        The classes, from the lowest to the highest.
    thresholds_ : ndarray of shape (n_classes - 1,)
        Thresholds between consecutive classes, see `SpicyMKLOrdinal`.
    n_features_in_ : int
        Number of columns of X; for precomputed kernels, number of training samples.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names; only if X was a data frame.

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

    # Folds are scored by the order of the decision values.
    scoring: ClassVar[None] = None  # type: ignore[misc] # no parameter here

    def _copied(self, loss: CumulativeLogitLoss, strata: Indices, groups: Any) -> Self:
        """Return a copy with the given loss, and with folds stratified by class."""
        inner = super()._copied(loss, strata, groups)
        inner.cv = folds_of(self.cv, strata, groups, stratify=True)
        return inner

    def _why_unscored(self, samples: Samples, test: Indices) -> str | None:
        """Return why a validation set cannot be scored; None if it can."""
        if np.ptp(samples.targets[0][test]) > 0.0:
            return None
        return "holds one class only"
