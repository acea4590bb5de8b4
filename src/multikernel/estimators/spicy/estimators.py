"""Sparse multiple kernel learning by SpicyMKL."""

from typing import Any

from multikernel.estimators.fit.parameters import NORMALIZE, store
from multikernel.estimators.search.tasks import ClassifierMKL, RegressorMKL
from multikernel.estimators.spicy.base import SparseMKL
from multikernel.gram import Storage
from multikernel.gram.normalization import Steps
from multikernel.losses import Loss


class SpicyMKLClassifier(SparseMKL, ClassifierMKL):
    r"""Sparse multiple kernel classification, solved by SpicyMKL.

    Minimises, over functions of the kernels' spaces and an intercept,

    .. math::
        \frac{1}{\sum_i s_i} \sum_i s_i\, \ell\Bigl(y_i,
        \sum_m f_m(x_i) + b\Bigr) + \alpha \sum_m \Bigl(r \|f_m\|
        + \frac{1 - r}{2} \|f_m\|^2\Bigr)

    with sample weights s and ``r = l1_ratio``. Most functions f_m are exactly zero:
    the kernels that are left are the model. Every fit ends with a duality gap, a bound
    on the distance of ``objective_`` to the optimum.

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
        Strength of the penalty, positive. At ``alpha_max`` and above no kernel enters;
        with kernels of unit variance that is at most 1/2 for the logistic loss.
        The C of [1]_ is n_samples times alpha on the same kernels.
    loss : {"log_loss", "hinge", "squared_error"} or Loss, default="log_loss"
        Loss, by name or as an object; targets of the squared error are -1 and 1. Only
        "log_loss" has `predict_proba`.
    l1_ratio : float, default=1.0
        Share of the block l1 norm in [0, 1]; below 1 kernels that carry the same
        information are kept together.
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
    max_iter : int, default=100
        Outer iterations, each of which passes over all kernels, at most.
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
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Weights of the kernels, non-negative, with sum one (zero if no kernel entered);
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
        The feasible dual point that proves ``duality_gap_``, zero at samples of weight
        zero. At the optimum f_m is a multiple of K_m times it.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercept.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that the model uses.
    objective_ : float or ndarray of shape (n_classes,)
        Mean loss plus alpha times the penalty.
    duality_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap.
    n_iter_ : int or ndarray of shape (n_classes,)
        Outer iterations made.
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

    _takes_partitions = True

    def __init__(
        self,
        kernels: Any = None,
        alpha: float = 0.01,
        *,
        loss: str | Loss = "log_loss",
        l1_ratio: float = 1.0,
        selection: str = "separate",
        normalize: Steps = NORMALIZE,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int = 100,
        class_weight: Any = None,
        storage: Storage = "auto",
        max_bytes: int | None = None,
        check_psd: str | bool = "active",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        store(self, locals())


class SpicyMKLRegressor(SparseMKL, RegressorMKL):
    r"""Sparse multiple kernel regression, solved by SpicyMKL.

    Minimises, over functions of the kernels' spaces and an intercept,

    .. math::
        \frac{1}{\sum_i s_i} \sum_i s_i\, \ell\Bigl(y_i,
        \sum_m f_m(x_i) + b\Bigr) + \alpha \sum_m \Bigl(r \|f_m\|
        + \frac{1 - r}{2} \|f_m\|^2\Bigr)

    with sample weights s and ``r = l1_ratio``. Most functions f_m are exactly zero:
    the kernels that are left are the model. Every fit ends with a duality gap, a bound
    on the distance of ``objective_`` to the optimum.

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
        Strength of the penalty, positive, in the units of y for the squared loss:
        with kernels of mean diagonal one no kernel enters at the standard deviation
        of y or above.
    loss : {"squared_error", "epsilon_insensitive"} or Loss, default="squared_error"
        Half the squared error, or the absolute error beyond ``epsilon``, by name; or
        a loss object.
    epsilon : float, default=0.1
        Error that costs nothing, in units of y; for "epsilon_insensitive" only.
    l1_ratio : float, default=1.0
        Share of the block l1 norm in [0, 1]; below 1 kernels that carry the same
        information are kept together.
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
    max_iter : int, default=100
        Outer iterations, each of which passes over all kernels, at most.
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
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_targets, n_kernels)
        Weights of the kernels, non-negative, with sum one (zero if no kernel entered);
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
        The feasible dual point that proves ``duality_gap_``, zero at samples of weight
        zero. At the optimum f_m is a multiple of K_m times it.
    intercept_ : ndarray of shape (n_targets,)
        The intercepts.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that the model uses.
    objective_ : float or ndarray of shape (n_targets,)
        Mean loss plus alpha times the penalty.
    duality_gap_ : float or ndarray of shape (n_targets,)
        Relative duality gap.
    n_iter_ : int or ndarray of shape (n_targets,)
        Outer iterations made.
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

    _takes_partitions = True

    def __init__(
        self,
        kernels: Any = None,
        alpha: float = 0.01,
        *,
        loss: str | Loss = "squared_error",
        epsilon: float = 0.1,
        l1_ratio: float = 1.0,
        selection: str = "shared",
        normalize: Steps = NORMALIZE,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int = 100,
        storage: Storage = "auto",
        max_bytes: int | None = None,
        check_psd: str | bool = "active",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        store(self, locals())
