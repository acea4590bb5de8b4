r"""lp-norm MKL: learners of one matrix, interleaved with kernel weights [1]_.

The problem is :math:`\min_{\theta \ge 0, \|\theta\|_p \le 1} J(\theta)`, where J is the
optimum of the learner with the one kernel :math:`\sum_m \theta_m K_m`. All solvers run
that learner for a short while, no more exactly than the gap deserves
(`machine_within`), and then move the weights. `weight_solver` has what all but `newton`
share:

- `newton`, section 2.4.1: a Newton step on log(theta) that knows how the dual variables
  respond; balls inside the p-ball (`inner_ball`) keep it smooth as p goes to 1;
- `cutting_plane`, section 2.4.2: every run adds a plane below J, and a master problem
  (`master`) gives the weights at which the highest one is low; SILP for p = 1;
- `alternating`: weights in closed form of the norms;
- `squared_form`: for p = 1 by a solver of the block 1-norm, led to the strength that
  its sum of norms belongs to; `thinning` leaves out kernels that ties keep.

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
