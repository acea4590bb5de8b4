"""Kernel weights bounded by the tail of the spectrum: conv and dc."""

from multikernel.solvers.local_rademacher.conv import TailConv
from multikernel.solvers.local_rademacher.dc import DCSolution, TailDC

__all__ = ["DCSolution", "TailConv", "TailDC"]
