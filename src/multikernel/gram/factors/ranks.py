"""Ranks of kernels, estimated on a few kernels and samples."""

from dataclasses import replace

import numpy as np

from multikernel._typing import Array, Indices, Mask
from multikernel.gram.factors.growth import (
    Goal,
    KernelColumns,
    grow,
    kernel_columns,
    without_landmarks,
)
from multikernel.gram.factors.landmarks import LowRank, kernel_features
from multikernel.kernels.base import KernelDictionary, kernel_name
from multikernel.kernels.products import ProductKernel, uncenter
from multikernel.linalg.tables import equal_shares, evenly_spaced

SAMPLED_KERNELS, SAMPLED_ROWS = 32, 1000
"""Numbers of kernels and samples from which ranks are estimated."""

MEASURED = 100
"""Number of landmarks above which a rank is extrapolated."""


def is_high(ranks: Indices, n_samples: int) -> Mask:
    """Return a mask of ranks for which storage="by_kernel" stores dense matrices."""
    return np.asarray(ranks > max(MEASURED, n_samples / 32))


def sampled_ranks(dictionary: KernelDictionary, X: Array) -> Indices:
    """Return the ranks of a few kernels; see `estimated_ranks`."""
    # Use evenly spaced kernels, because the first and the last kernels of a dictionary
    # are often unlike the others.
    middles = (np.arange(SAMPLED_KERNELS) + 0.5) / SAMPLED_KERNELS
    kernels = np.unique((middles * len(dictionary)).astype(np.intp))
    return estimated_ranks(dictionary, X, kernels)


def estimated_ranks(
    dictionary: KernelDictionary, X: Array, kernels: Indices
) -> Indices:
    """Return the ranks of some kernels, estimated on a subset of the samples."""
    n_samples = X.shape[0]
    sample = X[evenly_spaced(n_samples, SAMPLED_ROWS)]
    ranks = np.empty(kernels.size, dtype=np.intp)
    for i, m in enumerate(kernels.tolist()):
        # Uncentered kernels have a similar rank and cheaper columns.
        kernel = uncenter(dictionary[m])
        if isinstance(kernel, ProductKernel):
            kernel = replace(kernel, kernels=[uncenter(k) for k in kernel.kernels])
        features = kernel_features(kernel, X[:1])
        if features is not None:
            ranks[i] = min(features.shape[1], n_samples)
            continue
        groups = kernel_columns(kernel, X, "", cosine=False).distinct_groups()
        if groups is not None:
            ranks[i] = groups[0].size
            continue
        columns = kernel_columns(kernel, sample, kernel_name(kernel), cosine=False)
        rank = _extrapolated_rank(columns, n_samples)
        ranks[i] = min(rank, n_samples)
    return ranks


def _extrapolated_rank(columns: KernelColumns, max_rank: int) -> int:
    """Return the rank of a kernel, at most `max_rank`, extrapolated from a sample."""
    weights = equal_shares(len(columns.X))
    n_measured, tol = min(MEASURED, len(columns.X)), LowRank().tol
    half = grow(
        columns, without_landmarks(columns), weights, Goal(n_measured // 2, tol)
    )
    factor = grow(columns, half, weights, Goal(n_measured, tol))
    rank = int(factor.landmarks.size)
    if rank < n_measured:
        return rank
    # Extrapolate the trace of the residual as a geometric sequence in the rank:
    # residuals of smooth kernels decay at least as fast.
    trace, half_trace = factor.residual @ weights, half.residual @ weights
    goal_trace = tol * float(factor.diagonal @ weights)
    if not half_trace > trace > 0.0:
        return max_rank
    decay = np.log(half_trace / trace) / (n_measured - half.landmarks.size)
    n_more = float(np.log(trace / goal_trace) / decay)
    return int(min(rank + max(n_more, 0.0), max_rank))
