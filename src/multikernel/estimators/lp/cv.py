"""lp-norm multiple kernel learning, C and p chosen by cross-validation."""

from collections.abc import Sequence
from typing import Any

from multikernel.estimators.fit.parameters import NORMALIZE, store
from multikernel.estimators.lp.base import LpMKL
from multikernel.estimators.search.margins import DEFAULT_PS, MarginSearchCV
from multikernel.estimators.search.tasks import ClassifierMKL, RegressorMKL
from multikernel.gram import Storage
from multikernel.gram.normalization import Steps
from multikernel.losses import Loss


class LpMKLClassifierCV(MarginSearchCV, LpMKL, ClassifierMKL):
    r"""Classification by lp-norm MKL, C and p chosen by cross-validation.

    The problem is that of `LpMKLClassifier`. On every fold it is solved for all
    pairs of C and p in turn, each from a neighbour's solution, and the pair with the
    best mean validation score is taken. Kernels are computed once and cut for the
    folds, each of which normalises them by its own training samples: a fold's models
    are those of a `LpMKLClassifier` fitted on it.

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
    ps : sequence of float, default=(1, 4/3, 2, 4, inf)
        Values of p to try, each at least 1.
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
        Whether to solve for ``p_`` and all C on all samples, and to be the model at
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
    normalize : str, Normalizer, list of these or None, default="variance"
        How kernels are made comparable: "variance" for unit variance in feature space,
        "trace" for a mean diagonal of one, "cosine" for cosine similarity, "center", or
        an object such as `multikernel.gram.TailNormalizer`; several are applied in
        order. Factors are learnt on the training data.
    fit_intercept : bool, default=True
        Whether b is free; otherwise it is zero.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
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
        Draws the vectors that test precomputed matrices for symmetry, and subsamples
        of the dictionary where there are any; the rest of a fit is deterministic.

    Attributes
    ----------
    C_ : float
        The C of the pair that was chosen.
    p_ : float
        Its p.
    Cs_ : ndarray of shape (n_Cs,)
        All values of C that were tried with that p, ascending.
    ps_ : ndarray of shape (n_ps,)
        All values of p, ascending.
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
        Norms, weights, objectives and gaps on all samples for ``p_``; its strengths
        are 1 / C.
    n_splits_ : int
        Number of folds.
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        The weights theta, non-negative, of p-norm one (zero if no kernel is of use);
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
        The feasible dual point that proves ``duality_gap_``, from -C to C for the
        hinge and the logistic loss, zero at samples of weight zero. At the optimum f_m
        is ``kernel_weights_[m]`` times K_m times it.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercept.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that the model uses.
    objective_ : float or ndarray of shape (n_classes,)
        That of `LpMKLClassifier`: penalty plus C times the sum of the losses.
    duality_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap.
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
    LpMKLClassifier : The model for one C and one p.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg, Laskov, Müller, Zien (2009). Efficient and
       accurate lp-norm multiple kernel learning. NIPS 22, 997-1005.
    .. [2] Kloft, Brefeld, Sonnenburg, Zien (2011). lp-norm multiple kernel learning.
       JMLR 12, 953-997.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import LpMKLClassifierCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = LpMKLClassifierCV(kernels, Cs=[0.1, 1.0, 10.0], cv=3).fit(X, y)
    >>> model.C_ in model.Cs_, model.p_ in model.ps_
    (True, True)
    """

    def __init__(
        self,
        kernels: Any = None,
        *,
        Cs: Sequence[float] | None = None,
        ps: Sequence[float] = DEFAULT_PS,
        cv: Any = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool = True,
        loss: str | Loss = "hinge",
        solver: str = "auto",
        selection: str = "separate",
        normalize: Steps = NORMALIZE,
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


class LpMKLRegressorCV(MarginSearchCV, LpMKL, RegressorMKL):
    r"""Regression by lp-norm MKL, C and p chosen by cross-validation.

    The problem is that of `LpMKLRegressor`. On every fold it is solved for all
    pairs of C and p in turn, each from a neighbour's solution, and the pair with the
    best mean validation score is taken. Kernels are computed once and cut for the
    folds, each of which normalises them by its own training samples: a fold's models
    are those of a `LpMKLRegressor` fitted on it.

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
    ps : sequence of float, default=(1, 4/3, 2, 4, inf)
        Values of p to try, each at least 1.
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
        Whether to solve for ``p_`` and all C on all samples, and to be the model at
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
    selection : {"shared", "separate"}, default="shared"
        What several targets have in common: "shared" is one choice of kernels, by the
        norm of all blocks of a kernel together, solved at once; "separate" a problem
        for each target, with kernels and weights of its own. Share where targets
        depend on the same kernels, which then need fewer samples to be found; with one
        target both are the same.
    normalize : str, Normalizer, list of these or None, default="variance"
        How kernels are made comparable: "variance" for unit variance in feature space,
        "trace" for a mean diagonal of one, "cosine" for cosine similarity, "center", or
        an object such as `multikernel.gram.TailNormalizer`; several are applied in
        order. Factors are learnt on the training data.
    fit_intercept : bool, default=True
        Whether b is free; otherwise it is zero.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
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
        Draws the vectors that test precomputed matrices for symmetry, and subsamples
        of the dictionary where there are any; the rest of a fit is deterministic.

    Attributes
    ----------
    C_ : float
        The C of the pair that was chosen.
    p_ : float
        Its p.
    Cs_ : ndarray of shape (n_Cs,)
        All values of C that were tried with that p, ascending.
    ps_ : ndarray of shape (n_ps,)
        All values of p, ascending.
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
        Norms, weights, objectives and gaps on all samples for ``p_``; its strengths
        are 1 / C.
    n_splits_ : int
        Number of folds.
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_targets, n_kernels)
        The weights theta, non-negative, of p-norm one (zero if no kernel is of use);
        of several targets with separate selections one row each, as objective, gap
        and number of iterations.
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
    dual_coef_ : ndarray of shape (n_samples,) or (n_targets, n_samples)
        The feasible dual point that proves ``duality_gap_``, from -C to C for the
        epsilon-insensitive loss, zero at samples of weight zero. At the optimum f_m is
        ``kernel_weights_[m]`` times K_m times it.
    intercept_ : ndarray of shape (n_targets,)
        The intercepts.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that the model uses.
    objective_ : float or ndarray of shape (n_targets,)
        That of `LpMKLRegressor`: penalty plus C times the sum of the losses.
    duality_gap_ : float or ndarray of shape (n_targets,)
        Relative duality gap.
    n_iter_ : int or ndarray of shape (n_targets,)
        Outer iterations made for all C together.
    history_ : structured ndarray of shape (n_lines,)
        One line per outer iteration: output (index of the problem), iteration, seconds,
        objective, duality_gap, n_active, passes, inner_steps.
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
    LpMKLRegressor : The model for one C and one p.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg, Laskov, Müller, Zien (2009). Efficient and
       accurate lp-norm multiple kernel learning. NIPS 22, 997-1005.
    .. [2] Kloft, Brefeld, Sonnenburg, Zien (2011). lp-norm multiple kernel learning.
       JMLR 12, 953-997.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import LpMKLRegressorCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 2])
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = LpMKLRegressorCV(kernels, Cs=[0.1, 1.0, 10.0], cv=3).fit(X, y)
    >>> model.C_ in model.Cs_, model.p_ in model.ps_
    (True, True)
    """

    def __init__(
        self,
        kernels: Any = None,
        *,
        Cs: Sequence[float] | None = None,
        ps: Sequence[float] = DEFAULT_PS,
        cv: Any = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool = True,
        loss: str | Loss = "epsilon_insensitive",
        epsilon: float = 0.1,
        solver: str = "auto",
        selection: str = "shared",
        normalize: Steps = NORMALIZE,
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
