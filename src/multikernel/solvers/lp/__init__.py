"""lp-norm MKL: learners of one matrix, interleaved with kernel weights."""

from multikernel.solvers.lp.alternating import Alternating
from multikernel.solvers.lp.choice import LP_SOLVERS, choose_lp_solver
from multikernel.solvers.lp.comparison import SILP, CuttingPlane, HessianMKL, SimpleMKL
from multikernel.solvers.lp.newton import InterleavedNewton

__all__ = [
    "LP_SOLVERS",
    "SILP",
    "Alternating",
    "CuttingPlane",
    "HessianMKL",
    "InterleavedNewton",
    "SimpleMKL",
    "choose_lp_solver",
]
