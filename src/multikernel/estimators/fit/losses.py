"""The ``loss`` parameter: scikit-learn's names, or a loss object."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from multikernel._validation import NON_NEGATIVE, Check, OneOf
from multikernel.losses import LOSSES, EpsilonInsensitiveLoss, LogisticLoss, Loss

CLASSIFIER_LOSSES = ("log_loss", "hinge", "squared_error")
REGRESSOR_LOSSES = ("squared_error", "epsilon_insensitive")


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
        return None if expected is None else f"{expected}, or a loss object"


CLASSIFIER_LOSS_CHECKS: Mapping[str, Check] = {"loss": LossChoice(CLASSIFIER_LOSSES)}
REGRESSOR_LOSS_CHECKS: Mapping[str, Check] = {
    "loss": LossChoice(REGRESSOR_LOSSES),
    "epsilon": NON_NEGATIVE,
}


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


def is_likelihood(choice: Any) -> bool:
    """Return whether a ``loss`` parameter stands for a model of probabilities."""
    return isinstance(choice, LogisticLoss) or choice == "log_loss"
