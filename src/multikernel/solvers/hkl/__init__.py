"""Hierarchical kernel learning: a search over a graph of kernels (Bach 2008, NIPS 21).

The active set J contains all ancestors of its nodes. A round (`search`) solves the
problem on J to a certified gap (`reduced`), and adds nodes that violate the necessary
condition of optimality (Prop. 2). If no node does, it adds nodes whose parents are all
in J and that violate the sufficient condition (Prop. 3). The search stops if the gap
over the whole graph (`certificate`) is small enough. Module `active` stores the
features of the nodes in J.
"""

from multikernel.solvers.hkl.problem import HullProblem, HullSolution
from multikernel.solvers.hkl.search import HullSearch

__all__ = ["HullProblem", "HullSearch", "HullSolution"]
