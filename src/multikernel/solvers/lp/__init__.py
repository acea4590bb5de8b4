"""lp-norm MKL: runs of a machine, interleaved with steps of the kernel weights.

The problem is to minimize J(theta) over theta >= 0 of p-norm at most one, where J is
the optimum of a machine (a learner for one kernel) with the kernel sum_m theta_m K_m
(Kloft et al. 2009, NIPS 22, 997-1005). `newton` (section 2.4.1), `cutting_plane`
(2.4.2, with `master`) and `alternating` use short runs of the machine; `squared_form`
uses a solver for the block 1-norm. `thinning` removes kernels that a sparse model does
not require.
"""

from multikernel.solvers.lp.alternating import Alternating
from multikernel.solvers.lp.cutting_plane import SILP, CuttingPlane
from multikernel.solvers.lp.newton import InterleavedNewton
from multikernel.solvers.lp.squared_form import SquaredForm

__all__ = ["SILP", "Alternating", "CuttingPlane", "InterleavedNewton", "SquaredForm"]
