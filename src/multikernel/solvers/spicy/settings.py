"""The numbers that tune SpicyMKL, with their meaning.

They control how work is divided between the stages. The duality gap of the whole
problem proves the result for any settings. A number was kept if varying it changed the
time of a fit by a tenth; those that limit memory or guard against rounding were not
varied.
``benchmarks/ablation`` measures what each mechanism contributes.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """The settings of SpicyMKL; `SETTINGS` contains the values in use."""

    # Outer steps: the working set, and how well it is solved.

    target_share: float = 0.1
    """Target gap on the working set, as a share of the gap over all kernels."""

    new_kernels: int = 30
    """Number of violators that join the working set at a time."""

    new_joint: int = 8
    """Number of violators that join if there are several outputs."""

    new_made: int = 6
    """Number of violators that join if each new kernel must be factorized."""

    nearly: float = 0.5
    """Kernels whose dual norm is above this share of the threshold join a Newton step
    in the weights. They join a working set at a new strength if the sequential strong
    rule (Tibshirani et al. 2012) does not exclude them."""

    one_thread_bytes: int = 2**27
    """Size in bytes below which stacks use one thread of BLAS."""

    # The augmented Lagrangian.

    suited: float = 0.2
    """The first gamma is this divided by (gap * alpha), but at least 1 / alpha."""

    growth: float = 4.0
    """Factor of gamma after each minimization over rho. Growth makes convergence
    super-linear, but with a large factor the next minimization starts far from its
    minimum."""

    inner_share: float = 0.3
    """The minimization over rho stops at this share of the gap; the barrier of a
    bounded domain may add the same share."""

    # Block coordinate descent.

    descent_flops: float = 1e11
    """Flops of a Newton step, n R^2, above which descent replaces it; about ten seconds
    on one core."""

    descent_rounds: int = 400
    """Maximum number of rounds over the blocks before Newton's method takes over."""

    descent_epochs: int = 40
    """Maximum number of rounds over the blocks for one quadratic model of the loss."""

    descent_share: float = 0.02
    """Rounds on one model end when a round changes at most this share of the largest
    change."""

    first_share: float = 0.2
    """As `descent_share`, if curvatures have just changed and will change again."""

    extrapolated: int = 5
    """Number of rounds whose points are extrapolated together."""

    moved: float = 0.1
    """The matrices H_m are updated once curvatures have changed by this share."""

    # The loss in Newton steps: barriers and active sets.

    interior: float = 0.99
    """Longest step, as a share of the distance to the boundary."""

    to_rotated: float = 0.05
    """A barrier starts at this share of the distance from the boundary to the middle
    of the domain."""

    mostly: float = 0.4
    """Active sets continue after machines if at most this share of the dual variables
    is off all bounds and kinks."""

    budget: float = 30.0
    """A barrier replaces active sets that need more than this times n_samples^3
    flops."""

    ridge: float = 1e-11
    """This share of the largest curvature is added to all curvatures, because kernels
    of low rank have directions without curvature."""

    # Newton's method in the weights.

    roots_bytes: int = 2**26
    """Memory limit in bytes for roots that are stored at the same time, and for the
    moves of decision values."""

    most_kernels: int = 128
    """Maximum number of kernels, because a step solves for all weights jointly."""

    samples_a_column: float = 8.0
    """Maximum number of samples per column of the factors; above it, working sets cost
    less."""

    stride: float = 0.1
    """A step aims at least at this share of the largest dual norm: the full step to a
    small strength often fails."""

    bend: float = 6.0
    """Largest factor by which a step changes the curvature of the loss."""

    most_together: int = 15
    """Maximum number of Newton steps; then working sets solve the remaining targets one
    by one."""

    in_vain: int = 5
    """Number of steps in a row without a smaller gap before a working set solves a
    target."""

    # Targets with the squared loss whose dual points are in small spaces, see `spans`.

    least_spanned: int = 8
    """Minimum number of targets for small spaces if matrices are not in factors."""

    share_spanned: float = 16.0
    """Minimum number of samples per kernel for small spaces in the same case."""


SETTINGS = Settings()
