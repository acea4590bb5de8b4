r"""SpicyMKL: sparse models, by the paper's algorithm [1]_ and by what opens for it.

`SpicyMKL` takes the first way that suits a problem. All of them end with the same
duality gap over all kernels, and a solution says which were taken (`Solution.steps`,
``fit_info_["solver"]`` of an estimator).

**Newton's method in the weights** (`many`; "newton_in_weights") solves most fits. It
takes the block 1-norm, a smooth loss that keeps dual points inside its domain by itself
(squared, logistic, ...), one output a problem, and whole matrices in memory, at most
128 and no more than samples; unless the loss is squared, n_samples^2 numbers a problem
have to fit into 64 MB (2896 samples for one problem). One problem on factors in memory
is taken where these have a column for eight samples. A step costs one factorisation
for all weights, and two to eight lead from no kernels to the optimum, where the paper's
iteration takes three to 22. Several targets with the squared loss are solved for in
small spaces of dual points (`spans`), and share factorisations. Targets that make no
progress, or have taken 15 steps, go on with the next one, from the better of where they
are and where they began.

**Working sets with the augmented Lagrangian** (`working_set`;
"augmented_lagrangian") take everything else: losses with corners, elastic nets, outputs
that share a selection, kernels in factors, computed anew or in great number, and what
Newton's method gives up.
A pass over all kernels certifies the gap and adds the most violated ones to a working
set, on which the paper's iteration (`algorithm`) runs to a share of that gap. What the
loss asks of its Newton steps is in `sides` (separable losses; `corners` once a path of
a loss with corners is begun) and `simplices` (joint losses), what the kernels ask in
`kernels`.
Without a warm start it may begin with machines (`weights`; "machines") on whole
matrices, if the loss has one corner between two lines for each sample, as the hinge.
Support vector machines on weighted sums are far quicker than a barrier from far away.
They stop once they gain little.

``SpicyMKL(algorithm="augmented_lagrangian")`` takes the working sets alone, from the
constant model: the paper's algorithm and nothing before it.

More targets than samples, with the squared loss and one selection, are solved for in as
many as there are samples first (`multikernel.solvers.outputs`).

References
----------
.. [1] Suzuki, Tomioka (2009). SpicyMKL. METR 2009-45, University of Tokyo.
"""

from multikernel.solvers.spicy.solver import SpicyMKL

__all__ = ["SpicyMKL"]
