"""Sparse multiple kernel learning for times to an event."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from multikernel._validation import Check
from multikernel.estimators.scale import TARGET_ALPHA
from multikernel.estimators.spicy.method import AUTO_CHECKS, SparseMethod, sparse_method
from multikernel.estimators.survival.base import SurvivalMKL
from multikernel.problem import Callback


@dataclass(eq=False, repr=False)
class SpicyMKLSurvival(SurvivalMKL):
    r"""Sparse multiple kernel model of survival times, which may be censored.

    The model is log-logistic with accelerated failure times: the logarithm of a time is
    f(x) plus sigma times a logistic variable. The fit minimizes, over functions of the
    kernels' spaces and an intercept,

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
        Strength of the penalty, positive; "auto" is as for `SpicyMKLRegressor`. It does
        not depend on the unit of the times, which only shifts their logarithms.
    l1_ratio : float, default=1.0
        Share of the block l1 norm in the penalty, in [0, 1]. Below 1, kernels that
        carry the same information enter together. A regressor applies it to targets
        scaled to a standard deviation of one.
    normalize : str, Normalizer, list of str and Normalizer, or None, default="variance"
        Normalization of the kernels. "variance" gives unit variance in feature space,
        "trace" a mean diagonal of one, "cosine" cosine similarity; "center" only
        centers. An object such as `multikernel.gram.TailNormalizer` is accepted too. A
        list is applied in order. The factors are computed on the training samples.
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
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
    scale_ : float
        Sigma of the predictions: the maximum likelihood estimate for f on the training
        samples. It is too small if f overfits; a search estimates it on its validation
        folds.
    loss_scale_ : float
        Sigma of the minimized loss.
    block_norms_ : ndarray of shape (n_kernels,)
        Norm of each function f_m in the space of its normalized kernel.
    variance_shares_ : ndarray of shape (n_kernels,)
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
        Indices of the kernels with a nonzero weight, ascending.
    kernel_names_ : list of str
        Names of all kernels.
    dual_coef_ : ndarray of shape (n_samples,)
        Feasible dual point a that proves ``duality_gap_``; from -C to C for the
        epsilon-insensitive loss, zero at samples of weight zero. At the optimum
        f_m = ``kernel_weights_[m]`` K_m a.
    intercept_ : ndarray of shape (1,)
        Intercept.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples with a nonzero coefficient.
    objective_ : float
        Mean loss plus alpha times the penalty.
    duality_gap_ : float
        Relative duality gap of the model; the fit stops when it is at most ``tol``.
    n_iter_ : int
        Number of outer iterations, at least one.
    history_ : structured ndarray of shape (n_lines,)
        One record per outer iteration with the fields output (always 0), iteration,
        seconds, objective, duality_gap, n_active, passes, inner_steps.
    status_ : str
        Reason why the solver stopped: "converged" if the tolerance was reached,
        otherwise another name of a `Status` in lower case.
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
    n_features_in_ : int
        Number of columns of X; for precomputed kernels, number of training samples.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names; only if X was a data frame.

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
            Event indicator (1 observed, 0 censored) and event or censoring time: a
            structured array as in scikit-survival, a frame with the columns ``event``
            and ``time``, or an array of two such columns in this order. With two
            columns or fields ``lower`` and ``upper``, the event happened between these
            times: equal if it was observed, 0 or infinite for an unknown end. Times are
            above 0, in any unit.
        sample_weight : array-like of shape (n_samples,), default=None
            Nonnegative weights of the samples. An integer weight has the effect of as
            many copies of the sample; a weight of zero removes it.
        offset : None
            Not supported: an offset of log times is a factor of the times themselves.
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
            If a parameter or the data are invalid, or no event was observed; the
            message says which and why.

        Warns
        -----
        ConvergenceWarning
            If the solver stopped above the tolerance; the message gives the gap.
        """
        return self._learn(X, y, sample_weight, offset, callback)

    def _method(self) -> SparseMethod:
        return sparse_method(self, self.alpha, TARGET_ALPHA)
