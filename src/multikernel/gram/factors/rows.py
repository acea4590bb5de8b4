"""Compute factors and residuals at rows that are not in the sample of landmarks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import solve_triangular

from multikernel._typing import Array, Indices
from multikernel.gram.factors.factor_blocks import FactorBlock
from multikernel.gram.factors.growth import (
    Factor,
    extended_triangle,
    kernel_and_columns,
    kernel_columns,
    rounding_error_share,
)
from multikernel.gram.factors.landmarks import Landmarks, feature_rows
from multikernel.gram.steps import inverse_roots
from multikernel.kernels.base import (
    Kernel,
    checked_values,
    kernel_diagonal,
    kernel_name,
)
from multikernel.linalg import SINGLE
from multikernel.linalg.tables import row_chunks


@dataclass(frozen=True, eq=False)
class KernelRows:
    """The factor of one kernel at some rows, before it is normalized."""

    rows: Array  # (rank, n_rows), the factor, transposed
    bound: Array | None  # upper bound on the residual's diagonal; None if zero
    size: float  # weighted sum of the kernel's diagonal
    mean: Array  # (rank,), weighted sum of the rows of the factor


@dataclass(frozen=True, eq=False)
class KernelPlan:
    """A plan to compute the factor of one kernel at any rows."""

    kernel: Kernel
    owner: str  # name of the kernel in messages
    # (rank, n_columns), values of the landmarks in the columns that the kernel uses; no
    # rows if the factor is made of explicit features.
    landmarks: Array
    triangle: Array | None  # rows of the factor at the landmarks; None for features
    rank: int  # number of columns of the factor
    cosine: bool  # whether values are divided by roots of the diagonal

    def __call__(self, X: Array, weights: Array) -> KernelRows:
        """Return the factor at the rows `X`, and the weighted sums of `KernelRows`."""
        # `weights`, (n_rows,), are the weights of the rows in both sums.
        if self.landmarks.shape[0]:
            return self._by_landmarks(X, weights)
        features = feature_rows(self.kernel, X, cosine=self.cosine)
        if features is None:
            # A zero kernel without landmarks has a column of zeros as its factor. The
            # residual of this factor is the kernel.
            columns = kernel_columns(self.kernel, X, self.owner, cosine=self.cosine)
            diagonal = np.maximum(columns.diagonal(), 0.0)
            rows = np.zeros((1, X.shape[0]))
            return _with_sums(rows, diagonal, weights, bound=diagonal.copy())
        rows, diagonal = features
        return _with_sums(rows, diagonal, weights, bound=None)

    def _by_landmarks(self, X: Array, weights: Array) -> KernelRows:
        """Return the factor at rows X: R^-T k(landmarks, X), with R^T = `triangle`."""
        assert self.triangle is not None
        columns = kernel_columns(self.kernel, X, self.owner, cosine=self.cosine)
        diagonal = columns.diagonal()
        # `landmarks` contains only the columns that the kernel uses, so `kernel` is the
        # kernel without its choice of columns.
        kernel, _ = kernel_and_columns(self.kernel, X[:1])
        roots = np.ones(self.rank)
        if columns.roots is not None:
            roots = inverse_roots(kernel_diagonal(kernel, self.landmarks))
        rows = np.empty((self.rank, X.shape[0]))
        for chunk in row_chunks(X.shape[0], self.rank):
            X_part = columns.X[chunk]
            shape = self.rank, X_part.shape[0]
            compute = partial(kernel, self.landmarks, X_part)
            K = checked_values(compute, shape, self.owner)
            if columns.roots is not None:
                K = roots[:, None] * K * columns.roots[chunk]
            rows[:, chunk] = solve_triangular(
                self.triangle, K, lower=True, check_finite=False
            )
        bound = np.maximum(diagonal - np.einsum("ri,ri->i", rows, rows), 0.0)
        bound += rounding_error_share(self.rank) * np.abs(diagonal)
        return _with_sums(rows, diagonal, weights, bound=bound)


def _with_sums(
    rows: Array, diagonal: Array, weights: Array, *, bound: Array | None
) -> KernelRows:
    """Return a kernel's factor with the weighted sums that `KernelRows` contains."""
    return KernelRows(rows, bound, float(weights @ diagonal), rows @ weights)


def factor_plan(landmarks: Landmarks, m: int, factor: Factor) -> KernelPlan:
    """Return the plan that computes an existing factor at any rows."""
    kernel = landmarks.dictionary[m]
    _, points = kernel_and_columns(kernel, landmarks.samples[factor.landmarks])
    has_features = factor.landmarks.size < factor.rows.shape[0]
    return KernelPlan(
        kernel,
        f"Kernel {m} ({kernel_name(kernel)})",
        points,
        None if has_features else extended_triangle(factor, np.empty((0, 0))),
        max(factor.rows.shape[0], 1),
        landmarks.cosine,
    )


