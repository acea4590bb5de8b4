"""Greedy selection of kernels by MKL-GOMP."""

from typing import Any

from multikernel.estimators.fit.parameters import NORMALIZE, store
from multikernel.estimators.greedy.base import GreedyClassifier, GreedyRegressor
from multikernel.gram import Storage
from multikernel.gram.normalization import Steps
from multikernel.losses import Loss


class GroupOMPClassifier(GreedyClassifier):
    r"""Classification on greedily selected kernels, by MKL-GOMP [1]_.

    One kernel after the other is added to the model, the one that fits best what the
    model does not yet explain; after each the model is fitted again on the sum of the
    selected kernels G,

    .. math::
        \min_{f, b} \frac{1}{\sum_i s_i} \sum_i s_i\, \ell\Bigl(y_i,
        \sum_{m \in G} f_m(x_i) + b\Bigr)
        + \frac{\alpha}{2} \sum_{m \in G} \|f_m\|^2

    with sample weights s. Targets are -1 and 1; with more than two classes there is
    one column of them per class, and one selection for all: a kernel's improvement is
    summed over the classes.

    The number of kernels is exactly what is asked for, and every prefix of the
    selection is a model: `prefix` returns it, `staged_predict` predicts with all.

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
    alpha : float, default=0.01
        Strength of the ridge penalty on the mean loss, positive: the lambda of [1]_.
    max_kernels : int or None, default=None
        Kernels to select at most; only `tol` stops the selection when None.
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
        Indices of the selected kernels, ascending.
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
        Always nan: refits are exact, but the selection is greedy and has no
        certificate; see `multikernel.diagnostics.recovery_coefficient`.
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

    def __init__(
        self,
        kernels: Any = None,
        alpha: float = 0.01,
        *,
        max_kernels: int | None = None,
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


class GroupOMPRegressor(GreedyRegressor):
    r"""Regression on greedily selected kernels, by MKL-GOMP [1]_.

    One kernel after the other is added to the model, the one that fits best what the
    model does not yet explain; after each the model is fitted again on the sum of the
    selected kernels G,

    .. math::
        \min_{f, b} \frac{1}{\sum_i s_i} \sum_i s_i\, \ell\Bigl(y_i,
        \sum_{m \in G} f_m(x_i) + b\Bigr)
        + \frac{\alpha}{2} \sum_{m \in G} \|f_m\|^2

    with sample weights s. Several targets share one selection: losses, penalties and
    improvements are summed over them, so bring them to comparable scales.

    The number of kernels is exactly what is asked for, and every prefix of the
    selection is a model: `prefix` returns it, `staged_predict` predicts with all.

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
    alpha : float, default=0.01
        Strength of the ridge penalty on the mean loss, positive: the lambda of [1]_.
    max_kernels : int or None, default=None
        Kernels to select at most; only `tol` stops the selection when None.
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
        Indices of the selected kernels, ascending.
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
        Always nan: refits are exact, but the selection is greedy and has no
        certificate; see `multikernel.diagnostics.recovery_coefficient`.
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

    def __init__(
        self,
        kernels: Any = None,
        alpha: float = 0.01,
        *,
        max_kernels: int | None = None,
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
