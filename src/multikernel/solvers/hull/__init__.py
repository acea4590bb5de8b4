"""Hierarchical multiple kernel learning over graphs of kernels (Bach 2008)."""

from multikernel.solvers.hull.problem import HullProblem, HullSolution, HullStatus
from multikernel.solvers.hull.search import HullSearch

__all__ = ["HullProblem", "HullSearch", "HullSolution", "HullStatus"]
