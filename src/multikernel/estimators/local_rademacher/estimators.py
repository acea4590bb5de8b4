"""Estimators of MKL with local Rademacher complexity."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

from multikernel.estimators.local_rademacher.method import (
    TAIL_CHECKS,
    TailMethod,
    tail_method,
)
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.gram import Storage
from multikernel.gram.normalization import Steps
from multikernel.losses import Loss


@dataclass(eq=False, repr=False)
class TailClassification:
    """Parameters common to `LocalRademacherMKLClassifier` and its search."""

    _checks = TAIL_CHECKS

    kernels: Any = None
    _: KW_ONLY
    method: str = "conv"
    n_starts: int = 3
    loss: str | Loss = "hinge"
    solver: str = "auto"
    selection: str = "separate"
    normalize: Steps = None
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int | None = None
    class_weight: Any = None
    storage: Storage = "auto"
    max_bytes: int | None = None
    verbose: int = 0
    random_state: Any = None


@dataclass(eq=False, repr=False)
class TailRegression:
    """Parameters common to `LocalRademacherMKLRegressor` and its search."""

    _checks = TAIL_CHECKS

    kernels: Any = None
    _: KW_ONLY
    method: str = "conv"
    n_starts: int = 3
    loss: str | Loss = "epsilon_insensitive"
    epsilon: float | None = None
    solver: str = "auto"
    normalize: Steps = None
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int | None = None
    storage: Storage = "auto"
    max_bytes: int | None = None
    verbose: int = 0
    random_state: Any = None


@dataclass(eq=False, repr=False)
class LocalRademacherMKLClassifier(TailClassification, ClassifierMKL):
    r"""Classification by local Rademacher complexity: conv and dc [1]_.

    The fit minimizes, over functions of the kernels' spaces, an intercept and kernel
    weights :math:`\mu \ge 0`,

    .. math::
        \frac12 \sum_m \frac{\|f_m\|^2}{\mu_m} + C \sum_i s_i\,
        \ell\Bigl(y_i, \sum_m f_m(x_i) + b\Bigr)

    with sample weights s. The constraint on the weights does not contain the traces of
    the kernels but the tail sums of their spectra: like the local Rademacher
    complexity, it does not count the leading theta eigenvalues. Kernels are scaled to
    trace n. "conv" requires

    .. math::
        \Bigl\| \Bigl( \mu_m \, \tfrac1n \sum_{j > \theta} \lambda_j(K_m)
        \Bigr)_m \Bigr\|_p \le 1,

    which is lp-norm learning with kernels divided by their tails. This problem is
    convex, and every fit ends with a duality gap. "dc" bounds the tail of the combined
    kernel, :math:`\frac1n \sum_{j > \theta} \lambda_j(\sum_m \mu_m K_m) \le 1` where p
    is 1 (`TailDC` has the norm for other p). This problem is not convex. "dc" solves a
    sequence of convex problems, each with its own gap, and each decreases
    ``objective_``. The model is the best of `n_starts` stationary points and has no
    certificate. With ``theta=0`` both are `LpMKLClassifier` with ``normalize="trace"``.

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
    p : float, default=2.0
        Order of the norm that constrains the kernel weights, at least 1; it may be
        infinite, except for "dc". With p = 1 most weights are zero.
    method : {"conv", "dc"}, default="conv"
        "conv" bounds the tail sum of each kernel, a convex problem; "dc" bounds the
        tail sum of the weighted kernel, a difference of convex functions.
    n_starts : int, default=3
        Number of starts of "dc": the first starts from the result of "conv", the second
        from equal weights, the others from random weights.
    loss : {"hinge", "log_loss", "squared_error"} or Loss, default="hinge"
        Loss by name or as an object. "squared_error" uses targets of -1 and 1.
        `predict_proba` requires "log_loss".
    solver : str, default="auto"
        "newton", "cutting_plane" or "alternating"; for p = 1 also "squared_form", and
        for comparison "silp", "simple" and "hessian". All reach the same optimum.
        "auto" chooses by the numbers of kernels and samples; ``fit_info_`` stores the
        choice.
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
    normalize : str, Normalizer, list of str and Normalizer, or None, default=None
        Normalization of the kernels before their spectra are computed: "center",
        "cosine" or a list that is applied in order. Kernels are then scaled to trace n,
        so a scale such as "variance" has no effect.
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
    tol : float, default=1e-3
        Relative duality gap at which a convex problem stops. "dc" also stops when an
        iteration decreases the objective by less than this share.
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
        Seed of the vectors that test precomputed matrices for symmetry and of the
        random starts of "dc". All other steps are deterministic.
    theta : int, default=1
        Number of leading eigenvalues that the constraint does not count, at least zero.
        It should be far below the number of samples. A kernel of rank theta or less has
        no tail; the fit warns, names it, and uses 1e-6 of its trace as its tail.

    Attributes
    ----------
    C_ : float or ndarray of shape (n_outputs,)
        C in the units of the targets; one for each target if the selection is separate.
        A search stores the chosen C.
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Nonnegative weights mu of the kernels, which are scaled to trace n, on the
        boundary of the constraint. More than two classes have one row per class, unless
        the selection is shared. A shared selection has one row and one gap, but dual
        points and intercepts for each class. Labels of multilabel targets count as
        classes.
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
        Feasible dual point of the (last) convex problem; from -C to C for the hinge and
        the logistic loss, zero at samples of weight zero.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples with a nonzero coefficient.
    objective_ : float or ndarray of shape (n_classes,)
        Objective of the model: the penalty plus C times the sum of the losses.
    duality_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap of "conv"; nan for "dc".
    subproblem_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap of the last convex problem; only for "dc".
    start_objectives_ : ndarray of shape (n_starts,) or (n_classes, n_starts)
        Objective reached from each start, ascending; only for "dc".
    tail_sums_ : ndarray of shape (n_kernels, min(theta, n_samples) + 1)
        Tail sums of each kernel beyond 0, 1, ..., theta eigenvalues, divided by n.
    n_iter_ : int or ndarray of shape (n_classes,)
        Number of outer iterations; for "dc", number of convex problems over all starts.
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
    >>> from multikernel.estimators import LocalRademacherMKLClassifier
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> conv = LocalRademacherMKLClassifier(kernels, p=1.0, theta=4).fit(X, y)
    >>> int(np.argmax(conv.kernel_weights_)), bool(conv.duality_gap_ <= conv.tol)
    (2, True)
    >>> dc = LocalRademacherMKLClassifier(kernels, p=1.0, theta=4, method="dc")
    >>> dc = dc.fit(X, y)
    >>> int(np.argmax(dc.kernel_weights_)), bool(dc.subproblem_gap_ <= dc.tol)
    (2, True)
    """

    C: float | None = None
    p: float = 2.0
    _: KW_ONLY
    theta: int = 1

    def _method(self) -> TailMethod:
        return tail_method(self, self.theta, self.C)


@dataclass(eq=False, repr=False)
class LocalRademacherMKLRegressor(TailRegression, RegressorMKL):
    r"""Regression by local Rademacher complexity: conv and dc [1]_.

    The fit minimizes, over functions of the kernels' spaces, an intercept and kernel
    weights :math:`\mu \ge 0`,

    .. math::
        \frac12 \sum_m \frac{\|f_m\|^2}{\mu_m} + C \sum_i s_i\,
        \ell\Bigl(y_i, \sum_m f_m(x_i) + b\Bigr)

    with sample weights s. The constraint on the weights does not contain the traces of
    the kernels but the tail sums of their spectra: like the local Rademacher
    complexity, it does not count the leading theta eigenvalues. Kernels are scaled to
    trace n. "conv" requires

    .. math::
        \Bigl\| \Bigl( \mu_m \, \tfrac1n \sum_{j > \theta} \lambda_j(K_m)
        \Bigr)_m \Bigr\|_p \le 1,

    which is lp-norm learning with kernels divided by their tails. This problem is
    convex, and every fit ends with a duality gap. "dc" bounds the tail of the combined
    kernel, :math:`\frac1n \sum_{j > \theta} \lambda_j(\sum_m \mu_m K_m) \le 1` where p
    is 1 (`TailDC` has the norm for other p). This problem is not convex. "dc" solves a
    sequence of convex problems, each with its own gap, and each decreases
    ``objective_``. The model is the best of `n_starts` stationary points and has no
    certificate. With ``theta=0`` both are `LpMKLRegressor` with ``normalize="trace"``.

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
    p : float, default=2.0
        Order of the norm that constrains the kernel weights, at least 1; it may be
        infinite, except for "dc". With p = 1 most weights are zero.
    method : {"conv", "dc"}, default="conv"
        "conv" bounds the tail sum of each kernel, a convex problem; "dc" bounds the
        tail sum of the weighted kernel, a difference of convex functions.
    n_starts : int, default=3
        Number of starts of "dc": the first starts from the result of "conv", the second
        from equal weights, the others from random weights.
    loss : str or Loss, default="epsilon_insensitive"
        Loss by name or as an object. "squared_error" is half the squared error,
        "epsilon_insensitive" the absolute error beyond ``epsilon``, "quantile" the
        pinball loss, "huber" quadratic near zero and linear beyond ``epsilon``.
        "poisson" (counts) and "gamma" (positive amounts) are half the deviance with a
        log link.
    epsilon : float or None, default=None
        Error in units of the standard deviation of y. "epsilon_insensitive" ignores
        smaller errors (None means 0.1); "huber" is linear beyond it (None means 0.7).
    solver : str, default="auto"
        "newton", "cutting_plane" or "alternating"; for p = 1 also "squared_form", and
        for comparison "silp", "simple" and "hessian". All reach the same optimum.
        "auto" chooses by the numbers of kernels and samples; ``fit_info_`` stores the
        choice.
    normalize : str, Normalizer, list of str and Normalizer, or None, default=None
        Normalization of the kernels before their spectra are computed: "center",
        "cosine" or a list that is applied in order. Kernels are then scaled to trace n,
        so a scale such as "variance" has no effect.
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
    tol : float, default=1e-3
        Relative duality gap at which a convex problem stops. "dc" also stops when an
        iteration decreases the objective by less than this share.
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
        Seed of the vectors that test precomputed matrices for symmetry and of the
        random starts of "dc". All other steps are deterministic.
    theta : int, default=1
        Number of leading eigenvalues that the constraint does not count, at least zero.
        It should be far below the number of samples. A kernel of rank theta or less has
        no tail; the fit warns, names it, and uses 1e-6 of its trace as its tail.

    Attributes
    ----------
    C_ : float or ndarray of shape (n_outputs,)
        C in the units of the targets; one for each target if the selection is separate.
        A search stores the chosen C.
    epsilon_ : float or ndarray of shape (n_outputs,)
        Epsilon in the units of y; only for "epsilon_insensitive" and "huber".
    kernel_weights_ : ndarray of shape (n_kernels,)
        Nonnegative weights mu of the kernels, which are scaled to trace n, on the
        boundary of the constraint.
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
        Feasible dual point of the (last) convex problem; from -C to C for the
        epsilon-insensitive loss, zero at samples of weight zero.
    intercept_ : ndarray of shape (1,)
        Intercept.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples with a nonzero coefficient.
    objective_ : float
        Objective of the model: the penalty plus C times the sum of the losses.
    duality_gap_ : float
        Relative duality gap of "conv"; nan for "dc".
    subproblem_gap_ : float
        Relative duality gap of the last convex problem; only for "dc".
    start_objectives_ : ndarray of shape (n_starts,)
        Objective reached from each start, ascending; only for "dc".
    tail_sums_ : ndarray of shape (n_kernels, min(theta, n_samples) + 1)
        Tail sums of each kernel beyond 0, 1, ..., theta eigenvalues, divided by n.
    n_iter_ : int
        Number of outer iterations; for "dc", number of convex problems over all starts.
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
    >>> from multikernel.estimators import LocalRademacherMKLRegressor
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 2])
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> conv = LocalRademacherMKLRegressor(kernels, p=1.0, theta=4).fit(X, y)
    >>> int(np.argmax(conv.kernel_weights_)), bool(conv.duality_gap_ <= conv.tol)
    (2, True)
    >>> dc = LocalRademacherMKLRegressor(kernels, p=1.0, theta=4, method="dc")
    >>> dc = dc.fit(X, y)
    >>> int(np.argmax(dc.kernel_weights_)), bool(dc.subproblem_gap_ <= dc.tol)
    (2, True)
    """

    C: float | None = None
    p: float = 2.0
    _: KW_ONLY
    theta: int = 1

    def _method(self) -> TailMethod:
        return tail_method(self, self.theta, self.C)
