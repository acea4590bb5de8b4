"""lp-norm MKL: learners of one matrix, interleaved with kernel weights."""

from multikernel.solvers.lp.alternating import Alternating
from multikernel.solvers.lp.cutting_plane import SILP, CuttingPlane
from multikernel.solvers.lp.newton import InterleavedNewton
from multikernel.solvers.lp.squared_form import SquaredForm

__all__ = ["SILP", "Alternating", "CuttingPlane", "InterleavedNewton", "SquaredForm"]
