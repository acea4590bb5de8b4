"""What the constructor parameters of estimators may be, and which loss they mean."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

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
from multikernel.gram import LowRank, MemoryMapped
from multikernel.gram.build import STORAGE
from multikernel.gram.definite import CHOICES
from multikernel.gram.normalization import STEPS, Normalizer
from multikernel.losses import (
    COUPLED_LOSSES,
    LOSSES,
    EpsilonInsensitiveLoss,
    LogisticLoss,
    Loss,
    SoftmaxLoss,
    is_coupled,
)


def normalization_steps(value: Any) -> str | None:
    """Check a ``normalize`` parameter: None, a step, or a sequence of steps."""
    steps = (value,) if isinstance(value, str | Normalizer) else value
    if value is None or (
        isinstance(steps, list | tuple)
        and all(isinstance(step, Normalizer) or step in STEPS for step in steps)
    ):
        return None
    return (
        f"None, one of {', '.join(map(repr, STEPS))}, a normaliser such as "
        "TailNormalizer(4), or a sequence of these"
    )


def storage_choice(value: Any) -> str | None:
    """Check a ``storage`` parameter: a name, or the settings of one."""
    if isinstance(value, LowRank | MemoryMapped):
        return None
    expected = OneOf(STORAGE)(value)
    return None if expected is None else f"{expected}, a LowRank or a MemoryMapped"


@dataclass(frozen=True)
class SequenceOf:
    """A sequence of at least one value, each of which passes a check.

    Parameters
    ----------
    check : Check
        What every value must pass.
    description : str
        What to call the sequence in a message.
    """

    check: Check
    description: str

    def __call__(self, value: object) -> str | None:
        """Return what was expected, or None."""
        if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
            given = list(value)
            if given and all(self.check(item) is None for item in given):
                return None
        return self.description


POSITIVE_SEQUENCE = SequenceOf(POSITIVE, "a sequence of finite numbers above 0")


def class_weight_choice(value: Any) -> str | None:
    """Check a ``class_weight`` parameter: None, "balanced" or a dict."""
    if value is None or (isinstance(value, str) and value == "balanced"):
        return None
    if isinstance(value, Mapping) and all(
        POSITIVE(weight) is None for weight in value.values()
    ):
        return None
    return "None, 'balanced', or a dict from class labels to positive weights"


CLASSIFIER_LOSSES = ("log_loss", "hinge", "squared_error")


REGRESSOR_LOSSES = ("squared_error", "epsilon_insensitive")


MEMBERS = ("value", "gradient", "conjugate", "dual_bounds")
"""What a `Loss` has."""


def is_loss(value: object) -> bool:
    """Return whether a value is a loss object, which a class of losses is not."""
    return isinstance(value, Loss) and not isinstance(value, type)


@dataclass(frozen=True)
class LossChoice:
    """The name of a loss, or a loss object.

    Parameters
    ----------
    names : tuple of str
        The names allowed.
    """

    names: tuple[str, ...]

    def __call__(self, value: object) -> str | None:
        """Return what was expected, or None."""
        expected = None if is_loss(value) else OneOf(self.names)(value)
        if expected is None:
            return None
        lacks = [name for name in MEMBERS if not hasattr(value, name)]
        # Something with a part of a loss was meant to be one.
        missing = f", which needs {', '.join(lacks)} too" * (
            0 < len(lacks) < len(MEMBERS)
        )
        return f"{expected}, or a loss object{missing}"


def find_loss(choice: Any, epsilon: float = 0.1) -> Loss:
    """Return the loss that a ``loss`` parameter stands for.

    Parameters
    ----------
    choice : str or Loss
        A name, or the loss itself.
    epsilon : float, default=0.1
        Error that costs nothing, for "epsilon_insensitive".

    Returns
    -------
    loss : Loss
    """
    if choice == "epsilon_insensitive":
        return EpsilonInsensitiveLoss(float(epsilon))
    found: Loss = LOSSES[choice]() if isinstance(choice, str) else choice
    return found


def loss_of(model: Any) -> Loss:
    """Return the loss that the parameters of an estimator stand for.

    Parameters
    ----------
    model : BaseMKL
        With a ``loss``, and a regressor with an ``epsilon``.

    Returns
    -------
    loss : Loss
    """
    return find_loss(model.loss, getattr(model, "epsilon", 0.1))


def find_joint_loss(loss: Loss) -> Loss | None:
    """Return the loss of all classes at once that is a loss for two classes.

    Parameters
    ----------
    loss : Loss
        The loss of two classes, or one of several.

    Returns
    -------
    joint : Loss or None
        None where the loss of a class against the rest is summed over the classes.
    """
    if is_coupled(loss):
        return loss
    names = [name for name, kind in LOSSES.items() if type(loss) is kind]
    joint = [COUPLED_LOSSES[name]() for name in names if name in COUPLED_LOSSES]
    return joint[0] if joint else None


def shares_selection(parameters: Mapping[str, Any]) -> bool:
    """Return whether all outputs are one problem.

    A loss object of all classes at once says so where there is no ``selection``.

    Parameters
    ----------
    parameters : mapping
        Those of an estimator.

    Returns
    -------
    shared : bool
    """
    if "selection" in parameters:
        return bool(parameters["selection"] == "shared")
    loss: Any = parameters.get("loss")
    return is_loss(loss) and is_coupled(loss)


def is_likelihood(choice: Any) -> bool:
    """Return whether a ``loss`` parameter stands for a model of probabilities."""
    return isinstance(choice, LogisticLoss | SoftmaxLoss) or choice == "log_loss"


NORMALIZE = "variance"
"""The default ``normalize`` of every estimator.

Wide Gaussians are mostly constant: with "trace" most of their diagonal is spent on
that, which the intercept does better. ``benchmarks/defaults`` (normalize), 14 sets and
four methods: on widths of 1 and 5 the held-out score is higher by 0.005 +- 0.005 than
with "trace", on the default's widths lower by 0.003 +- 0.002.
"""

_SEVERAL = AnyOf((NOTHING, POSITIVE_SEQUENCE))

CHECKS: Mapping[str, Check] = {
    "C": POSITIVE,
    "Cs": _SEVERAL,
    "alpha": POSITIVE,
    "alphas": _SEVERAL,
    "n_alphas": COUNT,
    "alpha_min_ratio": Number(0.0, 1.0, above=True),
    "max_kernels": AnyOf((NOTHING, COUNT)),
    "selection": OneOf(("shared", "separate")),
    "epsilon": NON_NEGATIVE,
    "class_weight": class_weight_choice,
    "normalize": normalization_steps,
    "fit_intercept": FLAG,
    "tol": POSITIVE,
    "max_iter": COUNT,
    "storage": storage_choice,
    "max_bytes": AnyOf((NOTHING, COUNT)),
    "check_psd": OneOf(CHOICES),
    "n_jobs": AnyOf((NOTHING, Number(1, integer=True), Number(high=-1, integer=True))),
    "refit": FLAG,
    "verbose": AnyOf((FLAG, Number(0, integer=True))),
    "random_state": AnyOf(
        (
            NOTHING,
            Number(0, integer=True),
            InstanceOf(np.random.RandomState, "a RandomState"),
        )
    ),
}
"""Parameters by name; `_checks` of a class has those that mean something else there."""
