"""Estimators of MKL with local Rademacher complexity."""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from multikernel.estimators.local_rademacher.method import (
    TAIL_CHECKS,
    TailMethod,
    tail_method,
)
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.gram import Storage
from multikernel.gram.normalization import Steps
from multikernel.losses import Loss


@dataclass(eq=False, repr=False, kw_only=True)
class TailParameters:
    """Parameters common to the local Rademacher estimators and their searches."""

    _checks = TAIL_CHECKS

    method: str = "conv"
    n_starts: int = 3
    loss: str | Loss = "hinge"
    solver: str = "auto"
    normalize: Steps = None
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int | None = None
    storage: Storage = "auto"
    max_bytes: int | None = None
    verbose: int = 0
    random_state: int | np.random.RandomState | None = None


@dataclass(eq=False, repr=False)
class LocalRademacherMKLClassifier(TailParameters, ClassifierMKL):
    r"""Classification by local Rademacher complexity: conv and dc [1]_.

    The fit minimizes, over functions f_m in the kernels' spaces, an intercept b and
    kernel weights :math:`\mu \ge 0`,

    .. math::
        \frac12 \sum_m \frac{\|f_m\|^2}{\mu_m}
        + C \sum_i s_i\, \ell\Bigl(y_i, \sum_m f_m(x_i) + b\Bigr)

    with sample weights s. Kernels are scaled to trace n, the number of samples. A
    constraint on the weights bounds tail sums: like the local Rademacher complexity, it
    omits the leading theta eigenvalues of kernels. "conv" requires

    .. math::
        \Bigl\| \Bigl( \mu_m \, \tfrac1n \sum_{j > \theta} \lambda_j(K_m)
        \Bigr)_m \Bigr\|_p \le 1,

    a convex problem: lp-norm MKL with kernels divided by their tail sums. "dc" bounds
    the tail sum of the weighted sum, :math:`\frac1n\sum_{j>\theta}\lambda_j(\sum_m\mu_m
    K_m)\le 1` for p = 1 (see `TailDC` for other p), by a sequence of convex problems.
    Its model is the best of `n_starts` stationary points and has no certificate. With
    ``theta=0`` both are `LpMKLClassifier` with ``normalize="trace"``.

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
        Order of the norm that constrains the kernel weights, at least 1; infinite only
        with ``method="conv"``. With p = 1 most weights are zero.
    loss : {"hinge", "log_loss", "squared_error"} or Loss, default="hinge"
        Loss. "squared_error" has targets -1 and 1; `predict_proba` needs "log_loss".
    class_weight : dict, "balanced" or None, default=None
        Factor of the sample weights by class; "balanced" gives classes equal totals.
    method : {"conv", "dc"}, default="conv"
        "conv" bounds the tail sums of the single kernels, a convex problem; "dc" bounds
        the tail sum of their weighted sum, a difference of convex functions.
    n_starts : int, default=3
        Number of starts of "dc": the weights of "conv", equal weights, random weights.
    solver : str, default="auto"
        "newton", "cutting_plane", "alternating"; for p = 1 also "squared_form", "silp",
        "simple", "hessian". All reach the same optimum; "auto" chooses by data size.
    normalize : str, Normalizer, list of str and Normalizer, or None, default=None
        Normalization before the spectra are computed: "center", "cosine" or a list. The
        kernels are then scaled to trace n, so "variance" or "trace" has no effect.
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
    tol : float, default=1e-3
        Relative duality gap at which a convex problem stops. "dc" also stops when an
        iteration decreases the objective by less than this share.
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
    random_state : int, RandomState or None, default=None
        Seed of the random starts of "dc"; None means 0.
    theta : int, default=1
        Number of leading eigenvalues that the constraint omits, at least zero. If a
        kernel has rank theta or less, its tail sum is zero; the fit then warns and uses
        1e-6 of its trace in place of the tail sum.
    selection : {"shared", "separate"}, default="separate"
        With several labels or more than two classes, "separate" fits each with its own
        kernels. "shared" fits all with the same kernels: in the penalty, ‖f_m‖ is the
        root of the sum of squares of ``block_norms_[:, m]``, and for classes,
        "log_loss" is the multinomial loss, "hinge" the Crammer-Singer loss. "shared" is
        often more accurate if classes depend on the same columns.

    Attributes
    ----------
    C_ : float
        Value of C in this fit.
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Nonnegative weights mu of kernels scaled to trace n. One row per selection.
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
        Feasible dual point of the (last) convex problem.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept.
    unpenalized_coef_, unpenalized_names_ : ndarray, list of str
        Coefficients and names of `multikernel.kernels.Unpenalized` columns, if any.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that have a nonzero value in ``dual_coef_``.
    objective_ : float or ndarray of shape (n_classes,)
        Penalty plus C times the sum of the losses.
    duality_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap of "conv"; nan for "dc".
    subproblem_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap of the last convex problem; only for "dc".
    start_objectives_ : ndarray of shape (n_starts,) or (n_classes, n_starts)
        Objective reached from each start, ascending; only for "dc".
    tail_sums_ : ndarray of shape (n_kernels, min(theta, n_samples) + 1)
        [m, k]: sum of all but the k largest eigenvalues of kernel m / n_samples.
    n_iter_ : int or ndarray of shape (n_classes,)
        Number of outer iterations; for "dc", number of convex problems over all starts.
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
    LocalRademacherMKLClassifierCV : Chooses C and theta by cross-validation.
    LpMKLClassifier : The same problem with traces in place of tail sums.
    multikernel.gram.TailNormalizer : The normalization of "conv", for every estimator.

    References
    ----------
    .. [1] Cortes, Kloft, Mohri (2013). Learning kernels using local Rademacher
       complexity. NIPS 26.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import LocalRademacherMKLClassifier
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = LocalRademacherMKLClassifier(kernels, p=1.0, theta=4).fit(X, y)
    >>> int(np.argmax(model.kernel_weights_)), bool(model.duality_gap_ <= model.tol)
    (2, True)
    """

    C: float | None = None
    p: float = 2.0
    _: KW_ONLY
    theta: int = 1
    selection: str = "separate"

    def _method(self) -> TailMethod:
        return tail_method(self, self.theta, self.C)


