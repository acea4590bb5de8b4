"""The solvers that the papers compare themselves with."""

from multikernel.solvers.lp.comparison.hessian import HessianMKL
from multikernel.solvers.lp.comparison.planes import SILP, CuttingPlane
from multikernel.solvers.lp.comparison.simple import SimpleMKL

__all__ = ["SILP", "CuttingPlane", "HessianMKL", "SimpleMKL"]
