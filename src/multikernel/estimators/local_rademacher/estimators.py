"""Multiple kernel learning by local Rademacher complexity."""

from typing import Any

from multikernel.estimators.fit.parameters import store
from multikernel.estimators.local_rademacher.base import LocalRademacherMKL
from multikernel.estimators.search.tasks import ClassifierMKL, RegressorMKL
from multikernel.gram import Storage
from multikernel.gram.normalization import Steps
from multikernel.losses import Loss


class LocalRademacherMKLClassifier(LocalRademacherMKL, ClassifierMKL):
    r"""Classification by local Rademacher complexity: conv and dc [1]_.

    Minimises, over functions of the kernels' spaces, an intercept and kernel weights
    :math:`\mu \ge 0`,

    .. math::
        \frac12 \sum_m \frac{\|f_m\|^2}{\mu_m} + C \sum_i s_i\,
        \ell\Bigl(y_i, \sum_m f_m(x_i) + b\Bigr)

    with sample weights s, where what bounds the weights is not the trace of kernels but
    the tail of their spectrum: the leading theta eigenvalues are free, as they are in
    the local Rademacher complexity. Kernels have the trace n beforehand. Then "conv"
    asks that

    .. math::
        \Bigl\| \Bigl( \mu_m \, \tfrac1n \sum_{j > \theta} \lambda_j(K_m)
        \Bigr)_m \Bigr\|_p \le 1,

    which is lp-norm learning with kernels divided by their tails. It is convex, and
    every fit ends with a duality gap. "dc" bounds the tail of the combined kernel,
    :math:`\frac1n \sum_{j > \theta} \lambda_j(\sum_m \mu_m K_m) \le 1` where p is 1
    (`TailDC` has the norm for other p). That is not convex: convex problems are solved
    in turn, each with its gap, ``objective_`` falls in each of them, and the best of
    `n_starts` stationary points is kept. It has no certificate. With ``theta=0`` both
    are `LpMKLClassifier` with ``normalize="trace"``.

    Parameters
    ----------
    kernels : Kernel, list, dict, KernelDictionary, "precomputed" or None, default=None
        The candidates. None stands for `median_dictionary`: a linear kernel, and
        Gaussians of a few widths, which the samples decide, on all columns together and
        on each alone; it expects standardised columns; on strings for
        `sequence_dictionary`. A mapping from names of views to columns, or to (columns,
        kernels), gives each view kernels of its own, see `multikernel.kernels.Views`.
        Kernels may be functions, and names of `sklearn.metrics.pairwise`, see
        `multikernel.kernels.FunctionKernel`. For "precomputed" see `stack_grams`.
    C : float, default=1.0
        What the sum of the losses is multiplied by, positive: the C of
        `sklearn.svm.SVC`. The larger it is, the closer the fit.
    p : float, default=2.0
        Norm in the constraint on the kernel weights, from 1 to infinity, finite for
        "dc". At p = 1 most weights are zero.
    theta : int, default=1
        How many leading eigenvalues are free, not negative. A kernel of rank theta or
        less has no tail: 1e-6 of its trace stands for it, with a warning that names
        it.
    method : {"conv", "dc"}, default="conv"
        Whether the tails of the kernels are bounded one by one, or the tail of their
        combination.
    n_starts : int, default=3
        Starting weights of "dc": those of "conv", equal ones, and then random ones.
    loss : {"hinge", "log_loss", "squared_error"} or Loss, default="hinge"
        Loss, by name or as an object; targets of the squared error are -1 and 1. Only
        "log_loss" has `predict_proba`.
    solver : str, default="auto"
        "newton", "cutting_plane" or "alternating"; for p = 1 also "silp", "simple"
        and "hessian", for comparison. All reach the same optimum. "auto" is the first
        unless kernels are very many, see `multikernel.solvers.choose_lp_solver`.
    selection : {"shared", "separate"}, default="separate"
        What more than two classes have in common. "separate" is a problem of each
        class against the rest, with kernels and weights of its own. "shared" is one
        choice of kernels for all, by a loss of all classes at once: that of the
        softmax for "log_loss", that of Crammer and Singer for "hinge", and the sum
        over all classes for others. Share to read one selection, or for probabilities
        that are fitted together; separate where classes need different kernels. Of
        several columns of labels each counts as a class.
    normalize : str, Normalizer, list of these or None, default=None
        What is done to kernels before their spectra are computed: "center", "cosine",
        or several in order. A trace of n follows; factors as of "variance" change
        nothing. What is learnt is learnt on the training data.
    fit_intercept : bool, default=True
        Whether b is free; otherwise it is zero.
    tol : float, default=1e-3
        Relative duality gap at which a convex problem is solved; and of "dc", the share
        of the objective that an iteration must gain to be followed by another.
    max_iter : int or None, default=None
        Outer iterations at most; the default of the solver when None.
    class_weight : dict, "balanced" or None, default=None
        Factors of the sample weights by class label; "balanced" gives all classes the
        same total weight.
    storage : str, LowRank or MemoryMapped, default="auto"
        How Gram matrices are held while fitting, see `multikernel.gram.build_stack`:
        "dense", "dense32" (single precision), "lazy" (computed when needed),
        "low_rank" or a `multikernel.gram.LowRank` (factors by landmarks), "memmap" or
        a `multikernel.gram.MemoryMapped` (in a file), or "auto" for what is predicted
        to be quickest. Precomputed ones are held as they come.
    max_bytes : int, default=None
        Limit on the bytes of the Gram matrices, with the copies that folds need; half
        of the memory that is free when None.
    check_psd : {"active", "all", False}, default="active"
        Which kernels that are not this library's own, precomputed ones among them,
        are checked for a negative eigenvalue after a fit: those of the model, all, or
        none. See `multikernel.gram.check_definite`.
    verbose : int, default=0
        Whether to write one line per iteration to standard error.
    random_state : int, RandomState or None, default=None
        Draws the vectors that test precomputed matrices for symmetry, and the random
        starts of "dc"; the rest of a fit is deterministic.

    Attributes
    ----------
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        The weights mu of the kernels of trace n, non-negative, on the constraint;
        with more than two classes one row per class, as all attributes that say so.
        A shared selection has one row, gap and so on; dual points and intercepts are
        for every class even so. Labels count as classes.
    block_norms_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Norms of the functions f_m in the spaces of their normalised kernels.
    variance_shares_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Shares of the terms in the variance of the decision values on the training
        samples, see `variance_shares`: they sum to one, and one that works against
        the others is negative.
    view_weights_, view_shares_ : dict
        Where ``kernels`` was a mapping of views, the sums of ``kernel_weights_`` and
        of ``variance_shares_`` over the kernels of each; ``kernel_views_`` has the view
        of every kernel, and ``view_columns_`` the columns of every view.
    category_features_, categories_ : ndarray, list of ndarray
        Where columns of text are compared as categories, their positions, and the
        values of each that the training samples have.
    active_kernels_ : ndarray of shape (n_active,)
        Indices of the kernels with a non-zero weight (for any class), ascending.
    kernel_names_ : list of str
        Names of all kernels.
    dual_coef_ : ndarray of shape (n_samples,) or (n_classes, n_samples)
        The feasible dual point of the (last) convex problem, from -C to C for the
        hinge and the logistic loss, zero at samples of weight zero.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercept.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that the model uses.
    objective_ : float or ndarray of shape (n_classes,)
        The objective above: penalty plus C times the sum of the losses.
    duality_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap of "conv"; nan for "dc", which has none.
    subproblem_gap_ : float or ndarray of shape (n_classes,)
        For "dc" only: relative duality gap of the last convex problem.
    start_objectives_ : ndarray of shape (n_starts,) or (n_classes, n_starts)
        For "dc" only: the objectives that the starts led to, ascending.
    tail_sums_ : ndarray of shape (n_kernels, theta + 1)
        Tail sums of all kernels over n, beyond 0, 1, ..., theta eigenvalues.
    n_iter_ : int or ndarray of shape (n_classes,)
        Outer iterations made; of "dc" convex problems solved, from all starts.
    history_ : structured ndarray of shape (n_lines,)
        One line per outer iteration: output (index of the class, 0 for two classes),
        iteration, seconds, objective, duality_gap, n_active, passes, inner_steps.
    status_ : str
        Why the solver stopped, a sentence: the value of a `Status`, the worst one of
        all classes.
    storage_, storage_reason_ : str
        How Gram matrices were held, and why.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of columns; of training samples for precomputed kernels.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names, where X was a data frame.

    See Also
    --------
    LocalRademacherMKLClassifierCV : Chooses C and theta by cross-validation.
    LpMKLClassifier : The same with traces in place of tails.
    multikernel.gram.TailNormalizer : What "conv" does, for every estimator.

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

    def __init__(
        self,
        kernels: Any = None,
        C: float = 1.0,
        p: float = 2.0,
        *,
        theta: int = 1,
        method: str = "conv",
        n_starts: int = 3,
        loss: str | Loss = "hinge",
        solver: str = "auto",
        selection: str = "separate",
        normalize: Steps = None,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int | None = None,
        class_weight: Any = None,
        storage: Storage = "auto",
        max_bytes: int | None = None,
        check_psd: str | bool = "active",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        store(self, locals())


class LocalRademacherMKLRegressor(LocalRademacherMKL, RegressorMKL):
    r"""Regression by local Rademacher complexity: conv and dc [1]_.

    Minimises, over functions of the kernels' spaces, an intercept and kernel weights
    :math:`\mu \ge 0`,

    .. math::
        \frac12 \sum_m \frac{\|f_m\|^2}{\mu_m} + C \sum_i s_i\,
        \ell\Bigl(y_i, \sum_m f_m(x_i) + b\Bigr)

    with sample weights s, where what bounds the weights is not the trace of kernels but
    the tail of their spectrum: the leading theta eigenvalues are free, as they are in
    the local Rademacher complexity. Kernels have the trace n beforehand. Then "conv"
    asks that

    .. math::
        \Bigl\| \Bigl( \mu_m \, \tfrac1n \sum_{j > \theta} \lambda_j(K_m)
        \Bigr)_m \Bigr\|_p \le 1,

    which is lp-norm learning with kernels divided by their tails. It is convex, and
    every fit ends with a duality gap. "dc" bounds the tail of the combined kernel,
    :math:`\frac1n \sum_{j > \theta} \lambda_j(\sum_m \mu_m K_m) \le 1` where p is 1
    (`TailDC` has the norm for other p). That is not convex: convex problems are solved
    in turn, each with its gap, ``objective_`` falls in each of them, and the best of
    `n_starts` stationary points is kept. It has no certificate. With ``theta=0`` both
    are `LpMKLRegressor` with ``normalize="trace"``.

    Parameters
    ----------
    kernels : Kernel, list, dict, KernelDictionary, "precomputed" or None, default=None
        The candidates. None stands for `median_dictionary`: a linear kernel, and
        Gaussians of a few widths, which the samples decide, on all columns together and
        on each alone; it expects standardised columns; on strings for
        `sequence_dictionary`. A mapping from names of views to columns, or to (columns,
        kernels), gives each view kernels of its own, see `multikernel.kernels.Views`.
        Kernels may be functions, and names of `sklearn.metrics.pairwise`, see
        `multikernel.kernels.FunctionKernel`. For "precomputed" see `stack_grams`.
    C : float, default=1.0
        What the sum of the losses is multiplied by, positive: the C of
        `sklearn.svm.SVR`. The larger it is, the closer the fit.
    p : float, default=2.0
        Norm in the constraint on the kernel weights, from 1 to infinity, finite for
        "dc". At p = 1 most weights are zero.
    theta : int, default=1
        How many leading eigenvalues are free, not negative. A kernel of rank theta or
        less has no tail: 1e-6 of its trace stands for it, with a warning that names
        it.
    method : {"conv", "dc"}, default="conv"
        Whether the tails of the kernels are bounded one by one, or the tail of their
        combination.
    n_starts : int, default=3
        Starting weights of "dc": those of "conv", equal ones, and then random ones.
    loss : str or Loss, default="epsilon_insensitive"
        "squared_error" for half the squared error, "epsilon_insensitive" for the
        absolute error beyond ``epsilon``, or a loss object.
    epsilon : float, default=0.1
        Error that costs nothing, in units of y; for "epsilon_insensitive" only.
    solver : str, default="auto"
        "newton", "cutting_plane" or "alternating"; for p = 1 also "silp", "simple"
        and "hessian", for comparison. All reach the same optimum. "auto" is the first
        unless kernels are very many, see `multikernel.solvers.choose_lp_solver`.
    normalize : str, Normalizer, list of these or None, default=None
        What is done to kernels before their spectra are computed: "center", "cosine",
        or several in order. A trace of n follows; factors as of "variance" change
        nothing. What is learnt is learnt on the training data.
    fit_intercept : bool, default=True
        Whether b is free; otherwise it is zero.
    tol : float, default=1e-3
        Relative duality gap at which a convex problem is solved; and of "dc", the share
        of the objective that an iteration must gain to be followed by another.
    max_iter : int or None, default=None
        Outer iterations at most; the default of the solver when None.
    storage : str, LowRank or MemoryMapped, default="auto"
        How Gram matrices are held while fitting, see `multikernel.gram.build_stack`:
        "dense", "dense32" (single precision), "lazy" (computed when needed),
        "low_rank" or a `multikernel.gram.LowRank` (factors by landmarks), "memmap" or
        a `multikernel.gram.MemoryMapped` (in a file), or "auto" for what is predicted
        to be quickest. Precomputed ones are held as they come.
    max_bytes : int, default=None
        Limit on the bytes of the Gram matrices, with the copies that folds need; half
        of the memory that is free when None.
    check_psd : {"active", "all", False}, default="active"
        Which kernels that are not this library's own, precomputed ones among them,
        are checked for a negative eigenvalue after a fit: those of the model, all, or
        none. See `multikernel.gram.check_definite`.
    verbose : int, default=0
        Whether to write one line per iteration to standard error.
    random_state : int, RandomState or None, default=None
        Draws the vectors that test precomputed matrices for symmetry, and the random
        starts of "dc"; the rest of a fit is deterministic.

    Attributes
    ----------
    kernel_weights_ : ndarray of shape (n_kernels,)
        The weights mu of the kernels of trace n, non-negative, on the constraint.
    block_norms_ : ndarray of shape (n_kernels,)
        Norms of the functions f_m in the spaces of their normalised kernels.
    variance_shares_ : ndarray of shape (n_kernels,)
        Shares of the terms in the variance of the decision values on the training
        samples, see `variance_shares`: they sum to one, and one that works against
        the others is negative.
    view_weights_, view_shares_ : dict
        Where ``kernels`` was a mapping of views, the sums of ``kernel_weights_`` and
        of ``variance_shares_`` over the kernels of each; ``kernel_views_`` has the view
        of every kernel, and ``view_columns_`` the columns of every view.
    category_features_, categories_ : ndarray, list of ndarray
        Where columns of text are compared as categories, their positions, and the
        values of each that the training samples have.
    active_kernels_ : ndarray of shape (n_active,)
        Indices of the kernels with a non-zero weight, ascending.
    kernel_names_ : list of str
        Names of all kernels.
    dual_coef_ : ndarray of shape (n_samples,)
        The feasible dual point of the (last) convex problem, from -C to C for the
        epsilon-insensitive loss, zero at samples of weight zero.
    intercept_ : ndarray of shape (1,)
        The intercept.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that the model uses.
    objective_ : float
        The objective above: penalty plus C times the sum of the losses.
    duality_gap_ : float
        Relative duality gap of "conv"; nan for "dc", which has none.
    subproblem_gap_ : float
        For "dc" only: relative duality gap of the last convex problem.
    start_objectives_ : ndarray of shape (n_starts,)
        For "dc" only: the objectives that the starts led to, ascending.
    tail_sums_ : ndarray of shape (n_kernels, theta + 1)
        Tail sums of all kernels over n, beyond 0, 1, ..., theta eigenvalues.
    n_iter_ : int
        Outer iterations made; of "dc" convex problems solved, from all starts.
    history_ : structured ndarray of shape (n_lines,)
        One line per outer iteration: output (always 0), iteration, seconds, objective,
        duality_gap, n_active, passes, inner_steps.
    status_ : str
        Why the solver stopped, a sentence: the value of a `Status`.
    storage_, storage_reason_ : str
        How Gram matrices were held, and why.
    n_features_in_ : int
        Number of columns; of training samples for precomputed kernels.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names, where X was a data frame.

    See Also
    --------
    LocalRademacherMKLRegressorCV : Chooses C and theta by cross-validation.
    LpMKLRegressor : The same with traces in place of tails.
    multikernel.gram.TailNormalizer : What "conv" does, for every estimator.

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

    def __init__(
        self,
        kernels: Any = None,
        C: float = 1.0,
        p: float = 2.0,
        *,
        theta: int = 1,
        method: str = "conv",
        n_starts: int = 3,
        loss: str | Loss = "epsilon_insensitive",
        epsilon: float = 0.1,
        solver: str = "auto",
        normalize: Steps = None,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int | None = None,
        storage: Storage = "auto",
        max_bytes: int | None = None,
        check_psd: str | bool = "active",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        store(self, locals())
