"""What tunes SpicyMKL, each number with its unit and the measurement that set it.

The numbers set how much is done before something else is looked at again. None of them
changes what is found: every end is proved by the duality gap of the whole problem.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """The numbers; `SETTINGS` holds the ones in use."""

    # Outer steps: the working set, and how well it is solved.

    target_share: float = 0.1
    """The working set is solved to this share of the whole gap next. A tenth is a digit
    gained for every pass over all kernels; less is work on kernels that may leave."""

    superlinear: float = 0.3
    """Extra power of the gap in that target, so that late steps, where the working set
    is the right one, gain more than a digit."""

    new_kernels: int = 30
    new_power: float = 0.35
    """Violators that join at a time, at least, and the power of the number of kernels
    that join if that is more: the dearer a pass, the more kernels it may bring in."""

    new_made: int = 6
    """Violators that join where each gets a factor of its own then: 30 interactions of
    3000 samples took 4 s of the 5 that a fit with four active kernels took."""

    nearly: float = 0.5
    """On a path a kernel joins at once where its dual norm has come near the new
    threshold: by the sequential strong rule (Tibshirani et al. 2012) it may enter if it
    was above 2 - r of it at the strength before, r times as large. That is a guess,
    which the pass that follows corrects either way; from this share of the threshold
    on it is none any more. It saves a third of all passes on a path."""

    new_together: int = 8
    """So many violators join at a time where there are several outputs: there a pass
    reads every kernel once for all, and the working set multiplies by each output: of
    50 kernels (1000 samples, 100 outputs) 30 took 3.9 s, ten 3.5 and six 2.9."""

    shrink: float = 0.5
    """A dual point that may lie on the boundary is moved towards the inside by this
    share at most; the gap is taken where that is less, so that a good start is kept.
    The hinge took 281 Newton steps over six problems (3000 samples in factors,
    ringnorm, breast cancer) with a tenth, 233 with a half: from near a wall steps are
    short."""

    copy_bytes: int = 2**27
    copy_share: float = 0.5
    """The working set's factors, which are a copy, take this many bytes at most, or the
    share of the stack where that is more; beyond, the whole stack is used, which is no
    copy at all: 30 of 100 kernels (20 000 samples, alpha = 0.02) took 5.7 s, the whole
    stack 24 s. Whole matrices are read in place: with copies of them a path of 30
    strengths over 837 kernels on breast cancer took 15 to 19 s, a third of it copying,
    and takes 13."""

    one_thread_bytes: int = 2**27
    """Working sets of fewer bytes are multiplied by one thread: waking the threads of
    BLAS in every product costs more than they gain there."""

    patience: int = 3
    progress: float = 0.1
    """Passes that together gain less than that share of the gap, with no kernel new in
    the working set, before giving up: steps aim at a digit each."""

    # The augmented Lagrangian.

    suited: float = 0.2
    """The first gamma is this over gap and alpha, one over alpha at least. Paths of 20
    strengths on four sets (400 samples, a gap of 1e-2) took 247 Newton steps with one,
    209 with 0.2 and 253 with 0.03."""

    warm: float = 0.25
    """On a path rho starts at this power of the ratio of the strengths times the last
    one: with a power of one dual norms would be as near to the threshold as they were,
    with none the point fits the model. On these paths it took 260 steps with one, 211
    with a half, 194 with a quarter and 209 with none."""

    growth: float = 4.0
    gain: float = 0.1
    """Factor of gamma when steps 2 and 3 gain less than that factor of the gap:
    convergence is super-linear because gamma grows, and a jump by more than a few makes
    the next Newton run start far away."""

    inner_share: float = 0.3
    """The minimum over rho may leave this share of the gap unsolved: then alpha, not
    rho, is what is wrong."""

    barrier_share: float = 0.3
    """The barrier of a bounded domain may cost this share of the gap. On the six
    problems of `shrink` a tenth took 331 Newton steps, this 281, a half 314."""

    max_newton: int = 30
    max_retreats: int = 6
    retreat: float = 1.0 / 16.0
    """Newton steps after which the run has failed, how often that may be, and the
    factor of gamma then: a good run takes up to ten steps, and six retreats are seven
    digits."""

    # Machines on weighted sums, where a piecewise linear loss may begin.

    far: float = 0.3
    """The gap from which a start is so far away that it needs another one."""

    machines_in_vain: int = 3
    rough_steps: int = 20
    """Machines in a row that gain less than `progress`, or reach their limit of
    `rough_steps` steps for each sample, before the working sets go on. Machines reach
    it if nearly all samples are at no corner: there a barrier is better."""

    farthest_sum: float = 10.0
    """Factor of the sum of weights in one step, up or down. With 30 fits of ringnorm to
    half of the largest strength took 11 machines, and take 7."""

    stiffness: float = 0.03
    """A kernel's own curvature is at least this share of what it would have alone. With
    none 13 fits took 81 machines, with 0.03 77, and with a tenth one led nowhere."""

    shortest: float = 0.01
    """A step is cut to this share at least at a time."""

    mostly: float = 0.4
    """Active sets go on where no more than this share of the samples is at no corner.
    With 1500 samples, 40 kernels and shares of 0.43 to 0.8 they took 1.4 to 4.4 times
    as long as a barrier, with shares below 0.3 a fifth to a half."""

    # Sides: interior steps and corners.

    interior: float = 0.99
    """One step may go this share of the way to the boundary: two digits of it are left
    for the next one."""

    farthest: float = 1e4
    """A multiplier stays within this factor of the central path, up or down."""

    inwards: float = 0.05
    """A barrier starts this share of the way from a corner to the middle: on the corner
    its multipliers would be infinite."""

    close: float = 1e-9
    """This share of a step is enough to tell the two sides of a corner apart in double
    precision."""

    snap: float = 1e-3
    """What is nearer to a corner than this share of the width of the domain is taken
    for it. A sample that does not belong there is freed by the first look at
    subgradients."""

    ridge: float = 1e-11
    """This share of the largest curvature is added, as kernels of low rank leave free
    samples without any."""

    solved: float = 0.1
    """A quadratic program may leave this share of the starting point's Fenchel gap."""

    freed: float = 0.3
    """Samples that violate by this share of the worst violation are freed together,
    since one at a time would cost a factorisation each."""

    still: float = 1e-9
    rounding: float = 1e-12
    """Steps below the first share of the width of the domain lead nowhere; where the
    two parts of a step cancel, the second share of them is rounding."""

    budget: float = 30.0
    """Above this many times n_samples^3 flops a barrier, some twenty factorisations, is
    cheaper."""

    smallest: float = 1e-15
    """Share of a simplex's mass that an entry has at least: rounding of the others."""

    forcing: float = 0.1
    most_products: int = 500
    """Share of a step within simplices that conjugate gradients may leave, and products
    with the Hessian at most."""

    tight_forcing: float = 0.01
    """The same where multipliers keep points off the walls, which a step that is a
    tenth off runs into: of digits (400 samples, gap 1e-6, alpha = 0.03) it took 101
    Newton steps, 48 with a hundredth."""

    loose: float = 1000.0
    tight_loose: float = 1.0
    """Entries softer than this, beside the Hessian's mean diagonal, are solved for
    exactly to precondition such a step. Masses of the softmax are soft by what they
    are: with 1, digits (400 samples, gap 1e-5, alpha = 0.003) took 1.7 s, with 100
    0.69, with 1000 0.40. What a hinge leaves free is soft by all orders of magnitude:
    alpha = 0.03 and a gap of 1e-6 took 418 products and 1.8 s with 1, 882 and 2.2 s
    with 10."""

    most_loose: int = 6000
    """The softest entries at most, so that neither matrices over them nor their cubes
    outgrow the rest: 300 MB and a few seconds at the very worst."""

    rows_at_once: int = 512
    """Rows of the Hessian that are looked at together, of all samples."""

    # Targets side by side.

    roots_bytes: int = 2**26
    """Factors of this many bytes are held, of 300 targets with 160 samples, while their
    images are computed by one product."""

    most_kernels: int = 128
    """Kernels that targets side by side may have: of more, working sets use few. With
    more than samples, weights are not told apart and go on changing sides: 20 samples
    and 128 kernels took 75 times as long as one by one."""

    samples_a_column: float = 8.0
    """One problem on factors has this many samples at most for each of their columns:
    with more, working sets begin on some samples. Of 40 Gaussian kernels, with 2.4
    samples a column logistic fits took 0.22 s of CPU in place of 0.28 (2000 samples,
    alpha = 0.01), 0.38 in place of 0.60 (0.001) and to a gap of 1e-6 0.18 in place of
    0.28; with 5.8 0.35 in place of 0.22 (5000, 0.01) and 0.80 in place of 1.2 (0.001);
    with 21 5.7 in place of 3.0 (20 000, 0.003). Default searches of 2000 samples
    and 20 columns took 30 s in place of 71, on a busy machine."""

    stride: float = 0.1
    """A step is for this share of the largest dual norm at least. From no kernels at
    once, 77 of 324 generated problems (30 to 150 samples, 3 to 12 kernels, strengths
    from 0.3 to 0.001 of the largest) led nowhere; so 4 did, and no step was lost: 5.4
    on average, 6.0 with 0.2 and 8.6 with a half."""

    bend: float = 6.0
    halvings: int = 50
    """Decision values move so far in a step that the loss's curvature changes by this
    factor at most, halved so often if need be. Without it 18 of 25 logistic fits from
    no kernels (six sets, strengths from 0.5 to 0.01 of the largest) led nowhere; with
    it they take 2 to 8 steps, where working sets take 3 to 22."""

    most_together: int = 15
    """Newton steps for all targets before those left are solved for one by one. On
    paths of 20 strengths three of four solves took one and the others none. With the
    logistic loss (digits and segment, six classes, 320 samples, a gap of 1e-2) 240
    solves took 206 steps, where working sets took 524. From models without kernels to
    gaps of 1e-7 the 800 solves took at most six where they got there."""

    in_vain: int = 3
    """Such steps in a row without a smaller gap than ever before, and others are called
    for. Of 1758 generated fits from no kernels 77 led nowhere in 15 steps, many of them
    on products of single columns, and do so in 7.5; of the 1631 that got there nine
    give up on the way. Fits of 130 samples and 40 such products took twice as long as
    by working sets alone, and take 1.6 times."""

    # Targets in small spaces.

    alike: float = 4.0
    """Factor by which a typical eigenvalue of A, with what a kernel adds to it, differs
    at most where targets share a factorisation. Seconds of CPU for 40 targets (200
    samples, six kernels, three folds) with 1.5, 4, 16 and one group of all: 2.4, 2.1,
    1.6 and 1.5 to a gap of 1e-3; to 1e-6 4, 16 and one group took 2.6, 2.0 and 1.8.
    On others 16 is no gain: whole searches with it took 0.95 to 1.0 of the time (40
    and 50 targets, 200 and 600 samples, five spaces; 40 with noise from a tenth to ten
    times; 30 on 20 Gaussian kernels, 300 samples)."""

    steps_grouped: int = 6
    """Vectors for one strength by shared factorisations; later ones are by its own.
    With 2, 6 and 20 the targets of `alike` took 2.1, 2.1 and 2.2 s, and 2.6, 2.6 and
    2.6 to 1e-6: on these it does not matter."""

    spanned_in_vain: int = 8
    """As `in_vain`, for steps that cost less and forget nothing. With 3, 8 and 20 the
    targets of `alike` took 2.4, 2.1 and 2.1 s."""

    images_bytes: int = 2**24
    """Images of dual points that are held at a time."""

    least_spanned: int = 2
    share_spanned: float = 16.0
    """Targets, and samples per kernel, from which on spaces are formed. With spaces and
    without 40 targets, as above, took 2.1 and 2.4 s, six 0.50 and 0.48, three 0.44 and
    0.36, two 0.34 and 0.26."""


SETTINGS = Settings()
