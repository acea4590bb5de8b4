"""The numbers that tune SpicyMKL, with their meaning.

The settings divide work between the stages; the duality gap proves the result for any
settings. A number was kept if varying it changed the time of a fit by a tenth; limits
of memory and guards against rounding were not varied. See ``benchmarks/ablation``.
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
    in the weights, or a working set at a new strength unless the sequential strong rule
    (Tibshirani et al. 2012) excludes them."""

    one_thread_bytes: int = 2**27
    """Size in bytes below which stacks use one thread of BLAS."""

    # The augmented Lagrangian.

    suited: float = 0.2
    """The first gamma is this divided by (gap * alpha), but at least 1 / alpha."""

    growth: float = 4.0
    """Factor by which gamma grows after each minimization over rho. Growth makes
    convergence super-linear; too much puts the next start far from its minimum."""

    inner_share: float = 0.3
    """Share of the gap at which the minimization over rho stops, and which the barrier
    of a bounded domain may add."""

    # The start on a part of the samples.

    part_share: float = 0.1
    """Share of the samples in the part."""

    part_samples: int = 20
    """Minimum number of samples of the part for each column of the factors."""

    corrections: int = 8
    """Maximum number of steps on all samples; each gains about a digit."""

    near: float = 0.01
    """Relative gap of a start above which it costs more than it saves."""

    # Block coordinate descent.

    descent_columns: int = 2000
    """Number of factor columns up to which a Newton step costs less than descent, whose
    rounds are limited by the speed of memory."""

    descent_flops: float = 1e11
    """Flops of a Newton step (n R^2) above which descent replaces it; about 10 s."""

    descent_rounds: int = 400
    """Maximum number of rounds over the blocks before Newton's method takes over."""

    descent_epochs: int = 40
    """Maximum number of rounds over the blocks for one quadratic model of the loss."""

    descent_share: float = 0.02
    """Rounds on a model end if a change is at most this share of the largest change."""

    first_share: float = 0.2
    """Replaces `descent_share` if curvatures have just changed and may change again."""

    extrapolated: int = 5
    """Number of rounds whose points are extrapolated together."""

    moved: float = 0.1
    """The matrices H_m are updated if curvatures change by this share in total."""

    # Newton steps for losses with bounds or kinks, by barriers or by active sets.

    interior: float = 0.99
    """Longest step, as a share of the distance to the boundary."""

    inward_share: float = 0.05
    """Start of a barrier, as a share of the way from the boundary to the middle."""

    mostly: float = 0.4
    """Largest share of dual variables off all bounds and kinks, at the result of
    machines, for which Newton steps use active sets instead of a barrier."""

    budget: float = 30.0
    """Flops, in units of `Hessian.cost`, above which a barrier replaces active sets."""

    ridge: float = 1e-11
    """Share of the largest curvature that is added to all curvatures: kernels of low
    rank have directions without curvature."""

    # Newton's method in the weights.

    roots_bytes: int = 2**26
    """Limit in bytes for roots and for derivatives of decision values by weights."""

    most_kernels: int = 128
    """Maximum number of kernels, because a step solves for all weights jointly."""

    samples_a_column: float = 8.0
    """Maximum number of samples per factor column; above it working sets cost less."""

    stride: float = 0.1
    """A step aims at least at this share of the largest dual norm: the full step to a
    small strength often fails."""

    bend: float = 6.0
    """Largest factor by which a step changes the curvature of the loss."""

    most_together: int = 15
    """Maximum number of Newton steps; working sets solve the remaining targets."""

    in_vain: int = 5
    """After so many steps without a smaller gap, a working set solves the target."""

    # Targets with the squared loss whose dual points are in small spaces, see `spans`.

    least_spanned: int = 8
    """Minimum number of targets for small spaces, if kernels are not factored."""

    share_spanned: float = 16.0
    """Minimum number of samples per kernel for small spaces, in the same case."""


SETTINGS = Settings()
