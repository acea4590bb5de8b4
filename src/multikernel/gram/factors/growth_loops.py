"""Compiled steps of the greedy pivoted Cholesky factorization."""

import math

from multikernel._typing import Array, Indices
from multikernel.linalg import CHUNK
from multikernel.linalg.jit import loop, part

# With these flags the compiler may reorder sums, and so vectorizes them. Infinities and
# NaN keep their meaning.
FAST = {"reassoc", "contract", "nsz"}


@loop(fastmath=FAST)
def survey(residual: Array, weights: Array) -> tuple[int, float, float]:
    """Return the first argmax of the residuals, the maximum, and the weighted sum."""
    # Residuals and weights are not negative.
    pivot, largest, total = 0, -1.0, 0.0
    for i in range(residual.size):
        total += weights[i] * residual[i]
    for i in range(residual.size):
        if residual[i] > largest:
            pivot, largest = i, residual[i]
    return pivot, largest, total


@part(fastmath=FAST)
def root_sum(residual: Array, sizes: Array) -> float:
    """Return the sum of sizes times roots of the residual's diagonal."""
    total = 0.0
    for i in range(residual.size):
        total += sizes[i] * math.sqrt(residual[i])
    return total


@loop(fastmath=FAST)
def add_landmark(
    factor: Array, rank: int, pivot: int, residual: Array, landmarks: Indices
) -> None:
    """Turn the kernel column of a new landmark into the next row of the factor."""
    # The first `rank` rows of the transposed factor, (capacity, n_samples), are
    # complete. The next row has the column of the pivot, whose residual is positive.
    # The factor, the residual and the landmarks change in place.
    n_samples, row = residual.size, factor[rank]
    root = math.sqrt(residual[pivot])
    inverse = 1.0 / root
    for start in range(0, n_samples, CHUNK):
        stop = min(start + CHUNK, n_samples)
        target, residual_part = row[start:stop], residual[start:stop]
        n_in_fours = rank - rank % 4
        for j in range(0, n_in_fours, 4):
            first, second = factor[j, start:stop], factor[j + 1, start:stop]
            third, fourth = factor[j + 2, start:stop], factor[j + 3, start:stop]
            a, b = factor[j, pivot], factor[j + 1, pivot]
            c, d = factor[j + 2, pivot], factor[j + 3, pivot]
            for i in range(target.size):
                target[i] -= (a * first[i] + b * second[i]) + (
                    c * third[i] + d * fourth[i]
                )
        for j in range(n_in_fours, rank):
            first, a = factor[j, start:stop], factor[j, pivot]
            for i in range(target.size):
                target[i] -= a * first[i]
        for i in range(target.size):
            target[i] *= inverse
            residual_part[i] = max(residual_part[i] - target[i] * target[i], 0.0)
    # At landmarks the factor is triangular and the residual is zero, up to rounding.
    # A landmark that is not among the samples is -1.
    for j in range(rank):
        if landmarks[j] >= 0:
            row[landmarks[j]] = 0.0
            residual[landmarks[j]] = 0.0
    row[pivot] = root
    residual[pivot] = 0.0
    landmarks[rank] = pivot


@part(fastmath=FAST)
def radial_column(features: Array, sample: Array, exponent: float, out: Array) -> None:
    """Write exp(exponent * |x - sample|^2) to `out`, for every sample x."""
    # `features` has shape (n_used, n_samples).
    for start in range(0, out.size, CHUNK):
        target = out[start : min(start + CHUNK, out.size)]
        target[:] = 0.0
        for u in range(features.shape[0]):
            value, values = sample[u], features[u, start : start + target.size]
            for i in range(target.size):
                target[i] += (value - values[i]) * (value - values[i])
        for i in range(target.size):
            target[i] = math.exp(exponent * target[i])


@part(fastmath=FAST)
def weighted_mean(row: Array, weights: Array) -> float:
    """Return the sum of weights times values; the weights sum to one."""
    total = 0.0
    for i in range(row.size):
        total += weights[i] * row[i]
    return total


@loop()
def small_enough(  # noqa: PLR0913 - compiled code takes numbers, not objects
    largest: float,
    floor: float,
    total: float,
    centered_mean: float,
    residual: Array,
    sizes: Array,
    goal: float,
) -> bool:
    """Return True if a residual meets the goal, or contains only rounding errors."""
    # `residual` is the residual's diagonal, `largest` its largest entry, `total` its
    # weighted mean, and `floor` the size of its rounding errors.
    if largest <= floor:
        return True
    # With `sizes` (see `Goal.sizes`), `goal` limits the sum of sizes times roots of the
    # residual's diagonal. If `sizes` is empty, `goal` limits `total` as a share of
    # `centered_mean`, the weighted mean of the centered kernel's diagonal.
    if sizes.size:
        return root_sum(residual, sizes) <= goal
    return total <= goal * centered_mean


@loop(fastmath=FAST)
def grow_radial(  # noqa: PLR0913 - compiled code takes arrays, not objects
    features: Array,
    exponent: float,
    factor: Array,
    rank: int,
    residual: Array,
    landmarks: Indices,
    weights: Array,
    floor: float,
    goal: float,
    sizes: Array,
) -> tuple[int, bool]:
    """Add landmarks to a Gaussian factor; return the rank and whether `goal` is met."""
    # `features` has shape (n_used, n_samples); see `radial_column` for `exponent`.
    # `factor`, `residual` and `landmarks` change in place. The goal is met when
    # `small_enough`, which explains `floor`, `goal` and `sizes`, returns True; the loop
    # also ends when `factor` has no empty row. The weights of the samples sum to one.
    # A Gaussian kernel's diagonal is one; centering subtracts the square of the mean of
    # every row of the factor from the diagonal's mean.
    centered_mean = 1.0
    for j in range(rank):
        centered_mean -= weighted_mean(factor[j], weights) ** 2
    while True:
        pivot, largest, total = survey(residual, weights)
        if small_enough(largest, floor, total, centered_mean, residual, sizes, goal):
            return rank, True
        if rank == factor.shape[0]:
            return rank, False
        radial_column(features, features[:, pivot].copy(), exponent, factor[rank])
        add_landmark(factor, rank, pivot, residual, landmarks)
        centered_mean -= weighted_mean(factor[rank], weights) ** 2
        rank += 1
