"""Greedy selection of kernels by MKL-GOMP, sparsity and alpha chosen on folds."""

from collections.abc import Sequence
from typing import Any

from multikernel.estimators.fit.parameters import NORMALIZE, store
from multikernel.estimators.greedy.base import GreedyClassifier, GreedyRegressor
from multikernel.estimators.greedy.search import GreedySearchCV
from multikernel.gram import Storage
from multikernel.gram.normalization import Steps
from multikernel.losses import Loss


class GroupOMPClassifierCV(GreedySearchCV, GreedyClassifier):
    """Classification by MKL-GOMP, sparsity and alpha chosen by cross-validation [1]_.

    On every fold the kernels are selected for all strengths side by side, and every
    prefix of every selection is a candidate: one path per fold and strength scores
    all numbers of kernels. Kernels are computed once and cut for the folds, each of
    which normalises them by its own training samples: a fold's models are those of a
    `GroupOMPClassifier` fitted on it.

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
    alphas : sequence of float, default=(1e-4, 1e-3, 1e-2, 1e-1, 1.0)
        Strengths of the ridge penalty on the mean loss to try, positive.
    max_kernels : int or None, default=50
        The largest number of kernels to try, the smallest is none; all of the
        dictionary when None.
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
        Whether to select on all samples, and to be the model with ``max_kernels_``
        kernels at ``alpha_``.
    tol : float, default=1e-3
        The precision: stop when no kernel improves the fit by more than this share of
        the largest improvement that a kernel could offer to the constant model, half
        the mean square of the centred target for the squared loss.
    loss : {"squared_error", "log_loss", "hinge"} or Loss, default="squared_error"
        Loss, by name or as an object; targets of the squared error are -1 and 1. Only
        "log_loss" has `predict_proba`.
    subsample : float or int, default=1.0
        Every step looks at a random part of the dictionary: a fraction of it if a
        float, or a number of kernels if an int.
    normalize : str, Normalizer, list of these or None, default="variance"
        How kernels are made comparable: "variance" for unit variance in feature space,
        "trace" for a mean diagonal of one, "cosine" for cosine similarity, "center", or
        an object such as `multikernel.gram.TailNormalizer`; several are applied in
        order. Factors are learnt on the training data.
    fit_intercept : bool, default=True
        Whether b is free; otherwise it is zero.
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
    alpha_ : float
        The strength that was chosen.
    max_kernels_ : int
        The number of kernels that was chosen: the fewest with the best mean score,
        then the largest alpha.
    alphas_ : ndarray of shape (n_alphas,)
        All strengths, descending.
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
    n_splits_ : int
        Number of folds.
    selection_order_ : ndarray of shape (n_selected,)
        Kernels in the order of selection. Of kernels that improve the fit equally, the
        first in the dictionary is selected.
    improvements_ : ndarray of shape (n_selected,)
        The improvement that each offered when it was selected, in the scale of
        ``objective_`` (half of that of [1]_). For the squared loss the objective falls
        by at least as much.
    kernel_weights_ : ndarray of shape (n_kernels,)
        One for every selected kernel, zero for the others: the model's kernel is their
        sum.
    block_norms_ : ndarray of shape (n_kernels,) or (n_outputs, n_kernels)
        Norms of the functions f_m in the spaces of their normalised kernels.
    variance_shares_ : ndarray of shape (n_kernels,) or (n_outputs, n_kernels)
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
    active_kernels_ : ndarray of shape (n_selected,)
        The selected kernels, ascending.
    kernel_names_ : list of str
        Names of all kernels.
    dual_coef_ : ndarray of shape (n_samples,) or (n_classes, n_samples)
        The dual variable of the last refit, minus the gradient of the losses in the
        decision values; every selected f_m is K_m times it, over alpha times the sum
        of the sample weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercept.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that the model uses.
    objective_ : float
        Mean loss, summed over the classes, plus the penalty.
    duality_gap_ : float
        Always nan: a greedy selection has no certificate.
    n_iter_ : int
        Number of selected kernels.
    history_ : structured ndarray of shape (n_selected + 1,)
        One line per model, from the one without kernels on: output (always 0),
        iteration, seconds, objective, duality_gap (nan), n_active, passes,
        inner_steps.
    status_ : str
        Why the selection stopped, a sentence: the value of a `Status`.
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
    GroupOMPClassifier : The model for one alpha and number of kernels.
    multikernel.display.SparsityPathDisplay : Draws the scores.

    References
    ----------
    .. [1] Sindhwani, Lozano (2011). Non-parametric group orthogonal matching pursuit
       for sparse learning with multiple kernels. NIPS 24.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import GroupOMPClassifierCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((90, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = GroupOMPClassifierCV(kernels, cv=3).fit(X, y)
    >>> model.max_kernels_, model.selection_order_
    (1, array([2]))
    """

    def __init__(
        self,
        kernels: Any = None,
        *,
        alphas: Sequence[float] = (1e-4, 1e-3, 1e-2, 1e-1, 1.0),
        max_kernels: int | None = 50,
        cv: Any = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool = True,
        tol: float = 1e-3,
        loss: str | Loss = "squared_error",
        subsample: float | int = 1.0,
        normalize: Steps = NORMALIZE,
        fit_intercept: bool = True,
        class_weight: Any = None,
        storage: Storage = "auto",
        max_bytes: int | None = None,
        check_psd: str | bool = "active",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        store(self, locals())


class GroupOMPRegressorCV(GreedySearchCV, GreedyRegressor):
    """Regression by MKL-GOMP, sparsity and alpha chosen by cross-validation [1]_.

    On every fold the kernels are selected for all strengths side by side, and every
    prefix of every selection is a candidate: one path per fold and strength scores
    all numbers of kernels. Kernels are computed once and cut for the folds, each of
    which normalises them by its own training samples: a fold's models are those of a
    `GroupOMPRegressor` fitted on it.

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
    alphas : sequence of float, default=(1e-4, 1e-3, 1e-2, 1e-1, 1.0)
        Strengths of the ridge penalty on the mean loss to try, positive.
    max_kernels : int or None, default=50
        The largest number of kernels to try, the smallest is none; all of the
        dictionary when None.
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
        Whether to select on all samples, and to be the model with ``max_kernels_``
        kernels at ``alpha_``.
    tol : float, default=1e-3
        The precision: stop when no kernel improves the fit by more than this share of
        the largest improvement that a kernel could offer to the constant model, half
        the variance of the target for the squared loss.
    loss : {"squared_error", "epsilon_insensitive"} or Loss, default="squared_error"
        Half the squared error, or the absolute error beyond ``epsilon``, by name; or
        a loss object.
    epsilon : float, default=0.1
        Error that costs nothing, in units of y; for "epsilon_insensitive" only.
    subsample : float or int, default=1.0
        Every step looks at a random part of the dictionary: a fraction of it if a
        float, or a number of kernels if an int.
    normalize : str, Normalizer, list of these or None, default="variance"
        How kernels are made comparable: "variance" for unit variance in feature space,
        "trace" for a mean diagonal of one, "cosine" for cosine similarity, "center", or
        an object such as `multikernel.gram.TailNormalizer`; several are applied in
        order. Factors are learnt on the training data.
    fit_intercept : bool, default=True
        Whether b is free; otherwise it is zero.
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
    alpha_ : float
        The strength that was chosen.
    max_kernels_ : int
        The number of kernels that was chosen: the fewest with the best mean score,
        then the largest alpha.
    alphas_ : ndarray of shape (n_alphas,)
        All strengths, descending.
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
    n_splits_ : int
        Number of folds.
    selection_order_ : ndarray of shape (n_selected,)
        Kernels in the order of selection. Of kernels that improve the fit equally, the
        first in the dictionary is selected.
    improvements_ : ndarray of shape (n_selected,)
        The improvement that each offered when it was selected, in the scale of
        ``objective_`` (half of that of [1]_). For the squared loss the objective falls
        by at least as much.
    kernel_weights_ : ndarray of shape (n_kernels,)
        One for every selected kernel, zero for the others: the model's kernel is their
        sum.
    block_norms_ : ndarray of shape (n_kernels,) or (n_outputs, n_kernels)
        Norms of the functions f_m in the spaces of their normalised kernels.
    variance_shares_ : ndarray of shape (n_kernels,) or (n_outputs, n_kernels)
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
    active_kernels_ : ndarray of shape (n_selected,)
        The selected kernels, ascending.
    kernel_names_ : list of str
        Names of all kernels.
    dual_coef_ : ndarray of shape (n_samples,) or (n_outputs, n_samples)
        The dual variable of the last refit, minus the gradient of the losses in the
        predictions; every selected f_m is K_m times it, over alpha times the sum of
        the sample weights.
    intercept_ : ndarray of shape (n_outputs,)
        The intercept.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that the model uses.
    objective_ : float
        Mean loss, summed over the targets, plus the penalty.
    duality_gap_ : float
        Always nan: a greedy selection has no certificate.
    n_iter_ : int
        Number of selected kernels.
    history_ : structured ndarray of shape (n_selected + 1,)
        One line per model, from the one without kernels on: output (always 0),
        iteration, seconds, objective, duality_gap (nan), n_active, passes,
        inner_steps.
    status_ : str
        Why the selection stopped, a sentence: the value of a `Status`.
    storage_, storage_reason_ : str
        How Gram matrices were held, and why.
    n_features_in_ : int
        Number of columns; of training samples for precomputed kernels.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names, where X was a data frame.

    See Also
    --------
    GroupOMPRegressor : The model for one alpha and number of kernels.
    multikernel.display.SparsityPathDisplay : Draws the scores.

    References
    ----------
    .. [1] Sindhwani, Lozano (2011). Non-parametric group orthogonal matching pursuit
       for sparse learning with multiple kernels. NIPS 24.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import GroupOMPRegressorCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 1]) + X[:, 3] + 0.1 * rng.standard_normal(60)
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = GroupOMPRegressorCV(kernels, cv=3).fit(X, y)
    >>> model.max_kernels_, model.selection_order_
    (2, array([3, 1]))
    """

    def __init__(
        self,
        kernels: Any = None,
        *,
        alphas: Sequence[float] = (1e-4, 1e-3, 1e-2, 1e-1, 1.0),
        max_kernels: int | None = 50,
        cv: Any = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool = True,
        tol: float = 1e-3,
        loss: str | Loss = "squared_error",
        epsilon: float = 0.1,
        subsample: float | int = 1.0,
        normalize: Steps = NORMALIZE,
        fit_intercept: bool = True,
        storage: Storage = "auto",
        max_bytes: int | None = None,
        check_psd: str | bool = "active",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        store(self, locals())
