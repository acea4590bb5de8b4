"""Checks of the constructor parameters of estimators, and the loss that they define."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeGuard

import numpy as np
from sklearn.base import BaseEstimator

from multikernel._typing import Array
from multikernel._validation import (
    COUNT,
    FLAG,
    NON_NEGATIVE,
    NOTHING,
    POSITIVE,
    AnyOf,
    Check,
    InstanceOf,
    Number,
    OneOf,
)
from multikernel.estimators.scale import Scale
from multikernel.exceptions import warn_user
from multikernel.gram import Device, LowRank
from multikernel.gram.costs import STORAGE
from multikernel.losses import (
    COUPLED_LOSSES,
    LOSSES,
    LogisticLoss,
    Loss,
    SoftmaxLoss,
    is_coupled,
)


@dataclass(frozen=True)
class SequenceOf:
    """A check of a nonempty sequence: each of its values must pass `check`."""

    check: Check
    description: str  # the accepted sequences, for messages

    def __call__(self, value: object) -> str | None:
        """Return None if `value` is valid, otherwise the accepted values."""
        array: Any = value
        is_sequence = isinstance(value, Sequence) or getattr(value, "ndim", False)
        if is_sequence and not isinstance(value, str):
            items = list(array)
            if items and all(self.check(item) is None for item in items):
                return None
        return self.description


STRENGTHS = SequenceOf(POSITIVE, "a sequence of finite numbers above 0")


def class_weight_choice(value: object) -> str | None:
    """Return None for a valid ``class_weight``, otherwise the accepted values."""
    if value is None or (isinstance(value, str) and value == "balanced"):
        return None
    if isinstance(value, Mapping) and all(
        POSITIVE(weight) is None for weight in value.values()
    ):
        return None
    return "None, 'balanced', or a dict from class labels to positive weights"


WEIGHT = Number(1e-6, 1e6)
"""Valid penalty weights; kernels are divided by the squares of their weights."""


def penalty_weights_choice(value: object) -> str | None:
    """Return None for valid ``penalty_weights``, otherwise the accepted values."""
    if value is None:
        return None
    weights: list[object] = [None]
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        weights = list(value.values())
    elif isinstance(value, list | tuple | np.ndarray) and np.ndim(value) == 1:
        weights = list(value)
    if all(WEIGHT(weight) is None for weight in weights):
        return None
    return (
        "None, a dict from names of kernels or views to numbers in [1e-06, 1e+06], or "
        "a sequence with such a number for each kernel"
    )


MEMBERS = ("value", "gradient", "conjugate", "dual_bounds")
"""Members by which an object is recognized as a `Loss`."""

STANDARD_QUANTILE = 0.5
"""Default of ``quantile``, also for estimators without this parameter."""


def is_loss(value: object) -> TypeGuard[Loss]:
    """Return whether a value is a loss object, and not a class of losses."""
    return isinstance(value, Loss) and not isinstance(value, type)


@dataclass(frozen=True)
class LossChoice:
    """A check of a ``loss`` parameter: a name in `names`, or a loss object."""

    names: tuple[str, ...]

    def __call__(self, value: object) -> str | None:
        """Return None if `value` is valid, otherwise the accepted values."""
        expected = OneOf(self.names)(value)
        if expected is None or is_loss(value):
            return None
        missing = [name for name in MEMBERS if not hasattr(value, name)]
        # An object with some of the members of a loss was probably meant to be one.
        hint = f" (the object passed has no {', '.join(missing)})" * (
            0 < len(missing) < len(MEMBERS)
        )
        return f"{expected}, or a loss object{hint}"


def find_loss(
    choice: Any, epsilon: float = 1.0, quantile: float = STANDARD_QUANTILE
) -> Loss:
    """Return the loss that `choice` names; loss objects are returned as they are."""
    loss: Loss = choice
    if isinstance(choice, str):
        loss_type: Any = LOSSES[choice]
        # `epsilon` is the value of a loss's length parameter, such as the width of the
        # insensitive zone, if it has one.
        values = {getattr(loss_type, "length", None): epsilon, "quantile": quantile}
        names = [field.name for field in fields(loss_type) if field.name in values]
        loss = loss_type(**{name: float(values[name]) for name in names})
    return loss


@dataclass(frozen=True, eq=False)
class LossSetting:
    """The loss of an estimator, before conversion to the units of the targets."""

    unit: Loss  # the loss for targets with a standard deviation of one
    # Some losses have a parameter with the units of the targets, such as the `epsilon`
    # of EpsilonInsensitiveLoss; `unit.length` is its name. This field is its value,
    # divided by the standard deviation of the targets; None without such a parameter.
    length: float | None

    def at_scale(self, scale: Scale) -> tuple[list[Loss], dict[str, float | Array]]:
        """Return a loss per problem, and a dict of the losses' estimated parameters."""
        # These are `epsilon` in units of the targets, or parameters of a loss of times
        # or of ordered classes. Folds estimate them from their training samples.
        if hasattr(self.unit, "estimated"):
            samples = scale.samples
            loss, params = self.unit.estimated(samples.targets[0], samples.weights)
            return [loss], params
        if self.length is None:
            return [self.unit] * scale.deviations.size, {}
        unit: Any = self.unit
        lengths = scale.scaled("epsilon", self.length, power=1)
        losses = [replace(unit, **{unit.length: float(value)}) for value in lengths]
        return losses, {"epsilon": scale.as_attribute(lengths)}