@dataclass(eq=False, repr=False)
class LocalRademacherMKLRegressor(TailParameters, RegressorMKL):
    r"""Regression by local Rademacher complexity: conv and dc [1]_.

    The fit minimizes, over functions f_m in the kernels' spaces, an intercept b and
    kernel weights :math:`\mu \ge 0`,

    .. math::
        \frac12 \sum_m \frac{\|f_m\|^2}{\mu_m}
        + C \sum_i s_i\, \ell\Bigl(y_i, \sum_m f_m(x_i) + b\Bigr)

    with sample weights s. Kernels are scaled to trace n, the number of samples. A
    constraint on the weights bounds tail sums: like the local Rademacher complexity, it
    omits the leading theta eigenvalues of kernels. "conv" requires

    .. math::
        \Bigl\| \Bigl( \mu_m \, \tfrac1n \sum_{j > \theta} \lambda_j(K_m)
        \Bigr)_m \Bigr\|_p \le 1,

    a convex problem: lp-norm MKL with kernels divided by their tail sums. "dc" bounds
    the tail sum of the weighted sum, :math:`\frac1n\sum_{j>\theta}\lambda_j(\sum_m\mu_m
    K_m)\le 1` for p = 1 (see `TailDC` for other p), by a sequence of convex problems.
    Its model is the best of `n_starts` stationary points and has no certificate. With
    ``theta=0`` both are `LpMKLRegressor` with ``normalize="trace"``.

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
        Order of the norm that constrains the kernel weights, at least 1; infinite only
        with ``method="conv"``. With p = 1 most weights are zero.
    loss : str or Loss, default="epsilon_insensitive"
        "squared_error", "epsilon_insensitive", "quantile" (the median), "huber",
        "poisson" (counts), "gamma" (positive amounts) or a loss object, such as
        ``PinballLoss(0.9)`` for another quantile.
    epsilon : float or None, default=None
        Error in standard deviations of y: "epsilon_insensitive" ignores smaller errors
        (None means 0.1), "huber" is linear beyond it (None means 0.7).
    method : {"conv", "dc"}, default="conv"
        "conv" bounds the tail sums of the single kernels, a convex problem; "dc" bounds
        the tail sum of their weighted sum, a difference of convex functions.
    n_starts : int, default=3
        Number of starts of "dc": the weights of "conv", equal weights, random weights.
    solver : str, default="auto"
        "newton", "cutting_plane", "alternating"; for p = 1 also "squared_form", "silp",
        "simple", "hessian". All reach the same optimum; "auto" chooses by data size.
    normalize : str, Normalizer, list of str and Normalizer, or None, default=None
        Normalization before the spectra are computed: "center", "cosine" or a list. The
        kernels are then scaled to trace n, so "variance" or "trace" has no effect.
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
    tol : float, default=1e-3
        Relative duality gap at which a convex problem stops. "dc" also stops when an
        iteration decreases the objective by less than this share.
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
    random_state : int, RandomState or None, default=None
        Seed of the random starts of "dc"; None means 0.
    theta : int, default=1
        Number of leading eigenvalues that the constraint omits, at least zero. If a
        kernel has rank theta or less, its tail sum is zero; the fit then warns and uses
        1e-6 of its trace in place of the tail sum.

    Attributes
    ----------
    C_ : float
        Value of C in the units of y.
    epsilon_ : float
        Epsilon in the units of y; only for "epsilon_insensitive" and "huber".
    kernel_weights_ : ndarray of shape (n_kernels,)
        Nonnegative weights mu of the kernels, which are scaled to trace n.
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
        Feasible dual point of the (last) convex problem.
    intercept_ : ndarray of shape (1,)
        Intercept.
    unpenalized_coef_, unpenalized_names_ : ndarray, list of str
        Coefficients and names of `multikernel.kernels.Unpenalized` columns, if any.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that have a nonzero value in ``dual_coef_``.
    objective_ : float
        Penalty plus C times the sum of the losses.
    duality_gap_ : float
        Relative duality gap of "conv"; nan for "dc".
    subproblem_gap_ : float
        Relative duality gap of the last convex problem; only for "dc".
    start_objectives_ : ndarray of shape (n_starts,)
        Objective reached from each start, ascending; only for "dc".
    tail_sums_ : ndarray of shape (n_kernels, min(theta, n_samples) + 1)
        [m, k]: sum of all but the k largest eigenvalues of kernel m / n_samples.
    n_iter_ : int
        Number of outer iterations; for "dc", number of convex problems over all starts.
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
    LocalRademacherMKLRegressorCV : Chooses C and theta by cross-validation.
    LpMKLRegressor : The same problem with traces in place of tail sums.
    multikernel.gram.TailNormalizer : The normalization of "conv", for every estimator.

    References
    ----------
    .. [1] Cortes, Kloft, Mohri (2013). Learning kernels using local Rademacher
       complexity. NIPS 26.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import LocalRademacherMKLRegressor
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 2])
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = LocalRademacherMKLRegressor(kernels, p=1.0, theta=4).fit(X, y)
    >>> int(np.argmax(model.kernel_weights_)), bool(model.duality_gap_ <= model.tol)
    (2, True)
    """

    C: float | None = None
    p: float = 2.0
    _: KW_ONLY
    theta: int = 1
    loss: str | Loss = "epsilon_insensitive"

    def _method(self) -> TailMethod:
        return tail_method(self, self.theta, self.C)
