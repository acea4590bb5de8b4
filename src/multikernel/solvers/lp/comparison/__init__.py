"""The solvers that the papers compare themselves with."""

from multikernel.solvers.lp.comparison.cutting_plane import SILP, CuttingPlane
from multikernel.solvers.lp.comparison.hessian_mkl import HessianMKL
from multikernel.solvers.lp.comparison.simple_mkl import SimpleMKL
from multikernel.solvers.lp.comparison.ufo import UFOMKL, ufo_exponent

__all__ = ["SILP", "UFOMKL", "CuttingPlane", "HessianMKL", "SimpleMKL", "ufo_exponent"]
