"""The ``loss`` parameter: scikit-learn's names, or a loss object."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from multikernel._validation import OneOf
from multikernel.estimators.read.samples import Samples
from multikernel.losses import (
    COUPLED_LOSSES,
    LOSSES,
    EpsilonInsensitiveLoss,
    LogisticLoss,
    Loss,
    SoftmaxLoss,
    is_coupled,
)

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


def find_link(loss: Any, samples: Samples) -> str:
    """Return what the decision values of a classifier stand for.

    Parameters
    ----------
    loss : str or Loss
        Its ``loss``.
    samples : Samples
        What it is fitted on.

    Returns
    -------
    link : str
        "labels" where each column is a label of its own, "joint" where a loss takes
        all classes at once, otherwise "one_vs_rest".
    """
    if samples.several:
        return "labels"
    many = samples.shared and samples.classes is not None and samples.classes.size > 2
    joint = many and find_joint_loss(find_loss(loss)) is not None
    return "joint" if joint else "one_vs_rest"


def is_likelihood(choice: Any) -> bool:
    """Return whether a ``loss`` parameter stands for a model of probabilities."""
    return isinstance(choice, LogisticLoss | SoftmaxLoss) or choice == "log_loss"
