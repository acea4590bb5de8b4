"""Gram matrices on an accelerator, and products of two of them, in double precision."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramStack, multiplier_of_stack
from multikernel.gram.device.space import Device, DeviceArray, Space, open_space
from multikernel.gram.matrix import HELD_BYTES, BlockMultiplier, GramMatrix, zero_padded
from multikernel.gram.products import ProductsOfWhole
from multikernel.linalg.shifted import Root, solve_with_nugget


@dataclass(frozen=True, eq=False)
class DeviceMatrix(GramMatrix):
    """One Gram matrix on a device."""

    entries: DeviceArray  # float64, on the device of `space`
    space: Space

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n_rows, n_cols)."""
        return self.entries.shape[0], self.entries.shape[1]

    def matvec(self, v: Array) -> Array:
        """Return K v, shape (n_rows,) or (n_rows, n_outputs)."""
        return self.space.get(self.entries @ self.space.put(v))

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_rows, n_indices)."""
        return self.between(np.arange(self.shape[0]), indices)

    def between(self, rows: Indices, columns: Indices) -> Array:
        """Return the entries of some rows and columns, shape (n_rows, n_columns)."""
        return self.space.get(self.space.cut(self.entries, rows, columns))

    def diagonal(self) -> Array:
        """Return the diagonal, shape (n_rows,)."""
        return self.space.get(self.space.xp.linalg.diagonal(self.entries))

    def plus(self, factor: Array) -> GramMatrix:
        """Return K + U U^T on the device, for the factor U."""
        U = self.space.put(factor)
        return DeviceMatrix(self.entries + U @ U.T, self.space)

    def solve(
        self, rhs: Array, *, shift: Array, low_rank: Array | None = None
    ) -> Array:
        """Solve (K + diag(shift) + U U^T) x = rhs; see `GramMatrix.solve`."""
        matrix = self.entries
        if low_rank is not None:
            U = self.space.put(low_rank)
            matrix = matrix + U @ U.T

        def attempt(raised: Array) -> Array | None:
            return self._solve(matrix, rhs.reshape(len(rhs), -1), raised)

        trace = float(np.abs(self.diagonal()).sum())
        with self.space.memory_guard("a linear system of all samples"):
            return solve_with_nugget(attempt, shift, trace).reshape(rhs.shape)

    def _solve(self, matrix: DeviceArray, rhs: Array, shift: Array) -> Array | None:
        """Solve a shifted system; return None if it is not positive definite."""
        is_fixed, is_positive = np.isinf(shift), bool(np.all(shift > 0.0))
        scale = np.where(is_fixed, 0.0, 1.0 / np.sqrt(shift) if is_positive else 1.0)
        diagonal = np.where(is_fixed, 1.0, 1.0 if is_positive else shift)
        system = self._shifted(matrix, scale, diagonal)
        if self.space.cholesky(system) is None:
            return None
        scaled_rhs = self.space.put(scale[:, None] * rhs)
        solution = self.space.get(self.space.xp.linalg.solve(system, scaled_rhs))
        return np.asarray(scale[:, None] * solution)

    def _shifted(
        self, matrix: DeviceArray, scale: Array, diagonal: Array
    ) -> DeviceArray:
        """Return S K S + D for K = `matrix`, S = diag(scale) and D = diag(diagonal)."""
        roots, identity = self.space.put(scale), self.space.eye(len(scale))
        shift = identity * self.space.put(diagonal)
        return roots[:, None] * matrix * roots[None, :] + shift

    def root(self, shift: Array) -> Root | None:
        """Return R with K + diag(shift) = R R^T; None if the sum is indefinite."""
        scale = 1.0 / np.sqrt(shift)
        with self.space.memory_guard("a linear system of all samples"):
            system = self._shifted(self.entries, scale, np.ones(len(scale)))
            factor = self.space.cholesky(system)
            if factor is None:
                return None
            identity = self.space.eye(len(scale))
            inverse = self.space.xp.linalg.solve(factor, identity)
        return DeviceRoot(scale, inverse, self.space)


@dataclass(frozen=True, eq=False)
class DeviceRoot:
    """A root R of a shifted matrix R R^T on a device; see `ShiftedRoot`."""

    scale: Array
    inverse: DeviceArray  # stored because the array API has no triangular solver
    space: Space

    def half(self, rhs: Array) -> Array:
        """Return R^-1 @ rhs, the first half of a solution; see `rest`."""
        scaled = self.space.put(self.scale[:, None] * rhs)
        return self.space.get(self.inverse @ scaled)

    def rest(self, halves: Array) -> Array:
        """Return R^-T @ halves: rest(half(b)) solves R R^T x = b."""
        product = self.space.get(self.inverse.T @ self.space.put(halves))
        return np.asarray(self.scale[:, None] * product)


class OnDevice(GramStack):
    """A stack of matrices on a device, restricted to `samples` unless it is None."""

    # Vectors of some samples are padded with zeros and multiplied by the matrices of
    # all samples, which takes less time than copying entries.

    space: Space
    n_all: int
    samples: Indices | None
    in_memory = True

    @abstractmethod
    def matrix(self, m: int) -> DeviceArray:
        """Return kernel m over all samples, in float64 on the device."""

    @cached_property
    def _sample_rows(self) -> Indices:
        """Return the row index of each chosen sample in the matrices on the device."""
        return np.arange(self.n_all) if self.samples is None else self.samples

    def put(self, v: Array) -> DeviceArray:
        """Return v on the device, (n_all, n_vectors), zero for samples not chosen."""
        columns = v.reshape(len(v), v.size // len(v))
        if self.samples is not None:
            columns = zero_padded(columns, self._sample_rows, self.n_all)
        return self.space.put(columns)

    def matvec(self, v: Array) -> Array:
        """Return K_m v for every m, shape (n_kernels, n_samples[, n_outputs])."""
        columns = self.put(v)
        return self._images(dict.fromkeys(range(self.shape[0]), columns), v.shape)

    def block_matvec(self, coefs: Array) -> Array:
        """Return K_m coefs[m] for every m, (n_kernels, n_samples[, n_outputs])."""
        nonzero = [m for m, vectors in enumerate(coefs) if vectors.any()]
        return self._images({m: self.put(coefs[m]) for m in nonzero}, coefs.shape[1:])

    def _images(self, columns: dict[int, DeviceArray], shape: tuple[int, ...]) -> Array:
        """Return K_m @ columns[m] for kernels in `columns`, zero for other kernels."""
        images = np.zeros((self.shape[0], *shape))
        if columns:
            with self.space.memory_guard("products with vectors"):
                products = [self.matrix(m) @ vectors for m, vectors in columns.items()]
                stacked = self.space.get(self.space.xp.stack(products))
                values = stacked[:, self._sample_rows]
            images[list(columns)] = values.reshape(len(products), *shape)
        return images

    def combine(self, weights: Array) -> GramMatrix:
        """Return sum_m weights[m] K_m as one matrix, on the device."""
        with self.space.memory_guard("a weighted sum of kernels"):
            total = self.space.zeros((self.n_all, self.n_all))
            for m in np.flatnonzero(weights).tolist():
                total = total + float(weights[m]) * self.matrix(m)
            if self.samples is not None:
                total = self.space.cut(total, self._sample_rows, self._sample_rows)
        return DeviceMatrix(total, self.space)

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_kernels, n_samples, n_indices)."""
        columns, rows = np.empty((*self.shape[:2], np.size(indices))), self._sample_rows
        with self.space.memory_guard("columns of the kernels"):
            for m in range(self.shape[0]):
                block = self.space.cut(self.matrix(m), rows, rows[indices])
                columns[m] = self.space.get(block)
        return columns

    def resident_products(self, kernels: Indices) -> BlockMultiplier:
        """Return a `BlockMultiplier`; see `GramStack.resident_products`."""
        return multiplier_of_stack(self.take(kernels))


