"""MKL-GOMP: kernels chosen one by one."""

from multikernel.solvers.greedy.group_omp import GroupOMP
from multikernel.solvers.greedy.path import GreedyPath

__all__ = ["GreedyPath", "GroupOMP"]
