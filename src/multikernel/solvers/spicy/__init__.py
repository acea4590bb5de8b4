r"""SpicyMKL: sparse models by Newton's method in the weights, or by the paper [1]_.

Both certify the duality gap over all kernels. A solution lists the algorithms that ran
(`Solution.steps`, ``fit_info_["solver"]`` of an estimator). Newton's method solves
problems with at most 128 kernels and no more kernels than samples, such as the default
kernels of tables with up to 15 columns; `solver.newton_for` makes the choice.

**Newton's method in the weights** (`newton`; "newton_in_weights") supports the block
1-norm and smooth losses that keep dual points inside their domain (squared, logistic).
A step factorizes one matrix and moves all weights. Two to eight steps lead from no
kernels to the optimum, where the paper's algorithm needs 3 to 22. Many targets of the
squared loss share factorizations and work in small spaces (`spans`). If a target makes
no progress, or is not solved after 15 steps, the paper's algorithm continues from the
better of its last and its first point.

**The paper's augmented Lagrangian on a working set** (`working_set`;
"augmented_lagrangian") solves everything else. A pass over all kernels certifies the
gap and adds the most violated kernels. On the working set, the paper's Table 1
(`algorithm`) runs until its gap is a share of the certified gap. In its Newton steps,
the terms of the loss come from a `Side` (`sides`, `polyhedral`, `coupled`), the terms
of the kernels from `kernels`.

**Block coordinate descent** (`descent`; "block_descent") replaces the Newton steps of
the second algorithm if the factors have very many columns. Then a Newton step takes
seconds, as for tables of 10 000 rows and more at small strengths. Descent supports the
block 1-norm and smooth losses of one output. If it hardly reduces the gap, Newton's
steps continue.

Two functions prepare the second algorithm if that saves time. `machine_start`
("machines") runs support vector machines on weighted sums of dense matrices, for the
hinge and similar losses. If there are more targets than samples, `outputs` replaces
them by n_samples targets.

``SpicyMKL(algorithm="augmented_lagrangian")`` runs the second algorithm alone, from the
constant model or a warm start.

References
----------
.. [1] Suzuki, Tomioka (2009). SpicyMKL. METR 2009-45, University of Tokyo.
"""

from multikernel.solvers.spicy.solver import SpicyMKL

__all__ = ["SpicyMKL"]
