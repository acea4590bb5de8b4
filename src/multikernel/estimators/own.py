"""Estimators with any loss, penalty and solver in the API of scikit-learn."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from multikernel._validation import NOTHING, AnyOf, Check, InstanceOf
from multikernel.estimators.grams.method import GramMethod
from multikernel.estimators.grams.recipe import Recipe
from multikernel.estimators.grams.source import gram_source
from multikernel.estimators.grams.training import Training
from multikernel.estimators.parameters import NORMALIZE, loss_of
from multikernel.estimators.scale import CLASS_ALPHA, TARGET_ALPHA, target_scale
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.gram import Storage
from multikernel.gram.normalization import Steps
from multikernel.losses import Loss
from multikernel.regularizers import BlockL1, BlockRegularizer
from multikernel.solvers import Solver, SpicyMKL

CHECKS: Mapping[str, Check] = {
    "regularizer": AnyOf((NOTHING, InstanceOf(BlockRegularizer, "a penalty object"))),
    "solver": AnyOf((NOTHING, InstanceOf(Solver, "a solver object"))),
}


@dataclass(frozen=True, eq=False)
class OwnMethod(GramMethod):
    """A method that minimizes a mean loss with any penalty, by any solver."""

    # Added to the mean loss; None means the sum of block norms.
    regularizer: BlockRegularizer | None
    solver: Solver
    alpha: float  # strength of the sum of block norms

    def recipe(self, data: Training) -> Recipe:
        """Return the recipe, with penalties times the total weight of the samples."""
        total = data.samples.total_weight
        scale = target_scale(self.source.owner, data.samples, self.loss.unit)
        losses, params = self.loss.at_scale(scale)
        penalties: list[BlockRegularizer]
        if self.regularizer is None:
            alphas = scale.scaled("alpha", self.alpha, scale.degree - 1)
            params["alpha"] = scale.as_attribute(alphas)
            penalties = [BlockL1(alpha) for alpha in alphas.tolist()]
        else:
            penalties = [self.regularizer] * len(losses)
        scaled = [p.with_alpha(total * p.alpha) for p in penalties]
        return Recipe(
            losses, scaled, self.solver, objective_scale=1.0 / total, params=params
        )

    def with_unit_strength(self) -> "OwnMethod":
        """Return the method with a strength of one."""
        penalty = self.regularizer and self.regularizer.with_alpha(1.0)
        return replace(self, regularizer=penalty, alpha=1.0)


@dataclass(eq=False, repr=False)
class OwnParameters:
    """The parameters of estimators with any loss, penalty and solver."""

    _checks = CHECKS

    kernels: Any = None
    _: KW_ONLY
    regularizer: BlockRegularizer | None = None
    solver: Solver | None = None
    normalize: Steps = NORMALIZE
    penalty_weights: Any = None
    fit_intercept: bool = True
    storage: Storage = "auto"
    max_bytes: int | None = None
    verbose: int = 0
    random_state: Any = None

    def _method(self) -> OwnMethod:
        source = gram_source(self, takes_columns=True)
        alpha = CLASS_ALPHA if is_classifier(self) else TARGET_ALPHA
        solver = self.solver or SpicyMKL()
        return OwnMethod(source, loss_of(self), self.regularizer, solver, alpha)

    @property
    def tol(self) -> float:
        """Relative duality gap at which the solver stops; nan if it has no ``tol``."""
        tol = getattr(self.solver or SpicyMKL(), "tol", None)
        return float(tol) if isinstance(tol, Real) else np.nan


@dataclass(eq=False, repr=False)
class MKLClassifier(OwnParameters, ClassifierMKL):
    r"""Classification with any loss, penalty and solver, including your own.

    The fit minimizes, over functions of the kernels' spaces and an intercept,

    .. math::
        \frac{1}{\sum_i s_i} \sum_i s_i\, \ell\Bigl(y_i,
        \sum_m f_m(x_i) + b\Bigr) + \Omega(\|f_1\|, \dots, \|f_M\|)

    with sample weights s. Every fit ends with a duality gap, a bound on the distance
    of ``objective_`` to the optimum, if the solver has one.

    Parameters
    ----------
    kernels : Kernel, list, dict, KernelDictionary, "precomputed" or None, default=None
        Candidate kernels, also as functions or names of `sklearn.metrics.pairwise`.
        None selects `median_dictionary` (`sequence_dictionary` for text); standardize
        numeric columns. A dict maps views to columns, or (columns, kernels): see
        `multikernel.kernels.Views`. For "precomputed" see `stack_grams`.
    loss : str or Loss, default="log_loss"
        "log_loss", "hinge", "squared_hinge", "squared_error" (targets of -1 and 1) or a
        loss object. `predict_proba` requires "log_loss".
    regularizer : BlockRegularizer or None, default=None
        Penalty on the block norms, added to the mean loss, so its ``alpha`` does not
        depend on the number of samples. None means ``BlockL1(0.01)``.
    solver : Solver or None, default=None
        Solver with its tolerance. None means ``SpicyMKL()``.
    normalize : str, Normalizer, list of str and Normalizer, or None, default="variance"
        Normalization of the kernels: unit "variance" in feature space, a mean diagonal
        of one ("trace"), "cosine" similarity, "center" only, or a list of such steps.
    penalty_weights : dict, sequence of float or None, default=None
        Weights w_m > 0, one per kernel or by names of kernels and views (others are 1):
        the penalty contains w_m ‖f_m‖ in place of ‖f_m‖. ``kernel_weights_`` and
        ``block_norms_`` then refer to normalized kernels divided by w_m².
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
    storage : str, LowRank or Device, default="auto"
        Storage of the Gram matrices: "auto" (fastest by prediction), "dense", "dense32"
        (single precision), "lazy" (recomputed), "low_rank" or "by_kernel" (factors),
        "device" (accelerator) or an object, see `multikernel.gram.build_stack`.
    max_bytes : int, default=None
        Maximum bytes of the Gram matrices; None allows half of the free memory.
    verbose : int, default=0
        If positive, print one line per iteration to standard error.
    random_state : int, RandomState or None, default=None
        Seed of subsamples, and of the tests of precomputed matrices for symmetry.
    class_weight : dict, "balanced" or None, default=None
        Factor of the sample weights of each class; "balanced" makes class totals equal.

    Attributes
    ----------
    alpha_ : float or ndarray of shape (n_outputs,)
        Strength of the default penalty; only if ``regularizer`` is None.
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Nonnegative kernel weights in the scale of the penalty; with more than two
        classes one row per class.
    block_norms_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Norm of each function f_m in the space of its normalized kernel.
    variance_shares_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Share of each term in the variance of training decision values; may be negative.
    view_weights_, view_shares_ : dict
        Sums of weights and variance shares of each view, if there are views.
        ``kernel_views_`` has the view of each kernel, ``view_columns_`` the columns.
    category_features_, categories_ : ndarray, list of ndarray
        Positions of text columns compared as categories, and their training values.
    active_kernels_ : ndarray of shape (n_active,)
        Indices of the kernels with a nonzero weight for at least one class, ascending.
    kernel_names_ : list of str
        Names of all kernels.
    dual_coef_ : ndarray of shape (n_samples,) or (n_classes, n_samples)
        Dual point a that proves ``duality_gap_``; optimal f_m are multiples of K_m a.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples with a nonzero coefficient.
    objective_ : float or ndarray of shape (n_classes,)
        Mean loss plus the penalty.
    duality_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap of the model; the fit stops when it is at most ``tol``.
    n_iter_ : int or ndarray of shape (n_classes,)
        Number of outer iterations, at least one.
    history_ : structured ndarray of shape (n_lines,)
        One record per outer iteration: class (``output``) and fields of `Progress`.
    status_, status_message_ : str
        Why the worst class stopped: a `Status` such as "converged", and its sentence.
    n_kernels_ : int
        Number of candidate kernels.
    fit_info_ : dict
        Details: "solver" names the algorithms, "storage" and "storage_reason" refer to
        the Gram matrices, "left_out" says what the default kernels omit, and why.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of columns of X; for precomputed kernels, number of training samples.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names; only if X was a data frame.

    Raises
    ------
    multikernel.exceptions.UnsupportedProblemError
        From `fit`, if the solver cannot treat loss and penalty.

    See Also
    --------
    multikernel.testing.check_loss : Checks a loss of your own.
    SpicyMKLClassifier : The sparse model with its own parameters.

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

    loss: str | Loss = "log_loss"
    _: KW_ONLY
    class_weight: Any = None


