"""Stacks of elementwise products of two main Gram matrices; products are not stored.

Main kernels are not products themselves; the product of two main kernels is the kernel
of their interaction. One matrix product gives the quadratic forms v^T K v of all
products K: for n samples, let row i of V have the n^2 entries of main matrix i, and w
the n^2 products v_a v_b of entries of v. Then entry (i, j) of V diag(w) V^T is the form
of the elementwise product of main matrices i and j.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices
from multikernel._validation import check_places
from multikernel.gram.base import GramStack
from multikernel.gram.dense import DenseStack, PartStack, n_threads_for
from multikernel.gram.matrix import (
    HELD_BYTES,
    BlockMultiplier,
    DenseMatrix,
    GramMatrix,
    column_runs,
    multiplier_of_arrays,
)
from multikernel.kernels.terms import FactorIndices
from multikernel.linalg.tables import read_only
from multikernel.linalg.threads import available_threads, compiled, run_blocks

LOOPS = "multikernel.gram.product_loops"

Places = NDArray[np.uint32] | NDArray[np.uint64]
"""Flat indices of entries in a matrix."""

FEW = 64
"""Up to n_mains**2 / FEW products of n_mains matrices are computed one by one."""

# On 60 mains of 320 samples, the forms took 22 ms, and 30 ms with four times this
# value.
ENTRIES_AT_ONCE = 2**18
"""Scaled entries that a thread stores at a time; they should fit in its cache."""


def places_type(n_samples: int) -> type:
    """Return an integer type for flat indices into an n x n matrix."""
    return np.uint32 if n_samples <= 2**16 else np.uint64


def main_places(pairs: Indices) -> tuple[Indices, Indices]:
    """Return the main kernels in `pairs`, and `pairs` as indices into this array."""
    occurs = np.bincount(pairs.reshape(-1)) > 0
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[pairs]


class ProductsOfMains(GramStack):
    """A stack whose kernels are main kernels, or products of two of them."""

    terms: FactorIndices
    """Both main kernels of a product, or a main kernel and -1, shape (n_kernels, 2)."""

    @cached_property
    def main_kernels(self) -> Indices:
        """Return the indices of the main kernels."""
        return np.flatnonzero(self.terms[:, 1] < 0)

    @cached_property
    def _products(self) -> Indices:
        """Return the indices of the products."""
        return np.flatnonzero(self.terms[:, 1] >= 0)

    @cached_property
    def _product_mains(self) -> tuple[Indices, Indices]:
        """Return the main kernels in products, and each product's two main kernels."""
        # The second array, (n_products, 2), has positions in the first array.
        return main_places(self.terms[self._products])

    def _multiplied(self, mains: Array) -> Array:
        """Return values of every kernel, given those of the main kernels."""
        # A value of a product is the product of the values of its main kernels.
        values: Array = mains[self.terms[:, 0]]
        values[self._products] *= mains[self.terms[self._products, 1]]
        return values

    def zero_kernels(self) -> Indices:
        """Return the kernels whose matrix is zero: those with a zero diagonal."""
        return np.flatnonzero(self.traces() <= 0.0)