def loss_of(model: BaseEstimator) -> LossSetting:
    """Return the loss that the parameters of an estimator describe."""
    quantile = vars(model).get("quantile", STANDARD_QUANTILE)
    loss_type: Any = LOSSES[model.loss] if isinstance(model.loss, str) else None
    if not hasattr(loss_type, "length"):
        return LossSetting(find_loss(model.loss, quantile=quantile), None)
    length = model.epsilon if model.epsilon is not None else loss_type.standard_length
    if loss_type.length == "delta" and not length > 0.0:
        owner = type(model).__name__
        raise ValueError(
            f"{owner}: epsilon must be above 0 with loss={model.loss!r}, "
            f"got {length!r}."
        )
    return LossSetting(find_loss(model.loss, length), float(length))


def warn_unused(model: BaseEstimator) -> None:
    """Warn if ``epsilon`` or ``quantile`` is set, but the loss does not use it."""
    loss_type: Any = LOSSES[model.loss] if isinstance(model.loss, str) else None
    names = [] if loss_type is None else [field.name for field in fields(loss_type)]
    unused = {
        "epsilon": getattr(model, "epsilon", None) and not hasattr(loss_type, "length"),
        "quantile": "quantile" not in names
        and getattr(model, "quantile", STANDARD_QUANTILE) != STANDARD_QUANTILE,
    }
    for name in [name for name, is_set in unused.items() if is_set]:
        warn_user(
            f"{type(model).__name__}: {name}={getattr(model, name):g} has no effect "
            f"with loss={model.loss!r}: choose a loss that uses {name}, or remove "
            f"{name}."
        )


def find_joint_loss(loss: Loss) -> Loss | None:
    """Return the loss of all classes jointly that generalizes `loss`, or None."""
    if is_coupled(loss):
        return loss
    for name, joint_loss in COUPLED_LOSSES.items():
        if type(loss) is LOSSES[name]:
            return joint_loss()
    # Without a joint loss, the losses of each class against the rest are summed.
    return None


def shares_selection(model: BaseEstimator) -> bool:
    """Return whether all outputs are solved as one problem, and share their kernels."""
    if hasattr(model, "selection"):
        return bool(model.selection == "shared")
    # An estimator without a parameter ``selection`` solves one problem if its loss is
    # an object that uses all classes at once.
    loss = getattr(model, "loss", None)
    return is_loss(loss) and is_coupled(loss)


def is_likelihood(choice: object) -> bool:
    """Return whether a ``loss`` parameter defines a model of probabilities."""
    return isinstance(choice, LogisticLoss | SoftmaxLoss) or choice == "log_loss"


# With "trace", the constant part of wide Gaussians dominates their diagonal. Scores of
# Gaussians of widths 1 and 5 are 0.005 +- 0.005 lower with "trace":
# ``benchmarks/defaults`` (normalize).
NORMALIZE = "variance"
"""The default ``normalize`` of every estimator but the unweighted sum."""

# "variance" scales up almost constant kernels, and a sum cannot lower their weights.
# On three data sets, AUCs are 0.833, 0.971 and 0.887 with "trace", and 0.809, 0.967 and
# 0.887 with "variance": ``benchmarks/defaults`` (sums).
SUM_NORMALIZE = "trace"
"""The default ``normalize`` of the unweighted sum."""

_GRID = AnyOf((NOTHING, STRENGTHS))

SIMPLEST = "one_standard_error"
"""Value of ``refit`` for the simplest model within one standard error of the best."""

CHECKS: Mapping[str, Check] = {
    "C": AnyOf((NOTHING, POSITIVE)),
    "Cs": _GRID,
    "alpha": POSITIVE,
    "alphas": _GRID,
    "n_alphas": COUNT,
    "alpha_min_ratio": Number(0.0, 1.0, above=True),
    "max_kernels": AnyOf((NOTHING, COUNT)),
    "selection": OneOf(("shared", "separate")),
    "epsilon": AnyOf((NOTHING, NON_NEGATIVE)),
    "quantile": Number(0.0, 1.0, above=True, below=True),
    "class_weight": class_weight_choice,
    "penalty_weights": penalty_weights_choice,
    "fit_intercept": FLAG,
    "tol": POSITIVE,
    "max_iter": COUNT,
    "storage": AnyOf(
        (OneOf(STORAGE), InstanceOf((LowRank, Device), "a LowRank or Device"))
    ),
    "max_bytes": AnyOf((NOTHING, COUNT)),
    "n_jobs": AnyOf((NOTHING, Number(1, integer=True), Number(high=-1, integer=True))),
    "refit": AnyOf((FLAG, OneOf((SIMPLEST,)))),
    "intervals": FLAG,
    "max_search_rows": AnyOf((NOTHING, COUNT, OneOf(("auto",)))),
    "verbose": AnyOf((FLAG, Number(0, integer=True))),
    "random_state": AnyOf(
        (
            NOTHING,
            Number(0, integer=True),
            InstanceOf(np.random.RandomState, "a RandomState"),
        )
    ),
}
"""Checks by parameter; an estimator class may override them in `_checks`."""
