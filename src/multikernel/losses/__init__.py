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

LOSSES: dict[str, type[Loss]] = {
    "hinge": HingeLoss,
    "log_loss": LogisticLoss,
    "squared_error": SquaredLoss,
    "epsilon_insensitive": EpsilonInsensitiveLoss,
    "squared_hinge": SquaredHingeLoss,
    "quantile": PinballLoss,
    "huber": HuberLoss,
    "poisson": PoissonLoss,
    "gamma": GammaLoss,
}
"""Every loss by the name that estimators know it by."""

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
    "project_coupled",
    "weighted",
]
