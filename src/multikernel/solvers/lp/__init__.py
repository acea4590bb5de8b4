"""lp-norm MKL: learners of one matrix, interleaved with kernel weights."""

from multikernel.solvers.lp.alternating import Alternating
from multikernel.solvers.lp.comparison import (
    SILP,
    UFOMKL,
    CuttingPlane,
    HessianMKL,
    SimpleMKL,
    ufo_exponent,
)
from multikernel.solvers.lp.newton import InterleavedNewton
from multikernel.solvers.lp.squared_form import SquaredForm

__all__ = [
    "SILP",
    "UFOMKL",
    "Alternating",
    "CuttingPlane",
    "HessianMKL",
    "InterleavedNewton",
    "SimpleMKL",
    "SquaredForm",
    "ufo_exponent",
]