@dataclass(eq=False, repr=False)
class MKLRegressor(OwnParameters, RegressorMKL):
    r"""Regression with any loss, penalty and solver, including your own.

    The fit minimizes, over functions of the kernels' spaces and an intercept,

    .. math::
        \frac{1}{\sum_i s_i} \sum_i s_i\, \ell\Bigl(y_i,
        \sum_m f_m(x_i) + b\Bigr) + \Omega(\|f_1\|, \dots, \|f_M\|)

    with sample weights s. Every fit ends with a duality gap, a bound on the distance
    of ``objective_`` to the optimum, if the solver has one.

    Parameters
    ----------
    kernels : Kernel, list, dict, KernelDictionary, "precomputed" or None, default=None
        Candidate kernels, also as functions or names of `sklearn.metrics.pairwise`.
        None selects `median_dictionary` (`sequence_dictionary` for text); standardize
        numeric columns. A dict maps views to columns, or (columns, kernels): see
        `multikernel.kernels.Views`. For "precomputed" see `stack_grams`.
    loss : str or Loss, default="squared_error"
        "squared_error", "epsilon_insensitive", "quantile", "huber", "poisson" (counts),
        "gamma" (positive amounts) or a loss object.
    regularizer : BlockRegularizer or None, default=None
        Penalty on the block norms, added to the mean loss, so its ``alpha`` does not
        depend on the number of samples. None means `BlockL1` with the default alpha of
        `SpicyMKLRegressor`: 0.02 times the standard deviation of y for the squared
        loss.
    solver : Solver or None, default=None
        Solver with its tolerance. None means ``SpicyMKL()``.
    normalize : str, Normalizer, list of str and Normalizer, or None, default="variance"
        Normalization of the kernels: unit "variance" in feature space, a mean diagonal
        of one ("trace"), "cosine" similarity, "center" only, or a list of such steps.
    penalty_weights : dict, sequence of float or None, default=None
        Weights w_m > 0, one per kernel or by names of kernels and views (others are 1):
        the penalty contains w_m ‖f_m‖ in place of ‖f_m‖. ``kernel_weights_`` and
        ``block_norms_`` then refer to normalized kernels divided by w_m².
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
    storage : str, LowRank or Device, default="auto"
        Storage of the Gram matrices: "auto" (fastest by prediction), "dense", "dense32"
        (single precision), "lazy" (recomputed), "low_rank" or "by_kernel" (factors),
        "device" (accelerator) or an object, see `multikernel.gram.build_stack`.
    max_bytes : int, default=None
        Maximum bytes of the Gram matrices; None allows half of the free memory.
    verbose : int, default=0
        If positive, print one line per iteration to standard error.
    random_state : int, RandomState or None, default=None
        Seed of subsamples, and of the tests of precomputed matrices for symmetry.
    epsilon : float or None, default=None
        Error in standard deviations of y: "epsilon_insensitive" ignores smaller errors
        (None means 0.1), "huber" is linear beyond it (None means 0.7).

    Attributes
    ----------
    alpha_ : float or ndarray of shape (n_outputs,)
        Strength of the default penalty; only if ``regularizer`` is None.
    epsilon_ : float or ndarray of shape (n_outputs,)
        Epsilon in the units of y; only for "epsilon_insensitive" and "huber".
    kernel_weights_ : ndarray of shape (n_kernels,)
        Nonnegative kernel weights in the scale of the penalty.
    block_norms_ : ndarray of shape (n_kernels,)
        Norm of each function f_m in the space of its normalized kernel.
    variance_shares_ : ndarray of shape (n_kernels,)
        Share of each term in the variance of training decision values; may be negative.
    view_weights_, view_shares_ : dict
        Sums of weights and variance shares of each view, if there are views.
        ``kernel_views_`` has the view of each kernel, ``view_columns_`` the columns.
    category_features_, categories_ : ndarray, list of ndarray
        Positions of text columns compared as categories, and their training values.
    active_kernels_ : ndarray of shape (n_active,)
        Indices of the kernels with a nonzero weight, ascending.
    kernel_names_ : list of str
        Names of all kernels.
    dual_coef_ : ndarray of shape (n_samples,)
        Feasible dual point a that proves ``duality_gap_``, zero at samples of weight
        zero. At the optimum f_m is a multiple of K_m a.
    intercept_ : ndarray of shape (1,)
        Intercept.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples with a nonzero coefficient.
    objective_ : float
        Mean loss plus the penalty.
    duality_gap_ : float
        Relative duality gap of the model; the fit stops when it is at most ``tol``.
    n_iter_ : int
        Number of outer iterations, at least one.
    history_ : structured ndarray of shape (n_lines,)
        One record per outer iteration: ``output`` (0) and fields of `Progress`.
    status_, status_message_ : str
        Why the solver stopped: a `Status` such as "converged", and its sentence.
    n_kernels_ : int
        Number of candidate kernels.
    fit_info_ : dict
        Details: "solver" names the algorithms, "storage" and "storage_reason" refer to
        the Gram matrices, "left_out" says what the default kernels omit, and why.
    n_features_in_ : int
        Number of columns of X; for precomputed kernels, number of training samples.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names; only if X was a data frame.

    Raises
    ------
    multikernel.exceptions.UnsupportedProblemError
        From `fit`, if the solver cannot treat loss and penalty.

    See Also
    --------
    multikernel.testing.check_loss : Checks a loss of your own.
    SpicyMKLRegressor : The sparse model with its own parameters.

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

    loss: str | Loss = "squared_error"
    _: KW_ONLY
    epsilon: float | None = None
