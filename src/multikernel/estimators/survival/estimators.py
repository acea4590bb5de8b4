"""Sparse multiple kernel learning for times to an event."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from multikernel._validation import Check
from multikernel.estimators.scale import TARGET_ALPHA
from multikernel.estimators.spicy.method import AUTO_CHECKS, SparseMethod, sparse_method
from multikernel.estimators.survival.base import SurvivalMKL


@dataclass(eq=False, repr=False)
class SpicyMKLSurvival(SurvivalMKL):
    r"""Sparse multiple kernel model of survival times, which may be censored.

    The model is log-logistic with accelerated failure times [1]_: the logarithm of a
    time is f(x) plus sigma times a logistic variable. The fit minimizes, over functions
    f_m in the kernels' spaces and an intercept b,

    .. math::
        \frac{1}{\sum_i s_i} \sum_i s_i\,
        \ell_\sigma\Bigl(y_i, \sum_m f_m(x_i) + b\Bigr) +
        \alpha \sum_m \Bigl(r \|f_m\| + \frac{1 - r}{2} \|f_m\|^2\Bigr)

    with sample weights s, ``r = l1_ratio`` and the loss of
    `multikernel.losses.LogLogisticLoss`. Observed events, right-censored and
    left-censored times and intervals enter by their likelihoods. While f is fitted,
    sigma is the maximum likelihood estimate of a model without kernels; afterwards
    sigma is estimated again for the fitted f. Every fit ends with a duality gap, a
    bound on the distance of ``objective_`` to the optimum. Some problems are solved by
    the augmented Lagrangian of SpicyMKL, the others by Newton's method in the kernel
    weights, see `multikernel.solvers.SpicyMKL`.

    Targets y are event indicators (1 observed, 0 censored) and event or censoring
    times, above 0 in any unit: a structured array as in scikit-survival, a frame with
    the columns ``event`` and ``time``, or an array with columns in this order. With
    ``lower`` and ``upper`` as columns or fields, the event happened between these
    times: they are equal if the time is exact. An unknown ``lower`` is 0, an unknown
    ``upper`` is infinite. A fit needs at least one observed event.

    Parameters
    ----------
    kernels : Kernel, list, dict, KernelDictionary, "precomputed" or None, default=None
        Candidate kernels, also as functions or names of `sklearn.metrics.pairwise`.
        None means `median_dictionary` of X, for which you should standardize numeric
        columns, or `sequence_dictionary` for text. A dict maps views to columns, see
        `multikernel.kernels.Views`. "precomputed": X is the result of `stack_grams`.
    alpha : float or "auto", default="auto"
        Strength of the penalty, positive; its effect does not depend on the unit of the
        times. "auto" as in `SpicyMKLRegressor`.
    l1_ratio : float, default=1.0
        Share r of the block l1 norm, in [0, 1]. Below 1, similar kernels enter jointly.
    normalize : str, Normalizer, list of str and Normalizer, or None, default="variance"
        Normalization: "variance" (variance of one in feature space), "trace" (mean
        diagonal of one), "cosine", "center" or a list of steps. None omits it.
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
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
    scale_ : float
        Sigma in predictions: the maximum likelihood estimate for f on the training
        samples. It is too small if f overfits.
    loss_scale_ : float
        Sigma in the loss of the fit: the maximum likelihood estimate without kernels.
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
        Intercept.
    unpenalized_coef_, unpenalized_names_ : ndarray, list of str
        Coefficients and names of `multikernel.kernels.Unpenalized` columns, if any.
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
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X (``X.shape[1]``), and their names if X was a data frame.

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

    alpha: float | str = "auto"

    def _method(self) -> SparseMethod:
        return sparse_method(self, self.alpha, default=TARGET_ALPHA)
