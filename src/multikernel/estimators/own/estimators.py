"""Any loss, penalty and solver in scikit-learn's contract."""

from collections.abc import Mapping
from typing import Any, ClassVar

from multikernel._validation import NOTHING, AnyOf, Check, InstanceOf
from multikernel.estimators.fit.base import BaseMKL
from multikernel.estimators.fit.parameters import NORMALIZE, store
from multikernel.estimators.fit.solve import Recipe
from multikernel.estimators.search.tasks import ClassifierMKL, RegressorMKL
from multikernel.gram import Storage
from multikernel.gram.normalization import Steps
from multikernel.losses import Loss
from multikernel.regularizers import BlockL1, BlockRegularizer
from multikernel.solvers import Solver, SpicyMKL


class GenericMKL(BaseMKL):
    """A mean loss, a penalty and an algorithm, whatever they are."""

    _checks: ClassVar[Mapping[str, Check]] = {
        "regularizer": AnyOf(
            (NOTHING, InstanceOf(BlockRegularizer, "a penalty object"))
        ),
        "solver": AnyOf((NOTHING, InstanceOf(Solver, "a solver object"))),
    }

    regularizer: BlockRegularizer | None
    solver: Solver | None

    def _build(self, total_weight: float) -> Recipe:
        """Return the recipe; the penalty of a mean loss is total times that of sums."""
        penalty = BlockL1(0.01) if self.regularizer is None else self.regularizer
        summed = penalty.with_alpha(total_weight * penalty.alpha)
        chosen = SpicyMKL() if self.solver is None else self.solver
        return Recipe(self._find_loss(), summed, chosen, 1.0 / total_weight)


class MKLClassifier(GenericMKL, ClassifierMKL):
    r"""Classification with any loss, penalty and solver, those of one's own included.

    Minimises, over functions of the kernels' spaces and an intercept,

    .. math::
        \frac{1}{\sum_i s_i} \sum_i s_i\, \ell\Bigl(y_i,
        \sum_m f_m(x_i) + b\Bigr) + \Omega(\|f_1\|, \dots, \|f_M\|)

    with sample weights s. Every fit ends with a duality gap, a bound on the distance
    of ``objective_`` to the optimum, as far as the solver has one.

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
    loss : {"log_loss", "hinge", "squared_error"} or Loss, default="log_loss"
        Loss, by name or as an object; targets of the squared error are -1 and 1. Only
        "log_loss" has `predict_proba`.
    regularizer : BlockRegularizer or None, default=None
        The penalty on the block norms, beside the mean loss: its ``alpha`` does not
        depend on the number of samples. None stands for ``BlockL1(0.01)``.
    solver : Solver or None, default=None
        The algorithm, with its tolerance. None stands for ``SpicyMKL()``.
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
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Weights of the kernels, non-negative, as the penalty scales them;
        with more than two classes one row per class, as all attributes that say so.
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
        Mean loss plus the penalty.
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

    Raises
    ------
    multikernel.exceptions.UnsupportedProblemError
        From `fit`, if the solver cannot treat loss and penalty.

    See Also
    --------
    multikernel.testing.check_loss : Says whether a loss keeps its promises.
    SpicyMKLClassifier : The sparse model, by its own parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import MKLClassifier
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> from multikernel.losses import HingeLoss
    >>> from multikernel.regularizers import SquaredBlockNorm
    >>> from multikernel.solvers import Alternating
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> penalty, solver = SquaredBlockNorm(0.01, p=1.5), Alternating(tol=1e-4)
    >>> model = MKLClassifier(
    ...     kernels, loss=HingeLoss(), regularizer=penalty, solver=solver
    ... ).fit(X, y)
    >>> bool(model.duality_gap_ <= 1e-4), int(np.argmax(model.kernel_weights_))
    (True, 2)
    """

    def __init__(
        self,
        kernels: Any = None,
        loss: str | Loss = "log_loss",
        *,
        regularizer: BlockRegularizer | None = None,
        solver: Solver | None = None,
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


class MKLRegressor(GenericMKL, RegressorMKL):
    r"""Regression with any loss, penalty and solver, those of one's own included.

    Minimises, over functions of the kernels' spaces and an intercept,

    .. math::
        \frac{1}{\sum_i s_i} \sum_i s_i\, \ell\Bigl(y_i,
        \sum_m f_m(x_i) + b\Bigr) + \Omega(\|f_1\|, \dots, \|f_M\|)

    with sample weights s. Every fit ends with a duality gap, a bound on the distance
    of ``objective_`` to the optimum, as far as the solver has one.

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
    loss : {"squared_error", "epsilon_insensitive"} or Loss, default="squared_error"
        Half the squared error, or the absolute error beyond ``epsilon``, by name; or
        a loss object.
    epsilon : float, default=0.1
        Error that costs nothing, in units of y; for "epsilon_insensitive" only.
    regularizer : BlockRegularizer or None, default=None
        The penalty on the block norms, beside the mean loss: its ``alpha`` does not
        depend on the number of samples. None stands for ``BlockL1(0.01)``.
    solver : Solver or None, default=None
        The algorithm, with its tolerance. None stands for ``SpicyMKL()``.
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
    kernel_weights_ : ndarray of shape (n_kernels,)
        Weights of the kernels, non-negative, as the penalty scales them.
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
        The feasible dual point that proves ``duality_gap_``, zero at samples of weight
        zero. At the optimum f_m is a multiple of K_m times it.
    intercept_ : ndarray of shape (1,)
        The intercept.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that the model uses.
    objective_ : float
        Mean loss plus the penalty.
    duality_gap_ : float
        Relative duality gap.
    n_iter_ : int
        Outer iterations made.
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

    Raises
    ------
    multikernel.exceptions.UnsupportedProblemError
        From `fit`, if the solver cannot treat loss and penalty.

    See Also
    --------
    multikernel.testing.check_loss : Says whether a loss keeps its promises.
    SpicyMKLRegressor : The sparse model, by its own parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import MKLRegressor
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> from multikernel.losses import SquaredLoss
    >>> from multikernel.regularizers import SquaredBlockNorm
    >>> from multikernel.solvers import Alternating
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 2])
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> penalty, solver = SquaredBlockNorm(0.01, p=1.5), Alternating(tol=1e-4)
    >>> model = MKLRegressor(
    ...     kernels, loss=SquaredLoss(), regularizer=penalty, solver=solver
    ... ).fit(X, y)
    >>> bool(model.duality_gap_ <= 1e-4), int(np.argmax(model.kernel_weights_))
    (True, 2)
    """

    def __init__(
        self,
        kernels: Any = None,
        loss: str | Loss = "squared_error",
        *,
        epsilon: float = 0.1,
        regularizer: BlockRegularizer | None = None,
        solver: Solver | None = None,
        normalize: Steps = NORMALIZE,
        fit_intercept: bool = True,
        storage: Storage = "auto",
        max_bytes: int | None = None,
        check_psd: str | bool = "active",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        store(self, locals())
