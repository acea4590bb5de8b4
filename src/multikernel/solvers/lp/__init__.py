r"""lp-norm MKL: runs of a machine, interleaved with steps of the kernel weights [1]_.

The problem is :math:`\min_{\theta \ge 0, \|\theta\|_p \le 1} J(\theta)`, where J is the
optimum of a machine with the single kernel :math:`\sum_m \theta_m K_m`. All solvers but
`squared_form` alternate between a short run of the machine, with a tolerance that suits
the gap (`machine_for_gap`), and a step of the weights. `weight_solver` has the base
class of `cutting_plane` and `alternating`.

- `newton`, section 2.4.1: a Newton step on log(theta) that includes the response of the
  dual variables. Balls inside the p-ball (`inner_ball`) keep it smooth as p goes to 1.
- `cutting_plane`, section 2.4.2: every run adds a plane below J, and a master problem
  (`master`) minimizes the highest plane. For p = 1 also as the SILP.
- `alternating`: weights in closed form from the norms.
- `squared_form`: for p = 1, by a solver for the block 1-norm and a search for the
  strength that matches its sum of norms.

`thinning` removes kernels that a sparse model does not require.

References
----------
.. [1] Kloft, Brefeld, Sonnenburg, Laskov, Müller, Zien (2009). Efficient and accurate
   lp-norm multiple kernel learning. NIPS 22, 997-1005.
"""

from multikernel.solvers.lp.alternating import Alternating
from multikernel.solvers.lp.cutting_plane import SILP, CuttingPlane
from multikernel.solvers.lp.newton import InterleavedNewton
from multikernel.solvers.lp.squared_form import SquaredForm

__all__ = ["SILP", "Alternating", "CuttingPlane", "InterleavedNewton", "SquaredForm"]