@dataclass(frozen=True, eq=False)
class RawBlock:
    """Unnormalized factors at the rows of a block, by kernel index."""

    kernels: Mapping[int, KernelRows]

    def __sizeof__(self) -> int:
        # Dask uses this size, in bytes, to plan its memory use.
        rows_of_each = [factor.rows for factor in self.kernels.values()]
        return sum(rows.nbytes + rows[0].nbytes for rows in rows_of_each)


def raw_block(X: Array, weights: Array, *, plans: Mapping[int, KernelPlan]) -> RawBlock:
    """Return the factors of some kernels at the rows of a block."""
    return RawBlock({m: plan(X, weights) for m, plan in plans.items()})


def moments(block: RawBlock) -> tuple[Array, Array]:
    """Return two weighted sums over a block: of diagonals, and of rows of factors."""
    # Both sums are over samples, with the sample weights; see `KernelRows`. The sums of
    # the diagonals have shape (n_kernels,). The sums of the rows of all factors are
    # concatenated, shape (sum of ranks,).
    factors = [block.kernels[m] for m in sorted(block.kernels)]
    sizes = np.array([factor.size for factor in factors])
    return sizes, np.concatenate([factor.mean for factor in factors])


def largest_residuals(
    X: Array, block: RawBlock, sizes: Array, kernels: Sequence[int], n_rows: int
) -> tuple[Array, Array]:
    """Return rows of X with the largest residuals, and (kernel, residual) of each."""
    # A residual here is the bound on a diagonal entry of a kernel's residual, times the
    # row's entry in `sizes`. Each of `kernels` has its `n_rows` largest residuals in
    # the result, if the block has so many rows.
    rows, pairs = [X[:0]], [np.empty((0, 2))]
    for m in kernels:
        bound = block.kernels[m].bound
        if bound is None:
            continue
        values = bound * sizes
        largest = np.argsort(-values, kind="stable")[:n_rows]
        rows.append(X[largest])
        pairs.append(np.column_stack([np.full(largest.size, m), values[largest]]))
    return np.concatenate(rows), np.concatenate(pairs)


@dataclass(frozen=True, eq=False)
class Scaling:
    """The normalization of one factor Z, which becomes sqrt(scale) * (Z - shift)."""

    scale: float
    shift: Array | None  # (rank,); None if the kernel is not centered


def normalized(
    block: RawBlock,
    file_array: Array | None = None,
    old_block: FactorBlock | None = None,
    *,
    scalings: Sequence[Scaling],
    parts: Sequence[slice],
    old_parts: Sequence[slice] = (),
) -> FactorBlock:
    """Normalize the factors in `block`; return the factors of all kernels."""
    # Kernel m is normalized by scalings[m] if `block` has a factor for it; otherwise
    # its normalized factor is copied from `old_block`. The factor of kernel m is in the
    # columns parts[m] of the result, and in the columns old_parts[m] of `old_block`.
    # The result is written to `file_array`, an array in a file, or to new memory if it
    # is None.
    n_rows = next(iter(block.kernels.values())).rows.shape[1]
    n_columns, n_kernels = parts[-1].stop, len(parts)
    if file_array is None:
        file_array = np.empty((n_columns + n_kernels) * n_rows)
    buffer = file_array.reshape(-1, n_rows)
    rows, roots = buffer[:n_columns], buffer[n_columns:]
    roots[:] = 0.0
    for m, (scaling, columns) in enumerate(zip(scalings, parts, strict=True)):
        if m not in block.kernels:
            assert old_block is not None
            rows[columns] = old_block.Z[:, old_parts[m]].T
            roots[m] = 0.0 if old_block.roots is None else old_block.roots[m]
            continue
        kernel = block.kernels[m]
        shift = 0.0 if scaling.shift is None else scaling.shift[:, None]
        np.multiply(kernel.rows - shift, np.sqrt(scaling.scale), out=rows[columns])
        if kernel.bound is not None:
            # Scales of an indefinite matrix may be negative; such kernels are removed
            # later.
            np.sqrt(np.maximum(scaling.scale * kernel.bound, 0.0), out=roots[m])
            if roots.dtype == np.float32:
                roots[m] *= 1.0 + 2.0 * SINGLE  # upper bounds also after rounding
    return FactorBlock(rows.T, roots if roots.any() else None)


def offsets_of(ranks: Indices) -> Indices:
    """Return the index of each kernel's first column, then the sum of all `ranks`."""
    return np.concatenate([[0], np.cumsum(ranks, dtype=np.intp)])
