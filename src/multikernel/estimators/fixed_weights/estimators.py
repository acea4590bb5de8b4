"""Estimators with fixed kernel weights, the baseline for learned weights."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass

from multikernel._typing import Array
from multikernel.estimators.fixed_weights.method import weight_checks, weighted_method
from multikernel.estimators.method import Method
from multikernel.estimators.parameters import SUM_NORMALIZE
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.gram import Storage
from multikernel.gram.normalization import Steps
from multikernel.losses import Loss
from multikernel.solvers.fixed_weights import WeightRule


@dataclass(eq=False, repr=False, kw_only=True)
class WeightedParameters:
    """Parameters common to the estimators with fixed weights and their searches."""

    kernel_weights: str | Sequence[float] | Array | WeightRule = "uniform"
    weight_params: Mapping[str, object] | None = None
    loss: str | Loss = "hinge"
    normalize: Steps = SUM_NORMALIZE
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int | None = None
    storage: Storage = "auto"
    max_bytes: int | None = None
    verbose: int = 0


@dataclass(eq=False, repr=False)
class FixedWeightsMKLClassifier(WeightedParameters, ClassifierMKL):
    r"""Classification with a sum of kernels with fixed weights.

    The fit minimizes, over functions f_m in the kernels' spaces and an intercept b,

    .. math::
        \frac12 \sum_m \frac{\|f_m\|^2}{\theta_m}
        + C \sum_i s_i\, \ell\Bigl(y_i, \sum_m f_m(x_i) + b\Bigr)

    with sample weights s: for the hinge loss this is `sklearn.svm.SVC` with the
    weighted sum of the normalized kernels. The weights theta are equal [1]_, given, or
    computed by a rule from kernels and targets alone [2]_, [3]_. Use this estimator as
    the baseline for learned weights.

    Parameters
    ----------
    kernels : Kernel, list, dict, KernelDictionary, "precomputed" or None, default=None
        Candidate kernels, also as functions or names of `sklearn.metrics.pairwise`.
        None means `median_dictionary` of X, for which you should standardize numeric
        columns, or `sequence_dictionary` for text. A dict maps views to columns, see
        `multikernel.kernels.Views`. "precomputed": X is the result of `stack_grams`.
    C : float or None, default=None
        Factor of the sum of the losses, positive, as in `sklearn.svm.SVC`. None means 2
        (8 for "log_loss") divided by the variance of the combined kernel.
    loss : {"hinge", "log_loss", "squared_error"} or Loss, default="hinge"
        Loss. "squared_error" has targets -1 and 1; `predict_proba` needs "log_loss".
    class_weight : dict, "balanced" or None, default=None
        Factor of the sample weights by class; "balanced" gives classes equal totals.
    kernel_weights : str, array-like or callable, default="uniform"
        Weights of the normalized kernels: "uniform" (all 1), "alignment" or "easy" (by
        `multikernel.solvers.alignment_weights`, `multikernel.solvers.easy_weights`), an
        array, or in the CV class "single" (the kernel with the best score). A callable
        gets a `multikernel.gram.GramStack`, targets (-1 and 1) and sample weights, and
        returns an array. It is called for each class if there are more than two.
    weight_params : dict or None, default=None
        Parameters of the rule in ``kernel_weights``: ``method`` ("independent", "joint"
        or "greedy") and ``max_kernels`` for "alignment", ``regularization`` for "easy",
        or keyword arguments of a callable.
    normalize : str, Normalizer, list of str and Normalizer, or None, default="trace"
        Normalization of the kernels: "trace" gives a mean diagonal of one, as rules for
        weights expect; also "variance", "cosine", "center", or a list applied in order.
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int or None, default=None
        Maximum number of outer iterations; None selects the default of the solver.
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
    C_ : float
        Value of C in this fit.
    machine_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap given the weights; only if a rule computed these weights.
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Weights of the kernels, one row per class if more than two. "uniform" gives 0 to
        kernels that are zero, or constant if there is an intercept, and 1 to others.
    block_norms_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Norm of each function f_m in the space of its normalized kernel. More than two
        classes, or several labels, have one row each.
    variance_shares_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Share of each f_m in the variance of training decision values; may be negative.
    view_weights_, view_shares_, kernel_views_, view_columns_ : dict, dict, list, dict
        With views: sums of weights and shares, each kernel's view, each view's columns.
    category_features_, categories_, sequence_features_ : ndarray, list, ndarray
        Indices of category columns, values of each, and indices of sequence columns.
    active_kernels_ : ndarray of shape (n_active,)
        Indices of the kernels with a nonzero weight for at least one class, ascending.
    kernel_names_, n_kernels_ : list of str, int
        Names of all candidate kernels, and their number.
    dual_coef_ : ndarray of shape (n_samples,) or (n_classes, n_samples)
        Feasible dual point a that proves ``duality_gap_`` or ``machine_gap_``. At the
        optimum f_m = ``kernel_weights_[m]`` K_m a, with normalized Gram matrices K_m.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept.
    unpenalized_coef_, unpenalized_names_ : ndarray, list of str
        Coefficients and names of `multikernel.kernels.Unpenalized` columns, if any.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that have a nonzero value in ``dual_coef_``.
    objective_ : float or ndarray of shape (n_classes,)
        Penalty plus C times the sum of the losses.
    duality_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap; nan for weights from a rule, which are not proven optimal.
    n_iter_ : int or ndarray of shape (n_classes,)
        Number of outer iterations, at least one.
    history_ : structured ndarray of shape (n_lines,)
        One record per outer iteration; ``output`` is the class index, see `Progress`.
    status_, status_message_ : str
        Worst `Status` of all classes, such as "converged", and a sentence about it.
    fit_info_ : dict
        Keys "solver", "storage", "storage_reason", "left_out" (unused default kernels).
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X (``X.shape[1]``), and their names if X was a data frame.

    See Also
    --------
    LpMKLClassifier : Learns the weights together with the functions.
    FixedWeightsMKLClassifierCV : Chooses C, or the best single kernel.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg, Zien (2011). lp-norm multiple kernel learning.
       JMLR 12, 953-997.
    .. [2] Cortes, Mohri, Rostamizadeh (2012). Algorithms for learning kernels based on
       centered alignment. JMLR 13, 795-828.
    .. [3] Aiolli, Donini (2015). EasyMKL: a scalable multiple kernel learning
       algorithm. Neurocomputing 169, 215-224.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import FixedWeightsMKLClassifier
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = FixedWeightsMKLClassifier(kernels, kernel_weights="alignment").fit(X, y)
    >>> int(np.argmax(model.kernel_weights_))
    2
    """

    _checks = weight_checks("uniform", "alignment", "easy")

    C: float | None = None

    def _method(self) -> Method:
        return weighted_method(self, self.C)


@dataclass(eq=False, repr=False)
class FixedWeightsMKLRegressor(WeightedParameters, RegressorMKL):
    r"""Regression with a sum of kernels with fixed weights.

    The fit minimizes, over functions f_m in the kernels' spaces and an intercept b,

    .. math::
        \frac12 \sum_m \frac{\|f_m\|^2}{\theta_m}
        + C \sum_i s_i\, \ell\Bigl(y_i, \sum_m f_m(x_i) + b\Bigr)

    with sample weights s: for the epsilon-insensitive loss this is `sklearn.svm.SVR`
    with the weighted sum of the normalized kernels. The weights theta are equal [1]_,
    given, or computed by a rule from kernels and targets alone [2]_. Use this estimator
    as the baseline for learned weights.

    Parameters
    ----------
    kernels : Kernel, list, dict, KernelDictionary, "precomputed" or None, default=None
        Candidate kernels, also as functions or names of `sklearn.metrics.pairwise`.
        None means `median_dictionary` of X, for which you should standardize numeric
        columns, or `sequence_dictionary` for text. A dict maps views to columns, see
        `multikernel.kernels.Views`. "precomputed": X is the result of `stack_grams`.
    C : float or None, default=None
        Factor of the sum of the losses, positive, for targets of standard deviation
        one. None means 2 divided by the variance of the combined kernel.
    loss : str or Loss, default="epsilon_insensitive"
        "squared_error", "epsilon_insensitive", "quantile" (the median), "huber",
        "poisson" (counts), "gamma" (positive amounts) or a loss object, such as
        ``PinballLoss(0.9)`` for another quantile.
    epsilon : float or None, default=None
        Error in standard deviations of y: "epsilon_insensitive" ignores smaller errors
        (None means 0.1), "huber" is linear beyond it (None means 0.7).
    kernel_weights : str, array-like or callable, default="uniform"
        Weights of the normalized kernels: "uniform" (all 1), "alignment" (see
        `multikernel.solvers.alignment_weights`), an array, or in a search "single"
        (only the kernel with the best score). A callable gets a
        `multikernel.gram.GramStack`, targets and sample weights, and returns an array.
    weight_params : dict or None, default=None
        Parameters of the rule in ``kernel_weights``: ``method`` ("independent", "joint"
        or "greedy") and ``max_kernels`` for "alignment", or arguments of a callable.
    normalize : str, Normalizer, list of str and Normalizer, or None, default="trace"
        Normalization of the kernels: "trace" gives a mean diagonal of one, as rules for
        weights expect; also "variance", "cosine", "center", or a list applied in order.
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int or None, default=None
        Maximum number of outer iterations; None selects the default of the solver.
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
    C_ : float
        Value of C in the units of y.
    epsilon_ : float
        Epsilon in the units of y; only for "epsilon_insensitive" and "huber".
    machine_gap_ : float
        Relative duality gap given the weights; only if a rule computed these weights.
    kernel_weights_ : ndarray of shape (n_kernels,)
        Weights of the kernels. "uniform" gives 0 to kernels that are zero, or constant
        if there is an intercept, and 1 to the others.
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
        Names of all candidate kernels, and their number.
    dual_coef_ : ndarray of shape (n_samples,)
        Feasible dual point a that proves ``duality_gap_`` or ``machine_gap_``. At the
        optimum f_m = ``kernel_weights_[m]`` K_m a, with normalized Gram matrices K_m.
    intercept_ : ndarray of shape (1,)
        Intercept.
    unpenalized_coef_, unpenalized_names_ : ndarray, list of str
        Coefficients and names of `multikernel.kernels.Unpenalized` columns, if any.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that have a nonzero value in ``dual_coef_``.
    objective_ : float
        Penalty plus C times the sum of the losses.
    duality_gap_ : float
        Relative duality gap; nan for weights from a rule, which are not proven optimal.
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
    LpMKLRegressor : Learns the weights together with the functions.
    FixedWeightsMKLRegressorCV : Chooses C, or the best single kernel.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg, Zien (2011). lp-norm multiple kernel learning.
       JMLR 12, 953-997.
    .. [2] Cortes, Mohri, Rostamizadeh (2012). Algorithms for learning kernels based on
       centered alignment. JMLR 13, 795-828.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import FixedWeightsMKLRegressor
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 2])
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = FixedWeightsMKLRegressor(kernels, kernel_weights="alignment").fit(X, y)
    >>> int(np.argmax(model.kernel_weights_))
    2
    """

    _checks = weight_checks("uniform", "alignment")

    C: float | None = None
    _: KW_ONLY
    loss: str | Loss = "epsilon_insensitive"

    def _method(self) -> Method:
        return weighted_method(self, self.C)
