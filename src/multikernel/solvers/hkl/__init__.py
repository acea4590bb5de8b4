r"""Hierarchical kernel learning: a search over a graph of kernels [1]_.

On an active set J of nodes, closed under ancestors, every round

1. solves the problem on J to a certified gap (`reduced`), where only nodes of J that
   violate the necessary condition (Prop. 2 of [1]_), and their ancestors, may have a
   function;
2. adds sources of the complement that violate it too, and where none does, those whose
   descendants' sum violates the sufficient condition (Prop. 3);
3. stops where the gap over the whole graph (`certificate`) is small enough.

`search` has the loop; `active` holds the features of the nodes in J.

References
----------
.. [1] Bach (2008). Exploring large feature spaces with hierarchical multiple kernel
   learning. NIPS 21.
"""

from multikernel.solvers.hkl.problem import HullProblem, HullSolution
from multikernel.solvers.hkl.search import HullSearch

__all__ = ["HullProblem", "HullSearch", "HullSolution"]
