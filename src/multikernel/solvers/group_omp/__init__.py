r"""MKL-GOMP: greedy selection of kernels, with a refit on their sum after each [1]_.

From the residual r of the current model, every step

1. selects the kernel j that improves the fit most, by :math:`I_j = \tfrac1n r^\top K_j
   (K_j + \lambda n I)^{-1} r` (`selection`, in the geometry of `whitening`);
2. refits a machine on the sum of all selected kernels (`refit`);
3. stops at a precision, or at a number of kernels.

The loop is `GroupOMP.paths`; a `GreedyPath` stores every model (`path`).

References
----------
.. [1] Sindhwani, Lozano (2011). Non-parametric group orthogonal matching pursuit for
   sparse learning with multiple kernels. NIPS 24.
"""

from multikernel.solvers.group_omp.group_omp import GroupOMP
from multikernel.solvers.group_omp.path import GreedyPath

__all__ = ["GreedyPath", "GroupOMP"]
