"""Losses of all classes' decision values together, for more than two classes."""

from multikernel.losses.base import (
    CoupledLoss,
    PolyhedralCoupledLoss,
    SmoothCoupledLoss,
    is_coupled,
)
from multikernel.losses.coupled.crammer_singer import CrammerSingerLoss
from multikernel.losses.coupled.simplex import project_coupled
from multikernel.losses.coupled.softmax import SoftmaxLoss

COUPLED_LOSSES: dict[str, type[CoupledLoss]] = {
    "hinge": CrammerSingerLoss,
    "log_loss": SoftmaxLoss,
}
"""Losses of all classes, by the name of the two-class loss that they extend."""

__all__ = [
    "COUPLED_LOSSES",
    "CoupledLoss",
    "CrammerSingerLoss",
    "PolyhedralCoupledLoss",
    "SmoothCoupledLoss",
    "SoftmaxLoss",
    "is_coupled",
    "project_coupled",
]
