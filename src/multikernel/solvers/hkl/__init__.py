"""Hierarchical multiple kernel learning over graphs of kernels (Bach 2008)."""

from multikernel.solvers.hkl.problem import HullProblem, HullSolution, HullStatus
from multikernel.solvers.hkl.search import HullSearch

__all__ = ["HullProblem", "HullSearch", "HullSolution", "HullStatus"]
