"""Gram matrices that are recomputed in blocks whenever they are needed."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TypeVar

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramStack
from multikernel.gram.compute.forms import (
    in_single_range,
    radial_forms,
    rough_radial_forms,
)
from multikernel.gram.compute.matrices import (
    BATCH,
    BLOCK_NUMBERS,
    BlockSamples,
    evaluate_diagonal,
    evaluate_other,
    make_samples,
    row_blocks,
    write_exponents,
    write_matrices,
)
from multikernel.gram.compute.plan import Plan, RadialPlan, make_plan
from multikernel.gram.dense import DenseStack
from multikernel.gram.matrix import HELD_BYTES, DenseMatrix, GramMatrix
from multikernel.gram.normalization import Normalization
from multikernel.kernels.base import KernelDictionary
from multikernel.linalg.threads import add_blocks, run_blocks

Term = TypeVar("Term")
BlockTerm = Callable[[Indices, slice, Array], Term]
"""A function of the parts of a `Block` that returns a term of a sum."""

Block = tuple[Indices, slice, Array]
"""Kernel indices, a slice of rows, and the block K[kernels, rows]."""

Task = Callable[[], Block]
"""A function that computes a block, for a thread to call."""


@dataclass(frozen=True, eq=False)
class LazyStack(GramStack):
    """Gram matrices that are not stored: each pass computes them block by block.

    `lazy_stack` creates such stacks. The plan says which kernels are computed together.
    `take` stores its result if it has at most `dense_bytes`. `cols` are the columns of
    a normalized stack: normalization may need whole rows, so blocks are computed with
    all training columns, and `cols` are selected afterwards.
    """

    plan: Plan
    samples: BlockSamples
    dense_bytes: int = HELD_BYTES
    normalization: Normalization = field(default_factory=Normalization)
    cols: Indices | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (n_kernels, n_rows, n_cols)."""
        n_cols = self.samples.cols.shape[0] if self.cols is None else self.cols.size
        return self.plan.n_kernels, self.samples.rows.shape[0], n_cols

    def quadratic_forms(self, v: Array) -> Array:
        """Return v^T K_m v (summed over outputs) for every m, shape (n_kernels,)."""
        self._require_square("quadratic forms")
        forms = np.zeros(self.shape[0])
        vectors = v[:, None] if v.ndim == 1 else v
        if self.cols is None:
            radial_forms(self.plan.radial, self.samples, vectors, forms)
            self._add_forms(vectors, forms, self._other_tasks())
        else:
            self._add_forms(vectors, forms, self._tasks())
        return forms

    def rough_forms(self, v: Array) -> tuple[Array, Array]:
        """Return quadratic forms, possibly in single precision, and error bounds."""
        if self.cols is not None or not in_single_range(self.plan.radial, self.samples):
            return self.quadratic_forms(v), np.zeros(self.shape[0])
        self._require_square("quadratic forms")
        forms, errors = np.zeros(self.shape[0]), np.zeros(self.shape[0])
        vectors = v[:, None] if v.ndim == 1 else v
        error = rough_radial_forms(self.plan.radial, self.samples, vectors, forms)
        errors[self.plan.radial.kernels] = error
        self._add_forms(vectors, forms, self._other_tasks())
        return forms, errors

    def matvec(self, v: Array) -> Array:
        """Return K_m v for every m, shape (n_kernels, n_rows[, n_outputs])."""
        return self._images(v.shape[1:], lambda kernels, block: block @ v)

    def block_matvec(self, coefs: Array) -> Array:
        """Return K_m coefs[m] for every m, (n_kernels, n_rows[, n_outputs])."""
        vectors = coefs.reshape(*coefs.shape[:2], -1)
        shape = vectors.shape[2:]
        images = self._images(shape, lambda kernels, block: block @ vectors[kernels])
        return images.reshape(*self.shape[:2], *coefs.shape[2:])

    def _images(
        self, shape: tuple[int, ...], multiply: Callable[[Indices, Array], Array]
    ) -> Array:
        """Return `multiply(kernels, block)` of all blocks as one array."""
        # The array has shape (n_kernels, n_rows, *shape).
        # `multiply` must neither change nor store a block.
        images = np.empty((*self.shape[:2], *shape))

        def visit(kernels: Indices, rows: slice, block: Array) -> None:
            images[kernels, rows] = multiply(kernels, block)

        normalized = self._block_normalizer()
        run_blocks(lambda task: visit(*normalized(task())), self._tasks())
        return images

    def combine(self, weights: Array) -> GramMatrix:
        """Return sum_m weights[m] K_m as one matrix, which is stored."""
        support = np.flatnonzero(weights)
        factors = np.asarray(weights[support], dtype=np.float64)
        return DenseMatrix(self.once(support).summed(factors))

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_kernels, n_rows, n_indices)."""
        return self.between(np.arange(self.shape[1]), indices).compute()

    def diagonals(self) -> Array:
        """Return every diagonal, (n_kernels, n_rows), perhaps a read-only broadcast."""
        self._require_square("diagonals")
        unnormalized = self._unnormalized_diagonals()
        if self.cols is None:
            return unnormalized
        diagonals = np.array(unnormalized)
        no_rows = np.empty((0, diagonals.shape[1]))
        for m, diagonal in enumerate(diagonals):
            self.normalization.apply(m, no_rows, np.empty(0), diagonal)
        return diagonals[:, self.cols]

    def take(self, kernels: Indices) -> GramStack:
        """Return the stack of the chosen kernels, in memory if it is small enough."""
        chosen = self.once(np.arange(self.shape[0])[kernels])
        n_kernels, n_rows, n_cols = chosen.shape
        if 8 * n_kernels * n_rows * n_cols > self.dense_bytes:
            return chosen
        return DenseStack(chosen.compute())

    def once(self, kernels: Indices) -> "LazyStack":
        """Return the stack of the chosen kernels, without computing their matrices."""
        # For a single pass, storing the matrices first would not save time.
        indices = np.asarray(kernels)
        steps = self.normalization.take(indices)
        return replace(self, plan=self.plan.take(indices), normalization=steps)

    def between(self, rows: Indices, cols: Indices) -> "LazyStack":
        """Return the stack of blocks K_m[rows, cols]."""
        if self.cols is None:
            return replace(self, samples=self.samples.restrict(rows, cols))
        all_cols = np.arange(self.samples.cols.shape[0])
        samples = self.samples.restrict(rows, all_cols)
        return replace(self, samples=samples, cols=self.cols[cols])

    def combined_rows(self, weights: Array, rows: Indices) -> Array:
        """Return some rows of sum_m weights[m] K_m, shape (n_rows, n_samples)."""
        support = np.flatnonzero(weights)
        stack = self.once(support).between(rows, np.arange(self.shape[2]))
        return stack.summed(weights[support])

    def compute(self) -> Array:
        """Return all matrices in one array, shape (n_kernels, n_rows, n_cols)."""
        if self.cols is not None:
            return self._images(self.shape[2:], lambda _, block: block)
        array = np.empty(self.shape)
        write_matrices(array, self.plan, self.samples, Normalization().learn)
        return array

    def summed(self, weights: Array) -> Array:
        """Return sum_m weights[m] K_m, shape (n_rows, n_cols)."""
        total = np.zeros(self.shape[1:])

        def image(kernels: Indices, rows: slice, block: Array) -> tuple[slice, Array]:
            return rows, np.tensordot(weights[kernels], block, axes=1)

        def add(result: tuple[slice, Array]) -> None:
            rows, values = result
            total[rows] += values

        self._sum_tasks(image, add, self._tasks())
        return total

    def _sum_tasks(
        self,
        image: BlockTerm[Term],
        add: Callable[[Term], None],
        tasks: Iterable[Task],
    ) -> None:
        """Call ``add(image(...))`` for the blocks that `tasks` compute."""
        # Threads call `image`, whose results must be new arrays. Only the calling
        # thread calls `add`, in the order of the blocks.
        normalized = self._block_normalizer()
        add_blocks(lambda task: image(*normalized(task())), tasks, add)

    def _add_forms(self, v: Array, forms: Array, tasks: Iterable[Task]) -> None:
        """Add v^T K_m v to forms[m] for every kernel m that `tasks` compute."""

        def image(kernels: Indices, rows: slice, block: Array) -> tuple[Indices, Array]:
            return kernels, np.einsum("ik,mik->m", v[rows], block @ v)

        def add(result: tuple[Indices, Array]) -> None:
            kernels, values = result
            forms[kernels] += values

        self._sum_tasks(image, add, tasks)

    def _block_normalizer(self) -> Callable[[Block], Block]:
        """Return a function that returns a block after normalization."""
        if self.cols is None:
            return lambda block: block
        cols = self.cols
        diagonals, row_ids = self._unnormalized_diagonals(), self.samples.row_ids
        all_columns = np.array_equal(cols, np.arange(self.samples.cols.shape[0]))

        def normalized(block: Block) -> Block:
            kernels, rows, values = block[0], block[1], block[2].copy()
            for m, K in zip(kernels, values, strict=True):
                row_diagonal = diagonals[m, row_ids[rows]]
                self.normalization.apply(m, K, row_diagonal, diagonals[m].copy())
            return kernels, rows, values if all_columns else values[:, :, cols]

        return normalized

    def _unnormalized_diagonals(self) -> Array:
        """Return k(x, x) of `samples.cols` before normalization, one row per kernel."""
        shape = self.plan.n_kernels, self.samples.cols.shape[0]
        if not self.plan.others.size:
            return np.broadcast_to(1.0, shape)
        diagonals = np.ones(shape)
        for index, m in enumerate(self.plan.others):
            diagonals[m] = evaluate_diagonal(self.plan, index, self.samples.cols)
        return diagonals

    def _tasks(self) -> Iterable[Task]:
        """Return the tasks of threads that compute all kernels."""
        return chain(self._radial_tasks(), self._other_tasks())

    def _radial_tasks(self) -> Iterator[Task]:
        """Yield one task for each batch of Gaussian kernels and each block of rows."""
        n_rows, n_cols = self.samples.rows.shape[0], self.samples.cols.shape[0]
        for batch in self.plan.radial.batches(BATCH):
            for rows in row_blocks(n_rows, n_cols, batch.kernels.size):
                yield partial(self._radial_block, batch, rows)

    def _radial_block(self, batch: RadialPlan, rows: slice) -> Block:
        """Return some rows of a batch of Gaussian kernels."""
        n_kernels, n_rows = batch.kernels.size, rows.stop - rows.start
        n_cols = self.samples.cols.shape[0]
        block = np.empty((n_kernels, n_rows, n_cols))
        stops = np.full(n_rows, n_cols)
        offsets = np.arange(n_kernels) * (n_rows * n_cols)
        write_exponents(batch, self.samples, rows, stops, offsets, block.reshape(-1))
        return batch.kernels, rows, np.exp(block, out=block)

    def _other_tasks(self) -> Iterator[Task]:
        """Yield the tasks of threads that compute all kernels that are not Gaussian."""
        n_rows, step = self.shape[1], max(1, 8 * BLOCK_NUMBERS // max(1, self.shape[2]))
        for index in range(self.plan.others.size):
            for start in range(0, n_rows, step):
                rows = slice(start, min(start + step, n_rows))
                yield partial(self._other_block, index, rows)

    def _other_block(self, index: int, rows: slice) -> Block:
        """Return some rows of a kernel that is not Gaussian."""
        values = evaluate_other(self.plan, index, self.samples, rows)
        return self.plan.others[index : index + 1], rows, values[None]

    def _require_square(self, subject: str) -> None:
        """Raise if rows and columns are different samples."""
        square = self.samples.symmetric
        if self.cols is not None:
            square = np.array_equal(self.samples.row_ids, self.cols)
        if not square:
            raise ValueError(
                f"LazyStack: {subject} require the same samples in rows and columns, "
                "got different samples: call between(samples, samples) on the "
                "LazyStack of all samples."
            )


def normalize_lazily(stack: LazyStack, normalization: Normalization) -> GramStack:
    """Fit every step to a lazy stack of square matrices; return it normalized."""
    if normalization.only_scales:
        return normalization.learn_scales(stack)
    normalized, all_samples = stack, np.arange(stack.shape[1])
    for position, step in enumerate(normalization.steps):
        # The steps "variance" and "center" compute all Gram matrices here; "trace"
        # reads only diagonals, and "cosine" learns nothing.
        step.learn(slice(None), normalized)
        fitted = Normalization(normalization.steps[: position + 1])
        normalized = replace(stack, normalization=fitted, cols=all_samples)
    return normalized


def lazy_stack(
    dictionary: KernelDictionary, X: Array, dense_bytes: int = HELD_BYTES
) -> LazyStack:
    """Return a stack that recomputes matrices; `take` stores at most `dense_bytes`."""
    return LazyStack(make_plan(dictionary, X.shape[1]), make_samples(X), dense_bytes)
