"""Convex losses with their conjugates; to add one, write a file and a line here."""

from multikernel.losses.base import Loss, PolyhedralLoss, SmoothConjugateLoss
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
from multikernel.losses.epsilon_insensitive import EpsilonInsensitiveLoss
from multikernel.losses.hinge import HingeLoss
from multikernel.losses.logistic import LogisticLoss
from multikernel.losses.squared import SquaredLoss
from multikernel.losses.weighted import WeightedLoss, weighted

LOSSES: dict[str, type[Loss]] = {
    "hinge": HingeLoss,
    "log_loss": LogisticLoss,
    "squared_error": SquaredLoss,
    "epsilon_insensitive": EpsilonInsensitiveLoss,
}
"""Every loss by the name that estimators know it by."""

__all__ = [
    "COUPLED_LOSSES",
    "LOSSES",
    "CoupledLoss",
    "CrammerSingerLoss",
    "EpsilonInsensitiveLoss",
    "HingeLoss",
    "LogisticLoss",
    "Loss",
    "PolyhedralCoupledLoss",
    "PolyhedralLoss",
    "SmoothConjugateLoss",
    "SmoothCoupledLoss",
    "SoftmaxLoss",
    "SquaredLoss",
    "WeightedLoss",
    "is_coupled",
    "project_coupled",
    "weighted",
]
