"""MKL-GOMP: kernels chosen one by one."""

from multikernel.solvers.group_omp.group_omp import GroupOMP
from multikernel.solvers.group_omp.path import GreedyPath

__all__ = ["GreedyPath", "GroupOMP"]
