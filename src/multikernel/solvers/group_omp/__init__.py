"""Group-OMP: greedy selection of kernels, with a refit on their sum after each step.

MKL-GOMP of Sindhwani and Lozano (2011, NIPS 24): a step selects the kernel that
improves the fit of the residual most (`selection`, in the geometry of `whitening`) and
refits a machine on the sum of all selected kernels (`refit`). The loop is
`GroupOMP.paths`; a `GreedyPath` stores every model (`path`).
"""

from multikernel.solvers.group_omp.group_omp import GroupOMP
from multikernel.solvers.group_omp.path import GreedyPath

__all__ = ["GreedyPath", "GroupOMP"]
