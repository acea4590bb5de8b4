"""Sparse multiple kernel learning by SpicyMKL."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from multikernel._validation import Check
from multikernel.estimators.parameters import NORMALIZE
from multikernel.estimators.scale import CLASS_ALPHA, TARGET_ALPHA
from multikernel.estimators.spicy.method import (
    NULL_CHECKS,
    SPARSE_CHECKS,
    SparseMethod,
    sparse_method,
)
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.gram import Storage
from multikernel.gram.normalization import Steps
from multikernel.losses import Loss


@dataclass(eq=False, repr=False)
class SparseClassification:
    """Parameters common to `SpicyMKLClassifier` and its search."""

    _checks: ClassVar[Mapping[str, Check]] = SPARSE_CHECKS

    kernels: Any = None
    _: KW_ONLY
    loss: str | Loss = "log_loss"
    l1_ratio: float = 1.0
    selection: str = "separate"
    normalize: Steps = NORMALIZE
    penalty_weights: Any = None
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int = 100
    class_weight: Any = None
    storage: Storage = "auto"
    max_bytes: int | None = None
    verbose: int = 0
    random_state: Any = None


@dataclass(eq=False, repr=False)
class SparseRegression:
    """Parameters common to `SpicyMKLRegressor` and its search."""

    _checks: ClassVar[Mapping[str, Check]] = SPARSE_CHECKS

    kernels: Any = None
    _: KW_ONLY
    loss: str | Loss = "squared_error"
    epsilon: float | None = None
    quantile: float = 0.5
    l1_ratio: float = 1.0
    selection: str = "shared"
    normalize: Steps = NORMALIZE
    penalty_weights: Any = None
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int = 100
    storage: Storage = "auto"
    max_bytes: int | None = None
    verbose: int = 0
    random_state: Any = None


@dataclass(eq=False, repr=False)
class SpicyMKLClassifier(SparseClassification, ClassifierMKL):
    r"""Sparse multiple kernel classification, solved by SpicyMKL.

    The fit minimizes, over functions of the kernels' spaces and an intercept,

    .. math::
        \frac{1}{\sum_i s_i} \sum_i s_i\, \ell\Bigl(y_i,
        \sum_m f_m(x_i) + b\Bigr) + \alpha \sum_m \Bigl(r \|f_m\|
        + \frac{1 - r}{2} \|f_m\|^2\Bigr)

    with sample weights s and ``r = l1_ratio``. Most functions f_m are exactly zero:
    the model consists of the remaining kernels. Every fit ends with a duality gap, a
    bound on the distance of ``objective_`` to the optimum. SpicyMKL is the name of
    [1]_: its augmented Lagrangian, on a working set of kernels, solves part of the
    fits; Newton's method in the kernel weights solves the others. ``fit_info_`` stores
    which algorithm ran; `multikernel.solvers.SpicyMKL` says when each runs.

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
    alpha : float, "auto", "null" or NullAlpha, default="auto"
        Strength of the penalty, positive. "null" computes the strength at which some
        kernel enters with probability 0.05 if y is noise, see `NullAlpha`. "auto" is
        0.01 for most tables. If no default kernel of a wide table is on a single
        column, it is 0.003; if there are thousands of pairs of columns, it is at least
        the value of "null". ``alpha_`` stores the value. No kernel enters at
        ``alpha_max`` or above, which is at most 1/2 for the logistic loss and kernels
        of unit variance. The C of [1]_ is n_samples times alpha for the same kernels.
    loss : str or Loss, default="log_loss"
        "log_loss", "hinge", "squared_hinge", "squared_error" (targets of -1 and 1) or a
        loss object. `predict_proba` requires "log_loss".
    l1_ratio : float, default=1.0
        Share of the block l1 norm in the penalty, in [0, 1]. Below 1, kernels that
        carry the same information enter together. A regressor applies it to targets
        scaled to a standard deviation of one.
    selection : {"shared", "separate"}, default="separate"
        Selection of kernels for more than two classes. "separate" fits each class
        against the rest, with its own kernels and weights. "shared" selects one set of
        kernels for all classes: "log_loss" becomes the multinomial loss, "hinge" the
        loss of Crammer and Singer, other losses are summed over the classes. Choose
        "shared" for one selection to report and for jointly fitted probabilities;
        choose "separate" if classes depend on different kernels. With default kernels
        and strength "shared" had the higher accuracy on 12 of 17 data sets, by up to
        0.025, and lost 0.026 where classes depend on different columns. Each column of
        multilabel targets counts as a class. Sharing changes the loss of a classifier,
        but not of a regressor, so the defaults differ.
    normalize : str, Normalizer, list of str and Normalizer, or None, default="variance"
        Normalization of the kernels. "variance" gives unit variance in feature space,
        "trace" a mean diagonal of one, "cosine" cosine similarity; "center" only
        centers. An object such as `multikernel.gram.TailNormalizer` is accepted too. A
        list is applied in order. The factors are computed on the training samples.
    penalty_weights : dict, sequence of float or None, default=None
        Penalty weights w_m > 0: the penalty contains w_m ‖f_m‖ in place of ‖f_m‖, so a
        kernel of weight 2 must explain twice as much to enter. A sequence has one
        number for each kernel. A dict maps names of kernels or views to weights; a
        kernel's name takes precedence over its view's, and kernels without an entry
        have weight 1. The fit divides the normalized kernels by w_m²; ``block_norms_``
        and ``kernel_weights_`` refer to these scaled kernels, ``variance_shares_`` does
        not depend on the scale.
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int, default=100
        Maximum number of outer iterations; each passes over all kernels.
    class_weight : dict, "balanced" or None, default=None
        Factor of the sample weights for each class label; "balanced" gives all classes
        the same total weight.
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
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Nonnegative kernel weights with sum one; all zero if no kernel entered. More
        than two classes have one row per class, unless the selection is shared. A
        shared selection has one row and one gap, but dual points and intercepts for
        each class. Labels of multilabel targets count as classes.
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
        Feasible dual point a that proves ``duality_gap_``, zero at samples of weight
        zero. At the optimum f_m is a multiple of K_m a.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples with a nonzero coefficient.
    objective_ : float or ndarray of shape (n_classes,)
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
        Class labels.
    n_features_in_ : int
        Number of columns of X; for precomputed kernels, number of training samples.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names; only if X was a data frame.

    See Also
    --------
    SpicyMKLClassifierCV : Chooses alpha by cross-validation along a path.
    multikernel.solvers.SpicyMKL : The algorithm.

    References
    ----------
    .. [1] Suzuki, Tomioka (2009). SpicyMKL. METR 2009-45, University of Tokyo.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import SpicyMKLClassifier
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = SpicyMKLClassifier(kernels, alpha=0.05).fit(X, y)
    >>> [model.kernel_names_[m] for m in model.active_kernels_]
    ['gaussian(sigma=1)[x2]']
    >>> bool(model.duality_gap_ <= model.tol)
    True
    """

    _checks = NULL_CHECKS

    alpha: Any = "auto"

    def _method(self) -> SparseMethod:
        return sparse_method(self, self.alpha, CLASS_ALPHA, partitions=True)


@dataclass(eq=False, repr=False)
class SpicyMKLRegressor(SparseRegression, RegressorMKL):
    r"""Sparse multiple kernel regression, solved by SpicyMKL.

    The fit minimizes, over functions of the kernels' spaces and an intercept,

    .. math::
        \frac{1}{\sum_i s_i} \sum_i s_i\, \ell\Bigl(y_i,
        \sum_m f_m(x_i) + b\Bigr) + \alpha \sum_m \Bigl(r \|f_m\|
        + \frac{1 - r}{2} \|f_m\|^2\Bigr)

    with sample weights s and ``r = l1_ratio``. Most functions f_m are exactly zero:
    the model consists of the remaining kernels. Every fit ends with a duality gap, a
    bound on the distance of ``objective_`` to the optimum. SpicyMKL is the name of
    [1]_: its augmented Lagrangian, on a working set of kernels, solves part of the
    fits; Newton's method in the kernel weights solves the others. ``fit_info_`` stores
    which algorithm ran; `multikernel.solvers.SpicyMKL` says when each runs.

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
    alpha : float, "auto", "null" or NullAlpha, default="auto"
        Strength of the penalty, positive, for targets with a standard deviation of one:
        for "squared_error" and "huber" the fit multiplies it by the standard deviation
        of y. "null" computes the strength at which some kernel enters with probability
        0.05 if y is noise, see `NullAlpha`. "auto" is 0.02, or the value of "null" if
        that is larger and the default ``kernels`` have thousands of pairs of columns.
        With the squared error and kernels of mean diagonal one, no kernel enters at 1
        or above.
    loss : str or Loss, default="squared_error"
        Loss by name or as an object. "squared_error" is half the squared error,
        "epsilon_insensitive" the absolute error beyond ``epsilon``, "quantile" the
        pinball loss, "huber" quadratic near zero and linear beyond ``epsilon``.
        "poisson" (counts) and "gamma" (positive amounts) are half the deviance with a
        log link.
    epsilon : float or None, default=None
        Error in units of the standard deviation of y. "epsilon_insensitive" ignores
        smaller errors (None means 0.1); "huber" is linear beyond it (None means 0.7).
    quantile : float, default=0.5
        Level of the quantile, between 0 and 1; only for "quantile".
    l1_ratio : float, default=1.0
        Share of the block l1 norm in the penalty, in [0, 1]. Below 1, kernels that
        carry the same information enter together. A regressor applies it to targets
        scaled to a standard deviation of one.
    selection : {"shared", "separate"}, default="shared"
        Selection of kernels for several targets. "shared" selects one set of kernels
        for all targets, by the joint norm of a kernel's functions. "separate" fits each
        target with its own kernels and weights. If targets depend on the same kernels,
        "shared" finds them with fewer samples. With one target both are the same. The
        default of classifiers is "separate" because sharing changes their loss.
    normalize : str, Normalizer, list of str and Normalizer, or None, default="variance"
        Normalization of the kernels. "variance" gives unit variance in feature space,
        "trace" a mean diagonal of one, "cosine" cosine similarity; "center" only
        centers. An object such as `multikernel.gram.TailNormalizer` is accepted too. A
        list is applied in order. The factors are computed on the training samples.
    penalty_weights : dict, sequence of float or None, default=None
        Penalty weights w_m > 0: the penalty contains w_m ‖f_m‖ in place of ‖f_m‖, so a
        kernel of weight 2 must explain twice as much to enter. A sequence has one
        number for each kernel. A dict maps names of kernels or views to weights; a
        kernel's name takes precedence over its view's, and kernels without an entry
        have weight 1. The fit divides the normalized kernels by w_m²; ``block_norms_``
        and ``kernel_weights_`` refer to these scaled kernels, ``variance_shares_`` does
        not depend on the scale.
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
    epsilon_ : float or ndarray of shape (n_outputs,)
        Epsilon in the units of y; only for "epsilon_insensitive" and "huber".
    l1_ratio_ : float or ndarray of shape (n_outputs,)
        Value of ``l1_ratio`` that corresponds to ``alpha_`` in the units of the
        targets; only if ``l1_ratio`` is below 1.
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_targets, n_kernels)
        Nonnegative kernel weights with sum one; all zero if no kernel entered.
        With separate selections each target has its own row, objective, gap and number
        of iterations.
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
    dual_coef_ : ndarray of shape (n_samples,) or (n_targets, n_samples)
        Feasible dual point a that proves ``duality_gap_``, zero at samples of weight
        zero. At the optimum f_m is a multiple of K_m a.
    intercept_ : ndarray of shape (n_targets,)
        Intercept of each target.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples with a nonzero coefficient.
    objective_ : float or ndarray of shape (n_targets,)
        Mean loss plus alpha times the penalty.
    duality_gap_ : float or ndarray of shape (n_targets,)
        Relative duality gap of the model; the fit stops when it is at most ``tol``.
    n_iter_ : int or ndarray of shape (n_targets,)
        Number of outer iterations.
    history_ : structured ndarray of shape (n_lines,)
        One record per outer iteration with the fields output (index of the problem),
        iteration, seconds, objective, duality_gap, n_active, passes, inner_steps.
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
    SpicyMKLRegressorCV : Chooses alpha by cross-validation along a path.
    multikernel.solvers.SpicyMKL : The algorithm.

    References
    ----------
    .. [1] Suzuki, Tomioka (2009). SpicyMKL. METR 2009-45, University of Tokyo.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import SpicyMKLRegressor
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 1])
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = SpicyMKLRegressor(kernels, alpha=0.05).fit(X, y)
    >>> model.active_kernels_
    array([1])
    """

    _checks = NULL_CHECKS

    alpha: Any = "auto"

    def _method(self) -> SparseMethod:
        return sparse_method(self, self.alpha, TARGET_ALPHA, partitions=True)
