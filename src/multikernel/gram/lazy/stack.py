"""Gram matrices that are recomputed in blocks whenever they are needed."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramMatrix, GramStack
from multikernel.gram.dense import DenseMatrix, DenseStack
from multikernel.gram.fill import evaluate_diagonal, evaluate_other, fill
from multikernel.gram.lazy.blocks import (
    Visit,
    visited_block_matvec,
    visited_forms,
    visited_matvec,
)
from multikernel.gram.lazy.matrix import LazyMatrix
from multikernel.gram.lazy.plan import Plan, make_plan
from multikernel.gram.lazy.radial import (
    BATCH,
    BLOCK_NUMBERS,
    RadialBatch,
    Samples,
    make_samples,
    row_blocks,
)
from multikernel.gram.lazy.triangles import radial_forms
from multikernel.gram.normalization import Normalization
from multikernel.kernels.base import KernelDictionary
from multikernel.linalg.threads import available_threads, run_blocks

DENSE_BYTES = 2**28
"""Bytes up to which what is taken from a lazy stack is computed once and kept."""


@dataclass(frozen=True, eq=False)
class LazyStack(GramStack):
    """Gram matrices that are never held: each pass computes them block by block.

    Blocks of a few kernels and rows go through all threads. Gaussian kernels on the
    same columns share their distances, and a quadratic form needs only one triangle.
    Make one with `lazy_stack`.

    Parameters
    ----------
    plan : Plan
        Which kernels are computed together.
    samples : Samples
        Their samples.
    dense_bytes : int
        Results of `take` and `combine` up to this size are computed once and held in
        memory; larger ones stay lazy.
    """

    plan: Plan
    samples: Samples
    dense_bytes: int = DENSE_BYTES

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (n_kernels, n_rows, n_cols)."""
        rows, cols = self.samples.rows, self.samples.cols
        return self.plan.n_kernels, rows.shape[0], cols.shape[0]

    @property
    def block_bytes(self) -> int:
        """Return the bytes of the largest block, the least that a pass must hold."""
        _, n_rows, n_cols = self.shape
        together = min(BATCH, self.plan.radial.kernels.size)
        numbers = 0
        if together:
            first = next(row_blocks(n_rows, n_cols, together))
            numbers = together * (first.stop - first.start) * n_cols
        if self.plan.others.size:
            numbers = max(numbers, min(n_rows, self._other_rows()) * n_cols)
        return 8 * numbers

    def quadratic_forms(self, v: Array) -> Array:
        """Return v^T K_m v (summed over outputs) for every m, shape (n_kernels,)."""
        self._require_square("quadratic forms")
        forms = np.zeros(self.shape[0])
        vectors = v[:, None] if v.ndim == 1 else v
        radial_forms(self.plan.radial, self.samples, vectors, forms)
        visited_forms(self._visit_others, vectors, forms)
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
        matrix = LazyMatrix(
            self.once(support), np.asarray(weights[support], dtype=np.float64)
        )
        if 8 * self.shape[1] * self.shape[2] > self.dense_bytes:
            return matrix
        return DenseMatrix(matrix.compute())

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_kernels, n_rows, n_indices)."""
        everything = np.arange(self.shape[1])
        return self._compute(self.samples.restrict(everything, indices))

    def diagonals(self) -> Array:
        """Return every diagonal, shape (n_kernels, n_rows).

        Without other than Gaussian kernels it is a read-only view of one number.
        """
        self._require_square("diagonals")
        n_kernels, n_rows, _ = self.shape
        if not self.plan.others.size:
            return np.broadcast_to(1.0, (n_kernels, n_rows))
        diagonals = np.ones((n_kernels, n_rows))
        for place, m in enumerate(self.plan.others):
            diagonals[m] = evaluate_diagonal(self.plan, place, self.samples.rows)
        return diagonals

    def take(self, kernels: Indices) -> GramStack:
        """Return the stack of the chosen kernels, in memory if it is small enough."""
        chosen = self.once(np.arange(self.shape[0])[kernels])
        n_kernels, n_rows, n_cols = chosen.shape
        if 8 * n_kernels * n_rows * n_cols > self.dense_bytes:
            return chosen
        return DenseStack(chosen._compute(self.samples))

    def once(self, kernels: Indices) -> "LazyStack":
        """Return the stack of the chosen kernels, lazy whatever its size."""
        plan = self.plan.take(np.asarray(kernels))
        return LazyStack(plan, self.samples, self.dense_bytes)

    def restrict(self, samples: Indices) -> "LazyStack":
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

    def between(self, rows: Indices, cols: Indices) -> "LazyStack":
        """Return the matrices between some samples and others."""
        return LazyStack(self.plan, self.samples.restrict(rows, cols), self.dense_bytes)

    def visit_blocks(self, visit: Visit) -> None:
        """Compute every kernel once, and show it block by block; see `VisitedStack`."""
        run_blocks(lambda task: self._visit_radial(task, visit), self._radial_tasks())
        self._visit_others(visit)

    def _visit_others(self, visit: Visit) -> None:
        """Show the kernels that are not Gaussian."""
        run_blocks(lambda task: self._visit_other(task, visit), self._other_tasks())

    def _radial_tasks(self) -> Iterator[tuple[RadialBatch, list[slice]]]:
        """Cut the work on Gaussian kernels into tasks for threads."""
        _, n_rows, n_cols = self.shape
        n_radial = self.plan.radial.kernels.size
        few = n_radial < 4 * BATCH * available_threads()
        for batch in self.plan.radial.batches(BATCH):
            radial = RadialBatch(batch, self.samples)
            blocks = list(row_blocks(n_rows, n_cols, batch.kernels.size))
            if few:
                yield from ((radial, [block]) for block in blocks)
            else:
                yield radial, blocks

    def _visit_radial(
        self, task: tuple[RadialBatch, list[slice]], visit: Visit
    ) -> None:
        """Compute some rows of a batch of Gaussian kernels, and show them."""
        radial, blocks = task
        n_cols = self.shape[2]
        n_kernels = radial.plan.kernels.size
        first = blocks[0].stop - blocks[0].start
        buffer = np.empty(n_kernels * first * n_cols)
        for rows in blocks:
            n_rows = rows.stop - rows.start
            stops = np.full(n_rows, n_cols)
            offsets = np.arange(n_kernels) * (n_rows * n_cols)
            values = buffer[: n_kernels * n_rows * n_cols]
            radial.exponents(rows, stops, offsets, values)
            np.exp(values, out=values)
            block = values.reshape(n_kernels, n_rows, n_cols)
            visit(radial.plan.kernels, rows, block)

    def _other_tasks(self) -> Iterator[tuple[int, slice]]:
        """Cut the work on other kernels into tasks for threads."""
        n_rows, step = self.shape[1], self._other_rows()
        for place in range(self.plan.others.size):
            for start in range(0, n_rows, step):
                yield place, slice(start, min(start + step, n_rows))

    def _other_rows(self) -> int:
        """Return the most rows of a block of a kernel that is not Gaussian."""
        return max(1, 8 * BLOCK_NUMBERS // max(1, self.shape[2]))

    def _visit_other(self, task: tuple[int, slice], visit: Visit) -> None:
        """Compute some rows of another kernel, and show them."""
        place, rows = task
        block = evaluate_other(self.plan, place, self.samples, rows)
        visit(self.plan.others[place : place + 1], rows, block[None])

    def _compute(self, samples: Samples) -> Array:
        """Return all matrices on some samples in one array."""
        shape = self.shape[0], samples.rows.shape[0], samples.cols.shape[0]
        array = np.empty(shape)
        fill(array, self.plan, samples, Normalization())
        return array

    def _require_square(self, what: str) -> None:
        """Raise if rows and columns are different samples."""
        if not self.samples.symmetric:
            raise ValueError(
                f"Only square Gram matrices have {what}; rows and columns of these "
                "are different samples."
            )


def lazy_stack(
    dictionary: KernelDictionary, X: Array, dense_bytes: int = DENSE_BYTES
) -> LazyStack:
    """Return the stack of a dictionary that recomputes its matrices when needed.

    Parameters
    ----------
    dictionary : KernelDictionary
        The kernels, their columns given by indices.
    X : ndarray of shape (n_samples, n_features)
        Samples.
    dense_bytes : int, default=2**28
        Results of `take` and `combine` up to this size are held in memory.

    Returns
    -------
    stack : LazyStack

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.gram import lazy_stack
    >>> from multikernel.kernels import random_subset_gaussians
    >>> X = np.zeros((3, 20))
    >>> stack = lazy_stack(random_subset_gaussians(1000, 20, random_state=0), X)
    >>> stack.quadratic_forms(np.ones(3)).max()
    np.float64(9.0)
    """
    return LazyStack(make_plan(dictionary, X.shape[1]), make_samples(X), dense_bytes)
