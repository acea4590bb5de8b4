"""The numbers that tune SpicyMKL, with their meaning.

They control how work is divided between the stages. The duality gap of the whole
problem proves the result for any settings. Numbers that changed no quick call by a
tenth were removed; those that limit memory or guard against rounding were not varied.
``benchmarks/ablation`` has the page of what mechanisms are worth.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """The settings of SpicyMKL; `SETTINGS` contains the values in use."""

    # Outer steps: the working set, and how well it is solved.

    target_share: float = 0.1
    """The working set is solved to this share of the gap over all kernels."""

    new_kernels: int = 30
    """Number of violators that join the working set at a time."""

    new_joint: int = 8
    """Number of violators that join if there are several outputs."""

    new_made: int = 6
    """Number of violators that join if each new kernel must be factorized."""

    nearly: float = 0.5
    """Kernels join a Newton step in the weights from this share of the threshold on,
    and a working set at a new strength, if the sequential strong rule (Tibshirani et
    al. 2012) does not exclude them."""

    one_thread_bytes: int = 2**27
    """Size in bytes below which stacks use one thread of BLAS."""

    # The augmented Lagrangian.

    suited: float = 0.2
    """The first gamma is this over gap and alpha, but at least one over alpha."""

    growth: float = 4.0
    """Factor of gamma after each minimum over rho: convergence is super-linear as it
    grows, and a large factor makes the next minimum start far away."""

    inner_share: float = 0.3
    """The minimum over rho may leave this share of the gap, and so may the barrier of a
    bounded domain."""

    # Block coordinate descent.

    descent_flops: float = 1e10
    """Flops of a Newton step, n R^2, above which descent replaces it: about a second of
    a core."""

    descent_rounds: int = 400
    """Rounds over the blocks before Newton's method takes over."""

    descent_epochs: int = 40
    """The most rounds over the blocks for one model of the loss."""

    descent_share: float = 0.02
    """Rounds on one model end when a round changes this share of the first change."""

    first_share: float = 0.2
    """The same share if curvatures have just changed and will change again."""

    extrapolated: int = 5
    """Rounds whose points are extrapolated."""

    moved: float = 0.1
    """Blocks are multiplied again once curvatures have changed by this share."""

    # Sides: interior steps and corners.

    interior: float = 0.99
    """A step may take this share of the way to the boundary."""

    inwards: float = 0.05
    """A barrier starts at this share of the way from the boundary to the middle."""

    mostly: float = 0.4
    """Active sets follow machines if at most this share of the samples is at no
    corner."""

    budget: float = 30.0
    """A barrier replaces active sets that take this many times n_samples^3 flops."""

    ridge: float = 1e-11
    """This share of the largest curvature is added, as kernels of low rank have
    directions without curvature."""

    # Newton's method in the weights.

    roots_bytes: int = 2**26
    """Limit of bytes for roots that are stored together, and for the moves of decision
    values."""

    most_kernels: int = 128
    """The most kernels: the method solves for all of their weights at once."""

    samples_a_column: float = 8.0
    """The most samples per column of factors: with more, working sets cost less."""

    stride: float = 0.1
    """A step aims at least at this share of the largest dual norm: the full step to a
    small strength often fails."""

    bend: float = 6.0
    """A step changes the curvature of the loss by this factor at most."""

    most_together: int = 15
    """Newton steps before working sets solve the remaining targets one by one."""

    in_vain: int = 5
    """Number of steps in a row without a smaller gap before a working set solves a
    target."""

    # Targets in small spaces.

    least_spanned: int = 8
    """The fewest targets for which spaces are formed on whole matrices."""

    share_spanned: float = 16.0
    """The fewest samples per kernel for which spaces are formed."""


SETTINGS = Settings()