@dataclass(frozen=True, eq=False)
class DeviceStack(OnDevice):
    """Gram matrices on a device, each one array over all samples; see `device_stack`.

    `samples` are the rows of the matrices that belong to the stack; all by default.
    """

    matrices: tuple[DeviceArray, ...]
    space: Space
    n_all: int
    samples: Indices | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (n_kernels, n_samples, n_samples)."""
        return len(self.matrices), self._sample_rows.size, self._sample_rows.size

    def matrix(self, m: int) -> DeviceArray:
        """Return kernel m over all samples, in float64 on the device."""
        return self.space.to_float64(self.matrices[m])

    @cached_property
    def _diagonals(self) -> Array:
        """Return every diagonal over all samples, (n_kernels, n_all)."""
        diagonal = self.space.xp.linalg.diagonal
        diagonals = [self.space.to_float64(diagonal(K)) for K in self.matrices]
        if not diagonals:
            return np.empty((0, self.n_all))
        return self.space.get(self.space.xp.stack(diagonals))

    def diagonals(self) -> Array:
        """Return every diagonal, shape (n_kernels, n_samples)."""
        return self._diagonals[:, self._sample_rows]

    def take(self, kernels: Indices) -> "DeviceStack":
        """Return the stack of the chosen kernels, which shares their matrices."""
        indices = np.arange(self.shape[0])[kernels].tolist()
        return replace(self, matrices=tuple(self.matrices[m] for m in indices))

    def restrict(self, samples: Indices) -> "DeviceStack":
        """Return the stack on the chosen samples, which shares the matrices."""
        return replace(self, samples=self._sample_rows[samples])


def device_stack(array: Array, settings: Device) -> DeviceStack:
    """Copy symmetric matrices in memory to a device, and return them as a stack."""
    space = open_space(settings)
    with space.memory_guard(f"{len(array)} matrices"):
        matrices = tuple(space.store(space.put(K)) for K in array)
    return DeviceStack(matrices, space, array.shape[1])


@dataclass(frozen=True, eq=False)
class DeviceProducts(ProductsOfWhole, OnDevice):
    """Main matrices on a device, and elementwise products of two of them."""

    # The fields are those of `ProductStack`.

    mains: DeviceStack
    terms: Indices
    samples: Indices | None = None

    @property
    def space(self) -> Space:  # type: ignore[override]
        """Return the library and the device of the main kernels."""
        return self.mains.space

    @property
    def n_all(self) -> int:  # type: ignore[override]
        """Return the number of samples of the main kernels."""
        return self.mains.n_all

    def matrix(self, m: int) -> DeviceArray:
        """Return kernel m over all samples, in float64 on the device."""
        first, second = self.terms[m].tolist()
        K = self.mains.matrix(first)
        return K if second < 0 else K * self.mains.matrix(second)

    def quadratic_forms(self, v: Array) -> Array:
        """Return v^T K_m v (summed over outputs) for every m, shape (n_kernels,)."""
        if not self._is_batched:
            return super().quadratic_forms(v)
        forms = np.empty(self.shape[0])
        main_stack = self.mains.take(self.terms[self.main_kernels, 0])
        main_stack = replace(main_stack, samples=self.samples)
        forms[self.main_kernels] = main_stack.quadratic_forms(v)
        (mains, positions), pairs = self._product_mains, self._products
        with self.space.memory_guard("products with vectors"):
            products = self.space.get(self._inner_products(mains, self.put(v)))
        forms[pairs] = products[positions[:, 0], positions[:, 1]]
        return forms

    def _inner_products(self, mains: Indices, vectors: DeviceArray) -> DeviceArray:
        """Return the quadratic forms of products of two `mains`, (n_mains, n_mains)."""
        # Entry (i, j) belongs to the elementwise product of mains i and j, and is the
        # sum of the forms of the columns of `vectors`, (n_all, n_vectors).
        xp, n = self.space.xp, self.n_all
        matrices = [self.mains.matrices[m] for m in mains.tolist()]
        total = self.space.zeros((len(matrices), len(matrices)))
        step = max(1, HELD_BYTES // (8 * n * len(matrices)))
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            weights = vectors[rows, :] @ vectors.T
            entries = xp.stack([matrix[rows, :] for matrix in matrices])
            entries = xp.reshape(self.space.to_float64(entries), (len(matrices), -1))
            total = total + (entries * xp.reshape(weights, (1, -1))) @ entries.T
        return total

    def once(self, kernels: Indices) -> "DeviceProducts":
        """Return the chosen kernels without computing them; see `GramStack.once`."""
        return replace(self, terms=self.terms[kernels])

    def take(self, kernels: Indices) -> GramStack:
        """Return the stack of the chosen kernels, as whole matrices if they are few."""
        products = self.once(np.arange(self.shape[0])[kernels])
        if 8 * products.shape[0] * self.n_all**2 > HELD_BYTES:
            return products
        with self.space.memory_guard("products of kernels"):
            matrices = tuple(map(products.matrix, range(products.shape[0])))
        # Products are stored in double precision, even if the main matrices are not.
        return DeviceStack(matrices, self.space, self.n_all, self.samples)

    def restrict(self, samples: Indices) -> "DeviceProducts":
        """Return the stack on the chosen samples, which shares the main matrices."""
        return replace(self, samples=self._sample_rows[samples])
