"""Score tests: the rate at which each kernel would lower the loss of the null model.

The statistic of a kernel is rho^T K_m rho, where -rho are the slopes of the loss at the
model without kernels. The square root of the statistic is the smallest regularization
strength at which a sparse model with this kernel alone is zero. The statistics of
permuted residuals estimate the distribution for targets that are noise.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices
from multikernel.certificates.null_model import constant_model
from multikernel.certificates.rounding import rounding_unit
from multikernel.gram import LowRankStack
from multikernel.gram.base import GramStack
from multikernel.linalg import EPS
from multikernel.linalg.chi_squares import chi_squares_tail
from multikernel.losses import LogisticLoss, PoissonLoss, weighted
from multikernel.losses.base import SmoothConjugateLoss, degree, link_of
from multikernel.losses.offset import with_offset
from multikernel.problem import Problem
from multikernel.regularizers import BlockL1

CANONICAL = (LogisticLoss, PoissonLoss)
"""Losses with the canonical link: their curvature does not depend on targets."""

MAX_ENTRIES = 2**24
"""Maximum number of quadratic forms or of entries of products in memory, 128 MB."""


@dataclass(frozen=True, eq=False)
class NullModel:
    """The model without kernels, as the null hypothesis of score tests."""

    rho: Array  # minus the slopes of the loss, (n_samples, n_outputs)
    curvature: Array  # second derivatives of the loss, or their mean; same shape
    knows_noise: bool  # whether the loss determines the variance (classes, counts)
    columns: Array  # the constant and the covariates

    def basis(self, output: int) -> Array:
        """Return an orthonormal basis of `columns`, with row weights for one output."""
        # Row i of `columns` is multiplied by the root of the curvature of sample i. The
        # basis has the shape of `columns`.
        roots = np.sqrt(self.curvature[:, output])
        return np.asarray(np.linalg.qr(roots[:, None] * self.columns)[0])

    def permuted(self, orders: Sequence[Indices]) -> Array:
        """Return `rho` permuted by each order, (n_samples, n_orders, n_outputs)."""
        # The residuals, rho over the root of the curvature, are permuted, projected
        # orthogonally to the columns and rescaled.
        draws = np.empty((len(self.rho), len(orders), self.rho.shape[1]))
        for output in range(self.rho.shape[1]):
            roots, basis = np.sqrt(self.curvature[:, output]), self.basis(output)
            scaled = self.rho[:, output] / roots
            shuffled = np.stack([scaled[order] for order in orders], axis=1)
            # With ten heavy-tailed covariates, tests of level 0.05 rejected 0.105 of
            # true null hypotheses without the rescaling, and none without the
            # projection.
            shuffled -= basis @ (basis.T @ shuffled)
            lengths = np.linalg.norm(shuffled, axis=0)
            shuffled *= np.linalg.norm(scaled) / np.where(lengths > 0.0, lengths, 1.0)
            draws[:, :, output] = roots[:, None] * shuffled
        return draws


def standardized_targets(loss: SmoothConjugateLoss, targets: Array) -> Array:
    """Return targets, scaled to standard deviation 1 if the loss is homogeneous."""
    # Each output is scaled by its own deviation. With a link function, none is scaled.
    if degree(loss) is None or link_of(loss) is not None:
        return targets
    deviations = targets.std(axis=0)
    return np.asarray(targets / np.where(deviations > 0.0, deviations, 1.0))


def rank_of_level(level: float, n_permutations: int) -> int:
    """Return the rank of the critical value among ascending permuted statistics."""
    # The smallest statistic has rank 1.
    return int(np.ceil((1.0 - level) * (n_permutations + 1)))


def null_model(
    loss: SmoothConjugateLoss,
    targets: Array,
    columns: Array | None = None,
    offset: Array | None = None,
) -> NullModel:
    """Return the model of a constant and covariates (`columns`), without kernels."""
    constant = np.ones((len(targets), 1))
    rho, curvature = np.empty((2, *targets.shape))
    zero_stack = LowRankStack(np.zeros((len(targets), 1)), np.array([0, 1]))
    for output, y in enumerate(np.ascontiguousarray(targets.T)):
        output_loss = loss
        if offset is not None:
            offset_loss, y, factors = with_offset(loss, y, offset[:, output])
            output_loss = cast(SmoothConjugateLoss, weighted(offset_loss, factors))
        problem = Problem(zero_stack, y, output_loss, BlockL1(1.0))
        if columns is not None:
            problem = replace(problem, columns=columns)
        rho[:, output] = constant_model(problem).dual
        # The curvature of a loss is the inverse of the conjugate's curvature.
        curvature[:, output] = 1.0 / output_loss.conjugate_hessian(y, -rho[:, output])
    canonical = isinstance(loss, CANONICAL)
    if (columns is None and offset is None) or not canonical:
        # Curvature that depends on targets is replaced by its mean. With equal weights
        # and without covariates, permutation tests are then exact.
        curvature[:] = curvature.mean(axis=0)
    all_columns = constant if columns is None else np.column_stack([constant, columns])
    return NullModel(rho, curvature, canonical, all_columns)


def permutations(
    blocks: Sequence[Indices], n_permutations: int, random: np.random.RandomState
) -> Iterator[Indices]:
    """Yield random permutations that move each sample only within its block."""
    # A block is a vector of samples, or a matrix whose rows are groups of samples. Each
    # group is moved as a whole. Each sample is in one block.
    n_samples = sum(block.size for block in blocks)
    for _ in range(n_permutations):
        order = np.arange(n_samples)
        for rows in blocks:
            order[rows] = random.permutation(rows)
        yield order


def members(labels: NDArray[np.generic]) -> list[Indices]:
    """Return the rows of every label, in ascending order."""
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


def groups_of_equal_size(labels: NDArray[np.generic]) -> list[Indices]:
    """Group samples by label; return an array (n_groups, size) for each group size."""
    # Each row of an array contains the samples of one label.
    by_size: dict[int, list[Indices]] = {}
    for group in members(labels):
        by_size.setdefault(group.size, []).append(group)
    return [np.stack(groups) for groups in by_size.values()]


def blocks_of_forms(stack: GramStack, draws: Array) -> Iterator[tuple[Indices, Array]]:
    """Yield blocks of kernels, and v^T K_m v for all draws v, (n_in_block, n_draws)."""
    # Draws have shape (n_samples, n_draws, n_outputs); forms are summed over outputs.
    n_kernels, n_samples, _ = stack.shape
    n_draws, shares_work = draws.shape[1], stack.shares_work()
    vectors = np.ascontiguousarray(draws.reshape(n_samples, -1))
    step = max(1, MAX_ENTRIES // (n_draws if shares_work else vectors.size))
    for start in range(0, n_kernels, step):
        kernels = np.arange(start, min(start + step, n_kernels))
        if shares_work:
            part = stack if kernels.size == n_kernels else stack.once(kernels)
            all_forms = [part.quadratic_forms(v) for v in np.moveaxis(draws, 1, 0)]
            yield kernels, np.stack(all_forms, axis=1)
            continue
        images = stack.once(kernels).matvec(vectors)
        images *= vectors
        forms = images.sum(axis=1).reshape(kernels.size, n_draws, -1)
        yield kernels, forms.sum(axis=2)


def largest_forms_of_draws(stack: GramStack, draws: Array) -> Array:
    """Return the largest v^T K_m v over all kernels for every draw v, (n_draws,)."""
    # Draws have shape (n_samples, n_draws, n_outputs); forms are summed over outputs.
    if stack.shares_work():
        draw_vectors = np.moveaxis(draws, 1, 0)
        parts = [
            [part.largest_forms(v, -np.inf, 1)[1][0] for v in draw_vectors]
            for part in stack.in_parts()
        ]
        return np.asarray(np.max(parts, axis=0))
    blocks = [forms.max(axis=0) for _, forms in blocks_of_forms(stack, draws)]
    return np.asarray(np.max(blocks, axis=0))


def rounding_of_forms(stack: GramStack, draws: Array) -> Array:
    """Return bounds on rounding errors of v^T K_m v over all draws v, (n_kernels,)."""
    # For a draw v, measured errors were at most EPS trace(K_m) |v|^2 / 4, for six
    # kernels on 10 to 800 samples, also with columns 1e6 deviations from zero.
    largest = float((draws**2).sum(axis=(0, 2)).max())
    return np.asarray(4.0 * EPS * largest * np.abs(stack.traces()))


def analytic_p_values(
    stack: GramStack, null: NullModel, kernels: Indices, statistics: Array
) -> Array:
    """Return the p-values of some kernels for one output, without permutations."""
    roots = np.sqrt(null.curvature[:, 0])
    basis = null.basis(0)
    length = float(np.sum((null.rho[:, 0] / roots) ** 2))
    p_values = np.empty(statistics.size)
    for m, statistic in enumerate(statistics.tolist()):
        kernel_stack = stack.once(kernels[[m]])
        kernel = kernel_stack.columns(np.arange(len(roots)))[0] * roots * roots[:, None]
        projected = kernel - basis @ (basis.T @ kernel)
        projected -= (projected @ basis) @ basis.T
        eigenvalues = np.maximum(np.linalg.eigvalsh(projected), 0.0)[basis.shape[1] :]
        threshold = statistic
        if not null.knows_noise:
            eigenvalues, threshold = eigenvalues - statistic / length, 0.0
        rounding = rounding_unit(len(roots)) * float(np.trace(kernel))
        # If the residuals have no influence on the statistic, as for a constant kernel,
        # p is 1.
        varies = np.abs(eigenvalues).max(initial=0.0) > rounding
        p_values[m] = chi_squares_tail(eigenvalues, threshold) if varies else 1.0
    return p_values
