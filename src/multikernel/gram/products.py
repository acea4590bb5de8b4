"""Stacks of all elementwise products of two main Gram matrices, which are not stored.

A product of two mains is the kernel of their interaction. With V the d x n^2 matrix of
the mains, V diag(rho rho^T) V^T has the quadratic forms of all products.
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
    Stored,
    column_runs,
    multiplier_of_arrays,
)
from multikernel.kernels.terms import Terms
from multikernel.linalg.tables import CHUNK_BYTES, read_only, write_block
from multikernel.linalg.threads import available_threads, compiled, run_blocks

LOOPS = "multikernel.gram.product_loops"

Places = NDArray[np.uint32] | NDArray[np.uint64]
"""Flat indices of entries in a matrix."""

FEW = 64
"""Products are computed one by one if their number is at most the squared number of
mains divided by this."""


def places_type(n_samples: int) -> type:
    """Return an integer type for flat indices into an n x n matrix."""
    return np.uint32 if n_samples <= 2**16 else np.uint64


def main_places(pairs: Indices) -> tuple[Indices, Indices]:
    """Return the mains in pairs, and the pairs as positions among these mains."""
    is_used = np.bincount(pairs.reshape(-1)) > 0
    return np.flatnonzero(is_used), (np.cumsum(is_used) - 1)[pairs]


class ProductsOfMains(GramStack):
    """A stack whose kernels are main kernels, or products of two of them."""

    terms: Terms
    """The two mains of every kernel, (n_kernels, 2); -1 for a main alone."""

    @cached_property
    def alone(self) -> Indices:
        """Return the kernels that are mains."""
        return np.flatnonzero(self.terms[:, 1] < 0)

    @cached_property
    def _pairs(self) -> Indices:
        """Return the kernels that are products."""
        return np.flatnonzero(self.terms[:, 1] >= 0)

    @cached_property
    def _used(self) -> tuple[Indices, Indices]:
        """Return the mains in products, and the products as positions among these."""
        return main_places(self.terms[self._pairs])

    def zero_kernels(self) -> Indices:
        """Return the kernels whose matrix is zero: those with a zero diagonal."""
        return np.flatnonzero(self.traces() <= 0.0)


class ProductsOfWhole(ProductsOfMains):
    """A stack of products of stored main matrices, for all or some of their samples."""

    mains: GramStack
    samples: Indices | None

    @cached_property
    def _places(self) -> Indices:
        """Return the rows of the main matrices that belong to the samples."""
        if self.samples is None:
            return np.arange(self.mains.shape[1])
        return self.samples

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (n_kernels, n_samples, n_samples)."""
        return len(self.terms), self._places.size, self._places.size

    @property
    def _many(self) -> bool:
        """Return whether computing the products of all mains at once is faster."""
        return self._pairs.size * FEW > self._used[0].size ** 2

    def diagonals(self) -> Array:
        """Return every diagonal, shape (n_kernels, n_samples)."""
        mains = self.mains.diagonals()[:, self._places]
        diagonals = mains[self.terms[:, 0]]
        diagonals[self._pairs] *= mains[self.terms[self._pairs, 1]]
        return diagonals

    def traces(self, shares: Array | None = None) -> Array:
        """Return the (weighted) trace of every matrix; see `GramStack.traces`."""
        mains = self.mains.diagonals()[:, self._places]
        weighted = mains if shares is None else mains * shares
        traces = weighted.sum(axis=1)[self.terms[:, 0]]
        if self._pairs.size:
            used, (i, j) = self._used[0], self._used[1].T
            # One matrix product computes all inner products of the diagonals of mains.
            products = np.dot(weighted[used], mains[used].T)
            traces[self._pairs] = products[i, j]
        return np.asarray(traces)

    def pass_numbers(self) -> float:
        """Return the number of entries of the mains, which a pass reads."""
        terms = np.asarray(self.terms)
        return float(np.unique(terms[terms >= 0]).size) * self.shape[1] ** 2


