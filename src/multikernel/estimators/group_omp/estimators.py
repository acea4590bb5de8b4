"""Greedy selection of kernels by MKL-GOMP."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

from multikernel.estimators.group_omp import prefixes
from multikernel.estimators.group_omp.method import (
    GREEDY_CHECKS,
    STANDARD_RIDGE,
    GreedyMethod,
    greedy_method,
)
from multikernel.estimators.parameters import NORMALIZE
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.gram import Storage
from multikernel.gram.normalization import Steps
from multikernel.losses import Loss


@dataclass(eq=False, repr=False)
class GreedyClassification:
    """Parameters and staged predictions of `GroupOMPClassifier` and its search."""

    _checks = GREEDY_CHECKS

    kernels: Any = None
    _: KW_ONLY
    max_kernels: int | None = None
    tol: float = 1e-3
    loss: str | Loss = "squared_error"
    subsample: float | int = 1.0
    normalize: Steps = NORMALIZE
    penalty_weights: Any = None
    fit_intercept: bool = True
    class_weight: Any = None
    storage: Storage = "auto"
    max_bytes: int | None = None
    verbose: int = 0
    random_state: Any = None

    prefix = prefixes.prefix
    staged_decision_function = prefixes.staged_decision_function
    staged_predict = prefixes.staged_class_predictions
    staged_predict_proba = prefixes.staged_predict_proba


@dataclass(eq=False, repr=False)
class GreedyRegression:
    """Parameters and staged predictions of `GroupOMPRegressor` and its search."""

    _checks = GREEDY_CHECKS

    kernels: Any = None
    _: KW_ONLY
    max_kernels: int | None = None
    tol: float = 1e-3
    loss: str | Loss = "squared_error"
    epsilon: float | None = None
    subsample: float | int = 1.0
    normalize: Steps = NORMALIZE
    penalty_weights: Any = None
    fit_intercept: bool = True
    storage: Storage = "auto"
    max_bytes: int | None = None
    verbose: int = 0
    random_state: Any = None

    prefix = prefixes.prefix
    staged_predict = prefixes.staged_target_predictions
    __sklearn_tags__ = prefixes.multi_output_tags


@dataclass(eq=False, repr=False)
class GroupOMPClassifier(GreedyClassification, ClassifierMKL):
    r"""Classification on greedily selected kernels, by MKL-GOMP [1]_.

    Each step adds the kernel that best fits the residual of the current model. The
    model is then fitted again on the selected kernels G,

    .. math::
        \min_{f, b} \frac{1}{\sum_i s_i} \sum_i s_i\, \ell\Bigl(y_i,
        \sum_{m \in G} f_m(x_i) + b\Bigr)
        + \frac{\alpha}{2} \sum_{m \in G} \|f_m\|^2

    with sample weights s. Targets are -1 and 1. More than two classes have one target
    column per class and share one selection: the improvement of a kernel is summed over
    the classes.

    ``max_kernels`` sets the number of kernels exactly. Each prefix of the selection is
    a model: `prefix` returns one, `staged_predict` predicts with all of them.

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
    alpha : float, default=0.01
        Strength of the ridge penalty, positive, relative to the mean loss: the lambda
        of [1]_.
    max_kernels : int or None, default=None
        Number of kernels to select. With None, only `tol` stops the selection.
    tol : float, default=1e-3
        Precision of the selection, not a duality gap: stop when no kernel improves the
        fit by more than this share of the largest possible improvement over the
        constant model. For the squared loss that is half the mean square of the
        centered target.
    loss : {"squared_error", "log_loss", "hinge"} or Loss, default="squared_error"
        Loss, by name or as an object; targets of the squared error are -1 and 1. Only
        "log_loss" has `predict_proba`.
    subsample : float or int, default=1.0
        Random part of the dictionary that each step considers: a fraction (float) or a
        number of kernels (int).
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
    selection_order_ : ndarray of shape (n_selected,)
        Kernels in the order of selection. If kernels tie, the first one in the
        dictionary is selected.
    improvements_ : ndarray of shape (n_selected,)
        Predicted improvement of each kernel when it was selected, in the scale of
        ``objective_`` (half the scale of [1]_). For the squared loss the objective
        decreases by at least this amount.
    kernel_weights_ : ndarray of shape (n_kernels,)
        1 for each selected kernel, 0 for the others; the model's kernel is the sum of
        the selected kernels.
    block_norms_ : ndarray of shape (n_kernels,) or (n_outputs, n_kernels)
        Norm of each function f_m in the space of its normalized kernel.
    variance_shares_ : ndarray of shape (n_kernels,) or (n_outputs, n_kernels)
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
    active_kernels_ : ndarray of shape (n_selected,)
        Indices of the selected kernels, ascending.
    kernel_names_ : list of str
        Names of all kernels.
    dual_coef_ : ndarray of shape (n_samples,) or (n_classes, n_samples)
        Dual variable a of the last refit: minus the gradient of the losses with respect
        to the decision values. Each selected f_m is K_m a divided by alpha times the
        sum of the sample weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples with a nonzero coefficient.
    objective_ : float
        Mean loss, summed over the classes, plus the penalty.
    duality_gap_ : float
        Always nan: each refit is exact, but a greedy selection has no certificate; see
        `multikernel.diagnostics.recovery_coefficient`.
    n_iter_ : int
        Number of selected kernels.
    history_ : structured ndarray of shape (n_selected + 1,)
        One record per model, beginning with the constant model, with the fields output
        (always 0), iteration, seconds, objective, duality_gap (nan), n_active, passes,
        inner_steps.
    status_ : str
        Reason why the selection stopped: "selected" if it reached ``max_kernels``,
        "precise" if no further kernel improves the fit by more than ``tol``.
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
    GroupOMPClassifierCV : Chooses the number of kernels and alpha.
    multikernel.solvers.GroupOMP : The algorithm.

    References
    ----------
    .. [1] Sindhwani, Lozano (2011). Non-parametric group orthogonal matching pursuit
       for sparse learning with multiple kernels. NIPS 24.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import GroupOMPClassifier
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((90, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = GroupOMPClassifier(kernels, max_kernels=2).fit(X, y)
    >>> model.kernel_names_[model.selection_order_[0]]
    'gaussian(sigma=1)[x2]'
    >>> [round(float(np.mean(labels == y)), 2) for labels in model.staged_predict(X)]
    [0.52, 0.99, 1.0]
    >>> model.prefix(1).active_kernels_
    array([2])
    """

    alpha: float = STANDARD_RIDGE

    def _method(self) -> GreedyMethod:
        return greedy_method(self, self.alpha)


@dataclass(eq=False, repr=False)
class GroupOMPRegressor(GreedyRegression, RegressorMKL):
    r"""Regression on greedily selected kernels, by MKL-GOMP [1]_.

    Each step adds the kernel that best fits the residual of the current model. The
    model is then fitted again on the selected kernels G,

    .. math::
        \min_{f, b} \frac{1}{\sum_i s_i} \sum_i s_i\, \ell\Bigl(y_i,
        \sum_{m \in G} f_m(x_i) + b\Bigr)
        + \frac{\alpha}{2} \sum_{m \in G} \|f_m\|^2

    with sample weights s. Several targets share one selection: losses, penalties and
    improvements are summed over the targets, so scale the targets to comparable units.

    ``max_kernels`` sets the number of kernels exactly. Each prefix of the selection is
    a model: `prefix` returns one, `staged_predict` predicts with all of them.

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
    alpha : float, default=0.01
        Strength of the ridge penalty, positive, relative to the mean loss: the lambda
        of [1]_ for targets with a standard deviation of one. For "epsilon_insensitive"
        and "quantile" the fit divides it by the standard deviation of y.
    max_kernels : int or None, default=None
        Number of kernels to select. With None, only `tol` stops the selection.
    tol : float, default=1e-2
        Precision of the selection, not a duality gap: stop when no kernel improves the
        fit by more than this share of the largest possible improvement over the
        constant model. For the squared loss that is half the variance of the target.
        Regression targets are noisier than labels: with the 1e-3 of classifiers the
        selection fits noise (on the diabetes data R^2 falls from 0.48 to 0.40).
    loss : str or Loss, default="squared_error"
        Loss by name or as an object. "squared_error" is half the squared error,
        "epsilon_insensitive" the absolute error beyond ``epsilon``, "quantile" the
        pinball loss, "huber" quadratic near zero and linear beyond ``epsilon``.
        "poisson" (counts) and "gamma" (positive amounts) are half the deviance with a
        log link.
    epsilon : float or None, default=None
        Error in units of the standard deviation of y. "epsilon_insensitive" ignores
        smaller errors (None means 0.1); "huber" is linear beyond it (None means 0.7).
    subsample : float or int, default=1.0
        Random part of the dictionary that each step considers: a fraction (float) or a
        number of kernels (int).
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
    selection_order_ : ndarray of shape (n_selected,)
        Kernels in the order of selection. If kernels tie, the first one in the
        dictionary is selected.
    improvements_ : ndarray of shape (n_selected,)
        Predicted improvement of each kernel when it was selected, in the scale of
        ``objective_`` (half the scale of [1]_). For the squared loss the objective
        decreases by at least this amount.
    kernel_weights_ : ndarray of shape (n_kernels,)
        1 for each selected kernel, 0 for the others; the model's kernel is the sum of
        the selected kernels.
    block_norms_ : ndarray of shape (n_kernels,) or (n_outputs, n_kernels)
        Norm of each function f_m in the space of its normalized kernel.
    variance_shares_ : ndarray of shape (n_kernels,) or (n_outputs, n_kernels)
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
    active_kernels_ : ndarray of shape (n_selected,)
        Indices of the selected kernels, ascending.
    kernel_names_ : list of str
        Names of all kernels.
    dual_coef_ : ndarray of shape (n_samples,) or (n_outputs, n_samples)
        Dual variable a of the last refit: minus the gradient of the losses with respect
        to the predictions. Each selected f_m is K_m a divided by alpha times the sum of
        the sample weights.
    intercept_ : ndarray of shape (n_outputs,)
        The intercept.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples with a nonzero coefficient.
    objective_ : float
        Mean loss, summed over the targets, plus the penalty.
    duality_gap_ : float
        Always nan: each refit is exact, but a greedy selection has no certificate; see
        `multikernel.diagnostics.recovery_coefficient`.
    n_iter_ : int
        Number of selected kernels.
    history_ : structured ndarray of shape (n_selected + 1,)
        One record per model, beginning with the constant model, with the fields output
        (always 0), iteration, seconds, objective, duality_gap (nan), n_active, passes,
        inner_steps.
    status_ : str
        Reason why the selection stopped: "selected" if it reached ``max_kernels``,
        "precise" if no further kernel improves the fit by more than ``tol``.
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
    GroupOMPRegressorCV : Chooses the number of kernels and alpha.
    multikernel.solvers.GroupOMP : The algorithm.

    References
    ----------
    .. [1] Sindhwani, Lozano (2011). Non-parametric group orthogonal matching pursuit
       for sparse learning with multiple kernels. NIPS 24.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import GroupOMPRegressor
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.column_stack([np.sin(2.0 * X[:, 1]), X[:, 1] + 0.5 * X[:, 3]])
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = GroupOMPRegressor(kernels, max_kernels=2).fit(X, y)
    >>> model.selection_order_
    array([1, 3])
    >>> model.predict(X).shape, model.prefix(1).active_kernels_
    ((60, 2), array([1]))
    """

    alpha: float = STANDARD_RIDGE
    _: KW_ONLY
    tol: float = 1e-2

    def _method(self) -> GreedyMethod:
        return greedy_method(self, self.alpha)
