"""All numbers that tune SpicyMKL, each with the reason for it.

They set how much is done before something else is looked at again. None of them changes
what is found: every end is proved by the duality gap of the whole problem.
"""

# Outer steps: the working set, and how well it is solved.

TARGET_SHARE = 0.1
"""The working set is solved to this share of the whole gap next. A tenth is a digit
gained for every pass over all kernels; less is work on kernels that may leave again."""

SUPERLINEAR = 0.3
"""Extra power of the gap in that target, so that late steps, where the working set is
the right one, gain more than a digit."""

NEW_KERNELS, NEW_POWER = 30, 0.35
"""Violators that join at a time, at least, and the power of the number of kernels that
join if that is more: the dearer a pass, the more kernels it may bring in."""

NEW_TOGETHER = 8
"""So many violators join at a time where there are several outputs: there a pass reads
every kernel once for all, and the working set multiplies by each output: of 50 kernels
(1000 samples, 100 outputs) 30 took 3.9 s, ten 3.5 and six 2.9."""

NEAR = 0.95
"""Idle kernels within this share of the threshold stay, because they would be back
soon."""

SHRINK = 0.5
"""A dual point that may lie on the boundary is moved towards the inside by this share
at most; the gap is taken where that is less, so that a good start is kept. The hinge
took 281 Newton steps over six problems (3000 samples in factors, ringnorm, breast
cancer) with a tenth, 233 with a half: from near a wall steps are short."""

COPY_BYTES, COPY_SHARE = 2**27, 0.5
"""The working set's factors, which are a copy, take so many bytes at most, or the share
of the stack where that is more; beyond, the whole stack is used, which is no copy at
all: 30 of 100 kernels (20 000 samples, alpha = 0.02) took 5.7 s, the whole stack 24 s.
Whole matrices are read in place: with copies of them a path of 30 strengths over 837
kernels on breast cancer took 15 to 19 s, a third of it copying, and takes 13."""

ONE_THREAD_BYTES = 2**27
"""Working sets of fewer bytes are multiplied by one thread: waking the threads of BLAS
in every product costs more than they gain there."""

PATIENCE, PROGRESS = 3, 0.1
"""Passes that together gain less than that share of the gap, with no kernel new in the
working set, before giving up: steps aim at a digit each."""

# Inner steps: the augmented Lagrangian.

GROWTH, GAIN = 4.0, 0.1
"""Factor of gamma when an outer step of the Lagrangian gains less than that factor of
the gap: convergence is super-linear because gamma grows, and a jump by more than a few
makes the next Newton run start far away."""

INNER_SHARE = 0.3
"""The inner problem may leave this share of the gap unsolved: then the multipliers, not
the dual point, are what is wrong."""

BARRIER_SHARE = 0.3
"""The barrier of a bounded domain may cost this share of the gap. On the six problems
of `SHRINK` a tenth took 331 Newton steps, this 281, a half 314."""

MAX_NEWTON, MAX_RETREATS, RETREAT = 30, 6, 1.0 / 16.0
"""Newton steps after which the run has failed, how often that may be, and the factor of
gamma then: a good run takes up to ten steps, and six retreats are seven digits."""

FEW_IN_STEP = 0.3
"""Images of steps in fewer than this share of the samples are cheaper than whole ones,
although their columns are read with gaps between them."""

KEPT = 3
"""Products of up to so many times the active columns are worth keeping where the
weights of the samples stay the same, as for the squared loss."""

WIDE = 0.125
"""Of the samples: the product of a kernel with more columns is kept for the next Newton
step. To add it up anew takes as long as to read it where it has some 30 columns."""

UNCOUNTED = 0.1
"""Columns left out of a Newton system may add up (their trace) to this share of the
shift. Factors' last columns are tiny: of 882 (4000 samples, 100 kernels, logistic,
alpha = 0.02) 479 do at a third of the cost, and steps are within a tenth of
Newton's."""

# Sides: interior steps and corners.

INTERIOR = 0.99
"""One step may go this share of the way to the boundary: two digits of it are left for
the next one."""

INWARDS = 0.05
"""A barrier starts this share of the way from a corner to the middle: on the corner its
multipliers would be infinite."""

CLOSE = 1e-9
"""This share of a step is enough to tell the two sides of a corner apart in double
precision."""

SNAP = 1e-3
"""What is nearer to a corner than this share of the width of the domain is taken for
it. A sample that does not belong there is freed by the first look at subgradients."""

RIDGE = 1e-11
"""This share of the largest curvature is added, as kernels of low rank leave free
samples without any."""

SOLVED = 0.1
"""A quadratic program may leave this share of the starting point's Fenchel gap."""

FREED = 0.3
"""Samples that violate by this share of the worst violation are freed together, since
one at a time would cost a factorisation each."""

STILL, ROUNDING = 1e-9, 1e-12
"""Steps below the first share of the width of the domain lead nowhere; where the two
parts of a step cancel, the second share of them is rounding."""

BUDGET = 30
"""Beyond so many times n_samples^3 flops a barrier, some twenty factorisations, is
cheaper."""

FORCING, MOST_PRODUCTS = 0.1, 500
"""Share of a step within simplices that conjugate gradients may leave, and products
with the Hessian at most."""

TIGHT_FORCING = 0.01
"""The same where multipliers keep points off the walls, which a step that is a tenth
off runs into: of digits (400 samples, gap 1e-6, alpha = 0.03) it took 101 Newton steps,
48 with a hundredth."""

LOOSE, TIGHT_LOOSE = 1000.0, 1.0
"""Entries softer than this, beside the Hessian's mean diagonal, are solved for exactly
to precondition such a step. Masses of the softmax are soft by what they are: with 1,
digits (400 samples, gap 1e-5, alpha = 0.003) took 1.7 s, with 100 0.69, with 1000 0.40.
What a hinge leaves free is soft by all orders of magnitude: alpha = 0.03 and a gap of
1e-6 took 418 products and 1.8 s with 1, 882 and 2.2 s with 10."""

MOST_LOOSE = 6000
"""The softest entries at most, so that neither matrices over them nor their cubes
outgrow the rest: 300 MB and a few seconds at the very worst."""

# Screening: images of earlier dual points.

MAX_BYTES, SHARE = 2**28, 0.1
"""Images may take so many bytes, or the share of the stack's bytes (as float64):
screening must not be what fills the memory."""

LEAST, MOST = 4, 16
"""Images: with room for fewer the bounds are too loose to earn their arithmetic, and
with more that arithmetic, of k^2 numbers a kernel, outgrows the product it saves."""

SUBSET = 0.1
"""With more than this share of the kernels in doubt a whole pass, one call of BLAS, is
the better buy."""

FEW_CHANGED = 0.5
"""A change in fewer than this share of the samples is cheaper than a pass."""

LEFT_OUT = 1e-3
"""A change may be cut short by this share of the threshold's square, by which the bound
grows."""

DEPENDENT = 1e-3
"""At least this share of a change must be new, or its image drowns in rounding."""
