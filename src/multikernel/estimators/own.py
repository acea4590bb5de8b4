"""Estimators with any loss, penalty and solver in the API of scikit-learn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
from sklearn.base import is_classifier

from multikernel._typing import Array
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

    # Penalty added to the mean loss; None means `alpha` times the sum of block norms.
    regularizer: BlockRegularizer | None
    solver: Solver
    alpha: float  # regularization strength if `regularizer` is None

    def recipe(self, data: Training) -> Recipe:
        """Return the problem: a loss and a penalty for each output, and the solver."""
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
        """Return the method with a regularization strength of one."""
        penalty = self.regularizer and self.regularizer.with_alpha(1.0)
        return replace(self, regularizer=penalty, alpha=1.0)


@dataclass(eq=False, repr=False, kw_only=True)
class OwnParameters:
    """The parameters of estimators with any loss, penalty and solver."""

    _checks = CHECKS

    regularizer: BlockRegularizer | None = None
    solver: Solver | None = None
    normalize: Steps = NORMALIZE
    penalty_weights: Mapping[str, float] | Sequence[float] | Array | None = None
    fit_intercept: bool = True
    storage: Storage = "auto"
    max_bytes: int | None = None
    verbose: int = 0

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
    """Classification with any loss, penalty and solver, including your own.

    The fit minimizes the weighted mean loss plus the penalty. Other parameters and
    attributes are those of `SpicyMKLClassifier`, but default kernels have no
    interactions, and ``alpha_`` exists only with ``regularizer=None``. `fit` raises
    `multikernel.exceptions.UnsupportedProblemError` if the solver does not support the
    loss with this penalty, and warns if the duality gap exceeds the solver's tolerance.

    Parameters
    ----------
    loss : str or Loss, default="log_loss"
        "log_loss", "hinge", "squared_hinge", "squared_error" (targets of -1 and 1) or a
        loss object. `predict_proba` requires "log_loss".
    regularizer : BlockRegularizer or None, default=None
        Penalty on the block norms, added to the mean loss. None means
        ``BlockL1(0.01)``.
    solver : Solver or None, default=None
        Solver with its tolerance. None means ``SpicyMKL()``.

    Examples
    --------
    >>> from multikernel import MKLClassifier
    >>> from multikernel.datasets import load
    >>> from multikernel.regularizers import BlockElasticNet
    >>> data = load("iris")
    >>> model = MKLClassifier(loss="hinge", regularizer=BlockElasticNet(0.01))
    >>> model.fit(data.X, data.y).score(data.X, data.y) > 0.95
    True
    """

    loss: str | Loss = "log_loss"


@dataclass(eq=False, repr=False)
class MKLRegressor(OwnParameters, RegressorMKL):
    """Regression with any loss, penalty and solver, including your own.

    The fit minimizes the weighted mean loss plus the penalty. Other parameters and
    attributes are those of `SpicyMKLRegressor`, but default kernels have no
    interactions, and ``alpha_`` exists only with ``regularizer=None``. `fit` raises
    `multikernel.exceptions.UnsupportedProblemError` if the solver does not support the
    loss with this penalty, and warns if the duality gap exceeds the solver's tolerance.

    Parameters
    ----------
    loss : str or Loss, default="squared_error"
        "squared_error", "epsilon_insensitive", "quantile" (the median), "huber",
        "poisson" (counts), "gamma" (positive amounts) or a loss object, such as
        ``PinballLoss(0.9)`` for another quantile.
    regularizer : BlockRegularizer or None, default=None
        Penalty on the block norms, added to the mean loss. None means `BlockL1` with
        the default strength of `SpicyMKLRegressor`.
    solver : Solver or None, default=None
        Solver with its tolerance. None means ``SpicyMKL()``.

    Examples
    --------
    >>> from multikernel import MKLRegressor
    >>> from multikernel.datasets import load
    >>> from multikernel.regularizers import BlockElasticNet
    >>> data = load("diabetes")
    >>> model = MKLRegressor(loss="huber", regularizer=BlockElasticNet(0.02))
    >>> model.fit(data.X, data.y).score(data.X, data.y) > 0.4
    True
    """

    loss: str | Loss = "squared_error"