@dataclass(frozen=True, eq=False)
class ProductStack(ProductsOfWhole):
    """A stack of main matrices in memory and elementwise products of two of them.

    Matrix multiplications of the mains give the quadratic forms, images and weighted
    sums of many product kernels at once.

    Parameters
    ----------
    mains : DenseStack
        The main matrices of all samples, square; shared, not copied.
    terms : ndarray of shape (n_kernels, 2)
        Indices of the two mains of every kernel; the second is -1 for a main alone.
    samples : ndarray of shape (n_samples,), optional
        Distinct samples, ascending; all by default.

    Raises
    ------
    ValueError
        If an index is not that of a main.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.gram import DenseStack, ProductStack
    >>> mains = DenseStack(np.stack([np.eye(2), np.full((2, 2), 3.0)]))
    >>> stack = ProductStack(mains, np.array([[0, -1], [1, -1], [0, 1]]))
    >>> stack.quadratic_forms(np.array([1.0, 2.0]))
    array([ 5., 27., 15.])
    """

    mains: DenseStack
    terms: Indices
    samples: Indices | None = None

    in_memory = True

    def __post_init__(self) -> None:
        largest = self.mains.shape[0]
        check_places("ProductStack", "first mains", self.terms[:, 0], largest)
        check_places("ProductStack", "second mains", self.terms[:, 1] + 1, largest + 1)

    def mains_alone(self) -> GramStack:
        """Return the stack of the kernels that are mains."""
        return PartStack(self.mains, self._places, self.terms[self.alone][:, 0])

    # Forms.

    def quadratic_forms(self, v: Array) -> Array:
        """Return v^T K_m v (summed over outputs) for every m, shape (n_kernels,)."""
        forms, pairs = np.empty(self.shape[0]), self._pairs
        if self.alone.size:
            forms[self.alone] = self.mains_alone().quadratic_forms(v)
        if not self._many:
            for run in self._runs(pairs):
                forms[run] = self._whole(run).quadratic_forms(v)
        elif pairs.size:
            i, j = self._used[1].T
            forms[pairs] = self._inner_products(v)[i, j]
        return forms

    @cached_property
    def _sizes(self) -> Array:
        """Return the largest diagonal entries of the mains of the products."""
        diagonals = self.mains.diagonals()[self._used[0][:, None], self._places]
        largest = np.abs(diagonals).max(axis=1)
        return np.where(largest >= np.finfo(np.float64).tiny, largest, 1.0)

    def _inner_products(self, v: Array) -> Array:
        """Return the forms of all pairs of mains, shape (n_used, n_used)."""
        # With the entries of the mains as rows of V and weights w = v_a v_b of entries
        # (a, b), the forms are V diag(w) V^T: one product of the positive weights minus
        # one of the negative weights.
        size = self._used[0].size
        G = np.zeros((size, size))
        step = max(self._places.size, CHUNK_BYTES // (8 * size))
        buffer = np.empty(size * step)
        scale = float(np.abs(v).max()) or 1.0
        for sign, places, roots in self._entries_by_sign(v / scale, step):
            part = buffer[: size * places.size].reshape(size, places.size)
            self._write_entries(places, roots, part)
            G += sign * np.dot(part, part.T)
        sizes = scale * self._sizes
        # Multiplied one after the other: the product of two sizes may overflow.
        return np.asarray(sizes[:, None] * G * sizes)

    def _entries_by_sign(
        self, v: Array, step: int
    ) -> Iterator[tuple[float, Places, Array]]:
        """Yield sign, indices and roots of weights; see `write_entries_by_sign`."""
        n_all, n = self.mains.shape[1], self._places.size
        write, vectors = compiled(LOOPS, "write_entries_by_sign"), v.reshape(n, -1)
        ends = np.cumsum(np.arange(1, n + 1))
        first = 0
        while first < n:
            before = ends[first - 1] if first else 0
            last = max(first + 1, int(np.searchsorted(ends, before + step, "right")))
            places = np.empty(ends[last - 1] - before, places_type(n_all))
            roots = np.empty(places.size)
            rows = first, last
            ahead, behind = write(vectors, self._places, n_all, *rows, places, roots)
            yield 1.0, places[:ahead], roots[:ahead]
            yield -1.0, places[places.size - behind :], roots[places.size - behind :]
            first = last

    def _write_entries(self, places: Places, roots: Array, out: Array) -> None:
        """Write entries of the mains, scaled as in `write_scaled_entries`."""
        write = compiled(LOOPS, "write_scaled_entries")
        flat = read_only(self.mains.array).reshape(len(self.mains.array), -1)
        used, sizes = self._used[0], self._sizes
        step = max(1, -(-used.size // available_threads()))

        def work(start: int) -> None:
            some = slice(start, start + step)
            write(flat, used[some], sizes[some], places, roots, out[some])

        run_blocks(work, range(0, used.size, step), n_threads_for(out.size))

    # Images and sums.

    def matvec(self, v: Array) -> Array:
        """Return K_m v for every m, shape (n_kernels, n_samples[, n_outputs])."""
        images = np.empty((self.shape[0], *v.shape))
        if self.alone.size:
            images[self.alone] = self.mains_alone().matvec(v)
        if not self._many:
            for run in self._runs(self._pairs):
                images[run] = self._whole(run).matvec(v)
            return images
        for column in np.ndindex(v.shape[1:]):
            column_of = (slice(None), *column)
            self._write_images(v[column_of], images[(slice(None), *column_of)])
        return images

    def block_matvec(self, coefs: Array) -> Array:
        """Return K_m coefs[m] for every m, (n_kernels, n_samples[, n_outputs])."""
        images = np.empty(coefs.shape)
        for run in self._runs(np.arange(len(coefs))):
            images[run] = self._whole(run).block_matvec(coefs[run])
        return images

    def _write_images(self, v: Array, out: Array) -> None:
        """Write K_m v for all products (i, j): entry a is <K_i[a] * v, K_j[a]>."""
        used, places = self._used
        i, j = places.T
        support = np.flatnonzero(v)
        cols, values = self._places[support], v[support]
        pairs = self._pairs

        def write_row(a: int) -> None:
            rows = self._row(used, self._places[a], cols)
            out[pairs, a] = np.dot(rows * values, rows.T)[i, j]

        run_blocks(write_row, range(self._places.size))

    def _row(self, mains: Indices, row: int, cols: Indices) -> Array:
        """Return one row of some main matrices, at some columns, (n_mains, n_cols)."""
        rows = self.mains.array[mains, row]
        if cols.size < rows.shape[1]:
            rows = rows.take(cols, axis=1)
        return np.asarray(rows, dtype=np.float64)

    def resident_products(self, kernels: Indices) -> BlockMultiplier:
        """Return a function that multiplies vectors by a few kernels."""
        return multiplier_of_arrays(list(self._whole(kernels).array))

    def combine(self, weights: Array) -> GramMatrix:
        """Return sum_m weights[m] K_m as one matrix."""
        return DenseMatrix(self.combined_rows(weights, np.arange(self.shape[1])))

    def combined_rows(self, weights: Array, rows: Indices) -> Array:
        r"""Return some rows of sum_m weights[m] K_m, shape (n_rows, n_samples).

        The sum of many products is :math:`\sum_i K_i \circ \sum_j \theta_{ij} K_j`.
        """
        support = np.flatnonzero(weights)
        total = np.zeros((rows.size, self.shape[2]))
        some = self if support.size == self.shape[0] else self.once(support)
        factors = np.asarray(weights[support], dtype=np.float64)
        if not some._many:
            for run in self._runs(support):
                products = self._products(run, rows, np.arange(self.shape[2]))
                total += np.tensordot(weights[run], products, axes=1)
            return total
        if some.alone.size:
            mains = some.mains_alone()
            total += mains.combined_rows(factors[some.alone], rows)
        used, (i, j) = some._used[0], some._used[1].T
        theta = np.zeros((used.size, used.size))
        np.add.at(theta, (i, j), factors[some._pairs])

        def add(p: int) -> None:
            row = self._row(used, self._places[rows[p]], self._places)
            total[p] += np.einsum("ib,ib->b", row, np.dot(theta, row))

        run_blocks(add, range(rows.size))
        return total

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_kernels, n_samples, n_indices)."""
        every = np.arange(self.shape[1])
        return self._products(np.arange(self.shape[0]), every, np.asarray(indices))

    def entries(self, kernel: int, rows: Indices, cols: Indices) -> Array:
        """Return some entries of one kernel, shape (n_rows, n_cols)."""
        return np.asarray(self._products(np.array([kernel]), rows, cols)[0])

    def _products(self, kernels: Indices, rows: Indices, cols: Indices) -> Array:
        """Return K_m[rows, cols] of some kernels, (n_kernels, n_rows, n_cols)."""
        out = np.empty((kernels.size, rows.size, cols.size))
        array, terms = self.mains.array, self.terms[kernels].tolist()
        rows, cols = self._places[rows], self._places[cols]
        every = np.arange(self.mains.shape[1])
        is_whole = np.array_equal(rows, every) and np.array_equal(cols, every)

        # Rows and columns of each main are copied once for all of its products.
        used = np.unique(self.terms[kernels])
        mains: dict[int, Stored] = {m: array[m] for m in used[used >= 0].tolist()}
        for main in () if is_whole else mains:
            block = np.empty(out.shape[1:], array.dtype)
            write_block(array[main], rows, cols, block)
            mains[main] = block

        def work(t: int) -> None:
            first, second = terms[t]
            if second < 0:
                out[t] = mains[first]
            else:
                # In double precision, even if the mains are in single precision.
                pair = mains[first], mains[second]
                np.multiply(*pair, out=out[t], dtype=np.float64)

        run_blocks(work, range(kernels.size), n_threads_for(out.size))
        return out

    def _whole(self, kernels: Indices) -> DenseStack:
        """Return some kernels as whole matrices."""
        every = np.arange(self.shape[1])
        return DenseStack(self._products(kernels, every, every))

    def _runs(self, kernels: Indices) -> Iterator[Indices]:
        """Yield ranges of kernels whose whole matrices fit in memory."""
        for part in column_runs(kernels.size, self.shape[1] ** 2):
            if part.size:
                yield kernels[part]

    # Parts.

    def take(self, kernels: Indices) -> GramStack:
        """Return the stack of the chosen kernels, as whole matrices if they are few."""
        numbers = np.arange(self.shape[0])[kernels]
        if 8 * numbers.size * self.shape[1] ** 2 <= HELD_BYTES:
            return self._whole(numbers)
        return self.once(numbers)

    def once(self, kernels: Indices) -> "ProductStack":
        """Return the stack of the chosen kernels, as products of mains."""
        return replace(self, terms=self.terms[kernels])

    def restrict(self, samples: Indices) -> GramStack:
        """Return the stack on the chosen samples, a view if they ascend."""
        rows = self._places[samples]
        if np.all(np.diff(rows) > 0):
            return replace(self, samples=rows)
        return super().restrict(samples)
