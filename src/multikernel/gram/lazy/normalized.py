"""Lazy Gram matrices that are normalised as they are computed."""

from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramMatrix, GramStack
from multikernel.gram.dense import DenseMatrix, DenseStack
from multikernel.gram.lazy.blocks import (
    Visit,
    visited_array,
    visited_block_matvec,
    visited_forms,
    visited_matvec,
)
from multikernel.gram.lazy.matrix import LazyMatrix
from multikernel.gram.lazy.stack import LazyStack
from multikernel.gram.normalization import Normalization


@dataclass(frozen=True, eq=False)
class NormalizedStack(GramStack):
    """A lazy stack whose blocks go through the steps of a normalisation.

    A step may need whole rows, so that all training columns are computed even where
    only some are wanted.

    Parameters
    ----------
    stack : LazyStack
        The kernels as they are, square, on all training samples.
    normalization : Normalization
        Learnt on these.
    rows, cols : ndarray of int
        Which training samples are rows and columns.
    """

    stack: LazyStack
    normalization: Normalization
    rows: Indices
    cols: Indices

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (n_kernels, n_rows, n_cols)."""
        return self.stack.shape[0], self.rows.size, self.cols.size

    def quadratic_forms(self, v: Array) -> Array:
        """Return v^T K_m v (summed over outputs) for every m, shape (n_kernels,)."""
        self._require_square("quadratic forms")
        forms = np.zeros(self.shape[0])
        visited_forms(self.visit_blocks, v, forms)
        return forms

    def matvec(self, v: Array) -> Array:
        """Return K_m v for every m, shape (n_kernels, n_rows[, n_outputs])."""
        return visited_matvec(self, v)

    def block_matvec(self, coefs: Array) -> Array:
        """Return K_m coefs[m] for every m, shape (n_kernels, n_rows[, n_outputs])."""
        return visited_block_matvec(self, coefs)

    def combine(self, weights: Array) -> GramMatrix:
        """Return sum_m weights[m] K_m as one matrix, held if it is small enough."""
        support = np.flatnonzero(weights)
        matrix = LazyMatrix(self.once(support), weights[support])
        if 8 * self.shape[1] * self.shape[2] > self.stack.dense_bytes:
            return matrix
        return DenseMatrix(matrix.compute())

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_kernels, n_rows, n_indices)."""
        everything = np.arange(self.shape[1])
        return visited_array(self.between(everything, indices))

    def diagonals(self) -> Array:
        """Return every diagonal, shape (n_kernels, n_rows)."""
        self._require_square("diagonals")
        diagonals = np.array(self.stack.diagonals())
        nothing = np.empty((0, diagonals.shape[1]))
        for m, diagonal in enumerate(diagonals):
            self.normalization.apply(m, nothing, np.empty(0), diagonal)
        return diagonals[:, self.rows]

    def take(self, kernels: Indices) -> GramStack:
        """Return the stack of the chosen kernels, in memory if it is small enough."""
        part = self.once(np.arange(self.shape[0])[kernels])
        n_kernels, n_rows, n_cols = part.shape
        if 8 * n_kernels * n_rows * n_cols > self.stack.dense_bytes:
            return part
        return DenseStack(visited_array(part))

    def restrict(self, samples: Indices) -> "NormalizedStack":
        """Return the stack on the chosen samples."""
        return self.between(samples, samples)

    def sparse_matvec(self, support: Indices, values: Array) -> Array:
        """Return K_m v for every m and a v with few entries other than zero."""
        return self.between(np.arange(self.shape[1]), support).matvec(values)

    def combined_rows(self, weights: Array, rows: Indices) -> Array:
        """Return some rows of sum_m weights[m] K_m, shape (n_rows, n_samples)."""
        support = np.flatnonzero(weights)
        part = self.once(support).between(rows, np.arange(self.shape[2]))
        return LazyMatrix(part, weights[support]).compute()

    def row_length(self, wanted: int) -> int:
        """Return the number of training samples: steps may need whole rows."""
        return self.stack.shape[2]

    def between(self, rows: Indices, cols: Indices) -> "NormalizedStack":
        """Return the matrices between some samples and others."""
        return NormalizedStack(
            self.stack, self.normalization, self.rows[rows], self.cols[cols]
        )

    def visit_blocks(self, visit: Visit) -> None:
        """Compute every kernel once, and show it block by block; see `VisitedStack`."""
        plain = self.stack.diagonals()
        train = self.stack.samples.rows
        everything = np.arange(train.shape[0])
        whole = np.array_equal(self.rows, everything)
        samples = self.stack.samples
        if not whole:
            samples = samples.restrict(self.rows, everything)
        all_columns = np.array_equal(self.cols, everything)

        def normalize(kernels: Indices, rows: slice, block: Array) -> None:
            values = block.copy()
            for m, K in zip(kernels, values, strict=True):
                row_diagonal = plain[m, self.rows[rows]]
                self.normalization.apply(m, K, row_diagonal, plain[m].copy())
            visit(kernels, rows, values if all_columns else values[:, :, self.cols])

        LazyStack(self.stack.plan, samples).visit_blocks(normalize)

    def once(self, kernels: Indices) -> "NormalizedStack":
        """Return the stack of some kernels, still lazy."""
        normalization = self.normalization.take(kernels)
        return NormalizedStack(
            self.stack.once(kernels), normalization, self.rows, self.cols
        )

    def _require_square(self, what: str) -> None:
        """Raise if rows and columns are different samples."""
        if not np.array_equal(self.rows, self.cols):
            raise ValueError(
                f"Only square Gram matrices have {what}; rows and columns of these "
                "are different samples."
            )


def normalize_lazily(stack: LazyStack, normalization: Normalization) -> GramStack:
    """Learn every step of a normalisation from a lazy stack, and return the result.

    Each step but "trace" and "cosine" computes every kernel once.

    Parameters
    ----------
    stack : LazyStack
        The kernels as they are, square.
    normalization : Normalization
        Steps that have learnt nothing yet.

    Returns
    -------
    stack : GramStack
        `stack` itself without steps; a `ScaledStack` where steps only scale.
    """
    if normalization.only_scales:
        return normalization.learn_scales(stack)
    everything = np.arange(stack.shape[1])
    normalized: GramStack = stack
    for position, step in enumerate(normalization.steps):
        step.learn(slice(None), normalized)
        done = Normalization(normalization.steps[: position + 1])
        normalized = NormalizedStack(stack, done, everything, everything)
    return normalized
