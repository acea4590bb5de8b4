"""Solvers from other papers for comparison; imported only if ``solver=`` names one."""

from multikernel.solvers.comparison.hessian_mkl import HessianMKL
from multikernel.solvers.comparison.shrinkage import IterativeShrinkage
from multikernel.solvers.comparison.simple_mkl import SimpleMKL
from multikernel.solvers.comparison.ufo import UFOMKL, ufo_exponent

__all__ = [
    "UFOMKL",
    "HessianMKL",
    "IterativeShrinkage",
    "SimpleMKL",
    "ufo_exponent",
]
