r"""Hierarchical kernel learning: a search over a graph of kernels [1]_.

The active set J is a set of nodes that contains all their ancestors. Every round

1. solves the problem on J to a certified gap (`reduced`). Only nodes that violate the
   necessary condition (Prop. 2 of [1]_), and their ancestors, have functions;
2. adds sources of the complement that violate the necessary condition. If there are
   none, it adds sources whose sum over descendants violates the sufficient condition
   (Prop. 3);
3. stops if the gap over the whole graph (`certificate`) is small enough.

`search` has the loop; `active` stores the features of the nodes in J.

References
----------
.. [1] Bach (2008). Exploring large feature spaces with hierarchical multiple kernel
   learning. NIPS 21.
"""

from multikernel.solvers.hkl.problem import HullProblem, HullSolution
from multikernel.solvers.hkl.search import HullSearch

__all__ = ["HullProblem", "HullSearch", "HullSolution"]
