"""Any loss, penalty and solver in scikit-learn's contract."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from multikernel._validation import NOTHING, AnyOf, Check, InstanceOf
from multikernel.estimators.descriptions import documented
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
    """A mean loss with any penalty, by any solver.

    Parameters
    ----------
    source, loss
        As in `GramMethod`.
    regularizer : BlockRegularizer or None
        The penalty of the mean loss; the sum of block norms when None.
    solver : Solver
        The algorithm.
    alpha : float
        The strength of that sum.
    """

    regularizer: BlockRegularizer | None
    solver: Solver
    alpha: float

    def recipe(self, data: Training) -> Recipe:
        """Return the recipe; a mean loss has total times the penalty of a sum."""
        total = data.samples.total_weight
        scale = target_scale(self.source.owner, data.samples, self.loss.unit)
        losses, numbers = self.loss.on(scale)
        penalties: list[BlockRegularizer]
        if self.regularizer is None:
            alphas = scale.numbers("alpha", self.alpha, scale.degree - 1)
            numbers["alpha"] = scale.published(alphas)
            penalties = [BlockL1(alpha) for alpha in alphas.tolist()]
        else:
            penalties = [self.regularizer] * len(losses)
        summed = [penalty.with_alpha(total * penalty.alpha) for penalty in penalties]
        return Recipe(
            losses, summed, self.solver, objective_scale=1.0 / total, numbers=numbers
        )

    def along_path(self) -> "OwnMethod":
        """Return the method at a strength of one."""
        penalty = self.regularizer and self.regularizer.with_alpha(1.0)
        return replace(self, regularizer=penalty, alpha=1.0)


@dataclass(eq=False, repr=False)
class OwnParameters:
    """The parameters of learning with any loss, penalty and solver, and its method."""

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
        """Relative duality gap that the solver stops at; nan if it has no ``tol``."""
        tol = getattr(self.solver or SpicyMKL(), "tol", None)
        return float(tol) if isinstance(tol, Real) else np.nan


@documented("mean loss, classifiers")
@dataclass(eq=False, repr=False)
class MKLClassifier(OwnParameters, ClassifierMKL):
    r"""Classification with any loss, penalty and solver, including your own.

    Minimizes, over functions of the kernels' spaces and an intercept,

    .. math::
        \frac{1}{\sum_i s_i} \sum_i s_i\, \ell\Bigl(y_i,
        \sum_m f_m(x_i) + b\Bigr) + \Omega(\|f_1\|, \dots, \|f_M\|)

    with sample weights s. Every fit ends with a duality gap, a bound on the distance
    of ``objective_`` to the optimum, if the solver has one.

    Parameters
    ----------
    regularizer : BlockRegularizer or None, default=None
        Penalty on the block norms, added to the mean loss, so its ``alpha`` does not
        depend on the number of samples. None means ``BlockL1(0.01)``.
    solver : Solver or None, default=None
        Solver with its tolerance. None means ``SpicyMKL()``.

    Attributes
    ----------
    alpha_ : float or ndarray of shape (n_outputs,)
        Strength of the default penalty; only if ``regularizer`` is None.
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Nonnegative kernel weights in the scale of the penalty; with more than two
        classes one row per class.
    objective_ : float or ndarray of shape (n_classes,)
        Mean loss plus the penalty.

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


@documented("mean loss, regressors")
@dataclass(eq=False, repr=False)
class MKLRegressor(OwnParameters, RegressorMKL):
    r"""Regression with any loss, penalty and solver, including your own.

    Minimizes, over functions of the kernels' spaces and an intercept,

    .. math::
        \frac{1}{\sum_i s_i} \sum_i s_i\, \ell\Bigl(y_i,
        \sum_m f_m(x_i) + b\Bigr) + \Omega(\|f_1\|, \dots, \|f_M\|)

    with sample weights s. Every fit ends with a duality gap, a bound on the distance
    of ``objective_`` to the optimum, if the solver has one.

    Parameters
    ----------
    regularizer : BlockRegularizer or None, default=None
        Penalty on the block norms, added to the mean loss, so its ``alpha`` does not
        depend on the number of samples. None means `BlockL1` with the default alpha of
        `SpicyMKLRegressor`: 0.02 times the standard deviation of y for the squared
        loss.
    solver : Solver or None, default=None
        Solver with its tolerance. None means ``SpicyMKL()``.

    Attributes
    ----------
    alpha_ : float or ndarray of shape (n_outputs,)
        Strength of the default penalty; only if ``regularizer`` is None.
    epsilon_
    kernel_weights_ : ndarray of shape (n_kernels,)
        Nonnegative kernel weights in the scale of the penalty.
    dual_coef_ : ndarray of shape (n_samples,)
        Feasible dual point a that proves ``duality_gap_``, zero at samples of weight
        zero. At the optimum f_m is a multiple of K_m a.
    objective_ : float
        Mean loss plus the penalty.

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
