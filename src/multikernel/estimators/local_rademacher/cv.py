"""Local Rademacher MKL, C and theta chosen by cross-validation."""

from collections.abc import Sequence
from typing import Any

from multikernel.estimators.fit.parameters import store
from multikernel.estimators.local_rademacher.base import LocalRademacherMKL
from multikernel.estimators.local_rademacher.search import DEFAULT_THETAS, TailSearchCV
from multikernel.estimators.search.tasks import ClassifierMKL, RegressorMKL
from multikernel.gram import Storage
from multikernel.gram.normalization import Steps
from multikernel.losses import Loss


class LocalRademacherMKLClassifierCV(TailSearchCV, LocalRademacherMKL, ClassifierMKL):
    r"""Classification by local Rademacher MKL, C and theta cross-validated.

    The problem is that of `LocalRademacherMKLClassifier`. On every fold it is solved
    for all pairs of C and theta in turn, each from a neighbour's solution, and the pair
    with the best mean validation score is taken. One spectrum of each kernel serves all
    pairs. Kernels are computed once and cut for the folds, each of which normalises
    them by its own training samples.

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
    Cs : sequence of float or None, default=None
        Values of C to try, positive. None stands for 1/32, 1/8, 1/2, 2, ..., 128 over
        M^(1 - 1/p) times the mean variance of the M kernels; four times as large for
        "log_loss", which curves less.
    thetas : sequence of int, default=(0, 1, 2, 4, 8, 16)
        Numbers of free eigenvalues to try; with 0 the model is `LpMKLClassifier`.
    method : {"conv", "dc"}, default="conv"
        Whether the tails of the kernels are bounded one by one, or the tail of their
        combination.
    p : float, default=2.0
        Norm in the constraint on the kernel weights, from 1 to infinity, finite for
        "dc". At p = 1 most weights are zero.
    n_starts : int, default=1
        Starting weights of "dc" for every pair: the neighbour's solution, or that of
        "conv" for the first one; equal ones; and then random ones.
    cv : int, splitter, iterable of (train, test) or None, default=None
        The folds, as everywhere in scikit-learn; None stands for five. A single pair
        is a validation set.
    scoring : str, callable or None, default=None
        What is maximised; None stands for accuracy. A function gets the fitted model
        and the validation samples; scorers that take sample weights get these too.
    n_jobs : int or None, default=None
        Folds that are fitted at the same time, by threads that share the Gram
        matrices; -1 stands for all cores.
    refit : bool, default=True
        Whether to solve for ``theta_`` and all C on all samples, and to be the model at
        ``C_``.
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
    C_ : float
        The C of the pair that was chosen.
    theta_ : int
        Its theta.
    Cs_ : ndarray of shape (n_Cs,)
        All values of C that were tried, ascending.
    thetas_ : ndarray of shape (n_thetas,)
        All values of theta, ascending.
    best_params_ : dict
        The parameters that were chosen. Of several with the same score those of a
        model with kernels go before those of one without, and then the simplest.
    best_index_ : int
        Their place in ``cv_results_``.
    best_score_ : float
        Their mean score.
    cv_results_ : dict of ndarray of shape (n_candidates,)
        As scikit-learn's searches have it: ``params``, ``param_`` and the name of each
        parameter, ``split0_test_score`` and so on, ``mean_test_score``,
        ``std_test_score``, ``rank_test_score``; and ``mean_n_active``, the mean number
        of kernels in use.
    path_ : RegularizationPath
        Norms, weights, objectives and gaps on all samples for ``theta_``; its
        strengths are 1 / C, and its gaps of "dc" those of the convex problems.
    n_splits_ : int
        Number of folds.
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
        That of `LocalRademacherMKLClassifier`: penalty plus C times the sum of the
        losses.
    duality_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap of "conv"; nan for "dc", which has none.
    subproblem_gap_ : float or ndarray of shape (n_classes,)
        For "dc" only: relative duality gap of the last convex problem.
    start_objectives_ : ndarray of shape (n_starts,) or (n_classes, n_starts)
        For "dc" only: the objectives that the starts led to, ascending.
    tail_sums_ : ndarray of shape (n_kernels, theta + 1)
        Tail sums of all kernels over n, beyond 0, 1, ... eigenvalues.
    n_iter_ : int or ndarray of shape (n_classes,)
        Outer iterations made for all C together.
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
    LocalRademacherMKLClassifier : The model for one C and one theta.

    References
    ----------
    .. [1] Cortes, Kloft, Mohri (2013). Learning kernels using local Rademacher
       complexity. NIPS 26.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import LocalRademacherMKLClassifierCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = LocalRademacherMKLClassifierCV(kernels, Cs=[0.1, 1.0, 10.0], cv=3)
    >>> model = model.fit(X, y)
    >>> model.C_ in model.Cs_, model.theta_ in model.thetas_
    (True, True)
    """

    def __init__(
        self,
        kernels: Any = None,
        *,
        Cs: Sequence[float] | None = None,
        thetas: Sequence[int] = DEFAULT_THETAS,
        method: str = "conv",
        p: float = 2.0,
        n_starts: int = 1,
        cv: Any = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool = True,
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


class LocalRademacherMKLRegressorCV(TailSearchCV, LocalRademacherMKL, RegressorMKL):
    r"""Regression by local Rademacher MKL, C and theta cross-validated.

    The problem is that of `LocalRademacherMKLRegressor`. On every fold it is solved
    for all pairs of C and theta in turn, each from a neighbour's solution, and the pair
    with the best mean validation score is taken. One spectrum of each kernel serves all
    pairs. Kernels are computed once and cut for the folds, each of which normalises
    them by its own training samples.

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
    Cs : sequence of float or None, default=None
        Values of C to try, positive. None stands for 1/32, 1/8, 1/2, 2, ..., 128 over
        M^(1 - 1/p) times the mean variance of the M kernels; for
        "epsilon_insensitive" in units of the standard deviation of y.
    thetas : sequence of int, default=(0, 1, 2, 4, 8, 16)
        Numbers of free eigenvalues to try; with 0 the model is `LpMKLRegressor`.
    method : {"conv", "dc"}, default="conv"
        Whether the tails of the kernels are bounded one by one, or the tail of their
        combination.
    p : float, default=2.0
        Norm in the constraint on the kernel weights, from 1 to infinity, finite for
        "dc". At p = 1 most weights are zero.
    n_starts : int, default=1
        Starting weights of "dc" for every pair: the neighbour's solution, or that of
        "conv" for the first one; equal ones; and then random ones.
    cv : int, splitter, iterable of (train, test) or None, default=None
        The folds, as everywhere in scikit-learn; None stands for five. A single pair
        is a validation set.
    scoring : str, callable or None, default=None
        What is maximised; None stands for R^2. A function gets the fitted model and the
        validation samples; scorers that take sample weights get these too.
    n_jobs : int or None, default=None
        Folds that are fitted at the same time, by threads that share the Gram
        matrices; -1 stands for all cores.
    refit : bool, default=True
        Whether to solve for ``theta_`` and all C on all samples, and to be the model at
        ``C_``.
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
    C_ : float
        The C of the pair that was chosen.
    theta_ : int
        Its theta.
    Cs_ : ndarray of shape (n_Cs,)
        All values of C that were tried, ascending.
    thetas_ : ndarray of shape (n_thetas,)
        All values of theta, ascending.
    best_params_ : dict
        The parameters that were chosen. Of several with the same score those of a
        model with kernels go before those of one without, and then the simplest.
    best_index_ : int
        Their place in ``cv_results_``.
    best_score_ : float
        Their mean score.
    cv_results_ : dict of ndarray of shape (n_candidates,)
        As scikit-learn's searches have it: ``params``, ``param_`` and the name of each
        parameter, ``split0_test_score`` and so on, ``mean_test_score``,
        ``std_test_score``, ``rank_test_score``; and ``mean_n_active``, the mean number
        of kernels in use.
    path_ : RegularizationPath
        Norms, weights, objectives and gaps on all samples for ``theta_``; its
        strengths are 1 / C, and its gaps of "dc" those of the convex problems.
    n_splits_ : int
        Number of folds.
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
        That of `LocalRademacherMKLRegressor`: penalty plus C times the sum of the
        losses.
    duality_gap_ : float
        Relative duality gap of "conv"; nan for "dc", which has none.
    subproblem_gap_ : float
        For "dc" only: relative duality gap of the last convex problem.
    start_objectives_ : ndarray of shape (n_starts,)
        For "dc" only: the objectives that the starts led to, ascending.
    tail_sums_ : ndarray of shape (n_kernels, theta + 1)
        Tail sums of all kernels over n, beyond 0, 1, ... eigenvalues.
    n_iter_ : int
        Outer iterations made for all C together.
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
    LocalRademacherMKLRegressor : The model for one C and one theta.

    References
    ----------
    .. [1] Cortes, Kloft, Mohri (2013). Learning kernels using local Rademacher
       complexity. NIPS 26.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import LocalRademacherMKLRegressorCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 2])
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = LocalRademacherMKLRegressorCV(kernels, Cs=[0.1, 1.0, 10.0], cv=3)
    >>> model = model.fit(X, y)
    >>> model.C_ in model.Cs_, model.theta_ in model.thetas_
    (True, True)
    """

    def __init__(
        self,
        kernels: Any = None,
        *,
        Cs: Sequence[float] | None = None,
        thetas: Sequence[int] = DEFAULT_THETAS,
        method: str = "conv",
        p: float = 2.0,
        n_starts: int = 1,
        cv: Any = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool = True,
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
