"""The machine on the unweighted sum of the kernels, C chosen by cross-validation."""

from collections.abc import Sequence
from typing import Any, ClassVar

from multikernel.estimators.fit.parameters import NORMALIZE, store
from multikernel.estimators.lp.base import MarginMKL
from multikernel.estimators.search.margins import MarginSearchCV
from multikernel.estimators.search.tasks import ClassifierMKL, RegressorMKL
from multikernel.gram import Storage
from multikernel.gram.normalization import Steps
from multikernel.losses import Loss


class UniformSearchCV(MarginSearchCV, MarginMKL):
    """The choice of C alone: equal weights are those of p = inf."""

    _chooses_p: ClassVar[bool] = False
    _exponents = MarginMKL._exponents


class UniformMKLClassifierCV(UniformSearchCV, ClassifierMKL):
    r"""Classification with the unweighted sum of all kernels, C chosen on folds.

    The problem is that of `UniformMKLClassifier`. On every fold it is solved for all
    values of C in turn, each from the solution before, and the one with the best mean
    validation score is taken. Kernels are computed once, and what they learn from
    samples without labels is learnt once; each fold normalises them by its own
    training samples.

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
        M times the mean variance of the M kernels; four times as large for
        "log_loss", which curves less.
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
        Whether to solve for all C on all samples, and to be the model at ``C_``.
    loss : {"hinge", "log_loss", "squared_error"} or Loss, default="hinge"
        Loss, by name or as an object; targets of the squared error are -1 and 1. Only
        "log_loss" has `predict_proba`.
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
        The C that was chosen.
    Cs_ : ndarray of shape (n_Cs,)
        All values of C, ascending.
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
        Norms, weights, objectives and gaps on all samples; its strengths are 1 / C.
    n_splits_ : int
        Number of folds.
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        One for every kernel whose term is not zero: not for one that is zero on the
        training data, nor, as far as rounding tells, for one that is constant there
        beside an intercept, which takes its place. With more than two classes one row
        per class, as all attributes that say so.
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
        The objective above: penalty plus C times the sum of the losses.
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
    UniformMKLClassifier : The model for one C.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg, Zien (2011). lp-norm multiple kernel learning.
       JMLR 12, 953-997.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import UniformMKLClassifierCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = UniformMKLClassifierCV(kernels, Cs=[0.1, 1.0, 9.0], cv=3).fit(X, y)
    >>> model.best_params_["C"] == model.C_, model.Cs_.size
    (True, 3)
    """

    def __init__(
        self,
        kernels: Any = None,
        *,
        Cs: Sequence[float] | None = None,
        cv: Any = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool = True,
        loss: str | Loss = "hinge",
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


class UniformMKLRegressorCV(UniformSearchCV, RegressorMKL):
    r"""Regression with the unweighted sum of all kernels, C chosen on folds.

    The problem is that of `UniformMKLRegressor`. On every fold it is solved for all
    values of C in turn, each from the solution before, and the one with the best mean
    validation score is taken. Kernels are computed once, and what they learn from
    samples without labels is learnt once; each fold normalises them by its own
    training samples.

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
        M times the mean variance of the M kernels; for
        "epsilon_insensitive" in units of the standard deviation of y.
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
        Whether to solve for all C on all samples, and to be the model at ``C_``.
    loss : str or Loss, default="epsilon_insensitive"
        "squared_error" for half the squared error, "epsilon_insensitive" for the
        absolute error beyond ``epsilon``, or a loss object.
    epsilon : float, default=0.1
        Error that costs nothing, in units of y; for "epsilon_insensitive" only.
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
        The C that was chosen.
    Cs_ : ndarray of shape (n_Cs,)
        All values of C, ascending.
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
        Norms, weights, objectives and gaps on all samples; its strengths are 1 / C.
    n_splits_ : int
        Number of folds.
    kernel_weights_ : ndarray of shape (n_kernels,)
        One for every kernel whose term is not zero: not for one that is zero on the
        training data, nor, as far as rounding tells, for one that is constant there
        beside an intercept, which takes its place.
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
        The feasible dual point that proves ``duality_gap_``, from -C to C for the
        epsilon-insensitive loss, zero at samples of weight zero. At the optimum f_m is
        ``kernel_weights_[m]`` times K_m times it.
    intercept_ : ndarray of shape (1,)
        The intercept.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that the model uses.
    objective_ : float
        The objective above: penalty plus C times the sum of the losses.
    duality_gap_ : float
        Relative duality gap.
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
    UniformMKLRegressor : The model for one C.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg, Zien (2011). lp-norm multiple kernel learning.
       JMLR 12, 953-997.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import UniformMKLRegressorCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 2])
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = UniformMKLRegressorCV(kernels, Cs=[0.1, 1.0, 9.0], cv=3).fit(X, y)
    >>> model.best_params_["C"] == model.C_, model.Cs_.size
    (True, 3)
    """

    def __init__(
        self,
        kernels: Any = None,
        *,
        Cs: Sequence[float] | None = None,
        cv: Any = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool = True,
        loss: str | Loss = "epsilon_insensitive",
        epsilon: float = 0.1,
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