class ProductsOfWhole(ProductsOfMains):
    """A stack of products of stored main matrices, for all or some of their samples."""

    mains: GramStack
    samples: Indices | None

    @cached_property
    def _sample_rows(self) -> Indices:
        """Return the row index of each sample in the main matrices."""
        if self.samples is None:
            return np.arange(self.mains.shape[1])
        return self.samples

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (n_kernels, n_samples, n_samples)."""
        return len(self.terms), self._sample_rows.size, self._sample_rows.size

    @property
    def _is_batched(self) -> bool:
        """Return whether computing products of all main kernels at once is faster."""
        return self._products.size * FEW > self._product_mains[0].size ** 2

    def diagonals(self) -> Array:
        """Return every diagonal, shape (n_kernels, n_samples)."""
        return self._multiplied(self.mains.diagonals()[:, self._sample_rows])

    def traces(self, shares: Array | None = None) -> Array:
        """Return the (weighted) trace of every matrix; see `GramStack.traces`."""
        mains = self.mains.diagonals()[:, self._sample_rows]
        weighted = mains if shares is None else mains * shares
        traces = weighted.sum(axis=1)[self.terms[:, 0]]
        if self._products.size:
            members, (i, j) = self._product_mains[0], self._product_mains[1].T
            # The trace of a product is the inner product of the diagonals of its main
            # kernels. One matrix product computes all inner products.
            products = np.dot(weighted[members], mains[members].T)
            traces[self._products] = products[i, j]
        return np.asarray(traces)

    def pass_numbers(self) -> float:
        """Return the number of entries of the main matrices, which a pass reads."""
        terms = np.asarray(self.terms)
        return float(np.unique(terms[terms >= 0]).size) * self.shape[1] ** 2


@dataclass(frozen=True, eq=False)
class ProductStack(ProductsOfWhole):
    """Main matrices in memory, and elementwise products of two of them.

    `terms`, shape (n_kernels, 2), has the indices of the two main matrices of every
    kernel; the second is -1 for a main matrix alone. Products are not stored:
    multiplications of main matrices give the forms, images and sums of many products at
    once.
    """

    mains: DenseStack
    terms: Indices
    samples: Indices | None = None

    in_memory = True

    def __post_init__(self) -> None:
        n_mains = self.mains.shape[0]
        check_places("ProductStack", "first mains", self.terms[:, 0], n_mains)
        check_places("ProductStack", "second mains", self.terms[:, 1] + 1, n_mains + 1)

    def main_stack(self) -> GramStack:
        """Return the stack of this stack's main kernels."""
        mains = self.terms[self.main_kernels][:, 0]
        return PartStack(self.mains, self._sample_rows, mains)

    # Quadratic forms of the kernels.

    def quadratic_forms(self, v: Array) -> Array:
        """Return v^T K_m v (summed over outputs) for every m, shape (n_kernels,)."""
        if self._is_batched and self._products.size:
            return self._joint_forms(v)
        forms = np.empty(self.shape[0])
        if self.main_kernels.size:
            forms[self.main_kernels] = self.main_stack().quadratic_forms(v)
        for run in self._runs(self._products):
            forms[run] = self._dense(run).quadratic_forms(v)
        return forms

    @cached_property
    def _sizes(self) -> Array:
        """Return the largest diagonal entry of each main kernel that a product uses."""
        mains = self._product_mains[0][:, None]
        diagonals = self.mains.diagonals()[mains, self._sample_rows]
        largest = np.abs(diagonals).max(axis=1)
        return np.where(largest >= np.finfo(np.float64).tiny, largest, 1.0)

    def _joint_forms(self, v: Array) -> Array:
        """Return the result of `quadratic_forms`; entries of mains are read once."""
        # With the entries of the main matrices as rows of V and weights w = v_a v_b of
        # entries (a, b), the forms of the elementwise products K_i o K_j are V diag(w)
        # V^T, and those of the main matrices V w: products of the positive weights
        # minus products of the negative weights. Main kernels without products are
        # excluded.
        members, (i, j) = self._product_mains[0], self._product_mains[1].T
        size = members.size
        G, main_forms = np.zeros((size, size)), np.zeros(size)
        n_samples = self._sample_rows.size
        # Half of the entries in the lower triangles have weights of the same sign.
        n_threads = n_threads_for(size * n_samples**2 // 4) or available_threads()
        step = max(n_samples, ENTRIES_AT_ONCE * n_threads // size)
        buffer = np.empty(size * step)
        scale = float(np.abs(v).max()) or 1.0
        for sign, positions, roots in self._entries_by_sign(v / scale, step):
            entries = buffer[: size * positions.size].reshape(size, positions.size)
            self._write_entries(positions, roots, entries, n_threads)
            G += sign * np.dot(entries, entries.T)
            main_forms += sign * np.dot(entries, roots)
        sizes = scale * self._sizes
        # Multiplied one after the other: the product of two sizes may overflow.
        G = sizes[:, None] * G * sizes
        main_forms = scale * (sizes * main_forms)
        forms = np.empty(self.shape[0])
        forms[self._products] = G[i, j]
        mains = self.terms[self.main_kernels, 0]
        places = np.searchsorted(members, mains).clip(max=size - 1)
        forms[self.main_kernels] = main_forms[places]
        others = np.flatnonzero(members[places] != mains)
        if others.size:
            kernels = self.main_kernels[others]
            forms[kernels] = self.once(kernels).quadratic_forms(v)
        return forms

    def _entries_by_sign(
        self, v: Array, step: int
    ) -> Iterator[tuple[float, Places, Array]]:
        """Yield sign, positions, roots of weights; see `write_entries_by_sign`."""
        n_all, n = self.mains.shape[1], self._sample_rows.size
        write, vectors = compiled(LOOPS, "write_entries_by_sign"), v.reshape(n, -1)
        ends = np.cumsum(np.arange(1, n + 1))
        start = 0
        while start < n:
            n_done = ends[start - 1] if start else 0
            stop = int(np.searchsorted(ends, n_done + step, "right"))
            stop = max(start + 1, stop)
            positions = np.empty(ends[stop - 1] - n_done, places_type(n_all))
            roots = np.empty(positions.size)
            samples = self._sample_rows, n_all, start, stop
            n_positive, n_negative = write(vectors, *samples, positions, roots)
            yield 1.0, positions[:n_positive], roots[:n_positive]
            negative = slice(positions.size - n_negative, None)
            yield -1.0, positions[negative], roots[negative]
            start = stop

    def _write_entries(
        self, positions: Places, roots: Array, out: Array, n_threads: int
    ) -> None:
        """Write entries of the main matrices, scaled as in `write_scaled_entries`."""
        write = compiled(LOOPS, "write_scaled_entries")
        flat = read_only(self.mains.array).reshape(len(self.mains.array), -1)
        mains, sizes = self._product_mains[0], self._sizes
        step = -(-mains.size // n_threads)

        def work(start: int) -> None:
            rows = slice(start, start + step)
            write(flat, mains[rows], sizes[rows], positions, roots, out[rows])

        run_blocks(work, range(0, mains.size, step), n_threads)

    # Products with vectors, and weighted sums.

    def matvec(self, v: Array) -> Array:
        """Return K_m v for every m, shape (n_kernels, n_samples[, n_outputs])."""
        images = np.empty((self.shape[0], *v.shape))
        if self.main_kernels.size:
            images[self.main_kernels] = self.main_stack().matvec(v)
        if not self._is_batched:
            for run in self._runs(self._products):
                images[run] = self._dense(run).matvec(v)
            return images
        for column in np.ndindex(v.shape[1:]):
            column_of = (slice(None), *column)
            self._write_images(v[column_of], images[(slice(None), *column_of)])
        return images

    def block_matvec(self, coefs: Array) -> Array:
        """Return K_m coefs[m] for every m, (n_kernels, n_samples[, n_outputs])."""
        images = np.empty(coefs.shape)
        for run in self._runs(np.arange(len(coefs))):
            images[run] = self._dense(run).block_matvec(coefs[run])
        return images

    def _write_images(self, v: Array, out: Array) -> None:
        """Write K_m v to out[m] for each K_m that is a product of two matrices."""
        # Entry a of K_m v is sum(K_i[a] * v * K_j[a]) for the product K_m of K_i and
        # K_j.
        mains, positions = self._product_mains
        i, j = positions.T
        support = np.flatnonzero(v)
        cols, values = self._sample_rows[support], v[support]
        pairs = self._products

        def write_row(a: int) -> None:
            rows = self._row(mains, self._sample_rows[a], cols)
            out[pairs, a] = np.dot(rows * values, rows.T)[i, j]

        run_blocks(write_row, range(self._sample_rows.size))

    def _row(self, mains: Indices, row: int, columns: Indices) -> Array:
        """Return one row of some main matrices, at some columns, (n_mains, n_cols)."""
        rows = self.mains.array[mains, row].take(columns, axis=1)
        return np.asarray(rows, dtype=np.float64)

    def resident_products(self, kernels: Indices) -> BlockMultiplier:
        """Return a `BlockMultiplier`; see `GramStack.resident_products`."""
        return multiplier_of_arrays(list(self._dense(kernels).array))

    def combine(self, weights: Array) -> GramMatrix:
        """Return sum_m weights[m] K_m as one matrix."""
        return DenseMatrix(self.combined_rows(weights, np.arange(self.shape[1])))

    def combined_rows(self, weights: Array, rows: Indices) -> Array:
        """Return some rows of sum_m weights[m] K_m, shape (n_rows, n_samples)."""
        # A sum of elementwise products is sum_i K_i o (sum_j weights_ij K_j).
        support = np.flatnonzero(weights)
        total = np.zeros((rows.size, self.shape[2]))
        stack = self if support.size == self.shape[0] else self.once(support)
        factors = np.asarray(weights[support], dtype=np.float64)
        if not stack._is_batched:
            for run in self._runs(support):
                products = self._blocks(run, rows, np.arange(self.shape[2]))
                total += np.tensordot(weights[run], products, axes=1)
            return total
        if stack.main_kernels.size:
            mains = stack.main_stack()
            total += mains.combined_rows(factors[stack.main_kernels], rows)
        members, (i, j) = stack._product_mains[0], stack._product_mains[1].T
        theta = np.zeros((members.size, members.size))
        np.add.at(theta, (i, j), factors[stack._products])

        def add(p: int) -> None:
            row = self._row(members, self._sample_rows[rows[p]], self._sample_rows)
            total[p] += np.einsum("ib,ib->b", row, np.dot(theta, row))

        run_blocks(add, range(rows.size))
        return total

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_kernels, n_samples, n_indices)."""
        rows = np.arange(self.shape[1])
        return self._blocks(np.arange(self.shape[0]), rows, np.asarray(indices))

    def entries(self, kernel: int, rows: Indices, cols: Indices) -> Array:
        """Return some entries of one kernel, shape (n_rows, n_cols)."""
        return np.asarray(self._blocks(np.array([kernel]), rows, cols)[0])

    def _blocks(self, kernels: Indices, rows: Indices, cols: Indices) -> Array:
        """Return K_m[rows, cols] of some kernels, (n_kernels, n_rows, n_cols)."""
        if cols.size < rows.size:
            # Whole rows are multiplied below. Matrices are symmetric.
            blocks = self._blocks(kernels, cols, rows)
            return np.ascontiguousarray(blocks.swapaxes(1, 2))
        out = np.empty((kernels.size, rows.size, cols.size))
        rows, cols = self._sample_rows[rows], self._sample_rows[cols]
        every = np.arange(self.mains.shape[1])
        is_whole = np.array_equal(rows, every) and np.array_equal(cols, every)
        mains, terms = self.mains.array, self.terms[kernels]
        used = np.unique(terms[terms >= 0])
        if not is_whole and used.size < kernels.size:
            # Columns are chosen once for each main kernel.
            mains, is_whole = self.mains.copied(used, rows, cols).array, True
            terms = np.where(terms < 0, -1, np.searchsorted(used, terms))
        chosen_rows = slice(None) if is_whole else rows

        def work(k: int) -> None:
            first, second = terms[k].tolist()
            product = mains[first][chosen_rows].astype(np.float64, copy=False)
            if second >= 0:
                # Rows are multiplied before columns are chosen, because choosing
                # columns takes most of the time.
                product = product * mains[second][chosen_rows]
            if is_whole:
                out[k] = product
            else:
                # mode="clip" avoids a buffer; the indices are valid.
                np.take(product, cols, axis=1, out=out[k], mode="clip")

        run_blocks(work, range(kernels.size), n_threads_for(out.size))
        return out

    def _dense(self, kernels: Indices) -> DenseStack:
        """Return some kernels as whole matrices."""
        samples = np.arange(self.shape[1])
        return DenseStack(self._blocks(kernels, samples, samples))

    def _runs(self, kernels: Indices) -> Iterator[Indices]:
        """Yield ranges of kernels whose whole matrices fit in memory."""
        for run in column_runs(kernels.size, self.shape[1] ** 2):
            if run.size:
                yield kernels[run]

    # Stacks of some kernels or samples.

    def take(self, kernels: Indices) -> GramStack:
        """Return the stack of the chosen kernels, as whole matrices if they are few."""
        indices = np.arange(self.shape[0])[kernels]
        if 8 * indices.size * self.shape[1] ** 2 <= HELD_BYTES:
            return self._dense(indices)
        return self.once(indices)

    def once(self, kernels: Indices) -> "ProductStack":
        """Return the chosen kernels without computing them; see `GramStack.once`."""
        return replace(self, terms=self.terms[kernels])

    def restrict(self, samples: Indices) -> GramStack:
        """Return the stack on the chosen samples, a view if they ascend."""
        rows = self._sample_rows[samples]
        if np.all(np.diff(rows) > 0):
            return replace(self, samples=rows)
        return super().restrict(samples)
