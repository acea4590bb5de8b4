"""Estimators of lp-norm MKL, whose weights have any degree of sparsity."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass

from multikernel._typing import Array
from multikernel.estimators.lp.method import LP_CHECKS, MarginMethod, lp_method
from multikernel.estimators.parameters import NORMALIZE
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.gram import Storage
from multikernel.gram.normalization import Steps
from multikernel.losses import Loss


@dataclass(eq=False, repr=False, kw_only=True)
class LpParameters:
    """Parameters common to the estimators of lp-norm MKL and their searches."""

    _checks = LP_CHECKS

    loss: str | Loss = "hinge"
    solver: str = "auto"
    selection: str = "separate"
    normalize: Steps = NORMALIZE
    penalty_weights: Mapping[str, float] | Sequence[float] | Array | None = None
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int | None = None
    storage: Storage = "auto"
    max_bytes: int | None = None
    verbose: int = 0


@dataclass(eq=False, repr=False)
class LpMKLClassifier(LpParameters, ClassifierMKL):
    r"""Classification by lp-norm multiple kernel learning [1]_.

    The fit minimizes, over functions f_m in the kernels' spaces and an intercept b,

    .. math::
        \frac12 \Bigl( \sum_m \|f_m\|^q \Bigr)^{2/q} + C \sum_i s_i\,
        \ell\Bigl(y_i, \sum_m f_m(x_i) + b\Bigr), \qquad q = \frac{2p}{p + 1}

    with sample weights s. This is a support vector machine (or the machine of another
    loss) with the kernel :math:`\sum_m \theta_m k_m`; the objective is also
    minimized over the nonnegative weights theta, of p-norm one. Every fit ends with a
    duality gap, a bound on the distance of ``objective_`` to the optimum.

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
    p : float, default=2.0
        Order of the norm of the kernel weights, at least 1. With p = 1 most weights are
        zero; a larger p makes the weights more similar, and with p = inf all are one.
    loss : {"hinge", "log_loss", "squared_error"} or Loss, default="hinge"
        Loss. "squared_error" has targets -1 and 1; `predict_proba` needs "log_loss".
    class_weight : dict, "balanced" or None, default=None
        Factor of the sample weights by class; "balanced" gives classes equal totals.
    solver : str, default="auto"
        "newton", "cutting_plane", "alternating"; for p = 1 also "squared_form", "silp",
        "simple", "hessian". All reach the same optimum; "auto" chooses by data size.
    selection : {"shared", "separate"}, default="separate"
        With several labels or more than two classes, "separate" fits each with its own
        kernels. "shared" fits all with the same kernels: in the penalty, ‖f_m‖ is the
        root of the sum of squares of ``block_norms_[:, m]``, and for classes,
        "log_loss" is the multinomial loss, "hinge" the Crammer-Singer loss. "shared" is
        often more accurate if classes depend on the same columns.
    normalize : str, Normalizer, list of str and Normalizer, or None, default="variance"
        Normalization: "variance" (variance of one in feature space), "trace" (mean
        diagonal of one), "cosine", "center" or a list of steps. None omits it.
    penalty_weights : dict, sequence of float or None, default=None
        Weights w_m > 0, one per kernel or by name of kernel or view; weights not given
        are 1. The penalty contains w_m ‖f_m‖, not ‖f_m‖. ``kernel_weights_`` and
        ``block_norms_`` then refer to normalized kernels divided by w_m².
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
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        p-norm one, or all zero if no kernel entered; a row per separate selection.
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
        Feasible dual point a that proves ``duality_gap_``. At the optimum f_m =
        ``kernel_weights_[m]`` K_m a, with the normalized Gram matrices K_m.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept.
    unpenalized_coef_, unpenalized_names_ : ndarray, list of str
        Coefficients and names of `multikernel.kernels.Unpenalized` columns, if any.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that have a nonzero value in ``dual_coef_``.
    objective_ : float or ndarray of shape (n_classes,)
        Penalty plus C times the sum of the losses.
    duality_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap of the model; the fit stops when it is at most ``tol``.
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
    LpMKLClassifierCV : Chooses C and p by cross-validation.
    FixedWeightsMKLClassifier : The same problem with equal weights, p = inf.
    SpicyMKLClassifier : For large dictionaries and sparse models, p = 1.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg, Zien (2011). lp-norm multiple kernel learning.
       JMLR 12, 953-997.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import LpMKLClassifier
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> LpMKLClassifier(kernels, C=0.1, p=1.0).fit(X, y).active_kernels_
    array([2])
    >>> model = LpMKLClassifier(kernels, p=2.0).fit(X, y)
    >>> len(model.active_kernels_), bool(model.duality_gap_ <= model.tol)
    (4, True)
    """

    C: float | None = None
    p: float = 2.0

    def _method(self) -> MarginMethod:
        return lp_method(self, [self.p], self.C)


@dataclass(eq=False, repr=False)
class LpMKLRegressor(LpParameters, RegressorMKL):
    r"""Regression by lp-norm multiple kernel learning [1]_.

    The fit minimizes, over functions f_m in the kernels' spaces and an intercept b,

    .. math::
        \frac12 \Bigl( \sum_m \|f_m\|^q \Bigr)^{2/q} + C \sum_i s_i\,
        \ell\Bigl(y_i, \sum_m f_m(x_i) + b\Bigr), \qquad q = \frac{2p}{p + 1}

    with sample weights s. This is a support vector machine (or the machine of another
    loss) with the kernel :math:`\sum_m \theta_m k_m`; the objective is also
    minimized over the nonnegative weights theta, of p-norm one. Every fit ends with a
    duality gap, a bound on the distance of ``objective_`` to the optimum.

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
    p : float, default=2.0
        Order of the norm of the kernel weights, at least 1. With p = 1 most weights are
        zero; a larger p makes the weights more similar, and with p = inf all are one.
    loss : str or Loss, default="epsilon_insensitive"
        "squared_error", "epsilon_insensitive", "quantile", "huber", "poisson" (counts),
        "gamma" (positive amounts) or a loss object.
    epsilon : float or None, default=None
        Error in standard deviations of y: "epsilon_insensitive" ignores smaller errors
        (None means 0.1), "huber" is linear beyond it (None means 0.7).
    solver : str, default="auto"
        "newton", "cutting_plane", "alternating"; for p = 1 also "squared_form", "silp",
        "simple", "hessian". All reach the same optimum; "auto" chooses by data size.
    selection : {"shared", "separate"}, default="shared"
        "shared" gives all targets the same kernels: in the penalty, ‖f_m‖ is the root
        of the sum of squares of ``block_norms_[:, m]``. "separate" fits each alone.
    normalize : str, Normalizer, list of str and Normalizer, or None, default="variance"
        Normalization: "variance" (variance of one in feature space), "trace" (mean
        diagonal of one), "cosine", "center" or a list of steps. None omits it.
    penalty_weights : dict, sequence of float or None, default=None
        Weights w_m > 0, one per kernel or by name of kernel or view; weights not given
        are 1. The penalty contains w_m ‖f_m‖, not ‖f_m‖. ``kernel_weights_`` and
        ``block_norms_`` then refer to normalized kernels divided by w_m².
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
    quantile : float, default=0.5
        Level of the quantile, between 0 and 1; only for "quantile".

    Attributes
    ----------
    C_ : float or ndarray of shape (n_targets,)
        Value of C in the units of y; an array if ``selection="separate"``.
    epsilon_ : float or ndarray of shape (n_targets,)
        Epsilon in the units of y; only for "epsilon_insensitive" and "huber".
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_targets, n_kernels)
        p-norm one, or all zero if no kernel entered; a row per separate selection.
    block_norms_ : ndarray of shape (n_kernels,) or (n_targets, n_kernels)
        Norm of each function f_m in the space of its normalized kernel.
    variance_shares_ : ndarray of shape (n_kernels,) or (n_targets, n_kernels)
        Share of each f_m in the variance of training decision values; may be negative.
    view_weights_, view_shares_, kernel_views_, view_columns_ : dict, dict, list, dict
        With views: sums of weights and shares, each kernel's view, each view's columns.
    category_features_, categories_, sequence_features_ : ndarray, list, ndarray
        Indices of category columns, values of each, and indices of sequence columns.
    active_kernels_ : ndarray of shape (n_active,)
        Indices of the kernels with a nonzero weight for at least one target, ascending.
    kernel_names_, n_kernels_ : list of str, int
        Names of all candidate kernels, and their number.
    dual_coef_ : ndarray of shape (n_samples,) or (n_targets, n_samples)
        Feasible dual point a that proves ``duality_gap_``. At the optimum f_m =
        ``kernel_weights_[m]`` K_m a, with the normalized Gram matrices K_m.
    intercept_ : ndarray of shape (n_targets,)
        Intercepts.
    unpenalized_coef_, unpenalized_names_ : ndarray, list of str
        Coefficients and names of `multikernel.kernels.Unpenalized` columns, if any.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that have a nonzero value in ``dual_coef_``.
    objective_ : float or ndarray of shape (n_targets,)
        Penalty plus C times the sum of the losses.
    duality_gap_ : float or ndarray of shape (n_targets,)
        Relative duality gap of the model; the fit stops when it is at most ``tol``.
    n_iter_ : int or ndarray of shape (n_targets,)
        Number of outer iterations.
    history_ : structured ndarray of shape (n_lines,)
        One record per outer iteration; ``output``: index of the target, see `Progress`.
    status_, status_message_ : str
        Worst `Status` of all targets, such as "converged", and a sentence about it.
    fit_info_ : dict
        Keys "solver", "storage", "storage_reason", "left_out" (unused default kernels).
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X (``X.shape[1]``), and their names if X was a data frame.

    See Also
    --------
    LpMKLRegressorCV : Chooses C and p by cross-validation.
    FixedWeightsMKLRegressor : The same problem with equal weights, p = inf.
    SpicyMKLRegressor : For large dictionaries and sparse models, p = 1.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg, Zien (2011). lp-norm multiple kernel learning.
       JMLR 12, 953-997.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import LpMKLRegressor
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 2])
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> LpMKLRegressor(kernels, C=0.1, p=1.0).fit(X, y).active_kernels_
    array([2])
    >>> model = LpMKLRegressor(kernels, p=2.0).fit(X, y)
    >>> len(model.active_kernels_), bool(model.duality_gap_ <= model.tol)
    (4, True)
    """

    C: float | None = None
    p: float = 2.0
    _: KW_ONLY
    loss: str | Loss = "epsilon_insensitive"
    quantile: float = 0.5
    selection: str = "shared"

    def _method(self) -> MarginMethod:
        return lp_method(self, [self.p], self.C)
