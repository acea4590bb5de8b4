"""SpicyMKL: sparse models by Newton's method in the weights, or the paper's algorithm.

The paper is Suzuki, Tomioka (2009), METR 2009-45. All algorithms certify the duality
gap over all kernels. `Solution.steps` lists the algorithms that ran, by the names in
quotes; parentheses contain the module of each.

- "newton_in_weights" (`newton`): for the block 1-norm, smooth losses whose conjugate
  itself keeps dual points inside its domain, and few kernels (`solver.newton_for`). A
  step factorizes one matrix and moves all weights. Many targets of the squared loss
  share factorizations (`spans`). If a target makes no progress, or is not solved after
  15 steps, the next algorithm continues.
- "augmented_lagrangian" (`working_set`): for all other problems. A pass over all
  kernels certifies the gap and adds the most violated kernels to a working set. On this
  set the paper's Table 1 runs (`algorithm`). In its Newton steps, `sides`, `polyhedral`
  and `coupled` compute the terms of the loss, `kernels` the terms of the kernels.
- "block_descent" (`descent`): replaces these Newton steps if the factors have very many
  columns, as for tables of 10 000 rows at small strengths.
- "subsampled_newton" (`sampled_start`): for the logistic and the squared loss, and many
  more samples than factor columns, the solution on a part of the samples, corrected on
  all, is the start.
- "machines" (`machine_start`): the first step for the hinge and similar losses, by
  support vector machines on weighted sums of dense matrices.

If there are more targets than samples, `outputs` replaces them by n_samples targets.
"""

from multikernel.solvers.spicy.solver import SpicyMKL

__all__ = ["SpicyMKL"]
