"""A kernel machine on a sum of kernels with fixed weights, a baseline."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

from multikernel.estimators.fixed_weights.method import weight_checks, weighted_method
from multikernel.estimators.method import Method
from multikernel.estimators.parameters import SUM_NORMALIZE
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.gram import Storage
from multikernel.gram.normalization import Steps
from multikernel.losses import Loss


@dataclass(eq=False, repr=False)
class WeightedClassification:
    """Parameters common to `FixedWeightsMKLClassifier` and its search."""

    kernels: Any = None
    _: KW_ONLY
    kernel_weights: Any = "uniform"
    weight_params: Mapping[str, Any] | None = None
    loss: str | Loss = "hinge"
    normalize: Steps = SUM_NORMALIZE
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int | None = None
    class_weight: Any = None
    storage: Storage = "auto"
    max_bytes: int | None = None
    verbose: int = 0
    random_state: Any = None


@dataclass(eq=False, repr=False)
class WeightedRegression:
    """Parameters common to `FixedWeightsMKLRegressor` and its search."""

    kernels: Any = None
    _: KW_ONLY
    kernel_weights: Any = "uniform"
    weight_params: Mapping[str, Any] | None = None
    loss: str | Loss = "epsilon_insensitive"
    epsilon: float | None = None
    normalize: Steps = SUM_NORMALIZE
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int | None = None
    storage: Storage = "auto"
    max_bytes: int | None = None
    verbose: int = 0
    random_state: Any = None


@dataclass(eq=False, repr=False)
class FixedWeightsMKLClassifier(WeightedClassification, ClassifierMKL):
    r"""Classification with a sum of kernels with fixed weights.

    The fit minimizes, over functions of the kernels' spaces and an intercept,

    .. math::
        \frac12 \sum_m \frac{\|f_m\|^2}{\theta_m} + C \sum_i s_i\,
        \ell\Bigl(y_i, \sum_m f_m(x_i) + b\Bigr)

    with sample weights s: for the hinge loss this is `sklearn.svm.SVC` with the
    weighted sum of the normalized kernels. The weights theta are equal, given, or
    computed by a rule from the kernels and targets alone [2]_, [3]_. Use this estimator
    as the baseline for learned weights. Equal weights are `LpMKLClassifier` with p =
    inf and the same ``normalize`` [1]_.

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
    C : float or None, default=None
        Factor of the sum of the losses, positive: the C of `sklearn.svm.SVC`. A larger
        C fits the training samples more closely. None means 2 (8 for "log_loss")
        divided by the variance of the combined kernel, so that one kernel of unit
        variance gets 2.
    kernel_weights : str, array-like or callable, default="uniform"
        Weights of the normalized kernels. "uniform" gives each kernel weight 1.
        "alignment" uses the centered alignment with the targets, see
        `multikernel.solvers.alignment_weights`; the weights sum to one. "easy", for
        classifiers, is the rule of EasyMKL, see `multikernel.solvers.easy_weights`; the
        weighted sum has a mean diagonal of one. "single", for searches, gives weight 1
        to the kernel with the best score. An array has one nonnegative weight for each
        kernel. A callable receives the kernels (a `multikernel.gram.GramStack`), the
        targets (-1 and 1 for classes) and the sample weights, and returns such an
        array. With more than two classes a rule is applied to each class against the
        rest.
    weight_params : dict or None, default=None
        Parameters of the rule: ``method`` ("independent", "joint" or "greedy") and
        ``max_kernels`` for "alignment", ``regularization`` for "easy", or keyword
        arguments of a callable.
    loss : {"hinge", "log_loss", "squared_error"} or Loss, default="hinge"
        Loss by name or as an object. "squared_error" uses targets of -1 and 1.
        `predict_proba` requires "log_loss".
    normalize : str, Normalizer, list of str and Normalizer, or None, default="trace"
        Normalization of the kernels. "trace" gives a mean diagonal of one, which the
        rules for weights expect; "variance" gives unit variance in feature space. The
        options of other estimators are accepted too. The factors are computed on the
        training samples.
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int or None, default=None
        Maximum number of outer iterations; None selects the default of the solver.
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
    C_ : float or ndarray of shape (n_outputs,)
        C in the units of the targets; one for each target if the selection is separate.
        A search stores the chosen C.
    machine_gap_ : float or ndarray of shape (n_outputs,)
        Relative duality gap of the problem with fixed weights; only for weights from a
        rule.
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Weights in use. "uniform" gives weight 1 to each kernel whose term is nonzero; a
        kernel that is zero on the training samples, or constant there beside an
        intercept, gets weight 0. More than two classes have one row per class.
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
    objective_ : float or ndarray of shape (n_classes,)
        Objective of the model: the penalty plus C times the sum of the losses.
    duality_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap of the problem with fixed weights; nan for weights from a
        rule, which are not proven to be optimal.
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
    >>> from multikernel.estimators import FixedWeightsMKLClassifier
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> FixedWeightsMKLClassifier(kernels).fit(X, y).kernel_weights_
    array([1., 1., 1., 1.])
    >>> model = FixedWeightsMKLClassifier(kernels, kernel_weights="alignment").fit(X, y)
    >>> int(np.argmax(model.kernel_weights_))
    2
    """

    _checks = weight_checks("uniform", "alignment", "easy")

    C: float | None = None

    def _method(self) -> Method:
        return weighted_method(self, self.C)


@dataclass(eq=False, repr=False)
class FixedWeightsMKLRegressor(WeightedRegression, RegressorMKL):
    r"""Regression with a sum of kernels with fixed weights.

    The fit minimizes, over functions of the kernels' spaces and an intercept,

    .. math::
        \frac12 \sum_m \frac{\|f_m\|^2}{\theta_m} + C \sum_i s_i\,
        \ell\Bigl(y_i, \sum_m f_m(x_i) + b\Bigr)

    with sample weights s: for the epsilon-insensitive loss this is `sklearn.svm.SVR`
    with the weighted sum of the normalized kernels. The weights theta are equal, given,
    or computed by a rule from the kernels and targets alone [2]_. Use this estimator as
    the baseline for learned weights. Equal weights are `LpMKLRegressor` with p = inf
    and the same ``normalize`` [1]_.

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
    C : float or None, default=None
        Factor of the sum of the losses, positive: the C of `sklearn.svm.SVR` for
        targets with a standard deviation of one. For "epsilon_insensitive" and
        "quantile" the fit multiplies C by the standard deviation of y. A larger C fits
        the training samples more closely. None means 2 divided by the variance of the
        combined kernel, so that one kernel of unit variance gets 2.
    kernel_weights : str, array-like or callable, default="uniform"
        Weights of the normalized kernels. "uniform" gives each kernel weight 1.
        "alignment" uses the centered alignment with the targets, see
        `multikernel.solvers.alignment_weights`; the weights sum to one. "easy", for
        classifiers, is the rule of EasyMKL, see `multikernel.solvers.easy_weights`; the
        weighted sum has a mean diagonal of one. "single", for searches, gives weight 1
        to the kernel with the best score. An array has one nonnegative weight for each
        kernel. A callable receives the kernels (a `multikernel.gram.GramStack`), the
        targets (-1 and 1 for classes) and the sample weights, and returns such an
        array. With more than two classes a rule is applied to each class against the
        rest.
    weight_params : dict or None, default=None
        Parameters of the rule: ``method`` ("independent", "joint" or "greedy") and
        ``max_kernels`` for "alignment", ``regularization`` for "easy", or keyword
        arguments of a callable.
    loss : str or Loss, default="epsilon_insensitive"
        Loss by name or as an object. "squared_error" is half the squared error,
        "epsilon_insensitive" the absolute error beyond ``epsilon``, "quantile" the
        pinball loss, "huber" quadratic near zero and linear beyond ``epsilon``.
        "poisson" (counts) and "gamma" (positive amounts) are half the deviance with a
        log link.
    epsilon : float or None, default=None
        Error in units of the standard deviation of y. "epsilon_insensitive" ignores
        smaller errors (None means 0.1); "huber" is linear beyond it (None means 0.7).
    normalize : str, Normalizer, list of str and Normalizer, or None, default="trace"
        Normalization of the kernels. "trace" gives a mean diagonal of one, which the
        rules for weights expect; "variance" gives unit variance in feature space. The
        options of other estimators are accepted too. The factors are computed on the
        training samples.
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int or None, default=None
        Maximum number of outer iterations; None selects the default of the solver.
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
    C_ : float or ndarray of shape (n_outputs,)
        C in the units of the targets; one for each target if the selection is separate.
        A search stores the chosen C.
    epsilon_ : float or ndarray of shape (n_outputs,)
        Epsilon in the units of y; only for "epsilon_insensitive" and "huber".
    machine_gap_ : float or ndarray of shape (n_outputs,)
        Relative duality gap of the problem with fixed weights; only for weights from a
        rule.
    kernel_weights_ : ndarray of shape (n_kernels,)
        Weights in use. "uniform" gives weight 1 to each kernel whose term is nonzero; a
        kernel that is zero on the training samples, or constant there beside an
        intercept, gets weight 0.
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
        Objective of the model: the penalty plus C times the sum of the losses.
    duality_gap_ : float
        Relative duality gap of the problem with fixed weights; nan for weights from a
        rule, which are not proven to be optimal.
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
    >>> from multikernel.estimators import FixedWeightsMKLRegressor
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 2])
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> FixedWeightsMKLRegressor(kernels).fit(X, y).kernel_weights_
    array([1., 1., 1., 1.])
    >>> model = FixedWeightsMKLRegressor(kernels, kernel_weights="alignment").fit(X, y)
    >>> int(np.argmax(model.kernel_weights_))
    2
    """

    _checks = weight_checks("uniform", "alignment")

    C: float | None = None

    def _method(self) -> Method:
        return weighted_method(self, self.C)
