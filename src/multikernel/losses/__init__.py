"""Convex losses with their conjugates; a new loss needs a file and a line here."""

from multikernel.losses.base import Loss, NamedLoss, PolyhedralLoss, SmoothConjugateLoss
from multikernel.losses.coupled import (
    COUPLED_LOSSES,
    CoupledLoss,
    CrammerSingerLoss,
    PolyhedralCoupledLoss,
    SmoothCoupledLoss,
    SoftmaxLoss,
    is_coupled,
    project_coupled,
)
from multikernel.losses.cumulative import CumulativeLogitLoss
from multikernel.losses.epsilon_insensitive import EpsilonInsensitiveLoss
from multikernel.losses.gamma import GammaLoss
from multikernel.losses.hinge import HingeLoss
from multikernel.losses.huber import HuberLoss
from multikernel.losses.log_logistic import LogLogisticLoss
from multikernel.losses.logistic import LogisticLoss
from multikernel.losses.pinball import PinballLoss
from multikernel.losses.poisson import PoissonLoss
from multikernel.losses.squared import SquaredLoss
from multikernel.losses.squared_hinge import SquaredHingeLoss
from multikernel.losses.weighted import WeightedLoss, weighted

LOSSES: dict[str, type[NamedLoss]] = {
    "log_loss": LogisticLoss,
    "hinge": HingeLoss,
    "squared_hinge": SquaredHingeLoss,
    "squared_error": SquaredLoss,
    "epsilon_insensitive": EpsilonInsensitiveLoss,
    "quantile": PinballLoss,
    "huber": HuberLoss,
    "poisson": PoissonLoss,
    "gamma": GammaLoss,
}
"""Losses by the name used in estimators; their attributes are those of `NamedLoss`."""


def loss_names(task: str) -> tuple[str, ...]:
    """Return the names of losses for the task "classification" or "regression"."""
    for loss in LOSSES.values():
        if not hasattr(loss, "tasks"):
            # The public names are loaded lazily; an AttributeError would seem to say
            # that a name is missing.
            raise TypeError(
                f"{loss.__name__} is in LOSSES, but has no tasks: add the class "
                'attribute tasks: ClassVar[tuple[str, ...]] = ("regression",), or '
                '"classification", or both.'
            )
    return tuple(name for name, loss in LOSSES.items() if task in loss.tasks)


__all__ = [
    "COUPLED_LOSSES",
    "LOSSES",
    "CoupledLoss",
    "CrammerSingerLoss",
    "CumulativeLogitLoss",
    "EpsilonInsensitiveLoss",
    "GammaLoss",
    "HingeLoss",
    "HuberLoss",
    "LogLogisticLoss",
    "LogisticLoss",
    "Loss",
    "NamedLoss",
    "PinballLoss",
    "PoissonLoss",
    "PolyhedralCoupledLoss",
    "PolyhedralLoss",
    "SmoothConjugateLoss",
    "SmoothCoupledLoss",
    "SoftmaxLoss",
    "SquaredHingeLoss",
    "SquaredLoss",
    "WeightedLoss",
    "is_coupled",
    "loss_names",
    "project_coupled",
    "weighted",
]
